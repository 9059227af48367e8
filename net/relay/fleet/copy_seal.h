/* copy_seal.h - the bytes of a room's copy in Redis: sealed, so that Redis and its host neither read nor
 * change them, nor give one relay another room's or an older copy's.
 *
 *     klr     u8 version, salt (16); pieces of the recording
 *     tail    u32 the slot's number; pieces of the slot
 *     piece   u32 length; so many bytes by ChaCha20-Poly1305 (RFC 8439), and its tag (16)
 *
 * The key is BLAKE2b of room, copy's number and salt, keyed by the fleet's key, which comes from relay.key.
 * A piece's nonce is the slot's number (u32; 0: the recording) and the byte at which the piece begins (u64).
 * Each copy that is begun draws a salt, so no key and nonce come twice. Integers little-endian.
 *
 * The version rises with the tail's, the ticket's and the recording's: a relay takes copies of its own one
 * alone. */
#ifndef KL_COPY_SEAL_H
#define KL_COPY_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_COPY_VERSION 1
#define KL_COPY_SALT    16
#define KL_COPY_HEAD    (1 + KL_COPY_SALT) /* before the recording's pieces */
#define KL_COPY_SLOT    4                  /* before the slot's */
#define KL_COPY_AROUND  (4 + 16)           /* of a piece */

/* Of the relay's long-term secret. */
void kl_copy_fleet_key(const uint8_t relay_secret[32], uint8_t key[32]);
void kl_copy_key(const uint8_t fleet_key[32], const uint8_t room_id[16], uint64_t number,
                 const uint8_t salt[KL_COPY_SALT], uint8_t key[32]);
/* Seals a piece that begins at this byte into out: len + KL_COPY_AROUND bytes, which it returns. */
size_t kl_copy_seal(const uint8_t key[32], uint32_t slot, uint64_t at, const void *piece, size_t len,
                    uint8_t *out);
/* Opens all pieces; out has room for len bytes. The bytes in it; SIZE_MAX: they were not sealed so. */
size_t kl_copy_open(const uint8_t key[32], uint32_t slot, const void *sealed, size_t len, uint8_t *out);

#endif

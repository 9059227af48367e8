/* replica.h - a copy of rooms' files in the fleet's Redis, sealed. */
#ifndef KL_REPLICA_H
#define KL_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/relay/fleet/redis.h"
#include "net/relay/room/fleet.h"

struct kl_replica;

/* --- copies of rooms --- */

/* A copy of rooms' files in the fleet's Redis, so that another relay can go on with a room whose relay is
 * gone. README.md. In Redis:
 *
 *     keylock:record:ROOM   a hash: `id` of the room (32 digits), `owner`, the relay that writes it,
 *                           `key`, of its fleet, `number`, which grows with each owner and each copy begun,
 *                           and `copy`, the number of the copy that is whole
 *     keylock:klr:ID:N      the recording (net/RECORD.md) of copy N, so far
 *     keylock:tail:ID:N     the newest slot of its tail (net/relay/durable/tail.h), so far
 *
 * Each write is a script that looks at owner and number first: a relay that was given up for dead writes
 * nothing any more, and is told. The bytes are those of the journal's files, sealed. */

#define KL_REPLICA_KEPT_S 86400 /* after the last new slot: longer than any seat is kept */

/* journal: the folder of the rooms' files, which somebody else holds; relay: this relay's name; key: of the
 * fleet's copies, borrowed. NULL with a line in err. For the process's lifetime. */
struct kl_replica *kl_replica_open(struct kl_fleet *fleet, const char *relay, const char *journal,
                                   const uint8_t key[32], char *err, size_t err_len);
/* Another connection: all copies begin anew. False with err: it is broken. */
bool kl_replica_begin(struct kl_replica *c, struct kl_redis *redis, char *err, size_t err_len);
/* Copies the next bytes of rooms that have changed, some at a time. more: there are more. False with err: the
 * connection is broken. */
bool kl_replica_turn(struct kl_replica *c, bool *more, char *err, size_t err_len);
/* Writes the files of a room that was taken: an answer of ID, recording, slot and the copy's
 * number. False with err. */
bool kl_replica_take(struct kl_replica *c, const struct kl_redis_answer *answer, uint8_t id[KL_ROOM_ID_BYTES],
                     char *err, size_t err_len);
/* This relay's journal has the files of that room. */
bool kl_replica_has(const struct kl_replica *c, const uint8_t id[KL_ROOM_ID_BYTES]);

/* The scripts of replica.c. Only inside net/relay/fleet. */

enum { KL_REPLICA_BEGIN, KL_REPLICA_WRITE, KL_REPLICA_END, KL_REPLICA_GIVE, KL_REPLICA_SCRIPTS };
extern const char *const kl_replica_script[KL_REPLICA_SCRIPTS];

/* --- their seals --- */

/* The bytes of a room's copy in Redis: sealed, so that Redis and its host neither read nor change them, nor
 * give one relay another room's or an older copy's.
 *
 *     klr     u8 version, salt (16); pieces of the recording
 *     tail    u32 the slot's number; pieces of the slot
 *     piece   u32 length; so many bytes by ChaCha20-Poly1305 (RFC 8439), and its tag (16)
 *
 * The key is BLAKE2b of room, copy's number and salt, keyed by the fleet's key, which comes from relay.key. A
 * piece's nonce is the slot's number (u32; 0: the recording) and the byte at which the piece begins (u64).
 * Each copy that is begun draws a salt, so no key and nonce come twice. Integers little-endian.
 *
 * The version rises with the tail's, the ticket's and the recording's: a relay takes copies of its own one
 * alone. */

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

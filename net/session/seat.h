/* seat.h - how a client gets its seat back: a token that the relay gave, and a key that never left the
 * client. net/PROTOCOL.md §9.
 *
 * The relay keeps the seat's public key and the token's hash, never the token. A token alone (read over a
 * shoulder, or from a relay's journal) takes no seat without the key, a signature is valid in one session
 * only, and the key takes no seat without the newest token. Pure but for libsodium. */
#ifndef KL_SEAT_H
#define KL_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#define KL_SEAT_SEED      32
#define KL_SEAT_PUB       32
#define KL_SEAT_TOKEN     16
#define KL_SEAT_HASH      32
#define KL_SEAT_SIGNATURE 64

struct kl_seat_key {
    uint8_t pub[KL_SEAT_PUB];
    uint8_t secret[64]; /* Ed25519 as libsodium keeps it: the seed first */
};
void kl_seat_make(struct kl_seat_key *k);
/* The key that a file keeps: its seed is the first KL_SEAT_SEED bytes of secret. */
void kl_seat_from_seed(struct kl_seat_key *k, const uint8_t seed[KL_SEAT_SEED]);

/* Over "keylock return", the session's binding (seal.h) and the token. */
void kl_seat_sign(const struct kl_seat_key *k, const uint8_t binding[32], const uint8_t token[KL_SEAT_TOKEN],
                  uint8_t signature[KL_SEAT_SIGNATURE]);
bool kl_seat_verify(const uint8_t pub[KL_SEAT_PUB], const uint8_t binding[32],
                    const uint8_t token[KL_SEAT_TOKEN], const uint8_t signature[KL_SEAT_SIGNATURE]);

void kl_seat_token(uint8_t token[KL_SEAT_TOKEN]); /* random */
void kl_seat_token_hash(const uint8_t token[KL_SEAT_TOKEN], uint8_t hash[KL_SEAT_HASH]);
/* In constant time. */
bool kl_seat_token_is(const uint8_t token[KL_SEAT_TOKEN], const uint8_t hash[KL_SEAT_HASH]);

#endif

/* proof.h - signatures under a match. The relay's: these inputs, in this order, in a match of this identity,
 * and the hashes that the machines agreed on; SEAL carries it. And each player's: the hashes that his machine
 * said; SIGN carries it. Both are messages, and blocks of recordings. net/PROTOCOL.md §9 "Seals",
 * docs/security.md.
 *
 * The relay's is Ed25519 (RFC 8032) over "keylock seal 1", the room's id, its identity, the hash of its start
 * data, the epoch, and the fields of struct kl_proof but for the two last. Pure but for libsodium. */
#ifndef KL_PROOF_H
#define KL_PROOF_H

#include "net/engine/msg.h"
#include "net/session/keys.h"
#include "net/session/seat.h"

#define KL_PROOF_START 16

/* The match that is signed; the relay and the reader know this by themselves. */
struct kl_proof_match {
    uint8_t room_id[KL_ROOM_ID_BYTES];
    uint8_t identity[16];          /* of the facts (identity.h) */
    uint8_t start[KL_PROOF_START]; /* BLAKE2b of the start data (kl_proof_start()) */
    uint64_t epoch_s;
};

void kl_proof_start(const void *data, size_t len, uint8_t out[KL_PROOF_START]);

/* p has its frames and hashes; gets sign_pub and signature. k must sign. */
void kl_proof_sign(struct kl_proof *p, const struct kl_proof_match *of, const struct kl_relay_key *k);

enum kl_proof_is {
    KL_PROOF_GOOD,
    KL_PROOF_FALSE,  /* the signature is not of these frames, hashes and match by p->sign_pub */
    KL_PROOF_FOREIGN /* p->sign_pub is not the relay's that answers handshakes with this X25519 key */
};
enum kl_proof_is kl_proof_check(const struct kl_proof *p, const struct kl_proof_match *of,
                                const uint8_t relay_pub[32]);

/* --- a client's own hashes --- */

/* The next one that it says. One without RAM, state and picture does not count. */
void kl_sign_add(struct kl_sign *s, const struct kl_hash *h);
/* Over "keylock hashes 1", the room's id, and the fields of struct kl_sign but for the last. */
void kl_sign_make(struct kl_sign *s, const uint8_t room_id[KL_ROOM_ID_BYTES], const struct kl_seat_key *k);
bool kl_sign_is_good(const struct kl_sign *s, const uint8_t room_id[KL_ROOM_ID_BYTES],
                     const uint8_t seat_pub[KL_SEAT_PUB]);

/* --- a player's wish that a recording be deleted --- */

/* Over "keylock delete 1", the X25519 key of the relay that keeps it, and the room's id: gets seat_key and
 * signature. */
void kl_delete_sign(struct kl_delete *d, const uint8_t relay_pub[32], const struct kl_seat_key *k);
bool kl_delete_is_good(const struct kl_delete *d, const uint8_t relay_pub[32]);

#endif

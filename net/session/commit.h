/* commit.h - what a client says of its machine it first commits to, so that nobody can wait for what the
 * others say. net/PROTOCOL.md §7, Commitments. Pure but for libsodium. */
#ifndef KL_COMMIT_H
#define KL_COMMIT_H

#include "net/engine/msg.h"

/* The commitment to a message, by this client of this room. m: whole, its nonce in it (random, new for each:
 * it is all that hides what is said). 0, or KL_E_SPACE for a message that cannot be encoded. */
int kl_commit_make(const struct kl_msg *m, const uint8_t room_id[KL_ROOM_ID_BYTES], uint8_t client,
                   uint8_t out[KL_COMMITMENT_BYTES]);
bool kl_commit_fits(const struct kl_msg *m, const uint8_t room_id[KL_ROOM_ID_BYTES], uint8_t client,
                    const uint8_t commitment[KL_COMMITMENT_BYTES]);

#endif

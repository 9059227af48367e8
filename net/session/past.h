/* past.h - which frames a client has, in 16 bytes: RETURN carries it, so that a relay which lost some of a
 * room finds out who has others than it has. net/PROTOCOL.md §7, kept seats. Pure but for libsodium. */
#ifndef KL_PAST_H
#define KL_PAST_H

#include <sodium.h>

#include "net/engine/frames.h"

struct kl_digest {
    crypto_generichash_state state;
};
/* tag: of the last interval all of whose frames one has, with its tag; NULL where there is none. */
void kl_digest_begin(struct kl_digest *d, const uint8_t tag[16]);
/* Then every frame after that interval, in order. commands: before it, or NULL. */
void kl_digest_frame(struct kl_digest *d, const struct kl_frame *f, const struct kl_commands *commands);
void kl_digest_end(struct kl_digest *d, uint8_t out[16]);

#endif

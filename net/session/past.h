/* past.h - a digest of a client's frames, in 16 bytes. RETURN carries it, so that a relay which lost some
 * frames of a room finds the clients whose frames differ. net/PROTOCOL.md §7, kept seats. Pure but for
 * libsodium. */
#ifndef KL_PAST_H
#define KL_PAST_H

#include <sodium.h>

#include "net/engine/frames.h"

struct kl_digest {
    crypto_generichash_state state;
};
/* tag: the newest one whose interval is complete at the client; NULL: none. */
void kl_digest_begin(struct kl_digest *d, const uint8_t tag[16]);
/* Then every frame after that interval, in order. commands: before it, or NULL. */
void kl_digest_frame(struct kl_digest *d, const struct kl_frame *f, const struct kl_commands *commands);
void kl_digest_end(struct kl_digest *d, uint8_t out[16]);

#endif

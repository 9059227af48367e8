/* digest.h - one digest of all frames of a room up to the end of an interval, which the relay and each client
 * compute for themselves. RETURN has the client's, so that a relay which lost some frames of a room finds the
 * clients whose frames differ. net/PROTOCOL.md §9.
 *
 *   digest_i = BLAKE2b-128(digest_{i-1} || room id || i u32 || bytes of the interval's frames)
 *
 * digest_{-1} is 16 zero bytes. Pure but for libsodium. */
#ifndef KL_DIGEST_H
#define KL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "net/engine/facts.h"

#define KL_DIGEST         16
#define KL_DIGEST_ROOM_ID 16

/* All zero: before the room's first frame. */
struct kl_digest {
    uint8_t digest[KL_DIGEST];
    uint32_t intervals, end; /* whole ones; the frame after the last of them */
};

/* Takes the next interval: its frames as kl_frames_write() has them from its keyframe on, up to `end`. */
void kl_digest_next(struct kl_digest *c, const uint8_t room_id[KL_DIGEST_ROOM_ID], const void *bytes,
                    size_t len, uint32_t end);
/* The digest of the frames from c->end on, which make no whole interval. len 0: there are none. */
void kl_digest_open(const struct kl_digest *c, const uint8_t room_id[KL_DIGEST_ROOM_ID], const void *bytes,
                    size_t len, uint8_t out[KL_DIGEST]);

/* A hash of a room's facts, in 16 bytes: a client finds rooms of its own game in a list by it.
 * net/PROTOCOL.md §7, facts. Pure but for libsodium. */

/* BLAKE2b-128 over the facts in the order of their keys (by bytes), each as key, 0, the part of the value
 * that counts, 0. Equal if kl_facts_differ() finds no difference. */
void kl_identity(const struct kl_facts *f, uint8_t out[16]);

#endif

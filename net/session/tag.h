/* tag.h - the relay's keyed hash of every closed interval, so that nobody can forge the past of a game.
 * net/PROTOCOL.md §9.
 *
 *   tag_i = BLAKE2b-128(key, tag_{i-1} || room id || i u32 || K_i u32 || bytes of the interval's frames)
 *
 * keyed, and chained: tag_-1 is 16 zero bytes, K_i is the interval's keyframe. Only the relay has the key,
 * derived from its long-term secret and the room's id. So it can check frames that clients bring without
 * having kept anything of the room. Pure but for libsodium. */
#ifndef KL_TAG_H
#define KL_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sodium.h>

#define KL_TAG         16
#define KL_TAG_ROOM_ID 16

/* relay_secret: of its long-term pair (keys.h). */
void kl_tag_key(const uint8_t relay_secret[32], const uint8_t room_id[KL_TAG_ROOM_ID], uint8_t key[32]);

struct kl_tag { /* one under way; wants the 64-byte alignment of libsodium's state */
    crypto_generichash_state state;
};
void kl_tag_begin(struct kl_tag *t, const uint8_t key[32], const uint8_t before[KL_TAG],
                  const uint8_t room_id[KL_TAG_ROOM_ID], uint32_t interval, uint32_t keyframe);
void kl_tag_add(struct kl_tag *t, const void *bytes, size_t len);
void kl_tag_end(struct kl_tag *t, uint8_t tag[KL_TAG]);
/* In constant time. */
bool kl_tag_equal(const uint8_t a[KL_TAG], const uint8_t b[KL_TAG]);

/* The mark of an UPDATE: the same over the closed part of the newest interval, in 64 bits, under a key of its
 * own. So the relay can prove a client's frames up to the last one. bytes: the interval's frames below
 * `end`. */
#define KL_MARK 8
void kl_mark_key(const uint8_t relay_secret[32], const uint8_t room_id[KL_TAG_ROOM_ID], uint8_t key[32]);
struct kl_mark_of {
    const uint8_t *key, *before, *room_id; /* before: the last tag before this interval */
    uint32_t interval, keyframe, end;
};
void kl_mark_make(const struct kl_mark_of *of, const void *bytes, size_t len, uint8_t mark[KL_MARK]);
bool kl_mark_equal(const uint8_t a[KL_MARK], const uint8_t b[KL_MARK]);

#endif

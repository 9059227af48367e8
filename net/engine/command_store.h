/* command_store.h - the commands of keyframes that have arrived but not yet run, packed, oldest first.
 *
 * Bounded, yet large enough for the longest lag of a client: the relay gives at most KL_COMMAND_PACE bytes a
 * frame on the average and KL_COMMAND_BURST beyond (room_command.c). A client whose menu stays open therefore
 * loses no command. */
#ifndef KL_COMMAND_STORE_H
#define KL_COMMAND_STORE_H

#include "net/engine/lock_wire.h"

#define KL_COMMAND_PACE  8           /* bytes a frame: 480 a second at 60 fps */
#define KL_COMMAND_BURST (64 * 1024) /* bytes */
#define KL_COMMAND_LAG   16384       /* frames */
#define KL_COMMAND_STORE (256 * 1024)
_Static_assert(KL_COMMAND_BURST + KL_COMMAND_PACE * KL_COMMAND_LAG + 1024 <= KL_COMMAND_STORE,
               "it holds all");

struct kl_command_store {
    uint32_t put, got; /* bytes ever */
    uint8_t bytes[KL_COMMAND_STORE];
    struct kl_commands first; /* the oldest set, unpacked; count 0: not yet */
};

/* Bytes that a set takes in a store. The relay counts these. */
uint32_t kl_command_store_size(const struct kl_commands *set);

/* Sets come by rising keyframe. False, and nothing has changed, if there is no place. */
bool kl_command_store_put(struct kl_command_store *s, const struct kl_commands *set);

/* The set of this keyframe, valid until the next call, or NULL. Older ones are dropped. */
const struct kl_commands *kl_command_store_find(struct kl_command_store *s, uint32_t keyframe);

#endif

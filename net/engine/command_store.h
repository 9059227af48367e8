/* command_store.h - the commands of keyframes that have arrived but not yet run, packed, oldest first.
 *
 * Bounded, yet large enough for the longest lag of a client: the relay gives at most KL_COMMAND_PACE bytes a
 * frame on the average and KL_COMMAND_BURST beyond (lock_relay_command.c). A client whose menu stays open
 * therefore loses no command. */
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

/* A set in half the bytes: client, kind, length and data of each command. */
#define KL_SET_BYTES (3 * KL_COMMANDS_MAX + KL_COMMANDS_ROOM)
struct kl_packed_set {
    uint32_t keyframe;
    uint8_t count; /* 0: an empty place */
    uint8_t bytes[KL_SET_BYTES];
};
void kl_packed_set_put(struct kl_packed_set *p, const struct kl_commands *set);
void kl_packed_set_get(const struct kl_packed_set *p, struct kl_commands *set);

/* Bytes that a set takes in a store. The relay counts these. */
uint32_t kl_command_store_size(const struct kl_commands *set);

/* Sets come by rising keyframe. False, and nothing has changed, if there is no place. */
bool kl_command_store_put(struct kl_command_store *s, const struct kl_commands *set);

/* The set of this keyframe, valid until the next call, or NULL. Older ones are dropped. */
const struct kl_commands *kl_command_store_find(struct kl_command_store *s, uint32_t keyframe);
/* Copies the set of this keyframe; nothing is dropped. False: it is not here, or no longer. */
bool kl_command_store_look(const struct kl_command_store *s, uint32_t keyframe, struct kl_commands *out);

#endif

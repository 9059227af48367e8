/* own_states.h - states that this machine keeps for itself: to go back to after a desync, and to seek in a
 * replay. */
#ifndef KLW_OWN_STATES_H
#define KLW_OWN_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/world/fileset.h"

/* --- to go back to --- */

/* This machine's newest states of marked keyframes, to which it can go back if the room's machines part.
 * docs/design.md §5, net/ROOMS.md §7, Healing.
 *
 * The room says in each VERDICT before which keyframe all machines were last equal. The newest state up to
 * that keyframe is kept until a newer one is agreed; states after it wait for their verdict. If there is no
 * place, a new state takes that of the newest one.
 *
 * A relay that lost its newest frames (power cut) needs older states: of those that were agreed some stay,
 * KL_OWN_STATES_APART frames from each other, so that one is at least two of these distances old. Pure but
 * for the heap. */

#define KL_OWN_STATES       4 /* the newest agreed one, and later ones */
#define KL_OWN_STATES_OLDER 3 /* before it */
#define KL_OWN_STATES_ALL   (KL_OWN_STATES + KL_OWN_STATES_OLDER)
#define KL_OWN_STATES_APART 360         /* frames between two of the older ones, at least */
#define KL_OWN_STATES_MAX   (64U << 20) /* bytes in all; of larger states fewer are kept, older ones first */
#define KL_OWN_STATE_LEAST  2           /* of a core whose states leave no place for two, none is kept */

struct kl_own_state {
    uint8_t *bytes;           /* from malloc */
    struct kl_fileset *files; /* NULL: the core had written none */
    size_t len;
    uint32_t frame; /* that runs next */
};
struct kl_own_states {
    struct kl_own_state at[KL_OWN_STATES_ALL]; /* by frame */
    unsigned count;
    unsigned older; /* of them, before the newest agreed one; less than count if that is not 0 */
};

/* True if a state of so many bytes would be kept. */
static inline bool kl_own_states_takes(size_t len) {
    return len && len <= KL_OWN_STATES_MAX / KL_OWN_STATE_LEAST;
}
/* Keeps a state; bytes and files are ours from then on. Frames may come again after kl_own_states_after(). */
void kl_own_states_keep(struct kl_own_states *o, uint32_t frame, uint8_t *bytes, size_t len,
                        struct kl_fileset *files);
/* All machines were equal before this keyframe. */
void kl_own_states_agreed(struct kl_own_states *o, uint32_t keyframe);
/* The newest state of this keyframe or an earlier one; NULL: none is kept. */
const struct kl_own_state *kl_own_states_find(const struct kl_own_states *o, uint32_t keyframe);
/* The machine has gone back: forgets the states of later frames. */
void kl_own_states_after(struct kl_own_states *o, uint32_t frame);
void kl_own_states_clear(struct kl_own_states *o);
/* Their frames, the oldest first. */
unsigned kl_own_states_frames(const struct kl_own_states *o, uint32_t frame[KL_OWN_STATES_ALL]);

/* --- to seek in a replay --- */

/* States of a recording that is played, to seek by: laid by this machine as it passes them.
 *
 * A state each KL_REPLAY_APART frames, in groups of KL_REPLAY_GROUP: the first of a group is packed whole,
 * the others by their difference to the one before. If all together have more than `most` bytes, every second
 * group goes. Pure but for the heap. */

#define KL_REPLAY_APART 600
#define KL_REPLAY_GROUP 6
#define KL_REPLAY_MOST  (64u << 20)

struct kl_replay_state {
    uint32_t frame; /* that runs next */
    uint32_t slot;  /* the frame of the room's saved state then, plus one; 0: there was none */
    uint8_t *packed, hash[32];
    size_t packed_len, len;
    struct kl_fileset *files; /* NULL: the core had written none */
};
struct kl_replay_group {
    unsigned count;
    struct kl_replay_state at[KL_REPLAY_GROUP]; /* by frame */
};
struct kl_replay_states {
    struct kl_replay_group *group; /* by frame; heap */
    unsigned groups, step;         /* only each step-th is kept */
    size_t bytes, most;            /* packed, of all of them; at most so many */
    uint8_t *last;                 /* the state that was laid last, not packed; NULL: none */
    uint32_t last_frame;
};

/* For a recording of so many frames. False: no memory. */
bool kl_replay_states_init(struct kl_replay_states *s, uint32_t frames, size_t most);
void kl_replay_states_free(struct kl_replay_states *s);

/* A state of this frame has a place, and is not there. */
bool kl_replay_states_wants(const struct kl_replay_states *s, uint32_t frame);
/* Lays it. bytes (of malloc) and files are ours from then on. */
void kl_replay_states_add(struct kl_replay_states *s, uint32_t frame, uint32_t slot, uint8_t *bytes,
                          size_t len, struct kl_fileset *files);

/* The newest one of this frame or before, if the room's slot holds that of `slot`; NULL: none. */
const struct kl_replay_state *kl_replay_states_find(const struct kl_replay_states *s, uint32_t frame,
                                                    uint32_t slot);
/* Its bytes, from malloc. NULL: no memory. */
uint8_t *kl_replay_states_unpack(const struct kl_replay_states *s, const struct kl_replay_state *at);

#endif

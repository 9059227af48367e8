/* replay_states.h - states of a recording that is played, to seek by: laid by this machine as it passes them.
 *
 * A state each KL_REPLAY_APART frames, in groups of KL_REPLAY_GROUP: the first of a group is packed whole,
 * the others by their difference to the one before. If all together have more than `most` bytes, every second
 * group goes. Pure but for the heap. */
#ifndef KLW_REPLAY_STATES_H
#define KLW_REPLAY_STATES_H

#include "core_wrapper/world/fileset.h"

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

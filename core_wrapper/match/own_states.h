/* own_states.h - this machine's newest states of marked keyframes, to which it can go back if the room's
 * machines part. docs/design.md §5, net/ROOMS.md §7, Healing.
 *
 * The room says in each VERDICT before which keyframe all machines were last equal. The newest state up to
 * that keyframe is kept until a newer one is agreed; states after it wait for their verdict. If there is no
 * place, a new state takes that of the newest one.
 *
 * A relay that lost its newest frames (power cut) needs older states: of those that were agreed some stay,
 * KL_OWN_STATES_APART frames from each other, so that one is at least two of these distances old. Pure but
 * for the heap. */
#ifndef KLW_OWN_STATES_H
#define KLW_OWN_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/world/fileset.h"

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

#endif

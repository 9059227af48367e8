/* probe_join.h - the effect of a snapshot on a core, for `keylock probe`. A runs through; B loads its own
 * state at a frame; C is fresh and loads that state, as a newcomer does. Then all three play the same on. If
 * A and C part, the room's members must load at a snapshot, too. If B and C part as well, no state brings a
 * newcomer in, only the whole history. */
#ifndef KLT_PROBE_JOIN_H
#define KLT_PROBE_JOIN_H

#include "core_wrapper/tool/desync/machine.h"

#define KLT_JOINS 3 /* at a quarter, a half and three quarters of the frames */

/* The profile's verdict on snapshots. */
enum kl_join_verdict {
    KLT_JOIN_UNKNOWN,    /* no savestate, or it did not run */
    KLT_JOIN_NONE,       /* nobody else need load: A, B and C are equal */
    KLT_JOIN_ALL,        /* all must load their own: B and C are equal */
    KLT_JOIN_STATE_ONLY, /* memory stays equal; some bytes of the state do not */
    KLT_JOIN_HISTORY,    /* the game differs: no snapshot works */
};
const char *kl_join_verdict_name(enum kl_join_verdict v); /* "none", "all", "state only", "history" */

struct kl_join_result {
    struct kl_comparison a_b, a_c, b_c; /* over all joins; frames count from the load */
    bool ran, takes;                    /* to the end; the core took every state */
    char error[KLT_ERR];
};

/* Joins at KLT_JOINS frames of `frames`, and compares for `on` frames after each; with random input each time
 * with another seed. Fills in r in any case; free it. */
void kl_join_run(struct kl_join_result *r, const struct kl_machine_setup *setup, uint32_t frames,
                 uint32_t on);
void kl_join_free(struct kl_join_result *r);
enum kl_join_verdict kl_join_judge(const struct kl_join_result *r);

/* Moments in which a memory differed, and in which the savestate did. */
uint32_t kl_join_memory(const struct kl_comparison *c);
uint32_t kl_join_state(const struct kl_comparison *c);

#endif

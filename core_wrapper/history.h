/* history.h - the last ten seconds of a session for the panel's graph, in steps. Pure; fixed size. */
#ifndef KLW_HISTORY_H
#define KLW_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define KL_HISTORY_STEPS   200
#define KL_HISTORY_STEP_US 50000

/* The worst of each within a step. */
struct kl_history_step {
    uint16_t need;    /* lead that a frame needed to be in time, quarter frames; 0: no frame said so */
    uint16_t spacing; /* frames */
    uint16_t backlog; /* frames */
    uint16_t gap_ms;  /* from one frame shown to the next, or that is awaited */
    bool stalled;     /* a frame was due and not there */
};

struct kl_history {
    uint64_t newest; /* number of the newest step, since the clock's zero; 0: none yet */
    struct kl_history_step step[KL_HISTORY_STEPS]; /* ring by number */
};

void kl_history_clear(struct kl_history *h);
/* Takes the figures of one call at now_us, which does not go back. */
void kl_history_add(struct kl_history *h, const struct kl_history_step *s, uint64_t now_us);
/* The worst of the part [i/n, (i+1)/n) of the ten seconds, oldest first; i < n. */
struct kl_history_step kl_history_part(const struct kl_history *h, unsigned i, unsigned n);

#endif

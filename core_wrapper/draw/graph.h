/* graph.h - the last ten seconds of a session for the panel's graph, in steps. Pure; fixed size. */
#ifndef KLW_GRAPH_H
#define KLW_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#define KL_GRAPH_STEPS   200
#define KL_GRAPH_STEP_US 50000

/* The worst of each within a step. */
struct kl_graph_step {
    uint16_t need; /* lead that a frame needed to be in time (by the clock: playout margin), quarter frames;
                      0: no frame said so */
    uint16_t had;  /* lead that the frame had; quarter frames, 0 as above */
    uint16_t backlog; /* frames */
    bool stalled;     /* a frame was due and not there */
};

struct kl_graph {
    uint64_t newest; /* number of the newest step, since the clock's zero; 0: none yet */
    struct kl_graph_step step[KL_GRAPH_STEPS]; /* ring by number */
};

void kl_graph_clear(struct kl_graph *h);
/* Takes the figures of one call at now_us, which does not go back. */
void kl_graph_add(struct kl_graph *h, const struct kl_graph_step *s, uint64_t now_us);
/* The worst of the part [i/n, (i+1)/n) of the ten seconds, oldest first; i < n. */
struct kl_graph_step kl_graph_part(const struct kl_graph *h, unsigned i, unsigned n);

#endif

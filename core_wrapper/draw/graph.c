#include "core_wrapper/draw/graph.h"

#include <string.h>

void kl_graph_clear(struct kl_graph *h) {
    memset(h, 0, sizeof *h);
}

static void worsen(struct kl_graph_step *s, const struct kl_graph_step *by) {
    if (by->need > s->need) s->need = by->need;
    if (by->had) s->had = by->had;
    if (by->backlog > s->backlog) s->backlog = by->backlog;
    s->stalled = s->stalled || by->stalled;
}

void kl_graph_add(struct kl_graph *h, const struct kl_graph_step *s, uint64_t now_us) {
    static const struct kl_graph_step none;
    uint64_t step = now_us / KL_GRAPH_STEP_US;
    if (step < h->newest) return;
    if (step - h->newest > KL_GRAPH_STEPS) {
        kl_graph_clear(h);
        h->newest = step - 1;
    }
    while (h->newest < step)
        h->step[++h->newest % KL_GRAPH_STEPS] = none;
    worsen(&h->step[step % KL_GRAPH_STEPS], s);
}

struct kl_graph_step kl_graph_part(const struct kl_graph *h, unsigned i, unsigned n) {
    struct kl_graph_step worst = {0};
    unsigned from = i * KL_GRAPH_STEPS / n, to = (i + 1) * KL_GRAPH_STEPS / n;
    if (to == from) to = from + 1;
    for (unsigned k = from; k < to && k < KL_GRAPH_STEPS; k++)
        worsen(&worst, &h->step[(h->newest + 1 + k) % KL_GRAPH_STEPS]);
    return worst;
}

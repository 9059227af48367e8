#include "history.h"

#include <string.h>

void kl_history_clear(struct kl_history *h) {
    memset(h, 0, sizeof *h);
}

static void worsen(struct kl_history_step *s, const struct kl_history_step *by) {
    if (by->need > s->need) s->need = by->need;
    if (by->spacing) s->spacing = by->spacing;
    if (by->backlog > s->backlog) s->backlog = by->backlog;
    if (by->gap_ms > s->gap_ms) s->gap_ms = by->gap_ms;
    s->stalled = s->stalled || by->stalled;
}

void kl_history_add(struct kl_history *h, const struct kl_history_step *s, uint64_t now_us) {
    static const struct kl_history_step none;
    uint64_t step = now_us / KL_HISTORY_STEP_US;
    if (step < h->newest) return;
    if (step - h->newest > KL_HISTORY_STEPS) {
        kl_history_clear(h);
        h->newest = step - 1;
    }
    while (h->newest < step)
        h->step[++h->newest % KL_HISTORY_STEPS] = none;
    worsen(&h->step[step % KL_HISTORY_STEPS], s);
}

struct kl_history_step kl_history_part(const struct kl_history *h, unsigned i, unsigned n) {
    struct kl_history_step worst = {0};
    unsigned from = i * KL_HISTORY_STEPS / n, to = (i + 1) * KL_HISTORY_STEPS / n;
    if (to == from) to = from + 1;
    for (unsigned k = from; k < to && k < KL_HISTORY_STEPS; k++)
        worsen(&worst, &h->step[(h->newest + 1 + k) % KL_HISTORY_STEPS]);
    return worst;
}

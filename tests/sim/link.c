#include "tests/sim/link.h"

#include <string.h>

static double jitter_draw(struct link *l) {
    double scale = l->quality.jitter_us;
    switch (l->quality.jitter) {
    case JITTER_UNIFORM: return scale * rng_unit(&l->rng);
    case JITTER_EXPONENTIAL: return fmin(scale * rng_exponential(&l->rng), 14 * scale);
    case JITTER_SPIKES: return rng_chance(&l->rng, 0.01) ? 8 * scale * rng_unit(&l->rng) : 0;
    default: return scale * fabs(rng_normal(&l->rng));
    }
}

static bool lost(struct link *l) {
    const struct link_quality *q = &l->quality;
    if (l->in_burst ? rng_chance(&l->rng, q->burst_end) : rng_chance(&l->rng, q->burst_begin))
        l->in_burst = !l->in_burst;
    return rng_chance(&l->rng, l->in_burst ? q->burst_loss : q->loss);
}

unsigned link_send(struct link *l, uint64_t now_us, uint64_t arrival_us[2]) {
    const struct link_quality *q = &l->quality;
    if (now_us < l->down_until_us || lost(l)) return 0;
    unsigned copies = rng_chance(&l->rng, q->duplicate) ? 2 : 1;
    for (unsigned i = 0; i < copies; i++) {
        uint64_t at = now_us + q->delay_us + (uint64_t)jitter_draw(l);
        bool late = rng_chance(&l->rng, q->reorder);
        if (late) at += (uint64_t)(rng_unit(&l->rng) * q->reorder_us);
        if (q->fifo && at < l->last_arrival_us) at = l->last_arrival_us;
        if (!late && at > l->last_arrival_us) l->last_arrival_us = at;
        arrival_us[i] = at;
    }
    return copies;
}

bool link_fresh(struct link_window *w, uint32_t counter) {
    uint32_t *seen = &w->seen[counter % LINK_WINDOW];
    if (*seen == counter || counter + LINK_WINDOW <= w->highest) return false;
    *seen = counter;
    w->fresh++;
    if (counter > w->highest) w->highest = counter;
    return true;
}

uint32_t link_worst_us(const struct link_quality *q) {
    uint32_t factor = q->jitter == JITTER_EXPONENTIAL ? 14 : 8;
    return q->delay_us + factor * q->jitter_us + (q->reorder > 0 ? q->reorder_us : 0);
}

struct link_quality link_draw(struct rng *r, unsigned class) {
    static const uint32_t delay_max[] = {800, 15000, 40000, 90000, 160000};
    static const uint32_t jitter_max[] = {200, 1000, 5000, 10000, 20000};
    static const double loss_max[] = {0, 0.002, 0.01, 0.03, 0.1};
    struct link_quality q = {.delay_us = rng_range(r, delay_max[class] / 10, delay_max[class])};
    q.jitter_us = rng_range(r, 0, jitter_max[class]);
    q.jitter = (uint8_t)rng_range(r, 0, JITTER_KINDS - 1);
    q.fifo = rng_chance(r, 0.5);
    q.loss = loss_max[class] * rng_unit(r);
    if (rng_chance(r, 0.3)) q.duplicate = rng_between(r, 0, 0.2);
    if (rng_chance(r, 0.3)) {
        q.reorder = rng_between(r, 0, 0.2);
        q.reorder_us = rng_range(r, 1000, 120000);
    }
    if (class >= 2 && rng_chance(r, 0.3)) {
        q.burst_begin = rng_between(r, 0.001, 0.02);
        q.burst_end = rng_between(r, 0.12, 0.6);
        q.burst_loss = rng_between(r, 0.3, 1);
    }
    return q;
}

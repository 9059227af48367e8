#include "tests/sim/ref_pace.h"

#define LEAST_US 250000u

static uint32_t limit_us(const struct ref_relay *r) {
    uint32_t budget = r->params.wait_budget_ms * 1000u;
    return r->params.policy == KL_POLICY_BOUNDED && budget > LEAST_US ? budget : LEAST_US;
}

static void add(uint32_t *us, double more, uint32_t limit) {
    double sum = *us + more;
    *us = sum < 2.0 * limit ? (uint32_t)sum : 2 * limit;
}

static void sink(uint32_t *us, uint64_t by) {
    *us = by < *us ? (uint32_t)(*us - by) : 0;
}

static bool in_place(const struct ref_client *c) {
    return c->in_room && c->pads && c->presence == REF_PRESENT;
}

void ref_pace_charge(struct ref_relay *r, uint64_t now_us) {
    if (!r->started || !r->params.clocked) return;
    double line = r->schedule.t0_us + r->next * r->schedule.period_us;
    uint64_t from = line > (double)r->last_close_us ? (uint64_t)line : r->last_close_us;
    from += (uint64_t)(2 * 1e12 / r->params.fps_uhz);
    r->wait_us = now_us > from ? (double)(now_us - from) : 0;
    if (from < r->charged_us) from = r->charged_us;
    r->waited_for = ref_room_missing(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        sink(&c->cost_us, (now_us - r->charged_us) / 16);
        if ((c->pads & r->waited_for) && now_us > from)
            add(&c->cost_us, (double)(now_us - from), limit_us(r));
    }
    r->charged_us = now_us;
}

void ref_room_slipped(struct ref_relay *r, double us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        bool its = in_place(c) && (c->pads & r->waited_for);
        if (its && us > r->wait_us)
            add(&c->cost_us, (double)(uint64_t)((us - r->wait_us) * 2.5), limit_us(r));
    }
    r->waited_for = 0;
}

static void paid(struct ref_client *c) {
    if (c->cost_us > LEAST_US / 2) c->cost_us = LEAST_US / 2;
}

void ref_pace_forget(struct ref_client *c) {
    c->cost_us = 0;
    c->pauses = 0;
    c->barred_us = 0;
}

/* Another client is in place, and its sum is below half of the limit. */
static bool others_keep_pace(const struct ref_relay *r, const struct ref_client *than) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct ref_client *c = &r->client[i];
        if (c == than || !in_place(c)) continue;
        if (c->cost_us < limit_us(r) / 2) return true;
    }
    return false;
}

uint8_t ref_pace_out(struct ref_relay *r, uint64_t now_us) {
    uint8_t out = 0;
    if (r->params.policy != KL_POLICY_BOUNDED || !r->params.clocked) return 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct ref_client *c = &r->client[i];
        bool over = c->cost_us >= limit_us(r);
        if (!in_place(c) || (out & c->pads) || !over || !others_keep_pace(r, c)) continue;
        if (now_us > c->barred_us + 60000000) c->pauses = 0;
        c->barred_us = now_us + (UINT64_C(1000000) << c->pauses);
        c->pauses += c->pauses < 6;
        out |= c->pads;
        paid(c);
        ref_make_absent(c); /* at once: the next one judged must not lean on him */
    }
    return out;
}

bool ref_pace_barred(const struct ref_relay *r, const struct ref_client *c, uint64_t now_us) {
    return now_us < c->barred_us && others_keep_pace(r, c);
}

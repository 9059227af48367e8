#include "net/engine/room_private.h"

/* Finds clients that hold the room up, by two leaky buckets a client, of the wait budget (250 ms at least).
 * Waiting: the room's wait for its samples beyond two frame times each; frontends that call too seldom fill
 * it. Slowing: the small moves of the schedule because its samples came later and later; machines that are a
 * few percent too slow fill it. */

/* In any minute one client costs the others at most 60 s / WAITED_DRAINS + 60 s / SLOWED_DRAINS and twice the
 * limit: 5.75 s with a limit of 250 ms. */
#define MOST_LEAST_US    250000
#define WAITED_DRAINS    16 /* one part in so many of all time may be waiting */
#define SLOWED_DRAINS    40 /* one part in so many may be slowing */
#define WAIT_FREE_FRAMES 2
#define PAUSE_US         UINT64_C(1000000) /* before the first return; doubled for each one after it */
#define PAUSE_DOUBLED    6
#define FORGIVEN_US      UINT64_C(60000000) /* after a return of so long the pauses begin anew */

static uint32_t most_us(const struct kl_room *r) {
    uint32_t budget_us = r->params.wait_budget_ms * UINT32_C(1000);
    return r->params.policy == KL_POLICY_BOUNDED && budget_us > MOST_LEAST_US ? budget_us : MOST_LEAST_US;
}

/* Fills up to twice the limit, because some drains before the next check. */
static void fill(const struct kl_room *r, uint32_t *bucket, uint64_t us) {
    uint64_t sum = *bucket + us, brim = 2 * (uint64_t)most_us(r);
    *bucket = (uint32_t)(sum < brim ? sum : brim);
}

static void drain(uint32_t *bucket, uint64_t us) {
    *bucket = *bucket > us ? *bucket - (uint32_t)us : 0;
}

static bool plays(const struct kl_room_client *c) {
    return c->present && c->seats && c->presence == KL_PRESENT;
}

static uint64_t charged_from(const struct kl_room *r) {
    uint64_t from = kl_room_waiting_since(r) + (uint64_t)(WAIT_FREE_FRAMES * kl_room_period_us(r));
    return from > r->charged_us ? from : r->charged_us;
}

struct kl_room_event kl_room_event_begins(struct kl_room *r, uint64_t now_us) {
    struct kl_room_event e = {0, r->schedule.t0_us, r->schedule.period_us};
    if (!r->started || !r->params.clocked) return e;
    e.waited_for = kl_room_missing(r);
    uint64_t from = charged_from(r), elapsed_us = now_us - r->charged_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_room_client *c = &r->client[i];
        drain(&c->waited_us, elapsed_us / WAITED_DRAINS);
        drain(&c->slowed_us, elapsed_us / SLOWED_DRAINS);
        if (plays(c) && c->waited_us == 0 && c->slowed_us == 0) c->holds_up = false;
        if ((c->seats & e.waited_for) && now_us > from) fill(r, &c->waited_us, now_us - from);
    }
    r->charged_us = now_us;
    return e;
}

void kl_room_event_ends(struct kl_room *r, struct kl_room_event e) {
    double later_us = r->schedule.t0_us - e.line_us;
    if (r->schedule.period_us != e.period_us) return; /* it is the core that plays at another rate */
    if (later_us <= 0 || later_us > KL_SCHEDULE_JUMP_US) return; /* a stall was charged as waiting */
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_room_client *c = &r->client[i];
        if (plays(c) && (c->seats & e.waited_for)) fill(r, &c->slowed_us, (uint64_t)later_us);
    }
}

void kl_room_paid(struct kl_room_client *c) {
    if (c->waited_us > MOST_LEAST_US / 2) c->waited_us = MOST_LEAST_US / 2;
    if (c->slowed_us > MOST_LEAST_US / 2) c->slowed_us = MOST_LEAST_US / 2;
}

/* A room in which nobody keeps pace goes at the pace it has. */
static bool another_keeps_pace(const struct kl_room *r, const struct kl_room_client *than) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_room_client *c = &r->client[i];
        bool half_full = c->waited_us >= most_us(r) / 2 || c->slowed_us >= most_us(r) / 2;
        if (c != than && plays(c) && !half_full) return true;
    }
    return false;
}

static bool ran_over(const struct kl_room *r, const struct kl_room_client *c) {
    bool over = c->waited_us >= most_us(r) || c->slowed_us >= most_us(r);
    return plays(c) && over && another_keeps_pace(r, c);
}

static void pause(struct kl_room_client *c, uint64_t now_us) {
    if (now_us > c->barred_until_us + FORGIVEN_US) c->pauses = 0;
    c->barred_until_us = now_us + (PAUSE_US << c->pauses);
    if (c->pauses < PAUSE_DOUBLED) c->pauses++;
}

void kl_room_find_holding_up(struct kl_room *r, uint64_t now_us) {
    uint8_t missing = kl_room_missing(r), out = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_room_client *c = &r->client[i];
        if (!ran_over(r, c)) continue;
        c->holds_up = true;
        if (r->params.policy != KL_POLICY_BOUNDED) continue;
        out |= c->seats;
        pause(c, now_us);
        kl_room_set_absent(r, c);
    }
    if (missing & out) kl_schedule_move(&r->schedule, r->next_close, now_us);
}

/* May be a moment early, because some drains meanwhile. */
uint64_t kl_room_runs_over_at(const struct kl_room *r) {
    uint64_t first = UINT64_MAX;
    uint8_t missing = kl_room_missing(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->params.clocked; i++) {
        const struct kl_room_client *c = &r->client[i];
        if (!(c->seats & missing) || !plays(c) || !another_keeps_pace(r, c)) continue;
        uint64_t at_us = charged_from(r) + (c->waited_us < most_us(r) ? most_us(r) - c->waited_us : 0);
        if (at_us < first) first = at_us;
    }
    return first;
}

bool kl_room_may_return(const struct kl_room *r, const struct kl_room_client *c, uint64_t now_us) {
    return now_us >= c->barred_until_us || !another_keeps_pace(r, c);
}

bool kl_room_holds_up(const struct kl_room *r, unsigned client) {
    return client < KL_MAX_CLIENTS && r->client[client].present && r->client[client].holds_up;
}

#include "net/engine/lock_relay_private.h"

/* Finds clients that hold the room up, by one leaky bucket a client, of the wait budget (250 ms at least).
 * The room's wait for its samples, beyond two frame times each, fills it; so do the moves of the schedule
 * because its samples came later and later, as far as they were not charged as waiting. Frontends that call
 * too seldom, machines that are too slow, and clients that hold their samples back all fill it. */

/* In any minute one client costs the others at most 60 s / DRAINS and twice the limit, 4.25 s with a limit of
 * 250 ms. */
#define MOST_LEAST_US    250000
#define DRAINS           16  /* one part in so many of all time may be lost to one client */
#define SLOWING_WEIGHS   2.5 /* a game that is steadily too slow is worse than a pause now and then */
#define WAIT_FREE_FRAMES 2
#define PAUSE_US         UINT64_C(1000000) /* before the first return; doubled for each one after it */
#define PAUSE_DOUBLED    6
#define FORGIVEN_US      UINT64_C(60000000) /* after a return of so long the pauses begin anew */

static uint32_t most_us(const struct kl_lock_relay *r) {
    uint32_t budget_us = r->params.wait_budget_ms * UINT32_C(1000);
    return r->params.policy == KL_POLICY_BOUNDED && budget_us > MOST_LEAST_US ? budget_us : MOST_LEAST_US;
}

/* Fills up to twice the limit, because some drains before the next check. */
static void fill(uint32_t *bucket, uint64_t us, uint32_t limit_us) {
    uint64_t sum = *bucket + us, brim = 2 * (uint64_t)limit_us;
    *bucket = (uint32_t)(sum < brim ? sum : brim);
}

static void drain(uint32_t *bucket, uint64_t us) {
    *bucket = *bucket > us ? *bucket - (uint32_t)us : 0;
}

static bool plays(const struct kl_lock_client *c) {
    return c->present && c->seats && c->presence == KL_PRESENT;
}

/* The present wait costs nobody anything until then. */
static uint64_t free_until_us(const struct kl_lock_relay *r) {
    return kl_lock_waiting_since(r) + (uint64_t)(WAIT_FREE_FRAMES * kl_lock_period_us(r));
}

static uint64_t charged_from(const struct kl_lock_relay *r, uint64_t free_until) {
    return free_until > r->charged_us ? free_until : r->charged_us;
}

struct kl_lock_event kl_lock_event_begins(struct kl_lock_relay *r, uint64_t now_us) {
    struct kl_lock_event e = {r->schedule.t0_us, r->schedule.period_us, 0, most_us(r)};
    if (!r->started || !r->params.clocked) return e;
    r->waited_for = kl_lock_missing(r);
    uint64_t free_until = free_until_us(r), from = charged_from(r, free_until),
             elapsed_us = now_us - r->charged_us;
    e.waited_us = now_us > free_until ? now_us - free_until : 0;
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        drain(&c->cost_us, elapsed_us / DRAINS);
        if (plays(c) && c->cost_us == 0) c->holds_up = false;
        if ((c->seats & r->waited_for) && now_us > from) fill(&c->cost_us, now_us - from, e.limit_us);
    }
    r->charged_us = now_us;
    return e;
}

void kl_lock_event_ends(struct kl_lock_relay *r, struct kl_lock_event e) {
    double later_us = r->schedule.t0_us - e.line_us;
    if (r->schedule.period_us != e.period_us) return; /* it is the core that plays at another rate */
    if (later_us <= (double)e.waited_us) return;      /* charged as waiting */
    uint64_t slowed_us = (uint64_t)((later_us - (double)e.waited_us) * SLOWING_WEIGHS);
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        if (plays(c) && (c->seats & r->waited_for)) fill(&c->cost_us, slowed_us, e.limit_us);
    }
}

/* The pause pays for its delays; its count of pauses stays. */
static void pay(struct kl_lock_client *c) {
    if (c->cost_us > MOST_LEAST_US / 2) c->cost_us = MOST_LEAST_US / 2;
}

/* A room in which nobody keeps pace goes at the pace it has. */
static bool another_keeps_pace(const struct kl_lock_relay *r, const struct kl_lock_client *than) {
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        if (c != than && plays(c) && c->cost_us < most_us(r) / 2) return true;
    }
    return false;
}

static bool ran_over(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    return plays(c) && c->cost_us >= most_us(r) && another_keeps_pace(r, c);
}

void kl_lock_find_holding_up(struct kl_lock_relay *r, uint64_t now_us) {
    bool waits = false;
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        if (!ran_over(r, c)) continue;
        c->holds_up = true;
        if (r->params.policy != KL_POLICY_BOUNDED) continue;
        waits = waits || (kl_lock_missing(r) & c->seats);
        if (now_us > c->barred_until_us + FORGIVEN_US) c->pauses = 0;
        c->barred_until_us = now_us + (PAUSE_US << c->pauses);
        if (c->pauses < PAUSE_DOUBLED) c->pauses++;
        kl_lock_set_absent(r, c);
        pay(c);
    }
    if (waits) kl_schedule_move(&r->schedule, r->next_close, now_us);
}

/* May be a moment early, because some drains meanwhile. */
uint64_t kl_lock_runs_over_at(const struct kl_lock_relay *r) {
    uint64_t first = UINT64_MAX;
    uint8_t missing = kl_lock_missing(r);
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->params.clocked; i++) {
        const struct kl_lock_client *c = &r->client[i];
        if (!(c->seats & missing) || !plays(c) || !another_keeps_pace(r, c)) continue;
        uint64_t at_us =
            charged_from(r, free_until_us(r)) + (c->cost_us < most_us(r) ? most_us(r) - c->cost_us : 0);
        if (at_us < first) first = at_us;
    }
    return first;
}

bool kl_lock_may_return(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint64_t now_us) {
    return now_us >= c->barred_until_us || !another_keeps_pace(r, c);
}

struct kl_account kl_lock_account(const struct kl_lock_relay *r, unsigned client) {
    const struct kl_lock_client *c = &r->client[client];
    return (struct kl_account){c->cost_us, c->pauses, c->barred_until_us};
}

void kl_lock_set_account(struct kl_lock_relay *r, unsigned client, struct kl_account s) {
    struct kl_lock_client *c = &r->client[client];
    c->cost_us = s.cost_us;
    c->pauses = s.pauses;
    c->barred_until_us = s.barred_until_us;
}

bool kl_lock_late_itself(const struct kl_lock_relay *r, unsigned client) {
    return r->client[client].late_itself > UINT8_MAX / 2;
}

/* Up and down are in the round trip; what only comes down late is in the needs alone. */
static double length_of(struct kl_lock_relay *r, unsigned client) {
    const struct kl_lock_client *c = &r->client[client];
    uint32_t unused;
    unsigned need = c->present && c->presence == KL_PRESENT ? kl_spacing_link(&r->spacing, client) : 0;
    if (need == 0 || c->rtt.count == 0) return 0;
    return need / 4.0 + kl_rtt_least_us(&c->rtt, &unused) / kl_lock_period_us(r);
}

unsigned kl_lock_farthest(struct kl_lock_relay *r) {
    unsigned farthest = KL_MAX_CLIENTS;
    double most = 0, second = 0;
    if (!r->params.clocked || r->params.spacing_fixed) return KL_MAX_CLIENTS;
    for (KL_EACH(i, r->clients)) {
        double length = length_of(r, i);
        if (length > second) second = length;
        if (second <= most) continue;
        second = most;
        most = length;
        farthest = i;
    }
    return second > 0 && most >= second + 1 ? farthest : KL_MAX_CLIENTS;
}

bool kl_lock_holds_up(const struct kl_lock_relay *r, unsigned client) {
    return client < KL_MAX_CLIENTS && r->client[client].present && r->client[client].holds_up;
}

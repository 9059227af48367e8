#include "net/engine/lock_relay_private.h"

#define SILENCE_LEAST_US 200000

void kl_lock_set_absent(struct kl_lock_relay *r, struct kl_lock_client *c) {
    if (c->presence == KL_PRESENT) c->left_spacing = r->spacing.current;
    c->presence = KL_ABSENT;
    r->waited_for &= (uint8_t)~c->seats;
    r->before.present &= (uint8_t)~c->seats;
    r->now.present &= (uint8_t)~c->seats;
}

void kl_lock_resumed(struct kl_lock_relay *r, struct kl_lock_client *c, uint32_t sample) {
    c->next_sample = c->resumed_at = c->used = sample;
    c->crowded = false;
    c->link = KL_LINK_UP;
    kl_lock_keys_anew(r, c->seats, sample);
    bool at_once = r->now.by_clock && r->now.samples_end == UINT32_MAX; /* no interval to fit in with */
    c->presence = at_once ? KL_PRESENT : KL_RETURNING;
    if (!at_once) return;
    c->needs_from = r->next_close;
    r->now.present |= c->seats;
    c->joining = false;
}

void kl_lock_leave_out(struct kl_lock_relay *r, unsigned client) {
    struct kl_lock_client *c = client < KL_MAX_CLIENTS ? &r->client[client] : NULL;
    if (c && c->present && c->seats) kl_lock_set_absent(r, c);
}

static uint64_t budget_us(const struct kl_lock_relay *r) {
    return r->params.wait_budget_ms * UINT64_C(1000);
}

/* Bounded rooms: makes clients absent that the room has waited for longer than the budget. The schedule moves
 * by that stall, once. */
static void leave_behind(struct kl_lock_relay *r, uint64_t now_us) {
    uint8_t missing = kl_lock_missing(r);
    if (missing == 0 || now_us < kl_lock_waiting_since(r) + budget_us(r)) return;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (missing >> s & 1) kl_lock_set_absent(r, &r->client[r->owner[s]]);
    if (r->params.clocked) kl_schedule_move(&r->schedule, r->next_close, now_us);
}

/* Optimistic rooms: a client is heard every 50 ms, except for losses, so a budget below 200 ms counts as
 * 200 ms. */
static bool silent_at(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint64_t *at_us) {
    *at_us = c->heard_at_us + (budget_us(r) > SILENCE_LEAST_US ? budget_us(r) : SILENCE_LEAST_US);
    return c->present && c->seats && c->heard && c->presence != KL_ABSENT;
}

void kl_lock_find_absent(struct kl_lock_relay *r, uint64_t now_us) {
    uint64_t at_us;
    if (!r->started) return;                                   /* heartbeats of the lobby are slow */
    if (r->params.clocked) kl_lock_find_holding_up(r, now_us); /* first: it bars */
    if (r->params.policy == KL_POLICY_BOUNDED) leave_behind(r, now_us);
    if (r->params.policy != KL_POLICY_OPTIMISTIC) return;
    for (KL_EACH(i, r->clients))
        if (silent_at(r, &r->client[i], &at_us) && now_us >= at_us) kl_lock_set_absent(r, &r->client[i]);
}

uint64_t kl_lock_absence_at(const struct kl_lock_relay *r) {
    uint64_t first = UINT64_MAX, at_us;
    if (!r->started || r->paused) return first;
    if (r->params.policy == KL_POLICY_BOUNDED && kl_lock_missing(r)) {
        uint64_t budget = kl_lock_waiting_since(r) + budget_us(r), over = kl_lock_runs_over_at(r);
        return over < budget ? over : budget;
    }
    if (r->params.policy != KL_POLICY_OPTIMISTIC) return first;
    for (KL_EACH(i, r->clients))
        if (silent_at(r, &r->client[i], &at_us) && at_us < first) first = at_us;
    return first;
}

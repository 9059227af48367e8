#include "net/engine/lock_relay_private.h"

/* --- the schedule --- */

/* Frames in one UPDATE if frames close by the clock: one on a fast link, more on a slow one. There the few
 * milliseconds that the later frames of a group lose matter less than the packets. */
#define FAST_RTT_US 60000
#define SLOW_RTT_US 120000

#define PENDING_MAX                                                                                          \
    32 /* samples that may wait for an edge to show; beyond, edges are lost rather than time */

static unsigned group_frames(const struct kl_lock_relay *r) {
    unsigned least = kl_group_frames(&r->params);
    uint32_t slowest_us = 0;
    if (!r->now.by_clock) return least; /* no samples to wait for */
    for (KL_EACH(i, r->clients))
        if (r->client[i].present && r->client[i].seats && r->client[i].rtt.srtt_us > slowest_us)
            slowest_us = r->client[i].rtt.srtt_us;
    unsigned frames = slowest_us <= FAST_RTT_US ? 1 : slowest_us <= SLOW_RTT_US ? 2 : 3;
    return frames > least ? frames : least;
}

double kl_lock_clock_line_us(const struct kl_lock_relay *r) {
    return kl_schedule_line_us(&r->schedule, r->next_close - r->next_close % group_frames(r));
}

/* Everything of an input that is pressed or not. */
static uint64_t buttons(const struct kl_input *in) {
    return in->joypad | (uint64_t)in->mouse_buttons << 16 | (uint64_t)in->gun_buttons << 32 |
           (uint64_t)in->touch[0].pressed << 62 | (uint64_t)in->touch[1].pressed << 63;
}

static uint64_t buttons_at(const struct kl_inputs *ring, uint32_t sample) {
    struct kl_input in;
    kl_inputs_get(ring, sample, &in);
    return buttons(&in);
}

/* Number of the samples [from, end) that one frame can show without hiding an edge: a press after a release
 * of the same button waits until a frame has shown the release. `shown`: buttons of the last frame; `last`:
 * buttons of its last sample. A button in `shown` but not in `last` was released within that frame. */
static uint32_t foldable(const struct kl_inputs *ring, uint64_t shown, uint64_t last, uint32_t from,
                         uint32_t end) {
    uint64_t down = buttons_at(ring, from);
    if (down & shown & ~last) return from;
    uint64_t shows_released = shown & ~down; /* by this very frame */
    uint64_t released = 0;                   /* after being down in this frame */
    for (uint32_t i = from + 1; i < end; i++) {
        uint64_t b = buttons_at(ring, i);
        if (b & shows_released) return i;
        if (b & released) return i - 1; /* the sample before shows it released, in the next frame */
        released |= down & ~b;
        down |= b;
    }
    return end;
}

/* End of the samples that this frame takes from the client. */
static uint32_t take_to(const struct kl_lock_relay *r, const struct kl_lock_client *c,
                        const struct kl_frame *last) {
    uint32_t end = c->next_sample < r->now.samples_end ? c->next_sample : r->now.samples_end;
    if (end <= c->used) return c->used;
    uint32_t most = end;
    for (KL_EACH(s, c->seats)) {
        uint64_t shown = buttons(&last->in[r->plays[s]]), known = shown;
        if (c->used > c->resumed_at) known = buttons_at(&r->sample[s], c->used - 1);
        uint32_t to = foldable(&r->sample[s], shown, known, c->used, most);
        if (to < end) end = to;
    }
    return most - end > PENDING_MAX || c->crowded ? most : end;
}

/* The place of the oldest sample is needed while nothing closes: in a pause, or by a burst after an outage.
 * The oldest sample goes into the one after it, so that no motion, no press and no key is lost; edges are. */
void kl_lock_make_place(struct kl_lock_relay *r, struct kl_lock_client *c) {
    if (!r->now.by_clock || c->next_sample - c->used < KL_WINDOW_FRAMES) return;
    for (KL_EACH(s, c->seats)) {
        struct kl_input sum, next;
        kl_inputs_get(&r->sample[s], c->used, &sum);
        kl_inputs_get(&r->sample[s], c->used + 1, &next);
        kl_lock_keys_put(r, s, c->used + 1);
        kl_input_fold(&sum, &next);
        sum.all_up = next.all_up;
        sum.key_count = next.key_count;
        memcpy(sum.key, next.key, sizeof sum.key);
        kl_inputs_put(&r->sample[s], c->used + 1, &sum);
    }
    c->used++;
    c->crowded = true;
}

uint8_t kl_lock_fill_by_clock(struct kl_lock_relay *r, struct kl_frame *f) {
    struct kl_frame last;
    uint8_t made = 0;
    if (r->now.first == 0 || !kl_lock_frame(r, r->next_close - 1, &last)) return 0;
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        if (!c->present || c->presence != KL_PRESENT) continue;
        uint32_t end = take_to(r, c, &last);
        bool again = end == c->used;                 /* no new sample: buttons and sticks stay */
        if (again && end == c->resumed_at) continue; /* nothing heard yet: neutral */
        for (KL_EACH(s, c->seats))
            kl_lock_fold(r, s, again ? end - 1 : c->used, end, again, &f->in[r->plays[s]]);
        made |= c->seats;
        c->used = end;
        c->crowded = false;
    }
    return made;
}

/* The frames by the clock that come between optimistic and another policy. */
static bool in_between(const struct kl_interval *i) {
    return i->by_clock && i->samples_end != UINT32_MAX;
}

uint8_t kl_lock_missing_by_clock(const struct kl_lock_relay *r) {
    uint8_t missing = 0;
    bool last = r->next_close + 1 == r->now.first + r->now.length;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && last && in_between(&r->now); i++) {
        const struct kl_lock_client *c = &r->client[i];
        if (c->present && c->presence == KL_PRESENT && c->next_sample < r->now.samples_end)
            missing |= c->seats;
    }
    return missing;
}

/* Samples that have come wait for an edge before them to show. */
static bool some_wait(const struct kl_lock_relay *r) {
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        if (c->present && c->seats && c->presence == KL_PRESENT && c->used < r->now.samples_end) return true;
    }
    return false;
}

/* A change to optimistic: samples under way are folded into the next frames. A change back: one interval in
 * between shows the samples from before it, so that none plays twice and none is lost (its last frame waits
 * for samples still under way); the interval after it is made from its samples as usual. */
void kl_lock_choose_closing(struct kl_lock_relay *r, struct kl_interval *next) {
    bool optimistic = r->params.policy == KL_POLICY_OPTIMISTIC;
    bool was = r->now.by_clock && !in_between(&r->now);
    bool between = !optimistic && (was || (in_between(&r->now) && some_wait(r)));
    next->by_clock = optimistic || between;
    if (between) next->samples_end = next->sample_first;
    if (between && was)
        kl_spacing_init(&r->spacing, kl_lock_guess_spacing(r), kl_lock_lead_max(r), r->params.fps_uhz / 1e6,
                        next->first);
    for (unsigned i = 0; i < KL_MAX_CLIENTS && optimistic && !r->now.by_clock; i++) {
        struct kl_lock_client *c = &r->client[i];
        c->used = c->resumed_at > r->now.sample_first ? c->resumed_at : r->now.sample_first;
        if (c->used > c->next_sample) c->used = c->next_sample;
    }
}

/* --- absence --- */

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
    for (KL_EACH(s, missing))
        kl_lock_set_absent(r, &r->client[r->owner[s]]);
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

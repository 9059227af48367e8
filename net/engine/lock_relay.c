#include "net/engine/lock_relay_private.h"

#include <string.h>

#define FIRST_DUE_US   50000 /* from the start to frame 0: time for its UPDATE to reach everybody */
#define FREE_SPACING   12    /* spacing of a room without a clock: lead costs nothing there, round trips do */
#define CLOCK_SPACING  6     /* of frames that close by the clock: limits the wait for a keyframe */
#define UNKNOWN_RTT_US 100000
#define NO_BURST       UINT32_MAX

void kl_lock_init(struct kl_lock_relay *r, const struct kl_params *params) {
    memset(r, 0, sizeof *r);
    r->params = *params;
    if (params->policy == KL_POLICY_OPTIMISTIC && (!params->clocked || !params->subframes))
        r->params.policy = KL_POLICY_BOUNDED; /* has no meaning there */
    memset(r->owner, KL_NOBODY, sizeof r->owner);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        r->plays[s] = (uint8_t)s;
    r->relay.queue = r->relay_queue;
}

void kl_lock_give_place(struct kl_lock_relay *r, unsigned client, struct kl_lock_place *place) {
    if (r->started) memset(place->need, 0, sizeof place->need); /* else the start clears them */
    r->place[client] = place;
    r->spacing.need[client] = place->need;
}

static bool may_have(const struct kl_lock_relay *r, unsigned client, uint8_t seats) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if ((seats >> s & 1) && r->owner[s] != KL_NOBODY && r->owner[s] != client) return false;
    return true;
}

static bool has_memory(const struct kl_lock_relay *r, unsigned client, uint8_t seats) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if ((seats >> s & 1) && !r->sample[s].pad) return false;
    return r->place[client];
}

static void leave_seats(struct kl_lock_relay *r, unsigned client) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->owner[s] == client) {
            r->owner[s] = KL_NOBODY;
            r->owned &= (uint8_t) ~(1u << s);
        }
}

/* While the room plays, they do not count before their samples do. */
static void take_seats(struct kl_lock_relay *r, unsigned client, uint8_t seats) {
    struct kl_lock_client *c = &r->client[client];
    c->seats = seats;
    c->seat_count = 0;
    r->owned |= seats;
    c->joining = r->started && seats;
    c->presence = c->joining ? KL_ABSENT : KL_PRESENT;
    r->before.present &= (uint8_t)~seats; /* they had another owner */
    r->now.present &= (uint8_t)~seats;
    for (KL_EACH(s, seats)) {
        r->owner[s] = (uint8_t)client;
        c->seat_count++;
    }
}

int kl_lock_add(struct kl_lock_relay *r, unsigned client, uint8_t seats, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || r->client[client].present || !may_have(r, client, seats))
        return KL_E_STATE;
    if (!has_memory(r, client, seats)) return KL_E_SPACE;
    struct kl_lock_client *c = &r->client[client];
    struct kl_lock_place *place = r->place[client];
    memset(place, 0, offsetof(struct kl_lock_place, need)); /* needs of the place's last client stay */
    r->clients |= kl_only(client);
    *c = (struct kl_lock_client){.present = true,
                                 .last_send_us = now_us,
                                 .cursor = NO_BURST,
                                 .shown_us = place->shown_us,
                                 .sent = place->sent,
                                 .in_time_us = place->in_time_us,
                                 .queue = place->queue};
    take_seats(r, client, seats);
    if (r->started) c->link = KL_LINK_CUT;
    return KL_OK;
}

int kl_lock_reseat(struct kl_lock_relay *r, unsigned client, uint8_t seats, uint64_t now_us) {
    bool there = client < KL_MAX_CLIENTS && r->client[client].present;
    if (!r->started || !there || !may_have(r, client, seats)) return KL_E_STATE;
    if (!has_memory(r, client, seats)) return KL_E_SPACE;
    struct kl_lock_client *c = &r->client[client];
    kl_lock_set_absent(r, c);
    leave_seats(r, client);
    take_seats(r, client, seats);
    c->next_sample = c->resumed_at = c->used = 0;
    c->left_spacing = 0;
    c->owed = true;
    if (c->link != KL_LINK_CUT) c->link = seats ? KL_LINK_BACK : KL_LINK_UP;
    kl_lock_close_frames(r, now_us);
    return KL_OK;
}

bool kl_lock_joining(const struct kl_lock_relay *r, unsigned client) {
    return client < KL_MAX_CLIENTS && r->client[client].present && r->client[client].joining;
}

uint8_t kl_lock_played(const struct kl_lock_relay *r, uint8_t pads) {
    uint8_t seats = 0;
    for (KL_EACH(s, pads))
        seats |= (uint8_t)(1u << r->plays[s]);
    return seats;
}

/* --- closing --- */

/* Seats whose samples feed the interval being closed. A seat's first interval is neutral. */
static inline uint8_t feeding(const struct kl_lock_relay *r) {
    return r->now.first == 0 ? 0 : r->before.present & r->now.present & r->owned;
}

/* Samples [lo, hi), by number, that frame f of the interval being closed is made from. */
static inline void samples_of(const struct kl_lock_relay *r, uint32_t f, uint32_t *lo, uint32_t *hi) {
    kl_input_map(f - r->now.first, r->before.samples, r->now.length, lo, hi);
    *lo += r->before.sample_first;
    *hi += r->before.sample_first;
}

uint8_t kl_lock_missing(const struct kl_lock_relay *r) {
    uint8_t missing = 0, seats = feeding(r);
    uint32_t lo, hi;
    if (!r->started || r->paused) return 0;
    if (r->now.by_clock) return kl_lock_missing_by_clock(r);
    if (seats == 0) return 0;
    samples_of(r, r->next_close, &lo, &hi);
    for (KL_EACH(s, seats))
        if (r->client[r->owner[s]].next_sample < hi) missing |= (uint8_t)(1u << s);
    return missing;
}

uint8_t kl_lock_waiting_for(const struct kl_lock_relay *r) {
    return kl_lock_missing(r) | kl_lock_held_for(r);
}

uint8_t kl_lock_away(const struct kl_lock_relay *r) {
    uint8_t seats = 0;
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        if (c->present && !c->joining && (c->away || c->presence != KL_PRESENT)) seats |= c->seats;
    }
    return seats;
}

void kl_lock_hints(const struct kl_lock_relay *r, unsigned client, struct kl_hints *h) {
    uint32_t lo, hi;
    uint8_t pads = feeding(r) & (uint8_t)~r->client[client].seats;
    if (!r->started || r->paused || r->now.by_clock || pads == 0) return;
    samples_of(r, r->next_close, &lo, &hi);
    if (lo >= r->next_close || r->next_close - lo > KL_HINTS_BELOW) return;
    h->first = lo;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        uint32_t end = pads >> s & 1 ? r->client[r->owner[s]].next_sample : lo;
        unsigned port = r->plays[s];
        uint16_t now = 0;
        bool held = kl_lock_newest_pad(r, s, &now);
        if (end <= lo) continue;
        if (end > lo + KL_HINTS_MAX) end = lo + KL_HINTS_MAX;
        h->count[port] = (uint8_t)(end - lo);
        for (uint32_t i = lo; i < end; i++) {
            h->joypad[port][i - lo] = r->sample[s].pad[i % KL_WINDOW_FRAMES].joypad;
            held = held && h->joypad[port][i - lo] == now;
        }
        h->ports |= (uint8_t)(1u << port);
        h->held |= (uint8_t)(held << port);
    }
}

void kl_lock_fold(struct kl_lock_relay *r, unsigned pad, uint32_t lo, uint32_t hi, bool again,
                  struct kl_input *out) {
    struct kl_input next;
    kl_inputs_get(&r->sample[pad], lo, out);
    for (uint32_t i = lo + 1; i < hi; i++) {
        kl_inputs_get(&r->sample[pad], i, &next);
        kl_input_fold(out, &next);
    }
    if (again) kl_input_repeat(out);
    kl_lock_keys_put(r, pad, hi);
    kl_lock_keys_take(r, pad, out);
}

/* Returns the pads that the frame is made from. */
static uint8_t fill_from_samples(struct kl_lock_relay *r, struct kl_frame *f) {
    uint8_t seats = feeding(r);
    uint32_t lo, hi, lo_before = UINT32_MAX, unused;
    samples_of(r, r->next_close, &lo, &hi);
    if (r->next_close > r->now.first) samples_of(r, r->next_close - 1, &lo_before, &unused);
    for (KL_EACH(s, seats))
        kl_lock_fold(r, s, lo, hi, lo == lo_before, &f->in[r->plays[s]]);
    return seats;
}

static uint32_t next_length(struct kl_lock_relay *r, const struct kl_interval *next) {
    if (r->params.spacing_fixed) return r->params.spacing_fixed;
    if (next->by_clock && next->samples_end == UINT32_MAX) return CLOCK_SPACING;
    if (next->by_clock)
        return kl_lock_guess_spacing(r);   /* long enough for samples under way to arrive within it */
    r->spacing.most = kl_lock_lead_max(r); /* a command may have changed it */
    return r->params.clocked ? kl_spacing_next(&r->spacing, next->first) : FREE_SPACING;
}

uint16_t kl_lock_lead_max(const struct kl_lock_relay *r) {
    bool limited = r->params.policy != KL_POLICY_STRICT && r->params.clocked && !r->params.spacing_fixed;
    return limited && r->params.lead_max ? r->params.lead_max : KL_SPACING_MAX;
}

uint16_t kl_lock_lead_least(const struct kl_lock_relay *r, unsigned client) {
    const struct kl_rtt *rtt = &r->client[client].rtt;
    uint32_t unused;
    if (rtt->count < KL_RTT_RECENT) return 0;
    uint16_t least = kl_spacing_least(kl_rtt_least_us(rtt, &unused), r->params.fps_uhz / 1e6);
    return (uint16_t)(least + kl_group_frames(&r->params) - 1);
}

/* The spacing that this client's link needs, guessed from its round trips. */
static uint16_t first_spacing(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    uint32_t spread_us, rtt_us = kl_rtt_least_us(&c->rtt, &spread_us);
    uint16_t guess =
        kl_spacing_from_rtt(c->rtt.count ? rtt_us : UNKNOWN_RTT_US, spread_us, r->params.fps_uhz / 1e6);
    guess = (uint16_t)(guess + kl_group_frames(&r->params) - 1);
    return guess < KL_SPACING_MAX ? guess : KL_SPACING_MAX;
}

/* The spacing that this client asks for when its samples begin to count. A client that was here before asks
 * for no more than it had: round trips measured right after its machine stood still are too long, and a link
 * that has become longer shows in its first frames. */
static uint16_t spacing_of_newcomer(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    uint16_t guess = first_spacing(r, c);
    return c->left_spacing && c->left_spacing < guess ? c->left_spacing : guess;
}

/* Clients that have come back count again if their samples reach back to this interval's start. */
static uint8_t count_present(struct kl_lock_relay *r, const struct kl_interval *next) {
    uint8_t seats = 0;
    for (KL_EACH(i, r->clients)) {
        struct kl_lock_client *c = &r->client[i];
        if (!c->present) continue;
        bool reaches_back = c->resumed_at <= next->sample_first;
        bool by_samples = !next->by_clock || next->samples_end != UINT32_MAX;
        if (c->presence == KL_RETURNING && reaches_back) {
            c->presence = KL_PRESENT; /* the room may have come closer meanwhile than its link allows */
            c->needs_from = next->first;
            if (!next->by_clock) kl_spacing_newcomer(&r->spacing, spacing_of_newcomer(r, c));
        }
        if (c->presence == KL_PRESENT && !reaches_back && by_samples) c->presence = KL_RETURNING;
        if (c->presence != KL_PRESENT) continue;
        c->joining = false;
        seats |= c->seats;
    }
    return seats;
}

static void announce_interval(struct kl_lock_relay *r) {
    struct kl_interval next = {.first = r->now.first + r->now.length,
                               .sample_first = r->now.sample_first + r->now.samples,
                               .samples_end = UINT32_MAX};
    kl_lock_give_commands(r, &next);
    kl_lock_choose_closing(r, &next);
    next.present = count_present(r, &next);
    /* Those that take part in the game. */
    uint8_t seats = r->owned;
    for (KL_EACH(i, r->clients))
        if (r->client[i].joining) seats &= (uint8_t)~r->client[i].seats;
    next.active = seats;
    next.length = next_length(r, &next);
    next.samples = r->params.subframes ? next.length : 1;
    next.hash = r->hash_next > 0 && next.first >= r->hash_next;
    if (next.hash) r->hash_next = (next.first / r->params.hash_every + 1) * r->params.hash_every;
    r->before = r->now;
    r->now = next;
}

static uint8_t flags_of(const struct kl_interval *i, bool key) {
    uint8_t flags = i->by_clock ? KL_FRAME_BY_CLOCK : 0;
    if (key) flags |= KL_FRAME_KEY;
    if (key && i->hash) flags |= KL_FRAME_HASH;
    if (key && i->commands) flags |= KL_FRAME_COMMANDS;
    return flags;
}

/* How much later the frame closes than it would have, had all samples been taken in time. A frame made of no
 * samples closes by the schedule, and no lead would bring it earlier. */
static uint8_t excuse_of(struct kl_lock_relay *r, uint64_t now_us) {
    uint8_t seats = feeding(r);
    uint32_t lo, hi;
    if (r->now.by_clock || !r->params.clocked) return 0;
    if (!seats) return KL_NO_NEED;
    samples_of(r, r->next_close, &lo, &hi);
    uint32_t newest = r->before.first + (hi - 1 - r->before.sample_first);
    r->lead[r->next_close % KL_KEPT_FRAMES] = (uint8_t)(r->next_close - newest);
    for (KL_EACH(s, seats)) {
        uint32_t came = r->client[r->owner[s]].in_time_us[(hi - 1) % KL_WINDOW_FRAMES];
        uint64_t came_us = now_us - ((uint32_t)now_us - came);
        if (came_us > r->in_time_us) r->in_time_us = came_us;
    }
    double quarters = (double)(now_us - r->in_time_us) * 4 / kl_lock_period_us(r) + 0.5;
    return quarters < KL_NO_NEED - 1 ? (uint8_t)quarters : KL_NO_NEED - 1;
}

static void close_frame(struct kl_lock_relay *r, uint64_t now_us) {
    struct kl_frame f = {.number = r->next_close,
                         .keyframe = r->now.first,
                         .spacing = (uint16_t)r->now.length,
                         .active = kl_lock_played(r, r->now.active),
                         .flags = flags_of(&r->now, r->next_close == r->now.first)};
    uint8_t made = r->now.by_clock ? kl_lock_fill_by_clock(r, &f) : fill_from_samples(r, &f);
    kl_lock_keys_settle(r, made, kl_lock_played(r, made), &f);
    kl_lock_keep_near(r, &f);
    if (r->params.clocked && r->now.first > 0) kl_schedule_closed(&r->schedule, f.number, now_us);
    r->excuse[r->next_close % KL_KEPT_FRAMES] = excuse_of(r, now_us);
    r->last_close_us = now_us;
    r->next_close++;
}

/* True if some client's samples count, or will from a keyframe soon. If not, the game holds still. */
static bool anybody(const struct kl_lock_relay *r) {
    for (KL_EACH(i, r->clients))
        if (r->client[i].present && r->client[i].seats && r->client[i].presence != KL_ABSENT) return true;
    return false;
}

/* In a room without a clock only this keeps the players from outrunning a spectator. A client without a
 * session, or with its frames from the history, is not waited for. */
static bool outruns_somebody(const struct kl_lock_relay *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !r->params.clocked; i++) {
        const struct kl_lock_client *c = &r->client[i];
        bool counts = c->present && c->link != KL_LINK_CUT && !c->fetching;
        if (counts && r->next_close >= c->frame_acked + KL_KEPT_FRAMES / 2) return true;
    }
    return false;
}

/* When the next frame closes by the clock; UINT64_MAX if it waits for something else. */
static uint64_t closes_at(const struct kl_lock_relay *r) {
    if (kl_lock_held_for(r)) return r->params.policy == KL_POLICY_STRICT ? UINT64_MAX : r->hold_until_us;
    bool by_clock =
        r->now.by_clock || feeding(r) == 0; /* no samples to wait for: the schedule keeps the pace */
    if (!r->started || r->paused || r->now.first == 0 || !by_clock || !anybody(r) || outruns_somebody(r))
        return UINT64_MAX;
    if (kl_lock_missing(r)) return UINT64_MAX;
    double line_us = kl_lock_clock_line_us(r);
    return r->params.clocked && line_us > 0 ? (uint64_t)line_us : 0;
}

static bool can_close(struct kl_lock_relay *r, uint64_t now_us) {
    if (r->paused || r->owned == 0 || kl_lock_held_for(r)) return false;
    if (r->now.first == 0) return true;
    if (outruns_somebody(r)) return false;
    if (r->now.by_clock || feeding(r) == 0) return now_us >= closes_at(r);
    return kl_lock_missing(r) == 0;
}

/* False if the room pauses here. */
static bool next_interval(struct kl_lock_relay *r) {
    if (r->next_close < r->now.first + r->now.length) return true;
    r->paused = r->paused || r->pausing;
    r->pausing = false;
    if (!r->paused) announce_interval(r);
    return !r->paused;
}

void kl_lock_close_frames(struct kl_lock_relay *r, uint64_t now_us) {
    uint32_t closed_before = r->next_close;
    if (now_us >= r->hold_until_us) r->hold_until_us = r->hold_for = 0;
    r->full_us = 0;
    while (r->started && !kl_lock_is_full(r) && r->owned && next_interval(r) && can_close(r, now_us))
        close_frame(r, now_us);
    if (kl_lock_is_full(r)) r->full_us = now_us;
    if (r->next_close == closed_before) return;
    for (KL_EACH(i, r->clients))
        r->client[i].owed = true;
}

void kl_lock_tick(struct kl_lock_relay *r, uint64_t now_us) {
    if (!r->started) return;
    struct kl_lock_event event = kl_lock_event_begins(r, now_us);
    kl_lock_find_absent(r, now_us);
    kl_lock_close_frames(r, now_us);
    kl_lock_event_ends(r, event);
}

uint64_t kl_lock_tick_at(const struct kl_lock_relay *r) {
    uint64_t close = closes_at(r), absence = kl_lock_absence_at(r);
    return close < absence ? close : absence;
}

/* --- start and end --- */

uint16_t kl_lock_guess_spacing(const struct kl_lock_relay *r) {
    if (r->params.spacing_fixed) return r->params.spacing_fixed;
    if (!r->params.clocked) return FREE_SPACING;
    uint16_t most = KL_SPACING_MIN;
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        uint16_t n = c->present && c->seats ? first_spacing(r, c) : 0;
        if (n > most) most = n;
    }
    return most < kl_lock_lead_max(r) ? most : kl_lock_lead_max(r);
}

int kl_lock_start(struct kl_lock_relay *r, uint64_t now_us) {
    uint8_t seats = r->owned;
    if (r->started || seats == 0) return KL_E_STATE;
    uint16_t n = kl_lock_guess_spacing(r);
    kl_spacing_init(&r->spacing, n, kl_lock_lead_max(r), r->params.fps_uhz / 1e6, 0);
    kl_schedule_start(&r->schedule, now_us + FIRST_DUE_US, kl_lock_period_us(r));
    r->now = (struct kl_interval){.length = n,
                                  .samples = r->params.subframes ? n : 1u,
                                  .active = seats,
                                  .present = seats,
                                  .by_clock = r->params.policy == KL_POLICY_OPTIMISTIC,
                                  .samples_end = UINT32_MAX};
    r->hash_next = r->params.hash_every;
    r->last_close_us = r->charged_us = now_us;
    r->started = true;
    kl_lock_close_frames(r, now_us);
    return KL_OK;
}

int kl_lock_resume(struct kl_lock_relay *r, uint64_t now_us) {
    if (!r->paused && !r->pausing) return KL_E_STATE;
    bool held = r->paused;
    r->paused = r->pausing = false;
    if (held) kl_schedule_move(&r->schedule, r->next_close, now_us + FIRST_DUE_US);
    r->last_close_us = now_us;
    kl_lock_close_frames(r, now_us);
    return KL_OK;
}

void kl_lock_remove(struct kl_lock_relay *r, unsigned client, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return;
    r->client[client].present = r->client[client].joining = false;
    r->clients &= (uint16_t)~kl_only(client);
    leave_seats(r, client);
    kl_lock_close_frames(r, now_us);
}

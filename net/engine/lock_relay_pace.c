#include "net/engine/lock_relay_private.h"

#include "net/engine/history.h"

/* --- pacing --- */

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
        /* The pause pays for its delays; its count of pauses stays. */
        if (c->cost_us > MOST_LEAST_US / 2) c->cost_us = MOST_LEAST_US / 2;
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

/* --- near clients --- */

/* The newest closed frames, in columns: inputs stand by the seat whose pads gave them, because only seats
 * with an owner have memory. A swap changes the seat that they play, so each frame notes the seats as of
 * then. */

void kl_lock_give_ring(struct kl_lock_relay *r, struct kl_near_frame *frames, uint32_t places,
                       const struct kl_history *history, struct kl_laid_out *laid_out) {
    memset(frames, 0, places * sizeof *frames);
    r->near = (struct kl_near){.frame = frames, .places = places, .history = history, .laid_out = laid_out};
    laid_out->of = laid_out->coded.of = NULL; /* maybe an earlier lock at the same address */
}

void kl_lock_give_seat(struct kl_lock_relay *r, unsigned seat, struct kl_pad *pads) {
    r->sample[seat] = (struct kl_inputs){.places = KL_WINDOW_FRAMES, .pad = pads};
    r->near.input[seat] = (struct kl_inputs){.places = r->near.places, .pad = pads + KL_WINDOW_FRAMES};
    /* Frames that have closed have nothing from it. */
    if (r->next_close > 0) memset(r->near.input[seat].pad, 0, r->near.places * sizeof *pads);
}

void kl_lock_give_devices(struct kl_lock_relay *r, unsigned seat, struct kl_devices *devices,
                          struct kl_keys *keys) {
    memset(devices, 0, (KL_WINDOW_FRAMES + r->near.places) * sizeof *devices);
    r->sample[seat].devices = devices;
    r->near.input[seat].devices = devices + KL_WINDOW_FRAMES;
    kl_keys_clear(keys);
    keys->all_up = r->up >> seat & 1;
    keys->next = r->owner[seat] != KL_NOBODY ? r->client[r->owner[seat]].next_sample : 0; /* none before */
    r->keys[seat] = keys;
    r->keyboards |= (uint8_t)(1u << seat);
    r->up &= (uint8_t) ~(1u << seat);
    r->wants &= (uint8_t) ~(1u << seat);
}

void kl_lock_keep_near(struct kl_lock_relay *r, const struct kl_frame *f) {
    struct kl_near *n = &r->near;
    uint32_t place = f->number % n->places;
    struct kl_near_frame *to = &n->frame[place];
    *to = (struct kl_near_frame){.end = f->number + 1, .head = kl_frame_head_of(f)};
    memcpy(to->plays, r->plays, sizeof to->plays);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        const struct kl_input *in = &f->in[r->plays[s]];
        if (n->input[s].pad)
            kl_inputs_put(&n->input[s], place, in);
        else if (in->all_up)
            to->all_up |= (uint8_t)(1u << r->plays[s]);
    }
}

static bool is_near(const struct kl_near *n, uint32_t number) {
    return n->frame[number % n->places].end == number + 1;
}

bool kl_lock_newest_pad(const struct kl_lock_relay *r, unsigned pad, uint16_t *joypad) {
    const struct kl_near *n = &r->near;
    uint32_t place = (r->next_close - 1) % n->places;
    if (r->next_close == 0 || !is_near(n, r->next_close - 1) || !n->input[pad].pad) return false;
    *joypad = n->input[pad].pad[place].joypad;
    return n->frame[place].plays[pad] == r->plays[pad];
}

static void read_near(const struct kl_near *n, uint32_t number, struct kl_frame *out) {
    uint32_t place = number % n->places;
    const uint8_t *plays = n->frame[place].plays;
    const struct kl_frame_head *head = &n->frame[place].head;
    *out = (struct kl_frame){.number = number,
                             .keyframe = head->keyframe,
                             .spacing = head->spacing,
                             .flags = head->flags,
                             .active = head->active};
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (n->input[s].pad) kl_inputs_get(&n->input[s], place, &out->in[plays[s]]);
        if (n->frame[place].all_up >> s & 1) out->in[s].all_up = true;
    }
}

/* Whole frames from `first` on, as many as there are; those of the last call stay. Returns the frame after
 * the last. */
static uint32_t read_whole(const struct kl_lock_relay *r, uint32_t first, uint32_t end) {
    const struct kl_near *n = &r->near;
    struct kl_laid_out *m = n->laid_out;
    struct kl_history_cursor c;
    if (m->of != r || first < m->first || first > m->end) m->first = m->end = first;
    m->of = r;
    if (n->history && m->end < end && !is_near(n, m->end)) kl_history_seek(&c, n->history, m->end);
    while (m->end < end) {
        struct kl_frame *to = &m->whole[m->end % KL_WINDOW_FRAMES];
        if (is_near(n, m->end))
            read_near(n, m->end, to);
        else if (!n->history || !kl_history_next(&c, to))
            break;
        m->end++;
    }
    if (m->end > m->first + KL_WINDOW_FRAMES) m->first = m->end - KL_WINDOW_FRAMES;
    return m->end < end ? m->end : end;
}

/* Their inputs need no copy if all are near, no seats were swapped among them, and each input has memory, as
 * nearly always. False: it is not so. */
static bool find_columns(const struct kl_near *n, uint32_t first, uint32_t end) {
    struct kl_laid_out *m = n->laid_out;
    const uint8_t *plays = n->frame[first % n->places].plays;
    for (uint32_t f = first; f < end; f++) {
        const struct kl_near_frame *at = &n->frame[f % n->places];
        if (at->end != f + 1 || at->all_up || memcmp(at->plays, plays, sizeof at->plays) != 0) return false;
        m->head[f % KL_WINDOW_FRAMES] = at->head;
    }
    m->columns.head = m->head;
    m->columns.places = KL_WINDOW_FRAMES;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        m->columns.in[plays[s]] = n->input[s];
    return true;
}

uint32_t kl_lock_lay_out(const struct kl_lock_relay *r, uint32_t first, uint32_t count,
                         struct kl_frames_from *from) {
    struct kl_laid_out *m = r->near.laid_out;
    *from = (struct kl_frames_from){.ring = m->whole, .places = KL_WINDOW_FRAMES, .sets = m->sets};
    if (count == 0) return 0;
    if (find_columns(&r->near, first, first + count))
        from->columns = &m->columns;
    else
        count = read_whole(r, first, first + count) - first;
    uint8_t flags = 0;
    for (uint32_t f = first; f < first + count; f++)
        flags |= from->columns ? m->head[f % KL_WINDOW_FRAMES].flags : m->whole[f % KL_WINDOW_FRAMES].flags;
    for (unsigned i = 0; i < kl_lock_sets(r) && flags & KL_FRAME_COMMANDS; i++) {
        const struct kl_packed_set *set = kl_lock_set(r, i);
        if (set->count > 0 && set->keyframe - first < count)
            kl_packed_set_get(set, &m->sets[from->set_count++]);
    }
    return count;
}

bool kl_lock_frame(const struct kl_lock_relay *r, uint32_t number, struct kl_frame *out) {
    struct kl_history_cursor c;
    if (number >= r->next_close || number < kl_lock_oldest(r)) return false;
    if (is_near(&r->near, number)) {
        read_near(&r->near, number, out);
        return true;
    }
    if (!r->near.history) return false;
    kl_history_seek(&c, r->near.history, number);
    return kl_history_next(&c, out);
}

/* A history may have stopped for want of memory; then the ring's frames are all there are. */
uint32_t kl_lock_oldest(const struct kl_lock_relay *r) {
    const struct kl_history *h = r->near.history;
    uint32_t next = r->next_close, near = next > r->near.places ? next - r->near.places : 0;
    uint32_t kept = next > KL_KEPT_FRAMES ? next - KL_KEPT_FRAMES : 0;
    if (!h || h->next < near) return near;
    uint32_t from = h->first > kept ? h->first : kept;
    return from < near ? from : near;
}

bool kl_lock_take(struct kl_lock_relay *r, struct kl_frame *out) {
    if (r->next_hand == r->next_close && r->full_us) kl_lock_close_frames(r, r->full_us);
    if (r->next_hand + r->near.places < r->next_close) r->next_hand = r->next_close - r->near.places;
    if (r->next_hand == r->next_close) return false;
    read_near(&r->near, r->next_hand++, out);
    return true;
}

#include "room.h"

#include <string.h>

#define FIRST_DUE_US     50000 /* from the start to frame 0: time for its UPDATE to reach everybody */
#define FREE_SPACING     12    /* spacing of a room without a clock: lead costs nothing there, round trips do */
#define TIMER_FRAMES     1.25  /* frame times after the last send: where frames close, they come first */
#define TIMER_FREE_US    5000  /* repetition timer of a room without a clock */
#define BURST_RTTS       2 /* … and BURST_AGAIN_US, before one that nothing came back from is repeated */
#define BURST_AGAIN_US   100000
#define HITCH_QUARTERS   6     /* a sample taken this late was the player's machine's doing, not the link's */
#define UNKNOWN_RTT_US   100000
#define NO_BURST         UINT32_MAX

static double period_us(const struct kl_room *r) { return 1e12 / r->params.fps_uhz; }

void kl_room_init(struct kl_room *r, const struct kl_params *params) {
    memset(r, 0, sizeof *r);
    r->params = *params;
    memset(r->owner, KL_NOBODY, sizeof r->owner);
}

int kl_room_add(struct kl_room *r, unsigned client, uint8_t seats, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || r->client[client].present) return KL_E_STATE;
    if (r->started) return KL_E_STATE;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if ((seats >> s & 1) && r->owner[s] != KL_NOBODY) return KL_E_STATE;
    struct kl_room_client *c = &r->client[client];
    *c = (struct kl_room_client){.present = true, .seats = seats, .last_send_us = now_us, .cursor = NO_BURST};
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        r->owner[s] = (uint8_t)client;
        c->seat_count++;
    }
    return KL_OK;
}

static uint8_t seats_owned(const struct kl_room *r) {
    uint8_t seats = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->owner[s] != KL_NOBODY) seats |= (uint8_t)(1u << s);
    return seats;
}

/* --- closing --------------------------------------------------------------------------------------------- */

/* Seats whose samples feed the interval being closed: a seat's first interval waits for nobody. */
static uint8_t feeding(const struct kl_room *r) { return r->before.active & r->now.active & seats_owned(r); }

/* Samples [lo, hi), by number, that frame next_close is made from. */
static void samples_of(const struct kl_room *r, uint32_t *lo, uint32_t *hi) {
    kl_input_map(r->next_close - r->now.first, r->before.samples, r->now.length, lo, hi);
    *lo += r->before.sample_first;
    *hi += r->before.sample_first;
}

uint8_t kl_room_waiting_for(const struct kl_room *r) {
    uint8_t missing = 0, seats = feeding(r);
    uint32_t lo, hi;
    if (!r->started || r->now.first == 0) return 0;
    samples_of(r, &lo, &hi);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if ((seats >> s & 1) && r->client[r->owner[s]].next_sample < hi) missing |= (uint8_t)(1u << s);
    return missing;
}

static void make_input(const struct kl_room *r, unsigned seat, struct kl_input *out) {
    uint32_t lo, hi, lo_before = UINT32_MAX, unused;
    samples_of(r, &lo, &hi);
    if (r->next_close > r->now.first) {
        kl_input_map(r->next_close - 1 - r->now.first, r->before.samples, r->now.length, &lo_before, &unused);
        lo_before += r->before.sample_first;
    }
    const struct kl_input *ring = r->sample[seat];
    *out = ring[lo % KL_WINDOW_FRAMES];
    for (uint32_t i = lo + 1; i < hi; i++) kl_input_fold(out, &ring[i % KL_WINDOW_FRAMES]);
    if (lo == lo_before) kl_input_repeat(out);
}

static void announce_interval(struct kl_room *r) {
    struct kl_interval next = {.first = r->now.first + r->now.length,
                               .sample_first = r->now.sample_first + r->now.samples,
                               .active = seats_owned(r)};
    next.length = r->params.spacing_fixed ? r->params.spacing_fixed
                  : r->params.clocked     ? kl_spacing_next(&r->spacing, next.first)
                                          : FREE_SPACING;
    next.samples = r->params.subframes ? next.length : 1;
    next.hash = r->hash_next > 0 && next.first >= r->hash_next;
    if (next.hash) r->hash_next = (next.first / r->params.hash_every + 1) * r->params.hash_every;
    r->before = r->now;
    r->now = next;
}

static void close_frame(struct kl_room *r, uint64_t now_us) {
    struct kl_frame *f = &r->closed[r->next_close % KL_WINDOW_FRAMES];
    uint8_t seats = r->now.first == 0 ? 0 : feeding(r);
    memset(f, 0, sizeof *f);
    f->number = r->next_close;
    f->keyframe = r->now.first;
    f->spacing = (uint16_t)r->now.length;
    f->active = r->now.active;
    if (f->number == f->keyframe) f->flags = (uint8_t)(KL_FRAME_KEY | (r->now.hash ? KL_FRAME_HASH : 0));
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (seats >> s & 1) make_input(r, s, &f->in[s]);
    if (r->params.clocked && r->now.first > 0) kl_schedule_closed(&r->schedule, f->number, now_us);
    r->next_close++;
}

/* Closes every frame whose samples are in. With nobody seated nothing closes any more: the game is over. */
static void close_frames(struct kl_room *r, uint64_t now_us) {
    uint32_t closed_before = r->next_close;
    while (r->started && seats_owned(r)) {
        if (r->next_close == r->now.first + r->now.length) announce_interval(r);
        if (kl_room_waiting_for(r) || (feeding(r) == 0 && r->now.first > 0)) break;
        close_frame(r, now_us);
    }
    if (r->next_close == closed_before) return;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) r->client[i].owed |= r->client[i].present;
}

static uint16_t first_spacing(const struct kl_room *r) {
    if (r->params.spacing_fixed) return r->params.spacing_fixed;
    if (!r->params.clocked) return FREE_SPACING;
    uint16_t most = KL_SPACING_MIN;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_room_client *c = &r->client[i];
        if (!c->present || c->seats == 0) continue;
        uint16_t n = kl_spacing_from_rtt(c->rtt.count ? c->rtt.srtt_us : UNKNOWN_RTT_US, c->rtt.rttvar_us, r->params.fps_uhz / 1e6);
        if (n > most) most = n;
    }
    return most;
}

int kl_room_start(struct kl_room *r, uint64_t now_us) {
    uint8_t seats = seats_owned(r);
    if (r->started || seats == 0) return KL_E_STATE;
    uint16_t n = first_spacing(r);
    kl_spacing_init(&r->spacing, n, r->params.fps_uhz / 1e6);
    kl_schedule_start(&r->schedule, now_us + FIRST_DUE_US, period_us(r));
    r->now = (struct kl_interval){.length = n, .samples = r->params.subframes ? n : 1u, .active = seats};
    r->hash_next = r->params.hash_every;
    r->started = true;
    close_frames(r, now_us);
    return KL_OK;
}

void kl_room_remove(struct kl_room *r, unsigned client, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return;
    r->client[client].present = false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->owner[s] == client) r->owner[s] = KL_NOBODY;
    close_frames(r, now_us);
}

/* --- CTRL in --------------------------------------------------------------------------------------------- */

static void keep_samples(struct kl_room *r, struct kl_room_client *c, struct kl_ctrl *m) {
    struct kl_input in[KL_MAX_SEATS];
    for (uint32_t i = 0; i < m->sample_count; i++) {
        kl_ctrl_sample(m, in);
        if (m->sample_first + i != c->next_sample) continue; /* had before, or behind a gap */
        for (unsigned s = 0, k = 0; s < KL_MAX_SEATS; s++)
            if (c->seats >> s & 1) r->sample[s][c->next_sample % KL_WINDOW_FRAMES] = in[k++];
        c->next_sample++;
    }
}

static void keep_needs(struct kl_room *r, const struct kl_room_client *c, const struct kl_ctrl *m) {
    if (c->seats == 0 || !r->params.clocked) return;
    for (unsigned i = 0; i < m->need_count; i++)
        if (m->need[i] > 0) kl_spacing_need(&r->spacing, m->need_first + i, m->need[i]);
}

static void keep_times(struct kl_room_client *c, const struct kl_ctrl *m, uint64_t now_us) {
    if (m->has_echo) kl_rtt_sample(&c->rtt, (uint32_t)now_us - m->echo - m->hold_us);
    if (c->heard && (int32_t)(m->stamp - c->stamp) < 0) return;
    c->heard = true;
    c->stamp = m->stamp;
    c->heard_at_us = now_us;
}

/* True where the message claims what cannot be: frames never closed, samples out of all bounds. */
static bool impossible(const struct kl_room *r, const struct kl_ctrl *m) {
    uint32_t oldest = r->before.sample_first, most = oldest + KL_WINDOW_FRAMES;
    bool frames = m->frame_acked > r->next_close || m->need_first + m->need_count > m->frame_acked;
    bool samples = m->sample_count > 0 && (!r->started || m->sample_first + m->sample_count > most);
    return frames || samples;
}

int kl_room_receive(struct kl_room *r, unsigned client, const uint8_t *body, size_t len, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return KL_E_STATE;
    struct kl_room_client *c = &r->client[client];
    struct kl_ctrl m;
    int result = kl_ctrl_open(&m, c->seat_count, body, len);
    if (result != KL_OK) return result;
    if (impossible(r, &m)) return KL_E_WINDOW;

    keep_times(c, &m, now_us);
    if (!r->started) c->owed = true; /* an echo, so that both sides know the RTT when the lock starts */
    if (m.frame_acked >= c->frame_acked) {
        c->frame_acked = m.frame_acked;
        c->backlog = m.backlog;
    }
    uint32_t had = c->next_sample;
    keep_samples(r, c, &m);
    if (c->next_sample > had && m.sample_late > HITCH_QUARTERS && r->params.clocked)
        kl_spacing_excuse(&r->spacing, r->next_close, r->next_close + m.sample_late / 4 + r->now.length);
    keep_needs(r, c, &m);
    close_frames(r, now_us);
    return KL_OK;
}

/* --- UPDATE out ------------------------------------------------------------------------------------------ */

static uint64_t timer_us(const struct kl_room *r) {
    return r->params.clocked ? (uint64_t)(period_us(r) * TIMER_FRAMES) : TIMER_FREE_US;
}

static bool due(const struct kl_room *r, const struct kl_room_client *c, uint64_t now_us) {
    if (c->owed || c->cursor != NO_BURST) return true;
    return r->started && now_us >= c->last_send_us + timer_us(r);
}

uint64_t kl_room_send_at(const struct kl_room *r) {
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_room_client *c = &r->client[i];
        if (!c->present) continue;
        if (c->owed || c->cursor != NO_BURST) return 0;
        if (r->started && c->last_send_us + timer_us(r) < at) at = c->last_send_us + timer_us(r);
    }
    return at;
}

/* Oldest frame that this client lacks and that is still kept. */
static uint32_t first_frame(const struct kl_room *r, const struct kl_room_client *c) {
    uint32_t oldest = r->next_close > KL_WINDOW_FRAMES ? r->next_close - KL_WINDOW_FRAMES : 0;
    return c->frame_acked > oldest ? c->frame_acked : oldest;
}

bool kl_room_lost(const struct kl_room *r, unsigned client) {
    return r->client[client].present && first_frame(r, &r->client[client]) > r->client[client].frame_acked;
}

/* A burst is worth while where the last one arrived, or has had the time to. */
static bool may_burst(struct kl_room_client *c, uint64_t now_us) {
    uint64_t patience_us = BURST_RTTS * c->rtt.srtt_us + BURST_AGAIN_US;
    if (c->burst_at_us && c->frame_acked == c->burst_acked && now_us < c->burst_at_us + patience_us) return false;
    c->burst_at_us = now_us;
    c->burst_acked = c->frame_acked;
    return true;
}

size_t kl_room_send(struct kl_room *r, unsigned client, uint64_t now_us, uint8_t *buf, size_t cap) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return 0;
    struct kl_room_client *c = &r->client[client];
    if (!due(r, c, now_us)) return 0;
    struct kl_update u = {.stamp = (uint32_t)now_us, .has_echo = c->heard, .echo = c->stamp,
                          .hold_us = (uint32_t)(now_us - c->heard_at_us), .next_sample = c->next_sample,
                          .waiting_for = kl_room_waiting_for(r), .has_schedule = r->started && r->params.clocked};
    u.first = c->cursor != NO_BURST ? c->cursor : first_frame(r, c);
    u.count = r->next_close - u.first;
    if (u.has_schedule) u.due_us = (int64_t)(kl_schedule_line_us(&r->schedule, u.first) - (double)now_us);
    size_t len;
    while ((len = kl_update_write(&u, r->closed, buf, cap)) == 0) {
        if (u.count == 0) return 0;
        u.count /= 2;
    }
    bool more = u.first + u.count < r->next_close && c->burst + 1 < KL_BURST_MAX &&
                (c->burst > 0 || may_burst(c, now_us));
    c->cursor = more ? u.first + u.count : NO_BURST;
    c->burst = more ? (uint8_t)(c->burst + 1) : 0;
    c->owed = false;
    c->last_send_us = now_us;
    return len;
}

bool kl_room_take(struct kl_room *r, struct kl_frame *out) {
    if (r->next_hand + KL_WINDOW_FRAMES < r->next_close) r->next_hand = r->next_close - KL_WINDOW_FRAMES;
    if (r->next_hand == r->next_close) return false;
    *out = r->closed[r->next_hand++ % KL_WINDOW_FRAMES];
    return true;
}

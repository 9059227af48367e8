#include "net/engine/lock_client.h"

#include <string.h>

#include "net/engine/wire.h"

/* --- samples straight from other players --- */

#define GUESSES     0x80 /* of a count */
#define SAMPLES_END (UINT32_MAX - KL_WINDOW_FRAMES - KL_SPACING_MAX)

static unsigned seats_in(uint8_t seats) {
    unsigned count = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        count += seats >> s & 1;
    return count;
}

size_t kl_direct_write(const struct kl_direct *d, uint8_t seats, uint8_t out[KL_DIRECT_BYTES]) {
    struct kl_writer w = kl_writer(out, KL_DIRECT_BYTES);
    kl_write_u32(&w, d->first);
    kl_write_u8(&w, (uint8_t)(d->count | (d->guesses ? GUESSES : 0)));
    for (unsigned i = 0; i < seats_in(seats); i++)
        for (unsigned k = 0; k < d->count; k++)
            kl_write_u16(&w, d->joypad[i][k]);
    return (size_t)(w.at - out);
}

int kl_direct_read(struct kl_direct *d, uint8_t seats, const uint8_t *body, size_t len) {
    struct kl_reader r = kl_reader(body, len);
    *d = (struct kl_direct){.first = kl_read_u32(&r)};
    uint8_t count = kl_read_u8(&r);
    d->guesses = count & GUESSES;
    d->count = count & (GUESSES - 1);
    if (d->count > KL_DIRECT_MAX || d->first > SAMPLES_END) return KL_E_MALFORMED;
    for (unsigned i = 0; i < seats_in(seats); i++)
        for (unsigned k = 0; k < d->count; k++)
            d->joypad[i][k] = kl_read_u16(&r);
    return r.failed || kl_reader_left(&r) > 0 ? KL_E_MALFORMED : KL_OK;
}

void kl_direct_keep(struct kl_direct_kept kept[KL_MAX_SEATS], uint8_t seats, const struct kl_direct *d) {
    for (unsigned s = 0, i = 0; s < KL_MAX_SEATS; s++) {
        if (!(seats >> s & 1)) continue;
        for (uint32_t k = 0; k < d->count; k++) {
            uint32_t place = (d->first + k) % KL_DIRECT_KEPT, end = d->first + k + 1;
            if (kept[s].end[place] == end) continue;
            kept[s].end[place] = end;
            kept[s].joypad[place] = d->joypad[i][k];
        }
        i++;
    }
}

bool kl_direct_find(const struct kl_direct_kept *k, uint32_t sample, uint16_t *joypad) {
    uint32_t place = sample % KL_DIRECT_KEPT;
    *joypad = k->joypad[place];
    return k->end[place] == sample + 1;
}

/* --- the client's side of the lock --- */

#define DUE_EARLY         0.25   /* frames */
#define DUE_RETREAT       2.0    /* frames: if the schedule moved later by more, due frames are due no more */
#define LOBBY_FAST_US     15000  /* between heartbeats until LOBBY_SAMPLES round trips are known */
#define LOBBY_SLOW_US     100000 /* until LOBBY_SURE are */
#define LOBBY_WAIT_US     500000 /* after that: thousands may wait at a relay */
#define LOBBY_SAMPLES     8
#define LOBBY_SURE        128 /* twelve seconds: a start soon after finds the link well measured */
#define WATCHING_US       100000
#define FREE_RUN_TIMER_US 5000  /* repetition timer of a room without a clock */
#define HEARTBEAT_US      50000 /* while frames close by the clock and nothing changes */
#define TIMER_FRAMES      1.25  /* frame times after the last send; usually a sample is sent before */
#define BURST_RTTS        2 /* a burst without an answer is repeated after so many RTTs and BURST_AGAIN_US */
#define BURST_AGAIN_US    100000
#define HALF_STEP         0.5 /* TIMER_FRAMES if the room repeats half a frame later */
#define ACK_FRAMES        16  /* so many frames that arrived get a datagram of their own */
#define TURN_WOBBLE       4   /* sixteenths of a frame: a turn so much later than usual is late */
#define NEEDS_REPEATED    4   /* needs told once more, for the datagram before may be lost */
#define NEED_LIMIT        254
#define LATE_MOST_US      100000000
#define NEED_MARGIN_US    100000000
#define NEED_EDGE_US      100 /* a frame so shortly before its time is late: no clock is that exact */
#define FRAME_UNITS       INT64_C(1000000000000) /* us times uHz in a frame */
#define AHEAD_FRAMES      8 /* samples beyond an interval that go out while frames are late */
#define BACK_RTTS         2 /* unanswered, we report the return again after so many RTTs and BACK_AGAIN_US */
#define BACK_AGAIN_US     500000
#define NO_BURST          UINT32_MAX
#define GUN_BUTTONS       ((1u << 20) - 1)

void kl_client_init(struct kl_client *c, const struct kl_params *params, uint8_t seats, struct kl_held *held,
                    uint32_t frames, uint64_t now_us) {
    memset(c, 0, sizeof *c);
    c->held = held;
    c->held_frames = frames;
    c->params = *params;
    c->seats = seats;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        c->seat_count = (uint8_t)(c->seat_count + (seats >> s & 1));
    c->period_us = 1e12 / params->fps_uhz;
    c->last_send_us = now_us;
    c->cursor = NO_BURST;
    kl_clock_init(&c->clock, c->period_us);
}

static struct kl_held *held_at(struct kl_client *c, uint32_t f) {
    return &c->held[f % c->held_frames];
}
static struct kl_frame *frame_at(struct kl_client *c, uint32_t f) {
    return &held_at(c, f)->frame;
}

/* --- frames in --- */

/* Frames from the last of f's samples to f; 0 without samples. */
static uint16_t lead_of(struct kl_client *c, const struct kl_frame *f) {
    if (f->keyframe == c->first || (f->flags & KL_FRAME_BY_CLOCK)) return 0;
    const struct kl_frame *before = frame_at(c, f->keyframe - 1);
    uint32_t lo, hi, samples = c->params.subframes ? before->spacing : 1;
    kl_input_map(f->number - f->keyframe, samples, f->spacing, &lo, &hi);
    return (uint16_t)(f->number - (before->keyframe + hi - 1));
}

static void keep_frame(struct kl_client *c, const struct kl_frame *f, uint64_t now_us) {
    struct kl_held *h = held_at(c, f->number);
    h->frame = *f;
    h->arrival_us = now_us;
    h->lead = lead_of(c, f);
    h->interval = f->number == c->first ? c->first_interval
                                        : held_at(c, f->number - 1)->interval + (f->flags & KL_FRAME_KEY);
    c->by_clock = f->flags & KL_FRAME_BY_CLOCK;
    bool fresh = f->number + KL_SPACING_MAX >= c->room_next; /* else it is one that we missed */
    h->late_us = 0;
    if (c->by_clock && c->clock.scheduled && fresh) {
        double late_us = (double)now_us - kl_clock_line_us(&c->clock, f->number, now_us);
        kl_playout_heard(&c->playout, late_us, now_us);
        h->late_us = (int32_t)(late_us < 0 ? 0 : late_us < LATE_MOST_US ? late_us : LATE_MOST_US);
    }
    if (f->number < c->next_due && fresh) c->stats.late_frames++;
    c->stats.next_closed = f->number + 1;
    c->stats.spacing = f->spacing;
    c->unacknowledged++;
    c->started = true;
}

static void keep_times(struct kl_client *c, const struct kl_update *u, uint64_t now_us) {
    kl_clock_heard(&c->clock, u->stamp, now_us);
    if (u->has_schedule) kl_clock_schedule(&c->clock, u->stamp, u->first, u->due_us);
    if (!u->has_echo) return;
    kl_rtt_sample(&c->clock.rtt, (uint32_t)now_us - u->echo - u->hold_us);
    c->stats.rtt_us = c->clock.rtt.srtt_us;
    c->stats.jitter_us = c->clock.rtt.rttvar_us;
}

bool kl_client_keep(struct kl_client *c, const struct kl_frame *f, const struct kl_commands *commands,
                    uint64_t now_us) {
    if (f->number != c->stats.next_closed) return true;
    if (f->number + KL_SPACING_MAX >= c->stats.next_run + c->held_frames) return false;
    if ((f->flags & KL_FRAME_COMMANDS) && !kl_command_store_put(&c->commands, commands)) return false;
    keep_frame(c, f, now_us);
    return true;
}

/* Follows the presence of our seats in the relay's newest UPDATE. If nothing that we sent since the return
 * arrives, we return anew, because those samples would be old. */
static void follow_presence(struct kl_client *c, const struct kl_update *u) {
    if (u->stamp != c->clock.peer_stamp || c->seat_count == 0) return;
    uint64_t patience_us = BACK_RTTS * c->clock.rtt.srtt_us + BACK_AGAIN_US;
    bool unheard = c->standing == KL_STANDING_BACK && c->clock.heard_at_us > c->back_us + patience_us;
    if ((c->standing == KL_STANDING_IN || unheard) && u->presence == KL_ABSENT) {
        c->standing = KL_STANDING_OUT;
        c->sample_acked = c->stats.next_sample; /* nobody wants them any more */
        c->sample_owed = c->sample_waits = false;
        c->cursor = NO_BURST;
    } else if (c->standing == KL_STANDING_BACK && u->presence != KL_ABSENT &&
               u->next_sample >= c->sample_acked) {
        /* the relay goes on at our sample; if not, it has seen only an earlier return */
        c->standing = KL_STANDING_IN;
    }
    c->stats.absent = c->standing != KL_STANDING_IN || u->presence != KL_PRESENT;
}

/* Frames closed by the clock name no samples: the newest sample that the relay had was for the next frame. */
static void note_own_lag(struct kl_client *c, const struct kl_update *u) {
    uint32_t next = u->first + u->count;
    if (u->stamp != c->clock.peer_stamp || next < u->next_sample) return;
    uint32_t lag = 16 * (next - u->next_sample + 1);
    c->own_lag = c->own_lag ? (7 * c->own_lag + lag) / 8 : lag;
}

/* Those of the newest UPDATE; behind a frame that we lack they say nothing yet. */
static void keep_hints(struct kl_client *c, const struct kl_update *u) {
    struct kl_hints *h = &c->hints;
    if (u->stamp != c->clock.peer_stamp || u->first + u->count != c->stats.next_closed) return;
    *h = u->hints;
    if (!c->started) h->ports = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        for (unsigned i = 0; (h->ports & h->held) >> s & 1 && i < h->count[s]; i++)
            h->joypad[s][i] = held_at(c, c->stats.next_closed - 1)->frame.in[s].joypad;
    h->held = 0;
}

int kl_client_receive(struct kl_client *c, const uint8_t *body, size_t len, uint64_t now_us) {
    struct kl_update u;
    int result = kl_update_open(&u, body, len);
    if (result != KL_OK) return result;
    if (u.next_sample > c->stats.next_sample) return KL_E_MALFORMED; /* it acknowledges unsent samples */
    bool gap = u.first > c->stats.next_closed; /* the datagram before is missing; its frames come again */

    c->stats.received_bytes += len;
    c->stats.received_datagrams++;
    c->stats.waiting_for = u.waiting_for;
    c->stats.away = u.away;
    c->stats.paused = u.paused;
    keep_times(c, &u, now_us);
    follow_presence(c, &u);
    if (u.next_sample > c->sample_acked) c->sample_acked = u.next_sample;
    if (u.first + u.count > c->room_next) c->room_next = u.first + u.count;
    note_own_lag(c, &u);
    struct kl_frame f;
    while (!gap && kl_update_frame(&u, &f) && kl_client_keep(c, &f, &u.frames.commands, now_us)) {
    } /* those for which there is no place come again */
    keep_hints(c, &u);
    return KL_OK;
}

/* --- due times --- */

static void mark_due(struct kl_client *c, uint32_t to, uint64_t now_us) {
    for (; c->next_due < to; c->next_due++) {
        held_at(c, c->next_due)->due_us = now_us;
        held_at(c, c->next_due)->held_back = c->turn_late > 0;
    }
}

/* Whether this machine held its breath before this turn. */
static void note_turn(struct kl_client *c, uint64_t now_us) {
    double since = c->turn_us ? (double)(now_us - c->turn_us) * 16 / c->period_us : 0;
    double late = since - kl_usual(&c->turns);
    c->turn_late = late <= TURN_WOBBLE ? 0 : late < UINT16_MAX ? (uint16_t)late : UINT16_MAX;
    kl_usual_add(&c->turns, since);
    c->turn_us = now_us;
}

/* The frame up to which samples are taken on the schedule, ahead of the frame run last. If the link has
 * become longer than the lead, frames come late, but they go on coming as long as samples do. A client that
 * waited for its own frames first would give and get no more than an interval a round trip. */
static uint32_t sampled_ahead(const struct kl_client *c) {
    return c->params.clocked ? c->stats.spacing + AHEAD_FRAMES : 0;
}

/* Moves next_due to the room's schedule, up to a limit past the closed frames. */
static void follow_schedule(struct kl_client *c, uint64_t now_us) {
    double position = kl_clock_position(&c->clock, now_us);
    if (c->by_clock) position -= DUE_EARLY + kl_playout_margin_us(&c->playout, now_us) / c->period_us;
    if (position < (double)c->next_due - 1 - DUE_RETREAT) {
        double to = position + 1 > c->stats.next_run ? position + 1 : c->stats.next_run;
        c->next_due = (uint32_t)to;
    }
    double ahead = position - c->next_due;
    if (ahead < -DUE_EARLY) return;
    if (ahead > KL_WINDOW_FRAMES) ahead = KL_WINDOW_FRAMES;
    uint32_t to = c->next_due + 1 + (ahead > 1 + DUE_EARLY ? (uint32_t)(ahead - DUE_EARLY) : 0);
    uint32_t most = c->stats.next_closed + sampled_ahead(c);
    mark_due(c, to < most ? to : most, now_us);
}

/* Finds the keyframe after k; false if it is unknown. */
static bool keyframe_after(struct kl_client *c, uint32_t k, uint32_t *next) {
    if (k >= c->stats.next_closed) return false;
    *next = k + frame_at(c, k)->spacing;
    return true;
}

/* Samples still to be taken for the frames below `to`. */
static uint32_t samples_below(struct kl_client *c, uint32_t to) {
    uint32_t taken = c->stats.next_sample;
    if (c->params.subframes) return to > taken ? to - taken : 0;
    uint32_t count = 0, k = 0;
    bool known = taken == 0 || keyframe_after(c, c->sample_frame, &k);
    for (; known && k < to; known = keyframe_after(c, k, &k))
        count++;
    return count;
}

/* After an absence: once at most an interval of due frames is left to run, samples go on with the newest due
 * frame (with subframes off, with the next keyframe). The time between has no samples. */
static void come_back(struct kl_client *c, uint32_t run_to, uint64_t now_us) {
    struct kl_client_stats *s = &c->stats;
    uint32_t due = c->next_due < s->next_closed ? c->next_due : s->next_closed;
    if (c->standing != KL_STANDING_OUT || c->away || due > run_to + s->spacing) return;
    if (c->waits || s->next_closed == c->first) return;
    bool lacks = !c->clock.heard || c->room_next > s->next_closed + s->spacing;
    if (lacks) return; /* frames that we have not got */
    const struct kl_held *newest = held_at(c, s->next_closed - 1);
    uint32_t number = c->params.subframes ? (c->next_due > 0 ? c->next_due - 1 : 0) : newest->interval + 1;
    if (number >= s->next_sample) { /* else the newest sample is of this place, or the next keyframe's */
        s->next_sample = number;
        c->sample_frame = newest->frame.keyframe;
    }
    c->sample_acked = c->samples_from = s->next_sample;
    c->standing = KL_STANDING_BACK;
    c->back_us = now_us;
    s->returns++;
}

struct kl_plan kl_client_plan(struct kl_client *c, uint64_t now_us, uint32_t max_runs) {
    struct kl_plan plan = {0};
    if (!c->started) return plan;
    struct kl_client_stats *s = &c->stats;
    note_turn(c, now_us);
    plan.backlog = s->next_closed - s->next_run;
    if (c->params.clocked)
        follow_schedule(c, now_us);
    else
        mark_due(c, s->next_closed, now_us);
    plan.due = c->next_due > s->next_run ? c->next_due - s->next_run : 0;
    uint32_t to = c->next_due < s->next_closed ? c->next_due : s->next_closed;
    plan.runs = to > s->next_run ? to - s->next_run : 0;
    if (c->waits) max_runs = 0;
    if (plan.runs > max_runs) plan.runs = max_runs;
    come_back(c, s->next_run + plan.runs, now_us);
    plan.stalled = !s->paused && plan.runs == 0 && c->next_due > s->next_run && max_runs > 0;
    if (plan.stalled) s->stalls++;
    uint32_t sampled_to = s->next_run + plan.runs + sampled_ahead(c);
    if (c->standing != KL_STANDING_OUT)
        plan.samples = samples_below(c, c->next_due < sampled_to ? c->next_due : sampled_to);
    uint32_t unheard = s->next_sample - c->sample_acked;
    if (plan.samples > KL_WINDOW_FRAMES - unheard) plan.samples = KL_WINDOW_FRAMES - unheard;
    c->held_before_us = c->held_us;
    bool none_left = s->next_run + plan.runs == s->next_closed; /* else this client itself is behind */
    if (none_left && c->next_due == sampled_to) c->held_us = now_us;
    if (plan.samples > 0) c->sample_batch = 0;
    return plan;
}

/* How late a sample is taken now, in sixteenths of a frame: after its frame's time, or after the last turn in
 * which it was the missing frames that held it back. */
static uint16_t lateness(struct kl_client *c, uint32_t frame, uint64_t now_us) {
    if (!c->params.clocked) return 0;
    double late = (kl_clock_position(&c->clock, now_us) - frame) * 16;
    double free_for = (double)(now_us - c->held_before_us) * 16 / c->period_us;
    if (c->held_before_us && late > free_for) late = free_for;
    return late <= 0 ? 0 : late > UINT16_MAX ? UINT16_MAX : (uint16_t)(late + 0.5);
}

/* The newest sample says nothing that the one before it did not. */
static bool same_as_before(const struct kl_client *c) {
    if (c->stats.next_sample < 1) return false;
    const struct kl_input *now = c->sample[c->stats.next_sample % KL_WINDOW_FRAMES];
    const struct kl_input *before = c->sample[(c->stats.next_sample - 1) % KL_WINDOW_FRAMES];
    for (unsigned i = 0; i < c->seat_count; i++) {
        struct kl_input again = before[i];
        kl_input_repeat(&again);
        if (!kl_input_equal(&again, &now[i])) return false;
    }
    return true;
}

int kl_client_sample(struct kl_client *c, const struct kl_input *in, uint64_t now_us) {
    struct kl_client_stats *s = &c->stats;
    uint32_t frame = s->next_sample;
    if (!c->params.subframes && s->next_sample > 0 && !keyframe_after(c, c->sample_frame, &frame))
        return KL_E_WINDOW;
    if (!c->started || frame > s->next_run + KL_WINDOW_FRAMES / 2) return KL_E_WINDOW;
    if (s->next_sample - c->sample_acked >= KL_WINDOW_FRAMES) return KL_E_WINDOW;
    struct kl_input *kept = c->sample[s->next_sample % KL_WINDOW_FRAMES];
    for (unsigned i = 0; i < c->seat_count; i++) {
        kept[i] = in[i];
        kept[i].gun_buttons &= GUN_BUTTONS;
        if (kept[i].key_count > KL_KEYS) kept[i].key_count = KL_KEYS;
        for (unsigned k = 0; k < kept[i].key_count; k++)
            kept[i].key[k].code %= KL_KEY_CODES;
    }
    c->sample_late = lateness(c, frame, now_us);
    c->sample_turn_late = c->turn_late;
    if (c->sample_batch < UINT8_MAX) c->sample_batch++;
    c->sample_frame = frame;
    bool news = !c->by_clock || !same_as_before(c);
    s->next_sample++;
    if (news) c->news_below = s->next_sample;
    c->sample_waits = c->sample_waits || (c->seat_count > 0 && news);
    if (s->next_sample % kl_group_frames(&c->params) == 0) c->sample_owed = c->sample_owed || c->sample_waits;
    if (c->seat_count == 0) c->sample_acked = s->next_sample; /* a spectator's samples go nowhere */
    return KL_OK;
}

/* The need of a frame: the lead that would have had it here when it became due, in quarter frames, rounded
 * up. 0, unknown, while we catch up, and in a turn that this machine began late, because it may have read the
 * datagram late. */
static uint8_t need_of(const struct kl_client *c, const struct kl_held *h) {
    if (!c->params.clocked || h->lead == 0 || h->held_back || c->standing == KL_STANDING_OUT) return 0;
    int64_t margin_us = (int64_t)(h->due_us - h->arrival_us) - NEED_EDGE_US;
    if (margin_us > NEED_MARGIN_US) return 1;
    if (margin_us < -NEED_MARGIN_US) return NEED_LIMIT;
    /* whole numbers, so that just over a quarter never rounds down */
    int64_t need = h->lead * FRAME_UNITS - margin_us * c->params.fps_uhz;
    int64_t quarters = (4 * need + FRAME_UNITS - 1) / FRAME_UNITS;
    return need <= 0 || quarters <= 1 ? 1 : quarters >= NEED_LIMIT ? NEED_LIMIT : (uint8_t)quarters;
}

static uint8_t quarters_up(const struct kl_client *c, double us) {
    double quarters = 4 * us / c->period_us;
    if (quarters <= 1) return 1;
    if (quarters >= NEED_LIMIT) return NEED_LIMIT;
    return (uint8_t)((uint8_t)quarters + (quarters > (uint8_t)quarters));
}

bool kl_client_take(struct kl_client *c, struct kl_frame *out) {
    struct kl_client_stats *s = &c->stats;
    uint32_t f = s->next_run;
    if (f == s->next_closed) return false;
    if (f >= c->next_due || c->waits) return false; /* not planned */
    struct kl_held *h = held_at(c, f);
    *out = h->frame;
    h->need = need_of(c, h);
    /* Notes need and lead of the frame run, for the panel. */
    bool by_clock = h->frame.flags & KL_FRAME_BY_CLOCK;
    c->stats.need = by_clock ? quarters_up(c, h->late_us) : h->need;
    c->stats.had = by_clock ? quarters_up(c, c->playout.margin_us) : (uint16_t)(4 * h->lead);
    if (h->lead > 0) {
        s->lead_sum += h->lead;
        s->lead_count++;
    }
    s->next_run++;
    return true;
}

const struct kl_commands *kl_client_commands(struct kl_client *c, uint32_t keyframe) {
    return kl_command_store_find(&c->commands, keyframe);
}

void kl_client_set_away(struct kl_client *c, bool away) {
    if (away != c->away) c->sample_owed = true; /* at once */
    c->away = away;
}

void kl_client_spare(struct kl_client *c, bool sparing) {
    c->sparing = sparing;
}

void kl_client_guess(struct kl_client *c, bool guesses) {
    c->guesses = guesses;
}

void kl_client_direct(struct kl_client *c, uint8_t seats, const struct kl_direct *d) {
    if (seats & c->seats || !c->params.subframes) return;
    kl_direct_keep(c->direct_kept, seats, d);
    if (d->count > 0) c->direct |= seats;
}

void kl_client_direct_out(const struct kl_client *c, struct kl_direct *d) {
    uint32_t next = c->stats.next_sample, least = c->samples_from;
    *d = (struct kl_direct){.guesses = c->guesses, .first = next};
    if (!c->started || !c->params.subframes || !c->seat_count || c->by_clock) return;
    if (c->standing == KL_STANDING_OUT || next < least) return;
    if (next > least + KL_DIRECT_MAX) least = next - KL_DIRECT_MAX;
    d->first = least;
    d->count = (uint8_t)(next - least);
    for (uint32_t n = least; n < next; n++)
        for (unsigned i = 0; i < c->seat_count; i++)
            d->joypad[i][n - least] = c->sample[n % KL_WINDOW_FRAMES][i].joypad;
}

void kl_client_watch(struct kl_client *c, bool watching) {
    c->watching = watching;
}

void kl_client_rate(struct kl_client *c, uint32_t fps_uhz) {
    double period_us = 1e12 / fps_uhz;
    kl_clock_rate(&c->clock, c->stats.next_run, period_us);
    c->params.fps_uhz = fps_uhz;
    c->period_us = period_us;
}

/* --- datagrams out --- */

static uint64_t timer_us(const struct kl_client *c) {
    if (c->watching) return WATCHING_US;
    if (!c->started)
        return c->clock.rtt.count < LOBBY_SAMPLES ? LOBBY_FAST_US
               : c->clock.rtt.count < LOBBY_SURE  ? LOBBY_SLOW_US
                                                  : LOBBY_WAIT_US;
    if (!c->params.clocked) return FREE_RUN_TIMER_US;
    bool lacks = c->stats.next_closed < c->room_next; /* each CTRL pays for frames again */
    if (c->by_clock && c->sample_acked >= c->news_below && !lacks) return HEARTBEAT_US;
    unsigned group = kl_group_frames(&c->params);
    bool half_steps = c->params.half_steps && !c->sparing && group == 1;
    return (uint64_t)(c->period_us * (half_steps ? HALF_STEP : TIMER_FRAMES * group));
}

uint64_t kl_client_send_at(const struct kl_client *c) {
    bool many = c->unacknowledged >= ACK_FRAMES && !c->watching;
    if (c->sample_owed || c->cursor != NO_BURST || many) return 0;
    return c->last_send_us + timer_us(c);
}

static void fill_needs(struct kl_client *c, struct kl_ctrl *m) {
    uint32_t to = c->stats.next_run;
    uint32_t from = c->needs_told > c->first + NEEDS_REPEATED ? c->needs_told - NEEDS_REPEATED : c->first;
    if (!c->params.clocked || c->seat_count == 0)
        return; /* a spectator's link is no reason to change the lead */
    if (to > from + KL_NEEDS_MAX) from = to - KL_NEEDS_MAX;
    m->need_count = (uint8_t)(to - from);
    for (uint32_t f = from; f < to; f++)
        m->need[f - from] = held_at(c, f)->need;
    c->needs_told = to;
}

/* True if the last burst arrived, or had the time to. */
static bool may_burst(struct kl_client *c, uint64_t now_us) {
    uint64_t patience_us = BURST_RTTS * c->clock.rtt.srtt_us + BURST_AGAIN_US;
    if (c->burst_at_us && c->sample_acked == c->burst_acked && now_us < c->burst_at_us + patience_us)
        return false;
    c->burst_at_us = now_us;
    c->burst_acked = c->sample_acked;
    return true;
}

size_t kl_client_send(struct kl_client *c, uint64_t now_us, uint8_t *buf, size_t cap) {
    if (now_us < kl_client_send_at(c)) return 0;
    struct kl_client_stats *s = &c->stats;
    uint32_t first = c->cursor != NO_BURST && c->cursor > c->sample_acked ? c->cursor : c->sample_acked;
    struct kl_ctrl m = {.stamp = (uint32_t)now_us,
                        .has_echo = c->clock.heard,
                        .echo = c->clock.peer_stamp,
                        .hold_us = (uint32_t)(now_us - c->clock.heard_at_us),
                        .frame_acked = s->next_closed,
                        .backlog = s->next_closed - s->next_run,
                        .away = c->away,
                        .resume = c->standing == KL_STANDING_BACK,
                        .sparing = c->sparing,
                        .guesses = c->guesses,
                        .sample_late = c->sample_late,
                        .turn_late = c->sample_turn_late,
                        .sample_batch = c->sample_batch,
                        .sample_first = first,
                        .sample_count = s->next_sample - first};
    fill_needs(c, &m);
    size_t len = 0;
    for (; (len = kl_ctrl_write(&m, c->sample, c->seat_count, buf, cap)) == 0; m.sample_count /= 2)
        if (m.sample_count == 0) return 0;
    bool more = first + m.sample_count < s->next_sample && c->burst + 1 < KL_BURST_MAX &&
                (c->burst > 0 || may_burst(c, now_us));
    c->cursor = more ? first + m.sample_count : NO_BURST;
    c->burst = more ? (uint8_t)(c->burst + 1) : 0;
    c->sample_owed = c->sample_waits = false;
    c->unacknowledged = 0;
    c->last_send_us = now_us;
    s->sent_bytes += len;
    s->sent_datagrams++;
    return len;
}

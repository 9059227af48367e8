#include "net/engine/ahead.h"

#include <string.h>

#include "net/engine/input.h"

/* The length of a gap or a hold in the rhythm; 0: there is none. */
static unsigned usual(const uint8_t last[KL_RHYTHM_LAST]) {
    unsigned least = last[0], most = last[0], sum = 0;
    for (unsigned i = 0; i < KL_RHYTHM_LAST; i++) {
        if (last[i] < least) least = last[i];
        if (last[i] > most) most = last[i];
        sum += last[i];
    }
    bool steady = least > 0 && most <= KL_RHYTHM_MOST && most - least <= KL_RHYTHM_SPREAD;
    return steady ? (sum + KL_RHYTHM_LAST / 2) / KL_RHYTHM_LAST : 0;
}

static void see(struct kl_rhythm_button *b, bool pressed) {
    if (pressed == b->pressed) {
        if (b->since < UINT8_MAX) b->since++;
        return;
    }
    uint8_t *last = b->last[b->pressed];
    memmove(last + 1, last, KL_RHYTHM_LAST - 1);
    last[0] = b->since;
    b->pressed = pressed;
    b->since = 1;
}

void kl_rhythm_see(struct kl_rhythm *r, uint16_t pad) {
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++)
        see(&r->button[i], pad >> i & 1);
}

static bool guess_button(const struct kl_rhythm_button *b, unsigned ahead) {
    unsigned length[2] = {usual(b->last[0]), usual(b->last[1])}, at = b->since;
    bool pressed = b->pressed;
    if (!length[0] || !length[1] || b->since > length[pressed] + KL_RHYTHM_SPREAD) return pressed;
    if (at > length[pressed]) at = length[pressed]; /* it is a little late */
    for (at += ahead; at > length[pressed]; pressed = !pressed)
        at -= length[pressed];
    return pressed;
}

uint16_t kl_rhythm_guess(const struct kl_rhythm *r, unsigned ahead) {
    uint16_t pad = 0;
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++)
        pad |= (uint16_t)(guess_button(&r->button[i], ahead) << i);
    return pad;
}

#define SECOND_US 1000000
#define FAR       16  /* frames: an error so large is not corrected frame by frame */
#define SPARE     0.9 /* of the share, for one frame more */

/* --- frames as closed, or as guessed --- */

static const struct kl_frame *held(const struct kl_client *c, uint32_t f) {
    return &c->held[f % c->held_frames].frame;
}

static bool is_closed(const struct kl_client *c, uint32_t f) {
    return f < c->stats.next_closed && f >= c->first && f + c->held_frames > c->stats.next_closed;
}

/* An interval, and the one before it, whose samples feed it. */
struct interval {
    uint32_t first, length, fed_first, fed_samples; /* fed_samples 0: by none */
};

/* The interval of frame f. Intervals to come are as long as the newest. */
static struct interval interval_of(const struct kl_client *c, uint32_t f) {
    const struct kl_frame *newest = held(c, f < c->stats.next_closed ? f : c->stats.next_closed - 1);
    struct interval i = {.first = newest->keyframe, .length = newest->spacing};
    if (i.first > c->first) {
        const struct kl_frame *before = held(c, i.first - 1);
        i.fed_first = before->keyframe;
        i.fed_samples = before->spacing;
    }
    while (f >= i.first + i.length) {
        i.fed_first = i.first;
        i.fed_samples = i.length;
        i.first += i.length;
    }
    return i;
}

/* Samples [lo, hi) of ours, by number, in frame f. False: none, or unknown. */
static bool samples_of(const struct kl_client *c, uint32_t f, uint32_t *lo, uint32_t *hi) {
    if (!c->params.subframes || c->stats.next_closed == c->first) return false;
    if (c->by_clock) {
        uint32_t lag = kl_ahead_lag(c);
        *lo = f >= lag ? f - lag : 0;
        *hi = *lo + 1;
        return lag > 0 && f >= lag;
    }
    struct interval i = interval_of(c, f);
    if (i.fed_samples == 0) return false;
    kl_input_map(f - i.first, i.fed_samples, i.length, lo, hi);
    *lo += i.fed_first;
    *hi += i.fed_first;
    return true;
}

int64_t kl_ahead_sample_in(const struct kl_client *c, uint32_t f) {
    uint32_t lo, hi;
    if (!samples_of(c, f, &lo, &hi)) return -1;
    return hi <= c->stats.next_sample ? (int64_t)hi - 1 : (int64_t)c->stats.next_sample - 1;
}

uint16_t kl_ahead_lag(const struct kl_client *c) {
    return c->by_clock ? (uint16_t)((c->own_lag + 8) / 16) : c->stats.spacing;
}

uint32_t kl_ahead_bound(const struct kl_client *c) {
    return c->stats.next_closed + c->stats.spacing + (c->params.clocked ? KL_AHEAD_BEYOND : 0);
}

/* The i-th own seat's input in frame f, as the relay will make it from samples [lo, hi), but for keys that
 * still wait there. A sample to come is the newest one, held. */
static struct kl_input own_input(const struct kl_client *c, unsigned i, uint32_t f, uint32_t lo,
                                 uint32_t hi) {
    uint32_t newest = c->stats.next_sample - 1, before_lo, before_hi;
    bool again = f > 0 && samples_of(c, f - 1, &before_lo, &before_hi) && before_hi > lo;
    struct kl_input in = c->sample[(lo < newest ? lo : newest) % KL_WINDOW_FRAMES][i];
    struct kl_keys keys;
    kl_keys_clear(&keys);
    kl_keys_put(&keys, &in);
    for (uint32_t s = lo + 1; s < hi && s <= newest; s++) {
        kl_input_fold(&in, &c->sample[s % KL_WINDOW_FRAMES][i]);
        kl_keys_put(&keys, &c->sample[s % KL_WINDOW_FRAMES][i]);
    }
    kl_keys_take(&keys, &in);
    if (again || lo > newest) kl_input_repeat(&in);
    return in;
}

static void guess_own(const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS], struct kl_frame *out) {
    uint32_t lo, hi;
    unsigned i = 0;
    if (c->stats.next_sample == 0 || !samples_of(c, out->number, &lo, &hi)) return;
    if (lo + KL_WINDOW_FRAMES <= c->stats.next_sample) return; /* no longer kept */
    for (KL_EACH(s, c->seats)) {
        if (out->active >> plays[s] & 1) out->in[plays[s]] = own_input(c, i, out->number, lo, hi);
        i++;
    }
}

/* --- the others --- */

static bool hinted_by_relay(const struct kl_client *c, unsigned port, uint32_t sample, uint16_t *joypad) {
    const struct kl_hints *h = &c->hints;
    bool here = h->ports >> port & 1 && sample >= h->first && sample - h->first < h->count[port];
    if (here) *joypad = h->joypad[port][sample - h->first];
    return here;
}

static unsigned seat_of(const uint8_t plays[KL_MAX_SEATS], unsigned port) {
    unsigned seat = 0;
    while (seat < KL_MAX_SEATS - 1 && plays[seat] != port)
        seat++;
    return seat;
}

/* The buttons of this port in frame f, by samples that are here before it. relay: its hints count too, and
 * before the straight ones. False: not all are here. */
static bool find_hints(const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS], unsigned port,
                       bool relay, bool straight, uint32_t f, uint16_t *joypad) {
    const struct kl_direct_kept *direct = &c->direct_kept[seat_of(plays, port)];
    uint32_t lo, hi;
    uint16_t buttons;
    if (c->by_clock || !samples_of(c, f, &lo, &hi)) return false;
    for (*joypad = 0; lo < hi; lo++) {
        if (!(relay && hinted_by_relay(c, port, lo, &buttons)) &&
            !(straight && kl_direct_find(direct, lo, &buttons)))
            return false;
        *joypad |= buttons;
    }
    return true;
}

static bool is_hinted(const struct kl_ahead *a, const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS],
                      unsigned port, uint32_t f, uint16_t *joypad) {
    bool straight = c->direct && a->distrust[port] == 0;
    if (!straight && !(c->hints.ports >> port & 1)) return false;
    return find_hints(c, plays, port, true, straight, f, joypad);
}

/* Hints first. Behind them the buttons go on in their rhythm, or are held. */
static uint16_t guess_buttons(const struct kl_ahead *a, const struct kl_client *c, const uint8_t *plays,
                              unsigned port, uint32_t f) {
    struct kl_rhythm rhythm = a->rhythm[port];
    uint32_t next = a->seen;
    uint16_t joypad;
    if (is_hinted(a, c, plays, port, f, &joypad)) return joypad;
    for (; next < f && is_hinted(a, c, plays, port, next, &joypad); next++)
        kl_rhythm_see(&rhythm, joypad);
    return kl_rhythm_guess(&rhythm, f - (next - 1));
}

/* A hole ends all rhythms. */
static void see_closed(struct kl_ahead *a, const struct kl_client *c, const uint8_t *plays) {
    if (!is_closed(c, a->seen)) {
        if (a->seen == c->stats.next_closed) return;
        memset(a->rhythm, 0, sizeof a->rhythm);
        a->seen = c->stats.next_closed - 1;
    }
    for (; a->seen < c->stats.next_closed; a->seen++) {
        const struct kl_frame *f = held(c, a->seen);
        uint16_t joypad;
        for (unsigned port = 0; c->direct && port < KL_MAX_SEATS; port++) {
            if (!find_hints(c, plays, port, false, true, f->number, &joypad)) continue;
            uint8_t *d = &a->distrust[port];
            if (joypad == f->in[port].joypad)
                *d = (uint8_t)(*d - (*d > 0));
            else
                *d = (uint8_t)(*d + KL_AHEAD_WRONG < KL_AHEAD_MOST ? *d + KL_AHEAD_WRONG : KL_AHEAD_MOST);
        }
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            kl_rhythm_see(&a->rhythm[s], held(c, a->seen)->in[s].joypad);
    }
}

/* The others' buttons go on in their rhythm, or are held as the sticks are; motion and keys are over. */
static void guess(struct kl_ahead *a, const struct kl_client *c, uint32_t f,
                  const uint8_t plays[KL_MAX_SEATS], struct kl_frame *out) {
    struct interval i = interval_of(c, f);
    see_closed(a, c, plays);
    *out = *held(c, c->stats.next_closed - 1);
    out->number = f;
    out->keyframe = i.first;
    out->spacing = (uint16_t)i.length;
    out->flags = (uint8_t)((out->flags & KL_FRAME_BY_CLOCK) | (f == i.first ? KL_FRAME_KEY : 0));
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        kl_input_repeat(&out->in[s]);
        out->in[s].joypad = guess_buttons(a, c, plays, s, f);
    }
    guess_own(c, plays, out);
}

/* --- the shown core --- */

void kl_ahead_begin(struct kl_ahead *a, uint32_t frame) {
    a->on = true;
    a->confirmed = a->at = frame;
}

void kl_ahead_show(struct kl_ahead *a, uint32_t shown, uint64_t now_us) {
    a->shown = a->want = a->due = shown;
    a->frames = 0;
    a->since = 0;
    a->moved_us = now_us;
}

/* One frame more or less in a second. */
static void move_frames(struct kl_ahead *a, const struct kl_ahead_call *call) {
    if (a->frames == call->goal) a->moved_us = call->now_us;
    if (call->now_us < a->moved_us + SECOND_US) return;
    a->frames = (uint16_t)(a->frames < call->goal ? a->frames + 1 : a->frames - 1);
    a->moved_us = call->now_us;
}

void kl_ahead_call(struct kl_ahead *a, const struct kl_client *c, const struct kl_ahead_call *call) {
    move_frames(a, call);
    /* Frames that the schedule has moved on by; one in a call in which it has moved back. */
    int64_t steps = (call->due >= a->due ? (int64_t)call->due - a->due : 1),
            error = (int64_t)call->due + a->frames - (a->shown + steps);
    a->due = call->due;
    if (a->since < KL_AHEAD_EVERY) a->since++;
    if (error > FAR) steps += error;
    if (error < -FAR) steps = 0;
    if (error != 0 && a->since == KL_AHEAD_EVERY && error >= -FAR && error <= FAR) {
        steps += error > 0 ? 1 : -1;
        a->since = 0;
    }
    uint32_t bound = kl_ahead_bound(c), kept = c->stats.next_closed + call->depth;
    int64_t want = a->shown + (steps > 0 ? steps : 0);
    if (want > bound) want = bound;
    if (want > kept) want = kept; /* closed frames need no state */
    a->want = c->stats.paused || want < a->shown ? a->shown : (uint32_t)want;
}

static bool same_inputs(const struct kl_frame *x, const struct kl_frame *y) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (!kl_input_equal(&x->in[s], &y->in[s])) return false;
    return true;
}

static bool is_as_hinted(const struct kl_ahead *a, const struct kl_client *c, const uint8_t *plays,
                         const struct kl_frame *guess) {
    uint16_t joypad;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (is_hinted(a, c, plays, s, guess->number, &joypad) && joypad != guess->in[s].joypad) return false;
    return true;
}

/* The client has begun elsewhere, or no longer holds the next frame to compare or to run. */
static bool is_lost(const struct kl_ahead *a, const struct kl_client *c) {
    uint32_t next = c->stats.next_closed;
    return next == c->first || a->confirmed > next || (a->confirmed < next && !is_closed(c, a->confirmed));
}

uint32_t kl_ahead_hear(struct kl_ahead *a, const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS]) {
    for (; a->confirmed < a->at && is_closed(c, a->confirmed); a->confirmed++) {
        const struct kl_frame *f = held(c, a->confirmed);
        bool same = same_inputs(f, &a->played[f->number % KL_AHEAD_FRAMES]);
        if (!same || (f->flags & KL_FRAME_COMMANDS)) return a->at = a->confirmed;
    }
    if (is_lost(a, c)) a->on = false;
    for (uint32_t f = a->confirmed; (c->hints.ports || c->direct) && f < a->at; f++)
        if (!is_as_hinted(a, c, plays, &a->played[f % KL_AHEAD_FRAMES])) return a->at = f;
    return KL_AHEAD_NOWHERE;
}

bool kl_ahead_next(struct kl_ahead *a, const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS],
                   struct kl_frame *out, struct kl_commands *set) {
    set->count = 0;
    if (is_lost(a, c)) return a->on = false;
    uint32_t f = a->at++;
    if (is_closed(c, f)) {
        *out = *held(c, f);
        if (a->confirmed == f) a->confirmed++;
        if ((out->flags & KL_FRAME_COMMANDS) && !kl_command_store_look(&c->commands, f, set)) set->count = 0;
        return true;
    }
    guess(a, c, f, plays, out);
    a->played[f % KL_AHEAD_FRAMES] = *out;
    return false;
}

void kl_ahead_showed(struct kl_ahead *a) {
    if (a->at > a->shown) a->shown = a->at;
}

void kl_ahead_doubt_see(struct kl_ahead_doubt *d, bool wrong, uint64_t now_us) {
    if (!d->since_us) d->since_us = now_us;
    d->shown++;
    d->wrong += wrong;
    if (now_us < d->since_us + KL_AHEAD_DOUBT_US) return;
    bool many = d->wrong * 5 > d->shown * 2, few = d->wrong * 6 < d->shown;
    d->calm = few ? d->calm + 1 : 0;
    if (many && d->fewer < KL_AHEAD_FEWER) d->fewer++;
    if (d->calm == KL_AHEAD_CALM) {
        if (d->fewer > 0) d->fewer--;
        d->calm = 0;
    }
    d->since_us = now_us;
    d->shown = d->wrong = 0;
}

uint16_t kl_ahead_fits(const struct kl_ahead_work *w, uint16_t most, uint16_t now) {
    for (uint16_t n = most; n > 0; n--) {
        double period_us = n > now ? w->period_us * SPARE : w->period_us;
        double again = now ? w->again * n / now : w->again;
        bool once = w->true_us + (1 + n) * w->frame_us + w->load_us <= period_us;
        if (once && w->true_us + (1 + again) * w->frame_us <= KL_AHEAD_SHARE * period_us) return n;
    }
    return 0;
}

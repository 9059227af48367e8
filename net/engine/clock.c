#include "net/engine/clock.h"

#include <string.h>

#define SILENCE_US 100000 /* without a datagram */
#define DRIFT_FRAMES                                                                                         \
    1.0                /* less lateness that lasts is drift: a slow display, a lead that shrank by a frame */
#define DRIFT_REST 0.1 /* fraction of a frame that a drift may correct */
#define JUMP_US    500000 /* the way seems so much shorter only after this machine and its clock slept */

void kl_rtt_sample(struct kl_rtt *r, uint32_t rtt_us) {
    r->last_us = r->recent_us[r->count % KL_RTT_RECENT] = rtt_us;
    if (r->count++ == 0) {
        r->srtt_us = rtt_us;
        r->rttvar_us = rtt_us / 2;
        return;
    }
    uint32_t off = r->srtt_us > rtt_us ? r->srtt_us - rtt_us : rtt_us - r->srtt_us;
    r->rttvar_us = (uint32_t)((3 * (uint64_t)r->rttvar_us + off) / 4);
    r->srtt_us = (uint32_t)((7 * (uint64_t)r->srtt_us + rtt_us) / 8);
}

uint32_t kl_rtt_least_us(const struct kl_rtt *r, uint32_t *spread_us) {
    uint32_t sorted[KL_RTT_RECENT], count = 0;
    for (; count < KL_RTT_RECENT && count < r->count; count++) {
        uint32_t at = count, us = r->recent_us[count];
        for (; at > 0 && sorted[at - 1] > us; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = us;
    }
    *spread_us = count > 2 ? sorted[count - 3] - sorted[0] : 0;
    return count ? sorted[0] : 0;
}

void kl_usual_add(struct kl_usual *u, double value) {
    u->value[u->next++ % KL_USUAL_COUNT] = value < UINT16_MAX ? (uint16_t)(value + 0.5) : UINT16_MAX;
}

uint16_t kl_usual(const struct kl_usual *u) {
    uint16_t most[3] = {0};
    for (unsigned i = 0; i < KL_USUAL_COUNT; i++) {
        uint16_t value = u->value[i];
        for (unsigned k = 0; k < 3; k++) {
            uint16_t less = most[k];
            if (value <= less) continue;
            most[k] = value;
            value = less;
        }
    }
    return most[2];
}

uint16_t kl_usual_half(const struct kl_usual *u) {
    for (unsigned i = 0;; i++) {
        unsigned more = 0, less = 0;
        for (unsigned k = 0; k < KL_USUAL_COUNT; k++) {
            more += u->value[k] > u->value[i];
            less += u->value[k] < u->value[i];
        }
        if (more <= KL_USUAL_COUNT / 2 && less < KL_USUAL_COUNT / 2) return u->value[i];
    }
}

void kl_clock_init(struct kl_clock *c, double period_us) {
    memset(c, 0, sizeof *c);
    c->period_us = period_us;
}

/* (receive time - send stamp) less the first one ever seen: how much longer than that one it was under way.
 */
static int32_t transit(const struct kl_clock *c, uint32_t stamp, uint64_t now_us) {
    return (int32_t)((uint32_t)now_us - stamp - c->reference);
}

/* So far past the end of the window under way. */
static int32_t past_window(const struct kl_clock *c, uint32_t stamp) {
    return (int32_t)(stamp - c->window_end);
}

/* How far something may be slewed since then. Two threads may take their times in one order and come here in
 * the other: then not at all. */
static double slew_limit_us(uint64_t since_us, uint64_t now_us) {
    return now_us > since_us ? (double)(now_us - since_us) * KL_CLOCK_SLEW_PPM / 1e6 : 0;
}

/* Moves the base towards the shortest way known, no faster than KL_CLOCK_SLEW_PPM. */
static void slew(struct kl_clock *c, uint64_t now_us) {
    int32_t best = c->min_us[0];
    for (unsigned i = 1; i < KL_CLOCK_WINDOWS; i++)
        if (c->min_us[i] < best) best = c->min_us[i];
    double target = best;
    double most = slew_limit_us(c->slewed_at_us, now_us);
    double step = target - c->base_us;
    bool starting = now_us - c->first_us < KL_CLOCK_WINDOW_US;
    if (!starting && step > most) step = most;
    if (!starting && step < -most && step > -JUMP_US) step = -most;
    c->base_us += step;
    if (now_us > c->slewed_at_us) c->slewed_at_us = now_us;
}

void kl_clock_heard(struct kl_clock *c, uint32_t stamp, uint64_t now_us) {
    if (!c->valid) {
        c->reference = (uint32_t)now_us - stamp;
        c->valid = true;
        c->first_us = now_us;
        c->window_end = stamp - stamp % KL_CLOCK_WINDOW_US + KL_CLOCK_WINDOW_US;
        for (unsigned i = 1; i < KL_CLOCK_WINDOWS; i++)
            c->min_us[i] = INT32_MAX;
    }
    while (past_window(c, stamp) >= KL_CLOCK_WINDOWS * KL_CLOCK_WINDOW_US)
        c->window_end += KL_CLOCK_WINDOW_US; /* a long silence: the old windows are still the best estimate */
    while (past_window(c, stamp) >= 0) {
        c->window = (c->window + 1) % KL_CLOCK_WINDOWS;
        c->min_us[c->window] = INT32_MAX;
        c->window_end += KL_CLOCK_WINDOW_US;
    }
    int32_t t = transit(c, stamp, now_us);
    if (t < c->min_us[c->window]) c->min_us[c->window] = t;
    /* Do not slew on the first datagram after a silence; it may have been queued. */
    if (c->heard && now_us > c->heard_at_us + SILENCE_US) c->slewed_at_us = now_us;
    slew(c, now_us);
    if (!c->heard || (int32_t)(stamp - c->peer_stamp) >= 0) {
        c->heard = true;
        c->peer_stamp = stamp;
        c->heard_at_us = now_us;
    }
}

void kl_clock_schedule(struct kl_clock *c, uint32_t stamp, uint32_t f, int64_t due_us) {
    if (!c->heard || stamp != c->peer_stamp) return; /* older than the newest stamp */
    double sent_us = (double)c->heard_at_us - transit(c, stamp, c->heard_at_us);
    c->t0_us = sent_us + (double)due_us - f * c->period_us;
    c->scheduled = true;
}

void kl_clock_rate(struct kl_clock *c, uint32_t f, double period_us) {
    c->t0_us += f * (c->period_us - period_us);
    c->period_us = period_us;
}

double kl_clock_line_us(struct kl_clock *c, uint32_t f, uint64_t now_us) {
    slew(c, now_us);
    return c->t0_us + c->base_us + f * c->period_us;
}

double kl_clock_position(struct kl_clock *c, uint64_t now_us) {
    if (!c->scheduled) return 0;
    slew(c, now_us);
    return ((double)now_us - c->t0_us - c->base_us) / c->period_us;
}

void kl_playout_heard(struct kl_playout *p, double late_us, uint64_t now_us) {
    if (p->window_end_us == 0) p->window_end_us = p->slewed_at_us = now_us;
    if (now_us >= p->window_end_us) {
        p->window = (p->window + 1) % KL_PLAYOUT_WINDOWS;
        p->worst_us[p->window] = 0;
        p->window_end_us = now_us + KL_CLOCK_WINDOW_US;
    }
    if (late_us > p->worst_us[p->window]) p->worst_us[p->window] = late_us;
}

double kl_playout_margin_us(struct kl_playout *p, uint64_t now_us) {
    double worst = 0, second = 0;
    for (unsigned i = 0; i < KL_PLAYOUT_WINDOWS; i++) {
        double w = p->worst_us[i] < KL_PLAYOUT_MAX_US ? p->worst_us[i] : KL_PLAYOUT_MAX_US;
        if (w > second) second = w > worst ? worst : w;
        if (w > worst) worst = w;
    }
    double most = slew_limit_us(p->slewed_at_us, now_us), step = second - p->margin_us;
    p->margin_us += step > most ? most : step < -most ? -most : step;
    if (now_us > p->slewed_at_us) p->slewed_at_us = now_us;
    return p->margin_us;
}

void kl_schedule_start(struct kl_schedule *s, uint64_t first_due_us, double period_us) {
    memset(s, 0, sizeof *s);
    s->t0_us = (double)first_due_us;
    s->period_us = period_us;
}

void kl_schedule_rate(struct kl_schedule *s, uint32_t f, double period_us) {
    s->t0_us += f * (s->period_us - period_us);
    s->period_us = period_us;
}

void kl_schedule_move(struct kl_schedule *s, uint32_t f, uint64_t due_us) {
    double later = (double)due_us - kl_schedule_line_us(s, f);
    if (later > 0) s->t0_us += later;
    s->counted = 0;
}

bool kl_schedule_closed(struct kl_schedule *s, uint32_t f, uint64_t now_us) {
    double late = (double)now_us - kl_schedule_line_us(s, f);
    if (late > KL_SCHEDULE_JUMP_US) {
        kl_schedule_move(s, f, now_us);
        return true;
    }
    s->late_us[s->counted++ % KL_SCHEDULE_WINDOW] = late;
    if (s->counted < KL_SCHEDULE_WINDOW) return false;
    double least = s->late_us[0];
    for (unsigned i = 1; i < KL_SCHEDULE_WINDOW; i++)
        if (s->late_us[i] < least) least = s->late_us[i];
    if (least <= 0) return false;
    /* Rounds to whole frames if it is more than a drift: frontends keep their phases to each other. */
    double frames = least / s->period_us;
    uint32_t whole = (uint32_t)frames;
    least = frames < DRIFT_FRAMES ? least : (whole + (frames > whole + DRIFT_REST)) * s->period_us;
    s->t0_us += least;
    for (unsigned i = 0; i < KL_SCHEDULE_WINDOW; i++)
        s->late_us[i] -= least;
    return true;
}

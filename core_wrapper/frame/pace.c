#include "core_wrapper/frame/pace.h"

#include <math.h>

/* --- the pace --- */

#define GENTLE        0.05 /* faster than the core's own pace */
#define GENTLE_MORE   0.01 /* for each frame behind, if that is more than GENTLE */
#define GENTLE_MOST   0.10 /* and at most this */
#define BRISK         1.5
#define BRISK_FROM    16 /* frames */
#define FLAT_FROM     60
#define DONE          2      /* frames behind: it is over */
#define EARLY         0.25   /* of a frame time that a call may come before its time */
#define SLOWER        0.75   /* of the core's frame time: calls come quicker than frames */
#define HITCH_MOST    4      /* frame times without a call that are made up for at once */
#define INTERVAL_MIN  4000.0 /* µs */
#define INTERVAL_MAX  50000.0
#define MEASURED_OVER 64   /* intervals */
#define SHARE         0.96 /* of the interval, in fast-forward; learned between these: */
#define SHARE_LEAST   0.85
#define SHARE_MOST    0.98
#define SHARE_UP      0.01
#define SHARE_DOWN    0.03
#define LATE          1.1   /* intervals between calls: above it, fast-forward took too long */
#define LATE_RUN      8     /* late calls in a row after which the interval counts as longer */
#define OWED_MOST     200e3 /* µs without a call that a frontend may make up for */
#define FAST_RUNS     1024  /* frames in one call */
#define GUESS_SHORT   1.5   /* how much cheaper a frame may be than guessed */
#define OUTLIER       4     /* times the usual cost of a frame: no more is believed at once */
#define SLOW_AFTER_US 3000000
#define SLOW_GAIN     0.97 /* share of the earlier backlog: a larger one is no progress */

void kl_pace_begin(struct kl_pace *p, double period_us) {
    p->period_us = period_us;
    if (!p->measured) p->interval_us = period_us;
    if (p->share == 0) p->share = SHARE;
    p->left = p->credit = 0;
    p->mode = KL_PACE_STEADY;
    p->behind = p->behind_from = 0;
    p->hidden_us = p->shown_us = p->spent_us = 0;
    p->too_slow = false;
}

void kl_pace_rate(struct kl_pace *p, double period_us) {
    p->period_us = period_us;
}

/* --- the frontend's rhythm --- */

static double in_bounds(double interval_us) {
    return fmin(fmax(interval_us, INTERVAL_MIN), INTERVAL_MAX);
}

/* A call that was held up, by much work of ours or by anything else, tells of that and not of the frontend.
 * Nor do the quick ones by which it makes up for it. */
static void measure(struct kl_pace *p, double elapsed_us) {
    bool held_up = elapsed_us > 2.5 * p->interval_us || p->spent_us > p->interval_us / 2;
    bool makes_up = elapsed_us < p->interval_us / 2 && p->owed_us > 0;
    if (held_up || makes_up) {
        p->owed_us = fmin(fmax(p->owed_us + elapsed_us - p->interval_us, 0), OWED_MOST);
        return;
    }
    uint64_t over = ++p->measured < MEASURED_OVER ? p->measured : MEASURED_OVER;
    p->interval_us = in_bounds(p->interval_us + (elapsed_us - p->interval_us) / (double)over);
}

/* A machine that is busy is late now and then; a frontend that was measured wrongly, or is another now
 * (fast-forward ends), always, and none of its calls would be measured. */
static void measure_anew(struct kl_pace *p, double elapsed_us) {
    bool late = elapsed_us > LATE * fmax(p->interval_us, p->spent_us);
    p->late_us = late && p->late ? fmin(p->late_us, elapsed_us) : elapsed_us;
    p->late = late ? p->late + 1 : 0;
    if (p->late < LATE_RUN) return;
    p->interval_us = in_bounds(p->late_us);
    p->late = 0;
}

static void learn_share(struct kl_pace *p, double elapsed_us) {
    if (p->mode != KL_PACE_FLAT_OUT || p->spent_us < p->share * p->interval_us * 0.8) return;
    p->share += elapsed_us > LATE * p->interval_us ? -SHARE_DOWN : SHARE_UP;
    p->share = fmin(fmax(p->share, SHARE_LEAST), SHARE_MOST);
}

void kl_pace_call(struct kl_pace *p, uint64_t now_us) {
    if (p->interval_us == 0) p->interval_us = p->period_us = 1e6 / 60;
    double elapsed_us = p->call_us ? (double)(now_us - p->call_us) : p->interval_us;
    p->call_us = now_us;
    p->elapsed = elapsed_us / p->period_us;
    learn_share(p, elapsed_us);
    measure(p, elapsed_us);
    measure_anew(p, elapsed_us);
    p->spent_us = 0;
}

/* --- the backlog and the mode --- */

static void set_mode(struct kl_pace *p, uint64_t now_us) {
    bool catching = p->mode >= KL_PACE_BRISK;
    if (p->behind > FLAT_FROM || (p->mode == KL_PACE_FLAT_OUT && p->behind > DONE))
        p->mode = KL_PACE_FLAT_OUT;
    else if (p->behind > BRISK_FROM || (p->mode == KL_PACE_BRISK && p->behind > DONE))
        p->mode = KL_PACE_BRISK;
    else
        p->mode = p->behind > 0 ? KL_PACE_GENTLE : KL_PACE_STEADY;
    if (p->mode < KL_PACE_BRISK) {
        p->behind_from = 0;
        p->too_slow = false;
    } else if (!catching) {
        p->since_us = now_us;
        p->since_behind = p->behind;
    }
    if (p->mode >= KL_PACE_BRISK && p->behind > p->behind_from) p->behind_from = p->behind;
}

static void watch_progress(struct kl_pace *p, uint64_t now_us) {
    if (p->mode < KL_PACE_BRISK || now_us - p->since_us < SLOW_AFTER_US) return;
    p->too_slow = p->behind > p->since_behind * SLOW_GAIN;
    p->since_us = now_us;
    p->since_behind = p->behind;
}

/* An unseen frame costs no more than a seen one. If it seems so, the machine was busy with other work. */
static double each_us(const struct kl_pace *p) {
    return p->hidden_us > 0 && p->hidden_us < p->shown_us ? p->hidden_us : p->shown_us;
}

static double budget_us(const struct kl_pace *p) {
    return p->share * p->interval_us;
}

/* Frames that fit into the time. In FLAT OUT kl_pace_last() ends the call, because the cost of a frame is
 * only guessed here. */
static uint32_t fitting(const struct kl_pace *p) {
    double room_us = budget_us(p) - p->shown_us;
    if (each_us(p) <= 0) return FAST_RUNS;
    double n = room_us > 0 ? 1 + room_us / each_us(p) : 1;
    if (p->mode == KL_PACE_FLAT_OUT) n *= GUESS_SHORT;
    return n < FAST_RUNS ? (uint32_t)n : FAST_RUNS;
}

uint32_t kl_pace_most(struct kl_pace *p, uint32_t closed, uint32_t spacing, uint64_t now_us) {
    double due = p->left + p->elapsed, usual = fmin(p->elapsed, fmax(1, p->interval_us / p->period_us) + 0.5);
    double here = fmin(due, closed), behind = here - usual;
    p->behind = behind > 0 ? (uint32_t)(behind + EARLY) : 0;
    set_mode(p, now_us);
    watch_progress(p, now_us);
    double faster =
        p->mode == KL_PACE_BRISK ? BRISK : fmin(fmax(GENTLE, GENTLE_MORE * p->behind), GENTLE_MOST);
    p->credit = fmin(p->credit, 1) + fmin(p->elapsed, HITCH_MOST) * (1 + faster);
    double most = p->mode == KL_PACE_FLAT_OUT ? FAST_RUNS : floor(p->credit + EARLY);
    if (spacing && here - spacing > most) most = ceil(here - spacing);
    double fit = fitting(p);
    if (most > fit) most = fit;
    bool quick = p->interval_us < SLOWER * p->period_us; /* it may well wait a call */
    return most >= 1 ? (uint32_t)most : quick && p->left > 0.5 ? 0 : 1;
}

bool kl_pace_due(struct kl_pace *p, uint32_t due) {
    double thought = p->left + p->elapsed;
    if (due <= thought + FLAT_FROM) return false;
    p->left = due - p->elapsed;
    return true;
}

bool kl_pace_last(const struct kl_pace *p, double spent_us) {
    return spent_us + each_us(p) + p->shown_us > budget_us(p);
}

double kl_pace_unseen_us(const struct kl_pace *p) {
    return each_us(p);
}

void kl_pace_cost(struct kl_pace *p, bool hidden, double cost_us) {
    double *mean = hidden ? &p->hidden_us : &p->shown_us;
    *mean += *mean > 0 ? (fmin(cost_us, OUTLIER * *mean) - *mean) / 8 : cost_us;
}

void kl_pace_ran(struct kl_pace *p, uint32_t due, uint32_t done, bool stalled, double spent_us) {
    p->left = due > done ? due - done : 0;
    p->credit = stalled ? 0 : fmax(p->credit - done, -EARLY);
    p->spent_us = spent_us;
}

/* --- a frame's cost --- */

static double less(uint64_t all, uint64_t part) {
    return all > part ? (double)(all - part) : 0;
}

void kl_cost_add(struct kl_cost *c, struct kl_spent all, struct kl_spent part) {
    kl_usual_add(&c->time_us, less(all.time_us, part.time_us));
    kl_usual_add(&c->thread_us, less(all.thread_us, part.thread_us));
}

double kl_cost_us(const struct kl_cost *c) {
    uint16_t thread_us = kl_usual(&c->thread_us), time_us = kl_usual_half(&c->time_us);
    return thread_us > time_us ? thread_us : time_us;
}

/* --- from press to play --- */

/* Only a button that frames do not have yet: else a second press would be taken for the first. */
void kl_press_sample(struct kl_press *p, uint16_t buttons, uint64_t now_us) {
    unsigned fresh = buttons & (unsigned)~p->sampled & (unsigned)~p->played;
    p->sampled = buttons;
    if (p->awaited && now_us - p->since_us > KL_PRESS_LOST_US) p->awaited = 0;
    if (p->awaited || !fresh) return;
    p->awaited = (uint16_t)(fresh & -fresh);
    p->since_us = now_us;
}

void kl_press_frame(struct kl_press *p, uint16_t buttons, uint64_t now_us) {
    p->played = buttons;
    if (!(p->awaited & buttons)) return;
    p->took_us = now_us - p->since_us;
    p->awaited = 0;
}

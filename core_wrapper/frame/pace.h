/* pace.h - the pace of a session's frames: how many a call may run, what one costs, and the time from press
 * to play. Pure: times come in. */
#ifndef KLW_PACE_H
#define KLW_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/clock.h"

/* --- the pace --- */

/* The number of frames that a call of the frontend may run: the pace of catching up. docs/design.md §3
 * "Pacing in the wrapper". Pure: time comes in.
 *
 * The engine says how many frames are due by the room's schedule. This module decides how many of them run
 * in one call.
 * - Usually as much as time has passed since the previous call, and GENTLE more: a backlog of one or two
 *   frames is run one by one, a quarter of a second apart, at any rate of the frontend. So a frame that the
 *   link brings late costs one call without a frame, and later one call with two. More late frames right
 *   after it cost nothing.
 * - BRISK, from BRISK_FROM behind until DONE: several frames a call, sound compressed.
 * - FLAT OUT, from FLAT_FROM behind until DONE: as many as fit between two calls of the frontend. Only the
 *   last one of a call is seen and heard.
 * - In any case fast enough to go on sampling: the engine takes samples at most an interval ahead of the
 *   frames run, and the others wait for these samples. */

enum kl_pace_mode { KL_PACE_STEADY, KL_PACE_GENTLE, KL_PACE_BRISK, KL_PACE_FLAT_OUT };

struct kl_pace {
    double period_us;           /* of one frame of the core */
    double interval_us;         /* usual time between calls */
    uint64_t call_us;           /* begin of the previous call; 0: none */
    uint64_t measured;          /* intervals */
    double owed_us;             /* time that the frontend may make up for by quick calls */
    double elapsed;             /* frame times since the previous call */
    double left;                /* frames due after the previous call and not run */
    double credit;              /* frames that may run */
    double hidden_us, shown_us; /* cost of a frame; 0: unknown */
    double spent_us;            /* time spent in the call that has ended; 0 once the next has begun */
    double share;               /* of the interval that fast-forward takes */
    unsigned late;              /* calls in a row that came later than the interval explains */
    double late_us;             /* the shortest time between these calls */

    enum kl_pace_mode mode;
    uint32_t behind;       /* frames due, closed and not run, less those of a usual call */
    uint32_t behind_from;  /* the largest value of behind since this catching up began */
    uint64_t since_us;     /* time of the last progress */
    uint32_t since_behind; /* the value of behind at that time */
    bool too_slow;         /* this machine cannot run the core fast enough to catch up */
};

/* A session begins. The measurements of the frontend stay. */
void kl_pace_begin(struct kl_pace *p, double period_us);
/* The core changes its rate. */
void kl_pace_rate(struct kl_pace *p, double period_us);

/* Once at the begin of each call of the frontend, also while nothing is played. */
void kl_pace_call(struct kl_pace *p, uint64_t now_us);

/* Frames that this call may run at most; 0 only if calls come quicker than frames. closed: frames that are
 * here and not run. spacing: frames that sampling may be ahead of running; 0: no other player waits for our
 * samples. */
uint32_t kl_pace_most(struct kl_pace *p, uint32_t closed, uint32_t spacing, uint64_t now_us);

/* The engine's number of due frames, closed or not. True if that is far more than known, so that
 * kl_pace_most() should be asked again: the process stood still and finds a backlog. */
bool kl_pace_due(struct kl_pace *p, uint32_t due);

/* True if the frame after `done` frames, `spent_us` after the call began, should be the last of the call,
 * and seen. */
bool kl_pace_last(const struct kl_pace *p, double spent_us);
/* Notes the cost of a frame. */
void kl_pace_cost(struct kl_pace *p, bool hidden, double cost_us);

/* Cost of an unseen frame, in microseconds; 0: unknown. */
double kl_pace_unseen_us(const struct kl_pace *p);

/* The call is over: of `due` frames (closed or not) `done` have run; stalled: the link made it wait. */
void kl_pace_ran(struct kl_pace *p, uint32_t due, uint32_t done, bool stalled, double spent_us);

/* --- a frame's cost --- */

/* The cost of a piece of work that is done once a frame, whatever else the machine does. Pure: times come
 * in. */

/* Time and processor time of this thread, both in microseconds. */
struct kl_spent {
    uint64_t time_us, thread_us;
};

/* The newest 32 pieces. Processor time leaves out what other programs take away. It leaves out the core's own
 * threads as well, and Windows does not tell it so finely: the median of the time has these, for most frames
 * are not held up. */
struct kl_cost {
    struct kl_usual time_us, thread_us;
};
/* part: of it, which is not to count. */
void kl_cost_add(struct kl_cost *c, struct kl_spent all, struct kl_spent part);
/* Microseconds: the larger of the third largest processor time and the median time. 0: nothing was added. */
double kl_cost_us(const struct kl_cost *c);

/* --- from press to play --- */

/* The time from press to play, measured on the own pad: from the first sample with a button to the first
 * frame that plays it. The measurement needs nothing of the room, so it also holds if frames close by the
 * clock and name no samples. Pure. */

#define KL_PRESS_LOST_US 2000000 /* a press that is not played by then was dropped (an absence) */

/* Zeros: nothing pressed yet. */
struct kl_press {
    uint16_t sampled, played; /* buttons down in the newest sample, and in the newest frame */
    uint16_t awaited;         /* the timed button; 0: none */
    uint64_t since_us;        /* time of its press */
    uint64_t took_us;         /* of the newest press that was played; 0: none was yet */
};

/* The first own pad as it is sampled, and the buttons of the seat that it plays in a frame that runs. */
void kl_press_sample(struct kl_press *p, uint16_t buttons, uint64_t now_us);
void kl_press_frame(struct kl_press *p, uint16_t buttons, uint64_t now_us);

#endif

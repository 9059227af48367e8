/* pace.h - how many frames a call of the frontend may run: the pace at which a backlog is run off.
 * docs/design.md §3 "Pacing in the wrapper". Pure: time comes in.
 *
 * The engine says what is due by the room's schedule; here is decided how much of it runs at once.
 * - Usually as much as time has passed since the call before, and GENTLE more: a frame or two that stayed
 * behind are made up for one by one, a quarter of a second apart, whatever the frontend's rate. A frame that
 * the link brings late so costs one call without a frame, and one with two some time after; those that are
 * late next to it cost nothing.
 * - BRISK, from BRISK_FROM behind until DONE: some frames a call, sound compressed.
 * - FLAT OUT, from FLAT_FROM behind until DONE: as many as fit between two calls of the frontend, unseen and
 * unheard but for the last; each call still shows one.
 * - In any case as fast as it takes to go on sampling: the engine takes no samples more than an interval
 * ahead of what has been run, and the others wait for them. */
#ifndef KLW_PACE_H
#define KLW_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum kl_pace_mode { KL_PACE_STEADY, KL_PACE_GENTLE, KL_PACE_BRISK, KL_PACE_FLAT_OUT };

struct kl_pace {
    double period_us;           /* of the core's frames */
    double interval_us;         /* between calls, usually */
    uint64_t call_us;           /* the call before began; 0: none */
    uint64_t measured;          /* intervals */
    double owed_us;             /* of time that the frontend may make up for by quick calls */
    double elapsed;             /* frame times since the call before */
    double left;                /* frames due after the call before, and not run */
    double credit;              /* frames that may run */
    double hidden_us, shown_us; /* what a frame costs; 0: not known */
    double spent_us;            /* in the call that has ended; 0 once the next has begun */
    double share;               /* of the interval that fast-forward takes */
    unsigned late;              /* calls in a row that came later than the interval explains … */
    double late_us;             /* … and the shortest time between them */

    enum kl_pace_mode mode;
    uint32_t behind;       /* frames due, closed and not run, those of a usual call left out */
    uint32_t behind_from;  /* the most since this catching up began */
    uint64_t since_us;     /* when it last went well … */
    uint32_t since_behind; /* … and how far behind that was */
    bool too_slow;         /* this machine cannot run the core fast enough to catch up */
};

/* A session begins; what is known of the frontend stays known. */
void kl_pace_begin(struct kl_pace *p, double period_us);
/* The core changes its rate. */
void kl_pace_rate(struct kl_pace *p, double period_us);

/* Once at the begin of each call of the frontend, also while nothing is played. */
void kl_pace_call(struct kl_pace *p, uint64_t now_us);

/* How many frames this call may run at most; 0 only where calls come quicker than frames. closed: frames that
 * are here and not run. spacing: how many frames sampling may be ahead of running; 0: nobody waits for our
 * samples. */
uint32_t kl_pace_most(struct kl_pace *p, uint32_t closed, uint32_t spacing, uint64_t now_us);

/* The engine says that so many frames are due, closed or not. True where that is so much more than was known
 * that kl_pace_most() should be asked again: the process stood still and finds a backlog. */
bool kl_pace_due(struct kl_pace *p, uint32_t due);

/* The frame after `done` ones, `spent_us` after the call began, should be the last, and be seen. */
bool kl_pace_last(const struct kl_pace *p, double spent_us);
/* A frame took that long. */
void kl_pace_cost(struct kl_pace *p, bool hidden, double cost_us);

/* What an unseen frame costs, in microseconds; 0: not known. */
double kl_pace_unseen_us(const struct kl_pace *p);

/* The call is over: of `due` frames (closed or not) `done` have run; stalled: the link made it wait. */
void kl_pace_ran(struct kl_pace *p, uint32_t due, uint32_t done, bool stalled, double spent_us);

#endif

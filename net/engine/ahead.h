/* ahead.h - playing ahead of the lock: the shown core plays frames that are not closed yet, with guessed
 * inputs, so that a player's own press is on the screen at once. docs/design.md §3 "Running ahead".
 *
 * Pure, not thread-safe. Nothing here changes the client: samples, closed frames and the room are the same
 * with it and without.
 *
 * The shown core is a second core of one player. It runs each frame as closed where the frame has come, else
 * as guessed: own pads by the samples already taken; the others' by hints of the relay (lock_wire.h) or
 * straight from them (lock_client.h), and else as last seen, but for buttons in a steady rhythm, which goes
 * on. Once a closed frame or a hint differs from the guess, the shown core goes back to its own state before
 * that frame, and runs the frames again.
 *
 * A call of the frontend is
 *     kl_ahead_hear()             the frame to go back to, if any
 *     kl_ahead_call()             the number of frames that are to be shown after it
 *     kl_ahead_next()             each frame to run
 *     kl_ahead_showed()           the frames that were shown
 *
 * "Felt" is the number of shown frames from a sample to the first picture made with it; 1: the picture of the
 * call that took the sample. */
#ifndef KL_AHEAD_H
#define KL_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/lock_client.h"

/* The buttons of a pad that go in a steady rhythm: a turbo button, or one that is hit again and
 * again. Running ahead guesses that the rhythm goes on; docs/measured-ahead.md compares that with buttons
 * that are held as last seen. Pure. */

#define KL_RHYTHM_BUTTONS 16
#define KL_RHYTHM_LAST    4  /* holds, and gaps between them, of which a rhythm is read */
#define KL_RHYTHM_SPREAD  3  /* frames between the shortest and the longest of them, at most */
#define KL_RHYTHM_MOST    20 /* frames of one; a longer one is no rhythm */

/* Zero: nothing has been seen. */
struct kl_rhythm {
    struct kl_rhythm_button {
        bool pressed;
        uint8_t since;                   /* frames in which it is so, at most 255 */
        uint8_t last[2][KL_RHYTHM_LAST]; /* lengths of the last gaps [0] and holds [1], the newest first */
    } button[KL_RHYTHM_BUTTONS];
};

/* The pad of the next frame. */
void kl_rhythm_see(struct kl_rhythm *r, uint16_t pad);
/* The pad, `ahead` frames after the last one seen: buttons with a rhythm follow it, the others are held. */
uint16_t kl_rhythm_guess(const struct kl_rhythm *r, unsigned ahead);

#define KL_AHEAD_FRAMES  64   /* guessed frames that are kept; more than the bound on guessing */
#define KL_AHEAD_BEYOND  8    /* frames that may be guessed beyond an interval, as sampling may run on */
#define KL_AHEAD_AUTO    0xff /* as many frames as the machine can */
#define KL_AHEAD_NOWHERE UINT32_MAX

/* A frame that differs from straight samples adds KL_AHEAD_WRONG to its port's distrust, up to KL_AHEAD_MOST;
 * one that does not takes 1. None is used while there is any: samples of an honest player are all true. */
#define KL_AHEAD_WRONG 120
#define KL_AHEAD_MOST  240

struct kl_ahead {
    bool on;            /* the shown core has a state; else no field below counts */
    uint32_t confirmed; /* it played the frames below as closed */
    uint32_t at;        /* the next frame that it runs */
    uint32_t shown;     /* the frames below have been shown */
    uint32_t want;      /* frames to have been shown after this call */
    uint16_t frames;    /* ahead of the schedule now; moves by one in a second */
    uint64_t moved_us;  /* time of its last change */
    uint32_t due;       /* the schedule's next frame at the call before */
    uint8_t since;      /* calls since the last correction */
    uint32_t seen;      /* closed frames below are in `rhythm` */
    struct kl_rhythm rhythm[KL_MAX_SEATS];
    uint8_t distrust[KL_MAX_SEATS];          /* of straight samples, by port */
    struct kl_frame played[KL_AHEAD_FRAMES]; /* by number: frames [confirmed, at) as guessed */
};

/* The caller's figures of one call. */
struct kl_ahead_call {
    uint64_t now_us;
    uint32_t due;   /* the next frame that is not yet due by the schedule: the plan's, with its due frames */
    uint16_t goal;  /* frames ahead of the schedule, in the end */
    uint16_t depth; /* guessed frames at most: states that can be kept */
};

/* The shown core stands before `frame`, in the true core's state. */
void kl_ahead_begin(struct kl_ahead *a, uint32_t frame);
/* From now on the shown core is on the screen, in the true core's place, which has shown the frames below
 * `shown`. It begins with no frame ahead. */
void kl_ahead_show(struct kl_ahead *a, uint32_t shown, uint64_t now_us);

/* Plans a call and sets a->want, which is never less than a->shown. The frames ahead move towards the goal by
 * one in a second. The shown frames follow the schedule; an error of one frame or more is corrected by one
 * frame in KL_AHEAD_EVERY calls. While the room pauses or the bound on guessing is reached, want stays. */
#define KL_AHEAD_EVERY 20
void kl_ahead_call(struct kl_ahead *a, const struct kl_client *c, const struct kl_ahead_call *call);

/* Compares closed frames and hints with the guesses. Returns the first frame that differs, or has commands:
 * the caller loads the state before it, and kl_ahead_next() goes on there. KL_AHEAD_NOWHERE: there is none.
 * plays: for each seat the port that its pads play.
 * Turns it off if the client no longer holds the next frame to compare or to run: it has to begin again. */
uint32_t kl_ahead_hear(struct kl_ahead *a, const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS]);

/* Gives the frame that the shown core runs next, and moves on. plays: the seat that the pads of each seat
 * play. set: gets the commands before the frame; count 0: none, or the frame is guessed. True: the frame is
 * closed; false: guessed, or none is given, for it has turned itself off as kl_ahead_hear() does. */
bool kl_ahead_next(struct kl_ahead *a, const struct kl_client *c, const uint8_t plays[KL_MAX_SEATS],
                   struct kl_frame *out, struct kl_commands *set);

/* The frames below a->at have been shown. */
void kl_ahead_showed(struct kl_ahead *a);

/* The frame after the last closed one that may be shown. */
uint32_t kl_ahead_bound(const struct kl_client *c);
/* Frames from an own sample to the frame that it plays in, at the spacing in force; 0: unknown. */
uint16_t kl_ahead_lag(const struct kl_client *c);
/* The number of the newest own sample in frame f, or in the guess of it; -1: in none. */
int64_t kl_ahead_sample_in(const struct kl_client *c, uint32_t f);

/* Guesses that are wrong for long make the shown core guess fewer frames. The pictures that were shown are
 * counted for KL_AHEAD_DOUBT_US at a time. More than 40 % of them wrong: one frame fewer is guessed, up to
 * KL_AHEAD_FEWER. Less than a sixth wrong in KL_AHEAD_CALM counts in a row: one more again. */
#define KL_AHEAD_DOUBT_US 5000000
#define KL_AHEAD_FEWER    4
#define KL_AHEAD_CALM     6
struct kl_ahead_doubt {
    uint64_t since_us;     /* the count began then; 0: none has */
    uint32_t shown, wrong; /* pictures since */
    uint8_t fewer;         /* frames that are not guessed for now */
    uint8_t calm;          /* counts in a row with few wrong ones */
};
/* A picture that was shown has been compared with the true one. */
void kl_ahead_doubt_see(struct kl_ahead_doubt *d, bool wrong, uint64_t now_us);

/* A machine's work for frames ahead, in a call of period_us. */
struct kl_ahead_work {
    double true_us, frame_us; /* a frame of the true core, and one of the shown core */
    double load_us, period_us;
    double again; /* frames run again, on average */
};
/* The most frames ahead, up to `most`. A call after a wrong guess loads, and runs these frames, one more and
 * the true core's within its time. An average call takes KL_AHEAD_SHARE of it. now: the frames in
 * force; more are allowed only with a tenth to spare. */
#define KL_AHEAD_SHARE 0.5
uint16_t kl_ahead_fits(const struct kl_ahead_work *w, uint16_t most, uint16_t now);

#endif

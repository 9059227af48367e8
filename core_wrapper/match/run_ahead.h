/* run_ahead.h - running ahead of the lock in a match: the shown core (ahead/shown.h) plays the frames that
 * net/engine/ahead.h plans, and is on the screen in the true core's place. docs/design.md §3 "Running ahead".
 *
 * The true core's calls, samples and hashes are the same with it and without. The shown core goes along from
 * the match's first frame, or begins with the state of a marked keyframe, serialized for its hash. */
#ifndef KLW_RUN_AHEAD_H
#define KLW_RUN_AHEAD_H

#include "core_wrapper/ahead/fade.h"
#include "core_wrapper/ahead/shown.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/frame/cost.h"
#include "core_wrapper/match/core_run.h"
#include "net/engine/ahead.h"

struct kl_match;

#define KL_RUN_AHEAD_SEEN 128 /* frames whose pictures are compared */
#define KL_RUN_AHEAD_BINS 500 /* of replay times, 0.1 ms each; the last one has all longer ones */

struct kl_run_ahead {
    struct kl_shown shown;
    struct kl_ahead plan;
    struct kl_core_run run;      /* the shown core's; plays: as its newest closed frame has them */
    bool displays;               /* its frames are on the screen */
    bool anew;                   /* it is to begin with the next marked keyframe's state */
    bool failed;                 /* given up for this match */
    char why[96];                /* the newest reason why it was not ahead; "": none */
    struct kl_ahead_doubt doubt; /* with `auto` */
    uint16_t lag;                /* frames from an own sample to the frame that it plays in */
    bool idle;                   /* no frame is to be ahead */
    uint64_t idle_us, rest_us;   /* since then; up to then it costs too much. 0: it does not */
    uint64_t fit_us;             /* since then some frame was ahead */
    uint32_t rest_s;             /* length of the last rest */
    double again;                /* frames run again in a call, on average */
    struct kl_cost frame, load;  /* of a frame with its state, without its picture; of a load */
    unsigned parted; /* grows as the shown core parts from the true one without a wrong guess, else shrinks */
    bool parts_now;  /* since the last marked keyframe */
    uint8_t liars;   /* ports with a false straight sample so far, a bit each */

    /* the frame that runs */
    bool audible;
    bool hardware;                            /* its picture lies in the frontend's framebuffer */
    uint64_t picture;                         /* hash of the shown core's newest picture */
    uint64_t picture_before[KL_AHEAD_FRAMES]; /* as it was before a frame */
    struct {
        uint32_t frame;
        bool shown, again; /* on the screen; run again since */
        uint64_t picture;
        bool has_ram;
        uint64_t ram; /* before the frame */
    } seen[KL_RUN_AHEAD_SEEN];

    bool fades; /* the next sound is to fade in */
    struct kl_fade fade;

    double feels; /* frames, smoothed; 0: unknown */
    struct kl_run_ahead_sum {
        uint64_t breaks;            /* the true core came back onto the screen */
        uint64_t by_pages;          /* times that it went back by the pages of its memory */
        uint64_t calls, frames_sum; /* calls in which it was on the screen; frames ahead in them */
        uint64_t felt_count, felt_sum;
        uint64_t compared, wrong; /* shown frames; those with another picture than the true core's */
        uint64_t replayed, replays;
        uint32_t replay_bins[KL_RUN_AHEAD_BINS];
        uint64_t first_us, last_us;
    } sum;
};

/* Before the true core's frames of a call, which its samples were given for; due: the schedule's next frame.
 * Runs the shown core. Returns the number of frames that it has newly shown; -1: the true core is to be
 * shown. */
int kl_run_ahead_turn(struct kl_match *m, uint32_t due, uint64_t now_us);

/* At a marked keyframe, before its commands: the true core's state and RAM are in m->play. */
void kl_run_ahead_marked(struct kl_match *m, uint32_t frame, const struct kl_statehash *true_hash);
/* The true core has run this frame, and has drawn its picture if `drawn`. */
void kl_run_ahead_compare(struct kl_match *m, uint32_t frame, bool drawn);
/* The true core has loaded other bytes than the shown core knows of: it begins anew. */
void kl_run_ahead_anew(struct kl_match *m);
/* Sound of the core that is on the screen; another core's, or another guess's, fades in. */
void kl_run_ahead_sound(struct kl_match *m, const int16_t *stereo, size_t frames);
/* A call has shown the frames below `shown`. */
void kl_run_ahead_felt(struct kl_match *m, uint32_t shown);

/* True if the player wants a shown core, has a use for it, and none is loaded: kl_load_shown() loads it, with
 * these hooks. With `auto` a core that is being measured just now (learn.h) waits for the findings, a core
 * without findings is not had twice unless nothing is to be measured, and a room without a clock has no
 * presses to be felt. */
bool kl_run_ahead_wants(struct kl_match *m);
struct kl_shown_hooks kl_run_ahead_hooks(struct kl_match *m);
/* Not in this match: the screen tells the reason. */
void kl_run_ahead_give_up(struct kl_match *m, const char *why);
/* The core is unloaded, or the room is left. */
void kl_run_ahead_close(struct kl_match *m);
/* Turns it off, or to `auto`. Returns a line that says what is so now. */
const char *kl_run_ahead_toggle(struct kl_match *m);
/* Why it was not ahead when it last was not, in plain words; "": it always was, or is not to be. */
const char *kl_run_ahead_not(struct kl_match *m);

/* 99th percentile of the time that a call spent on frames run again, in milliseconds. */
double kl_run_ahead_replay_ms(const struct kl_run_ahead_sum *s);

#endif

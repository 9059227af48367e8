/* run_ahead.h - running ahead of the lock in a match: the shown core (ahead/shown.h) plays the frames that
 * net/engine/ahead.h plans, and is on the screen in the true core's place. docs/design.md §3 "Running ahead".
 *
 * The true core's calls, samples and hashes are the same with it and without. The shown core goes along from
 * the match's first frame, or begins with the state of a marked keyframe, serialized for its hash. */
#ifndef KLW_RUN_AHEAD_H
#define KLW_RUN_AHEAD_H

#include "core_wrapper/match/command.h"

struct kl_match;
struct kl_statehash;
struct kl_run_ahead_sum;

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
 * these hooks. With `auto` a core that is being measured just now (room_profile.h) waits for the findings, a
 * core without findings is not had twice unless nothing is to be measured, and a room without a clock has no
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

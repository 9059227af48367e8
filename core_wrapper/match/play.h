/* play.h - the frames of a session: sampling, running closed frames, hashing, and their pace. docs/design.md
 * §3 "Pacing in the wrapper".
 *
 * Running ahead of the lock: run_ahead.h. */
#ifndef KLW_PLAY_H
#define KLW_PLAY_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/command.h"
#include "net/engine/lock_client.h"

struct kl_match;

/* The core's picture and sound in a room. */
void kl_play_video(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch);
void kl_play_sound(struct kl_match *m, const int16_t *stereo, size_t frames);

void kl_play_begin(struct kl_match *m);
/* The core has changed its rate, in the frame that is running: schedule and pace follow. */
void kl_play_rate(struct kl_match *m, double fps);
/* One call of retro_run while the lock runs, while we play on alone, and while nothing runs. */
void kl_play_turn(struct kl_match *m, uint64_t now_us);
/* also while the core is the player's own; still: it waits once it has drawn its first picture */
void kl_play_local(struct kl_match *m, bool still, uint64_t now_us);
void kl_play_idle(struct kl_match *m, uint64_t now_us);

/* At the end of each call: motors and lights as the core asked last, or off while the game stands. over: the
 * game is about to go. */
void kl_play_lasting(struct kl_match *m, bool over);

/* The hashes of the core as it stands, given to relay and runner. */
void kl_play_hash(struct kl_match *m, uint32_t label);
/* The player's fast-forward and slow motion would only make the machine stall and stutter: they rest, or are
 * the player's again. */
void kl_play_hold_pace(struct kl_match *m, bool hold);

#endif

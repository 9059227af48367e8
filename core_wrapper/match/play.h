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
/* Begins not from frame 0 but from the room's snapshot before this frame. fps_uhz: the room's rate since
 * then, if it was changed; else 0. */
void kl_play_from(struct kl_match *m, uint32_t frame, uint32_t fps_uhz);
/* A frame of no game, unseen: some cores load nothing before they have run. */
void kl_play_warm_up(struct kl_match *m);
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

enum kl_play_from {
    KL_PLAY_ON,      /* the core has run the frame before */
    KL_PLAY_OWN,     /* it has loaded an own state, which was taken for the frame's hash */
    KL_PLAY_SNAPSHOT /* it has loaded a snapshot, which was taken between the frame's commands */
};
/* A frame that has been run before, with the commands before it, from another state: unseen and untold. */
void kl_play_again(struct kl_match *m, const struct kl_frame *f, const struct kl_commands *set,
                   enum kl_play_from from);

/* The hashes of the core as it stands, given to relay and runner. */
void kl_play_hash(struct kl_match *m, uint32_t label);

#endif

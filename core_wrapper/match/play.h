/* play.h - the frames of a session: sampling, running closed frames, hashing, and their pace. docs/design.md
 * §3 "Pacing in the wrapper".
 *
 * The seam for running ahead of the lock is between kl_play_turn() and run_frame(). kl_play_turn() knows the
 * locked and the shown frames; run_frame() runs one frame from any state of the core. */
#ifndef KLW_PLAY_H
#define KLW_PLAY_H

#include "core_wrapper/context/wrapper.h"

/* The core's picture and sound in a room. */
void kl_play_video(struct kl_emulator *e, const void *data, unsigned width, unsigned height, size_t pitch);
void kl_play_sound(struct kl_emulator *e, const int16_t *stereo, size_t frames);

void kl_play_begin(void);
/* Begins not from frame 0 but from the room's snapshot before this frame. fps_uhz: the room's rate since
 * then, if it was changed; else 0. */
void kl_play_from(uint32_t frame, uint32_t fps_uhz);
/* A frame of no game, unseen: some cores load nothing before they have run. */
void kl_play_warm_up(void);
/* The core has changed its rate, in the frame that is running: schedule and pace follow. */
void kl_play_rate(double fps);
/* One call of retro_run while the lock runs, while we play on alone, and while nothing runs. */
void kl_play_turn(void);
/* also while the core is the player's own; still: it waits once it has drawn its first picture */
void kl_play_local(bool still);
void kl_play_idle(void);

enum kl_play_from {
    KL_PLAY_ON,      /* the core has run the frame before */
    KL_PLAY_OWN,     /* it has loaded an own state, which was taken for the frame's hash */
    KL_PLAY_SNAPSHOT /* it has loaded a snapshot, which was taken between the frame's commands */
};
/* A frame that has been run before, with the commands before it, from another state: unseen and untold. */
void kl_play_again(const struct kl_frame *f, const struct kl_commands *set, enum kl_play_from from);

/* The hashes of the core as it stands, given to relay and runner. */
void kl_play_hash(uint32_t label);

#endif

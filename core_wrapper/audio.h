/* audio.h - the audio bridge: the sound of as many frames as a call ran, as one unbroken stream. DESIGN.md
 * §3.
 *
 * One frame a call: passed on bit for bit. Two (the room's clock has come a frame ahead of the frontend's):
 * both are kept, and what is too much is taken back by libsamplerate over the next seconds, 1 % at a time.
 * More than two: only the last one's is heard. None while the link stalls: it fades, and quiet flows at the
 * pace of the wall clock. Joints are smoothed over JOINT_MS. */
#ifndef KLW_AUDIO_H
#define KLW_AUDIO_H

#include <libretro.h>
#include <samplerate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_audio {
    double rate, fps;
    int16_t *heap; /* sound of this call, and what is left over from calls before */
    size_t frames, cap;
    int16_t last[2]; /* the last sample that was given out */
    bool joint;      /* what comes next does not follow what went before */
    bool stretching;
    SRC_STATE *src;
    float *in, *out;
    uint64_t given_us; /* when sound was given out last */
};

/* rate, fps: of the core. May be called again. */
void kl_audio_init(struct kl_audio *a, double rate, double fps);
void kl_audio_free(struct kl_audio *a);

/* The core plays. */
void kl_audio_add(struct kl_audio *a, const int16_t *stereo, size_t frames);
/* What the core has played since the last kl_audio_give() is not wanted. */
void kl_audio_drop(struct kl_audio *a);
/* After a call that ran frames: gives out what is due. */
void kl_audio_give(struct kl_audio *a, unsigned runs, uint64_t now_us, retro_audio_sample_batch_t front);
/* After a call that ran none because the link made it wait. */
void kl_audio_quiet(struct kl_audio *a, uint64_t now_us, retro_audio_sample_batch_t front);

#endif

/* audio.h - the audio bridge: one unbroken stream of sound from calls that run any number of frames.
 * docs/design.md §3 "Pacing in the wrapper".
 *
 * While every call runs exactly one frame, the sound passes bit for bit, at once. A call that runs none or
 * two starts the elastic mode: the sound goes through a small buffer and libsamplerate until CLEAN_S of
 * exactly one frame a call have passed. In that mode
 * - the core's sound goes in, and every call takes out a call's worth of wall-clock time;
 * - in steady play the pace stays within ±STEADY of the core's. The fill of the buffer sets it: half a frame
 *   and LATE_S on average (25 ms at 60 Hz), so a frame that comes up to that late is not heard;
 * - a fuller buffer (catching up) plays faster, and softer by as much. A far fuller one drops sound;
 * - an empty buffer, or kl_audio_mute(), fades the sound out into silence, and later in again;
 * - a call that lacks a little gives that much less, BRIDGE_S in all, because the frontend's own buffer
 *   bridges it.
 *
 * One thread. Only kl_audio_init() uses the heap. */
#ifndef KLW_AUDIO_H
#define KLW_AUDIO_H

#include <libretro.h>
#include <samplerate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_AUDIO_BATCH 2048 /* frames given to the frontend at once in the elastic mode */

/* KL_AUDIBLE_FULL: heard, or fading in; _FALLS: fading out; _NONE: silence. */
enum kl_audible { KL_AUDIBLE_FULL, KL_AUDIBLE_FALLS, KL_AUDIBLE_NONE };

struct kl_audio {
    double rate, fps;
    double stated, worth; /* samples of a frame of the core: as stated, as measured */
    int16_t *ring;        /* the core's samples, by their number */
    uint64_t end;         /* samples played so far */
    uint64_t begun;       /* the value of end when the session began */
    uint64_t frame_end;   /* the value of end at the previous call */
    double pos;           /* number of the next sample to give out */

    bool elastic; /* the sound goes through the converter; false: bit for bit */
    bool muted;
    enum kl_audible audible;
    double phase; /* of the fade: 1: full volume, 0: silence */
    SRC_STATE *src;
    uint64_t fed;      /* number of the first sample that the converter has not got yet */
    unsigned skip;     /* output samples to drop, made from sound that was already heard */
    unsigned mirrored; /* samples of the last heard sound that were repeated backwards */
    double speed;      /* core samples for each sample given out, at the last one */
    bool left_known;
    double left_slow, left_fast; /* samples left in the buffer after a call, smoothed */
    double quiet_for;            /* samples of silence given out in a row */
    double clean_s;              /* time for which every call has run one frame */

    uint64_t call_us; /* time of the previous call; 0: none */
    double owed;      /* samples that the frontend has used up and not got, by the wall clock */
    double bridged;   /* samples that the frontend lacked and has not got since */
    int16_t batch[KL_AUDIO_BATCH * 2];
    unsigned batched;

    /* All that the frontend gets goes through it; NULL: through nothing. Returns stereo or other sound of the
     * same length, valid until the next call; it may make *frames less. The caller sets it. */
    const int16_t *(*filter)(void *ctx, const int16_t *stereo, size_t *frames, double rate);
    void *filter_ctx;
};

/* rate, fps: the core's. May be called again while the core plays; waiting sound is dropped. */
void kl_audio_init(struct kl_audio *a, double rate, double fps);
void kl_audio_free(struct kl_audio *a);

/* A session begins. interval_us: usual time between the frontend's calls. If it differs from the core's
 * frame time, calls cannot run one frame each, so the elastic mode is on from the start. */
void kl_audio_begin(struct kl_audio *a, double interval_us);

/* Takes sound that the core plays. */
void kl_audio_add(struct kl_audio *a, const int16_t *stereo, size_t frames);

/* Heavy fast-forward begins or ends: while it is on, the output is silent and only the newest sound is
 * kept. */
void kl_audio_mute(struct kl_audio *a, bool on);

/* Once a call, after its frames: gives out the sound that is due. interval_us: as in kl_audio_begin(). */
void kl_audio_call(struct kl_audio *a, unsigned runs, uint64_t now_us, double interval_us,
                   retro_audio_sample_batch_t front);

/* Without a clock: passes all sound on unchanged, or drops it. */
void kl_audio_pass(struct kl_audio *a, retro_audio_sample_batch_t front);
void kl_audio_drop(struct kl_audio *a);

#endif

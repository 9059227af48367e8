/* audio.h - the audio bridge: the sound of however many frames each call ran, as one unbroken stream.
 * docs/design.md §3 "Pacing in the wrapper".
 *
 * Exactly one frame in every call: passed on bit for bit, at once. As soon as a call runs none or two, the
 * sound goes through a small elastic buffer and libsamplerate, until CLEAN_S of exactly one frame a call have
 * passed:
 * - what the core plays goes in, a call's worth of wall-clock time comes out of every call;
 * - in steady play the pace is within ±STEADY of the core's, set by how full the buffer is; it holds half a
 * frame and LATE_S on average (25 ms at 60 Hz): a frame that comes up to that late is not heard;
 * - more than that in the buffer (catching up) is played faster, and softer by as much; far more is let go;
 * - where there is nothing to play, or kl_audio_mute() says so, it fades, and quiet flows; then it fades in.
 * - a call that lacks a little is given that much less, BRIDGE_S in all: the frontend's own buffer bridges
 * it.
 *
 * One thread. The heap is used by kl_audio_init() alone. */
#ifndef KLW_AUDIO_H
#define KLW_AUDIO_H

#include <libretro.h>
#include <samplerate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_AUDIO_BATCH 2048 /* frames given to the frontend in one go, where they went through the buffer */

/* KL_VOICE_FULL: heard, or fading in; _FALLS: fading out; _NONE: silence. */
enum kl_voice { KL_VOICE_FULL, KL_VOICE_FALLS, KL_VOICE_NONE };

struct kl_audio {
    double rate, fps;
    double stated, worth; /* samples that the core plays in one of its frames: as stated, as measured */
    int16_t *ring;        /* what the core has played, by the number of the sample */
    uint64_t end;         /* samples played so far … */
    uint64_t begun;       /* … when the session began … */
    uint64_t frame_end;   /* … and up to the call before */
    double pos;           /* the next one to be given out */

    bool elastic; /* through the converter, else bit for bit */
    bool muted;
    enum kl_voice voice;
    double phase; /* of the fade: 1 is heard in full, 0 not at all */
    SRC_STATE *src;
    uint64_t fed;      /* samples that the converter has been given, up to this one */
    unsigned skip;     /* of its output, not wanted: it came from what was heard before */
    unsigned mirrored; /* samples of what was heard last that were given out again, backwards */
    double speed;      /* of the last sample: samples of the core for one given out */
    bool left_known;
    double left_slow, left_fast; /* what was left in the buffer after a call, smoothed */
    double quiet_for;            /* samples of quiet given out in a row */
    double clean_s;              /* for how long every call has run one frame */

    uint64_t call_us; /* of the call before; 0: none */
    double owed;      /* samples that the frontend has used up and not got, by the wall clock */
    double bridged;   /* samples that it was left without, and has not made up for yet */
    int16_t batch[KL_AUDIO_BATCH * 2];
    unsigned batched;
};

/* rate, fps: of the core. May be called again, also while it plays: what waits is dropped. */
void kl_audio_init(struct kl_audio *a, double rate, double fps);
void kl_audio_free(struct kl_audio *a);

/* A session begins. interval_us: between calls of the frontend. Where that is not the core's frame time, no
 * call rhythm can be one frame a call: the buffer is there from the start. */
void kl_audio_begin(struct kl_audio *a, double interval_us);

/* The core plays. */
void kl_audio_add(struct kl_audio *a, const int16_t *stereo, size_t frames);

/* Heavy fast-forward begins, or is over: only what is played last is kept, and nothing is heard. */
void kl_audio_mute(struct kl_audio *a, bool on);

/* Once a call, after the frames it ran: gives out what is due. interval_us: the frontend's usual one. */
void kl_audio_call(struct kl_audio *a, unsigned runs, uint64_t now_us, double interval_us,
                   retro_audio_sample_batch_t front);

/* Where there is no clock: all that was played, as it is; or nothing of it. */
void kl_audio_pass(struct kl_audio *a, retro_audio_sample_batch_t front);
void kl_audio_drop(struct kl_audio *a);

#endif

#include "audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOINT_MS    5
#define STRETCH     0.01       /* of the pace, inaudible */
#define HEAP_FRAMES (1u << 18) /* more sound than this in one call is a core gone wrong */
#define QUIET_MOST  2          /* frames' worth of quiet in one call */
#define LEFT_OVER   (8 * 1u)   /* samples too few to stretch */
#define STRETCH_CAP (1u << 14) /* samples through the converter in one call */

static size_t frame_worth(const struct kl_audio *a) {
    return (size_t)lround(a->rate / a->fps);
}

void kl_audio_init(struct kl_audio *a, double rate, double fps) {
    a->rate = rate >= 1000 && rate <= 1e6 ? rate : 44100;
    a->fps = fps >= 1 && fps <= 1000 ? fps : 60;
    if (!a->src) {
        int error;
        a->src = src_new(SRC_LINEAR, 2, &error);
        a->in = malloc(STRETCH_CAP * 2 * sizeof(float));
        a->out = malloc(STRETCH_CAP * 2 * sizeof(float));
    }
}

void kl_audio_free(struct kl_audio *a) {
    if (a->src) src_delete(a->src);
    free(a->in);
    free(a->out);
    free(a->heap);
    memset(a, 0, sizeof *a);
}

void kl_audio_add(struct kl_audio *a, const int16_t *stereo, size_t frames) {
    if (frames > HEAP_FRAMES || a->frames + frames > HEAP_FRAMES) return;
    if (a->frames + frames > a->cap) {
        size_t cap = a->cap ? a->cap : 4096;
        while (cap < a->frames + frames)
            cap *= 2;
        int16_t *more = realloc(a->heap, cap * 2 * sizeof *more);
        if (!more) return;
        a->heap = more;
        a->cap = cap;
    }
    memcpy(a->heap + a->frames * 2, stereo, frames * 2 * sizeof *stereo);
    a->frames += frames;
}

void kl_audio_drop(struct kl_audio *a) {
    if (a->frames) a->joint = true;
    a->frames = 0;
    a->stretching = false;
}

static void emit(struct kl_audio *a, int16_t *stereo, size_t frames, retro_audio_sample_batch_t front) {
    if (!frames) return;
    a->last[0] = stereo[frames * 2 - 2];
    a->last[1] = stereo[frames * 2 - 1];
    for (size_t done = 0; front && done < frames;) {
        size_t n = front(stereo + done * 2, frames - done);
        if (!n || n > frames - done) break;
        done += n;
    }
}

static int16_t clip(double v) {
    return (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
}

/* The step from the last sample to the first is taken in over JOINT_MS, and decays. */
static void smooth_joint(struct kl_audio *a) {
    if (!a->joint || !a->frames) return;
    a->joint = false;
    size_t over = (size_t)(a->rate * JOINT_MS / 1000);
    if (over > a->frames) over = a->frames;
    double step[2] = {a->last[0] - a->heap[0], a->last[1] - a->heap[1]};
    for (size_t i = 0; i < over * 2; i++) {
        double left = 1.0 - (double)(i / 2 + 1) / (double)(over + 1);
        a->heap[i] = clip(a->heap[i] + step[i % 2] * left);
    }
}

static void consume(struct kl_audio *a, size_t frames) {
    a->frames -= frames;
    memmove(a->heap, a->heap + frames * 2, a->frames * 2 * sizeof *a->heap);
}

/* A frame's worth out, made of 1 % more; the rest waits. */
static void stretch(struct kl_audio *a, retro_audio_sample_batch_t front) {
    size_t want = frame_worth(a), avail = a->frames < STRETCH_CAP ? a->frames : STRETCH_CAP;
    if (want > STRETCH_CAP) want = STRETCH_CAP;
    SRC_DATA d = {.data_in = a->in, .data_out = a->out, .src_ratio = 1.0 / (1.0 + STRETCH)};
    d.input_frames = (long)avail;
    d.output_frames = (long)want;
    src_short_to_float_array(a->heap, a->in, (int)avail * 2);
    if (src_process(a->src, &d) != 0) {
        a->stretching = false;
        return;
    }
    consume(a, (size_t)d.input_frames_used);
    int16_t short_out[STRETCH_CAP * 2];
    src_float_to_short_array(a->out, short_out, (int)d.output_frames_gen * 2);
    emit(a, short_out, (size_t)d.output_frames_gen, front);
    a->stretching = a->frames > LEFT_OVER;
}

void kl_audio_give(struct kl_audio *a, unsigned runs, uint64_t now_us, retro_audio_sample_batch_t front) {
    a->given_us = now_us;
    smooth_joint(a);
    bool much = a->frames > 4 * frame_worth(a); /* more than was meant to wait: let it go at once */
    if (runs == 2 && !a->stretching && a->src && a->in && a->out && !much) {
        src_reset(a->src);
        a->stretching = true;
    }
    if (a->stretching && !much) {
        stretch(a, front);
        if (a->stretching) return;
    }
    a->stretching = false;
    emit(a, a->heap, a->frames, front);
    a->frames = 0;
}

void kl_audio_quiet(struct kl_audio *a, uint64_t now_us, retro_audio_sample_batch_t front) {
    int16_t chunk[512 * 2];
    double elapsed_s = a->given_us ? (double)(now_us - a->given_us) / 1e6 : 1 / a->fps;
    if (elapsed_s * a->fps > QUIET_MOST) elapsed_s = QUIET_MOST / a->fps;
    size_t frames = (size_t)(elapsed_s * a->rate), fade = (size_t)(a->rate * JOINT_MS / 1000);
    int16_t from[2] = {a->last[0], a->last[1]};
    a->given_us = now_us;
    a->joint = true;
    for (size_t done = 0; done < frames;) {
        size_t n = frames - done < 512 ? frames - done : 512;
        for (size_t i = 0; i < n * 2; i++) {
            size_t at = done + i / 2;
            chunk[i] = at < fade ? (int16_t)(from[i % 2] * (double)(fade - at) / (double)fade) : 0;
        }
        emit(a, chunk, n, front);
        done += n;
    }
}

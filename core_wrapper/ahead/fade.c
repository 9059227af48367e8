#include "core_wrapper/ahead/fade.h"

#include <string.h>

void kl_fade_begin(struct kl_fade *f, unsigned most) {
    f->count = f->tail < most ? f->tail : most;
    f->at = 0;
    for (unsigned i = 0; i < f->count; i++)
        memcpy(&f->out[2 * i], &f->given[2 * (f->tail - 1 - i)], 2 * sizeof *f->out);
}

size_t kl_fade_left(const struct kl_fade *f) {
    return f->count - f->at;
}

void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples) {
    for (size_t i = 0; i < samples; i++, f->at++) {
        double in = (double)(f->at + 1) / (double)(f->count + 1);
        for (unsigned c = 0; c < 2; c++)
            stereo[2 * i + c] = (int16_t)(in * stereo[2 * i + c] + (1 - in) * f->out[2 * f->at + c]);
    }
}

void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples) {
    size_t n = samples < KL_FADE_MAX ? samples : KL_FADE_MAX;
    size_t old = f->tail + n > KL_FADE_MAX ? KL_FADE_MAX - n : f->tail;
    memmove(f->given, f->given + 2 * (f->tail - old), old * 2 * sizeof *f->given);
    memcpy(f->given + 2 * old, stereo + 2 * (samples - n), n * 2 * sizeof *f->given);
    f->tail = (unsigned)(old + n);
}

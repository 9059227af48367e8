#include "core_wrapper/ahead/fade.h"

#include <stdlib.h>
#include <string.h>

static void see_step(struct kl_fade_side *s, int from, int to) {
    if (abs(to - from) > s->step) s->step = abs(to - from);
}

void kl_fade_begin(struct kl_fade *f, unsigned most) {
    f->count = f->tail < most ? f->tail : most;
    if (f->count > KL_FADE_MAX) f->count = KL_FADE_MAX;
    f->at = 0;
    f->on = f->count > 0;
    for (unsigned i = 0; i < f->count; i++)
        memcpy(&f->out[2 * i], &f->given[2 * (f->tail - 1 - i)], 2 * sizeof *f->out);
    for (unsigned c = 0; f->on && c < 2; c++) {
        f->side[c] = (struct kl_fade_side){.mixed = f->out[c], .step = KL_FADE_STEP};
        for (unsigned i = 1; i < f->tail; i++)
            see_step(&f->side[c], f->given[2 * i + c - 2], f->given[2 * i + c]);
    }
}

/* Towards the new sound, and over the fade's time from the old one. */
static int16_t mix(struct kl_fade *f, struct kl_fade_side *s, int16_t new, unsigned c) {
    double in = (double)(f->at + 1) / (double)(f->count + 1);
    int to = f->at < f->count ? (int)(in * new + (1 - in) * f->out[2 * f->at + c]) : new;
    if (f->at > 0) see_step(s, s->new, new);
    if (to > s->mixed + s->step) to = s->mixed + s->step;
    if (to < s->mixed - s->step) to = s->mixed - s->step;
    s->new = new;
    s->mixed = to;
    return (int16_t)to;
}

void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples) {
    for (size_t i = 0; f->on && i < samples; i++) {
        for (unsigned c = 0; c < 2; c++)
            stereo[2 * i + c] = mix(f, &f->side[c], stereo[2 * i + c], c);
        if (f->at < f->count) f->at++;
        f->on = f->at < f->count || f->side[0].mixed != f->side[0].new || f->side[1].mixed != f->side[1].new;
    }
}

void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples) {
    size_t n = samples < KL_FADE_MAX ? samples : KL_FADE_MAX;
    bool moves = n < samples || f->tail + n > 2 * KL_FADE_MAX; /* no hole in what is kept */
    size_t old = moves ? KL_FADE_MAX - n : f->tail;
    if (moves) memmove(f->given, f->given + 2 * (f->tail - old), old * 2 * sizeof *f->given);
    memcpy(f->given + 2 * old, stereo + 2 * (samples - n), n * 2 * sizeof *f->given);
    f->tail = (unsigned)(old + n);
}

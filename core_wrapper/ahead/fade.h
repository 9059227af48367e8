/* fade.h - a crossfade where the sound was made by other guesses than before: the end of the sound given so
 * far, backwards, fades out under the new sound, so that there is no step. Stereo, 16 bits. Pure. */
#ifndef KLW_FADE_H
#define KLW_FADE_H

#include <stddef.h>
#include <stdint.h>

#define KL_FADE_MAX 768 /* samples: 4 ms at 192 kHz */

struct kl_fade {
    unsigned tail;                  /* samples of `given` that are set */
    int16_t given[KL_FADE_MAX * 2]; /* the newest sound given */
    unsigned at, count;             /* of a fade under way: samples mixed, and in all */
    int16_t out[KL_FADE_MAX * 2];   /* the sound that fades out */
};

/* Begins a fade over at most `most` samples. */
void kl_fade_begin(struct kl_fade *f, unsigned most);
/* Samples of the fade under way that are still to be mixed. */
size_t kl_fade_left(const struct kl_fade *f);
/* Mixes the next samples, of which there are at most kl_fade_left(). */
void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples);
/* This sound has been given. */
void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples);

#endif

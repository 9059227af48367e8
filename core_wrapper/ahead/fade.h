/* fade.h - a crossfade where the sound was made by other guesses than before, or by the other core: the end
 * of the sound given so far, backwards, fades out under the new sound. No step between two samples is larger
 * than the largest in either sound, or than KL_FADE_STEP; so the fade lasts a little longer if it must.
 * Stereo, 16 bits. Pure. */
#ifndef KLW_FADE_H
#define KLW_FADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_FADE_MAX  768 /* samples: 4 ms at 192 kHz */
#define KL_FADE_STEP 64  /* of 32768: a sound without steps gets from one level to another all the same */

struct kl_fade {
    unsigned tail;                  /* samples of `given` that are set */
    int16_t given[KL_FADE_MAX * 4]; /* the newest sound given; room for two tails, so that few are moved */
    unsigned at, count;             /* of a fade under way: samples mixed, and in all */
    int16_t out[KL_FADE_MAX * 2];   /* the sound that fades out */
    bool on;                        /* a fade is under way */
    struct kl_fade_side {
        int new, mixed, step; /* the sample before, new and as mixed; the largest step */
    } side[2];
};

/* Begins a fade over at most `most` samples. */
void kl_fade_begin(struct kl_fade *f, unsigned most);
/* Mixes the next samples, if a fade is under way. */
void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples);
/* This sound has been given. */
void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples);

#endif

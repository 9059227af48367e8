/* wav.h - the sound of a run as a file: RIFF WAVE, 16 bits, stereo. */
#ifndef KLT_WAV_H
#define KLT_WAV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kl_wav {
    FILE *file; /* NULL: none is written */
    uint32_t rate;
    uint64_t frames;
};

/* 0, or -1 with errno. The rate counts when it is closed. */
int kl_wav_open(struct kl_wav *w, const char *path);
void kl_wav_add(struct kl_wav *w, const int16_t *stereo, size_t frames);
/* Returns 0, or -1 if a write failed. */
int kl_wav_close(struct kl_wav *w);

#endif

/* wav.h - sound as a file: RIFF WAVE, 16 bits. */
#ifndef KLW_WAV_H
#define KLW_WAV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kl_wav {
    FILE *file; /* NULL: none is written */
    uint32_t rate;
    unsigned channels;
    uint64_t frames; /* samples of each channel */
};

/* 0, or -1 with errno. 48,000 Hz. The rate counts when it is closed. */
int kl_wav_open(struct kl_wav *w, const char *path, unsigned channels);
void kl_wav_add(struct kl_wav *w, const int16_t *sample, size_t frames);
/* Returns 0, or -1 if a write failed. */
int kl_wav_close(struct kl_wav *w);

/* Reads a file of one channel and that rate, of at most 64 MB. *sample is the caller's to free. Returns 0, or
 * -1 with a line in err. */
int kl_wav_read(const char *path, uint32_t rate, int16_t **sample, size_t *count, char *err, size_t err_len);

#endif

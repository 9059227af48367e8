#include "core_wrapper/voice/wav.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"

#define HEAD  44
#define MOST  (64u << 20)
#define BATCH 512 /* samples written at once */

/* --- writing --- */

static uint8_t *little(uint8_t *at, uint32_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (uint8_t)(v >> 8 * i);
    return at;
}

/* http://soundfile.sapp.org/doc/WaveFormat/ */
static int put_head(struct kl_wav *w) {
    uint8_t head[HEAD], *at = head;
    uint64_t bytes = w->frames * w->channels * 2;
    uint32_t size = bytes < UINT32_MAX - HEAD ? (uint32_t)bytes : UINT32_MAX - HEAD;
    at = (uint8_t *)memcpy(at, "RIFF", 4) + 4;
    at = little(at, size + HEAD - 8, 4);
    at = (uint8_t *)memcpy(at, "WAVEfmt ", 8) + 8;
    at = little(at, 16, 4);
    at = little(at, 1, 2); /* PCM */
    at = little(at, w->channels, 2);
    at = little(at, w->rate, 4);
    at = little(at, w->rate * w->channels * 2, 4);
    at = little(at, w->channels * 2, 2);
    at = little(at, 16, 2);
    at = (uint8_t *)memcpy(at, "data", 4) + 4;
    little(at, size, 4);
    return fwrite(head, HEAD, 1, w->file) == 1 ? 0 : -1;
}

int kl_wav_open(struct kl_wav *w, const char *path, unsigned channels) {
    w->frames = 0;
    w->rate = 48000;
    w->channels = channels;
    w->file = kl_file_stream(path, "w");
    return w->file ? put_head(w) : -1;
}

void kl_wav_add(struct kl_wav *w, const int16_t *sample, size_t frames) {
    if (!w->file) return;
    for (size_t at = 0, n; at < frames * w->channels; at += n) {
        uint8_t bytes[2 * BATCH] = {0};
        n = frames * w->channels - at < BATCH ? frames * w->channels - at : BATCH;
        for (size_t i = 0; i < n; i++)
            little(bytes + 2 * i, (uint16_t)sample[at + i], 2);
        fwrite(bytes, 2, n, w->file);
    }
    w->frames += frames;
}

int kl_wav_close(struct kl_wav *w) {
    if (!w->file) return 0;
    int bad = fseek(w->file, 0, SEEK_SET) != 0 || put_head(w) != 0 || ferror(w->file);
    bad |= fclose(w->file) != 0;
    w->file = NULL;
    return bad ? -1 : 0;
}

/* --- reading --- */

static uint32_t number(const uint8_t *at, unsigned bytes) {
    uint32_t v = 0;
    while (bytes--)
        v = v << 8 | at[bytes];
    return v;
}

/* The chunk of that name, behind the head of the file; NULL: there is none, or it is cut off. */
static const uint8_t *chunk(const uint8_t *file, size_t len, const char *name, uint32_t *size) {
    for (size_t at = 12; at + 8 <= len;) {
        *size = number(file + at + 4, 4);
        if (*size > len - at - 8) return NULL;
        if (!memcmp(file + at, name, 4)) return file + at + 8;
        at += 8 + (size_t)*size + (*size & 1);
    }
    return NULL;
}

static int take(const uint8_t *file, size_t len, uint32_t rate, int16_t **sample, size_t *count) {
    uint32_t format_len, size;
    if (len < 12 || memcmp(file, "RIFF", 4) != 0 || memcmp(file + 8, "WAVE", 4) != 0) return -1;
    const uint8_t *format = chunk(file, len, "fmt ", &format_len), *data = chunk(file, len, "data", &size);
    bool right = format && format_len >= 16 && number(format, 2) == 1 && number(format + 2, 2) == 1 &&
                 number(format + 4, 4) == rate && number(format + 14, 2) == 16;
    if (!right || !data) return -1;
    *count = size / 2;
    *sample = malloc(*count * 2 + 1);
    for (size_t i = 0; *sample && i < *count; i++)
        (*sample)[i] = (int16_t)number(data + 2 * i, 2);
    return *sample ? 0 : -1;
}

int kl_wav_read(const char *path, uint32_t rate, int16_t **sample, size_t *count, char *err, size_t err_len) {
    void *file;
    size_t len;
    if (kl_file_read(path, MOST, 0, &file, &len, err, err_len) != 0) return -1;
    int result = take(file, len, rate, sample, count);
    free(file);
    if (result != 0)
        snprintf(err, err_len, "%s: expected a WAV file of %u Hz, 16 bits, one channel", path,
                 (unsigned)rate);
    return result;
}

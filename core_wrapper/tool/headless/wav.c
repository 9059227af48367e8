#include "net/platform/file.h"
#include "core_wrapper/tool/headless/wav.h"

#include <string.h>

#define HEAD 44

static uint8_t *little(uint8_t *at, uint32_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (uint8_t)(v >> 8 * i);
    return at;
}

/* http://soundfile.sapp.org/doc/WaveFormat/ */
static int put_head(struct kl_wav *w) {
    uint8_t head[HEAD], *at = head;
    uint64_t bytes = w->frames * 4;
    uint32_t size = bytes < UINT32_MAX - HEAD ? (uint32_t)bytes : UINT32_MAX - HEAD;
    at = (uint8_t *)memcpy(at, "RIFF", 4) + 4;
    at = little(at, size + HEAD - 8, 4);
    at = (uint8_t *)memcpy(at, "WAVEfmt ", 8) + 8;
    at = little(at, 16, 4);
    at = little(at, 1, 2); /* PCM */
    at = little(at, 2, 2);
    at = little(at, w->rate, 4);
    at = little(at, w->rate * 4, 4);
    at = little(at, 4, 2);
    at = little(at, 16, 2);
    at = (uint8_t *)memcpy(at, "data", 4) + 4;
    little(at, size, 4);
    return fwrite(head, HEAD, 1, w->file) == 1 ? 0 : -1;
}

int kl_wav_open(struct kl_wav *w, const char *path) {
    w->frames = 0;
    w->rate = 48000;
    w->file = kl_file_stream(path, "w");
    return w->file ? put_head(w) : -1;
}

void kl_wav_add(struct kl_wav *w, const int16_t *stereo, size_t frames) {
    if (!w->file) return;
    for (size_t i = 0; i < frames * 2; i++) {
        uint8_t bytes[2];
        little(bytes, (uint16_t)stereo[i], 2);
        fwrite(bytes, 2, 1, w->file);
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

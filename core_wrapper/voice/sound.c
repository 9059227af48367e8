#include "core_wrapper/voice/sound.h"

#include <stdio.h>
#include <string.h>

void kl_sound_put(struct kl_sound_inlet *i, const int16_t *data, size_t count) {
    size_t most = sizeof i->sample / sizeof *i->sample;
    if (count > most) return;
    if (i->count + count > most) {
        size_t old = i->count + count - most;
        memmove(i->sample, i->sample + old, (i->count - old) * sizeof *i->sample);
        i->count -= old;
    }
    if (data)
        memcpy(i->sample + i->count, data, count * sizeof *data);
    else
        memset(i->sample + i->count, 0, count * sizeof *data);
    i->count += count;
}

int kl_sound_take(struct kl_sound_inlet *i, int16_t piece[KL_SOUND_PIECE]) {
    if (i->count < KL_SOUND_PIECE) return 0;
    memcpy(piece, i->sample, KL_SOUND_PIECE * sizeof *piece);
    i->count -= KL_SOUND_PIECE;
    memmove(i->sample, i->sample + KL_SOUND_PIECE, i->count * sizeof *i->sample);
    return 1;
}

int kl_sound_open(const struct kl_sound **sound, void **device, const char *in, const char *out, char *err,
                  size_t err_len) {
    size_t at = 0;
    int result = KL_SOUND_ABSENT;
    for (const struct kl_sound *s = *sound; s && result == KL_SOUND_ABSENT; s = s->next) {
        if (at) at += (size_t)snprintf(err + at, err_len - at, "; ");
        if (at >= err_len) at = err_len - 1;
        result = s->open(device, in, out, err + at, err_len - at);
        if (result == 0)
            *sound = s;
        else
            at += strlen(err + at);
    }
    return result;
}

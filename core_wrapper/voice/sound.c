#include "core_wrapper/voice/sound.h"

#include <stdio.h>
#include <string.h>

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

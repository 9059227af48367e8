#include "core_wrapper/voice/sound.h"

#include <stdio.h>
#include <string.h>

void *kl_sound_open(const struct kl_sound **sound, const char *in, const char *out, char *err,
                    size_t err_len) {
    size_t at = 0;
    bool absent = true;
    for (const struct kl_sound *s = *sound; s && absent; s = s->next) {
        if (at) at += (size_t)snprintf(err + at, err_len - at, "; ");
        if (at >= err_len) at = err_len - 1;
        absent = false;
        void *device = s->open(in, out, &absent, err + at, err_len - at);
        if (device) {
            *sound = s;
            return device;
        }
        at += strlen(err + at);
    }
    return NULL;
}

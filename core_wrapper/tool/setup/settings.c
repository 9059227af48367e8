#include "core_wrapper/tool/setup/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/cfg_file.h"

int kl_settings_read(struct kl_settings *s, const char *path, char *err, size_t err_len) {
    void *text = NULL;
    size_t len;
    s->there = false;
    s->text = strdup("");
    int result = kl_file_read(path, KLT_SETTINGS_BYTES, 0, &text, &len, err, err_len);
    if (result == KL_FILE_ABSENT && s->text) return 0;
    if (!s->text) snprintf(err, err_len, "cannot read %s: out of memory", path);
    if (result != 0 || !s->text) {
        free(text);
        return -1;
    }
    free(s->text);
    s->text = text;
    s->there = true;
    return 0;
}

void kl_settings_free(struct kl_settings *s) {
    free(s->text);
    s->text = NULL;
}

bool kl_settings_get(const struct kl_settings *s, const char *key, char *out, size_t cap) {
    return kl_cfg_get(s->text, key, out, cap) > 0;
}

bool kl_settings_put(struct kl_settings *s, const char *key, const char *value) {
    char *text = kl_cfg_put(s->text, key, value);
    if (!text) return false;
    free(s->text);
    s->text = text;
    return true;
}

int kl_settings_write(const struct kl_settings *s, const char *path, char *err, size_t err_len) {
    return kl_file_write_whole(path, s->text, strlen(s->text), KL_FILE_PUBLIC, err, err_len);
}

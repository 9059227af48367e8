#include "core_wrapper/tool/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "core_wrapper/config.h"

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

/* Cuts a line up in place. False where it is no `key = value`. */
static bool cut(char *line, char **key, char **value) {
    char *start = kl_config_trim(line), *equals = strchr(start, '='), *end;
    if (*start == '#' || !equals || equals == start) return false;
    *equals = 0;
    *key = kl_config_trim(start);
    *value = kl_config_trim(equals + 1);
    if (**value == '"') {
        (*value)++;
        if ((end = strchr(*value, '"'))) *end = 0;
    } else if ((end = strchr(*value, '#'))) {
        *end = 0;
        *value = kl_config_trim(*value);
    }
    return true;
}

void kl_settings_each(const struct kl_settings *s,
                      void (*line)(void *ctx, const char *key, const char *value, const char *whole),
                      void *ctx) {
    for (const char *at = s->text; at && *at;) {
        size_t len = strcspn(at, "\n");
        char *whole = strndup(at, len), *copy = strndup(at, len), *key = NULL, *value = NULL;
        if (whole && copy) {
            bool good = cut(copy, &key, &value);
            line(ctx, good ? key : NULL, good ? value : NULL, whole);
        }
        free(whole);
        free(copy);
        at += len + (at[len] == '\n');
    }
}

struct wanted {
    const char *key;
    char *out;
    size_t cap;
    bool found;
};

static void find(void *ctx, const char *key, const char *value, const char *whole) {
    struct wanted *w = ctx;
    (void)whole;
    if (w->found || !key || strcmp(key, w->key) != 0) return;
    w->found = true;
    snprintf(w->out, w->cap, "%s", value);
}

bool kl_settings_get(const struct kl_settings *s, const char *key, char *out, size_t cap) {
    struct wanted w = {key, out, cap, false};
    out[0] = 0;
    kl_settings_each(s, find, &w);
    return w.found;
}

struct change {
    const char *key, *value;
    FILE *out;
    bool done;
};

static void copy_or_change(void *ctx, const char *key, const char *value, const char *whole) {
    struct change *c = ctx;
    (void)value;
    if (!key || strcmp(key, c->key) != 0)
        fprintf(c->out, "%s\n", whole);
    else if (!c->done)
        fprintf(c->out, "%s = \"%s\"\n", c->key, c->value);
    c->done = c->done || (key && !strcmp(key, c->key));
}

bool kl_settings_put(struct kl_settings *s, const char *key, const char *value) {
    char *text = NULL;
    size_t len;
    struct change c = {key, value, open_memstream(&text, &len), false};
    if (!c.out) return false;
    kl_settings_each(s, copy_or_change, &c);
    if (!c.done) fprintf(c.out, "%s = \"%s\"\n", key, value);
    if (fclose(c.out) != 0 || !text) {
        free(text);
        return false;
    }
    free(s->text);
    s->text = text;
    return true;
}

int kl_settings_write(const struct kl_settings *s, const char *path, char *err, size_t err_len) {
    return kl_file_write_whole(path, s->text, strlen(s->text), KL_FILE_PUBLIC, err, err_len);
}

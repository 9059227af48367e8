#include "net/platform/cfg_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"

static char *trim(char *s) {
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = 0;
    return s;
}

static char *comment(char *value) {
    for (char *p = value; *p; p++)
        if (*p == '#' && (p == value || isspace((unsigned char)p[-1]))) return p;
    return NULL;
}

/* Cuts the text up in place. */
static void cut(struct kl_cfg_line *line, char *text) {
    char *start = trim(text), *equals = strchr(start, '='), *end;
    line->key = line->value = NULL;
    line->empty = !*start || *start == '#';
    if (line->empty || !equals || equals == start) return;
    *equals = 0;
    char *value = trim(equals + 1);
    bool quoted = *value == '"';
    if (quoted) value++;
    if ((end = quoted ? strchr(value, '"') : comment(value))) *end = 0;
    line->key = trim(start);
    line->value = quoted ? value : trim(value);
}

bool kl_cfg_each(const char *text, void (*each)(void *ctx, const struct kl_cfg_line *line), void *ctx) {
    struct kl_cfg_line line = {0};
    for (const char *at = text; at && *at;) {
        size_t len = strcspn(at, "\n");
        char *whole = kl_buffer_copy(at, len), *copy = kl_buffer_copy(at, len);
        bool good = whole && copy;
        if (good) {
            line.number++;
            line.whole = whole;
            cut(&line, copy);
            each(ctx, &line);
        }
        free(whole);
        free(copy);
        if (!good) return false;
        at += len + (at[len] == '\n');
    }
    return true;
}

struct wanted {
    const char *key;
    char *out;
    size_t cap;
    unsigned number;
};

static void find(void *ctx, const struct kl_cfg_line *line) {
    struct wanted *w = ctx;
    if (w->number || !line->key || strcmp(line->key, w->key) != 0) return;
    w->number = line->number;
    snprintf(w->out, w->cap, "%s", line->value);
}

unsigned kl_cfg_get(const char *text, const char *key, char *out, size_t cap) {
    struct wanted w = {key, out, cap, 0};
    out[0] = 0;
    kl_cfg_each(text, find, &w);
    return w.number;
}

struct change {
    const char *key, *value;
    struct kl_buffer out;
    bool done;
};

static void copy_or_change(void *ctx, const struct kl_cfg_line *line) {
    struct change *c = ctx;
    bool meant = line->key && !strcmp(line->key, c->key);
    if (!meant)
        kl_buffer_add(&c->out, "%s\n", line->whole);
    else if (!c->done)
        kl_buffer_add(&c->out, "%s = \"%s\"\n", c->key, c->value);
    c->done |= meant;
}

char *kl_cfg_put(const char *text, const char *key, const char *value) {
    struct change c = {.key = key, .value = value};
    bool good = kl_cfg_each(text, copy_or_change, &c);
    if (!c.done) kl_buffer_add(&c.out, "%s = \"%s\"\n", key, value);
    c.out.failed |= !good;
    return kl_buffer_take(&c.out);
}

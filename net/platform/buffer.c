#include "net/platform/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 256

/* Makes room for `more` bytes and a NUL. */
static bool reserve(struct kl_buffer *t, size_t more) {
    if (t->failed || more > SIZE_MAX / 4 - t->len) t->failed = true;
    if (t->failed || t->cap - t->len > more) return !t->failed;
    size_t cap = 2 * (t->len + more) + SMALLEST;
    char *grown = realloc(t->at, cap);
    if (!grown) return t->failed = true, false;
    t->at = grown;
    t->cap = cap;
    return true;
}

void kl_buffer_add_bytes(struct kl_buffer *t, const void *bytes, size_t len) {
    if (!reserve(t, len)) return;
    if (len) memcpy(t->at + t->len, bytes, len);
    t->len += len;
    t->at[t->len] = 0;
}

void kl_buffer_add(struct kl_buffer *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0) t->failed = true;
    if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->at + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void kl_buffer_clear(struct kl_buffer *t) {
    t->len = 0;
    t->failed = false;
    if (t->at) t->at[0] = 0;
}

void kl_buffer_free(struct kl_buffer *t) {
    free(t->at);
    *t = (struct kl_buffer){0};
}

char *kl_buffer_take(struct kl_buffer *t) {
    kl_buffer_add_bytes(t, NULL, 0); /* an empty text, too, is one */
    char *whole = t->failed ? NULL : t->at;
    if (!whole) free(t->at);
    *t = (struct kl_buffer){0};
    return whole;
}

char *kl_buffer_copy(const char *text, size_t len) {
    const char *end = memchr(text, 0, len);
    size_t n = end ? (size_t)(end - text) : len;
    char *part = malloc(n + 1);
    if (!part) return NULL;
    memcpy(part, text, n);
    part[n] = 0;
    return part;
}

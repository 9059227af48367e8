#include "core_wrapper/record/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/file.h"

#define FIRST_BYTES (64u << 10)
#define PRINT_BYTES 1024

static bool write_out(FILE *f, const char *bytes, size_t len) {
    return f && fwrite(bytes, 1, len, f) == len && fflush(f) == 0;
}

static void work(void *arg) {
    struct kl_spool *s = arg;
    FILE *f = kl_file_stream(s->path, "w");
    int error = f ? 0 : errno;
    kl_mutex_lock(&s->mutex);
    s->opened = true;
    s->error = error;
    if (!f) s->failed = true;
    kl_cond_wake(&s->news);
    while (s->len || !s->ends) {
        if (!s->len) {
            kl_cond_wait(&s->news, &s->mutex);
            continue;
        }
        char *bytes = s->waiting;
        size_t len = s->len, cap = s->cap;
        s->waiting = s->under_way;
        s->cap = s->cap_under_way;
        s->under_way = bytes;
        s->cap_under_way = cap;
        s->len = 0;
        kl_mutex_unlock(&s->mutex);
        bool good = write_out(f, bytes, len);
        kl_mutex_lock(&s->mutex);
        if (!good) s->failed = true;
    }
    bool good = !s->failed;
    kl_mutex_unlock(&s->mutex);
    if (f && fclose(f) != 0) good = false;
    if (!good) s->failed = true; /* nobody looks before the thread has ended */
    if (good && s->then) s->then(s->path);
}

static void drop(struct kl_spool *s) {
    free(s->path);
    free(s->waiting);
    free(s->under_way);
    s->path = NULL;
}

int kl_spool_open(struct kl_spool *s, const char *path) {
    memset(s, 0, sizeof *s);
    s->path = strdup(path);
    s->waiting = malloc(FIRST_BYTES);
    s->under_way = malloc(FIRST_BYTES);
    s->cap = s->cap_under_way = FIRST_BYTES;
    if (s->path && s->waiting && s->under_way && kl_thread_start(&s->thread, "keylock-file", work, s) == 0)
        return 0;
    drop(s);
    errno = ENOMEM;
    return -1;
}

int kl_spool_opened(struct kl_spool *s) {
    kl_mutex_lock(&s->mutex);
    while (!s->opened)
        kl_cond_wait(&s->news, &s->mutex);
    errno = s->error;
    kl_mutex_unlock(&s->mutex);
    return errno ? -1 : 0;
}

/* With the mutex. */
static bool make_room(struct kl_spool *s, size_t len) {
    size_t cap = s->cap;
    while (cap < s->len + len)
        cap *= 2;
    if (cap == s->cap) return true;
    char *grown = cap <= KL_SPOOL_BYTES ? realloc(s->waiting, cap) : NULL;
    if (!grown) return false;
    s->waiting = grown;
    s->cap = cap;
    return true;
}

void kl_spool_put(struct kl_spool *s, const char *bytes, size_t len) {
    if (!s->path) return;
    kl_mutex_lock(&s->mutex);
    if (!s->failed && !s->ends && make_room(s, len)) {
        memcpy(s->waiting + s->len, bytes, len);
        s->len += len;
        kl_cond_wake(&s->news);
    } else {
        s->failed = true; /* the file ends here, so that it has no hole */
    }
    kl_mutex_unlock(&s->mutex);
}

void kl_spool_print(struct kl_spool *s, const char *format, ...) {
    char text[PRINT_BYTES];
    if (!s->path) return;
    int len = KL_FORMAT(text, sizeof text, format);
    if (len > 0) kl_spool_put(s, text, len < PRINT_BYTES ? (size_t)len : PRINT_BYTES - 1);
}

void kl_spool_finish(struct kl_spool *s) {
    if (!s->path) return;
    kl_mutex_lock(&s->mutex);
    s->ends = true;
    kl_cond_wake(&s->news);
    kl_mutex_unlock(&s->mutex);
}

bool kl_spool_failed(struct kl_spool *s) {
    if (!s->path) return false;
    kl_mutex_lock(&s->mutex);
    bool failed = s->failed;
    kl_mutex_unlock(&s->mutex);
    return failed;
}

int kl_spool_close(struct kl_spool *s) {
    if (!s->path) return 0;
    kl_spool_finish(s);
    kl_thread_join(&s->thread);
    drop(s);
    return s->failed ? -1 : 0;
}

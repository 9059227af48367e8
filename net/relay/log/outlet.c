#include "net/relay/log/outlet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"

struct kl_outlet {
    int fd;
    FILE *stream;
    struct kl_thread thread;
    struct kl_mutex lock; /* of all below */
    struct kl_cond changed;
    char buffer[2][KL_OUTLET_BYTES];
    unsigned filling;         /* the buffer that takes lines; the thread writes the other one out */
    size_t used;              /* of it */
    uint64_t dropped, untold; /* lines */
    bool busy, closing, dead; /* dead: the reader is gone */
};

/* ---- the writer's side ---- */

static void put(struct kl_outlet *o, const char *bytes, size_t len) {
    memcpy(o->buffer[o->filling] + o->used, bytes, len);
    o->used += len;
}

static uint64_t lines_in(const char *bytes, size_t len) {
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += bytes[i] == '\n';
    return n;
}

/* First a line with the number of dropped lines; no other line goes in without it. */
static void take_in(struct kl_outlet *o, const char *bytes, size_t len) {
    char notice[64] = "";
    if (o->untold) snprintf(notice, sizeof notice, "dropped=%llu lines\n", (unsigned long long)o->untold);
    size_t head = strlen(notice);
    if (o->dead || o->used + head + len > KL_OUTLET_BYTES) {
        o->untold += lines_in(bytes, len);
        o->dropped += lines_in(bytes, len);
        return;
    }
    put(o, notice, head);
    put(o, bytes, len);
    o->untold = 0;
    kl_cond_wake(&o->changed);
}

static ssize_t on_write(void *cookie, const char *bytes, size_t len) {
    struct kl_outlet *o = cookie;
    kl_mutex_lock(&o->lock);
    take_in(o, bytes, len);
    kl_mutex_unlock(&o->lock);
    return (ssize_t)len;
}

/* ---- the thread ---- */

static bool write_all(int fd, const char *bytes, size_t len) {
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* All that waits; called and left with the lock held. */
static void pass_on(struct kl_outlet *o) {
    const char *bytes = o->buffer[o->filling];
    size_t len = o->used;
    o->filling ^= 1;
    o->used = 0;
    o->busy = true;
    kl_mutex_unlock(&o->lock);
    bool good = write_all(o->fd, bytes, len);
    kl_mutex_lock(&o->lock);
    o->busy = false;
    o->dead = o->dead || !good;
    if (o->dead) o->used = 0;
    kl_cond_wake(&o->changed);
}

static void run(void *arg) {
    struct kl_outlet *o = arg;
    kl_mutex_lock(&o->lock);
    while (o->used || !o->closing)
        if (o->used)
            pass_on(o);
        else
            kl_cond_wait(&o->changed, &o->lock);
    kl_mutex_unlock(&o->lock);
}

/* ---- a life ---- */

struct kl_outlet *kl_outlet_open(int fd) {
    static const cookie_io_functions_t functions = {.write = on_write};
    struct kl_outlet *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->fd = fd;
    o->stream = fopencookie(o, "w", functions);
    if (o->stream && setvbuf(o->stream, NULL, _IOLBF, BUFSIZ) == 0 &&
        kl_thread_start(&o->thread, "keylock-log", run, o) == 0)
        return o;
    if (o->stream) fclose(o->stream);
    free(o);
    return NULL;
}

FILE *kl_outlet_stream(struct kl_outlet *o) {
    return o->stream;
}

uint64_t kl_outlet_dropped(struct kl_outlet *o) {
    kl_mutex_lock(&o->lock);
    uint64_t n = o->dropped;
    kl_mutex_unlock(&o->lock);
    return n;
}

static bool wait_until_written(struct kl_outlet *o, unsigned wait_ms) {
    uint64_t until_us = kl_now_us() + wait_ms * UINT64_C(1000);
    while (o->used || o->busy)
        if (!kl_cond_wait_until(&o->changed, &o->lock, until_us)) return false;
    return true;
}

void kl_outlet_close(struct kl_outlet *o, unsigned wait_ms) {
    if (!o) return;
    fclose(o->stream);
    kl_mutex_lock(&o->lock);
    o->closing = true;
    kl_cond_wake(&o->changed);
    bool written = wait_until_written(o, wait_ms);
    kl_mutex_unlock(&o->lock);
    if (!written) return;
    kl_thread_join(&o->thread);
    free(o);
}

#include "net/relay/log/outlet.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/standard.h"
#include "net/platform/thread.h"

struct kl_outlet {
    int fd;
    struct kl_thread thread;
    struct kl_mutex lock; /* of all below */
    struct kl_cond changed;
    char buffer[2][KL_OUTLET_BYTES];
    unsigned filling;         /* the buffer that takes lines; the thread writes the other one out */
    size_t used;              /* bytes of that buffer */
    uint64_t dropped, untold; /* lines */
    bool busy, closing, dead; /* dead: the reader is gone */
};

/* --- the writer's side --- */

static void put(struct kl_outlet *o, const char *bytes, size_t len) {
    memcpy(o->buffer[o->filling] + o->used, bytes, len);
    o->used += len;
}

/* A line, or a last one without its end. First a line with the number of dropped lines; no other line goes in
 * without it. */
static void take_in(struct kl_outlet *o, const char *line, size_t len) {
    char notice[64] = "";
    if (o->untold) snprintf(notice, sizeof notice, "dropped=%llu lines\n", (unsigned long long)o->untold);
    size_t head = strlen(notice);
    if (o->dead || o->used + head + len > KL_OUTLET_BYTES) {
        o->untold++;
        o->dropped++;
        return;
    }
    put(o, notice, head);
    put(o, line, len);
    o->untold = 0;
    kl_cond_wake(&o->changed);
}

void kl_outlet_put(struct kl_outlet *o, const char *lines, size_t len) {
    kl_mutex_lock(&o->lock);
    while (len) {
        const char *end = memchr(lines, '\n', len);
        size_t one = end ? (size_t)(end - lines) + 1 : len;
        take_in(o, lines, one);
        lines += one;
        len -= one;
    }
    kl_mutex_unlock(&o->lock);
}

/* --- the thread --- */

#define AT_ONCE 4096 /* a pipe takes so much whole, whoever else writes to it */

/* Whole lines at once: other processes of the relay write to the same place. */
static bool write_lines(int fd, const char *bytes, size_t len) {
    bool good = true;
    while (good && len) {
        size_t n = len < AT_ONCE ? len : AT_ONCE, whole = n;
        while (n < len && whole > 0 && bytes[whole - 1] != '\n')
            whole--;
        if (whole > 0) n = whole;
        good = kl_output_write(fd, bytes, n);
        bytes += n;
        len -= n;
    }
    return good;
}

/* All that waits; called and left with the lock held. */
static void pass_on(struct kl_outlet *o) {
    const char *bytes = o->buffer[o->filling];
    size_t len = o->used;
    o->filling ^= 1;
    o->used = 0;
    o->busy = true;
    kl_mutex_unlock(&o->lock);
    bool good = write_lines(o->fd, bytes, len);
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

/* --- a life --- */

struct kl_outlet *kl_outlet_open(int fd) {
    struct kl_outlet *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->fd = fd;
    if (kl_thread_start(&o->thread, "keylock-log", run, o) == 0) return o;
    free(o);
    return NULL;
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
    kl_mutex_lock(&o->lock);
    o->closing = true;
    kl_cond_wake(&o->changed);
    bool written = wait_until_written(o, wait_ms);
    kl_mutex_unlock(&o->lock);
    if (!written) return;
    kl_thread_join(&o->thread);
    free(o);
}

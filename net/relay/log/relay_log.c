#include "net/relay/log/relay_log.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/plain.h"
#include "net/platform/clock.h"
#include "net/platform/standard.h"
#include "net/platform/thread.h"
#include "net/relay/log/lobby_limit.h"

/* --- the log --- */

#define LINE_BYTES 1024 /* of what an event says; more is cut */
#define HASH_SHOWN 8    /* bytes of it: two of a million addresses are equal once in 40 million runs */

static enum kl_log_level wanted = KL_LOG_INFO;
static FILE *stream; /* NULL: standard error */
static struct kl_outlet *through;
static struct kl_mutex
    lock; /* of the limit, and for one line at a time: not all are the relay's own thread's */
static struct kl_log_limit limit;
static struct kl_log_count *counts; /* NULL: nobody counts */
static struct kl_log_story *stories;
static unsigned stories_count;
static bool hashes;
static uint8_t hash_key[crypto_shorthash_siphashx24_KEYBYTES];
static const char *const names[] = {"error", "info", "debug"};

void kl_log_set_level(enum kl_log_level level) {
    wanted = level;
}
void kl_log_to(FILE *to) {
    stream = to;
}
void kl_log_through(struct kl_outlet *outlet) {
    through = outlet;
}
bool kl_log_wants(enum kl_log_level level) {
    return level <= wanted;
}

void kl_log_hash_addresses(void) {
    randombytes_buf(hash_key, sizeof hash_key);
    hashes = true;
}

const char *kl_log_address(const char *address) {
    static char out[2 * HASH_SHOWN + 1];
    uint8_t hash[crypto_shorthash_siphashx24_BYTES];
    if (!hashes) return address;
    const struct kl_host host = kl_address_host(address);
    crypto_shorthash_siphashx24(hash, (const uint8_t *)host.text, strlen(host.text), hash_key);
    return sodium_bin2hex(out, sizeof out, hash, HASH_SHOWN);
}

/* --- stories --- */

static void write_told(struct kl_log_story *s, const struct kl_log_told *told) {
    kl_seqlock_write(&s->lock, &s->told, told, offsetof(struct kl_log_told, text) + told->len);
}

/* The oldest lines make way. Under the lock. */
static void remember(struct kl_log_story *s, const char *when, const char *event, const char *rest) {
    static struct kl_log_told next;
    char line[LINE_BYTES + 128];
    rest += kl_log_token(rest); /* the room's name */
    const size_t len = (size_t)snprintf(line, sizeof line, "%s %.64s%s\n", when, event, rest);
    const char *from = s->told.text, *end = from + s->told.len;
    while (from < end && (size_t)(end - from) + len > sizeof next.text) {
        const char *line_end = memchr(from, '\n', (size_t)(end - from));
        from = line_end ? line_end + 1 : end;
    }
    next = (struct kl_log_told){.number = s->told.number, .lines = s->told.lines + 1};
    memcpy(next.text, from, (size_t)(end - from));
    memcpy(next.text + (end - from), line, len);
    next.len = (uint32_t)((size_t)(end - from) + len);
    write_told(s, &next);
}

void kl_log_stories(struct kl_log_story *story, unsigned count) {
    stories = story;
    stories_count = count;
}

void kl_log_story_begin(unsigned place) {
    if (place >= stories_count) return;
    kl_mutex_lock(&lock);
    write_told(&stories[place], &(struct kl_log_told){.number = stories[place].told.number + 1});
    kl_mutex_unlock(&lock);
}

/* --- lines --- */

static void put(unsigned place, enum kl_log_level level, const char *event, const char *rest) {
    char when[KL_WALL_TEXT], line[LINE_BYTES + 128];
    int n = snprintf(line, sizeof line, "%s %s event=%s%s%s\n", kl_wall_text(when, kl_wall_us()),
                     names[level], event, rest[0] ? " " : "", rest);
    if (through)
        kl_outlet_put(through, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    else
        fputs(line, stream ? stream : stderr);
    if (place < stories_count && level <= KL_LOG_INFO) remember(&stories[place], when, event, rest);
}

static void put_left_out(const char *key, uint64_t lines) {
    char rest[KL_LOG_KEY + 64];
    snprintf(rest, sizeof rest, "lines=%llu of=%s", (unsigned long long)lines, key);
    put(KL_LOG_NO_PLACE, KL_LOG_INFO, "left_out", rest);
}

/* A table that is full of others counts no more kinds. Under the lock. */
static void count(const char *event) {
    char name[sizeof counts->event];
    uint32_t hash = 2166136261U;
    snprintf(name, sizeof name, "%s", event);
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    for (unsigned i = 0; i < KL_LOG_EVENTS; i++) {
        struct kl_log_count *c = &counts[(hash + i) % KL_LOG_EVENTS];
        if (*c->event && strcmp(c->event, name) != 0) continue;
        if (!*c->event) memcpy(c->event, name, sizeof name);
        atomic_fetch_add(&c->lines, 1);
        return;
    }
}

static void say(unsigned place, enum kl_log_level level, const char *event, const char *format,
                va_list args) {
    char line[LINE_BYTES], key[KL_LOG_KEY];
    uint64_t missing = 0;
    vsnprintf(line, sizeof line, format, args);
    kl_log_key(key, event, line);
    kl_mutex_lock(&lock);
    if (counts) count(event);
    bool taken = level == KL_LOG_ERROR || kl_log_take(&limit, key, kl_now_us(), &missing);
    if (missing) put_left_out(key, missing);
    if (taken) put(place, level, event, line);
    kl_mutex_unlock(&lock);
}

void kl_log(enum kl_log_level level, const char *event, const char *format, ...) {
    if (!kl_log_wants(level)) return;
    va_list args;
    va_start(args, format);
    say(KL_LOG_NO_PLACE, level, event, format, args);
    va_end(args);
}

void kl_log_of_room(unsigned place, enum kl_log_level level, const char *event, const char *format, ...) {
    if (!kl_log_wants(level)) return;
    va_list args;
    va_start(args, format);
    say(place, level, event, format, args);
    va_end(args);
}

void kl_log_count(struct kl_log_count *at) {
    counts = at;
}

void kl_log_set_lines(unsigned per_min) {
    limit.per_min = per_min;
}

void kl_log_left_out(bool all) {
    uint64_t missing;
    const struct kl_log_cell *c;
    kl_mutex_lock(&lock);
    while ((c = kl_log_untold(&limit, kl_now_us(), all, &missing)))
        put_left_out(c->key, missing);
    kl_mutex_unlock(&lock);
}

const char *kl_log_quote(char *out, size_t cap, const char *s) {
    size_t n = 0;
    out[n++] = '"';
    for (size_t unfit = 0; *s; s++) {
        char piece[5] = {*s};
        if (!unfit) unfit = kl_plain_unfit(s);
        if (unfit)
            snprintf(piece, sizeof piece, "\\x%02x", (unsigned char)*s), unfit--;
        else if (*s == '"' || *s == '\\')
            snprintf(piece, sizeof piece, "\\%c", *s);
        if (n + strlen(piece) + 2 > cap) break;
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    out[n++] = '"';
    out[n] = 0;
    return out;
}

const char *kl_log_seats(char out[20], uint8_t seats) {
    size_t n = 0;
    for (unsigned s = 0; s < 8; s++)
        if (seats >> s & 1) n += (size_t)snprintf(out + n, 20 - n, "%s%u", n ? "," : "", s);
    if (n == 0) snprintf(out, 20, "none");
    return out;
}

/* --- its way out --- */

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

static void put_bytes(struct kl_outlet *o, const char *bytes, size_t len) {
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
    put_bytes(o, notice, head);
    put_bytes(o, line, len);
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

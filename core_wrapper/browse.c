#include "core_wrapper/browse.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/transport/ask.h"
#include "core_wrapper/wish.h"

#define PIECES 64 /* lists at most, as quick.c */
#define BLANKS " ,\t"

static struct relay {
    char host[KL_CONFIG_HOST_MAX];
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below, until the thread has ended */
    bool done;
    char why[KEYLOCK_LINE]; /* with done: "" or what failed */
    struct keylock_room *room;
    unsigned count;
    /* of the thread alone */
    int fd;
    struct kl_rooms piece;
} * relay[KL_BROWSE_RELAYS];
static unsigned relays;

/* ---- a thread: the only part that waits, and where it may be ended ---- */

static float ping(int fd) {
    double best_ms = -1;
    struct kl_pong pong;
    for (unsigned i = 0; i < KL_ASK_TRIES; i++) {
        double ms = kl_ask_ping(fd, &pong);
        if (ms >= 0 && (best_ms < 0 || ms < best_ms)) best_ms = ms;
    }
    return (float)best_ms;
}

static void copy(struct keylock_room *to, const struct kl_room_line *from, const struct relay *r, float ms) {
    snprintf(to->relay, sizeof to->relay, "%s:%u", r->host, r->port);
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->content, sizeof to->content, "%s", from->content);
    to->players = from->players;
    to->filled = from->filled;
    to->open = from->open;
    to->playing = from->playing;
    to->password = from->password;
    to->locked = from->locked;
    to->ping_ms = ms;
}

static void add_piece(struct relay *r, float ms) {
    pthread_mutex_lock(&r->mutex);
    for (unsigned i = 0; i < r->piece.count && r->count < KL_BROWSE_ROOMS; i++)
        copy(&r->room[r->count++], &r->piece.line[i], r, ms);
    pthread_mutex_unlock(&r->mutex);
}

static int waiting(void *(*what)(struct relay *, void *), struct relay *r, void *arg) {
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    bool good = what(r, arg) != NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return good ? 0 : -1;
}

static void *reach(struct relay *r, void *why) {
    r->fd = kl_ask_open(r->host, r->port, why, KEYLOCK_LINE);
    return r->fd < 0 ? NULL : r;
}
static void *measure(struct relay *r, void *ms) {
    return (*(float *)ms = ping(r->fd)) < 0 ? NULL : r;
}
static void *next_piece(struct relay *r, void *from) {
    return kl_ask_rooms(r->fd, *(uint16_t *)from, &r->piece) == 0 ? r : NULL;
}

static void ask(struct relay *r, char why[KEYLOCK_LINE]) {
    float ms = 0;
    if (waiting(reach, r, why) != 0) return;
    int failed = waiting(measure, r, &ms);
    uint16_t from = 0;
    for (unsigned p = 0; !failed && p < PIECES && from != KL_ROOMS_END; p++, from = r->piece.next) {
        failed = waiting(next_piece, r, &from);
        if (!failed) add_piece(r, ms);
    }
    if (failed) snprintf(why, KEYLOCK_LINE, "no answer from %.200s:%u", r->host, r->port);
}

static void *run(void *arg) {
    struct relay *r = arg;
    char why[KEYLOCK_LINE] = "";
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    ask(r, why);
    pthread_mutex_lock(&r->mutex);
    memcpy(r->why, why, sizeof why);
    r->done = true;
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* ---- who asks ---- */

static void end(struct relay *r) {
    pthread_cancel(r->thread);
    pthread_join(r->thread, NULL);
    if (r->fd >= 0) close(r->fd);
    pthread_mutex_destroy(&r->mutex);
    free(r->room);
    free(r);
}

void kl_browse_end(void) {
    while (relays)
        end(relay[--relays]);
}

static int begin(const struct kl_config *where) {
    struct relay *r = calloc(1, sizeof *r);
    if (r) r->room = calloc(KL_BROWSE_ROOMS, sizeof *r->room);
    if (r && r->room) {
        snprintf(r->host, sizeof r->host, "%s", where->host);
        r->port = where->port;
        r->fd = -1;
        pthread_mutex_init(&r->mutex, NULL);
        if (pthread_create(&r->thread, NULL, run, r) == 0) {
            relay[relays++] = r;
            return 0;
        }
        pthread_mutex_destroy(&r->mutex);
    }
    if (r) free(r->room);
    free(r);
    return -1;
}

int kl_browse_begin(const char *names, char *err, size_t err_len) {
    static struct kl_config where[KL_BROWSE_RELAYS];
    char text[2048], *rest = text, *word;
    unsigned count = 0;
    const char *problem = NULL;
    snprintf(text, sizeof text, "%s", names);
    while ((word = strtok_r(rest, BLANKS, &rest))) {
        if (count == KL_BROWSE_RELAYS)
            problem = "expected at most 8 relays, got more";
        else if (kl_wish_check(&where[count++], "relay", word, err, err_len) != 0)
            return -1;
    }
    if (count == 0) problem = "relay: expected HOST or HOST:PORT, got none";
    if (strlen(names) >= sizeof text) problem = "expected at most 8 relays, got a longer text";
    if (!problem && sodium_init() < 0) problem = "libsodium does not start";
    kl_browse_end();
    for (unsigned i = 0; !problem && i < count; i++)
        if (begin(&where[i]) != 0) problem = "cannot ask the relay: no memory or no thread left";
    if (problem && err) snprintf(err, err_len, "%s", problem);
    return problem ? -1 : 0;
}

static int by_ping(const void *a, const void *b) {
    const struct keylock_room *x = a, *y = b;
    if (x->ping_ms != y->ping_ms) return x->ping_ms < y->ping_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void say(char *line, const char *why) {
    size_t used = strlen(line);
    snprintf(line + used, KEYLOCK_LINE - used, "%s%s", used ? "; " : "", why);
}

unsigned kl_browse_rooms(struct keylock_room *out, unsigned max, bool *asking, char *line) {
    unsigned count = 0;
    *asking = false;
    line[0] = 0;
    for (unsigned i = 0; i < relays; i++) {
        struct relay *r = relay[i];
        pthread_mutex_lock(&r->mutex);
        for (unsigned k = 0; k < r->count && count < max; k++)
            out[count++] = r->room[k];
        *asking = *asking || !r->done;
        if (*r->why) say(line, r->why);
        pthread_mutex_unlock(&r->mutex);
    }
    qsort(out, count, sizeof *out, by_ping);
    return count;
}

#include "core_wrapper/quick.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/transport/ask.h"

#define AGAIN_MS 3000 /* between two looks, and as much again at most, so that two do not keep step */
#define PIECES   64   /* lists at most: a relay that never ends one is none */

struct kl_quick {
    struct kl_quick_want want;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t turned;
    bool leaving, resting;
    char mine[KL_NAME_MAX], barred[KL_NAME_MAX];
    enum kl_quick_news news;
    char text[256];
    /* of the thread alone, until it has ended */
    int fd;
    struct kl_rooms rooms;
};

static bool is_quick(const char *name) {
    return strncmp(name, KL_QUICK_PREFIX, strlen(KL_QUICK_PREFIX)) == 0;
}

bool kl_quick_fits(const struct kl_room_line *l, const struct kl_quick_want *want, const char *mine,
                   const char *barred) {
    if (memcmp(l->identity, want->identity, sizeof l->identity) != 0) return false;
    if (l->password || l->locked || l->open < want->seats || !strcmp(l->name, barred)) return false;
    if (!*mine) return true;
    return strcmp(l->name, mine) != 0 && (!is_quick(l->name) || strcmp(l->name, mine) < 0);
}

void kl_quick_name(char out[KL_NAME_MAX]) {
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    size_t n = (size_t)snprintf(out, KL_NAME_MAX, KL_QUICK_PREFIX);
    for (unsigned i = 0; i < 8; i++)
        out[n++] = letters[randombytes_uniform(sizeof letters - 1)];
    out[n] = 0;
}

/* ---- the thread ---- */

static bool pick(const struct kl_quick *q, const char *mine, const char *barred, char text[256]) {
    for (unsigned i = 0; i < q->rooms.count; i++) {
        if (!kl_quick_fits(&q->rooms.line[i], &q->want, mine, barred)) continue;
        snprintf(text, 256, "%s", q->rooms.line[i].name);
        return true;
    }
    return false;
}

static enum kl_quick_news look_through(struct kl_quick *q, const char *mine, const char *barred,
                                       char text[256]) {
    uint16_t from = 0;
    for (unsigned p = 0; p < PIECES && from != KL_ROOMS_END; p++, from = q->rooms.next) {
        if (kl_ask_rooms(q->fd, from, &q->rooms) != 0) {
            snprintf(text, 256, "no answer from %.200s:%u", q->want.host, q->want.port);
            return KL_QUICK_FAILED;
        }
        if (pick(q, mine, barred, text)) return KL_QUICK_FOUND;
    }
    return KL_QUICK_NONE;
}

/* Who closes waits for nobody: the thread may be ended in here, while it waits for a name server or a relay.
 */
static enum kl_quick_news look(struct kl_quick *q, const char *mine, const char *barred, char text[256]) {
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    q->fd = kl_ask_open(q->want.host, q->want.port, text, 256);
    enum kl_quick_news news = q->fd < 0 ? KL_QUICK_FAILED : look_through(q, mine, barred, text);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (q->fd >= 0) close(q->fd);
    q->fd = -1;
    return news;
}

static void wait_ms(struct kl_quick *q, unsigned ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + ms * UINT64_C(1000000);
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    while (!q->leaving && pthread_cond_timedwait(&q->turned, &q->mutex, &until) == 0) {
    }
}

static void *run(void *arg) {
    struct kl_quick *q = arg;
    char mine[KL_NAME_MAX], barred[KL_NAME_MAX], text[256] = "";
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&q->mutex);
    while (!q->leaving) {
        if (q->resting) {
            pthread_cond_wait(&q->turned, &q->mutex);
            continue;
        }
        memcpy(mine, q->mine, sizeof mine);
        memcpy(barred, q->barred, sizeof barred);
        pthread_mutex_unlock(&q->mutex);
        enum kl_quick_news news = look(q, mine, barred, text);
        pthread_mutex_lock(&q->mutex);
        q->news = news;
        q->resting = news == KL_QUICK_FOUND;
        memcpy(q->text, text, sizeof text);
        if (!q->resting) wait_ms(q, AGAIN_MS + randombytes_uniform(AGAIN_MS));
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

/* ---- its owner ---- */

struct kl_quick *kl_quick_open(const struct kl_quick_want *want) {
    struct kl_quick *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->want = *want;
    q->fd = -1;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->turned, NULL);
    if (pthread_create(&q->thread, NULL, run, q) == 0) return q;
    free(q);
    return NULL;
}

void kl_quick_look(struct kl_quick *q, const char *mine, const char *barred) {
    pthread_mutex_lock(&q->mutex);
    snprintf(q->mine, sizeof q->mine, "%s", mine);
    snprintf(q->barred, sizeof q->barred, "%s", barred);
    q->news = KL_QUICK_LOOKING;
    q->resting = false;
    pthread_cond_signal(&q->turned);
    pthread_mutex_unlock(&q->mutex);
}

enum kl_quick_news kl_quick_news(struct kl_quick *q, char *room, char *why) {
    pthread_mutex_lock(&q->mutex);
    enum kl_quick_news news = q->news;
    q->news = KL_QUICK_LOOKING;
    snprintf(news == KL_QUICK_FOUND ? room : why, 256, "%s", q->text);
    pthread_mutex_unlock(&q->mutex);
    return news;
}

void kl_quick_close(struct kl_quick *q) {
    if (!q) return;
    pthread_mutex_lock(&q->mutex);
    q->leaving = true;
    pthread_cond_signal(&q->turned);
    pthread_mutex_unlock(&q->mutex);
    pthread_cancel(q->thread);
    pthread_join(q->thread, NULL);
    if (q->fd >= 0) close(q->fd);
    pthread_cond_destroy(&q->turned);
    pthread_mutex_destroy(&q->mutex);
    free(q);
}

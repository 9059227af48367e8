#include "core_wrapper/match/quick.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/spacing.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/transport/ask.h"

#define FPS       60      /* most cores; the room decides by its own */
#define AGAIN_US  3000000 /* between two looks, and as much again at most, so that two do not keep step */
#define BESIDE_US 7000000 /* the same for one who is only told of rooms */
#define OTHERS    16

struct kl_quick {
    struct kl_quick_want want;
    struct kl_asker asker; /* its mutex: of all below */
    bool resting;
    char mine[KL_NAME_MAX], barred[KL_NAME_MAX];
    char other[OTHERS][KL_NAME_MAX]; /* rooms of another set */
    unsigned others;                 /* counted on; the newest OTHERS are kept */
    enum kl_quick_news news;
    char text[256];
    /* of the thread alone */
    char not [KL_NAME_MAX], ours[KL_NAME_MAX], found[256];
    uint16_t rtt_ms; /* of the room that was found */
    struct kl_rooms piece;
};

/* A room of the game that lets us in. */
static bool is_open(const struct kl_room_line *l, const struct kl_quick_want *want) {
    return memcmp(l->identity, want->identity, sizeof l->identity) == 0 && !l->password && !l->locked &&
           l->open >= want->seats &&
           kl_spacing_least((uint32_t)(want->rtt_ms * 1000), FPS) + l->economy <= l->lead_max;
}

bool kl_quick_fits(const struct kl_room_line *l, const struct kl_quick_want *want, const char *mine,
                   const char *barred) {
    return is_open(l, want) && l->quick && strcmp(l->name, barred) != 0 &&
           (!*mine || strcmp(l->name, mine) < 0);
}

bool kl_quick_is_beside(const struct kl_room_line *l, const struct kl_quick_want *want) {
    return is_open(l, want) && strcmp(l->name, want->beside) != 0 && !(want->named && l->quick);
}

void kl_quick_name(char out[KL_NAME_MAX]) {
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    size_t n = (size_t)snprintf(out, KL_NAME_MAX, KL_QUICK_PREFIX);
    for (unsigned i = 0; i < 8; i++)
        out[n++] = letters[randombytes_uniform(sizeof letters - 1)];
    out[n] = 0;
}

/* --- the thread --- */

static bool is_other(struct kl_quick *q, const char *room) {
    bool is = false;
    kl_mutex_lock(&q->asker.mutex);
    for (unsigned i = 0; i < OTHERS && i < q->others; i++)
        is |= !strcmp(q->other[i], room);
    kl_mutex_unlock(&q->asker.mutex);
    return is;
}

static bool pick(void *quick, struct kl_rooms *piece) {
    struct kl_quick *q = quick;
    for (unsigned i = 0; i < piece->count; i++) {
        const struct kl_room_line *l = &piece->line[i];
        bool fits =
            *q->want.beside ? kl_quick_is_beside(l, &q->want) : kl_quick_fits(l, &q->want, q->ours, q->not );
        if (!fits || is_other(q, l->name)) continue;
        if (*q->found && l->rtt_ms >= q->rtt_ms) continue;
        snprintf(q->found, sizeof q->found, "%s", l->name);
        q->rtt_ms = l->rtt_ms;
    }
    return true;
}

/* Sets q->found to the room, or to a line with the failure. */
static enum kl_quick_news look(struct kl_quick *q) {
    q->found[0] = 0;
    int s = kl_ask_open(&q->asker, q->want.host, q->want.port, q->found, sizeof q->found);
    if (s < 0) return KL_QUICK_FAILED;
    struct kl_pong pong;
    double ms = kl_ask_ping(&q->asker, s, &pong);
    if (ms >= 0) q->want.rtt_ms = ms;
    int failed = kl_ask_rooms(&q->asker, s, &q->piece, pick, q);
    kl_socket_close(s);
    if (!failed) return *q->found ? KL_QUICK_FOUND : KL_QUICK_NONE;
    snprintf(q->found, sizeof q->found, "no answer from %.200s",
             kl_host_port(q->want.host, q->want.port).text);
    return KL_QUICK_FAILED;
}

static void run(void *arg) {
    struct kl_quick *q = arg;
    while (!q->asker.leaving) {
        /* After a room was found, this rests until the next kl_quick_look(). */
        kl_mutex_lock(&q->asker.mutex);
        memcpy(q->ours, q->mine, sizeof q->ours);
        memcpy(q->not, q->barred, sizeof q->not );
        bool looks = !q->resting;
        kl_mutex_unlock(&q->asker.mutex);
        if (!looks) {
            kl_asker_rest(&q->asker, KL_WAIT_FOREVER);
            continue;
        }
        enum kl_quick_news news = look(q);
        kl_mutex_lock(&q->asker.mutex);
        q->news = news;
        q->resting = news == KL_QUICK_FOUND && !*q->want.beside;
        memcpy(q->text, q->found, sizeof q->text);
        kl_mutex_unlock(&q->asker.mutex);
        uint32_t every_us = *q->want.beside ? BESIDE_US : AGAIN_US;
        uint64_t again_us = kl_now_us() + every_us + randombytes_uniform(every_us);
        bool waits = news != KL_QUICK_FOUND || *q->want.beside;
        while (waits && kl_now_us() < again_us && kl_asker_rest(&q->asker, again_us)) {
        }
    }
}

/* --- its owner --- */

struct kl_quick *kl_quick_open(const struct kl_quick_want *want) {
    struct kl_quick *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->want = *want;
    if (kl_asker_start(&q->asker, "keylock-quick", run, q) == 0) return q;
    free(q);
    return NULL;
}

void kl_quick_look(struct kl_quick *q, const char *mine, const char *barred) {
    kl_mutex_lock(&q->asker.mutex);
    snprintf(q->mine, sizeof q->mine, "%s", mine);
    snprintf(q->barred, sizeof q->barred, "%s", barred);
    q->news = KL_QUICK_LOOKING;
    q->resting = false;
    kl_mutex_unlock(&q->asker.mutex);
    kl_asker_poke(&q->asker);
}

void kl_quick_bar(struct kl_quick *q, const char *room) {
    kl_mutex_lock(&q->asker.mutex);
    snprintf(q->other[q->others++ % OTHERS], KL_NAME_MAX, "%s", room);
    kl_mutex_unlock(&q->asker.mutex);
}

enum kl_quick_news kl_quick_news(struct kl_quick *q, char *room, char *why) {
    kl_mutex_lock(&q->asker.mutex);
    enum kl_quick_news news = q->news;
    q->news = KL_QUICK_LOOKING;
    snprintf(news == KL_QUICK_FOUND ? room : why, 256, "%s", q->text);
    kl_mutex_unlock(&q->asker.mutex);
    return news;
}

void kl_quick_close(struct kl_quick *q) {
    if (!q) return;
    kl_asker_end(&q->asker);
    free(q);
}

#include "net/transport/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/engine/command.h"
#include "net/engine/lock_return.h"
#include "net/platform/clock.h"
#include "net/transport/link_state.h"

static void lock(struct kl_link *l) {
    kl_mutex_lock(&l->mutex);
}
static void unlock(struct kl_link *l) {
    kl_mutex_unlock(&l->mutex);
}

/* Wakes the network thread. Non-blocking: an eventfd that is full wakes it as well. */
void kl_link_kick(struct kl_link *l) {
    uint64_t one = 1;
    ssize_t put = write(l->kick_fd, &one, sizeof one);
    (void)put;
}

/* Under the mutex: true where the lock client wants to speak before the thread gets up by itself, once. */
static bool send_is_due(struct kl_link *l) {
    struct kl_link_shared *s = &l->shared;
    if (!s->joined || kl_client_send_at(&s->lock) >= s->wake_us) return false;
    s->wake_us = 0;
    return true;
}

static void destroy(struct kl_link *l) {
    struct kl_link_shared *s = &l->shared;
    if (l->enet) enet_host_destroy(l->enet);
    close(l->kick_fd);
    if (s->start != s->given) free(s->start);
    free(s->given);
    free(s->start_before);
    kl_link_past_forget(l, 0, 0);
    kl_link_shot_forget(l);
    sodium_memzero(&l->seat, sizeof l->seat);
    free(l->held);
    sodium_memzero(&l->door, sizeof l->door);
    free(l);
}

/* What can be said at once. */
static int check_config(const struct kl_link_config *config, char *err, size_t err_len) {
    if (strlen(config->host) >= KL_LINK_HOST_MAX) {
        snprintf(err, err_len, "the relay's name is longer than %d bytes", KL_LINK_HOST_MAX - 1);
        return -1;
    }
    struct kl_link_door door;
    if (kl_link_door_init(&door, config->password, false) != 0) {
        snprintf(err, err_len, "a password of 1 to %d bytes is expected", KL_DOOR_PASSWORD_MAX);
        return -1;
    }
    sodium_memzero(&door, sizeof door);
    if (!config->fingerprint || kl_fingerprint_valid(config->fingerprint)) return 0;
    snprintf(err, err_len, "'%.64s' is no fingerprint of a relay: %d letters and digits are expected",
             config->fingerprint, KL_FINGERPRINT_CHARS);
    return -1;
}

static void copy_config(struct kl_link *l, const struct kl_link_config *config) {
    snprintf(l->host, sizeof l->host, "%s", config->host);
    snprintf(l->fingerprint, sizeof l->fingerprint, "%s", config->fingerprint ? config->fingerprint : "");
    l->port = config->port;
    l->offers = (config->ciphers ? config->ciphers : kl_ciphers_here()) |
                (config->insecure_lan ? KL_CIPHER_CLEAR : 0);
    l->sparing = config->sparing;
    l->hello = config->hello;
    l->hello.version = KL_PROTOCOL_VERSION;
    l->seat = config->seat;
    if (sodium_is_zero(l->seat.pub, sizeof l->seat.pub)) kl_seat_make(&l->seat);
    memcpy(l->hello.seat_key, l->seat.pub, sizeof l->hello.seat_key);
    l->fresh = config->fresh;
    memcpy(l->token, config->token, sizeof l->token);
    l->welcomed = config->welcomed;
    l->ctx = config->ctx;
    kl_history_init(&l->shared.past, 0, 0);
    if (config->password) l->hello.door |= KL_DOOR_PASSWORD;
    (void)kl_link_door_init(&l->door, config->password, config->fresh);
    l->trust = config->trust;
}

int kl_link_open(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len) {
    if (check_config(config, err, err_len) != 0) return -1;
    struct kl_link *l = calloc(1, sizeof *l);
    if (l) l->held = calloc(KL_HELD_FRAMES, sizeof *l->held); /* pages that are never needed stay untouched */
    if (l) l->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!l || !l->held || l->kick_fd < 0) {
        snprintf(err, err_len, "no memory or no descriptor for a connection: %s", strerror(errno));
        if (l) free(l->held);
        free(l);
        return -1;
    }
    copy_config(l, config);
    l->enet = kl_enet_host_create(1);
    int failed = l->enet ? kl_thread_start(&l->thread, "keylock-net", kl_link_thread, l) : errno;
    if (!l->enet || failed) {
        snprintf(err, err_len, "no %s for a connection: %s", l->enet ? "thread" : "socket", strerror(failed));
        destroy(l);
        return -1;
    }
    *out = l;
    return 0;
}

void kl_link_close(struct kl_link *l, unsigned linger_ms) {
    if (!l) return;
    lock(l);
    l->shared.leaving = true;
    l->shared.leave_by_us = kl_now_us() + linger_ms * UINT64_C(1000);
    unlock(l);
    kl_link_kick(l);
    kl_thread_join(&l->thread);
    destroy(l);
}

void kl_link_status(struct kl_link *l, struct kl_link_status *out) {
    lock(l);
    *out = l->shared.status;
    if (l->shared.joined) {
        out->lock = l->shared.lock.stats;
        out->behind = kl_client_behind(&l->shared.lock);
        out->begins = l->shared.shot.begins;
        out->shot_done = l->shared.shot.have;
        out->shot_total = l->shared.shot.offer.packed;
    }
    unlock(l);
}

int kl_link_give_start(struct kl_link *l, const void *data, size_t len) {
    if (len > KL_START_BYTES_MAX) return -1;
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy) return -1;
    if (len) memcpy(copy, data, len);
    lock(l);
    bool wanted = l->shared.status.phase == KL_LINK_SEND_START;
    if (wanted) {
        l->shared.given = copy;
        l->shared.given_len = len;
        l->shared.is_given = true;
        l->shared.status.phase = KL_LINK_WAITING;
        kl_link_happened(l);
    }
    unlock(l);
    if (!wanted) free(copy);
    kl_link_kick(l);
    return wanted ? 0 : -1;
}

const uint8_t *kl_link_start_data(struct kl_link *l, size_t *len) {
    lock(l);
    const uint8_t *data = l->shared.start;
    *len = l->shared.start_len;
    unlock(l);
    return data;
}

void kl_link_ready(struct kl_link *l, const struct kl_facts *facts) {
    lock(l);
    if (l->shared.status.phase == KL_LINK_LOAD) {
        l->shared.ready_facts = *facts;
        l->shared.ready_wanted = true;
        l->shared.status.phase = KL_LINK_READY;
        kl_link_happened(l);
    }
    unlock(l);
    kl_link_kick(l);
}

struct kl_plan kl_link_plan(struct kl_link *l, uint64_t now_us, uint32_t max_runs) {
    struct kl_plan plan = {0};
    lock(l);
    l->shared.seen = l->shared.events;
    l->shared.planned_us = now_us;
    if (l->shared.lock.away) kl_client_set_away(&l->shared.lock, false);
    /* every frame may ask for a hash; where they pile up (--speed max on a link that loses) the game waits */
    uint32_t hashes = KL_LINK_HASHES - (l->shared.hash_put - l->shared.hash_got);
    if (max_runs > hashes) max_runs = hashes;
    if (l->shared.status.phase == KL_LINK_PLAYING) plan = kl_client_plan(&l->shared.lock, now_us, max_runs);
    unlock(l);
    return plan;
}

int kl_link_sample(struct kl_link *l, const struct kl_input *in, uint64_t now_us) {
    int result = KL_E_STATE;
    bool due = false;
    lock(l);
    if (l->shared.status.phase == KL_LINK_PLAYING) {
        result = kl_client_sample(&l->shared.lock, in, now_us);
        due = send_is_due(l);
    }
    unlock(l);
    if (due) kl_link_kick(l);
    return result;
}

bool kl_link_take(struct kl_link *l, struct kl_frame *out) {
    lock(l);
    bool got = l->shared.status.phase == KL_LINK_PLAYING && kl_client_take(&l->shared.lock, out);
    if (got) kl_link_past_keep(l, out);
    bool due = got && send_is_due(l);
    unlock(l);
    if (due) kl_link_kick(l);
    return got;
}

bool kl_link_commands(struct kl_link *l, uint32_t keyframe, struct kl_commands *out) {
    lock(l);
    const struct kl_commands *set = kl_client_commands(&l->shared.lock, keyframe);
    if (set) *out = *set;
    unlock(l);
    return set != NULL;
}

bool kl_link_takes_early(uint8_t kind) {
    return kind == KL_COMMAND_HOST || (kind >= KL_COMMAND_LOCK && kind <= KL_COMMAND_BAN) ||
           kind == KL_COMMAND_DESYNC || kind == KL_COMMAND_JUDGE || kind == KL_COMMAND_DELAY ||
           kind == KL_COMMAND_WATCHERS;
}

static bool may_order(const struct kl_link_shared *s, uint8_t kind) {
    enum kl_link_phase phase = s->status.phase;
    bool open = phase >= KL_LINK_WAITING && phase < KL_LINK_PLAYING;
    return phase == KL_LINK_PLAYING || (open && kl_link_takes_early(kind));
}

int kl_link_order(struct kl_link *l, uint8_t kind, const void *data, size_t len) {
    struct kl_link_shared *s = &l->shared;
    int result = KL_E_STATE;
    if (len > KL_COMMAND_BYTES) return KL_E_SPACE;
    lock(l);
    if (may_order(s, kind)) result = s->order_put - s->order_got == KL_LINK_ORDERS ? KL_E_FULL : KL_OK;
    if (result == KL_OK) {
        struct kl_order *o = &s->order[s->order_put++ % KL_LINK_ORDERS];
        *o = (struct kl_order){.kind = kind, .len = (uint8_t)len};
        if (len) memcpy(o->data, data, len);
    }
    unlock(l);
    if (result == KL_OK) kl_link_kick(l);
    return result;
}

void kl_link_rate(struct kl_link *l, uint32_t fps_uhz) {
    if (fps_uhz < KL_FPS_MIN || fps_uhz > KL_FPS_MAX) return;
    uint8_t data[4] = {(uint8_t)fps_uhz, (uint8_t)(fps_uhz >> 8), (uint8_t)(fps_uhz >> 16),
                       (uint8_t)(fps_uhz >> 24)};
    lock(l);
    if (l->shared.joined) kl_client_rate(&l->shared.lock, fps_uhz);
    unlock(l);
    kl_link_order(l, KL_COMMAND_RATE, data, sizeof data);
}

void kl_link_wait(struct kl_link *l, uint32_t timeout_us) {
    uint64_t until_us = kl_now_us() + timeout_us;
    lock(l);
    while (l->shared.events == l->shared.seen)
        if (!kl_cond_wait_until(&l->changed, &l->mutex, until_us)) break;
    l->shared.seen = l->shared.events;
    unlock(l);
}

void kl_link_hash(struct kl_link *l, const struct kl_hash *h) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool said = s->hash_put != s->hash_got && s->hash[(s->hash_put - 1) % KL_LINK_HASHES].frame == h->frame;
    bool fits = !said && s->hash_put - s->hash_got < KL_LINK_HASHES;
    if (fits) {
        randombytes_buf(s->nonce[s->hash_put % KL_LINK_HASHES], KL_NONCE_BYTES);
        s->hash[s->hash_put++ % KL_LINK_HASHES] = *h;
    }
    unlock(l);
    kl_link_kick(l);
}

bool kl_link_notice(struct kl_link *l, char *out, size_t cap) {
    struct kl_link_shared *s = &l->shared;
    lock(l);
    bool some = s->notice_got != s->notice_put;
    if (some) snprintf(out, cap, "%s", s->notice[s->notice_got++ % KL_LINK_NOTICES]);
    unlock(l);
    return some;
}

#include "net/transport/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/transport/link_state.h"

void kl_link_kick(struct kl_link *l) {
    kl_wake(l->kick_fd);
}

static void destroy(struct kl_link *l) {
    if (l->enet) enet_host_destroy(l->enet);
    kl_socket_close(l->kick_fd);
    kl_stay_free(&l->stay);
    free(l->held);
    sodium_memzero(l, sizeof *l);
    free(l);
}

/* The messages that can be said at once. */
static int check_config(const struct kl_link_config *config, char *err, size_t err_len) {
    size_t password = config->password ? strlen(config->password) : 0;
    if (strlen(config->host) >= KL_LINK_HOST_MAX) {
        snprintf(err, err_len, "the relay's name is longer than %d bytes", KL_LINK_HOST_MAX - 1);
        return -1;
    }
    if (config->password && (password == 0 || password > KL_DOOR_PASSWORD_MAX)) {
        snprintf(err, err_len, "a password of 1 to %d bytes is expected", KL_DOOR_PASSWORD_MAX);
        return -1;
    }
    if (!config->fingerprint || kl_fingerprint_valid(config->fingerprint)) return 0;
    snprintf(err, err_len, "'%.64s' is no fingerprint of a relay: %d letters and digits are expected",
             config->fingerprint, KL_FINGERPRINT_CHARS);
    return -1;
}

static void copy_config(struct kl_link *l, const struct kl_link_config *config) {
    char relay[KL_RELAY_NAME_MAX];
    snprintf(l->host, sizeof l->host, "%s", config->host);
    l->port = config->port;
    snprintf(l->password, sizeof l->password, "%s", config->password ? config->password : "");
    l->welcomed = config->welcomed;
    l->trust = config->trust;
    l->ctx = config->ctx;
    snprintf(relay, sizeof relay, "%s:%u", l->host, l->port);
    struct kl_stay_config stay = {
        .relay = relay,
        .fingerprint = config->fingerprint,
        .asks_trust = config->trust != NULL,
        .offers = (config->ciphers ? config->ciphers : kl_ciphers_here()) |
                  (config->insecure_lan ? KL_CIPHER_CLEAR : 0),
        .hello = config->hello,
        .seat = config->seat,
        .fresh = config->fresh,
        .has_password = config->password != NULL,
        .sparing = config->sparing,
        .heap = {malloc, free},
        .held = l->held,
        .held_frames = KL_HELD_FRAMES,
    };
    memcpy(stay.token, config->token, sizeof stay.token);
    kl_stay_init(&l->stay, &stay);
    sodium_memzero(&stay, sizeof stay);
}

int kl_link_open(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len) {
    if (check_config(config, err, err_len) != 0) return -1;
    struct kl_link *l = calloc(1, sizeof *l);
    if (l) l->held = calloc(KL_HELD_FRAMES, sizeof *l->held); /* pages that are never needed stay untouched */
    if (l) l->kick_fd = kl_wake_open();
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
    kl_link_lock(l);
    kl_stay_leave(&l->stay, kl_now_us() + linger_ms * UINT64_C(1000));
    kl_link_unlock(l);
    kl_link_kick(l);
    kl_thread_join(&l->thread);
    destroy(l);
}

/* --- requests: the stay acts on them --- */

void kl_link_status(struct kl_link *l, struct kl_stay_status *out) {
    kl_link_lock(l);
    kl_stay_status(&l->stay, out);
    kl_link_unlock(l);
}

int kl_link_give_start(struct kl_link *l, const void *data, size_t len) {
    if (len > KL_START_BYTES_MAX) return -1;
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy) return -1;
    if (len) memcpy(copy, data, len);
    kl_link_lock(l);
    bool wanted = kl_stay_give_start(&l->stay, copy, len);
    kl_link_unlock(l);
    if (!wanted) free(copy);
    kl_link_kick(l);
    return wanted ? 0 : -1;
}

const uint8_t *kl_link_start_data(struct kl_link *l, size_t *len) {
    kl_link_lock(l);
    const uint8_t *data = l->stay.start;
    *len = l->stay.start_len;
    kl_link_unlock(l);
    return data;
}

void kl_link_ready(struct kl_link *l, const struct kl_facts *facts) {
    kl_link_lock(l);
    kl_stay_ready(&l->stay, facts);
    kl_link_unlock(l);
    kl_link_kick(l);
}

struct kl_plan kl_link_plan(struct kl_link *l, uint64_t now_us, uint32_t max_runs) {
    kl_link_lock(l);
    l->seen = l->stay.events;
    struct kl_plan plan = kl_stay_plan(&l->stay, max_runs, now_us);
    kl_link_unlock(l);
    return plan;
}

int kl_link_sample(struct kl_link *l, const struct kl_input *in, uint64_t now_us) {
    kl_link_lock(l);
    int result = kl_stay_sample(&l->stay, in, now_us);
    bool due = kl_stay_is_due(&l->stay);
    kl_link_unlock(l);
    if (due) kl_link_kick(l);
    return result;
}

bool kl_link_take(struct kl_link *l, struct kl_frame *out) {
    kl_link_lock(l);
    bool got = kl_stay_take(&l->stay, out);
    bool due = got && kl_stay_is_due(&l->stay);
    kl_link_unlock(l);
    if (due) kl_link_kick(l);
    return got;
}

void kl_link_look(struct kl_link *l, void (*look)(void *ctx, const struct kl_client *c), void *ctx) {
    kl_link_lock(l);
    look(ctx, &l->stay.lock);
    kl_link_unlock(l);
}

bool kl_link_commands(struct kl_link *l, uint32_t keyframe, struct kl_commands *out) {
    kl_link_lock(l);
    const struct kl_commands *set = kl_stay_commands(&l->stay, keyframe);
    if (set) *out = *set;
    kl_link_unlock(l);
    return set != NULL;
}

bool kl_link_takes_early(uint8_t kind) {
    return kl_stay_takes_early(kind);
}

int kl_link_order(struct kl_link *l, uint8_t kind, const void *data, size_t len) {
    kl_link_lock(l);
    int result = kl_stay_order(&l->stay, kind, data, len);
    kl_link_unlock(l);
    if (result == KL_OK) kl_link_kick(l);
    return result;
}

void kl_link_rate(struct kl_link *l, uint32_t fps_uhz) {
    kl_link_lock(l);
    kl_stay_rate(&l->stay, fps_uhz);
    kl_link_unlock(l);
    kl_link_kick(l);
}

void kl_link_wait(struct kl_link *l, uint32_t timeout_us) {
    uint64_t until_us = kl_now_us() + timeout_us;
    kl_link_lock(l);
    while (l->stay.events == l->seen)
        if (!kl_cond_wait_until(&l->changed, &l->mutex, until_us)) break;
    l->seen = l->stay.events;
    kl_link_unlock(l);
}

void kl_link_hash(struct kl_link *l, const struct kl_hash *h) {
    kl_link_lock(l);
    kl_stay_hash(&l->stay, h);
    kl_link_unlock(l);
    kl_link_kick(l);
}

bool kl_link_notice(struct kl_link *l, struct kl_text *out) {
    kl_link_lock(l);
    bool some = kl_stay_notice(&l->stay, out);
    kl_link_unlock(l);
    return some;
}

/* --- snapshots --- */

void kl_link_say_state(struct kl_link *l, const struct kl_state_said *s) {
    kl_link_lock(l);
    kl_stay_say_state(&l->stay, s);
    kl_link_unlock(l);
    kl_link_kick(l);
}

bool kl_link_asked(struct kl_link *l, struct kl_ask *ask) {
    kl_link_lock(l);
    bool asked = kl_stay_asked(&l->stay, ask);
    kl_link_unlock(l);
    return asked;
}

void kl_link_give_snapshot(struct kl_link *l, uint32_t keyframe, bool based, uint8_t *packed, uint32_t len) {
    kl_link_lock(l);
    kl_stay_give_snapshot(&l->stay, keyframe, based, packed, len);
    kl_link_unlock(l);
    kl_link_kick(l);
}

bool kl_link_snapshot(struct kl_link *l, struct kl_offer *offer, uint8_t **packed) {
    kl_link_lock(l);
    bool whole = kl_stay_snapshot(&l->stay, offer, packed);
    kl_link_unlock(l);
    return whole;
}

void kl_link_begun(struct kl_link *l, uint32_t keyframe, uint32_t fps_uhz) {
    kl_link_lock(l);
    kl_stay_begun(&l->stay, keyframe, fps_uhz);
    kl_link_unlock(l);
}

bool kl_link_rewind(struct kl_link *l, uint32_t *keyframe) {
    kl_link_lock(l);
    bool wanted = kl_stay_rewind(&l->stay, keyframe);
    kl_link_unlock(l);
    return wanted;
}

void kl_link_say_healed(struct kl_link *l, const struct kl_healed *h) {
    kl_link_lock(l);
    kl_stay_say_healed(&l->stay, h);
    kl_link_unlock(l);
    kl_link_kick(l);
}

bool kl_link_past_seek(struct kl_link *l, struct kl_history_cursor *c, uint32_t from) {
    kl_link_lock(l);
    bool held = kl_stay_past_seek(&l->stay, c, from);
    kl_link_unlock(l);
    return held;
}

bool kl_link_past_next(struct kl_link *l, struct kl_history_cursor *c, struct kl_frame *out) {
    kl_link_lock(l);
    bool got = kl_history_next(c, out);
    kl_link_unlock(l);
    return got;
}

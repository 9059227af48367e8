#include "net/transport/link.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/transport/link_state.h"

static void destroy(struct kl_link *l) {
    kl_enet_feed_close(&l->enet);
    kl_socket_close(l->sink.socket);
    kl_socket_close(l->socket);
    kl_socket_close(l->kick_fd);
    if (l->voice) kl_voice_box_tell(l->voice, &(struct kl_voice_told){.client = KL_WATCHER});
    kl_voice_box_drop(l->voice);
    kl_participant_free(&l->participant);
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
    l->keep = config->keep;
    l->trust = config->trust;
    l->ctx = config->ctx;
    l->voice = kl_voice_box_hold(config->voice);
    if (l->voice) kl_voice_box_begin(l->voice, l->password);
    snprintf(relay, sizeof relay, "%s", kl_host_port(l->host, l->port).text);
    struct kl_participant_config participant = {
        .relay = relay,
        .fingerprint = config->fingerprint,
        .direct = config->direct,
        .asks_trust = config->trust != NULL,
        .offers = (config->ciphers ? config->ciphers : kl_ciphers_here()) |
                  (config->insecure_lan ? KL_CIPHER_CLEAR : 0),
        .hello = config->hello,
        .seat = config->seat,
        .fresh = config->fresh,
        .relays = config->relays,
        .errand = config->errand,
        .run = config->run,
        .run_len = config->run_len,
        .has_password = config->password != NULL,
        .sparing = config->sparing,
        .held = l->held,
        .held_frames = KL_HELD_FRAMES,
    };
    memcpy(participant.token, config->token, sizeof participant.token);
    kl_participant_init(&l->participant, &participant);
    sodium_memzero(&participant, sizeof participant);
}

int kl_link_make(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len) {
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
    l->sink.socket = -1;
    l->socket = kl_socket_open();
    if (l->socket < 0 || !kl_enet_sink_open(&l->sink) || !kl_link_open_enet(l)) {
        snprintf(err, err_len, "no socket for a connection: %s", strerror(errno));
        destroy(l);
        return -1;
    }
    kl_socket_enlarge(l->socket, KL_SOCKET_BUFFER_BYTES, KL_SOCKET_BUFFER_BYTES);
    *out = l;
    return 0;
}

int kl_link_open(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len) {
    struct kl_link *l;
    if (kl_link_make(&l, config, err, err_len) != 0) return -1;
    int failed = kl_thread_start(&l->thread, "keylock-net", kl_link_thread, l);
    if (failed) {
        snprintf(err, err_len, "no thread for a connection: %s", strerror(failed));
        destroy(l);
        return -1;
    }
    *out = l;
    return 0;
}

void kl_link_close(struct kl_link *l, unsigned linger_ms) {
    if (!l) return;
    kl_participant_leave(kl_link_hold(l), kl_now_us() + linger_ms * UINT64_C(1000));
    kl_link_release(l);
    kl_thread_join(&l->thread);
    destroy(l);
}

/* --- the frontend's thread --- */

struct kl_participant *kl_link_hold(struct kl_link *l) {
    assert(!l->held_by_caller);
    kl_link_lock(l);
    l->held_by_caller = true;
    return &l->participant;
}

void kl_link_release(struct kl_link *l) {
    assert(l->held_by_caller);
    l->held_by_caller = false;
    bool due = kl_participant_is_due(&l->participant);
    kl_link_unlock(l);
    if (due) kl_wake(l->kick_fd);
}

void kl_link_status(struct kl_link *l, struct kl_participant_status *out) {
    kl_participant_status(kl_link_hold(l), out);
    kl_link_release(l);
}

void kl_link_wait(struct kl_link *l, uint32_t timeout_us) {
    uint64_t until_us = kl_now_us() + timeout_us;
    kl_link_lock(l);
    while (l->participant.events == l->participant.seen)
        if (!kl_cond_wait_until(&l->changed, &l->mutex, until_us)) break;
    l->participant.seen = l->participant.events;
    kl_link_unlock(l);
}

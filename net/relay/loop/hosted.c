#include "net/relay/loop/hosted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/loop/server.h"

#define ROOMS 1
#define PORTS 8 /* tried from KL_HOSTED_PORT on, before any free one */

struct kl_hosted {
    struct kl_thread thread;
    char dir[512];
    int quit;              /* a wake-up */
    struct kl_mutex mutex; /* of all below */
    enum kl_hosted_state state;
    uint16_t port;
    char fingerprint[KL_FINGERPRINT_CHARS + 1], err[256];
};

static void listening(void *ctx, uint16_t port, const char *fingerprint) {
    struct kl_hosted *h = ctx;
    kl_mutex_lock(&h->mutex);
    h->state = KL_HOSTED_LISTENS;
    h->port = port;
    snprintf(h->fingerprint, sizeof h->fingerprint, "%s", fingerprint);
    kl_mutex_unlock(&h->mutex);
}

static void run(void *arg) {
    struct kl_hosted *h = arg;
    struct kl_server_config o;
    char err[256] = "";
    kl_server_defaults(&o);
    o.rooms = ROOMS;
    snprintf(o.state, sizeof o.state, "%s", h->dir);
    snprintf(o.journal, sizeof o.journal, "off"); /* a player's disk would hold up the frames of all */
    o.listening = listening;
    o.ctx = h;
    kl_log_set_level(KL_LOG_ERROR); /* standard error is the frontend's */
    for (unsigned i = 0; i <= PORTS; i++) {
        o.port = (uint16_t)(i < PORTS ? KL_HOSTED_PORT + i : 0);
        if (kl_server_run(&o, h->quit, err, sizeof err) == 0) return;
    }
    kl_mutex_lock(&h->mutex);
    h->state = KL_HOSTED_FAILED;
    memcpy(h->err, err, sizeof h->err);
    kl_mutex_unlock(&h->mutex);
}

struct kl_hosted *kl_hosted_open(const char *state) {
    struct kl_hosted *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    snprintf(h->dir, sizeof h->dir, "%s", state);
    h->quit = kl_wake_open();
    if (h->quit >= 0 && kl_thread_start(&h->thread, "keylock-relay", run, h) == 0) return h;
    kl_socket_close(h->quit);
    free(h);
    return NULL;
}

enum kl_hosted_state kl_hosted_look(struct kl_hosted *h, uint16_t *port,
                                    char fingerprint[KL_FINGERPRINT_CHARS + 1], char *err, size_t err_len) {
    kl_mutex_lock(&h->mutex);
    enum kl_hosted_state state = h->state;
    *port = h->port;
    memcpy(fingerprint, h->fingerprint, sizeof h->fingerprint);
    snprintf(err, err_len, "%s", h->err);
    kl_mutex_unlock(&h->mutex);
    return state;
}

void kl_hosted_close(struct kl_hosted *h) {
    if (!h) return;
    kl_wake(h->quit);
    kl_thread_join(&h->thread);
    kl_socket_close(h->quit);
    free(h);
}

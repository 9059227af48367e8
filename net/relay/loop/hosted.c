#include "net/relay/loop/hosted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/loop/server.h"
#include "net/session/url.h"
#include "net/transport/link.h"

/* --- a relay inside another program --- */

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

/* --- the link to hand out --- */

#define ROOM "friends" /* of the link: players put any other name there */

enum kl_audience kl_invitation_audience(const char *host) {
    struct kl_address a;
    if (kl_address_parse(host, &a)) return kl_address_audience(&a);
    return strcmp(host, "localhost") ? KL_AUDIENCE_ALL : KL_AUDIENCE_MACHINE;
}

/* The one that datagrams to another network would leave from. */
static bool public_v6(struct kl_address *out) {
    struct kl_address far;
    return kl_address_parse("2001:db8::1", &far) && (far.port = 9) && kl_address_towards(&far, out) &&
           !kl_address_is_v4(out) && kl_address_audience(out) == KL_AUDIENCE_ALL;
}

void kl_invitation_own(char out[KL_ADDRESS_TEXT], bool v4_only) {
    struct kl_address own, v6;
    if (!kl_address_own(&own)) own = kl_address_loopback(0);
    if (!v4_only && kl_address_audience(&own) != KL_AUDIENCE_ALL && public_v6(&v6)) own = v6;
    kl_address_text(out, &own);
}

static void choose_host(struct kl_url *url, const char *host, const char *bound) {
    bool v4 = strcmp(bound, "0.0.0.0") == 0;
    if (!*host && !v4 && strcmp(bound, "::") != 0) host = bound;
    if (*host)
        snprintf(url->host, sizeof url->host, "%s", host);
    else
        kl_invitation_own(url->host, v4);
}

void kl_invitation_log(const char *host, const char *bound, uint16_t port, const char *fingerprint) {
    static const char *const near[] = {[KL_AUDIENCE_NETWORK] = "machines of its own network",
                                       [KL_AUDIENCE_MACHINE] = "programs of this machine",
                                       [KL_AUDIENCE_NOBODY] = "nobody's machines"};
    struct kl_url url = {.port = port == KL_DEFAULT_PORT ? 0 : port, .room = ROOM};
    char link[KL_URL_MAX + 1];
    choose_host(&url, host, bound);
    snprintf(url.fingerprint, sizeof url.fingerprint, "%s", fingerprint);
    if (kl_url_write(&url, link, sizeof link) != 0) return;
    kl_log(KL_LOG_INFO, "invitation",
           "link=%s text=\"the link for players; " ROOM " is the room, any name will do\"", link);
    kl_log(KL_LOG_INFO, "open_port",
           "udp=%u text=\"players must reach UDP port %u: open it in the firewall here, and forward it in a "
           "home's router\"",
           port, port);
    enum kl_audience audience = kl_invitation_audience(url.host);
    if (audience == KL_AUDIENCE_ALL) return;
    kl_log(KL_LOG_INFO, "local_address",
           "host=%s text=\"only %s reach %s: for other players, name this relay's public name or address by "
           "--host\"",
           url.host, near[audience], url.host);
}

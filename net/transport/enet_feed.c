#include "net/transport/enet_feed.h"

#include <stddef.h>
#include <string.h>

struct kl_enet_ends kl_enet_ends;

bool kl_enet_sink_open(struct kl_enet_sink *s) {
    s->at = kl_address_loopback(0);
    s->socket = kl_socket_open();
    if (s->socket >= 0 && kl_socket_bind(s->socket, &s->at) == 0) return true;
    kl_socket_close(s->socket);
    s->socket = -1;
    return false;
}

static ENetAddress nobody(const struct kl_enet_feed *f) {
    ENetAddress a = {.port = f->sink->at.port};
    memcpy(&a.host, f->sink->at.host + 12, sizeof a.host);
    return a;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_enet_feed *f =
        (void *)((uint8_t *)host->compressor.context - offsetof(struct kl_enet_feed, seal));
    const struct kl_opened *o = f->arrived;
    if (!o) return 1;
    f->arrived = NULL;
    const ENetAddress from = nobody(f);
    kl_enet_seal_deliver(host, o, &from);
    return 0;
}

bool kl_enet_feed_open(struct kl_enet_feed *f, size_t peers, const struct kl_enet_sink *sink,
                       const struct kl_enet_seal *seal) {
    *f = (struct kl_enet_feed){.sink = sink, .own = kl_address_loopback(0), .seal = *seal};
    f->host = kl_enet_host_create(peers);
    if (!f->host || kl_socket_bind(kl_enet_socket(f->host), &f->own) != 0) {
        kl_enet_feed_close(f);
        return false;
    }
    kl_enet_seal_attach(f->host, &f->seal);
    f->host->intercept = intercept;
    return true;
}

void kl_enet_feed_close(struct kl_enet_feed *f) {
    if (f->host) enet_host_destroy(f->host);
    f->host = NULL;
}

ENetPeer *kl_enet_feed_connect(struct kl_enet_feed *f, uint32_t session) {
    const ENetAddress to = nobody(f);
    return kl_enet_seal_connect(f->host, &to, session);
}

void kl_enet_feed_begin(struct kl_enet_feed *f, const struct kl_opened *o) {
    f->arrived = o;
    if (kl_enet_ends.replaced)
        kl_enet_ends.arrived = true;
    else
        (void)kl_socket_send(f->sink->socket, &f->own, "", 1);
}

void kl_enet_feed_end(struct kl_enet_feed *f) {
    f->arrived = NULL;
}

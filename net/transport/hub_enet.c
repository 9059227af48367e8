/* ENet for the relay's sessions: a host for each 64 of them, made when the first of these comes, and served
 * only when it has work; one host for all would walk over every place for each datagram. The hub hands them
 * their datagrams (enet_feed.h). */
#include <stdlib.h>
#include <string.h>

#include "net/transport/hub_state.h"
#include "net/transport/enet_common.h"

#define BUSY_US 10000  /* ENet's repetitions are due to the millisecond, ours are not */
#define IDLE_US 500000 /* nothing is on its way: all hosts have their turn together, for pings */

/* In one service: then the rooms have a turn. */
#define EVENTS_MAX 1024

/* So many unfit datagrams a second of one session are dropped without more; repetitions count too. */
#define UNFIT_PER_S 1000

struct kl_hub_enet {
    struct kl_hub *hub;
    struct kl_enet_feed feed;
    uint64_t due_us; /* of ENet's own times */
    bool queued;     /* messages that ENet has not been asked to send yet */
};

static struct kl_hub_enet **place_of(struct kl_hub *hub, const struct kl_hub_session *s) {
    return &hub->enet[kl_gate_slot(s->number) / KL_HUB_ENET_PEERS];
}

/* --- the two ends of a host --- */

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    struct kl_hub_session *s = kl_hub_find(((struct kl_hub_enet *)ctx)->hub, connect_id);
    return s ? &s->sealer : NULL;
}

static void send_sealed(void *ctx, uint32_t connect_id, const uint8_t *bytes, size_t len) {
    struct kl_hub *hub = ((struct kl_hub_enet *)ctx)->hub;
    const struct kl_hub_session *s = kl_hub_find(hub, connect_id);
    if (s) kl_hub_send_raw(hub, &s->home, bytes, len);
}

static struct kl_hub_enet *make(struct kl_hub *hub) {
    struct kl_hub_enet *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    const struct kl_enet_seal seal = {.ctx = e, .sealer = sealer_of, .send = send_sealed};
    e->hub = hub;
    if (kl_enet_feed_open(&e->feed, KL_HUB_ENET_PEERS, &hub->sink, &seal)) return e;
    free(e);
    return NULL;
}

/* --- events --- */

/* data: a slot, from on_connect() on. */
static struct kl_hub_session *session_of(struct kl_hub *hub, const ENetPeer *enet) {
    return &hub->session[(uintptr_t)enet->data];
}

static void on_connect(struct kl_hub *hub, ENetPeer *enet) {
    struct kl_hub_session *s = kl_hub_find(hub, enet->connectID);
    if (!s || s->state != KL_SESSION_OPEN || s->enet) {
        enet_peer_reset(enet);
        return;
    }
    unsigned n = kl_gate_slot(s->number);
    char address[KL_PLACE_TEXT];
    kl_address_place(address, &s->home);
    kl_enet_peer_setup(enet);
    s->enet = enet;
    enet->data = (void *)(uintptr_t)n;
    hub->stats.peers++;
    hub->handler.opened(hub->handler.ctx, n, address);
}

static void on_disconnect(struct kl_hub *hub, ENetPeer *enet) {
    struct kl_hub_session *s = session_of(hub, enet);
    if (s->enet != enet) return;
    bool told = s->state == KL_SESSION_OPEN;
    hub->stats.peers -= told;
    kl_hub_free(hub, s);
    if (told) hub->handler.lost(hub->handler.ctx, kl_gate_slot(s->number));
}

static void on_receive(struct kl_hub *hub, const ENetPeer *enet, ENetPacket *packet) {
    const struct kl_hub_session *s = session_of(hub, enet);
    hub->stats.messages_in++;
    if (s->enet == enet && s->state == KL_SESSION_OPEN)
        hub->handler.message(hub->handler.ctx, kl_gate_slot(s->number), packet->data, packet->dataLength);
    enet_packet_destroy(packet);
}

static void set_due(struct kl_hub_enet *e, uint64_t due_us) {
    e->due_us = due_us;
    if (due_us < e->hub->enet_us) e->hub->enet_us = due_us;
}

/* True if ENet may have to say something again, or to give a peer up. */
static bool is_busy(const ENetHost *host) {
    for (const ENetPeer *p = host->peers; p < host->peers + host->peerCount; p++)
        if (p->state != ENET_PEER_STATE_DISCONNECTED &&
            (p->state != ENET_PEER_STATE_CONNECTED || !enet_list_empty(&p->sentReliableCommands)))
            return true;
    return false;
}

static void serve(struct kl_hub_enet *e) {
    struct kl_hub *hub = e->hub;
    ENetEvent event;
    int i = 0;
    for (; i < EVENTS_MAX && kl_enet_service(e->feed.host, &event); i++)
        switch (event.type) {
        case ENET_EVENT_TYPE_CONNECT: on_connect(hub, event.peer); break;
        case ENET_EVENT_TYPE_DISCONNECT: on_disconnect(hub, event.peer); break;
        case ENET_EVENT_TYPE_RECEIVE: on_receive(hub, event.peer, event.packet); break;
        case ENET_EVENT_TYPE_NONE: break;
        }
    bool busy = i == EVENTS_MAX || is_busy(e->feed.host);
    set_due(e, busy ? hub->now_us + BUSY_US : (hub->now_us / IDLE_US + 1) * IDLE_US);
}

/* --- arriving datagrams --- */

void kl_hub_unfit(struct kl_hub *hub, struct kl_hub_session *s) {
    hub->stats.unfit++;
    kl_hub_blame(hub, s, UNFIT_PER_S);
}

/* An authentic ENet datagram is for the ENet peer of its own session. CONNECT comes before there is one. */
static bool may_have(struct kl_hub *hub, const ENetHost *host, struct kl_hub_session *s,
                     const struct kl_opened *o) {
    uint16_t n = kl_udp_peer(o->body, o->len), base[KL_ENET_CHANNELS];
    if (n == ENET_PROTOCOL_MAXIMUM_PEER_ID) {
        struct kl_udp_verdict v = kl_udp_judge(KL_UDP_RELAY, o->body, o->len, NULL);
        if (v.pass && v.connect_id == s->number && !s->enet) return true;
        kl_hub_unfit(hub, s);
        return false;
    }
    const ENetPeer *enet = n < host->peerCount ? &host->peers[n] : NULL;
    bool its_own = enet && enet->connectID == s->number;
    bool has_channels = its_own && enet->channelCount == KL_ENET_CHANNELS; /* none while it disconnects */
    for (unsigned i = 0; i < KL_ENET_CHANNELS && has_channels; i++)
        base[i] = enet->channels[i].incomingReliableSequenceNumber;
    struct kl_udp_verdict v = {0};
    if (its_own) v = kl_udp_judge(KL_UDP_RELAY, o->body, o->len, has_channels ? base : NULL);
    if (!v.pass || v.ahead > KL_ENET_AHEAD_MAX) {
        kl_hub_unfit(hub, s);
        return false;
    }
    if (kl_hub_paced(hub, s, v.pieces)) return true;
    kl_hub_blame(hub, s, UNFIT_PER_S);
    return false;
}

void kl_hub_enet_take(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_opened *o) {
    struct kl_hub_enet **place = place_of(hub, s), *e = *place ? *place : make(hub);
    *place = e;
    if (!e || !may_have(hub, e->feed.host, s, o)) return;
    kl_enet_feed_begin(&e->feed, o);
    serve(e);
    kl_enet_feed_end(&e->feed);
}

/* --- for the hub --- */

void kl_hub_enet_service(struct kl_hub *hub) {
    uint64_t next_us = UINT64_MAX;
    for (unsigned i = 0; i < KL_HUB_ENETS; i++) {
        struct kl_hub_enet *e = hub->enet[i];
        if (!e) continue;
        if (hub->now_us >= e->due_us) serve(e);
        if (e->due_us < next_us) next_us = e->due_us;
    }
    hub->enet_us = next_us;
}

void kl_hub_enet_queued(struct kl_hub *hub, const struct kl_hub_session *s) {
    hub->queued = (*place_of(hub, s))->queued = true;
}

void kl_hub_enet_flush(struct kl_hub *hub) {
    for (unsigned i = 0; hub->queued && i < KL_HUB_ENETS; i++)
        if (hub->enet[i] && hub->enet[i]->queued) {
            enet_host_flush(hub->enet[i]->feed.host);
            hub->enet[i]->queued = false;
            if (hub->now_us + BUSY_US < hub->enet[i]->due_us) set_due(hub->enet[i], hub->now_us + BUSY_US);
        }
    hub->queued = false;
}

ENetPeer *kl_hub_enet_peer(struct kl_hub *hub, const struct kl_hub_session *s) {
    const struct kl_hub_enet *e = *place_of(hub, s);
    for (size_t i = 0; e && i < e->feed.host->peerCount; i++)
        if (e->feed.host->peers[i].connectID == s->number) return &e->feed.host->peers[i];
    return NULL;
}

ENetPeer *kl_hub_enet_nth(const struct kl_hub *hub, unsigned n) {
    for (unsigned i = 0; i < KL_HUB_ENETS; i++) {
        if (!hub->enet[i]) continue;
        ENetHost *host = hub->enet[i]->feed.host;
        if (n < host->peerCount) return &host->peers[n];
        n -= (unsigned)host->peerCount;
    }
    return NULL;
}

bool kl_hub_enet_open(struct kl_hub *hub) {
    hub->enet[0] = kl_enet_sink_open(&hub->sink) ? make(hub) : NULL;
    return hub->enet[0];
}

void kl_hub_enet_hang_up(struct kl_hub *hub, uint32_t data) {
    ENetPeer *p;
    for (unsigned n = 0; (p = kl_hub_enet_nth(hub, n)); n++)
        if (p->state != ENET_PEER_STATE_DISCONNECTED) enet_peer_disconnect_now(p, data);
}

void kl_hub_enet_close(struct kl_hub *hub) {
    for (unsigned i = 0; i < KL_HUB_ENETS; i++)
        if (hub->enet[i]) {
            kl_enet_feed_close(&hub->enet[i]->feed);
            free(hub->enet[i]);
        }
    kl_socket_close(hub->sink.socket);
}

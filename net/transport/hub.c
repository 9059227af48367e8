#include "net/transport/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/lookup.h"
#include "net/platform/socket.h"
#include "net/transport/hub_state.h"
#include "net/transport/link.h"
#include "net/transport/udp_filter.h"

#define BUSY_US 10000 /* ENet's repetitions are due to the millisecond, ours are not */
#define IDLE_US 500000

/* In one service: then the rooms have a turn. */
#define EVENTS_MAX 1024
#define INPUTS_MAX 512
#define CURVES_MAX 16 /* handshakes, of 0.1 ms each */

#define INPUT_BYTES_MAX 2048

/* So many unfit datagrams a second of one session are dropped without more; repetitions count too. */
#define UNFIT_PER_S 1000

/* --- arriving datagrams --- */

/* Always false. */
static bool unfit(struct kl_hub *hub, struct kl_hub_session *s) {
    hub->stats.unfit++;
    kl_hub_blame(hub, s, UNFIT_PER_S);
    return false;
}

/* An authentic ENet datagram is for the ENet peer of its own session. CONNECT comes before there is one. */
static bool enet_may_have(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_opened *o) {
    uint16_t n = kl_udp_peer(o->body, o->len), base[KL_ENET_CHANNELS];
    if (n == ENET_PROTOCOL_MAXIMUM_PEER_ID) {
        struct kl_udp_verdict v = kl_udp_judge(KL_UDP_RELAY, o->body, o->len, NULL);
        return (v.pass && v.connect_id == s->number && !s->enet) || unfit(hub, s);
    }
    const ENetPeer *enet = n < hub->host->peerCount ? &hub->host->peers[n] : NULL;
    if (!enet || enet->connectID != s->number) return unfit(hub, s);
    bool has_channels = enet->channelCount == KL_ENET_CHANNELS; /* none while it is being disconnected */
    for (unsigned i = 0; i < KL_ENET_CHANNELS && has_channels; i++)
        base[i] = enet->channels[i].incomingReliableSequenceNumber;
    struct kl_udp_verdict v = kl_udp_judge(KL_UDP_RELAY, o->body, o->len, has_channels ? base : NULL);
    if (!v.pass || v.ahead > KL_ENET_AHEAD_MAX) return unfit(hub, s);
    if (kl_hub_paced(hub, s, v.pieces)) return true;
    kl_hub_blame(hub, s, UNFIT_PER_S);
    return false;
}

/* True if the datagram is for ENet: s and o describe it. */
static bool take(struct kl_hub *hub, const ENetAddress *from, uint8_t *bytes, size_t len,
                 struct kl_hub_session **s, struct kl_opened *o) {
    if (kl_udp_source_bad(ENET_NET_TO_HOST_32(from->host), from->port) || len < 2 ||
        bytes[0] != KL_SEAL_MAGIC) {
        hub->stats.malformed++;
        return false;
    }
    if (bytes[1] >= KL_HS_INIT) {
        kl_hub_stranger(hub, from, bytes, len);
        return false;
    }
    *s = kl_hub_take(hub, from, bytes, len, o);
    if (!*s) return false;
    bool known = (*s)->enet && (*s)->state == KL_SESSION_OPEN;
    if (o->kind == KL_SEAL_ENET) return enet_may_have(hub, *s, o);
    if (o->kind == KL_SEAL_CTRL && known) {
        hub->stats.datagrams_in++;
        hub->handler.datagram(hub->handler.ctx, kl_gate_slot((*s)->number), o->body, o->len, o->missing);
    } else if (o->kind == KL_SEAL_PATH) {
        kl_hub_path(hub, *s, from, o);
    } else {
        unfit(hub, *s);
    }
    return false;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_hub *hub = ((struct kl_enet_seal *)host->compressor.context)->ctx;
    struct kl_hub_session *s;
    struct kl_opened o;
    if (!take(hub, &host->receivedAddress, host->receivedData, host->receivedDataLength, &s, &o)) return 1;
    kl_enet_seal_deliver(host, &o, &s->home);
    return 0;
}

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    struct kl_hub_session *s = kl_hub_find(ctx, connect_id);
    return s ? &s->sealer : NULL;
}

/* --- datagrams ahead of ENet --- */

enum waiting { NOTHING_WAITS, INPUT_TAKEN, ENET_WAITS };

static void receive_input(struct kl_hub *hub) {
    uint8_t bytes[INPUT_BYTES_MAX];
    struct kl_address at = {0};
    int len = kl_socket_receive(kl_enet_socket(hub->host), bytes, sizeof bytes, &at);
    ENetAddress from = {.host = at.host, .port = at.port};
    struct kl_hub_session *s;
    struct kl_opened o;
    if (len < 0) return;
    if ((size_t)len > sizeof bytes)
        hub->stats.malformed++;
    else if (take(hub, &from, bytes, (size_t)len, &s, &o))
        hub->stats.unfit++; /* cannot happen: only datagrams that are not ENet's are read here */
}

/* Takes one input off the socket, unless another kind is at the head; that is ENet's turn. Inputs are nearly
 * all datagrams, and enet_host_service() walks all peers twice for each: 12 us with a full relay. */
static enum waiting take_input(struct kl_hub *hub) {
    uint8_t head[2] = {0};
    int len = kl_socket_peek(kl_enet_socket(hub->host), head, sizeof head);
    if (len < 0) return NOTHING_WAITS;
    if (len == sizeof head && head[0] == KL_SEAL_MAGIC && head[1] == KL_SEAL_ENET) return ENET_WAITS;
    receive_input(hub);
    return INPUT_TAKEN;
}

void kl_hub_send_raw(struct kl_hub *hub, const ENetAddress *to, const void *bytes, size_t len) {
    struct kl_address at = {.host = to->host, .port = to->port};
    (void)kl_socket_send(kl_enet_socket(hub->host), &at, bytes, len);
}

/* --- opening and closing --- */

static void explain_bind(int error, const char *bind, uint16_t port, char *err, size_t err_len) {
    switch (error) {
    case EADDRINUSE:
        snprintf(err, err_len, "UDP port %u on %s is taken: is a relay running there already?", port, bind);
        break;
    case EACCES:
    case EPERM:
        snprintf(err, err_len, "no permission to open UDP port %u (below 1024 it takes root); try --port %d",
                 port, KL_DEFAULT_PORT);
        break;
    case EADDRNOTAVAIL: snprintf(err, err_len, "%s is not an address of this machine", bind); break;
    default: snprintf(err, err_len, "cannot open UDP port %u on %s: %s", port, bind, strerror(error));
    }
}

static int bind_socket(struct kl_hub *hub, const struct kl_hub_config *config, char *err, size_t err_len) {
    struct kl_address at = {.port = config->port};
    char why[128];
    if (kl_lookup(config->bind, &at.host, NULL, NULL, why, sizeof why) != KL_LOOKUP_FOUND) {
        snprintf(err, err_len, "cannot listen on '%s': %s (an IPv4 address or a name that has one is needed)",
                 config->bind, why);
        return -1;
    }
    if (kl_socket_bind(kl_enet_socket(hub->host), &at) != 0) {
        explain_bind(errno, config->bind, config->port, err, err_len);
        return -1;
    }
    hub->host->address = (ENetAddress){.host = at.host, .port = at.port};
    hub->port = at.port;
    kl_address_text(hub->address, at.host);
    return 0;
}

/* NULL: out of memory or descriptors. */
static struct kl_hub *allocate(const struct kl_hub_config *config) {
    struct kl_hub *hub = calloc(1, sizeof *hub + config->limits.peers * sizeof hub->session[0]);
    if (!hub) return NULL;
    hub->limits = config->limits;
    hub->now_us = kl_now_us();
    hub->gate = kl_gate_make(&config->limits, &config->key, config->ciphers, hub->now_us);
    hub->host = hub->gate ? kl_enet_host_create(config->limits.peers) : NULL;
    if (hub->host) return hub;
    kl_gate_free(hub->gate);
    free(hub);
    return NULL;
}

static void release(struct kl_hub *hub) {
    enet_host_destroy(hub->host);
    kl_gate_free(hub->gate);
    free(hub);
}

int kl_hub_open(struct kl_hub **out, const struct kl_hub_config *config, const struct kl_hub_handler *handler,
                char *err, size_t err_len) {
    struct kl_hub *hub = allocate(config);
    if (!hub) {
        snprintf(err, err_len, "no memory or no socket for %u connections", config->limits.peers);
        return -1;
    }
    hub->handler = *handler;
    if (bind_socket(hub, config, err, err_len) != 0) {
        release(hub);
        return -1;
    }
    hub->seal.ctx = hub;
    hub->seal.sealer = sealer_of;
    kl_enet_seal_attach(hub->host, &hub->seal);
    hub->host->intercept = intercept;
    hub->gate->make_room = kl_hub_make_room;
    hub->gate->ctx = hub;
    *out = hub;
    return 0;
}

static void disconnect_all(struct kl_hub *hub, uint32_t data) {
    for (size_t i = 0; i < hub->host->peerCount; i++)
        if (hub->host->peers[i].state != ENET_PEER_STATE_DISCONNECTED)
            enet_peer_disconnect_now(&hub->host->peers[i], data);
}

void kl_hub_drop(struct kl_hub *hub) {
    disconnect_all(hub, KL_ENET_LOST);
}

void kl_hub_close(struct kl_hub *hub) {
    disconnect_all(hub, KL_ENET_BYE);
    release(hub);
}

int kl_hub_fd(const struct kl_hub *hub) {
    return kl_enet_socket(hub->host);
}
uint16_t kl_hub_port(const struct kl_hub *hub) {
    return hub->port;
}
const char *kl_hub_address(const struct kl_hub *hub) {
    return hub->address;
}

/* --- ENet's events --- */

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
    char address[KL_HUB_ADDRESS_MAX];
    kl_hub_write_address(&s->home, address);
    kl_enet_peer_setup(enet);
    s->enet = enet;
    enet->data = (void *)(uintptr_t)n;
    enet->address = s->home;
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

static void dispatch(struct kl_hub *hub, const ENetEvent *event) {
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT: on_connect(hub, event->peer); break;
    case ENET_EVENT_TYPE_DISCONNECT: on_disconnect(hub, event->peer); break;
    case ENET_EVENT_TYPE_RECEIVE: on_receive(hub, event->peer, event->packet); break;
    case ENET_EVENT_TYPE_NONE: break;
    }
}

static void service_enet(struct kl_hub *hub, uint64_t now_us) {
    ENetEvent event;
    hub->enet_us = now_us + (hub->stats.peers || hub->gate->half_open->count ? BUSY_US : IDLE_US);
    for (int i = 0; i < EVENTS_MAX && kl_enet_service(hub->host, &event); i++)
        dispatch(hub, &event);
}

static void put_out_the_stuffed(struct kl_hub *hub) {
    hub->stuffed = false;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        if (hub->session[n].stuffed)
            kl_hub_put_out(hub, &hub->session[n], "your machine does not read what the relay sends");
}

void kl_hub_service(struct kl_hub *hub) {
    enum waiting waiting = INPUT_TAKEN;
    hub->now_us = kl_now_us();
    if (hub->now_us >= hub->sweep_us) kl_hub_sweep(hub);
    if (hub->stuffed) put_out_the_stuffed(hub);
    for (int i = 0; i < INPUTS_MAX && waiting == INPUT_TAKEN; i++) {
        if (kl_gate_curves(hub->gate, hub->now_us) >= CURVES_MAX) break;
        waiting = take_input(hub);
    }
    if (waiting == ENET_WAITS || hub->now_us >= hub->enet_us) service_enet(hub, hub->now_us);
}

void kl_hub_flush(struct kl_hub *hub) {
    if (hub->queued) enet_host_flush(hub->host);
    hub->queued = false;
}

uint64_t kl_hub_due_us(const struct kl_hub *hub) {
    return hub->enet_us;
}

uint32_t kl_hub_session(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].number;
}
const uint8_t *kl_hub_binding(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].binding;
}

struct kl_traffic kl_hub_traffic(const struct kl_hub *hub, unsigned peer) {
    const struct kl_hub_session *s = &hub->session[peer];
    struct kl_traffic t = s->traffic;
    if (s->state == KL_SESSION_FREE) return t;
    t.up = s->opener.bytes;
    t.down = s->sealer.bytes;
    return t;
}

/* --- leaving datagrams --- */

static bool is_open(const struct kl_hub *hub, unsigned peer) {
    return hub->session[peer].state == KL_SESSION_OPEN && hub->session[peer].enet;
}

unsigned kl_hub_pending(struct kl_hub *hub, unsigned peer) {
    struct kl_sent *sent = hub->session[peer].sent;
    return kl_sent_span(&sent[KL_CHANNEL_CONTROL]) + kl_sent_span(&sent[KL_CHANNEL_BULK]);
}
size_t kl_hub_bulk_room(struct kl_hub *hub, unsigned peer) {
    return is_open(hub, peer) && !kl_path_moving(&hub->session[peer].path)
               ? kl_bulk_room(hub->session[peer].sent)
               : 0;
}

static int send_on(struct kl_hub *hub, unsigned peer, uint8_t channel, const void *bytes, size_t len) {
    struct kl_hub_session *s = &hub->session[peer];
    if (!is_open(hub, peer) || s->stuffed) return -1;
    if (kl_sent_full(&s->sent[channel], len)) {
        s->stuffed = hub->stuffed = true; /* told in the next service: the caller is busy with it */
        return -1;
    }
    hub->queued = true;
    return kl_enet_send(s->enet, s->sent, channel, bytes, len);
}

int kl_hub_send(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len) {
    return send_on(hub, peer, KL_CHANNEL_CONTROL, bytes, len);
}
int kl_hub_send_bulk(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len) {
    return send_on(hub, peer, KL_CHANNEL_BULK, bytes, len);
}

void kl_hub_send_datagram(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len) {
    if (!is_open(hub, peer)) return;
    kl_hub_send_update(hub, &hub->session[peer], body, len);
    hub->stats.datagrams_out++;
}

void kl_hub_disconnect(struct kl_hub *hub, unsigned peer) {
    struct kl_hub_session *s = &hub->session[peer];
    if (!is_open(hub, peer)) return;
    s->state = KL_SESSION_ENDING;
    s->settled = false;
    s->since_us = hub->now_us;
    s->until_us = hub->now_us + KL_ENDING_US;
    hub->stats.peers--;
    enet_peer_disconnect_later(s->enet, KL_ENET_BYE);
}

void kl_hub_settle(struct kl_hub *hub, unsigned peer) {
    hub->session[peer].settled = true;
}

struct kl_hub_stats kl_hub_stats(const struct kl_hub *hub) {
    const struct kl_gate_stats *g = &hub->gate->stats;
    struct kl_hub_stats s = hub->stats;
    s.malformed += g->malformed;
    s.replayed += g->replayed;
    s.cookies = g->cookies;
    s.handshakes = g->handshakes;
    s.refused = g->refused;
    return s;
}

unsigned kl_hub_lingering(const struct kl_hub *hub) {
    unsigned count = 0;
    for (unsigned n = 0; n < hub->limits.peers; n++)
        count += hub->session[n].state == KL_SESSION_ENDING;
    return count;
}

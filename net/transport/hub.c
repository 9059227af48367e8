#include "hub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../engine/msg.h"
#include "enet_common.h"
#include "link.h"
#include "udp_filter.h"

/* A connection that has not answered our VERIFY_CONNECT: three of our repetitions, then its slot is free
 * again. ENet would hold it for half a minute, and 4,095 spoofed packets would shut the relay. */
#define UNPROVEN_MIN_MS 1500
#define UNPROVEN_MAX_MS 3000
#define SWEEP_US        250000

#define BUSY_US 10000 /* ENet's repetitions are due to the millisecond, ours are not */
#define IDLE_US 500000

/* In one service: then the rooms have a turn. */
#define EVENTS_MAX 1024
#define INPUTS_MAX 512

#define INPUT_BYTES_MAX 2048

#define PEER_BITS 12 /* a session's low bits name the peer, so that finding it costs nothing */

struct hub_peer {
    bool open;
    uint32_t session, counter;
    struct kl_replay replay;
    struct kl_sent sent;
};

struct kl_hub {
    ENetHost *host;
    struct kl_hub_handler handler;
    char address[64];
    uint16_t port;
    uint64_t sweep_us, enet_us; /* when these are due */
    bool queued;                /* messages that ENet has not been asked to send yet */
    struct kl_hub_stats stats;
    struct hub_peer peer[]; /* by ENet's number */
};

static unsigned number_of(const struct kl_hub *hub, const ENetPeer *peer) {
    return (unsigned)(peer - hub->host->peers);
}

static bool same_address(const ENetAddress *a, const ENetAddress *b) {
    return a->host == b->host && a->port == b->port;
}

static bool take_datagram(struct kl_hub *hub, const ENetAddress *from, const uint8_t *bytes, size_t len) {
    struct kl_dgram d;
    if (kl_dgram_read(&d, bytes, len) != KL_OK || d.kind != KL_DGRAM_CTRL) return false;
    unsigned n = d.session & ((1U << PEER_BITS) - 1);
    if (n >= hub->host->peerCount) return false;
    struct hub_peer *peer = &hub->peer[n];
    if (!peer->open || peer->session != d.session) return false;
    if (!same_address(&hub->host->peers[n].address, from)) return false;
    if (!kl_replay_fresh(&peer->replay, d.counter)) return false;
    hub->stats.datagrams_in++;
    hub->handler.datagram(hub->handler.ctx, n, bytes + KL_DGRAM_HEADER, len - KL_DGRAM_HEADER);
    return true;
}

/* What ENet has delivered of this peer's channel; 0 for a peer that has none. */
static uint16_t delivered(const ENetHost *host, uint16_t n) {
    if (n >= host->peerCount || host->peers[n].channelCount == 0) return 0;
    return host->peers[n].channels[0].incomingReliableSequenceNumber;
}

static bool enet_may_have(struct kl_hub *hub, const uint8_t *bytes, size_t len) {
    uint16_t base = delivered(hub->host, kl_udp_peer(bytes, len));
    struct kl_udp_verdict v = kl_udp_judge(KL_UDP_RELAY, bytes, len, base);
    return v.pass && v.ahead <= KL_ENET_AHEAD_MAX;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_hub *hub = host->peers[0].data;
    const uint8_t *bytes = host->receivedData;
    size_t len = host->receivedDataLength;
    bool good = !kl_udp_source_bad(ntohl(host->receivedAddress.host), host->receivedAddress.port);
    if (good && len > 0 && bytes[0] == KL_DATAGRAM_MAGIC) {
        if (!take_datagram(hub, &host->receivedAddress, bytes, len)) hub->stats.rejected++;
        return 1;
    }
    if (good && enet_may_have(hub, bytes, len)) return 0;
    hub->stats.rejected++;
    return 1;
}

/* --- input datagrams ahead of ENet -------------------------------------------------------------------------
 */

enum waiting { NOTHING_WAITS, INPUT_TAKEN, ENET_WAITS };

static void receive_input(struct kl_hub *hub) {
    uint8_t bytes[INPUT_BYTES_MAX];
    struct sockaddr_in in = {0};
    socklen_t size = sizeof in;
    ssize_t len = recvfrom(hub->host->socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC,
                           (struct sockaddr *)&in, &size);
    ENetAddress from = {.host = in.sin_addr.s_addr, .port = ntohs(in.sin_port)};
    bool good = len > 0 && (size_t)len <= sizeof bytes;
    if (!good || !take_datagram(hub, &from, bytes, (size_t)len)) hub->stats.rejected++;
}

/* enet_host_service() walks all peers twice, whatever came: 12 us with a full relay. So inputs, nearly all
 * that comes, are taken off the socket here, and ENet has its turn when something else is at the head. */
static enum waiting take_input(struct kl_hub *hub) {
    uint8_t first = 0;
    ssize_t len = recv(hub->host->socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (len < 0) return NOTHING_WAITS;
    if (len == 1 && first != KL_DATAGRAM_MAGIC) return ENET_WAITS;
    receive_input(hub);
    return INPUT_TAKEN;
}

/* --- opening and closing -----------------------------------------------------------------------------------
 */

static int resolve(const char *name, uint16_t port, ENetAddress *out, char *err, size_t err_len) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(name, NULL, &hints, &found);
    if (failed) {
        snprintf(err, err_len, "cannot listen on '%s': %s (an IPv4 address or a name that has one is needed)",
                 name, gai_strerror(failed));
        return -1;
    }
    struct sockaddr_in in;
    memcpy(&in, found->ai_addr, sizeof in);
    freeaddrinfo(found);
    *out = (ENetAddress){.host = in.sin_addr.s_addr, .port = port};
    return 0;
}

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
    ENetAddress address;
    if (resolve(config->bind, config->port, &address, err, err_len) != 0) return -1;
    if (enet_socket_bind(hub->host->socket, &address) != 0) {
        explain_bind(errno, config->bind, config->port, err, err_len);
        return -1;
    }
    if (enet_socket_get_address(hub->host->socket, &hub->host->address) == 0) address = hub->host->address;
    hub->port = address.port;
    struct in_addr in = {.s_addr = address.host};
    inet_ntop(AF_INET, &in, hub->address, sizeof hub->address);
    return 0;
}

int kl_hub_open(struct kl_hub **out, const struct kl_hub_config *config, const struct kl_hub_handler *handler,
                char *err, size_t err_len) {
    struct kl_hub *hub = calloc(1, sizeof *hub + config->peers * sizeof hub->peer[0]);
    if (hub) hub->host = kl_enet_host_create(config->peers);
    if (!hub || !hub->host) {
        snprintf(err, err_len, "no memory or no socket for %u connections", config->peers);
        free(hub);
        return -1;
    }
    if (bind_socket(hub, config, err, err_len) != 0) {
        enet_host_destroy(hub->host);
        free(hub);
        return -1;
    }
    hub->handler = *handler;
    hub->host->intercept = intercept;
    hub->host->peers[0].data = hub; /* intercept gets no other context */
    hub->host->duplicatePeers = config->per_address;
    *out = hub;
    return 0;
}

void kl_hub_close(struct kl_hub *hub) {
    for (size_t i = 0; i < hub->host->peerCount; i++)
        if (hub->host->peers[i].state != ENET_PEER_STATE_DISCONNECTED)
            enet_peer_disconnect_now(&hub->host->peers[i], KL_ENET_BYE);
    enet_host_destroy(hub->host);
    free(hub);
}

int kl_hub_fd(const struct kl_hub *hub) {
    return hub->host->socket;
}
uint16_t kl_hub_port(const struct kl_hub *hub) {
    return hub->port;
}
const char *kl_hub_address(const struct kl_hub *hub) {
    return hub->address;
}

static uint32_t new_session(struct kl_hub *hub, unsigned n) {
    uint32_t random = 0;
    while (random == 0 || random == hub->peer[n].session >> PEER_BITS) {
        if (getrandom(&random, sizeof random, 0) != sizeof random) random = hub->peer[n].session + 1;
        random &= (1U << (32 - PEER_BITS)) - 1;
    }
    return random << PEER_BITS | n;
}

static void on_connect(struct kl_hub *hub, ENetPeer *enet) {
    unsigned n = number_of(hub, enet);
    struct in_addr in = {.s_addr = enet->address.host};
    char host[INET_ADDRSTRLEN], address[KL_HUB_ADDRESS_MAX];
    inet_ntop(AF_INET, &in, host, sizeof host);
    snprintf(address, sizeof address, "%s:%u", host, enet->address.port);
    kl_enet_peer_setup(enet);
    hub->peer[n] = (struct hub_peer){.open = true, .session = new_session(hub, n)};
    hub->stats.peers++;
    hub->handler.opened(hub->handler.ctx, n, address);
}

static void close_peer(struct kl_hub *hub, unsigned n) {
    hub->peer[n].open = false;
    hub->stats.peers--;
}

static void on_disconnect(struct kl_hub *hub, unsigned n) {
    if (!hub->peer[n].open) return;
    close_peer(hub, n);
    hub->handler.lost(hub->handler.ctx, n);
}

static void on_receive(struct kl_hub *hub, unsigned n, ENetPacket *packet) {
    if (hub->peer[n].open) hub->handler.message(hub->handler.ctx, n, packet->data, packet->dataLength);
    enet_packet_destroy(packet);
}

static void dispatch(struct kl_hub *hub, const ENetEvent *event) {
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT: on_connect(hub, event->peer); break;
    case ENET_EVENT_TYPE_DISCONNECT: on_disconnect(hub, number_of(hub, event->peer)); break;
    case ENET_EVENT_TYPE_RECEIVE: on_receive(hub, number_of(hub, event->peer), event->packet); break;
    case ENET_EVENT_TYPE_NONE: break;
    }
}

static void sweep_unproven(struct kl_hub *hub, uint64_t now_us) {
    if (now_us < hub->sweep_us) return;
    hub->sweep_us = now_us + SWEEP_US;
    for (size_t i = 0; i < hub->host->peerCount; i++) {
        ENetPeer *peer = &hub->host->peers[i];
        if (peer->state == ENET_PEER_STATE_ACKNOWLEDGING_CONNECT)
            enet_peer_timeout(peer, 1, UNPROVEN_MIN_MS, UNPROVEN_MAX_MS);
    }
}

static void service_enet(struct kl_hub *hub, uint64_t now_us) {
    ENetEvent event;
    hub->enet_us = now_us + (hub->stats.peers ? BUSY_US : IDLE_US);
    sweep_unproven(hub, now_us);
    for (int i = 0; i < EVENTS_MAX && kl_enet_service(hub->host, &event); i++)
        dispatch(hub, &event);
}

void kl_hub_service(struct kl_hub *hub) {
    uint64_t now_us = kl_now_us();
    enum waiting waiting = INPUT_TAKEN;
    for (int i = 0; i < INPUTS_MAX && waiting == INPUT_TAKEN; i++)
        waiting = take_input(hub);
    if (waiting == ENET_WAITS || now_us >= hub->enet_us) service_enet(hub, now_us);
}

void kl_hub_flush(struct kl_hub *hub) {
    if (hub->queued) enet_host_flush(hub->host);
    hub->queued = false;
}

uint64_t kl_hub_due_us(const struct kl_hub *hub) {
    return hub->enet_us;
}

uint32_t kl_hub_session(const struct kl_hub *hub, unsigned peer) {
    return hub->peer[peer].session;
}
unsigned kl_hub_pending(struct kl_hub *hub, unsigned peer) {
    return kl_sent_span(&hub->peer[peer].sent);
}

int kl_hub_send(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len) {
    if (!hub->peer[peer].open) return -1;
    hub->queued = true;
    return kl_enet_send(&hub->host->peers[peer], &hub->peer[peer].sent, bytes, len);
}

void kl_hub_send_datagram(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len) {
    struct hub_peer *p = &hub->peer[peer];
    if (!p->open) return;
    uint8_t header[KL_DGRAM_HEADER];
    kl_dgram_write(&(struct kl_dgram){KL_DGRAM_UPDATE, p->session, ++p->counter}, header);
    ENetBuffer parts[2] = {{.data = header, .dataLength = sizeof header},
                           {.data = (void *)body, .dataLength = len}};
    (void)enet_socket_send(hub->host->socket, &hub->host->peers[peer].address, parts, 2);
    hub->stats.datagrams_out++;
}

void kl_hub_disconnect(struct kl_hub *hub, unsigned peer) {
    if (!hub->peer[peer].open) return;
    close_peer(hub, peer);
    enet_peer_disconnect_later(&hub->host->peers[peer], KL_ENET_BYE);
}

struct kl_hub_stats kl_hub_stats(const struct kl_hub *hub) {
    return hub->stats;
}

unsigned kl_hub_lingering(const struct kl_hub *hub) {
    unsigned count = 0;
    for (size_t i = 0; i < hub->host->peerCount; i++)
        if (!hub->peer[i].open && hub->host->peers[i].state != ENET_PEER_STATE_DISCONNECTED) count++;
    return count;
}

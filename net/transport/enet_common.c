#include "net/transport/enet_common.h"

#include <string.h>

#include "net/engine/msg.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/thread.h"

/* --- setting up --- */

#define RETRIES 16

static void initialize(void) {
    enet_initialize();
}

ENetHost *kl_enet_host_create(size_t peers) {
    static struct kl_once once;
    kl_once(&once, initialize);
    /* bandwidth 0: none assumed. ENet's own limiter only ever delays or drops. */
    ENetHost *host = enet_host_create(NULL, peers, KL_ENET_CHANNELS, 0, 0);
    if (!host) return NULL;
    host->mtu = KL_ENET_MTU;
    for (size_t i = 0; i < peers; i++)
        host->peers[i].mtu = KL_ENET_MTU; /* they took the host's at creation */
    host->maximumPacketSize = KL_MSG_MAX;
    host->maximumWaitingData = KL_ENET_WAITING_BYTES;
    kl_socket_adopt(kl_enet_socket(host));
    kl_socket_enlarge(kl_enet_socket(host), KL_SOCKET_BUFFER_BYTES, KL_SOCKET_BUFFER_BYTES);
    return host;
}

void kl_enet_peer_setup(ENetPeer *peer) {
    enet_peer_timeout(peer, KL_ENET_TIMEOUT_LIMIT, KL_ENET_TIMEOUT_MIN_MS, KL_ENET_TIMEOUT_MAX_MS);
    enet_peer_ping_interval(peer, KL_ENET_PING_MS);
}

/* ENet's clock is kl_now_us() in milliseconds: kl_enet_service() sets it. 0 stands for none acknowledged yet:
 * the first one sets the round trip. */
void kl_enet_heard(ENetPeer *peer, uint64_t now_us) {
    enet_uint32 now_ms = (enet_uint32)(now_us / 1000);
    if (peer->lastReceiveTime > 0 && now_ms > 0) peer->lastReceiveTime = now_ms;
}

bool kl_enet_service(ENetHost *host, ENetEvent *event) {
    int result = -1;
    enet_time_set((enet_uint32)(kl_now_us() / 1000));
    /* A send that fails or a datagram over ENet's buffer ends the call early, with the rest of the peers or
     * of the socket not looked at. The failed datagram is off its queue, so going on is safe. */
    for (int i = 0; i < RETRIES && result < 0; i++)
        result = enet_host_service(host, event, 0);
    /* ENet would now tell every peer of every change among the others: reliable, and for nothing. */
    host->recalculateBandwidthLimits = 0;
    return result > 0;
}

static uint32_t bit_of(uint32_t number) {
    return UINT32_C(1) << number % 32;
}
static uint32_t *word_of(struct kl_sent *sent, uint32_t number) {
    return &sent->done[number % KL_SENT_MAX / 32];
}

/* Its number stands behind its data. */
static void acknowledged(ENetPacket *packet) {
    struct kl_sent *sent = packet->userData;
    uint32_t number;
    memcpy(&number, packet->data + packet->dataLength, sizeof number);
    *word_of(sent, number) |= bit_of(number);
    sent->bytes -= packet->dataLength;
}

unsigned kl_sent_span(struct kl_sent *sent) {
    while (sent->oldest != sent->next && *word_of(sent, sent->oldest) & bit_of(sent->oldest))
        sent->oldest++;
    return sent->next - sent->oldest;
}

bool kl_sent_full(struct kl_sent *sent, size_t len) {
    return kl_sent_span(sent) >= KL_SENT_MAX || sent->bytes + len > KL_CONTROL_UNDER_WAY;
}

size_t kl_bulk_room(struct kl_sent sent[KL_ENET_CHANNELS]) {
    struct kl_sent *bulk = &sent[KL_CHANNEL_BULK];
    if (kl_sent_span(&sent[KL_CHANNEL_CONTROL]) > 0 || kl_sent_span(bulk) >= KL_SENT_MAX) return 0;
    return bulk->bytes < KL_BULK_UNDER_WAY ? KL_BULK_UNDER_WAY - bulk->bytes : 0;
}

static void count(struct kl_sent *sent, ENetPacket *packet) {
    if (kl_sent_span(sent) >= KL_SENT_MAX) return;
    uint32_t number = sent->next++;
    memcpy(packet->data + packet->dataLength, &number, sizeof number);
    *word_of(sent, number) &= ~bit_of(number);
    sent->bytes += packet->dataLength;
    packet->userData = sent;
    packet->freeCallback = acknowledged;
}

int kl_enet_send(ENetPeer *peer, struct kl_sent sent[KL_ENET_CHANNELS], uint8_t channel, const void *bytes,
                 size_t len) {
    ENetPacket *packet = enet_packet_create(NULL, len + sizeof(uint32_t), ENET_PACKET_FLAG_RELIABLE);
    if (!packet) return -1;
    packet->dataLength = len;
    memcpy(packet->data, bytes, len);
    count(&sent[channel], packet);
    if (enet_peer_send(peer, channel, packet) == 0) return 0;
    enet_packet_destroy(packet);
    return -1;
}

/* --- the datagrams that ENet may see --- */

/* The most pieces that KL_MSG_MAX bytes need: a piece holds the MTU less header (4), checksum (4) and
 * fragment command (24); ENet may lower the MTU to 576. */
#define FRAGMENT_BYTES_MIN (ENET_PROTOCOL_MINIMUM_MTU - 32)
#define FRAGMENTS_MAX      ((KL_MSG_MAX + FRAGMENT_BYTES_MIN - 1) / FRAGMENT_BYTES_MIN)

#define CHECKSUM_BYTES 4

struct walk {
    enum kl_udp_side side;
    const uint8_t *at, *end;
    bool connecting; /* the header names no peer: only a CONNECT is allowed */
    const uint16_t *base;
    struct kl_udp_verdict *verdict;
};

static uint16_t get_u16(const uint8_t *p) {
    return (uint16_t)(p[0] << 8 | p[1]);
}

uint16_t kl_udp_peer(const uint8_t *bytes, size_t len) {
    return len < 2 ? ENET_PROTOCOL_MAXIMUM_PEER_ID : get_u16(bytes) & ENET_PROTOCOL_MAXIMUM_PEER_ID;
}

/* Takes the fixed part of a command into out; false if the datagram is too short. */
static bool take(struct walk *w, void *out, size_t size) {
    if ((size_t)(w->end - w->at) < size) return false;
    memcpy(out, w->at, size);
    w->at += size;
    return true;
}

static bool take_data(struct walk *w, size_t len) {
    if (len == 0 || (size_t)(w->end - w->at) < len) return false;
    w->at += len;
    return true;
}

static void note_sequence(struct walk *w, uint8_t channel, uint16_t sequence) {
    uint16_t ahead = w->base ? (uint16_t)(sequence - w->base[channel]) : 0;
    if (ahead >= 0x8000) ahead = 0; /* behind: a repetition */
    w->verdict->pieces[channel]++;
    if (ahead > w->verdict->ahead) w->verdict->ahead = ahead;
}

static bool allow_connect(struct walk *w) {
    ENetProtocolConnect c;
    if (w->side != KL_UDP_RELAY || !w->connecting || !take(w, &c, sizeof c)) return false;
    if (c.outgoingPeerID != 0)
        return false; /* a client has one peer; 0xfff would send without a connect id */
    if (w->at < w->end)
        return false; /* CONNECT must come last: of two, ENet would take the first, of any session */
    w->verdict->connect_id = c.connectID;
    return ENET_NET_TO_HOST_32(c.channelCount) == KL_ENET_CHANNELS && c.incomingBandwidth == 0 &&
           c.outgoingBandwidth == 0;
}

static bool allow_verify(struct walk *w) {
    ENetProtocolVerifyConnect c;
    return w->side == KL_UDP_CLIENT && take(w, &c, sizeof c);
}

static bool allow_reliable(struct walk *w) {
    ENetProtocolSendReliable c;
    if (!take(w, &c, sizeof c) || c.header.channelID >= KL_ENET_CHANNELS) return false;
    note_sequence(w, c.header.channelID, ENET_NET_TO_HOST_16(c.header.reliableSequenceNumber));
    return take_data(w, ENET_NET_TO_HOST_16(c.dataLength));
}

static bool allow_fragment(struct walk *w) {
    ENetProtocolSendFragment c;
    if (!take(w, &c, sizeof c) || c.header.channelID >= KL_ENET_CHANNELS) return false;
    note_sequence(w, c.header.channelID, ENET_NET_TO_HOST_16(c.startSequenceNumber));
    if (ENET_NET_TO_HOST_32(c.fragmentCount) > FRAGMENTS_MAX ||
        ENET_NET_TO_HOST_32(c.totalLength) > KL_MSG_MAX)
        return false;
    return take_data(w, ENET_NET_TO_HOST_16(c.dataLength));
}

/* A stock ENet announces its limits now and then; without one it changes nothing. */
static bool allow_bandwidth(struct walk *w) {
    ENetProtocolBandwidthLimit c;
    return take(w, &c, sizeof c) && c.incomingBandwidth == 0 && c.outgoingBandwidth == 0;
}

static bool allow_plain(struct walk *w, size_t size) {
    uint8_t skip[sizeof(ENetProtocol)];
    return take(w, skip, size);
}

static bool allow_command(struct walk *w) {
    uint8_t command = *w->at & ENET_PROTOCOL_COMMAND_MASK;
    if (w->connecting && command != ENET_PROTOCOL_COMMAND_CONNECT) return false;
    switch (command) {
    case ENET_PROTOCOL_COMMAND_ACKNOWLEDGE: return allow_plain(w, sizeof(ENetProtocolAcknowledge));
    case ENET_PROTOCOL_COMMAND_CONNECT: return allow_connect(w);
    case ENET_PROTOCOL_COMMAND_VERIFY_CONNECT: return allow_verify(w);
    case ENET_PROTOCOL_COMMAND_DISCONNECT: return allow_plain(w, sizeof(ENetProtocolDisconnect));
    case ENET_PROTOCOL_COMMAND_PING: return allow_plain(w, sizeof(ENetProtocolPing));
    case ENET_PROTOCOL_COMMAND_SEND_RELIABLE: return allow_reliable(w);
    case ENET_PROTOCOL_COMMAND_SEND_FRAGMENT: return allow_fragment(w);
    case ENET_PROTOCOL_COMMAND_BANDWIDTH_LIMIT: return allow_bandwidth(w);
    default: return false; /* unreliable and unsequenced packets, throttle: nobody here sends them */
    }
}

struct kl_udp_verdict kl_udp_judge(enum kl_udp_side side, const uint8_t *bytes, size_t len,
                                   const uint16_t *base) {
    struct kl_udp_verdict verdict = {.peer = kl_udp_peer(bytes, len)};
    if (len < 2 || len > KL_ENET_MAX) return verdict;
    uint16_t flags = get_u16(bytes) & ENET_PROTOCOL_HEADER_FLAG_MASK;
    if (flags & ENET_PROTOCOL_HEADER_FLAG_COMPRESSED) return verdict;
    size_t header = (flags & ENET_PROTOCOL_HEADER_FLAG_SENT_TIME ? 4 : 2) + CHECKSUM_BYTES;
    if (len <= header) return verdict;

    struct walk w = {
        .side = side, .at = bytes + header, .end = bytes + len, .base = base, .verdict = &verdict};
    w.connecting = verdict.peer == ENET_PROTOCOL_MAXIMUM_PEER_ID;
    if (w.connecting && side == KL_UDP_CLIENT) return verdict;
    for (unsigned count = 0; w.at < w.end; count++)
        if (count == ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS || !allow_command(&w)) return verdict;
    verdict.pass = true;
    return verdict;
}

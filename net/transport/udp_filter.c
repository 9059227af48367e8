#include "net/transport/udp_filter.h"

#include <string.h>

#include "net/engine/msg.h"
#include "net/transport/enet_common.h"

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
    w->verdict->sequenced = true;
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

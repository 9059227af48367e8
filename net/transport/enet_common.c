#include "net/transport/enet_common.h"

#include <string.h>

#include "net/engine/msg.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/thread.h"

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

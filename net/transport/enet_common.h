/* enet_common.h - ENet at both ends: how it is set up, and the datagrams that it may see. Only inside
 * net/transport. */
#ifndef KL_ENET_COMMON_H
#define KL_ENET_COMMON_H

#include <enet/enet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- setting up --- */

/* How both ends set ENet up, each limit with its reason. Only inside net/transport. */

/* Control, and bulk (start data, history) that control never waits for. Inputs do not pass through ENet at
 * all, so its packet throttle, which drops unreliable packets when the RTT jitters, drops none of ours. */
enum { KL_CHANNEL_CONTROL, KL_CHANNEL_BULK, KL_ENET_CHANNELS };

/* ENet's default of 1,400 is too much for PPPoE with a tunnel. With seal and checksum field, for which
 * ENet itself leaves no room, a datagram has 1,200 bytes at most. */
#define KL_ENET_MTU 1170
#define KL_ENET_MAX (KL_ENET_MTU + 4)

/* Bytes of one peer's undelivered packets at most. Above it ENet takes no more from the peer, not even the
 * packet that all others wait for, so it must be more than an honest sender sends past a lost packet: see
 * struct kl_sent and its users. */
#define KL_ENET_WAITING_BYTES (256 * 1024)

/* How far ahead of the delivered ones a peer's reliable packets may run; each costs some 200 bytes of heap,
 * whatever its length. */
#define KL_ENET_AHEAD_MAX 1024

/* A peer is given up when a reliable packet (a ping in each silent second) has had no answer for 5 to 10 s:
 * ENet asks again at doubling intervals, and looks at the limits only then. Under 5 s, a Wi-Fi that roams or
 * a phone that changes cells would cost the session; over 10 s, the others of a strict room see a still
 * picture because of a player that is gone. 32: that many doublings (5) must have gone by, so that one long
 * gap alone does not count. */
#define KL_ENET_TIMEOUT_LIMIT  32
#define KL_ENET_TIMEOUT_MIN_MS 5000
#define KL_ENET_TIMEOUT_MAX_MS 10000
/* After so long a silence there is a ping each so often: it keeps NAT entries alive too (the shortest in the
 * field last 20 to 30 s). */
#define KL_ENET_PING_MS 1000

/* A socket's default buffer holds some 256 small datagrams, the largest that Linux gives by itself some 512:
 * less than one burst of a full relay. */
#define KL_SOCKET_BUFFER_BYTES (4 * 1024 * 1024)

/* Data of a DISCONNECT: on purpose; or by a relay that will be started again, so the client comes back. */
#define KL_ENET_BYE  1
#define KL_ENET_LOST 0

/* Bytes of bulk on their way to one peer at most: two round trips of 60 ms at 2 Mbit/s. The rest waits at its
 * owner, so that a control message never waits behind more than this. */
#define KL_BULK_UNDER_WAY (32 * 1024)

/* Bytes of control on their way to one peer at most: more than any honest client, whose link may be gone for
 * ten seconds, was ever seen to need. */
#define KL_CONTROL_UNDER_WAY (256 * 1024)

/* One channel's messages on their way, so that a sender can hold back behind a lost message: ENet
 * acknowledges packets one by one and would go on to the end of its sequence window. */
#define KL_SENT_MAX 512
struct kl_sent {
    uint32_t next, oldest;
    size_t bytes;                    /* not acknowledged */
    uint32_t done[KL_SENT_MAX / 32]; /* a bit each, by number, from oldest on */
};

/* The other end was heard by a datagram that is not ENet's: no ping is due for KL_ENET_PING_MS. */
void kl_enet_heard(ENetPeer *peer, uint64_t now_us);

/* Queues a reliable message; -1 if the peer is gone or there is no memory. sent: by channel. */
int kl_enet_send(ENetPeer *peer, struct kl_sent sent[KL_ENET_CHANNELS], uint8_t channel, const void *bytes,
                 size_t len);
/* Number of messages from the oldest unacknowledged one to the newest, counted up to KL_SENT_MAX. */
unsigned kl_sent_span(struct kl_sent *sent);
/* True if `len` more bytes would exceed KL_SENT_MAX or KL_CONTROL_UNDER_WAY. */
bool kl_sent_full(struct kl_sent *sent, size_t len);
/* Bytes that bulk may be given now. 0 while control messages are on their way: the channels have no order
 * among themselves, and so earlier control messages also arrive first. */
size_t kl_bulk_room(struct kl_sent sent[KL_ENET_CHANNELS]);

/* A host with all limits set, or NULL. The socket is not bound yet. */
ENetHost *kl_enet_host_create(size_t peers);
/* The host's socket as net/platform has sockets: Windows' are wider, and their values are small. */
static inline int kl_enet_socket(const ENetHost *host) {
    return (int)host->socket;
}

/* Time-outs and ping of a peer that has been connected, or is about to be. */
void kl_enet_peer_setup(ENetPeer *peer);

/* enet_host_service() on the monotonic clock: a step of the wall clock, which ENet reads, would time every
 * peer out. Call it until it gives false: then all waiting datagrams have been received (through
 * host->intercept first) and all due ones sent. Failures concern single datagrams and are ignored. */
bool kl_enet_service(ENetHost *host, ENetEvent *event);

/* --- the datagrams that ENet may see --- */

/* The opened datagrams that ENet may see. net/PROTOCOL.md §8.
 *
 * ENet 1.3.17 trusts much of its input (docs/porting.md: fragments that make half a gigabyte of 100 kB, a
 * source port of 0 that breaks sending for everybody, bandwidth limits set by the peer), and a client with a
 * session may still be hostile. Keylock uses a small part of ENet: two channels, reliable packets of at most
 * KL_MSG_MAX bytes. This filter drops the rest before ENet allocates anything. Pure: bytes in, verdict
 * out. */

enum kl_udp_side { KL_UDP_RELAY, KL_UDP_CLIENT };

struct kl_udp_verdict {
    bool pass;          /* ENet may have it */
    uint16_t peer;      /* ENet's peer number in the header, 0xfff for a CONNECT */
    uint16_t ahead;     /* distance of its highest sequence number of reliable data from its channel's base */
    uint16_t pieces[2]; /* by channel: messages and pieces of messages in it */
    uint32_t connect_id; /* of a CONNECT */
};

/* Judges one datagram addressed to `side`. base: by channel, the last reliable sequence number that the peer
 * has delivered; NULL: unknown. */
struct kl_udp_verdict kl_udp_judge(enum kl_udp_side side, const uint8_t *bytes, size_t len,
                                   const uint16_t *base);

/* The peer number in an ENet header; 0xfff if there is none. */
uint16_t kl_udp_peer(const uint8_t *bytes, size_t len);

#endif

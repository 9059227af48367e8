/* enet_feed.h - an ENet host without a part in the network. Its datagrams leave by its owner's socket, sealed
 * (enet_feed.h); the owner opens those that come, and hands them in.
 *
 * ENet reads datagrams from its own socket alone, so that socket gets a byte for each, over this machine's
 * loop, unless kl_enet_ends says otherwise, and ENet gets the opened datagram in the byte's place. ENet knows
 * IPv4 alone; its peers have one address, nobody's. */
#ifndef KL_ENET_FEED_H
#define KL_ENET_FEED_H

#include "net/platform/socket.h"
#include "net/session/seal.h"
#include "net/transport/enet_common.h"

/* ENet inside sealed datagrams. net/PROTOCOL.md §8.
 *
 * Everything that ENet sends, acknowledgements and disconnects included, leaves as the body of a sealed
 * datagram (net/session/seal.h), and only opened datagrams reach ENet. ENet 1.3 has a hook on receiving
 * (intercept) but none on sending; its checksum callback is one all the same: it is called with host->buffers
 * right before the only enet_socket_send() that there is, and host->bufferCount is read after it. So it
 * replaces the buffers by their sealed copy. tests/unit/test_enet_seal.c proves that on the ENet installed.
 *
 * ENet's connect id is the session's number, on both ends; the checksum field of each datagram carries it. */

struct kl_enet_seal {
    void *ctx;
    /* The sealer for the peer with this connect id (0: for a CONNECT's); NULL: ENet's datagram is dropped. */
    struct kl_sealer *(*sealer)(void *ctx, uint32_t connect_id);
    /* NULL: the sealed datagram leaves by the host's socket. Else it leaves by this, and ENet sends an empty
     * datagram to the peer's address, which is to be nobody's. */
    void (*send)(void *ctx, uint32_t connect_id, const uint8_t *bytes, size_t len);
    uint8_t out[KL_SEAL_OVERHEAD + ENET_PROTOCOL_MAXIMUM_MTU + 8];
};

/* Before the host sends anything. seal: borrowed for the host's life; compressor.context is taken for it. */
void kl_enet_seal_attach(ENetHost *host, struct kl_enet_seal *seal);

/* enet_host_connect() with the session's number as connect id. NULL: no free peer, or an ENet that does not
 * work as expected. */
ENetPeer *kl_enet_seal_connect(ENetHost *host, const ENetAddress *address, uint32_t session);

/* From host->intercept, before it returns 0: ENet goes on with the opened bytes, as if they came from
 * `from`. */
void kl_enet_seal_deliver(ENetHost *host, const struct kl_opened *o, const ENetAddress *from);

/* ENet reads and writes by two functions. A program may have put others in their place
 * (net/relay/program/enet_sockets.c), and says so here before it opens its feeds, which are all of one
 * thread. Then a datagram of ENet costs no system call. */
struct kl_enet_ends {
    bool replaced;
    bool arrived; /* one waits for ENet: the next one that it reads, of any bytes */
};
extern struct kl_enet_ends kl_enet_ends;

/* A socket at an address of this machine's loop that takes ENet's empty datagrams, and is never read. */
struct kl_enet_sink {
    int socket;
    struct kl_address at;
};
/* False, with socket -1: no socket, or no loopback. */
bool kl_enet_sink_open(struct kl_enet_sink *s);

struct kl_enet_feed {
    ENetHost *host; /* NULL: not open */
    const struct kl_enet_sink *sink;
    struct kl_address own; /* of the host's socket, for the byte */
    struct kl_enet_seal seal;
    const struct kl_opened *arrived; /* in place of the next byte; NULL: nothing */
};
/* seal: its ctx and functions. sink: borrowed. f may not move. False: no memory, or no socket. */
bool kl_enet_feed_open(struct kl_enet_feed *f, size_t peers, const struct kl_enet_sink *sink,
                       const struct kl_enet_seal *seal);
/* Of one that is not open, too. */
void kl_enet_feed_close(struct kl_enet_feed *f);
/* kl_enet_seal_connect(). */
ENetPeer *kl_enet_feed_connect(struct kl_enet_feed *f, uint32_t session);
/* Hands an opened datagram in: the next kl_enet_service() takes it. Then kl_enet_feed_end(), for the byte may
 * have been lost; o is borrowed until then. */
void kl_enet_feed_begin(struct kl_enet_feed *f, const struct kl_opened *o);
void kl_enet_feed_end(struct kl_enet_feed *f);

#endif

/* enet_feed.h - an ENet host without a part in the network. Its datagrams leave by its owner's socket, sealed
 * (enet_seal.h); the owner opens those that come, and hands them in.
 *
 * ENet reads datagrams from its own socket alone, so that socket gets a byte for each, over this machine's
 * loop, unless kl_enet_ends says otherwise, and ENet gets the opened datagram in the byte's place. ENet knows
 * IPv4 alone; its peers have one address, nobody's. */
#ifndef KL_ENET_FEED_H
#define KL_ENET_FEED_H

#include "net/platform/socket.h"
#include "net/transport/enet_seal.h"

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

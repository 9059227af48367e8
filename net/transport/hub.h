/* hub.h - the relay's end of the network: one UDP port, many sessions. net/PROTOCOL.md §2, §8 to §10.
 *
 * Thin: it makes sessions with strangers whose address is proved (net/session/handshake.h), opens and seals
 * their datagrams, follows them to other addresses, carries reliable messages (ENet, sealed) and input
 * datagrams on the same port, and keeps the limits that guard the process. The caller knows the clients and
 * the meaning of messages. A peer is a small number, valid from opened() to lost() or kl_hub_disconnect();
 * then another client may get it. Single-threaded. */
#ifndef KL_HUB_H
#define KL_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/session/keys.h"
#include "net/session/seal.h"
#include "net/transport/shards.h"
#include "net/transport/strangers.h"

#define KL_HUB_PEERS_MAX 4095 /* ENet's limit */

struct kl_hub;

/* Limits that are options of the relay: LIMIT(field, option, value, lowest, highest, default, meaning). Eight
 * players behind one NAT, each with a link that comes and goes, must never meet one of these. The defaults:
 * - connections: a LAN party; 64 addresses fill the relay. Handshakes: two each for that party, 0.1 ms of
 *   processor time each. Half open: those of three seconds of a flood, thrice; 11 MB at most
 * - datagrams, messages: a room without a clock, and its hashes; a game at 60 fps sends 60 to 240, and one
 * - kbytes: start data over a LAN; pieces: 3 MiB of start data at once
 * messages: 0 is no limit, for tests. */
#define KL_HUB_LIMITS(LIMIT)                                                                                 \
    LIMIT(per_address, "per-address", "N", 1, KL_HUB_PEERS_MAX, 64, "connections from one address")          \
    LIMIT(handshakes, "handshakes", "N", 1, 1000000, 128, "new connections from one address in 10 s")        \
    LIMIT(half_open, "half-open", "N", 1, 16384, 16384,                                                      \
          "new connections at once that have sent nothing yet; above it one of them at random is lost, "     \
          "first of those from addresses that ask often")                                                    \
    LIMIT(datagrams, "datagrams", "N", 100, 1000000, 5000,                                                   \
          "datagrams a second from one connection; the relay drops more")                                    \
    LIMIT(kbytes, "kbytes", "N", 64, 1000000, 16384,                                                         \
          "KiB a second from one connection; the relay drops more")                                          \
    LIMIT(messages, "messages", "N", 100, 1000000, 500,                                                      \
          "reliable messages a second from one connection; more have to wait")                               \
    LIMIT(pieces, "pieces", "N", 100, 1000000, 4096,                                                         \
          "pieces of start data and history a second from one connection; more have to wait")

struct kl_hub_limits {
    unsigned peers; /* sessions at most, 1..KL_HUB_PEERS_MAX */
#define FIELD(field, ...) unsigned field;
    KL_HUB_LIMITS(FIELD)
#undef FIELD
};

struct kl_hub_config {
    const char *bind; /* an address of this machine, or a name; "::": all, of IPv6 and IPv4 */
    uint16_t port;    /* 0: any free one */
    struct kl_keypair key;
    uint8_t ciphers; /* accepted: kl_ciphers_here(), and KL_CIPHER_CLEAR if the operator allows it */
    struct kl_hub_limits limits;
    struct kl_shards *shards; /* outlive the hub; NULL: this process is alone */
    int socket;               /* with shards: bound already, and the hub's own now; bind and port say where */
    bool again;               /* with shards: what waits in it was for another process */
};

/* Called from kl_hub_service(). bytes are borrowed for the call. Every function of the hub but
 * kl_hub_service() and kl_hub_close() may be called from within. */
struct kl_hub_handler {
    void *ctx;
    /* address: with its port, as of kl_address_place() */
    void (*opened)(void *ctx, unsigned peer, const char *address);
    void (*lost)(void *ctx, unsigned peer); /* timed out or hung up; not after kl_hub_disconnect() */
    void (*moved)(void *ctx, unsigned peer, const char *address); /* may be NULL */
    /* The peer exceeds the limits, or acknowledges nothing, and is hung up on next. why: a line for the peer
     * and the log. May be NULL. */
    void (*flooded)(void *ctx, unsigned peer, const char *why);
    void (*message)(void *ctx, unsigned peer, const uint8_t *bytes, size_t len);
    /* Authentic and fresh; missing: datagrams that the peer sent before and that have not come; arrived_us:
     * when this machine had it. */
    void (*datagram)(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                     uint64_t arrived_us);
    /* A VOICE, in the same way. May be NULL. */
    void (*voice)(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint64_t arrived_us);
    /* For strangers (strangers.h): the number of rooms; the next public room. Either may be NULL. */
    unsigned (*rooms)(void *ctx);
    bool (*next_line)(void *ctx, unsigned *from, struct kl_room_line *out);
};

/* A socket bound to that address: its number, and its port in *port. -1 with one line for people in err, and
 * errno. */
int kl_hub_bind(const char *bind, uint16_t *port, char *err, size_t err_len);
/* 0, or -1 with one line for people in err. handler is copied. */
int kl_hub_open(struct kl_hub **out, const struct kl_hub_config *config, const struct kl_hub_handler *handler,
                char *err, size_t err_len);

/* Disconnects all peers (once, unacknowledged) in such a way that they look for the relay again at once. */
void kl_hub_drop(struct kl_hub *hub);
/* Sends all peers that are left a disconnect on purpose (once, unacknowledged) and frees everything. */
void kl_hub_close(struct kl_hub *hub);

int kl_hub_fd(const struct kl_hub *hub); /* to poll for reading */
uint16_t kl_hub_port(const struct kl_hub *hub);
const char *kl_hub_address(const struct kl_hub *hub); /* the one bound to, without its port */

/* Receives all that waits in the socket, calls the handler, sends ENet's packets. Call it when the descriptor
 * is readable, and at kl_hub_due_us() at the latest. */
void kl_hub_service(struct kl_hub *hub);
uint64_t kl_hub_due_us(const struct kl_hub *hub);

/* Sends the messages queued since the last service or flush. */
void kl_hub_flush(struct kl_hub *hub);

/* Number that the peer's datagrams carry; never 0. */
uint32_t kl_hub_session(const struct kl_hub *hub, unsigned peer);
/* 32 bytes that name the peer's handshake; proofs inside the session cover them. */
const uint8_t *kl_hub_binding(const struct kl_hub *hub, unsigned peer);

/* The bytes of a peer's session, from its handshake on; good in lost(), too. */
struct kl_traffic kl_hub_traffic(const struct kl_hub *hub, unsigned peer);

/* Queues a reliable message (copied). -1 if the peer has gone, there is no memory, or so much waits for it
 * (KL_CONTROL_UNDER_WAY) that it is hung up on. */
int kl_hub_send(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len);
/* Number of messages, bulk included, from the oldest unacknowledged one to the newest. Senders of much data
 * hold back by it, because behind a lost message a peer keeps only so many (net/PROTOCOL.md §8). */
unsigned kl_hub_pending(struct kl_hub *hub, unsigned peer);
/* The same for bulk, which has a channel of its own: ordered in itself, never ahead of earlier messages of
 * kl_hub_send(). Bytes that may be given to kl_hub_send_bulk() now; 0 while messages are on their way. */
size_t kl_hub_bulk_room(struct kl_hub *hub, unsigned peer);
int kl_hub_send_bulk(struct kl_hub *hub, unsigned peer, const void *bytes, size_t len);
/* Sends an UPDATE datagram now. One that the kernel refuses is lost as on any link. */
void kl_hub_send_datagram(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len);
/* Sends a VOICE datagram with the next kl_hub_flush(), behind all others, if the kernel takes those. */
void kl_hub_send_voice(struct kl_hub *hub, unsigned peer, const uint8_t *body, size_t len);
/* Hangs up once everything queued has been delivered. Nothing of this peer is reported any more. */
void kl_hub_disconnect(struct kl_hub *hub, unsigned peer);

/* The peer has what it came for: until then its session gives way to others if the relay is full. */
void kl_hub_settle(struct kl_hub *hub, unsigned peer);

/* The peer hears something that is ENet's own. */
void kl_hub_ping(struct kl_hub *hub, unsigned peer);

/* Connections whose hanging up is not yet over. */
unsigned kl_hub_lingering(const struct kl_hub *hub);

/* All datagrams by their kind, and the bytes of each without the network's own heads. */
enum {
    KL_HUB_OTHER, /* no kind of the protocol's */
    KL_HUB_INPUTS = KL_SEAL_CTRL,
    KL_HUB_FRAMES = KL_SEAL_UPDATE,
    KL_HUB_MESSAGES = KL_SEAL_ENET,
    KL_HUB_PATHS = KL_SEAL_PATH,
    KL_HUB_HANDSHAKES,
    KL_HUB_VOICES = KL_SEAL_VOICE,
    KL_HUB_KINDS
};
struct kl_hub_count {
    uint64_t datagrams, bytes;
};

struct kl_hub_stats {
    struct kl_hub_count in[KL_HUB_KINDS], out[KL_HUB_KINDS];
    uint64_t datagrams_in, datagrams_out; /* input datagrams */
    uint64_t messages_in;
    /* Dropped datagrams: malformed; of no session; not sealed with the session's keys; seen before; above the
     * session's limits on datagrams and bytes; on messages (those come again); authentic, but not allowed to
     * a client. */
    uint64_t malformed, strange, forged, replayed, limited, slowed, unfit;
    uint64_t asked_bytes, answered_bytes; /* from and to strangers */
    uint64_t cookies;                     /* sent */
    uint64_t handshakes, refused;         /* completed; turned away by a limit */
    uint64_t flooded;                     /* sessions hung up on, see flooded() */
    uint64_t moves;                       /* to other addresses */
    uint64_t voices_unsent;               /* VOICE datagrams left out: the kernel, or a turn, had no place */
    unsigned peers;                       /* connected */
};
struct kl_hub_stats kl_hub_stats(const struct kl_hub *hub);

#endif

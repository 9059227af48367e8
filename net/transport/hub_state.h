/* hub_state.h - shared by the parts of the hub: hub.c (the port, the caller), hub_enet.c (reliable messages),
 * hub_session.c (sessions and their datagrams), hub.c (datagrams without a session). Only inside
 * net/transport. */
#ifndef KL_HUB_STATE_H
#define KL_HUB_STATE_H

#include "net/platform/socket.h"
#include "net/transport/enet_feed.h"
#include "net/transport/gate.h"
#include "net/transport/hub.h"
#include "net/transport/path.h"

#define KL_UNCONNECTED_US (5 * 1000000ULL)  /* for ENet to be connected after that */
#define KL_ENDING_US      (10 * 1000000ULL) /* for a peer to acknowledge its last messages */

struct kl_hub_session {
    enum {
        KL_SESSION_FREE,
        KL_SESSION_OPEN,   /* enet is NULL until ENet is connected inside it; then the caller knows it */
        KL_SESSION_ENDING, /* hung up by us: ENet still delivers */
    } state;
    uint32_t number;
    uint64_t until_us; /* while open without ENet, or ending: its end */
    uint64_t since_us; /* it is in that state */
    bool settled;      /* kl_hub_settle() */
    ENetPeer *enet;
    uint8_t binding[32];
    struct kl_sealer sealer;
    struct kl_opener opener;
    struct kl_sent sent[KL_ENET_CHANNELS];
    struct kl_traffic traffic; /* frames; up and down once the session is over */

    struct kl_address home; /* the proved address; ENet's messages go there */
    struct kl_path path;    /* and those that are only claimed */

    /* The end of the accepted load at the rate of the limits; excess_ns: of the excess. */
    uint64_t datagrams_ns, bytes_ns, pieces_ns[KL_ENET_CHANNELS], excess_ns;
    bool stuffed; /* more messages wait for it than allowed */
};

#define KL_HUB_ENET_PEERS 64 /* of an ENet host */
#define KL_HUB_ENETS      ((KL_HUB_PEERS_MAX + KL_HUB_ENET_PEERS) / KL_HUB_ENET_PEERS)

struct kl_hub {
    int socket;
    struct kl_socket_batch in, out;         /* read last; to be sent with the next flush */
    struct kl_socket_batch voice;           /* to be sent behind `out` */
    bool crowded;                           /* the kernel left datagrams out since the last flush */
    unsigned in_next;                       /* the next of `in` */
    struct kl_hub_enet *enet[KL_HUB_ENETS]; /* by 64 slots each; NULL: none of them was needed yet */
    struct kl_enet_sink sink;
    struct kl_hub_handler handler;
    struct kl_hub_limits limits;
    struct kl_gate *gate;
    char address[KL_ADDRESS_TEXT];
    uint16_t port;
    uint64_t now_us, sweep_us, enet_us;       /* time of this service; due times */
    bool queued;                              /* messages that ENet has not been asked to send yet */
    bool stuffed;                             /* some session is */
    struct kl_hub_stats stats;                /* without the gate's */
    uint64_t used[KL_HUB_PEERS_MAX / 64 + 1]; /* sessions that are not free, a bit each */
    struct kl_hub_session session[];          /* limits.peers of them; a slot's number is the caller's peer */
};

void kl_hub_send_raw(struct kl_hub *hub, const struct kl_address *to, const void *bytes, size_t len);

/* --- hub_session.c --- */
/* The session of this number, in any state but free; NULL if there is none. */
struct kl_hub_session *kl_hub_find(struct kl_hub *hub, uint32_t number);
void kl_hub_free(struct kl_hub *hub, struct kl_hub_session *s);
/* Opens a datagram of a session in place, counts it against the limits, and follows its source address. NULL:
 * it is dropped and counted. */
struct kl_hub_session *kl_hub_take(struct kl_hub *hub, const struct kl_address *from, uint8_t *bytes,
                                   size_t len, struct kl_opened *o);
/* Takes a possible answer to a path challenge. */
void kl_hub_path(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_address *from,
                 const struct kl_opened *o);
/* UPDATE: seals and sends to the proved address, and to claimed ones within their credit. */
void kl_hub_send_update(struct kl_hub *hub, struct kl_hub_session *s, const void *body, size_t len);
/* False: more messages than its limits, so they shall come again; counted. pieces: by channel. */
bool kl_hub_paced(struct kl_hub *hub, struct kl_hub_session *s, const uint16_t pieces[KL_ENET_CHANNELS]);
/* Counts an authentic datagram that was dropped, and hangs up on a session with too many: per_s a second are
 * allowed for ever, above that ten seconds' worth. */
void kl_hub_blame(struct kl_hub *hub, struct kl_hub_session *s, unsigned per_s);
/* Tells the caller why, and hangs up. */
void kl_hub_put_out(struct kl_hub *hub, struct kl_hub_session *s, const char *why);
/* The relay is full: sessions that the caller has no use for (yet) end, those of the address with most of
 * them first. False: there are none. ctx: the hub. */
bool kl_hub_make_room(void *ctx);
/* Frees sessions that did not go on, repeats challenges. Call it at sweep_us. */
void kl_hub_sweep(struct kl_hub *hub);

/* --- hub_enet.c --- */
/* False: no memory, no socket, or no loopback. */
bool kl_hub_enet_open(struct kl_hub *hub);
void kl_hub_enet_close(struct kl_hub *hub);
/* Hands an opened ENet datagram in, and serves the session's host: events reach the handler. */
void kl_hub_enet_take(struct kl_hub *hub, struct kl_hub_session *s, const struct kl_opened *o);
/* Counts a datagram that no client sends, and blames its session. */
void kl_hub_unfit(struct kl_hub *hub, struct kl_hub_session *s);
/* Serves the hosts that are due. Call it at enet_us. */
void kl_hub_enet_service(struct kl_hub *hub);
/* The session's peer has something to send; sends what there is. */
void kl_hub_enet_queued(struct kl_hub *hub, const struct kl_hub_session *s);
void kl_hub_enet_flush(struct kl_hub *hub);
/* The ENet peer of this session, in any state; NULL: there is none. */
ENetPeer *kl_hub_enet_peer(struct kl_hub *hub, const struct kl_hub_session *s);
/* All places for peers that there are, one after the other; NULL: no more. */
ENetPeer *kl_hub_enet_nth(const struct kl_hub *hub, unsigned n);
/* Disconnects all peers, once and unacknowledged. */
void kl_hub_enet_hang_up(struct kl_hub *hub, uint32_t data);

#endif

/* net_intruder.h - for tests of the relay: who has a session, by the rules, and then does what a link never
 * would; and who has none. */
#ifndef NET_INTRUDER_H
#define NET_INTRUDER_H

#include "net/session/handshake.h"
#include "net/transport/enet_feed.h"
#include "tests/net/net_player.h"

/* Called while an intruder waits: the game that shall go on. */
extern void (*intruder_meanwhile)(void);
/* He says this room's bucket; NULL: 0. */
extern const char *intruder_room;

struct intruder {
    ENetHost *host;
    ENetPeer *peer;
    ENetAddress relay;
    struct kl_enet_seal seal;
    struct kl_hs_client handshake;
    struct kl_hs_outcome outcome;
    struct kl_sealer sealer;
    struct kl_opener opener;
    bool has_keys, connected, gone, refused;
    uint64_t asked,
        down; /* bytes: of handshakes sent; of all that came. All else that went up: sealer.bytes */
    unsigned heard, paths; /* authentic datagrams; path challenges */
    bool mute;             /* gives no answer to path challenges */
    bool welcome, prepare; /* got this message */
    char refusal[KL_TEXT_MAX];
    unsigned updates;                /* UPDATEs that have come */
    unsigned voices, updates_before; /* VOICEs that have come; UPDATEs before the first of them */
    bool deaf;                       /* takes nothing of ENet's, and so acknowledges nothing */
    /* NULL, or: what comes, as it comes */
    void (*hears)(struct intruder *n, const struct kl_msg *m);
    void (*update)(struct intruder *n, const uint8_t *body, size_t len);
    void *ctx;
    uint16_t sequence; /* of the last reliable packet made by hand */
};

/* A socket of its own and a handshake, up to the keys (or refused); ENet not yet. By pointer: it may not
 * move. */
void intruder_shake(struct intruder *n, uint16_t port, const char *from);
/* And ENet connected. */
void intruder_enter(struct intruder *n, uint16_t port);
void intruder_leave(struct intruder *n);

void intruder_serve(struct intruder *n, unsigned ms);
void intruder_look(struct intruder *n); /* the same without waiting, and without meanwhile */
void intruder_say(struct intruder *n, const void *bytes, size_t len); /* a reliable message */
void intruder_hello(struct intruder *n, const struct kl_hello *hello);
/* ENet's commands made by hand, in one datagram; acknowledged or not. */
void intruder_enet(struct intruder *n, const void *commands, size_t len);
/* A reliable packet on channel 0 by hand: out of ENet's sight, and never sent again. */
void intruder_push(struct intruder *n, const void *bytes, size_t len);
/* Seals and sends. fd: from another socket; -1: its own. */
void intruder_send(struct intruder *n, int fd, uint8_t kind, const void *body, size_t len);

/* A socket at this address of the loopback, 127.0.0.0/8 or ::1, any port. */
int stranger(const char *address);
/* To the relay of this machine, by the socket's kind of address. */
void throw_at(int fd, uint16_t port, const void *bytes, size_t len);

#endif

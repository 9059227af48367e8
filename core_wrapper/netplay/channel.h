/* channel.h - the packets of two wrappers over RetroArch's own netplay, through its packet interface: the
 * way into a room and, if no other way leads to its relay, the match's datagrams. net/PROTOCOL.md §11. Pure.
 *
 * Anybody who reaches the other RetroArch by TCP can send a packet, so the decoder trusts nothing. */
#ifndef KLW_CHANNEL_H
#define KLW_CHANNEL_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/session/url.h"

#define KL_CHANNEL_VERSION 2
#define KL_CHANNEL_MAX     1500 /* bytes of a packet; longer ones are dropped */
#define KL_CARRY_MAX       1400 /* bytes of a datagram in one packet: more than a session's datagram has */

enum kl_channel_kind {
    KL_CHANNEL_GREET = 1,   /* each side's first packet; the guest begins */
    KL_CHANNEL_TICKET = 2,  /* to the guest: the room's address; lets in one player */
    KL_CHANNEL_OUTCOME = 3, /* to the host: the result of the ticket */
    KL_CHANNEL_REFUSE = 4,  /* no room; the reason for people */
    KL_CHANNEL_BEAT = 5,    /* every second: a sign of life */
    KL_CHANNEL_CARRY = 6,   /* a datagram between the guest and the relay on the host's machine */
};
enum kl_channel_outcome { KL_CHANNEL_IN, KL_CHANNEL_FAILED };

struct kl_channel_packet {
    uint8_t kind;           /* enum kl_channel_kind */
    uint16_t version;       /* GREET: of the channel */
    uint16_t protocol;      /* GREET: of the relay's, KL_PROTOCOL_VERSION */
    struct kl_url url;      /* TICKET: relay, room and fingerprint, none of them empty; port not 0 */
    bool hosted;            /* TICKET: the relay is the host's own machine, which may have other addresses */
    uint8_t outcome;        /* enum kl_channel_outcome */
    char text[KL_TEXT_MAX]; /* REFUSE */
    uint32_t taken;         /* CARRY: bytes of datagrams that the packet's sender has taken so far */
    uint16_t len;           /* CARRY: of the datagram; 0: none, only `taken' counts */
    uint8_t datagram[KL_CARRY_MAX];
};

/* Returns the length; KL_E_SPACE; KL_E_MALFORMED: there is no such kind. p must be valid for
 * kl_channel_decode(). */
int kl_channel_encode(const struct kl_channel_packet *p, uint8_t *buf, size_t cap);
/* Returns KL_OK; KL_E_VERSION: a GREET of another version, of which only p->version is read;
 * KL_E_MALFORMED. */
int kl_channel_decode(struct kl_channel_packet *p, const void *buf, size_t len);

#endif

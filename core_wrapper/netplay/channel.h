/* channel.h - the packets of two wrappers over RetroArch's own netplay, and a way for datagrams in them.
 * Pure. */
#ifndef KLW_CHANNEL_H
#define KLW_CHANNEL_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/session/url.h"

/* --- packets --- */

/* The packets of two wrappers over RetroArch's own netplay, through its packet interface: the way into a room
 * and, if no other way leads to its relay, the match's datagrams. net/PROTOCOL.md §11. Pure.
 *
 * Anybody who reaches the other RetroArch by TCP can send a packet, so the decoder trusts nothing. */

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

/* --- a way for datagrams --- */

/* One end of a datagram way over RetroArch's packet channel: its waiting datagrams, their order, and the
 * limit of bytes under way. net/PROTOCOL.md §11. Pure; not thread-safe.
 *
 * The channel is TCP, which loses nothing and does not tell how many bytes it holds. So each side says how
 * many bytes it has taken, and at most KL_CARRY_AHEAD of its own bytes are under way. So an input never waits
 * behind more, and the frontend's buffer never fills, which would make its send block. */

#define KL_CARRY_INPUTS                                                                                      \
    64 /* waiting datagrams of inputs at most: beyond it the oldest goes, because newer ones repeat its      \
          content */
#define KL_CARRY_RESTS                                                                                       \
    192                           /* other datagrams that wait at most: beyond it the new one goes, and its  \
                                     sender, ENet, has to say it again */
#define KL_CARRY_AHEAD      32768 /* bytes under way at most: sent, and not yet taken by the other side */
#define KL_CARRY_AHEAD_REST 16384 /* bytes under way beyond which only inputs go */
#define KL_CARRY_TRICKLE    2400  /* bytes of other datagrams in a frame: two of ENet's longest */

struct kl_carry_item {
    uint16_t len;
    uint8_t bytes[KL_CARRY_MAX];
};
struct kl_carry {
    struct kl_carry_item input[KL_CARRY_INPUTS], rest[KL_CARRY_RESTS];
    unsigned input_first, input_count, rest_first, rest_count;
    unsigned trickle;     /* bytes of other datagrams that may still go in this frame */
    uint32_t sent, gone;  /* bytes: sent by us; that the other has taken of them */
    uint32_t taken, said; /* taken from the other; that it was told of */
    uint64_t dropped;     /* datagrams */
};

/* Nothing waits, nothing is under way. */
void kl_carry_init(struct kl_carry *c);
/* A datagram waits its turn (copied). One that is empty or longer than KL_CARRY_MAX is dropped. */
void kl_carry_put(struct kl_carry *c, const void *datagram, size_t len);
/* A frame of the frontend's begins. */
void kl_carry_frame(struct kl_carry *c);
/* The next packet to send now, or false: none is due, or may go. */
bool kl_carry_next(struct kl_carry *c, struct kl_channel_packet *out);
/* Takes a CARRY of the other side; its datagram counts as taken. Returns KL_OK, or KL_E_MALFORMED with
 * nothing changed, if it acknowledges bytes that were not sent, or fewer than before. */
int kl_carry_take(struct kl_carry *c, const struct kl_channel_packet *p);

#endif

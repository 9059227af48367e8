/* carry.h - one end of a datagram way over RetroArch's packet channel: its waiting datagrams, their order,
 * and the limit of bytes under way. net/PROTOCOL.md §11. Pure; not thread-safe.
 *
 * The channel is TCP, which loses nothing and does not tell how many bytes it holds. So each side says how
 * many bytes it has taken, and at most KL_CARRY_AHEAD of its own bytes are under way. So an input never
 * waits behind more, and the frontend's buffer never fills, which would make its send block. */
#ifndef KLW_CARRY_H
#define KLW_CARRY_H

#include "core_wrapper/netplay/channel.h"

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

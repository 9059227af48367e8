/* udp_filter.h - the opened datagrams that ENet may see. net/PROTOCOL.md §8.
 *
 * ENet 1.3.17 trusts much of its input (docs/porting.md: fragments that make half a gigabyte of 100
 * kB, a source port of 0 that breaks sending for everybody, bandwidth limits set by the peer), and a client
 * with a session may still be hostile. Keylock uses a small part of ENet: two channels, reliable packets of
 * at most KL_MSG_MAX bytes. This filter drops the rest before ENet allocates anything. Pure: bytes in,
 * verdict out. */
#ifndef KL_UDP_FILTER_H
#define KL_UDP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kl_udp_side { KL_UDP_RELAY, KL_UDP_CLIENT };

struct kl_udp_verdict {
    bool pass;      /* ENet may have it */
    bool sequenced; /* it carries reliable data; furthest is the highest sequence number relative to base */
    uint16_t peer;  /* ENet's peer number in the header, 0xfff for a CONNECT */
    uint16_t ahead; /* distance of the furthest of them from its channel's base */
    uint16_t pieces[2];  /* by channel: messages and pieces of messages in it */
    uint32_t connect_id; /* of a CONNECT */
};

/* Judges one datagram addressed to `side`. base: by channel, the last reliable sequence number that the peer
 * has delivered; NULL: unknown. */
struct kl_udp_verdict kl_udp_judge(enum kl_udp_side side, const uint8_t *bytes, size_t len,
                                   const uint16_t *base);

/* The peer number in an ENet header; 0xfff if there is none. */
uint16_t kl_udp_peer(const uint8_t *bytes, size_t len);

#endif

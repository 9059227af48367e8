/* carrier.h - a datagram way (channel.h) that ends in a socket of this machine's own loop, so that neither
 * link nor relay notices it. The guest's link uses a port of this machine as if the relay were there. The
 * host's relay sees another client. While the frontend makes no calls, datagrams wait in the socket for
 * longer than the session would live. */
#ifndef KLW_CARRIER_H
#define KLW_CARRIER_H

#include "core_wrapper/netplay/channel.h"

#define KL_CARRIER_HOST "127.0.0.1"

struct kl_carrier;

/* Opens the guest's end. port: the relay's port for the guest's link, at KL_CARRIER_HOST. NULL without
 * memory or socket. */
struct kl_carrier *kl_carrier_open_guest(uint16_t *port);
/* The host's end for one guest: a client of the relay at this port here. */
struct kl_carrier *kl_carrier_open_host(uint16_t relay_port);
/* The channel below is another one: nothing waits, nothing is under way. The socket stays. */
void kl_carrier_again(struct kl_carrier *c);
/* As in channel.h. next: includes the datagrams that have come to the socket; take: passes datagrams on to
 * the socket. */
void kl_carrier_frame(struct kl_carrier *c);
bool kl_carrier_next(struct kl_carrier *c, struct kl_channel_packet *out);
int kl_carrier_take(struct kl_carrier *c, const struct kl_channel_packet *p);
/* Datagrams that went on to the socket, that came from it, and that had to be dropped. */
void kl_carrier_count(const struct kl_carrier *c, uint64_t *in, uint64_t *out, uint64_t *dropped);
/* NULL is allowed. */
void kl_carrier_close(struct kl_carrier *c);

#endif

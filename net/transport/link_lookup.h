/* link_lookup.h - finding the relay's address without ever holding up who closes the link. */
#ifndef KL_LINK_LOOKUP_H
#define KL_LINK_LOOKUP_H

#include "net/transport/link_state.h"

enum kl_lookup { KL_LOOKUP_FOUND, KL_LOOKUP_FAILED, KL_LOOKUP_LEFT };

/* Looks l->host up (IPv4: ENet 1.3 knows no other). Called by the network thread; ends early when the link is
 * being closed (KL_LOOKUP_LEFT). address is in network byte order. */
enum kl_lookup kl_link_lookup(struct kl_link *l, uint32_t *address, char *why, size_t why_len);

#endif

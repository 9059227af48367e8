/* wire_bytes.h - the bytes of a datagram and of a message on the wire, nearly, as the relay counts it: for
 * nets without sockets. */
#ifndef TEST_WIRE_BYTES_H
#define TEST_WIRE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "net/relay/lobby/lobby.h"

/* A datagram or message goes down: counted when it is sent. */
void wire_count_down(struct kl_traffic *t, bool reliable, size_t len);
/* One comes up: counted when it arrives. */
void wire_count_up(struct kl_traffic *t, bool reliable, size_t len);
/* The acknowledgement of a reliable message: of one that went down it comes up, and the other way round. */
void wire_count_ack(struct kl_traffic *t, bool of_down);

#endif

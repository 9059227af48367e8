/* memory_wire.h - UDP in memory, for the fuzz target of the relay's port: a system call costs more than the
 * hub takes for a datagram. ENet's functions for sockets stand in memory_wire.c, before those of its library;
 * the linker leads the calls of net/platform/socket.h there (--wrap). Numbers of sockets are small; ports are
 * WIRE_PORT + number. */
#ifndef TEST_MEMORY_WIRE_H
#define TEST_MEMORY_WIRE_H

#include "net/platform/socket.h"

#define WIRE_PORT 50000

int wire_open(void);
void wire_close(int s);
void wire_bind(int s, const struct kl_address *host); /* its port stays */
void wire_send(int s, const struct kl_address *to, const void *bytes, size_t len);
/* The length of the first datagram, which is taken; below 0: none waits. */
int wire_receive(int s, void *bytes, size_t cap, struct kl_address *from);

#endif

/* enet_sockets.h - ENet's own sockets in a relay's program: none of their datagrams enters the kernel. */
#ifndef KL_ENET_SOCKETS_H
#define KL_ENET_SOCKETS_H

/* Before the hub is opened. Nothing happens where ENet cannot be made to call this program: on Windows, or if
 * its library was linked to call itself. */
void kl_enet_sockets_begin(void);

#endif

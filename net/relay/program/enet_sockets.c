/* A program's symbols come before those of its libraries, so ENet calls these. Datagrams that it writes have
 * left already (enet_feed.h), and the one that it reads is at hand in its feed (enet_feed.h). */
#include "net/relay/program/enet_sockets.h"

#include "net/transport/enet_feed.h"

#ifndef _WIN32

__attribute__((visibility("default"))) int enet_socket_receive(ENetSocket s, ENetAddress *from,
                                                               ENetBuffer *to, size_t buffers) {
    (void)s;
    (void)to;
    (void)buffers;
    kl_enet_ends.replaced = true;
    if (!kl_enet_ends.arrived) return 0;
    kl_enet_ends.arrived = false;
    *from = (ENetAddress){0};
    return 1;
}

__attribute__((visibility("default"))) int enet_socket_send(ENetSocket s, const ENetAddress *to,
                                                            const ENetBuffer *from, size_t buffers) {
    size_t len = 0;
    (void)s;
    (void)to;
    for (size_t i = 0; i < buffers; i++)
        len += from[i].dataLength;
    return (int)len;
}

void kl_enet_sockets_begin(void) {
    ENetHost *host = kl_enet_host_create(1);
    if (!host) return;
    (void)enet_host_service(host, NULL, 0); /* it reads */
    enet_host_destroy(host);
}

#else
void kl_enet_sockets_begin(void) {}
#endif

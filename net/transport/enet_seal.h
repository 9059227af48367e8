/* enet_seal.h - ENet inside sealed datagrams. net/PROTOCOL.md §8.
 *
 * Everything that ENet sends, acknowledgements and disconnects included, leaves as the body of a sealed
 * datagram (net/session/seal.h), and only opened datagrams reach ENet. ENet 1.3 has a hook on receiving
 * (intercept) but none on sending; its checksum callback is one all the same: it is called with host->buffers
 * right before the only enet_socket_send() that there is, and host->bufferCount is read after it. So it
 * replaces the buffers by their sealed copy. tests/unit/test_enet_seal.c proves that on the ENet installed.
 *
 * ENet's connect id is the session's number, on both ends; the checksum field of each datagram carries it. */
#ifndef KL_ENET_SEAL_H
#define KL_ENET_SEAL_H

#include "net/session/seal.h"
#include "net/transport/enet_common.h"

struct kl_enet_seal {
    void *ctx;
    /* The sealer for the peer with this connect id (0: for a CONNECT's); NULL: ENet's datagram is dropped. */
    struct kl_sealer *(*sealer)(void *ctx, uint32_t connect_id);
    /* NULL: the sealed datagram leaves by the host's socket. Else it leaves by this, and ENet sends an empty
     * datagram to the peer's address, which is to be nobody's. */
    void (*send)(void *ctx, uint32_t connect_id, const uint8_t *bytes, size_t len);
    uint8_t out[KL_SEAL_OVERHEAD + ENET_PROTOCOL_MAXIMUM_MTU + 8];
};

/* Before the host sends anything. seal: borrowed for the host's life; compressor.context is taken for it. */
void kl_enet_seal_attach(ENetHost *host, struct kl_enet_seal *seal);

/* enet_host_connect() with the session's number as connect id. NULL: no free peer, or an ENet that does not
 * work as expected. */
ENetPeer *kl_enet_seal_connect(ENetHost *host, const ENetAddress *address, uint32_t session);

/* From host->intercept, before it returns 0: ENet goes on with the opened bytes, as if they came from
 * `from`. */
void kl_enet_seal_deliver(ENetHost *host, const struct kl_opened *o, const ENetAddress *from);

#endif

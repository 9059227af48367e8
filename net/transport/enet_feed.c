#include "net/transport/enet_feed.h"

#include <stddef.h>
#include <string.h>

/* --- ENet's host --- */

struct kl_enet_ends kl_enet_ends;

bool kl_enet_sink_open(struct kl_enet_sink *s) {
    s->at = kl_address_loopback(0);
    s->socket = kl_socket_open();
    if (s->socket >= 0 && kl_socket_bind(s->socket, &s->at) == 0) return true;
    kl_socket_close(s->socket);
    s->socket = -1;
    return false;
}

static ENetAddress nobody(const struct kl_enet_feed *f) {
    ENetAddress a = {.port = f->sink->at.port};
    memcpy(&a.host, f->sink->at.host + 12, sizeof a.host);
    return a;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct kl_enet_feed *f =
        (void *)((uint8_t *)host->compressor.context - offsetof(struct kl_enet_feed, seal));
    const struct kl_opened *o = f->arrived;
    if (!o) return 1;
    f->arrived = NULL;
    const ENetAddress from = nobody(f);
    kl_enet_seal_deliver(host, o, &from);
    return 0;
}

bool kl_enet_feed_open(struct kl_enet_feed *f, size_t peers, const struct kl_enet_sink *sink,
                       const struct kl_enet_seal *seal) {
    *f = (struct kl_enet_feed){.sink = sink, .own = kl_address_loopback(0), .seal = *seal};
    f->host = kl_enet_host_create(peers);
    if (!f->host || kl_socket_bind(kl_enet_socket(f->host), &f->own) != 0) {
        kl_enet_feed_close(f);
        return false;
    }
    kl_enet_seal_attach(f->host, &f->seal);
    f->host->intercept = intercept;
    return true;
}

void kl_enet_feed_close(struct kl_enet_feed *f) {
    if (f->host) enet_host_destroy(f->host);
    f->host = NULL;
}

ENetPeer *kl_enet_feed_connect(struct kl_enet_feed *f, uint32_t session) {
    const ENetAddress to = nobody(f);
    return kl_enet_seal_connect(f->host, &to, session);
}

void kl_enet_feed_begin(struct kl_enet_feed *f, const struct kl_opened *o) {
    f->arrived = o;
    if (kl_enet_ends.replaced)
        kl_enet_ends.arrived = true;
    else
        (void)kl_socket_send(f->sink->socket, &f->own, "", 1);
}

void kl_enet_feed_end(struct kl_enet_feed *f) {
    f->arrived = NULL;
}

/* --- sealed datagrams --- */

/* The buffers are a member of the host, which is ours to change; only the callback's type says const. */
static void seal_buffers(ENetBuffer *buffers, size_t count) {
    ENetHost *host = (ENetHost *)((uint8_t *)buffers - offsetof(ENetHost, buffers));
    struct kl_enet_seal *seal = host->compressor.context;
    uint32_t field;
    memcpy(&field, (const uint8_t *)buffers[0].data + buffers[0].dataLength - sizeof field, sizeof field);
    const uint32_t connect_id = field;
    struct kl_sealer *sealer = seal->sealer(seal->ctx, connect_id);
    uint8_t *body = seal->out + KL_SEAL_HEADER;
    size_t len = 0;
    host->bufferCount = 0; /* an empty datagram, which nobody takes */
    if (!sealer) return;
    for (size_t i = 0; i < count; i++) {
        if (len + buffers[i].dataLength > sizeof seal->out - KL_SEAL_OVERHEAD) return;
        if (buffers[i].dataLength) memcpy(body + len, buffers[i].data, buffers[i].dataLength);
        len += buffers[i].dataLength;
    }
    size_t sealed = kl_seal(sealer, KL_SEAL_ENET, body, len, seal->out);
    if (sealed == 0) return;
    if (seal->send) {
        seal->send(seal->ctx, connect_id, seal->out, sealed);
        buffers[0].dataLength = 0; /* Windows' call takes no datagram of no buffer */
        host->bufferCount = 1;
        return;
    }
    buffers[0].data = seal->out;
    buffers[0].dataLength = sealed;
    host->bufferCount = 1;
}

/* A leaving datagram has a header and at least one command, so two buffers or more. */
static enet_uint32 ENET_CALLBACK checksum(const ENetBuffer *buffers, size_t count) {
    if (count == 1) {
        /* For an arriving datagram: one buffer, already opened; the field holds the peer's connect id by now,
         * and giving that back makes ENet compare it with the id that the sender had put in. */
        const uint8_t *bytes = buffers->data;
        bool timed = bytes[0] & (ENET_PROTOCOL_HEADER_FLAG_SENT_TIME >> 8);
        size_t header = timed ? sizeof(ENetProtocolHeader) : sizeof(enet_uint16);
        uint32_t field = 0;
        if (buffers->dataLength >= header + sizeof field) memcpy(&field, bytes + header, sizeof field);
        return field;
    }
    seal_buffers((ENetBuffer *)buffers, count);
    return 0; /* goes into ENet's own copy of the header, which nobody sends any more */
}

void kl_enet_seal_attach(ENetHost *host, struct kl_enet_seal *seal) {
    host->compressor.context = seal;
    host->checksum = checksum;
}

/* 1.3.17 counts connect ids up from a seed, 1.3.18 draws them: so the id is set after the call, in both
 * places. */
ENetPeer *kl_enet_seal_connect(ENetHost *host, const ENetAddress *address, uint32_t session) {
    ENetPeer *peer = enet_host_connect(host, address, KL_ENET_CHANNELS, 0);
    if (!peer) return NULL;
    ENetOutgoingCommand *first = (ENetOutgoingCommand *)enet_list_begin(&peer->outgoingCommands);
    bool found =
        !enet_list_empty(&peer->outgoingCommands) &&
        (first->command.header.command & ENET_PROTOCOL_COMMAND_MASK) == ENET_PROTOCOL_COMMAND_CONNECT;
    if (!found) {
        enet_peer_reset(peer);
        return NULL;
    }
    peer->connectID = first->command.connect.connectID = session;
    return peer;
}

void kl_enet_seal_deliver(ENetHost *host, const struct kl_opened *o, const ENetAddress *from) {
    host->receivedData = o->body;
    host->receivedDataLength = o->len;
    host->receivedAddress = *from;
}

#include "tests/net/net_intruder.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"

void (*intruder_meanwhile)(void);
const char *intruder_room;

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    (void)connect_id;
    return &((struct intruder *)ctx)->sealer;
}

static void answer_path(struct intruder *n, const struct kl_opened *o) {
    uint8_t body[9] = {1};
    n->paths++;
    if (n->mute || o->len != sizeof body) return;
    memcpy(body + 1, o->body + 1, sizeof body - 1);
    intruder_send(n, -1, KL_SEAL_PATH, body, sizeof body);
}

static void take_stranger(struct intruder *n) {
    switch (kl_hs_client_receive(&n->handshake, n->host->receivedData, n->host->receivedDataLength,
                                 &n->outcome)) {
    case KL_HS_ESTABLISHED:
        n->has_keys = true;
        kl_sealer_init(&n->sealer, &n->outcome.keys, n->outcome.keys.up);
        kl_opener_init(&n->opener, &n->outcome.keys, n->outcome.keys.down);
        break;
    case KL_HS_AGAIN: {
        uint8_t init[KL_INIT_BYTES];
        if (intruder_room) n->handshake.bucket = kl_bucket(n->handshake.told_pub, intruder_room);
        kl_hs_client_init(&n->handshake, init);
        throw_at(n->host->socket, n->relay.port, init, sizeof init);
        n->asked += sizeof init;
        break;
    }
    case KL_HS_REFUSED: n->refused = true; break;
    case KL_HS_IGNORED: break;
    }
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct intruder *n = ((struct kl_enet_seal *)host->compressor.context)->ctx;
    struct kl_opened o;
    n->down += host->receivedDataLength;
    if (host->receivedDataLength > 1 && host->receivedData[1] >= KL_HS_INIT) take_stranger(n);
    if (!n->has_keys || kl_open(&n->opener, host->receivedData, host->receivedDataLength, &o) != 0) return 1;
    n->heard++;
    n->updates += o.kind == KL_SEAL_UPDATE;
    if (o.kind == KL_SEAL_VOICE && n->voices++ == 0) n->updates_before = n->updates;
    if (o.kind == KL_SEAL_UPDATE && n->update) n->update(n, o.body, o.len);
    if (o.kind == KL_SEAL_PATH) answer_path(n, &o);
    if (o.kind != KL_SEAL_ENET || !n->peer || n->deaf) return 1;
    kl_enet_seal_deliver(host, &o, &n->relay);
    return 0;
}

static void take_message(struct intruder *n, ENetPacket *packet) {
    struct kl_msg m;
    if (kl_msg_decode(&m, packet->data, packet->dataLength) == KL_OK) {
        if (m.kind == KL_MSG_REFUSE) snprintf(n->refusal, sizeof n->refusal, "%s", m.text.text);
        if (m.kind == KL_MSG_WELCOME) n->welcome = true;
        if (m.kind == KL_MSG_PREPARE) n->prepare = true;
        if (n->hears) n->hears(n, &m);
    }
    enet_packet_destroy(packet);
}

/* False: there was nothing. */
static bool serve(struct intruder *n, unsigned ms) {
    ENetEvent e;
    if (n->gone || enet_host_service(n->host, &e, ms) <= 0) return false;
    if (e.type == ENET_EVENT_TYPE_CONNECT) n->connected = true;
    if (e.type == ENET_EVENT_TYPE_DISCONNECT) n->gone = true;
    if (e.type == ENET_EVENT_TYPE_RECEIVE) take_message(n, e.packet);
    return true;
}

void intruder_serve(struct intruder *n, unsigned ms) {
    uint64_t end_us = kl_now_us() + ms * UINT64_C(1000);
    while (!n->gone && kl_now_us() < end_us) {
        if (intruder_meanwhile) intruder_meanwhile();
        (void)serve(n, 1);
    }
}

void intruder_look(struct intruder *n) {
    for (unsigned i = 0; i < 64 && serve(n, 0); i++) {
    }
}

void intruder_shake(struct intruder *n, uint16_t port, const char *from) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    uint8_t init[KL_INIT_BYTES];
    *n = (struct intruder){.host = kl_enet_host_create(1)};
    inet_pton(AF_INET, from, &in.sin_addr);
    if (bind(n->host->socket, (struct sockaddr *)&in, sizeof in) != 0) abort();
    n->relay = (ENetAddress){.host = htonl(INADDR_LOOPBACK), .port = port};
    n->seal.ctx = n;
    n->seal.sealer = sealer_of;
    kl_enet_seal_attach(n->host, &n->seal);
    n->host->intercept = intercept;
    n->host->maximumPacketSize = ENET_HOST_DEFAULT_MAXIMUM_PACKET_SIZE; /* he keeps to no limit of ours */
    kl_hs_client_begin(&n->handshake, kl_ciphers_here());
    kl_hs_client_init(&n->handshake, init);
    throw_at(n->host->socket, port, init, sizeof init);
    n->asked += sizeof init;
    for (int i = 0; i < 2000 && !n->has_keys && !n->refused; i++)
        intruder_serve(n, 1);
}

void intruder_enter(struct intruder *n, uint16_t port) {
    intruder_shake(n, port, "127.0.0.1");
    if (n->has_keys) n->peer = kl_enet_seal_connect(n->host, &n->relay, n->outcome.keys.session);
    for (int i = 0; i < 2000 && n->peer && !n->connected; i++)
        intruder_serve(n, 1);
    enet_host_flush(n->host); /* the acknowledgement that opens the session on the relay */
    if (n->connected) return;
    fprintf(stderr, "an intruder does not get in: keys %d refused %d\n", n->has_keys, n->refused);
    abort();
}

void intruder_leave(struct intruder *n) {
    enet_host_destroy(n->host);
    n->host = NULL;
}

void intruder_say(struct intruder *n, const void *bytes, size_t len) {
    enet_peer_send(n->peer, 0, enet_packet_create(bytes, len, ENET_PACKET_FLAG_RELIABLE));
}

void intruder_hello(struct intruder *n, const struct kl_hello *hello) {
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = *hello};
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    if (len <= 0) abort();
    intruder_say(n, bytes, (size_t)len);
    intruder_serve(n, 50);
}

void intruder_enet(struct intruder *n, const void *commands, size_t len) {
    uint8_t body[ENET_PROTOCOL_MAXIMUM_MTU];
    uint16_t to = htons((uint16_t)(n->peer->outgoingPeerID |
                                   n->peer->outgoingSessionID << ENET_PROTOCOL_HEADER_SESSION_SHIFT |
                                   ENET_PROTOCOL_HEADER_FLAG_SENT_TIME));
    memcpy(body, &to, 2);
    memset(body + 2, 0, 2);
    memcpy(body + 4, &n->outcome.keys.session, 4);
    memcpy(body + 8, commands, len);
    intruder_send(n, -1, KL_SEAL_ENET, body, 8 + len);
}

void intruder_push(struct intruder *n, const void *bytes, size_t len) {
    uint8_t command[ENET_PROTOCOL_MAXIMUM_MTU];
    ENetProtocolSendReliable c = {.dataLength = htons((uint16_t)len)};
    if (n->sequence == 0) n->sequence = n->peer->channels[0].outgoingReliableSequenceNumber;
    c.header.command = ENET_PROTOCOL_COMMAND_SEND_RELIABLE | ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE;
    c.header.reliableSequenceNumber = htons(++n->sequence);
    memcpy(command, &c, sizeof c);
    memcpy(command + sizeof c, bytes, len);
    intruder_enet(n, command, sizeof c + len);
}

void intruder_send(struct intruder *n, int fd, uint8_t kind, const void *body, size_t len) {
    uint8_t bytes[2048];
    size_t sealed = kl_seal(&n->sealer, kind, body, len, bytes);
    throw_at(fd < 0 ? n->host->socket : fd, n->relay.port, bytes, sealed);
}

int stranger(const char *address) {
    struct kl_address at;
    if (!kl_address_parse(address, &at)) abort();
    int family = kl_address_is_v4(&at) ? AF_INET : AF_INET6;
    int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (kl_socket_bind(fd, &at) != 0) abort();
    return fd;
}

void throw_at(int fd, uint16_t port, const void *bytes, size_t len) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (sendto(fd, bytes, len, 0, (struct sockaddr *)&in, sizeof in) >= 0) return;
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    in6.sin6_addr = in6addr_loopback;
    (void)!sendto(fd, bytes, len, 0, (struct sockaddr *)&in6, sizeof in6);
}

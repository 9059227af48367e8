#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "tests/net/net_hub.h"
#include "tests/unit/unit.h"

struct kl_hub *hub;
unsigned opened, lost, messages, voices;
static unsigned newest;
char put_out[KL_TEXT_MAX];

static void on_opened(void *ctx, unsigned peer, const char *address) {
    (void)ctx, (void)address;
    opened++;
    newest = peer;
}
static void on_lost(void *ctx, unsigned peer) {
    (void)ctx, (void)peer;
    lost++;
}
static void on_flooded(void *ctx, unsigned peer, const char *why) {
    (void)ctx, (void)peer;
    snprintf(put_out, sizeof put_out, "%s", why);
}
static void on_message(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    (void)ctx, (void)peer, (void)bytes, (void)len;
    messages++;
}
static void on_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                        uint64_t arrived_us) {
    (void)arrived_us;
    (void)ctx, (void)peer, (void)body, (void)len, (void)missing;
}

static void on_voice(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint64_t arrived_us) {
    (void)ctx, (void)peer, (void)body, (void)len, (void)arrived_us;
    voices++;
}

void hub_serve(void) {
    kl_hub_service(hub);
    kl_hub_flush(hub);
}

void hub_settle(void) {
    for (unsigned i = 0; i < 60; i++) {
        hub_serve();
        poll(NULL, 0, 1);
    }
}

int hub_begin(void **state) {
    (void)state;
    char err[200];
    struct kl_hub_config config = {
        .bind = "127.0.0.1",
        .ciphers = kl_ciphers_here(),
        .limits = {PEERS, PEERS, 100, PEERS, 5000, 16384, 500, 4096},
    };
    const struct kl_hub_handler handler = {.opened = on_opened,
                                           .lost = on_lost,
                                           .flooded = on_flooded,
                                           .message = on_message,
                                           .datagram = on_datagram,
                                           .voice = on_voice};
    kl_keypair_make(&config.key);
    opened = lost = messages = voices = 0;
    put_out[0] = 0;
    intruder_meanwhile = hub_serve;
    return kl_hub_open(&hub, &config, &handler, err, sizeof err);
}

int hub_finish(void **state) {
    (void)state;
    kl_hub_close(hub);
    return 0;
}

unsigned hub_enter(struct intruder *n) {
    unsigned before = opened;
    intruder_enter(n, kl_hub_port(hub));
    for (unsigned i = 0; i < 1000 && opened == before; i++)
        intruder_serve(n, 1);
    assert_int_equal(opened, before + 1);
    return newest;
}

unsigned hub_enet_peers(void) {
    unsigned count = 0;
    const ENetPeer *p;
    for (unsigned i = 0; (p = kl_hub_enet_nth(hub, i)); i++)
        count += p->state != ENET_PEER_STATE_DISCONNECTED;
    return count;
}

unsigned hub_sessions(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < PEERS; i++)
        count += hub->session[i].state != KL_SESSION_FREE;
    return count + hub->gate->half_open->count;
}

/* --- handshakes by hand, from any socket --- */

size_t hub_heard(int fd, uint8_t *bytes, size_t cap) {
    for (unsigned i = 0; i < 40; i++) {
        ssize_t len = recv(fd, bytes, cap, MSG_DONTWAIT);
        if (len >= 0) return (size_t)len;
        hub_serve();
        poll(NULL, 0, 1);
    }
    return 0;
}

void hub_shake(struct shaken *s, int fd) {
    uint8_t bytes[2048];
    bool has_keys = false;
    memset(s, 0, sizeof *s);
    kl_hs_client_begin(&s->handshake, kl_ciphers_here());
    kl_hs_client_init(&s->handshake, s->init);
    throw_at(fd, kl_hub_port(hub), s->init, sizeof s->init);
    for (unsigned i = 0; i < 50 && !has_keys; i++) {
        size_t len = hub_heard(fd, bytes, sizeof bytes);
        switch (kl_hs_client_receive(&s->handshake, bytes, len, &s->outcome)) {
        case KL_HS_AGAIN:
            kl_hs_client_init(&s->handshake, s->init);
            throw_at(fd, kl_hub_port(hub), s->init, sizeof s->init);
            break;
        case KL_HS_ESTABLISHED:
            memcpy(s->answer, bytes, s->answer_len = len);
            has_keys = true;
            break;
        default: break;
        }
    }
    assert_true(has_keys);
    kl_sealer_init(&s->sealer, &s->outcome.keys, s->outcome.keys.up);
}

void hub_say_sealed(struct shaken *s, int fd, uint8_t kind, const void *body, size_t len) {
    uint8_t bytes[2048];
    throw_at(fd, kl_hub_port(hub), bytes, kl_seal(&s->sealer, kind, body, len, bytes));
}

static size_t connect_command(uint8_t *out, uint32_t id) {
    ENetProtocolConnect c = {.outgoingPeerID = 0, .incomingSessionID = 0xff, .outgoingSessionID = 0xff};
    c.header.command = ENET_PROTOCOL_COMMAND_CONNECT | ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE;
    c.header.channelID = 0xff;
    c.header.reliableSequenceNumber = htons(1);
    c.mtu = htonl(KL_ENET_MTU);
    c.windowSize = htonl(65536);
    c.channelCount = htonl(KL_ENET_CHANNELS);
    c.connectID = id;
    memcpy(out, &c, sizeof c);
    return sizeof c;
}

size_t hub_connects(uint8_t *out, const uint32_t *id, unsigned count) {
    static const uint8_t header[8] = {0x8f, 0xff};
    memcpy(out, header, sizeof header);
    size_t len = sizeof header;
    for (unsigned i = 0; i < count; i++)
        len += connect_command(out + len, id[i]);
    return len;
}

/* The relay's port: datagrams of strangers, and of somebody who has a session and seals whatever he likes:
 * inputs, path answers, ENet's own commands, from one address or another. Records: extra = what (4 bits),
 * which socket (2 bits).
 *
 * Sockets: 0 the client's first address, 1 another that it may move to, 2 a stranger's. Time is the records'.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/steps.h"

#include <string.h>

#include "net/transport/hub.h"
#include "net/engine/msg.h"
#include "net/session/handshake.h"
#include "net/transport/enet_feed.h"
#include "net/transport/hub_state.h"
#include "tests/standin/memory_wire.h"

#define FLOOD_MAX     600 /* more than eleven seconds of its limit */
#define CONNECT_BYTES sizeof(ENetProtocolConnect)

enum { HOME, AWAY, STRANGER, SOCKETS };
static uint64_t now_us;
uint64_t kl_now_us(void) {
    return now_us;
}

/* --- the relay --- */

static struct kl_hub *hub;
static int known; /* the peer that was opened and not lost; -1: none */

static void on_opened(void *ctx, unsigned peer, const char *address) {
    (void)ctx;
    MUST(known < 0 && peer < 4 && strncmp(address, "127.0.0.", 8) == 0);
    known = (int)peer;
}
static void on_lost(void *ctx, unsigned peer) {
    (void)ctx;
    MUST(known == (int)peer);
    known = -1;
}
static void on_moved(void *ctx, unsigned peer, const char *address) {
    (void)ctx;
    MUST(known == (int)peer && strncmp(address, "127.0.0.", 8) == 0);
}
static void on_flooded(void *ctx, unsigned peer, const char *why) {
    (void)ctx;
    MUST(known == (int)peer && why[0]);
    kl_hub_disconnect(hub, peer); /* as the lobby does */
    known = -1;
}
static void on_message(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    (void)ctx;
    MUST(known == (int)peer && len <= KL_MSG_MAX && bytes);
}
static void on_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                        uint64_t arrived_us) {
    (void)arrived_us;
    (void)ctx, (void)missing;
    MUST(known == (int)peer && len <= 2048 && body);
}
static unsigned rooms(void *ctx) {
    (void)ctx;
    return 1;
}
static bool next_line(void *ctx, unsigned *from, struct kl_room_line *out) {
    (void)ctx;
    *out = (struct kl_room_line){
        .name = "arcade", .content = "croom.nes", .core = "core", .players = 2, .identity = {1}};
    return ++*from <= 2;
}

/* --- the peer that is connected to it --- */

static int stranger = -1;
static ENetHost *enet[2]; /* the client's two addresses; only the first speaks ENet */
static struct client {
    ENetPeer *peer;
    ENetAddress relay;
    struct kl_enet_seal seal;
    struct kl_hs_client handshake;
    struct kl_hs_outcome outcome;
    struct kl_sealer sealer;
    struct kl_opener opener;
    unsigned flooded;
    bool has_keys, answers, moved;
} c;
static size_t sent[SOCKETS], got[SOCKETS];

static int socket_of(unsigned which) {
    return which == STRANGER ? stranger : enet[which]->socket;
}
static void throw_from(unsigned which, const void *bytes, size_t len) {
    const struct kl_address to = kl_address_v4((const uint8_t *)&c.relay.host, c.relay.port);
    wire_send(socket_of(which), &to, bytes, len);
    sent[which] += len;
}
static void seal_from(unsigned which, uint8_t kind, const void *body, size_t len) {
    static uint8_t sealed[65536];
    size_t n = c.has_keys && len < 2000 ? kl_seal(&c.sealer, kind, body, len, sealed) : 0;
    if (n) throw_from(which, sealed, n);
}

static void answer_path(unsigned which, const struct kl_opened *o) {
    uint8_t body[9] = {1};
    if (!c.answers || o->len != sizeof body) return;
    memcpy(body + 1, o->body + 1, sizeof body - 1);
    c.moved = c.moved || which == AWAY;
    seal_from(which, KL_SEAL_PATH, body, sizeof body);
}

static void shake(const uint8_t *bytes, size_t len) {
    uint8_t init[KL_INIT_BYTES];
    switch (kl_hs_client_receive(&c.handshake, bytes, len, &c.outcome)) {
    case KL_HS_ESTABLISHED:
        c.has_keys = true;
        kl_sealer_init(&c.sealer, &c.outcome.keys, c.outcome.keys.up);
        kl_opener_init(&c.opener, &c.outcome.keys, c.outcome.keys.down);
        break;
    case KL_HS_AGAIN:
        kl_hs_client_init(&c.handshake, init);
        throw_from(HOME, init, sizeof init);
        break;
    case KL_HS_REFUSED:
    case KL_HS_IGNORED: break;
    }
}

/* True where it is ENet's. */
static bool take(unsigned which, uint8_t *bytes, size_t len, struct kl_opened *o) {
    got[which] += len;
    if (which == HOME && len > 1 && bytes[1] >= KL_HS_INIT) shake(bytes, len);
    if (!c.has_keys || kl_open(&c.opener, bytes, len, o) != 0) return false;
    MUST(which != STRANGER);
    if (o->kind == KL_SEAL_PATH) answer_path(which, o);
    return o->kind == KL_SEAL_ENET && which == HOME && c.peer;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    struct kl_opened o;
    (void)event;
    if (!take(HOME, host->receivedData, host->receivedDataLength, &o)) return 1;
    kl_enet_seal_deliver(host, &o, &c.relay);
    return 0;
}
static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    (void)ctx, (void)connect_id;
    return c.has_keys ? &c.sealer : NULL;
}

static void listen_on(unsigned which) {
    static uint8_t bytes[2048];
    struct kl_opened o;
    for (int n; (n = wire_receive(socket_of(which), bytes, sizeof bytes, NULL)) >= 0;)
        (void)take(which, bytes, (size_t)n, &o);
}

static void turn(void) {
    ENetEvent e;
    kl_hub_service(hub);
    kl_hub_flush(hub);
    while (kl_enet_service(enet[0], &e))
        if (e.type == ENET_EVENT_TYPE_RECEIVE)
            enet_packet_destroy(e.packet);
        else if (e.type == ENET_EVENT_TYPE_DISCONNECT)
            c.peer = NULL;
    listen_on(AWAY);
    listen_on(STRANGER);
    kl_hub_service(hub);
}

/* --- from the first datagram to ENet's connection --- */

static int bound(int s, const char *address) {
    struct kl_address host;
    MUST(kl_address_parse(address, &host));
    wire_bind(s, &host);
    return s;
}

/* cipher: mostly the one without encryption, which is ten times as quick. */
static void begin(uint8_t cipher) {
    struct kl_hub_config config = {.bind = "127.0.0.1", .key = {.secret = {1}}, .ciphers = cipher};
    const struct kl_hub_handler handler = {.opened = on_opened,
                                           .lost = on_lost,
                                           .moved = on_moved,
                                           .flooded = on_flooded,
                                           .message = on_message,
                                           .datagram = on_datagram,
                                           .rooms = rooms,
                                           .next_line = next_line};
    char err[200];
    uint8_t init[KL_INIT_BYTES];
    MUST(sodium_init() >= 0);
    config.limits = (struct kl_hub_limits){
        .peers = 4, .per_address = 3, .handshakes = 20, .half_open = 3, .datagrams = 25, .kbytes = 64};
    kl_keypair_complete(&config.key);
    now_us = 100000000;
    known = -1;
    memset(sent, 0, sizeof sent);
    memset(got, 0, sizeof got);
    memset(&c, 0, sizeof c);
    MUST(kl_hub_open(&hub, &config, &handler, err, sizeof err) == 0);
    for (unsigned i = 0; i < 2; i++) {
        enet[i] = kl_enet_host_create(1);
        MUST(enet[i]);
        bound(enet[i]->socket, i ? "127.0.0.3" : "127.0.0.2");
    }
    stranger = bound(wire_open(), "127.0.0.4");
    c.relay = (ENetAddress){.host = htonl(INADDR_LOOPBACK), .port = kl_hub_port(hub)};
    c.seal.sealer = sealer_of;
    kl_enet_seal_attach(enet[0], &c.seal);
    enet[0]->intercept = intercept;
    kl_hs_client_begin(&c.handshake, cipher);
    kl_hs_client_init(&c.handshake, init);
    throw_from(HOME, init, sizeof init);
    for (unsigned i = 0; i < 4 && !c.has_keys; i++)
        turn();
}

static void end(void) {
    kl_hub_close(hub);
    enet_host_destroy(enet[0]);
    enet_host_destroy(enet[1]);
    wire_close(stranger);
}

static void connect_enet(void) {
    if (!c.has_keys || c.peer) return;
    c.peer = kl_enet_seal_connect(enet[0], &c.relay, c.outcome.keys.session);
    for (unsigned i = 0; i < 5 && c.peer; i++, now_us += 11000)
        turn();
}

/* --- records --- */

/* ENet's header made right for the connection there is, so that its commands are looked at. */
static void as_enet(unsigned which, const struct record *r) {
    uint8_t body[1500] = {0x80, 0, 0, 1};
    uint16_t peer = c.peer ? c.peer->outgoingPeerID : ENET_PROTOCOL_MAXIMUM_PEER_ID;
    size_t n = r->len < sizeof body - 8 ? r->len : sizeof body - 8;
    body[0] |= (uint8_t)(peer >> 8);
    body[1] = (uint8_t)peer;
    if (c.peer) memcpy(body + 4, &c.outcome.keys.session, 4);
    if (n) memcpy(body + 8, r->bytes, n);
    if (!c.peer &&
        n >= CONNECT_BYTES) /* the session's number, if that is a CONNECT: who looks ahead finds it */
        memcpy(body + 8 + n - CONNECT_BYTES + offsetof(ENetProtocolConnect, connectID),
               &c.outcome.keys.session, 4);
    seal_from(which, KL_SEAL_ENET, body, n + 8);
}

/* ENet knows nobody but sessions, and each but once. */
static void expect_a_peer_a_session(void) {
    const ENetPeer *p, *q;
    for (unsigned i = 0; (p = kl_hub_enet_nth(hub, i)); i++) {
        if (p->state == ENET_PEER_STATE_DISCONNECTED) continue;
        MUST(kl_hub_find(hub, p->connectID));
        for (unsigned k = 0; k < i && (q = kl_hub_enet_nth(hub, k)); k++)
            MUST(q->state == ENET_PEER_STATE_DISCONNECTED || q->connectID != p->connectID);
    }
}

static void say(const struct record *r) {
    ENetPacket *p = c.peer ? enet_packet_create(r->bytes, r->len, ENET_PACKET_FLAG_RELIABLE) : NULL;
    if (p && enet_peer_send(c.peer, r->extra >> 4 & 1, p) != 0) enet_packet_destroy(p);
}

/* Twice as many as the byte says, in no time. Once they are enough to be put out, more say nothing new. */
static void flood(unsigned which, const struct record *r) {
    for (unsigned n = 0; r->len && n < r->bytes[0] * 2u && c.flooded < FLOOD_MAX; n++, c.flooded++) {
        seal_from(which, KL_SEAL_CTRL, "flood", 5);
        if (n % 64 == 63) kl_hub_service(hub);
    }
}

static void step(const struct record *r) {
    unsigned which = r->extra >> 4 & 1;
    switch (r->extra & 15) {
    case HUB_RAW: throw_from(r->extra >> 5 & 1 ? which : STRANGER, r->bytes, r->len); break;
    case HUB_SEALED:
        if (r->len) seal_from(which, r->bytes[0], r->bytes + 1, r->len - 1);
        break;
    case HUB_AS_ENET:
    case HUB_AS_ENET_TOO: as_enet(which, r); break;
    case HUB_CONNECT: connect_enet(); break;
    case HUB_SAY: say(r); break;
    case HUB_PATH: c.answers = r->len > 0; break;
    case HUB_PASS: now_us += 1000u + (r->len ? r->bytes[0] * 20000u : 0); break;
    case HUB_OLD: c.sealer.counter -= r->len ? r->bytes[0] : 1; break;
    case HUB_RELAY_SAYS:
        if (known >= 0) kl_hub_send(hub, (unsigned)known, r->bytes, r->len);
        break;
    case HUB_RELAY_BULK:
        if (known >= 0 && kl_hub_bulk_room(hub, (unsigned)known))
            kl_hub_send_bulk(hub, (unsigned)known, r->bytes, r->len);
        break;
    case HUB_RELAY_DATAGRAM:
        if (known >= 0 && r->len < 1000) kl_hub_send_datagram(hub, (unsigned)known, r->bytes, r->len);
        break;
    case HUB_HANG_UP:
        if (known >= 0) kl_hub_disconnect(hub, (unsigned)known);
        known = -1;
        break;
    case HUB_FLOOD: flood(which, r); break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record r;
    begin(size % 8 ? KL_CIPHER_CLEAR : KL_CIPHER_CHACHA20);
    for (unsigned n = 0; n < 60 && next_record(&data, &size, &r); n++) {
        step(&r);
        turn();
        MUST(got[STRANGER] <= sent[STRANGER]);        /* nothing is gained by asking */
        MUST(c.moved || got[AWAY] <= 3 * sent[AWAY]); /* nor by saying that one is elsewhere */
        MUST(kl_hub_stats(hub).peers == (known >= 0));
        expect_a_peer_a_session();
    }
    end();
    return 0;
}

/* lobby_net.h - the lobby without a network, in virtual time: what it says to each peer is kept, what a peer
 * says is handed to it. Include once, after cmocka. */
#ifndef TEST_LOBBY_NET_H
#define TEST_LOBBY_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/engine/msg.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/log/relay_log.h"
#include "net/session/seat.h"

#ifndef PEERS
#define PEERS 40
#endif
#define QUEUE  64
#define SECOND UINT64_C(1000000)

static struct kl_lobby *lobby;
static uint64_t now_us;
static const char *address_of_peers = "192.0.2.1:5"; /* of those that connect from now on */

/* The network's part: what was said to each peer. */
static struct inbox {
    struct kl_msg msg[QUEUE];
    unsigned count;
    bool hung_up;
    unsigned datagrams, pending;
    struct kl_traffic traffic;
    bool gone; /* without a word: it acknowledges nothing */
    bool slow; /* its link takes no bulk but `takes` pieces more */
    unsigned takes;
    uint8_t binding[32];
} inbox[PEERS];

/* A test may listen in. */
static void (*on_message)(unsigned peer, const struct kl_msg *m);
static void (*on_update)(unsigned peer, const uint8_t *body, size_t len);

/* As on the wire, nearly: seals, ENet's headers, and an acknowledgement for each message. */
#define SEAL     26
#define ENET     (SEAL + 10)
#define ENET_ACK (SEAL + 12)
static inline void count_message(unsigned peer, size_t len, bool up) {
    struct kl_traffic *t = &inbox[peer].traffic;
    t->up += up ? len + ENET : inbox[peer].gone ? 0 : ENET_ACK;
    t->down += up ? ENET_ACK : len + ENET;
}

static inline int fake_send(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    struct inbox *in = &inbox[peer];
    (void)ctx;
    assert_false(in->hung_up);
    struct kl_msg *m = &in->msg[in->count % QUEUE];
    assert_int_equal(kl_msg_decode(m, bytes, len), KL_OK);
    in->count++;
    count_message(peer, len, false);
    if (on_message) on_message(peer, m);
    return 0;
}
static inline size_t fake_bulk_room(void *ctx, unsigned peer) {
    (void)ctx;
    assert_false(inbox[peer].hung_up);
    const struct inbox *in = &inbox[peer];
    return in->pending || in->gone || (in->slow && in->takes == 0) ? 0 : 4000;
}
static inline int fake_send_bulk(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    assert_true(kl_msg_is_bulk(bytes[0]));
    assert_true(fake_bulk_room(ctx, peer) > 0);
    if (inbox[peer].slow) inbox[peer].takes--;
    return fake_send(ctx, peer, bytes, len);
}
static inline const uint8_t *fake_binding(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].binding;
}
static inline unsigned fake_pending(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].pending;
}
static inline void fake_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    (void)ctx;
    assert_false(inbox[peer].hung_up);
    inbox[peer].datagrams++;
    inbox[peer].traffic.down += len + SEAL;
    inbox[peer].traffic.frames += len + SEAL;
    if (on_update) on_update(peer, body, len);
}
static inline void fake_hang_up(void *ctx, unsigned peer) {
    (void)ctx;
    inbox[peer].hung_up = true;
}
static inline struct kl_traffic fake_traffic(void *ctx, unsigned peer) {
    (void)ctx;
    return inbox[peer].traffic;
}
static inline uint32_t fake_session(void *ctx, unsigned peer) {
    (void)ctx;
    return 1000 + peer;
}

static struct kl_lobby_limits limits_for_tests = {.peers = PEERS, .rooms = 2, .seats = 4, .catch_up_s = 3600};

static inline void open_lobby(const struct kl_lobby_limits *limits) {
    const struct kl_lobby_net net = {.send = fake_send,
                                     .send_bulk = fake_send_bulk,
                                     .bulk_room = fake_bulk_room,
                                     .binding = fake_binding,
                                     .pending = fake_pending,
                                     .datagram = fake_datagram,
                                     .traffic = fake_traffic,
                                     .hang_up = fake_hang_up,
                                     .session = fake_session};
    kl_log_set_level(getenv("KL_TEST_LOG") ? KL_LOG_DEBUG : KL_LOG_ERROR);
    memset(inbox, 0, sizeof inbox);
    now_us = 100 * SECOND;
    address_of_peers = "192.0.2.1:5";
    on_message = NULL;
    on_update = NULL;
    lobby = kl_lobby_create(limits, &net);
    assert_non_null(lobby);
    kl_lobby_run(lobby, now_us);
    now_us += 60 * SECOND; /* it is no newborn, to whom rooms are brought */
}

static inline int set_up(void **state) {
    (void)state;
    open_lobby(&limits_for_tests);
    return 0;
}
static inline int tear_down(void **state) {
    (void)state;
    kl_lobby_destroy(lobby);
    return 0;
}

static inline void run(void) {
    kl_lobby_run(lobby, now_us);
}
static inline void pass(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += 100000)
        run();
}

static inline void say(unsigned peer, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    assert_true(len > 0);
    count_message(peer, (size_t)len, true);
    kl_lobby_message(lobby, peer, bytes, (size_t)len, now_us);
    run();
}

/* The newest message of this kind to this peer, or NULL. */
static inline const struct kl_msg *heard(unsigned peer, uint8_t kind) {
    const struct inbox *in = &inbox[peer];
    for (unsigned i = in->count; i > 0 && i + QUEUE > in->count; i--)
        if (in->msg[(i - 1) % QUEUE].kind == kind) return &in->msg[(i - 1) % QUEUE];
    return NULL;
}

static inline void connect_peer(unsigned peer) {
    static uint8_t session;
    inbox[peer] = (struct inbox){0};
    inbox[peer].binding[0] = ++session;
    inbox[peer].binding[1] = (uint8_t)peer;
    kl_lobby_opened(lobby, peer, address_of_peers, now_us);
}

/* Each peer has a seat key of its own. */
static inline const struct kl_seat_key *seat_key(unsigned peer) {
    static struct kl_seat_key key;
    uint8_t seed[KL_SEAT_SEED] = {(uint8_t)(peer + 1), 7};
    kl_seat_from_seed(&key, seed);
    return &key;
}

static uint32_t strangers; /* by peer: they load no bytes of others */
static inline uint8_t consent_of(unsigned peer) {
    return strangers >> peer & 1 ? KL_CONSENT_NONE : KL_CONSENT_ROOM;
}

static inline struct kl_msg a_hello(unsigned peer, const char *room, unsigned seats, unsigned players,
                                    const char *content) {
    struct kl_msg m = {.kind = KL_MSG_HELLO};
    m.hello.version = KL_PROTOCOL_VERSION;
    m.hello.seats_wanted = (uint8_t)seats;
    m.hello.consent = consent_of(peer);
    snprintf(m.hello.name, sizeof m.hello.name, "p%u", peer);
    snprintf(m.hello.room, sizeof m.hello.room, "%s", room);
    m.hello.params = (struct kl_params){.subframes = true,
                                        .clocked = true,
                                        .players = (uint8_t)players,
                                        .fps_uhz = 60000000,
                                        .hash_every = 60};
    kl_facts_add(&m.hello.facts, "content", content);
    memcpy(m.hello.seat_key, seat_key(peer)->pub, sizeof m.hello.seat_key);
    return m;
}

static inline void hello(unsigned peer, const char *room, unsigned seats, unsigned players,
                         const char *content) {
    struct kl_msg m = a_hello(peer, room, seats, players, content);
    connect_peer(peer);
    say(peer, &m);
}

static inline void give(unsigned peer, const char *bytes) {
    struct kl_msg m = {.kind = KL_MSG_DATA};
    m.data.total = (uint32_t)strlen(bytes);
    m.data.len = (uint16_t)m.data.total;
    memcpy(m.data.bytes, bytes, m.data.len);
    say(peer, &m);
}

static inline void ready(unsigned peer, const char *files) {
    struct kl_msg m = {.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", files);
    say(peer, &m);
}

static inline void bye(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_BYE});
}

static inline void order(unsigned peer, uint8_t kind, uint8_t data) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = kind, .len = 1, .data = {data}}});
}

static inline void lose(unsigned peer) {
    inbox[peer].hung_up = true; /* nothing more may go there */
    kl_lobby_lost(lobby, peer, now_us);
    run();
}

/* The owner of `whose`'s seat, with the token that it last got there, by a new session `peer`. */
static inline struct kl_msg a_return(unsigned whose, unsigned peer, const char *room, const uint8_t *token) {
    struct kl_msg m = {.kind = KL_MSG_RETURN, .back.consent = consent_of(whose)};
    const struct kl_seat_key *k = seat_key(whose);
    snprintf(m.back.room, sizeof m.back.room, "%s", room);
    memcpy(m.back.token, token, sizeof m.back.token);
    memcpy(m.back.seat_key, k->pub, sizeof m.back.seat_key);
    kl_seat_sign(k, inbox[peer].binding, token, m.back.signature);
    return m;
}

static inline void expect_refusal(unsigned peer, uint8_t code, const char *text) {
    const struct kl_msg *m = heard(peer, KL_MSG_REFUSE);
    assert_non_null(m);
    if (!strstr(m->text.text, text)) print_error("refusal: %s\nwanted: %s\n", m->text.text, text);
    assert_non_null(strstr(m->text.text, text));
    assert_int_equal(m->text.code, code);
    assert_true(inbox[peer].hung_up);
}

static inline const struct kl_member *member_of(unsigned peer, unsigned client) {
    const struct kl_msg *m = heard(peer, KL_MSG_ROSTER);
    assert_non_null(m);
    for (unsigned i = 0; i < m->roster.count; i++)
        if (m->roster.member[i].client == client) return &m->roster.member[i];
    return NULL;
}
static inline uint8_t state_of(unsigned peer, unsigned client) {
    const struct kl_member *m = member_of(peer, client);
    return m ? m->state : KL_MEMBER_GONE;
}

/* Clients 0 .. players-1, loaded and playing. */
static inline void start_game_of(unsigned players) {
    for (unsigned i = 0; i < players; i++)
        hello(i, "room", 1, players, "x");
    give(0, "save");
    for (unsigned i = 0; i < players; i++)
        ready(i, "a");
    assert_int_equal(state_of(players - 1, players - 1), KL_MEMBER_PLAYING);
}

#endif

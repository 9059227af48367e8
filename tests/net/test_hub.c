/* test_hub.c - the relay's end of the network by itself, in this process, against who has a session by the
 * rules and then says what no client would: in another's name, twice, or datagrams that somebody recorded.
 * net/PROTOCOL.md §8, §9.
 * runs: waiting, test, 7 s */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/transport/hub_state.h"
#include "tests/net/net_intruder.h"

#define PEERS 16

static struct kl_hub *hub;
static unsigned opened, lost, messages, voices, newest;
static char put_out[KL_TEXT_MAX];

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

static void serve(void) {
    kl_hub_service(hub);
    kl_hub_flush(hub);
}

/* Until what was thrown at it has been looked at. */
static void settle(void) {
    for (unsigned i = 0; i < 60; i++) {
        serve();
        poll(NULL, 0, 1);
    }
}

static int begin(void **state) {
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
    intruder_meanwhile = serve;
    return kl_hub_open(&hub, &config, &handler, err, sizeof err);
}

static int finish(void **state) {
    (void)state;
    kl_hub_close(hub);
    return 0;
}

/* In, and known to the hub's caller: by this number. */
static unsigned enter(struct intruder *n) {
    unsigned before = opened;
    intruder_enter(n, kl_hub_port(hub));
    for (unsigned i = 0; i < 1000 && opened == before; i++)
        intruder_serve(n, 1);
    assert_int_equal(opened, before + 1);
    return newest;
}

static unsigned enet_peers(void) {
    unsigned count = 0;
    const ENetPeer *p;
    for (unsigned i = 0; (p = kl_hub_enet_nth(hub, i)); i++)
        count += p->state != ENET_PEER_STATE_DISCONNECTED;
    return count;
}

static unsigned sessions(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < PEERS; i++)
        count += hub->session[i].state != KL_SESSION_FREE;
    return count + hub->gate->half_open->count;
}

/* --- handshakes by hand, from any socket --- */

struct shaken {
    struct kl_hs_client handshake;
    struct kl_hs_outcome outcome;
    struct kl_sealer sealer;
    uint8_t init[KL_INIT_BYTES]; /* with its cookie */
    uint8_t answer[KL_INIT_BYTES];
    size_t answer_len;
};

/* The hub's words to this socket, if any; 0: nothing. */
static size_t heard(int fd, uint8_t *bytes, size_t cap) {
    for (unsigned i = 0; i < 40; i++) {
        ssize_t len = recv(fd, bytes, cap, MSG_DONTWAIT);
        if (len >= 0) return (size_t)len;
        serve();
        poll(NULL, 0, 1);
    }
    return 0;
}

static void shake(struct shaken *s, int fd) {
    uint8_t bytes[2048];
    bool has_keys = false;
    memset(s, 0, sizeof *s);
    kl_hs_client_begin(&s->handshake, kl_ciphers_here());
    kl_hs_client_init(&s->handshake, s->init);
    throw_at(fd, kl_hub_port(hub), s->init, sizeof s->init);
    for (unsigned i = 0; i < 50 && !has_keys; i++) {
        size_t len = heard(fd, bytes, sizeof bytes);
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

static void say_sealed(struct shaken *s, int fd, uint8_t kind, const void *body, size_t len) {
    uint8_t bytes[2048];
    throw_at(fd, kl_hub_port(hub), bytes, kl_seal(&s->sealer, kind, body, len, bytes));
}

/* --- in another's name --- */

static const struct {
    const char *what;
    uint8_t bytes[16];
    size_t len;
} in_his_name[] = {
    {"DISCONNECT", {ENET_PROTOCOL_COMMAND_DISCONNECT, 0xff, 0, 9, 0, 0, 0, 1}, 8},
    {"DISCONNECT, acknowledged", {0x80 | ENET_PROTOCOL_COMMAND_DISCONNECT, 0xff, 0, 9, 0, 0, 0, 1}, 8},
    {"ACKNOWLEDGE", {ENET_PROTOCOL_COMMAND_ACKNOWLEDGE, 0, 0, 1, 0, 1, 0, 0}, 8},
    {"ACKNOWLEDGE of CONNECT", {ENET_PROTOCOL_COMMAND_ACKNOWLEDGE, 0xff, 0, 1, 0, 1, 0, 0}, 8},
    {"RELIABLE", {0x80 | ENET_PROTOCOL_COMMAND_SEND_RELIABLE, 0, 0, 1, 0, 3, 'x', 'x', 'x'}, 9},
    {"RELIABLE, bulk", {0x80 | ENET_PROTOCOL_COMMAND_SEND_RELIABLE, 1, 0, 1, 0, 3, 'x', 'x', 'x'}, 9},
    {"PING", {0x80 | ENET_PROTOCOL_COMMAND_PING, 0xff, 0, 7}, 4},
};

/* The header that his peer's own datagrams have, his connect id in the field, and one command. */
static size_t as_him(const struct intruder *him, unsigned i, uint8_t *out) {
    uint16_t to = htons((uint16_t)(him->peer->outgoingPeerID |
                                   him->peer->outgoingSessionID << ENET_PROTOCOL_HEADER_SESSION_SHIFT |
                                   ENET_PROTOCOL_HEADER_FLAG_SENT_TIME));
    memcpy(out, &to, 2);
    memset(out + 2, 0, 2);
    memcpy(out + 4, &him->outcome.keys.session, 4);
    memcpy(out + 8, in_his_name[i].bytes, in_his_name[i].len);
    return 8 + in_his_name[i].len;
}

static void he_is_undisturbed(struct intruder *him, unsigned his, const char *what) {
    const ENetPeer *enet = hub->session[his].enet;
    if (lost || messages || !enet || kl_hub_pending(hub, his) != 1) print_error("%s\n", what);
    assert_int_equal(lost, 0);
    assert_int_equal(messages, 0);
    assert_non_null(enet);
    assert_int_equal(enet->state, ENET_PEER_STATE_CONNECTED);
    assert_int_equal(enet->channels[0].incomingReliableSequenceNumber, 0);
    assert_int_equal(enet->channels[1].incomingReliableSequenceNumber, 0);
    assert_int_equal(kl_hub_pending(hub, his), 1); /* messages that he has not acknowledged */
    assert_false(him->gone);
}

/* Somebody with a session says something with its keys to another's ENet peer: from elsewhere, before and
 * after ENet is connected in his own; and from the very address of the other (one machine, or one NAT; or he
 * is on the path and has moved there), where ENet by itself has nothing left to tell the two by. */
TEST_WITH(in_the_name_of_another, begin, finish) {
    struct intruder him, member;
    struct shaken beside, elsewhere;
    uint8_t body[64];
    unsigned his = enter(&him);
    assert_int_equal(kl_hub_send(hub, his, "word", 4), 0);
    him.deaf = true;
    (void)enter(&member);
    int fd = stranger("127.0.0.5");
    shake(&elsewhere, fd);
    shake(&beside, him.host->socket);
    unsigned used = enet_peers();
    uint64_t unfit = hub->stats.unfit;
    for (unsigned i = 0; i < sizeof in_his_name / sizeof in_his_name[0]; i++) {
        size_t len = as_him(&him, i, body);
        say_sealed(&elsewhere, fd, KL_SEAL_ENET, body, len);
        say_sealed(&beside, him.host->socket, KL_SEAL_ENET, body, len);
        intruder_send(&member, -1, KL_SEAL_ENET, body, len);
        settle();
        he_is_undisturbed(&him, his, in_his_name[i].what);
    }
    assert_int_equal(hub->stats.unfit - unfit, 3 * sizeof in_his_name / sizeof in_his_name[0]);
    assert_int_equal(enet_peers(), used);
    him.deaf = false;
    intruder_say(&him, "still here", 10);
    for (unsigned i = 0; i < 500 && (messages == 0 || kl_hub_pending(hub, his)); i++)
        intruder_serve(&him, 10);
    assert_int_equal(messages, 1);
    assert_int_equal(kl_hub_pending(hub, his), 0);
    close(fd);
    intruder_leave(&member);
    intruder_leave(&him);
}

/* --- CONNECT --- */

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

/* A datagram of so many CONNECTs; id(i) is the connect id of the i-th. */
static size_t connects(uint8_t *out, const uint32_t *id, unsigned count) {
    static const uint8_t header[8] = {0x8f, 0xff};
    memcpy(out, header, sizeof header);
    size_t len = sizeof header;
    for (unsigned i = 0; i < count; i++)
        len += connect_command(out + len, id[i]);
    return len;
}

/* A session is one ENet peer, whatever it says before ENet is connected in it, and after. */
TEST_WITH(one_session_one_peer, begin, finish) {
    struct intruder victim, n;
    uint8_t body[256];
    (void)enter(&victim);
    intruder_shake(&n, kl_hub_port(hub), "127.0.0.1");
    uint32_t own = n.outcome.keys.session, his = victim.outcome.keys.session;
    const uint32_t wrong[][2] = {{his, own}, {0x1234567, own}, {0, own}, {own, own}, {own, his}, {his, his}};
    for (unsigned i = 0; i < 200; i++) {
        uint32_t made_up[2] = {(i + 1) << 12, own};
        intruder_send(&n, -1, KL_SEAL_ENET, body, connects(body, made_up, 2));
        intruder_send(&n, -1, KL_SEAL_ENET, body, connects(body, wrong[i % 6], 2));
        intruder_send(&n, -1, KL_SEAL_ENET, body, connects(body, &his, 1));
    }
    settle();
    assert_int_equal(enet_peers(), 1); /* the victim's */
    for (unsigned i = 0; i < 20; i++)
        intruder_send(&n, -1, KL_SEAL_ENET, body, connects(body, &own, 1));
    settle();
    assert_int_equal(enet_peers(), 2);
    intruder_leave(&n);

    (void)enter(&n);
    own = n.outcome.keys.session;
    unsigned used = enet_peers();
    uint64_t unfit = hub->stats.unfit;
    for (unsigned i = 0; i < 20; i++)
        intruder_send(&n, -1, KL_SEAL_ENET, body, connects(body, &own, 1));
    settle();
    assert_int_equal(hub->stats.unfit - unfit, 20);
    assert_int_equal(enet_peers(), used);
    assert_int_equal(lost, 0);
    intruder_say(&n, "still here", 10);
    for (unsigned i = 0; i < 500 && messages == 0; i++)
        intruder_serve(&n, 10);
    assert_int_equal(messages, 1);
    intruder_leave(&n);
    intruder_leave(&victim);
}

/* ENet acknowledges each command, 32 in a datagram: one that holds more would be answered by nine, of twice
 * its bytes. ENet itself never puts more into one. */
TEST_WITH(no_answer_is_larger, begin, finish) {
    static const uint8_t ping[4] = {0x80 | ENET_PROTOCOL_COMMAND_PING, 0xff, 0, 9};
    enum { MOST = 280, TIMES = 20 };
    struct intruder n;
    uint8_t commands[MOST * sizeof ping];
    const struct kl_sealer *sent = &hub->session[enter(&n)].sealer;
    for (unsigned k = 0; k < MOST; k++)
        memcpy(commands + k * sizeof ping, ping, sizeof ping);
    settle();
    uint32_t datagrams = sent->counter;
    uint64_t bytes = sent->bytes;
    uint64_t unfit = hub->stats.unfit;
    for (unsigned k = 0; k < TIMES; k++)
        intruder_enet(&n, commands, sizeof commands);
    settle();
    print_message("           %u datagrams, %llu bytes for %d of %zu\n", sent->counter - datagrams,
                  (unsigned long long)(sent->bytes - bytes), TIMES, sizeof commands);
    assert_in_range(sent->counter - datagrams, 0, TIMES);
    assert_in_range(sent->bytes - bytes, 0, TIMES * sizeof commands);
    assert_int_equal(hub->stats.unfit - unfit, TIMES);
    intruder_enet(&n, commands, ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS * sizeof ping);
    settle();
    assert_int_equal(hub->stats.unfit - unfit, TIMES);
    intruder_leave(&n);
}

/* --- a relay that is full --- */

static void age_all(int64_t us) {
    for (unsigned n = 0; n < PEERS; n++)
        hub->session[n].since_us = hub->now_us - (uint64_t)us;
}

/* Sessions of one address that are for nothing give way to a newcomer, and nobody else's: neither one that is
 * in a room nor the only one of its address. */
TEST_WITH(a_full_relay_makes_room, begin, finish) {
    static const uint8_t ctrl[10];
    struct shaken s[PEERS];
    struct intruder him, newcomer;
    unsigned his = enter(&him);
    kl_hub_settle(hub, his);
    int alone = stranger("127.0.0.9"), many = stranger("127.0.0.2");
    for (unsigned i = 1; i < PEERS; i++) {
        shake(&s[i], i == 1 ? alone : many);
        say_sealed(&s[i], i == 1 ? alone : many, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    }
    settle();
    assert_int_equal(sessions(), PEERS);
    age_all(-60 * 1000000); /* all have just come, and may do something yet */
    intruder_shake(&newcomer, kl_hub_port(hub), "127.0.0.7");
    assert_true(newcomer.refused);
    intruder_leave(&newcomer);
    age_all(1000000);
    intruder_shake(&newcomer, kl_hub_port(hub), "127.0.0.7");
    assert_true(newcomer.has_keys);
    assert_int_equal(hub->session[his].state, KL_SESSION_OPEN);
    assert_non_null(kl_hub_find(hub, s[1].outcome.keys.session));
    assert_null(kl_hub_find(hub, s[2].outcome.keys.session));
    assert_non_null(kl_hub_find(hub, s[PEERS - 1].outcome.keys.session)); /* one is left */
    assert_int_equal(lost, 0); /* the caller knew of none of these */
    kl_hub_disconnect(hub, his);
    him.deaf = true;
    age_all(1000000); /* nor does one count that is put out and does not acknowledge it */
    assert_true(kl_hub_make_room(hub));
    assert_int_equal(hub->session[his].state, KL_SESSION_FREE);
    intruder_leave(&newcomer);
    intruder_leave(&him);
    close(alone);
    close(many);
}

/* --- messages that wait --- */

/* A client that takes nothing makes the relay keep so many bytes of control for it, and not one more. */
TEST_WITH(control_is_bounded_in_bytes, begin, finish) {
    static const uint8_t word[KL_MSG_MAX] = {1};
    struct intruder n;
    unsigned his = enter(&n), count = 0;
    n.deaf = true;
    while (count < KL_SENT_MAX && kl_hub_send(hub, his, word, sizeof word) == 0)
        count++;
    assert_int_equal(count, KL_CONTROL_UNDER_WAY / sizeof word);
    assert_int_equal(kl_hub_send(hub, his, word, 1), -1); /* it is over, however little comes after */
    serve();
    assert_string_equal(put_out, "your machine does not read what the relay sends");
    assert_int_equal(hub->stats.peers, 0);
    intruder_leave(&n);
}

/* --- on the way to another address --- */

#define PIECE 1000

static unsigned pieces_got;
static size_t bulk_said;

static void count_piece(struct intruder *n, const struct kl_msg *m) {
    (void)n;
    pieces_got += m->kind == KL_MSG_DATA;
}

/* As a room does that has start data to send. */
static void give_bulk(unsigned peer) {
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.total = 1 << 20, .len = PIECE}};
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    while (kl_hub_bulk_room(hub, peer) > 0 && kl_hub_send_bulk(hub, peer, bytes, (size_t)len) == 0)
        bulk_said += PIECE;
}

/* He sends from `there`, where nothing of ENet's arrives, and listens where he was: what comes to him at his
 * old address is acknowledged from the new one. Bytes that came to the new address are added to *came. */
static void on_two_legs(struct intruder *n, int before, unsigned peer, unsigned turns) {
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    uint8_t bytes[2048];
    ssize_t len;
    getsockname(n->host->socket, (struct sockaddr *)&at, &size);
    for (unsigned i = 0; i < turns; i++) {
        while ((len = recv(before, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0)
            (void)!sendto(before, bytes, (size_t)len, 0, (struct sockaddr *)&at, sizeof at);
        intruder_look(n);
        give_bulk(peer);
        serve();
        poll(NULL, 0, 1);
    }
}

/* Until the challenge is answered no bulk is sent, neither to the new address, which is not proved, nor to
 * the old one, where nobody may be any more: only what was under way before comes to its end. */
TEST_WITH(no_bulk_while_it_moves, begin, finish) {
    struct intruder n;
    unsigned his = enter(&n);
    static const uint8_t ctrl[10];
    pieces_got = 0;
    bulk_said = 0;
    n.hears = count_piece;
    n.mute = true;
    give_bulk(his);
    assert_in_range(bulk_said, 1, KL_BULK_UNDER_WAY + PIECE);
    int there = stranger("127.0.0.5"), before = n.host->socket;
    n.host->socket = there;
    intruder_send(&n, -1, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    settle();
    assert_true(kl_path_moving(&hub->session[his].path));
    size_t said = bulk_said;
    for (unsigned i = 0; i < 40 && pieces_got * PIECE < said; i++)
        on_two_legs(&n, before, his, 20);
    assert_int_equal(pieces_got * PIECE, said); /* all that was under way is there, and acknowledged */
    on_two_legs(&n, before, his, 100);
    assert_true(kl_path_moving(&hub->session[his].path));
    assert_int_equal(bulk_said, said);
    assert_int_equal(kl_hub_bulk_room(hub, his), 0);
    n.mute = false;
    for (unsigned i = 0; i < 100 && bulk_said < 2 * said; i++)
        on_two_legs(&n, before, his, 20);
    assert_false(kl_path_moving(&hub->session[his].path));
    assert_true(bulk_said >= 2 * said); /* and on it goes, where he is now */
    n.host->socket = before;
    close(there);
    intruder_leave(&n);
}

/* --- datagrams that somebody recorded --- */

/* INIT with its cookie, the handshake's second word, sent again by somebody who saw it. From its own address:
 * the same answer as long as nothing has come of the session, nothing once it has, and later, as long as the
 * cookie is good, a session that nobody has the keys of and that is forgotten after 3 s. From elsewhere, a
 * cookie of its own, and nothing is kept. */
TEST_WITH(a_replayed_init, begin, finish) {
    struct shaken s;
    uint8_t bytes[2048];
    int own = stranger("127.0.0.5"), elsewhere = stranger("127.0.0.6");
    shake(&s, own);
    assert_int_equal(sessions(), 1);
    for (unsigned i = 0; i < 20; i++) {
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
        assert_int_equal(heard(own, bytes, sizeof bytes), s.answer_len);
        assert_memory_equal(bytes, s.answer, s.answer_len);
        throw_at(elsewhere, kl_hub_port(hub), s.init, sizeof s.init);
        assert_true(heard(elsewhere, bytes, sizeof bytes) < KL_INIT_BYTES);
        assert_int_equal(bytes[1], KL_HS_COOKIE);
    }
    assert_int_equal(sessions(), 1);
    assert_int_equal(hub->gate->half_open->count, 1);

    say_sealed(&s, own, KL_SEAL_ENET, bytes, connects(bytes, &s.outcome.keys.session, 1));
    settle();
    while (recv(own, bytes, sizeof bytes, MSG_DONTWAIT) >= 0) {
    }
    uint64_t replayed = kl_hub_stats(hub).replayed;
    for (unsigned i = 0; i < 20; i++)
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
    settle();
    assert_int_equal(kl_hub_stats(hub).replayed - replayed, 20);
    for (ssize_t len; (len = recv(own, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;)
        assert_int_equal(bytes[1], KL_SEAL_ENET); /* VERIFY_CONNECT, said again; no word of a handshake */
    assert_int_equal(sessions(), 1);

    kl_hub_free(hub, &hub->session[kl_gate_slot(s.outcome.keys.session)]); /* as when its time is up */
    for (unsigned i = 0; i < 20; i++)
        throw_at(own, kl_hub_port(hub), s.init, sizeof s.init);
    settle();
    assert_int_equal(sessions(), 1);
    assert_int_equal(hub->gate->half_open->count, 1);
    uint8_t sealed[64];
    size_t len = kl_seal(&s.sealer, KL_SEAL_CTRL, "x", 1, sealed); /* by the keys of then */
    throw_at(own, kl_hub_port(hub), sealed, len);
    settle();
    assert_int_equal(hub->gate->half_open->count, 1);
    for (unsigned i = 0; i < 80 && sessions(); i++)
        settle();
    assert_int_equal(sessions(), 0);
    close(own);
    close(elsewhere);
}

/* Between a client and the relay: keeps what goes by, and says all of it several times, at once and later. */
struct between {
    int client, relay; /* sockets: towards the client, towards the relay */
    struct sockaddr_in at;
    bool any;
    struct said {
        uint8_t bytes[2048];
        size_t len;
    } kept[64];
    unsigned count;
    uint32_t session, counter[4096]; /* of the client's sealed datagrams */
    unsigned counters, twice, sessions;
};

static void count_sealed(struct between *b, const uint8_t *bytes, size_t len) {
    uint32_t session = kl_seal_session(bytes, len), counter;
    if (!session) return;
    memcpy(&counter, bytes + 6, sizeof counter);
    b->sessions += session != b->session;
    b->session = session;
    for (unsigned i = 0; i < b->counters; i++)
        b->twice += b->counter[i] == counter;
    if (b->counters < 4096) b->counter[b->counters++] = counter;
}

static void carry(struct between *b) {
    uint8_t bytes[2048];
    socklen_t size = sizeof b->at;
    ssize_t len;
    while ((len = recvfrom(b->client, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&b->at, &size)) >=
           0) {
        b->any = true;
        count_sealed(b, bytes, (size_t)len);
        for (unsigned i = 0; i < 3; i++) /* its INITs as well */
            throw_at(b->relay, kl_hub_port(hub), bytes, (size_t)len);
    }
    while ((len = recv(b->relay, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
        bool handshake = len > 1 && bytes[1] >= KL_HS_INIT;
        if (handshake && b->count < 64) {
            memcpy(b->kept[b->count].bytes, bytes, (size_t)len);
            b->kept[b->count++].len = (size_t)len;
        }
        for (unsigned i = 0; i < 3 && b->any; i++)
            (void)!sendto(b->client, bytes, (size_t)len, 0, (struct sockaddr *)&b->at, sizeof b->at);
    }
}

static void say_it_all_again(struct between *b) {
    for (unsigned i = 0; i < b->count; i++)
        (void)!sendto(b->client, b->kept[i].bytes, b->kept[i].len, 0, (struct sockaddr *)&b->at,
                      sizeof b->at);
}

/* COOKIE and ANSWER said again to a client, at once and in mid-session, begin nothing anew: no counter is
 * used twice under one key, there is one session, and it stays. */
TEST_WITH(replayed_words_of_the_relay, begin, finish) {
    static struct between b;
    struct player p = {0};
    struct sockaddr_in in = {0};
    socklen_t size = sizeof in;
    memset(&b, 0, sizeof b);
    b.client = stranger("127.0.0.1");
    b.relay = stranger("127.0.0.7");
    getsockname(b.client, (struct sockaddr *)&in, &size);
    struct kl_hello h = hello_make("ann", "room", 1, 2);
    player_open(&p, &h, ntohs(in.sin_port), 1);
    for (unsigned i = 0; i < 3000 && messages == 0; i++) {
        carry(&b);
        serve();
        poll(NULL, 0, 1);
    }
    assert_int_equal(messages, 1); /* HELLO */
    assert_in_range(b.count, 2, 64);
    for (unsigned i = 0; i < 3000; i++) { /* pings go by meanwhile */
        if (i % 50 == 0) say_it_all_again(&b);
        carry(&b);
        serve();
        poll(NULL, 0, 1);
    }
    assert_int_equal(b.twice, 0);
    assert_int_equal(b.sessions, 1);
    assert_true(b.counters > 5);
    assert_int_equal(opened, 1);
    assert_int_equal(lost, 0);
    assert_int_equal(sessions(), 1);
    player_close(&p, 0);
    close(b.client);
    close(b.relay);
}

/* --- speech --- */

/* One turn has a batch of speech; and in a turn in which the system takes no more, there is none. */
TEST_WITH(speech_goes_out_last_and_is_the_first_to_be_dropped, begin, finish) {
    struct intruder n;
    const uint8_t body[40] = {1};
    unsigned peer = enter(&n);
    for (unsigned i = 0; i < KL_SOCKET_BATCH + 1; i++)
        kl_hub_send_voice(hub, peer, body, sizeof body);
    kl_hub_send_datagram(hub, peer, body, sizeof body);
    intruder_serve(&n, 50);
    assert_int_equal(n.updates, 1);
    assert_int_equal(n.updates_before, 1);
    assert_int_equal(n.voices, KL_SOCKET_BATCH);
    assert_int_equal(kl_hub_stats(hub).voices_unsent, 1);
    assert_int_equal(kl_hub_stats(hub).out[KL_HUB_VOICES].datagrams, KL_SOCKET_BATCH);
    kl_hub_send_voice(hub, peer, body, sizeof body);
    hub->crowded = true;
    intruder_serve(&n, 50);
    assert_int_equal(n.voices, KL_SOCKET_BATCH);
    assert_int_equal(kl_hub_stats(hub).voices_unsent, 2);
    kl_hub_send_voice(hub, peer, body, sizeof body);
    intruder_send(&n, -1, KL_SEAL_VOICE, body, sizeof body);
    intruder_serve(&n, 50);
    assert_int_equal(n.voices, KL_SOCKET_BATCH + 1);
    assert_int_equal(voices, 1);
    intruder_leave(&n);
}

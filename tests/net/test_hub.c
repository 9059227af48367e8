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

#include "tests/net/net_hub.h"

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
TEST_WITH(in_the_name_of_another, hub_begin, hub_finish) {
    struct intruder him, member;
    struct shaken beside, elsewhere;
    uint8_t body[64];
    unsigned his = hub_enter(&him);
    assert_int_equal(kl_hub_send(hub, his, "word", 4), 0);
    him.deaf = true;
    (void)hub_enter(&member);
    int fd = stranger("127.0.0.5");
    hub_shake(&elsewhere, fd);
    hub_shake(&beside, him.host->socket);
    unsigned used = hub_enet_peers();
    uint64_t unfit = hub->stats.unfit;
    for (unsigned i = 0; i < sizeof in_his_name / sizeof in_his_name[0]; i++) {
        size_t len = as_him(&him, i, body);
        hub_say_sealed(&elsewhere, fd, KL_SEAL_ENET, body, len);
        hub_say_sealed(&beside, him.host->socket, KL_SEAL_ENET, body, len);
        intruder_send(&member, -1, KL_SEAL_ENET, body, len);
        hub_settle();
        he_is_undisturbed(&him, his, in_his_name[i].what);
    }
    assert_int_equal(hub->stats.unfit - unfit, 3 * sizeof in_his_name / sizeof in_his_name[0]);
    assert_int_equal(hub_enet_peers(), used);
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

/* A session is one ENet peer, whatever it says before ENet is connected in it, and after. */
TEST_WITH(one_session_one_peer, hub_begin, hub_finish) {
    struct intruder victim, n;
    uint8_t body[256];
    (void)hub_enter(&victim);
    intruder_shake(&n, kl_hub_port(hub), "127.0.0.1");
    uint32_t own = n.outcome.keys.session, his = victim.outcome.keys.session;
    const uint32_t wrong[][2] = {{his, own}, {0x1234567, own}, {0, own}, {own, own}, {own, his}, {his, his}};
    for (unsigned i = 0; i < 200; i++) {
        uint32_t made_up[2] = {(i + 1) << 12, own};
        intruder_send(&n, -1, KL_SEAL_ENET, body, hub_connects(body, made_up, 2));
        intruder_send(&n, -1, KL_SEAL_ENET, body, hub_connects(body, wrong[i % 6], 2));
        intruder_send(&n, -1, KL_SEAL_ENET, body, hub_connects(body, &his, 1));
    }
    hub_settle();
    assert_int_equal(hub_enet_peers(), 1); /* the victim's */
    for (unsigned i = 0; i < 20; i++)
        intruder_send(&n, -1, KL_SEAL_ENET, body, hub_connects(body, &own, 1));
    hub_settle();
    assert_int_equal(hub_enet_peers(), 2);
    intruder_leave(&n);

    (void)hub_enter(&n);
    own = n.outcome.keys.session;
    unsigned used = hub_enet_peers();
    uint64_t unfit = hub->stats.unfit;
    for (unsigned i = 0; i < 20; i++)
        intruder_send(&n, -1, KL_SEAL_ENET, body, hub_connects(body, &own, 1));
    hub_settle();
    assert_int_equal(hub->stats.unfit - unfit, 20);
    assert_int_equal(hub_enet_peers(), used);
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
TEST_WITH(no_answer_is_larger, hub_begin, hub_finish) {
    static const uint8_t ping[4] = {0x80 | ENET_PROTOCOL_COMMAND_PING, 0xff, 0, 9};
    enum { MOST = 280, TIMES = 20 };
    struct intruder n;
    uint8_t commands[MOST * sizeof ping];
    const struct kl_sealer *sent = &hub->session[hub_enter(&n)].sealer;
    for (unsigned k = 0; k < MOST; k++)
        memcpy(commands + k * sizeof ping, ping, sizeof ping);
    hub_settle();
    uint32_t datagrams = sent->counter;
    uint64_t bytes = sent->bytes;
    uint64_t unfit = hub->stats.unfit;
    for (unsigned k = 0; k < TIMES; k++)
        intruder_enet(&n, commands, sizeof commands);
    hub_settle();
    print_message("           %u datagrams, %llu bytes for %d of %zu\n", sent->counter - datagrams,
                  (unsigned long long)(sent->bytes - bytes), TIMES, sizeof commands);
    assert_in_range(sent->counter - datagrams, 0, TIMES);
    assert_in_range(sent->bytes - bytes, 0, TIMES * sizeof commands);
    assert_int_equal(hub->stats.unfit - unfit, TIMES);
    intruder_enet(&n, commands, ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS * sizeof ping);
    hub_settle();
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
TEST_WITH(a_full_relay_makes_room, hub_begin, hub_finish) {
    static const uint8_t ctrl[10];
    struct shaken s[PEERS];
    struct intruder him, newcomer;
    unsigned his = hub_enter(&him);
    kl_hub_settle(hub, his);
    int alone = stranger("127.0.0.9"), many = stranger("127.0.0.2");
    for (unsigned i = 1; i < PEERS; i++) {
        hub_shake(&s[i], i == 1 ? alone : many);
        hub_say_sealed(&s[i], i == 1 ? alone : many, KL_SEAL_CTRL, ctrl, sizeof ctrl);
    }
    hub_settle();
    assert_int_equal(hub_sessions(), PEERS);
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
TEST_WITH(control_is_bounded_in_bytes, hub_begin, hub_finish) {
    static const uint8_t word[KL_MSG_MAX] = {1};
    struct intruder n;
    unsigned his = hub_enter(&n), count = 0;
    n.deaf = true;
    while (count < KL_SENT_MAX && kl_hub_send(hub, his, word, sizeof word) == 0)
        count++;
    assert_int_equal(count, KL_CONTROL_UNDER_WAY / sizeof word);
    assert_int_equal(kl_hub_send(hub, his, word, 1), -1); /* it is over, however little comes after */
    hub_serve();
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
        hub_serve();
        poll(NULL, 0, 1);
    }
}

/* Until the challenge is answered no bulk is sent, neither to the new address, which is not proved, nor to
 * the old one, where nobody may be any more: only what was under way before comes to its end. */
TEST_WITH(no_bulk_while_it_moves, hub_begin, hub_finish) {
    struct intruder n;
    unsigned his = hub_enter(&n);
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
    hub_settle();
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

/* --- speech --- */

/* One turn has a batch of speech; and in a turn in which the system takes no more, there is none. */
TEST_WITH(speech_goes_out_last_and_is_the_first_to_be_dropped, hub_begin, hub_finish) {
    struct intruder n;
    const uint8_t body[40] = {1};
    unsigned peer = hub_enter(&n);
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

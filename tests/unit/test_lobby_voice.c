/* test_lobby_voice.c - speech in a room of the relay: the listeners of each packet, the host's word, talkers
 * that want too much; and the addresses that players are told of each other. net/ROOMS.md §7, Voice,
 * Straight datagrams. runs: working, check, 2 s */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

static unsigned came[PEERS]; /* packets of speech */
static struct kl_voice newest[PEERS];

static void take_voice(unsigned peer, const uint8_t *body, size_t len) {
    assert_int_equal(kl_voice_read(&newest[peer], true, body, len), KL_OK);
    came[peer]++;
}

static int begin(void **state, unsigned players, uint8_t door) {
    static const struct kl_lobby_limits limits = {
        .peers = PEERS, .rooms = 2, .seats = 8, .watchers = 4, .catch_up_s = 3600};
    (void)state;
    open_lobby(&limits);
    on_voice = take_voice;
    memset(came, 0, sizeof came);
    for (unsigned i = 0; i < players; i++) {
        struct kl_msg m = a_hello(i, "room", 1, 8, "x");
        m.hello.door = door;
        enter(i, &m);
    }
    return 0;
}
static int three_players(void **state) {
    return begin(state, 3, 0);
}
static int five_players(void **state) {
    return begin(state, 5, 0);
}
static int two_in_a_quick_match(void **state) {
    return begin(state, 2, KL_DOOR_QUICK);
}
/* Peer 20 watches. */
static int two_and_a_watcher(void **state) {
    int result = begin(state, 2, 0);
    hello(20, "room", 0, 8, "x");
    assert_int_equal(the_room()->watch.count, 1);
    return result;
}

static void hear(unsigned peer, bool on, uint16_t mask) {
    say(peer,
        &(struct kl_msg){.kind = KL_MSG_HEAR, .hear = {.on = on, .mask = mask, .id = {(uint8_t)(1 + peer)}}});
    pass(SECOND);
}

static const struct kl_voices *voices_of(unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_VOICES);
    return m ? &m->voices : NULL;
}

static void talk_as(unsigned peer, struct kl_voice v) {
    uint8_t body[KL_VOICE_DATAGRAM];
    say_voice(peer, body, kl_voice_write(&v, false, body));
}
static void talk(unsigned peer) {
    talk_as(peer, (struct kl_voice){.number = 7, .len = 40, .bytes = "words"});
}

TEST_WITH(a_packet_goes_to_those_that_asked_for_its_speaker, three_players, tear_down) {
    talk(0); /* before anybody takes part */
    hear(0, true, 0);
    talk(0);
    hear(1, true, 1);
    hear(2, true, 2); /* hears 1 alone */
    talk(0);
    assert_int_equal(came[0], 0);
    assert_int_equal(came[1], 1);
    assert_int_equal(came[2], 0);
    assert_int_equal(newest[1].client, 0);
    assert_int_equal(newest[1].number, 7);
    assert_int_equal(newest[1].len, 40);
    assert_string_equal((char *)newest[1].bytes, "words");
    talk(1);
    assert_int_equal(came[2], 1);
    assert_int_equal(came[0], 0); /* it hears nobody */
    hear(1, false, 0);
    talk(0);
    assert_int_equal(came[1], 1);
    talk(1); /* it takes no part any more */
    assert_int_equal(came[2], 1);
    assert_int_equal(kl_lobby_stats(lobby).voice.in, 2);
    assert_int_equal(kl_lobby_stats(lobby).voice.out, 2);
    assert_int_equal(kl_lobby_stats(lobby).voice.unheard, 4);
}

TEST_WITH(each_is_told_of_its_hearers_and_the_other_speakers, three_players, tear_down) {
    pass(SECOND);
    assert_null(voices_of(0));
    hear(0, true, 6);
    assert_int_equal(voices_of(0)->count, 0);
    assert_int_equal(voices_of(0)->hearers, 0);
    assert_int_equal(voices_of(0)->allowed, KL_VOICE_PLAYERS);
    assert_null(voices_of(1));
    hear(1, true, 1);
    assert_int_equal(voices_of(0)->hearers, 2);
    assert_int_equal(voices_of(0)->count, 1);
    assert_int_equal(voices_of(0)->speaker[0].client, 1);
    assert_int_equal(voices_of(0)->speaker[0].id[0], 2);
    assert_int_equal(voices_of(1)->hearers, 1);
    forget(0, KL_MSG_VOICES);
    pass(5 * SECOND); /* nothing has changed */
    assert_null(heard(0, KL_MSG_VOICES));
    lose(1);
    pass(SECOND);
    assert_int_equal(voices_of(0)->count, 0);
    assert_int_equal(voices_of(0)->hearers, 0);
}

TEST_WITH(a_new_session_has_asked_for_nobody, three_players, tear_down) {
    uint8_t token[KL_TOKEN_BYTES];
    hear(0, true, 6);
    hear(1, true, 1);
    memcpy(token, heard(1, KL_MSG_WELCOME)->welcome.token, sizeof token);
    lose(1);
    connect_peer(9);
    struct kl_msg back = a_return(1, 9, "room", token);
    say(9, &back);
    pass(SECOND);
    talk(0);
    assert_int_equal(came[9], 0);
    assert_null(voices_of(9));
    hear(9, true, 1);
    talk(0);
    assert_int_equal(came[9], 1);
}

/* A client of the version before speech may be in the room, and is told nothing of it. */
TEST_WITH(an_older_client_is_in_nobodys_way, three_players, tear_down) {
    struct kl_msg m = a_hello(9, "room", 1, 8, "x");
    m.hello.version = KL_PROTOCOL_VERSION - 1;
    enter(9, &m);
    assert_non_null(heard(9, KL_MSG_WELCOME));
    hear(0, true, 0xffff);
    hear(1, true, 0xffff);
    talk(0);
    assert_int_equal(came[1], 1);
    assert_int_equal(came[9], 0);
    assert_null(voices_of(9));
    assert_int_equal(voices_of(0)->hearers, 2);
}

TEST_WITH(the_host_says_whether_players_are_heard, three_players, tear_down) {
    hear(0, true, 6);
    hear(1, true, 1);
    order(1, KL_COMMAND_VOICE, KL_VOICE_NONE);
    assert_true(told(1, "only the host"));
    talk(0);
    assert_int_equal(came[1], 1);
    order(0, KL_COMMAND_VOICE, KL_VOICE_ALL + 1);
    order(0, KL_COMMAND_VOICE, KL_VOICE_NONE);
    assert_true(told(1, "nobody's voice is heard"));
    pass(SECOND);
    assert_int_equal(voices_of(0)->allowed, KL_VOICE_NONE);
    assert_int_equal(voices_of(0)->hearers, 0);
    talk(0);
    assert_int_equal(came[1], 1);
    order(0, KL_COMMAND_VOICE, KL_VOICE_PLAYERS);
    talk(0);
    assert_int_equal(came[1], 2);
}

TEST_WITH(a_watcher_hears_if_the_host_allows_it_and_without_a_delay, two_and_a_watcher, tear_down) {
    hear(0, true, 2);
    hear(20, true, 3);
    talk(0);
    assert_int_equal(came[20], 0);
    order(0, KL_COMMAND_VOICE, KL_VOICE_ALL);
    pass(SECOND);
    assert_int_equal(voices_of(0)->watchers, 1);
    assert_int_equal(voices_of(20)->count, 1);
    talk(0);
    assert_int_equal(came[20], 1);
    talk(20); /* a watcher does not speak */
    assert_int_equal(came[0], 0);
    say(0,
        &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_DELAY, .len = 2, .data = {5}}});
    talk(0);
    assert_int_equal(came[20], 1);
}

TEST_WITH(strangers_hear_each_other_once_both_have_asked, two_in_a_quick_match, tear_down) {
    hear(0, true, 2);
    hear(1, true, 0); /* takes part, and hears nobody */
    talk(0);
    talk(1);
    assert_int_equal(came[0] + came[1], 0);
    assert_int_equal(voices_of(0)->hearers, 0);
    hear(1, true, 1);
    talk(0);
    talk(1);
    assert_int_equal(came[0], 1);
    assert_int_equal(came[1], 1);
}

/* --- those that want too much --- */

static void all_hear_all(unsigned players) {
    for (unsigned i = 0; i < players; i++)
        hear(i, true, 0xffff);
}

TEST_WITH(three_talk_at_once_and_the_first_keep_it, five_players, tear_down) {
    all_hear_all(5);
    for (unsigned n = 0; n < 20; n++, now_us += 20000)
        for (unsigned i = 0; i < 5; i++)
            talk(4 - i);
    assert_int_equal(came[0], 60); /* of 4, 3 and 2 */
    assert_int_equal(kl_lobby_stats(lobby).voice.crowded, 40);
    talk_as(4, (struct kl_voice){.flags = KL_VOICE_LAST}); /* it has ended: the next one may talk at once */
    talk(0);
    assert_int_equal(newest[4].client, 0);
    now_us += 270000;
    talk(1);
    assert_int_equal(newest[4].client, 0);
    now_us += 10000; /* the others were silent for 300 ms */
    talk(1);
    assert_int_equal(newest[4].client, 1);
}

TEST_WITH(a_talker_that_nobody_hears_is_in_nobodys_way, five_players, tear_down) {
    all_hear_all(5);
    for (unsigned i = 0; i < 5; i++)
        hear(i, true, 3); /* hears 0 and 1 alone */
    for (unsigned i = 0; i < 5; i++)
        talk(4 - i);
    assert_int_equal(came[4], 2);
    assert_int_equal(came[0], 1);
}

/* Speaks for a second, a packet each us. Returns the packets that 1 has got. */
static unsigned talk_for_a_second(uint64_t each_us, uint8_t len) {
    came[1] = 0;
    for (uint64_t end_us = now_us + SECOND; now_us < end_us; now_us += each_us)
        talk_as(0, (struct kl_voice){.number = (uint16_t)now_us, .len = len});
    return came[1];
}

TEST_WITH(a_client_talks_no_faster_than_speech, three_players, tear_down) {
    all_hear_all(3);
    assert_int_equal(talk_for_a_second(20000, 60), 50); /* 24 kbit/s */
    assert_int_equal(talk_for_a_second(20000, KL_VOICE_SEAL + 45), 50);
    now_us += SECOND;
    assert_in_range(talk_for_a_second(1000, 40), 55, 67);
    assert_in_range(talk_for_a_second(1000, 40), 53, 56); /* no second burst */
    now_us += SECOND;
    assert_in_range(talk_for_a_second(20000, KL_VOICE_WIRE), 30, 39); /* 6 kB/s and a burst of 1.2 kB */
    assert_true(kl_lobby_stats(lobby).voice.limited > 1000);
}

TEST_WITH(malformed_and_late_packets_reach_nobody, three_players, tear_down) {
    static const uint8_t body[KL_VOICE_DATAGRAM + 1] = {0, 7, 0, 1};
    static const uint8_t flags[8] = {4, 7, 0, 1};
    all_hear_all(3);
    for (size_t len = 0; len < 4; len++)
        say_voice(0, body, len);
    say_voice(0, body, 4 + KL_VOICE_WIRE);
    say_voice(0, flags, sizeof flags);
    assert_int_equal(came[1], 0);
    assert_int_equal(kl_lobby_stats(lobby).voice.malformed, 6);
    say_voice(0, body, 3 + KL_VOICE_WIRE);
    assert_int_equal(came[1], 1);
    kl_lobby_voice(lobby, 0, body, 40, 10001, now_us);
    assert_int_equal(came[1], 1);
    assert_int_equal(kl_lobby_stats(lobby).voice.late, 1);
    kl_lobby_voice(lobby, 0, body, 40, 10000, now_us);
    assert_int_equal(came[1], 2);
}

/* HEAR counts as a command; to take no part any more is always possible. */
TEST_WITH(wishes_above_the_limit_do_not_count, three_players, tear_down) {
    for (unsigned i = 0; i < 1000; i++)
        say(0, &(struct kl_msg){.kind = KL_MSG_HEAR, .hear = {.on = true, .mask = (uint16_t)i}});
    assert_in_range(lobby->client[0].hear.said.mask, 230, 250);
    assert_false(inbox[0].hung_up);
    say(0, &(struct kl_msg){.kind = KL_MSG_HEAR});
    assert_false(lobby->client[0].hear.said.on);
}

/* --- addresses --- */

static void connect_at(unsigned peer, const char *address) {
    address_of_peers = address;
    connect_peer(peer);
}

static int three_addresses(void **state) {
    static const char *const at[] = {"192.0.2.1:1001", "192.0.2.2:1002", "192.0.2.3:1003"};
    int result = set_up(state);
    for (unsigned i = 0; i < 3; i++) {
        address_of_peers = at[i];
        hello(i, "room", 1, 4, "a");
    }
    return result;
}

static void say_direct(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_DIRECT});
    pass(SECOND);
}

static const struct kl_peers *peers_of(unsigned peer) {
    const struct kl_msg *m = heard(peer, KL_MSG_PEERS);
    return m ? &m->peers : NULL;
}

static const struct kl_peer *only_peer_of(unsigned peer) {
    const struct kl_peers *p = peers_of(peer);
    assert_true(p && p->count == 1);
    return &p->peer[0];
}

TEST_WITH(both_must_say_so, three_addresses, tear_down) {
    static const uint8_t ann_is_at[KL_PEER_HOST] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
    say_direct(0);
    assert_int_equal(peers_of(0)->count, 0);
    say_direct(1);
    struct kl_peer bob = *only_peer_of(0), ann = *only_peer_of(1);
    assert_null(peers_of(2));
    assert_memory_equal(ann.host, ann_is_at, sizeof ann_is_at);
    assert_int_equal(ann.port, 1001);
    assert_int_equal(ann.seats, 1);
    assert_int_equal(bob.seats, 2);
    assert_memory_equal(ann.out, bob.in, 32);
    assert_memory_equal(ann.in, bob.out, 32);
    assert_memory_not_equal(ann.in, ann.out, 32);
    say_direct(2); /* each pair has keys of its own */
    assert_int_equal(peers_of(0)->count, 2);
    assert_memory_equal(peers_of(0)->peer[0].out, bob.out, 32);
    assert_memory_not_equal(peers_of(0)->peer[1].out, bob.out, 32);
}

TEST_WITH(changes_are_told_once, three_addresses, tear_down) {
    say_direct(0);
    say_direct(1);
    forget(0, KL_MSG_PEERS);
    pass(5 * SECOND);
    assert_null(heard(0, KL_MSG_PEERS));
    kl_lobby_moved(lobby, 1, "192.0.2.9:77");
    pass(SECOND);
    assert_int_equal(only_peer_of(0)->port, 77);
    kl_lobby_moved(lobby, 1, "[2001:db8::9]:78"); /* nobody at an IPv4 address can use that */
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0);
    kl_lobby_moved(lobby, 0, "[2001:db8::1]:79");
    pass(SECOND);
    assert_int_equal(only_peer_of(0)->host[15], 9);
    assert_int_equal(only_peer_of(1)->port, 79);
    lose(1);
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0);
}

TEST_WITH(keys_are_new_in_a_new_session, three_addresses, tear_down) {
    say_direct(0);
    say_direct(1);
    struct kl_peer before = *only_peer_of(0);
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(1, KL_MSG_WELCOME)->welcome.token, sizeof token);
    lose(1);
    connect_at(5, "192.0.2.2:1007");
    struct kl_msg back = a_return(1, 5, "room", token);
    say(5, &back);
    assert_non_null(heard(5, KL_MSG_WELCOME));
    pass(SECOND);
    assert_int_equal(peers_of(0)->count, 0); /* the new session has not said it */
    say_direct(5);
    assert_int_equal(only_peer_of(0)->port, 1007);
    assert_memory_not_equal(only_peer_of(0)->out, before.out, 32);
}

TEST_WITH(nobody_is_told_in_a_quick_match, set_up, tear_down) {
    for (unsigned i = 0; i < 2; i++) {
        connect_peer(i);
        struct kl_msg m = a_hello(i, "quick", 1, 2, "a");
        m.hello.door = KL_DOOR_QUICK;
        say(i, &m);
        say_direct(i);
    }
    assert_null(peers_of(0));
    assert_null(peers_of(1));
}

/* test_lobby.c - the relay's rooms without a network: what they answer, in virtual time; and the rooms that
 * a turn takes. */
#include <stdlib.h>

#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"
#include "tests/lib/rng.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/relay/room/lobby_room.h"

/* Two clients, loaded and playing. */
static void start_game(void) {
    start_game_of(2);
}

TEST_WITH(the_first_makes_the_room, set_up, tear_down) {
    hello(3, "room", 2, 4, "x");
    const struct kl_msg *m = heard(3, KL_MSG_WELCOME);
    assert_non_null(m);
    assert_int_equal(m->welcome.session, 1003);
    assert_int_equal(m->welcome.client, 0);
    assert_int_equal(m->welcome.seats, 3);
    assert_true(m->welcome.host);
    assert_int_equal(m->welcome.params.players, 4);
    hello(5, "room", 1, 1, "x");
    m = heard(5, KL_MSG_WELCOME);
    assert_int_equal(m->welcome.seats, 4);
    assert_false(m->welcome.host);
    assert_int_equal(m->welcome.params.players, 4); /* the maker's wish counts */
    assert_int_equal(heard(3, KL_MSG_ROSTER)->roster.filled, 3);
    assert_null(heard(3, KL_MSG_SEND));
    assert_int_equal(kl_lobby_rooms(lobby), 1);
}

TEST_WITH(a_room_ends_with_the_last, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    bye(0);
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    lose(1);
    assert_int_equal(kl_lobby_rooms(lobby), 1); /* the seat is kept */
    assert_int_equal(kl_lobby_members(lobby), 1);
    pass(61 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_int_equal(kl_lobby_members(lobby), 0);
    hello(2, "room", 1, 2, "another content");
    assert_non_null(heard(2, KL_MSG_WELCOME));
}

TEST_WITH(a_game_from_hello_to_frames, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    assert_non_null(heard(0, KL_MSG_SEND));
    assert_null(heard(1, KL_MSG_SEND));
    give(0, "save");
    assert_int_equal(heard(0, KL_MSG_PREPARE)->prepare.data_bytes, 4);
    assert_null(heard(0, KL_MSG_DATA)); /* it has it */
    assert_memory_equal(heard(1, KL_MSG_DATA)->data.bytes, "save", 4);
    assert_int_equal(state_of(0, 1), KL_MEMBER_LOADING);
    ready(1, "a");
    assert_int_equal(state_of(0, 1), KL_MEMBER_READY);
    assert_int_equal(inbox[0].datagrams, 0);
    ready(0, "a");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
    assert_true(inbox[0].datagrams > 0 && inbox[1].datagrams > 0);
}

TEST_WITH(refusals, set_up, tear_down) {
    hello(0, "room", 1, 3, "x");
    hello(1, "room", 1, 3, "y");
    expect_refusal(1, KL_REFUSE_IDENTITY, "content differs: room has x, you have y");
    assert_string_equal(heard(0, KL_MSG_NOTICE)->text.text, "p1 was refused: content differs");
    hello(2, "room", 4, 3, "x");
    expect_refusal(2, KL_REFUSE_FULL, "room room is full");
    hello(3, "big", 1, 5, "x");
    expect_refusal(3, KL_REFUSE_LIMIT, "wants 5 seats");
    hello(4, "second", 1, 2, "x");
    hello(5, "third", 1, 2, "x");
    expect_refusal(5, KL_REFUSE_LIMIT, "this relay is full: it has 2 rooms");
    assert_int_equal(kl_lobby_members(lobby), 2);
}

static void bounded_hello(unsigned peer, uint8_t policy, uint8_t lead_max) {
    struct kl_msg m = a_hello(peer, "room", 1, 3, "x");
    m.hello.params.policy = policy;
    m.hello.params.lead_max = lead_max;
    enter(peer, &m);
}

static void measure(unsigned client, uint32_t rtt_us) {
    for (unsigned i = 0; i < KL_RTT_RECENT; i++)
        kl_rtt_sample(&((struct kl_lobby_room *)the_room())->lock.client[client].rtt, rtt_us);
    pass(1000000);
}

/* 12 frames last 200 ms at 60 frames a second. */
TEST_WITH(a_link_that_is_too_long_for_the_room_is_refused, set_up, tear_down) {
    bounded_hello(0, KL_POLICY_BOUNDED, 12);
    bounded_hello(1, KL_POLICY_BOUNDED, 30);
    bounded_hello(2, KL_POLICY_BOUNDED, 30);
    measure(0, 30000);
    measure(1, 198000);
    assert_false(inbox[1].hung_up);
    measure(2, 270000);
    expect_refusal(2, KL_REFUSE_FAR,
                   "it needs a lead of 17 frames, and the room allows 12; the host can allow more");
    assert_false(inbox[0].hung_up || inbox[1].hung_up);
    measure(0, 500000);
    expect_refusal(0, KL_REFUSE_FAR,
                   "needs a lead of 31 frames, and the room allows 12; make it with a greater lead-max");
}

TEST_WITH(a_strict_room_waits_for_any_link, set_up, tear_down) {
    bounded_hello(0, KL_POLICY_STRICT, 12);
    measure(0, 500000);
    assert_false(inbox[0].hung_up);
}

static struct kl_lock_relay *lock(void) {
    return &((struct kl_lobby_room *)the_room())->lock;
}

/* peer 1 was client 1, and left with this account: it is found by the seat key or by the address. */
static void leave_barred(void) {
    address_of_peers = "192.0.2.1:5";
    hello(0, "room", 1, 3, "x");
    address_of_peers = "192.0.2.66:7";
    hello(1, "room", 1, 3, "x");
    kl_lock_set_account(lock(), 1, (struct kl_account){200000, 3, now_us + 8000000});
    bye(1);
}

TEST_WITH(a_bar_stays_with_the_key_and_the_address, set_up, tear_down) {
    leave_barred();
    address_of_peers = "192.0.2.66:8"; /* another key */
    hello(2, "room", 1, 3, "x");
    struct kl_account same = kl_lock_account(lock(), 1);
    assert_true(same.cost_us > 0 && same.pauses == 3 && same.barred_until_us > now_us);
    bye(2);
    address_of_peers = "192.0.2.77:8";
    struct kl_msg m = a_hello(3, "room", 1, 3, "x");
    memcpy(m.hello.seat_key, seat_key(2)->pub, sizeof m.hello.seat_key);
    enter(3, &m);
    assert_int_equal(kl_lock_account(lock(), 1).pauses, 3);
    bye(3);
    address_of_peers = "192.0.2.88:8"; /* somebody else */
    hello(4, "room", 1, 3, "x");
    assert_int_equal(kl_lock_account(lock(), 1).pauses, 0);
    address_of_peers = "192.0.2.77:9"; /* the place is taken; the bar is the same */
    hello(2, "room", 1, 3, "x");
    assert_int_equal(kl_lock_account(lock(), 2).pauses, 3);
}

TEST_WITH(a_client_that_comes_late_is_checked_like_everybody, set_up, tear_down) {
    start_game();
    hello(2, "room", 1, 2, "y");
    expect_refusal(2, KL_REFUSE_IDENTITY, "content differs: room has x, you have y");
    order(0, KL_COMMAND_LOCK, 1);
    hello(3, "room", 1, 2, "x");
    expect_refusal(3, KL_REFUSE_DOOR, "its host has locked it");
    order(0, KL_COMMAND_LOCK, 0);
    hello(4, "room", 1, 2, "x"); /* no seat is free, and nobody watches here */
    expect_refusal(4, KL_REFUSE_FULL, "is full, and this relay takes no watchers");
    lobby->limits.watchers = 1;
    hello(4, "room", 1, 2, "x");
    pass(SECOND);
    assert_non_null(heard(4, KL_MSG_PREPARE));
    assert_int_equal(heard(4, KL_MSG_WELCOME)->welcome.seats, 0);
    assert_true(told(4, "2 of 2 seats taken: you watch, number 1 in the queue"));
    ready(4, "b");
    expect_refusal(4, KL_REFUSE_IDENTITY, "system differs: room has a, you have b");
    assert_int_equal(kl_lobby_members(lobby), 2);
}

/* Both sides hear of a soft patch. Strangers tell a room no more than a few lines. */
TEST_WITH(a_soft_patch_is_named, set_up, tear_down) {
    hello(0, "room", 1, 3, "xxh3 1 (2 bytes, a.nes)");
    hello(1, "room", 1, 3, "xxh3 2 (patch hack.ips, 2 bytes, a.nes)");
    expect_refusal(1, KL_REFUSE_IDENTITY, "you have xxh3 2 (patch hack.ips, 2 bytes, a.nes)");
    expect_notice(0, " has a soft patch: hack.ips");
    hello(2, "other", 1, 3, "xxh3 2 (patch hack.ips, 2 bytes, a.nes)");
    hello(3, "other", 1, 3, "xxh3 1 (2 bytes, a.nes)");
    expect_notice(2, " lacks the soft patch hack.ips");
    unsigned told = 0;
    for (unsigned i = 0; i < 30; i++) {
        forget(0, KL_MSG_NOTICE);
        hello(1, "room", 1, 3, "y");
        told += heard(0, KL_MSG_NOTICE) != NULL;
    }
    assert_in_range(told, 1, 6);
}

TEST_WITH(too_many_clients, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 0, 2, "x");
    expect_refusal(1, KL_REFUSE_FULL, "this relay takes no watchers");
    for (unsigned i = 1; i < KL_MAX_CLIENTS; i++) {
        assert_true(kl_lobby_memory_take(the_room(), i, 0));
        the_room()->member[i]->place = KL_PLACE_LEAVING; /* without seats */
    }
    hello(20, "room", 1, 2, "x");
    expect_refusal(20, KL_REFUSE_FULL, "is full: it has 16 clients");
}

TEST_WITH(facts_known_after_loading_are_compared_with_the_hosts, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    give(0, "");
    ready(1, "bios B"); /* before the host: judged when the host is ready */
    assert_null(heard(1, KL_MSG_REFUSE));
    ready(0, "bios A");
    expect_refusal(1, KL_REFUSE_IDENTITY, "system differs: room has bios A, you have bios B");
    expect_notice(0, "was refused: system differs");
    assert_null(
        strstr(heard(0, KL_MSG_NOTICE)->text.text, "bios")); /* the values are not the others' matter */
    hello(2, "room", 1, 2, "x");                             /* the seat is free; it gets the same start */
    assert_int_equal(heard(2, KL_MSG_PREPARE)->prepare.data_bytes, 0);
    ready(2, "bios A");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
}

TEST_WITH(the_next_becomes_host_and_is_asked, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    struct kl_msg part = {.kind = KL_MSG_DATA, .data = {.total = 100, .len = 10}};
    say(0, &part);
    bye(0);
    assert_true(heard(1, KL_MSG_ROSTER)->roster.member[0].host);
    assert_null(heard(1, KL_MSG_SEND)); /* a seat is missing again */
    hello(2, "room", 1, 2, "x");
    assert_non_null(heard(1, KL_MSG_SEND));
    give(1, "other");
    assert_int_equal(heard(2, KL_MSG_PREPARE)->prepare.data_bytes, 5);
}

TEST_WITH(start_data_is_paced, set_up, tear_down) {
    static struct kl_msg piece;
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    inbox[1].pending = 1000; /* nothing is acknowledged */
    for (unsigned i = 0; i < 200; i++) {
        piece =
            (struct kl_msg){.kind = KL_MSG_DATA, .data = {.offset = i * 1000, .total = 200000, .len = 1000}};
        say(0, &piece);
    }
    assert_non_null(heard(1, KL_MSG_PREPARE));
    assert_null(heard(1, KL_MSG_DATA));
    inbox[1].pending = 0;
    run();
    assert_int_equal(heard(1, KL_MSG_DATA)->data.offset, 199000);
}

TEST_WITH(protocol_errors_put_out, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    give(1, "I am not the host");
    expect_refusal(1, KL_REFUSE_PROTOCOL, "protocol error");
    ready(0, "not asked");
    expect_refusal(0, KL_REFUSE_PROTOCOL, "protocol error");
    connect_peer(2);
    kl_lobby_message(lobby, 2, (const uint8_t *)"\1\143\0", 3, now_us);
    expect_refusal(2, KL_REFUSE_VERSION,
                   "this relay speaks protocol 6, you speak 99: the relay must be updated");
    assert_int_equal(kl_lobby_members(lobby), 0);
}

TEST_WITH(a_session_begins_with_a_hello, set_up, tear_down) {
    connect_peer(0);
    ready(0, "a");
    expect_refusal(0, KL_REFUSE_PROTOCOL, "expected a HELLO, got another message");
}

TEST_WITH(a_seat_is_given_up_in_the_game_alone_and_once, set_up, tear_down) {
    hello(2, "other", 1, 3, "x");
    order(2, KL_COMMAND_SEAT, 0);
    assert_int_equal(member_of(2, 0)->seats, 1);
    start_game();
    for (unsigned i = 0; i < 2; i++) {
        order(1, KL_COMMAND_SEAT, 0);
        pass(SECOND);
        assert_int_equal(member_of(0, 1)->seats, 0);
    }
    assert_false(inbox[1].hung_up || inbox[2].hung_up);
}

TEST_WITH(start_data_comes_when_it_is_asked_for, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    give(0, "save");
    expect_refusal(0, KL_REFUSE_PROTOCOL, "protocol error");
}

TEST_WITH(malformed_datagrams_are_dropped_and_then_tell, set_up, tear_down) {
    start_game();
    uint8_t body[3] = {255, 255, 255};
    for (unsigned i = 0; i < 63; i++)
        kl_lobby_datagram(lobby, 1, body, sizeof body, 0, 0, now_us);
    run();
    assert_false(inbox[1].hung_up);
    kl_lobby_datagram(lobby, 1, body, sizeof body, 0, 0, now_us);
    run();
    expect_refusal(1, KL_REFUSE_PROTOCOL, "malformed input datagrams");
    assert_false(inbox[0].hung_up);
}

TEST_WITH(a_client_that_is_silent_is_put_out, set_up, tear_down) {
    connect_peer(9);
    pass(4900000);
    assert_false(inbox[9].hung_up);
    pass(500000);
    expect_refusal(9, KL_REFUSE_PROTOCOL, "no HELLO within 5 s");
}

TEST_WITH(a_verdict_reaches_all, set_up, tear_down) {
    start_game(); /* frame 0 is closed: a hash labelled 0 may come */
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = 0, .has = KL_HASH_RAM, .ram = 1}};
    say(0, &m);
    m.hash.ram = 2;
    say(1, &m);
    assert_int_equal(heard(0, KL_MSG_VERDICT)->verdict.differs, 1);
    assert_int_equal(heard(1, KL_MSG_VERDICT)->verdict.differs, 1);
    m.hash.frame = 999999; /* of the future */
    forget(0, KL_MSG_VERDICT);
    say(0, &m);
    assert_null(heard(0, KL_MSG_VERDICT));
    assert_false(inbox[0].hung_up);
}

TEST_WITH(spectators_do_not_stay_for_ever, set_up, tear_down) {
    hello(1, "room", 0, 1, "x");
    hello(0, "room", 1, 1, "x");
    give(1, "");
    ready(0, "a");
    ready(1, "a");
    bye(0);
    pass(9 * SECOND);
    assert_false(inbox[1].hung_up);
    pass(4 * SECOND);
    expect_refusal(1, KL_REFUSE_CLOSED, "all players have left the game");
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

TEST_WITH(shutting_down_tells_everybody, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "other", 1, 2, "x");
    connect_peer(2);
    kl_lobby_shut_down(lobby, now_us);
    for (unsigned i = 0; i < 3; i++)
        expect_refusal(i, KL_REFUSE_CLOSED, "the relay is shutting down");
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

/* --- the rooms that are due --- */

enum { ROOMS = 40, STEPS = 4000 };

static bool runs(const struct kl_lobby *l, const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < l->dues.run_count; i++)
        if (l->dues.run[i] == r) return true;
    return false;
}

static uint64_t soonest(struct kl_lobby_room **room) {
    uint64_t due_us = UINT64_MAX;
    for (unsigned i = 0; i < ROOMS; i++)
        if (room[i] && room[i]->due.due_us < due_us) due_us = room[i]->due.due_us;
    return due_us;
}

/* Rooms come, go, get times and messages; each turn runs those that are due or busy, each once. */
TEST(each_room_in_its_time) {
    struct kl_lobby *l = calloc(1, sizeof *l);
    struct kl_lobby_room *room[ROOMS] = {0};
    uint64_t dice = 1;
    assert_non_null(l);
    l->limits.rooms = ROOMS;
    l->room = calloc(ROOMS, sizeof(struct kl_lobby_room *));
    assert_non_null(l->room);
    assert_true(kl_lobby_dues_make(l));
    for (uint64_t time_us = 1; time_us < STEPS; time_us++) {
        dice = rng_mix(dice + time_us);
        unsigned n = (unsigned)(dice % ROOMS);
        if (!room[n]) {
            room[n] = calloc(1, sizeof *room[n]);
            assert_non_null(room[n]);
            room[n]->lobby = l;
            kl_lobby_add_room(room[n], kl_lobby_place(l));
        } else if (dice >> 8 & 1) {
            kl_lobby_due_at(room[n], time_us + (dice >> 16 & 63));
        } else if (dice >> 9 & 1) {
            kl_lobby_busy(room[n]);
        } else if (dice >> 10 & 1) {
            kl_lobby_drop_room(room[n]);
            free(room[n]);
            room[n] = NULL;
        }
        assert_int_equal(kl_lobby_dues_us(l), soonest(room));
        bool expected[ROOMS], due[ROOMS];
        unsigned count = 0;
        for (unsigned i = 0; i < ROOMS; i++) {
            due[i] = room[i] && room[i]->due.due_us <= time_us;
            expected[i] = room[i] && (due[i] || room[i]->due.busy);
            count += expected[i];
        }
        assert_int_equal(kl_lobby_dues_next(l, time_us), count);
        for (unsigned i = 0; i < ROOMS; i++) {
            if (!expected[i]) continue;
            assert_true(runs(l, room[i]));
            room[i]->due.runs = false;
            if (due[i]) kl_lobby_due_at(room[i], time_us + 1 + (dice >> (i % 32) & 31));
        }
    }
    for (unsigned i = 0; i < ROOMS; i++)
        free(room[i]);
    kl_lobby_dues_free(l);
    free(l->room);
    free(l);
}

/* test_lobby_limits.c - the share of the relay that one client or one address may take. ROOMS.md §7,
 * limits. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

TEST_WITH(so_many_rooms_to_one_address, set_up, tear_down) {
    reopen(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 30, .seats = 4, .rooms_per_address = 3});
    hello(0, "a", 1, 2, "x"), hello(1, "b", 1, 2, "x"), hello(2, "c", 1, 2, "x");
    hello(3, "d", 1, 2, "x");
    expect_refusal(3, KL_REFUSE_LIMIT, "your address has 3 rooms");
    hello(3, "c", 1, 2, "x"); /* others' are open to him */
    assert_non_null(heard(3, KL_MSG_WELCOME));
    address_of_peers = "[::ffff:192.0.2.1]:6";
    hello(5, "d", 1, 2, "x");
    expect_refusal(5, KL_REFUSE_LIMIT, "your address has 3 rooms");
    address_of_peers = "192.0.2.2:5";
    hello(4, "d", 1, 2, "x");
    assert_non_null(heard(4, KL_MSG_WELCOME));
    static const char *const in_one_64[] = {"[2001:db8:0:1::1]:5", "[2001:db8:0:1::2]:5",
                                            "[2001:db8:0:1:3::]:5", "[2001:db8:0:1:ffff::4]:5"};
    for (unsigned i = 0; i < 4; i++) {
        address_of_peers = in_one_64[i];
        hello(6 + i, (const char *const[]){"e", "f", "g", "h"}[i], 1, 2, "x");
    }
    assert_non_null(heard(8, KL_MSG_WELCOME));
    expect_refusal(9, KL_REFUSE_LIMIT, "your address has 3 rooms");
    address_of_peers = "[2001:db8:0:2::1]:5";
    hello(10, "h", 1, 2, "x");
    assert_non_null(heard(10, KL_MSG_WELCOME));
}

static void chat(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_CHAT, 2, "hi"}});
}

TEST_WITH(so_many_lines_and_commands, set_up, tear_down) {
    start_game_of(2);
    for (unsigned i = 0; i < 60; i++)
        chat(1);
    inbox[1].count = 0;
    chat(1);
    expect_notice(1, "too many lines a minute");
    order(1, 200, 0); /* commands count by themselves */
    inbox[1].count = 0;
    for (unsigned i = 0; i < 238; i++)
        chat(1);
    assert_false(inbox[1].hung_up);
    chat(1), chat(1);
    expect_refusal(1, KL_REFUSE_LIMIT, "too many commands");
    assert_false(inbox[0].hung_up);
}

TEST_WITH(so_many_commands, set_up, tear_down) {
    start_game_of(2);
    for (unsigned i = 0; i < 240; i++)
        order(1, KL_COMMAND_LOCK, 1);
    expect_notice(1, "only the host of the room can do that");
    order(1, KL_COMMAND_LOCK, 1);
    expect_notice(1, "too many commands a minute");
    inbox[1].count = 0;
    chat(1); /* counts by itself */
    assert_null(heard(1, KL_MSG_NOTICE));
    pass(61 * SECOND);
    order(1, KL_COMMAND_LOCK, 1);
    expect_notice(1, "only the host of the room can do that");
    assert_false(inbox[1].hung_up);
}

/* A player who pauses again after each resume. */
TEST_WITH(so_many_pauses, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    strcpy(the_room()->member[0]->v.host, "192.0.2.200");
    play(5 * SECOND);
    for (unsigned i = 0; i < 6; i++) {
        order(player[1].peer, KL_COMMAND_PAUSE, 1);
        play(SECOND / 2);
        assert_true(the_room()->lock.paused);
        order(player[0].peer, KL_COMMAND_PAUSE, 0);
        play(SECOND / 2);
        assert_false(the_room()->lock.paused);
    }
    inbox[player[1].peer].count = 0;
    order(player[1].peer, KL_COMMAND_PAUSE, 1);
    expect_notice(player[1].peer, "you have paused too often: try again in");
    play(SECOND);
    assert_false(the_room()->lock.paused);
    inbox[player[2].peer].count = 0;
    order(player[2].peer, KL_COMMAND_PAUSE, 1); /* one address has one budget */
    expect_notice(player[2].peer, "you have paused too often");
    order(player[0].peer, KL_COMMAND_PAUSE, 1);
    play(SECOND / 2);
    assert_true(the_room()->lock.paused);
    order(player[1].peer, KL_COMMAND_PAUSE, 0); /* and may always resume */
    play(10 * SECOND);
    order(player[1].peer, KL_COMMAND_PAUSE, 1);
    play(SECOND / 2);
    assert_true(the_room()->lock.paused);
}

/* Whoever leaves and comes again has paused as often as before: also at once, and under another key. */
TEST_WITH(pauses_stay_with_the_address, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    for (unsigned i = 0; i < 6; i++) {
        order(player[1].peer, KL_COMMAND_PAUSE, 1);
        play(SECOND / 2);
        if (i < 5) order(player[0].peer, KL_COMMAND_PAUSE, 0);
        play(SECOND / 2);
    }
    bye(player[1].peer);
    vanish(1);
    lobby->limits.seats = the_room()->params.players = KL_MAX_SEATS;
    hello(8, "room", 1, PLAYERS, "x"); /* its last samples are still to be played */
    assert_int_not_equal(heard(8, KL_MSG_WELCOME)->welcome.client, 1);
    order(player[0].peer, KL_COMMAND_PAUSE, 0);
    play(SECOND / 2);
    order(8, KL_COMMAND_PAUSE, 1);
    expect_notice(8, "you have paused too often");
    bye(8);
    address_of_peers = "192.0.2.9:5";
    for (unsigned i = 0; i < 20; i++) { /* others that came and went do not make that forgotten */
        hello(9 + i % 2, "room", 1, PLAYERS, "x");
        order(9 + i % 2, KL_COMMAND_LOCK, 1);
        bye(9 + i % 2);
        play(50000);
    }
    play(2 * SECOND); /* the last of their seats is free */
    address_of_peers = "192.0.2.1:6";
    hello(11, "room", 1, PLAYERS, "x");
    order(11, KL_COMMAND_PAUSE, 1);
    expect_notice(11, "you have paused too often");
}

static void pause_by(unsigned i) {
    order(player[i].peer, KL_COMMAND_PAUSE, 1);
    play(SECOND / 2);
}

static const struct kl_lobby_room *room_is(void) {
    return the_room();
}

/* A pause that nobody ends, ends by itself; the player who paused is left out until its frontend comes
 * back. */
TEST_WITH(a_pause_has_an_end, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    strcpy(the_room()->member[0]->v.host, "192.0.2.200");
    play(5 * SECOND);
    pause_by(1);
    assert_true(room_is()->lock.paused);
    const struct kl_text *asked = &heard(player[0].peer, KL_MSG_NOTICE)->text;
    assert_int_equal(asked->code, KL_NOTICE_PLAY_ON);
    assert_string_equal(asked->text, "p1 (2) pauses for 60 s at most. Go on?");
    play(58 * SECOND);
    assert_true(room_is()->lock.paused);
    play(2 * SECOND);
    assert_false(room_is()->lock.paused);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text,
                        "the pause has lasted 60 s: the game goes on");
    uint32_t before = room_is()->lock.next_close;
    play(2 * SECOND);
    assert_in_range(room_is()->lock.next_close - before, 110, 130);
    assert_int_equal(room_is()->lock.client[1].presence, KL_PRESENT); /* its frontend has run all the time */
    play(20 * SECOND);
    pause_by(2); /* of the same address */
    play(61 * SECOND);
    pause_by(1);
    play(57 * SECOND);
    assert_true(room_is()->lock.paused);
    play(3 * SECOND);
    assert_false(room_is()->lock.paused); /* 180 s are used up */
    pause_by(2);
    assert_false(room_is()->lock.paused);
    assert_string_equal(heard(player[2].peer, KL_MSG_NOTICE)->text.text,
                        "you have paused for 180 s in this match: no more");
    pause_by(0); /* another address */
    assert_true(room_is()->lock.paused);
}

/* Nobody waits for a player who is alone. */
TEST_WITH(a_pause_alone_stands, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    for (unsigned i = 1; i < PLAYERS; i++) {
        player[i].linked = false;
        lose(player[i].peer);
    }
    play(SECOND);
    pause_by(0);
    play(30 * SECOND);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "p0 (1) pauses. Go on?");
    assert_true(room_is()->member[0]->v.spent.paused_us == 0);
    play(40 * SECOND);
    assert_true(room_is()->lock.paused);
}

TEST_WITH(the_operators_pause_has_none, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    assert_int_equal(kl_lobby_order_pause(the_room(), true, now_us), KL_OK);
    play(100 * SECOND);
    assert_true(room_is()->lock.paused);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "the relay pauses. Go on?");
    order(player[1].peer, KL_COMMAND_PAUSE, 0);
    play(SECOND);
    assert_false(room_is()->lock.paused);
}

/* An answer to nonsense waits for nobody who takes none: it is left out. */
TEST_WITH(answers_are_left_out_first, set_up, tear_down) {
    start_game_of(2);
    for (unsigned i = 0; i < 2; i++) {
        inbox[1].count = 0;
        inbox[1].pending = i ? 65 : 64;
        order(1, KL_COMMAND_LOCK, 1);
        assert_int_equal(inbox[1].count, !i);
    }
    assert_false(inbox[1].hung_up);
}

TEST_WITH(a_client_that_takes_nothing_is_put_out, set_up, tear_down) {
    start_game_of(2);
    inbox[1].pending = 401;
    pass(SECOND);
    expect_refusal(1, KL_REFUSE_LIMIT, "your machine does not read what the relay sends");
    assert_false(inbox[0].hung_up);
}

TEST_WITH(start_data_has_its_measure, set_up, tear_down) {
    hello(0, "room", 1, 1, "x");
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.total = 3072 * 1024 + 1, .len = 1000}};
    say(0, &m);
    expect_refusal(0, KL_REFUSE_LIMIT, "the start data (saves) has 3145729 bytes, this relay takes 3145728");
}

/* A piece of start data; all of it zero. */
static void piece(unsigned peer, uint32_t at, uint16_t len, uint32_t total) {
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.offset = at, .total = total, .len = len}};
    say(peer, &m);
}

/* A client that goes on sending some is not waited for on that account. */
TEST_WITH(a_client_that_trickles_start_data_is_put_out, set_up, tear_down) {
    hello(0, "room", 1, 1, "x");
    for (uint32_t at = 0; at < 2 && !inbox[0].hung_up; at++) {
        piece(0, at, 1, 1000);
        pass(29 * SECOND);
    }
    assert_false(inbox[0].hung_up);
    piece(0, 2, 1, 1000);
    pass(3 * SECOND);
    expect_refusal(0, KL_REFUSE_CLOSED, "the host's start data did not arrive in time");
    assert_int_equal(lobby->start_bytes, 0);
}

TEST_WITH(a_slow_uplink_may_take_its_time, set_up, tear_down) {
    const uint32_t total = 3072 * 1024;
    uint64_t from_us = now_us;
    hello(0, "room", 1, 1, "x");
    for (uint32_t at = 0; at < total; at += 512) { /* 128 kbit/s */
        piece(0, at, 512, total);
        now_us += 31250;
        run();
    }
    assert_in_range(now_us - from_us, 190 * SECOND, 195 * SECOND);
    assert_non_null(heard(0, KL_MSG_PREPARE));
}

TEST_WITH(so_many_bytes_to_one_address, set_up, tear_down) {
    const uint32_t total = 2048 * 1024;
    static const char *const room[] = {"a", "b", "c", "d"};
    reopen(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 4, .seats = 4, .mib_per_address = 6});
    for (unsigned i = 0; i < 3; i++) {
        hello(i, room[i], 1, 1, "x");
        piece(i, 0, 1000, total);
    }
    assert_false(inbox[0].hung_up || inbox[1].hung_up);
    expect_refusal(2, KL_REFUSE_LIMIT, "the rooms of your address have used up their memory");
    address_of_peers = "192.0.2.2:5";
    hello(3, room[3], 1, 1, "x");
    piece(3, 0, 1000, total);
    assert_false(inbox[3].hung_up);
    assert_int_equal(lobby->start_bytes, 3 * total);
}

/* A room with so much start data, of an address of its own; its first piece is here. */
static void save(unsigned peer, const char *room, uint32_t total) {
    static char address[24];
    snprintf(address, sizeof address, "192.0.2.%u:5", peer + 1);
    address_of_peers = address;
    hello(peer, room, 1, 1, "x");
    piece(peer, 0, (uint16_t)(total < 1000 ? total : 1000), total);
}

/* Others may hold all the relay's memory for saves: a game with few of them begins all the same, and rooms
 * that nobody is in make way for one with many. */
TEST_WITH(a_start_has_room_beside_others, set_up, tear_down) {
    const uint32_t big = 900 * 1024, small = 256 * 1024;
    reopen(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 9, .seats = 4, .start_mib = 2});
    hello(0, "played", 1, 1, "x");
    for (uint32_t at = 0; at < big; at += 512)
        piece(0, at, 512, big);
    ready(0, "a");
    pass(3 * SECOND);
    save(1, "b", big);
    save(2, "c", big);
    expect_refusal(2, KL_REFUSE_LIMIT, "this relay has no memory for the start data now");
    save(3, "d", small + 1);
    expect_refusal(3, KL_REFUSE_LIMIT, "this relay has no memory for the start data now");
    save(4, "e", small);
    save(5, "f", small);
    assert_false(inbox[4].hung_up || inbox[5].hung_up);
    lose(0);
    pass(2 * SECOND); /* it has been played for longer */
    save(6, "g", small + 1);
    expect_refusal(6, KL_REFUSE_LIMIT, "this relay has no memory for the start data now");
    pass(2 * SECOND);
    save(7, "h", small + 1);
    assert_false(inbox[7].hung_up);
    assert_null(kl_lobby_find(lobby, "played"));
    assert_int_equal(lobby->start_bytes, big + 3 * small + 1);
}

/* Of what a room holds everything counts: start data, history, the states that it keeps. */
TEST_WITH(all_of_a_room_counts, set_up, tear_down) {
    const uint32_t total = 1024 * 1024;
    reopen(&(struct kl_lobby_limits){.peers = PEERS, .rooms = 4, .seats = 4, .mib_per_address = 8});
    hello(0, "a", 1, 1, "x");
    piece(0, 0, 1000, total);
    struct kl_lobby_room *r = kl_lobby_find(lobby, "a");
    for (unsigned i = 0; i < 3; i++) {
        r->snapshot.bytes = i == 1 ? 6 * total : 0;
        r->past.bytes = i == 2 ? 6 * total : 0;
        assert_int_equal(kl_lobby_address_has(lobby, "192.0.2.1:9", total), i == 0);
        assert_true(kl_lobby_address_has(lobby, "192.0.2.2:9", total));
    }
    r->past.bytes = 0;
}

/* The rooms of an address that has had its share play on, with less of a past. */
TEST_WITH(a_room_has_some_history_all_the_same, set_up, tear_down) {
    for (unsigned least = 0; least < 2; least++) {
        reopen(&limits_for_tests);
        start_room(KL_POLICY_BOUNDED);
        lobby->limits.mib_per_address = least ? 0 : 64;
        mash();
        play(210 * SECOND);
        const struct kl_lobby_past *p = &the_room()->past;
        assert_false(p->broken);
        assert_true(p->bytes > KL_HISTORY_LEAST - (least ? KL_HISTORY_BLOCK : 0));
        assert_true(!least || p->bytes <= KL_HISTORY_LEAST);
        assert_true(least ? p->history.first > 0 : p->history.first == 0);
        expect_all_at_the_end();
    }
}

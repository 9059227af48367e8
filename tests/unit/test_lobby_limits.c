/* test_lobby_limits.c - limits of one client, address or room: rooms, words, pauses, bytes,
 * and the time to load. net/ROOMS.md, Limits. */
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
    forget(1, KL_MSG_NOTICE);
    chat(1);
    expect_notice(1, "too many lines a minute");
    order(1, 200, 0); /* commands count by themselves */
    forget(1, KL_MSG_NOTICE);
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
    forget(1, KL_MSG_NOTICE);
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
    forget(player[1].peer, KL_MSG_NOTICE);
    order(player[1].peer, KL_COMMAND_PAUSE, 1);
    expect_notice(player[1].peer, "you have paused too often: try again in");
    play(SECOND);
    assert_false(the_room()->lock.paused);
    forget(player[2].peer, KL_MSG_NOTICE);
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

/* A player that leaves and comes again has paused as often as before: also at once, and under another key. */
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
        forget(1, KL_MSG_NOTICE);
        inbox[1].pending = i ? 65 : 64;
        order(1, KL_COMMAND_LOCK, 1);
        assert_int_equal(heard(1, KL_MSG_NOTICE) != NULL, !i);
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

/* --- the time to load --- */

enum { PIECE = 1000 };

/* The host gives so much of so much start data, as fast as can be. */
static void give_bytes(unsigned peer, uint32_t most, uint32_t total) {
    static struct kl_msg m;
    for (uint32_t at = 0; at < most; at += PIECE) {
        m = (struct kl_msg){.kind = KL_MSG_DATA, .data = {.offset = at, .total = total, .len = PIECE}};
        if (total - at < PIECE) m.data.len = (uint16_t)(total - at);
        say(peer, &m);
    }
}

/* Its link takes so many pieces a second, for so many seconds, or until it is hung up on. Returns how long.
 */
static unsigned fetch(unsigned peer, unsigned pieces, unsigned seconds) {
    unsigned s = 0;
    for (; s < seconds && !inbox[peer].hung_up; s++) {
        inbox[peer].takes += pieces;
        pass(SECOND);
    }
    return s;
}

/* Two are here, and the second one has a slow link. */
static void two_begin(uint32_t bytes) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    keep_token(0, 0), keep_token(1, 1);
    inbox[1].slow = true;
    give_bytes(0, bytes, bytes);
    assert_non_null(heard(1, KL_MSG_PREPARE));
}

/* --- slow links --- */

TEST_WITH(a_client_that_fetches_too_slowly_is_put_out, set_up, tear_down) {
    two_begin(200 * PIECE);
    ready(0, "a");
    assert_in_range(fetch(1, 1, 200), 62, 66); /* 60 s, and a second more for every 16 KiB */
    expect_refusal(1, KL_REFUSE_CLOSED, "the room's start data did not reach you in time");
    assert_false(inbox[0].hung_up);
    address_of_peers = "192.0.2.2:5"; /* the other one is barred */
    hello(2, "room", 1, 2, "x");      /* the others need not wait any more */
    ready(2, "a");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
}

TEST_WITH(a_slow_downlink_may_take_its_time, set_up, tear_down) {
    const uint32_t total = 3072 * 1024;
    two_begin(total);
    ready(0, "a");
    fetch(1, 17, 186); /* 136 kbit/s */
    assert_false(inbox[1].hung_up);
    assert_int_equal(heard(1, KL_MSG_DATA)->data.offset, total / PIECE * PIECE);
    pass(55 * SECOND); /* and then to load */
    ready(1, "a");
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
}

/* Nobody waits for who comes late, but its seat is kept from others. */
TEST_WITH(a_client_that_comes_late_has_no_more_time, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    give_bytes(0, 200 * PIECE, 200 * PIECE);
    ready(0, "a"), ready(1, "a");
    bye(1);
    pass(3 * SECOND);
    struct kl_msg m = a_hello(3, "room", 1, 2, "x");
    connect_peer(3);
    inbox[3].slow = true;
    say(3, &m);
    assert_non_null(heard(3, KL_MSG_PREPARE));
    assert_in_range(fetch(3, 1, 200), 62, 66);
    expect_refusal(3, KL_REFUSE_CLOSED, "the room's start data did not reach you in time");
    address_of_peers = "192.0.2.2:5"; /* the other one is barred */
    hello(4, "room", 1, 2, "x");
    assert_int_equal(member_of(0, 1)->seats, 2);
}

/* --- lost links --- */

/* `whose` is linked for so long, and then away for so long, again and again, each time as a new process.
 * Returns after how many seconds it is in the room no more, at most 1000. */
static unsigned come_and_go(unsigned whose, unsigned here_s, unsigned away_s) {
    uint64_t begun_us = now_us;
    unsigned peer = whose, next = 10, members = kl_lobby_members(lobby);
    while (now_us < begun_us + 1000 * SECOND && kl_lobby_members(lobby) == members) {
        for (unsigned s = 0; s < here_s && !inbox[peer].hung_up; s++)
            pass(SECOND);
        if (inbox[peer].hung_up) break;
        lose(peer);
        for (unsigned s = 0; s < away_s && kl_lobby_members(lobby) == members; s++)
            pass(SECOND);
        if (kl_lobby_members(lobby) < members) break;
        peer = next++;
        assert_true(peer < PEERS);
        seat_come_back(whose, peer, true);
    }
    return (unsigned)((now_us - begun_us) / SECOND);
}

/* He is asked for the start data, and goes, again and again. */
TEST_WITH(a_host_who_comes_and_goes, set_up, tear_down) {
    static const unsigned way[][4] = {
        {50, 5, 120, 140}, /* here most of the time: two minutes */
        {5, 25, 75, 90},   /* away most of the time: a minute away */
        {0, 9, 55, 70},    /* here for no time at all */
    };
    for (unsigned i = 0; i < 3; i++) {
        begin_again();
        hello(0, "room", 1, 2, "x");
        hello(1, "room", 1, 2, "x");
        keep_token(0, 0);
        assert_in_range(come_and_go(0, way[i][0], way[i][1]), way[i][2], way[i][3]);
        assert_true(member_of(1, 1)->host);
        address_of_peers = "192.0.2.2:5"; /* the other one is barred */
        hello(2, "room", 1, 2, "x");
        assert_non_null(heard(1, KL_MSG_SEND));
        give(1, "save");
        assert_non_null(heard(2, KL_MSG_PREPARE));
    }
}

/* Start data that came before the link was lost gives no time a second time. */
TEST_WITH(a_host_who_gives_nearly_all_again_and_again, set_up, tear_down) {
    const uint32_t total = 3072 * 1024;
    uint64_t begun_us = now_us;
    unsigned peer = 0;
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x"); /* the room does not end with the host's link */
    keep_token(0, 0);
    while (now_us < begun_us + 2000 * SECOND) {
        give_bytes(peer, total - PIECE, total);
        forget(peer, KL_MSG_NOTICE);
        for (unsigned s = 0; s < 100 && !inbox[peer].hung_up; s++)
            pass(SECOND);
        if (inbox[peer].hung_up) break;
        lose(peer);
        pass(SECOND);
        seat_come_back(0, peer = peer ? peer + 1 : 10, false);
        assert_non_null(heard(peer, KL_MSG_SEND));
    }
    expect_refusal(peer, KL_REFUSE_CLOSED, "start data did not arrive in time");
    assert_in_range((now_us - begun_us) / SECOND, 300, 330); /* 120 s, and 192 s for 3 MiB */
}

TEST_WITH(a_client_that_comes_and_goes_has_no_more_time_to_load, set_up, tear_down) {
    for (unsigned i = 0; i < 2; i++) {
        begin_again();
        two_begin(4);
        inbox[1].slow = false;
        ready(0, "a");
        if (i == 0)
            assert_in_range(come_and_go(1, 50, 5), 120, 140);
        else
            assert_in_range(come_and_go(1, 5, 25), 75, 90);
        assert_false(inbox[0].hung_up);
        address_of_peers = "192.0.2.2:5"; /* the other one is barred */
        hello(2, "room", 1, 2, "x");
        ready(2, "a");
        assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
    }
}

/* The time away is of his seat, and not of what he had to give. */
TEST_WITH(away_is_not_slow, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    hello(1, "room", 1, 2, "x");
    keep_token(0, 0);
    pass(30 * SECOND);
    lose(0);
    pass(55 * SECOND);
    seat_come_back(0, 10, false);
    pass(80 * SECOND);
    assert_false(inbox[10].hung_up);
    give(10, "save");
    assert_non_null(heard(1, KL_MSG_PREPARE));
}

/* A client that the room does not wait for has all its time when it does. */
TEST_WITH(a_client_that_was_ready_begins_anew, set_up, tear_down) {
    hello(0, "room", 1, 3, "x");
    hello(1, "room", 1, 3, "x");
    hello(2, "room", 1, 3, "x");
    keep_token(1, 1), keep_token(2, 2);
    give(0, "save");
    ready(0, "a"), ready(1, "a");
    pass(50 * SECOND);
    lose(2);
    pass(5 * SECOND);
    seat_come_back(2, 12, true);
    pass(55 * SECOND);
    lose(1);
    seat_come_back(1, 11, true);
    ready(12, "a");
    pass(55 * SECOND);
    ready(11, "a");
    assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
}

/* In the game: losses in short order count together. */
TEST_WITH(cuts_in_a_row_count_together, set_up, tear_down) {
    start_kept_game(2);
    for (unsigned i = 0; i < 2; i++) {
        lose(i ? 11 : 1);
        pass(25 * SECOND);
        seat_come_back(1, 11 + i, false);
        pass(50 * SECOND);
    }
    lose(12);
    pass(9 * SECOND);
    assert_int_equal(state_of(0, 1), KL_MEMBER_AWAY);
    pass(2 * SECOND);
    assert_null(member_of(0, 1));
}

/* A client that has been here for a minute has its whole time again. */
TEST_WITH(a_minute_later_it_is_another, set_up, tear_down) {
    start_kept_game(2);
    for (unsigned i = 0; i < 5; i++) {
        lose(i ? 10 + i : 1);
        pass(55 * SECOND);
        seat_come_back(1, 11 + i, false);
        pass(61 * SECOND);
        assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    }
}

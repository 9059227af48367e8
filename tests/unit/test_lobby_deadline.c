/* test_lobby_deadline.c - a client that is slow, or comes and goes, makes the others wait for so long and no
 * longer: while start data goes over, while a game is loaded, and with every lost link. ROOMS.md §7, kept
 * seats, and §8. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "tests/lib/lobby_seats.h"

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
        inbox[peer].count = 0;
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
    start_game(2);
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
    start_game(2);
    for (unsigned i = 0; i < 5; i++) {
        lose(i ? 10 + i : 1);
        pass(55 * SECOND);
        seat_come_back(1, 11 + i, false);
        pass(61 * SECOND);
        assert_int_equal(state_of(0, 1), KL_MEMBER_PLAYING);
    }
}

/* test_lobby_bar.c - people who are kept out of a room for a time. docs/security.md, Bounds for one
 * player. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/relay/lobby/lobby_parts.h"

/* One is ready and waits; a second one comes as this peer from that address, and has the room load. */
static void begin_loading(unsigned peer, unsigned last) {
    live_at(1);
    hello(0, "room", 1, 2, "x");
    live_at(last);
    hello(peer, "room", 1, 2, "x");
    give(0, "save");
    ready(0, "a");
    assert_non_null(heard(peer, KL_MSG_PREPARE));
}

static void comes_again(unsigned peer, unsigned last, const char *refusal) {
    live_at(last);
    hello(peer, "room", 1, 2, "x");
    if (refusal)
        expect_refusal(peer, KL_REFUSE_DOOR, refusal);
    else
        assert_non_null(heard(peer, KL_MSG_WELCOME));
}

/* A minute, then two, then four: for the key and for the address. */
TEST_WITH(one_that_is_never_ready_is_barred_longer_each_time, set_up, tear_down) {
    begin_loading(1, 2);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t from_us = now_us;
        pass(61 * SECOND);
        expect_refusal(1, KL_REFUSE_CLOSED, "loading the game took more than 60 s");
        comes_again(2, 2, "room room is closed to you for ");
        comes_again(1, 3, "s: it waited for you, and you did not load");
        pass((60 << i) * SECOND + from_us + 59 * SECOND - now_us);
        comes_again(1, 2, "room room is closed to you for ");
        pass(3 * SECOND);
        comes_again(1, 2, NULL);
    }
    assert_false(inbox[0].hung_up);
}

/* The seat is somebody else's then. */
TEST_WITH(the_room_goes_on_without_it, set_up, tear_down) {
    begin_loading(1, 2);
    pass(61 * SECOND);
    comes_again(3, 4, NULL);
    ready(3, "a");
    assert_int_equal(state_of(0, 0), KL_MEMBER_PLAYING);
}

/* A member that goes before the 60 s are over is let in again, until its waits are a minute in sum. */
TEST_WITH(waits_add_up, set_up, tear_down) {
    begin_loading(1, 2);
    for (unsigned i = 0; i < 2; i++) {
        pass(25 * SECOND);
        bye(1);
        comes_again(1, 2, NULL);
    }
    pass(25 * SECOND);
    bye(1);
    comes_again(1, 2, "s: it waited for you, and you did not load");
}

TEST_WITH(a_host_that_gives_nothing_is_barred, set_up, tear_down) {
    hello(0, "room", 1, 2, "x");
    live_at(2);
    hello(1, "room", 1, 2, "x");
    pass(61 * SECOND);
    expect_refusal(0, KL_REFUSE_CLOSED, "the host's start data did not arrive in time");
    comes_again(0, 1, "s: it waited for you, and you did not load");
}

/* A lost link is no way around it. */
TEST_WITH(one_whose_link_is_lost_while_it_loads, set_up, tear_down) {
    begin_loading(1, 2);
    lose(1);
    pass(61 * SECOND);
    comes_again(2, 2, "s: it waited for you, and you did not load");
}

/* One that was ready, and goes, has kept nobody waiting. */
TEST_WITH(whoever_was_ready_may_come_again, set_up, tear_down) {
    live_at(1);
    hello(0, "room", 1, 2, "x");
    live_at(2);
    hello(1, "room", 1, 2, "x");
    give(0, "save");
    ready(1, "a");
    pass(59 * SECOND);
    bye(1);
    comes_again(1, 2, NULL);
    ready(1, "a");
    bye(1);
    comes_again(1, 2, NULL);
}

/* In a game nobody waits, but its seat is kept from others. */
TEST_WITH(a_latecomer_that_is_never_ready, set_up, tear_down) {
    start_game_of(2);
    bye(1);
    pass(3 * SECOND);
    comes_again(3, 9, NULL);
    pass(61 * SECOND);
    expect_refusal(3, KL_REFUSE_CLOSED, "loading the game took more than 60 s");
    comes_again(4, 9, "s: it waited for you, and you did not load");
}

TEST_WITH(put_out_by_the_others_hashes, set_up, tear_down) {
    start_game_of(2);
    strcpy(the_room()->member[1]->v.host, "192.0.2.9");
    kl_lobby_put_out(the_room(), 1, KL_REFUSE_DESYNC, "out of sync with all others", now_us);
    comes_again(5, 9, "room room is closed to you for 60 s: out of sync again and again");
    comes_again(1, 3, "out of sync again and again");
    comes_again(6, 3, NULL); /* neither that key nor that address */
    pass(61 * SECOND);
    comes_again(5, 9, NULL);
}

/* A newer one makes way for none: bans stay, and so do the bars that last longest. */
TEST_WITH(the_table_is_bounded, set_up, tear_down) {
    start_game_of(2);
    struct kl_lobby_room *r = the_room();
    struct kl_lobby_person p = {.host = "banned"};
    uint8_t key[KL_SEAT_KEY_BYTES] = {0};
    kl_lobby_bar(r, KL_BAR_BAN, &p, now_us);
    kl_lobby_bar(r, KL_BAR_BAN, &p, now_us); /* is one */
    for (unsigned i = 0; i < 3 * KL_TIMED_MAX; i++) {
        char host[KL_NET_TEXT];
        snprintf(host, sizeof host, "10.0.0.%u:7", i);
        key[0] = (uint8_t)(i + 1);
        p = kl_lobby_person(key, host);
        kl_lobby_bar(r, KL_BAR_TURN, &p, now_us + i);
        assert_true(kl_lobby_barred_s(r, true, &p, NULL, now_us) > 0);
        assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0);
    }
    assert_int_equal(r->door.bars, 1 + KL_TIMED_MAX);
    key[0] = 0xff;
    p = kl_lobby_person(key, "banned");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), KL_BAR_EVER);
    for (unsigned i = 0; i <= KL_BANS_MAX; i++) {
        key[0] = (uint8_t)i, key[1] = 1;
        p = kl_lobby_person(key, "");
        kl_lobby_bar(r, KL_BAR_BAN, &p, now_us);
    }
    assert_int_equal(r->door.bars, KL_BANS_MAX + KL_TIMED_MAX);
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), KL_BAR_EVER);
    p = kl_lobby_person((uint8_t[KL_SEAT_KEY_BYTES]){0xee}, "banned");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0); /* the oldest */
    p = kl_lobby_person((uint8_t[KL_SEAT_KEY_BYTES]){0xee}, "");
    assert_int_equal(kl_lobby_barred_s(r, false, &p, NULL, now_us), 0); /* no address is nobody's */
}

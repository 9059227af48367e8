/* test_lobby_bring_turns.c - of those who would bring a room back: who is asked, who is waited for, whose
 * ticket counts; and who has taken its name meanwhile. PROTOCOL.md §7, tags and tickets. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_bringers.h"

#include "net/engine/command.h"

/* A player about to show may have a newer ticket, or more. */
static void a_client_that_is_showing_is_waited_for(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(0, 10), show(1, 11);
    pass(400000);
    unsigned who = is_asked(0) ? 0 : 1;
    bring_all(who);
    return_able(2, 12);
    pass(SECOND);
    assert_null(heard(10 + who, KL_MSG_WELCOME));
    bring_ticket(2), bring_mark(2), bring_end(2);
    for (unsigned i = 0; i < 3; i++) {
        pass(200000);
        if (i != who && is_asked(i)) bring_all(i);
    }
    assert_non_null(heard(10 + who, KL_MSG_WELCOME));
}

/* A slow player is waited for once, and not long; their second word counts after the others'. */
static void a_client_that_dawdles_is_put_off(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    show(0, 10);
    show_off(2, 12, 100000);
    pass(400000);
    assert_true(is_asked(2) && !is_asked(0));
    pass(3 * SECOND);
    expect_refusal(12, KL_REFUSE_SEAT, "nothing more came");
    pass(100000);
    assert_true(is_asked(0));
    lose(10);
    show_off(2, 13, 200000);
    show(1, 14);
    pass(400000);
    assert_true(is_asked(1) && !is_asked(2));
    bring_all(1);
    assert_int_equal(the_room()->lock.next_close, marked(1));
}

/* A player who brings something, but slowly, is waited for 8 s if the room can do without. He is a member all
 * the same. */
static void a_client_that_is_slow_is_put_off(void **state) {
    (void)state;
    play_so_long_and_die(KL_POLICY_BOUNDED, 30, true);
    uint32_t end = canon_end;
    show_off(2, 12, 100000);
    show(0, 10);
    pass(400000);
    assert_true(is_asked(2) && !is_asked(0));
    bring_start(2);
    forged_frames(2, 0, end); /* enough to be let go on for 30 s */
    pass(15 * SECOND / 2);
    assert_true(!is_asked(0));
    pass(SECOND);
    expect_want(0, KL_WANT_START, 0);
    bring_all(0);
    assert_int_equal(the_room()->lock.next_close, marked(0));
    forged_frames(2, end, end + 100);
    pass(4 * SECOND);
    assert_int_equal(the_room()->lock.next_close, marked(0));
    assert_non_null(heard(10, KL_MSG_WELCOME));
    assert_false(inbox[12].hung_up || heard(12, KL_MSG_WELCOME));
    bring_end(2);
    pass(100000);
    assert_non_null(heard(12, KL_MSG_WELCOME));
    assert_int_equal(lobby->bringing, 0);
}

/* The same with what he would add to a room that is there. */
static void a_client_that_adds_slowly_is_put_off(void **state) {
    (void)state;
    play_so_long_and_die(KL_POLICY_BOUNDED, 10, true);
    uint32_t end = canon_end;
    show(0, 10);
    pass(400000);
    bring_all(0);
    show_off(2, 12, 100000);
    pass(200000);
    expect_want(2, 0, marked(0));
    forged_frames(2, marked(0), end + 8000);
    pass(15 * SECOND / 2);
    assert_null(heard(10, KL_MSG_WELCOME));
    pass(SECOND);
    assert_false(inbox[12].hung_up);
    assert_non_null(heard(10, KL_MSG_WELCOME));
    assert_int_equal(the_room()->lock.next_close, marked(0));
}

static void if_nobody_else_could_the_slow_one_goes_on(void **state) {
    (void)state;
    play_so_long_and_die(KL_POLICY_BOUNDED, 30, true);
    show(1, 11);
    pass(400000);
    bring_start(1);
    bring_tag(1);
    bring_mark(1);
    bring_frames(1, 0, canon_end - 60);
    pass(10 * SECOND);
    bring_frames(1, canon_end - 60, canon_end);
    bring_end(1);
    pass(100000);
    assert_int_equal(the_room()->lock.next_close, marked(1));
}

/* --- somebody who was quicker than all members --- */

static void expect_the_old_game(void) {
    struct kl_msg m = prepare_return(2, 12); /* has nothing to bring */
    say(12, &m);
    show(1, 11);
    pass(400000);
    assert_false(inbox[20].hung_up);
    expect_want(1, KL_WANT_START, 0);
    bring_all(1);
    expect_refusal(20, KL_REFUSE_CLOSED, "has come back; choose another name");
    assert_int_equal(kl_lobby_rooms(lobby), 1);
    pass(4 * SECOND);
    assert_memory_equal(the_room()->id, ticket.id, sizeof ticket.id);
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_non_null(heard(12, KL_MSG_WELCOME));
}

static void a_strangers_room_gives_way(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 2, "other");
    assert_non_null(heard(20, KL_MSG_WELCOME));
    expect_the_old_game();
}

static void a_strangers_game_that_has_just_begun_too(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 1, "other");
    give(20, "other");
    ready(20, "a");
    run();
    assert_int_equal(the_room()->phase, KL_ROOM_PLAYING);
    expect_the_old_game();
}

static void his_own_members_are_at_home_there(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    hello(20, "room", 1, 2, "other");
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(20, KL_MSG_WELCOME)->welcome.token, sizeof token);
    lose(20);
    connect_peer(21);
    struct kl_msg m = a_return(20, 21, "room", token);
    say(21, &m);
    assert_non_null(heard(21, KL_MSG_WELCOME));
}

/* 30 s after the relay's start nobody has to go. */
static void a_client_that_comes_too_late_finds_another_game(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    pass(31 * SECOND);
    hello(20, "room", 1, 2, "other");
    return_able(1, 11);
    expect_refusal(11, KL_REFUSE_SEAT, "it is another game");
    assert_non_null(heard(20, KL_MSG_WELCOME));
    assert_false(inbox[20].hung_up);
    assert_int_equal(lobby->bringing, 0);
}

/* --- old tickets --- */

static void keep_ticket(unsigned who, struct player *old) {
    memcpy(old->ticket, player[who].ticket, sizeof old->ticket);
    old->ticket_len = player[who].ticket_len;
}

/* Player 2 is banned and 1 is made host; then the relay dies. old: 2's ticket, of before. */
static void ban_and_die(struct player *old) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    keep_ticket(2, old);
    order(0, KL_COMMAND_BAN, 2);
    expect_refusal(2, KL_REFUSE_DOOR, "banned");
    player[2].linked = player[2].plays = false;
    order(0, KL_COMMAND_HOST, 1);
    play(5 * SECOND);
    open_ticket(&player[1], &ticket);
    new_relay();
    play(SECOND); /* nobody there */
    memcpy(player[2].ticket, old->ticket, sizeof old->ticket);
    player[2].ticket_len = old->ticket_len;
}

static void expect_the_newest(unsigned bans) {
    const struct kl_lobby_room *r = the_room();
    assert_non_null(r);
    assert_int_equal(r->door.bans, bans);
    assert_int_equal(r->host, 1);
    assert_false(kl_lobby_here(&r->member[2]));
    assert_int_equal(kl_lobby_members(lobby), 2);
}

/* Of all tickets that are shown before the room is made, the newest counts. */
static void the_newest_ticket_counts(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show_off(2, 9, 100000); /* the first; claims the most, and knows another past */
    show(1, 11);
    show(0, 10);
    pass(400000);
    assert_false(is_asked(2));
    bring_all(is_asked(0) ? 0 : 1);
    expect_the_newest(1);
    pass(300000);
    expect_refusal(9, KL_REFUSE_SEAT, "no seat");
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_true(heard(11, KL_MSG_WELCOME)->welcome.host);
}

/* A newer ticket counts even if the owner of the older one was quicker. */
static void a_newer_ticket_comes_too_late_for_the_making(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show(2, 12);
    pass(400000);
    bring_all(2);
    assert_true(kl_lobby_here(&the_room()->member[2]));
    assert_int_equal(the_room()->host, 0);
    show(1, 11);
    expect_the_newest(1);
    pass(200000);
    expect_want(1, 0, marked(2));
    bring_all(1);
    show(0, 10);
    pass(200000);
    if (is_asked(0)) bring_all(0);
    pass(200000);
    expect_the_newest(1);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    assert_non_null(heard(10, KL_MSG_WELCOME));
    play(3 * SECOND);
    assert_int_equal(player[1].lock.standing, KL_STANDING_IN);
}

/* A newer ticket counts even if the owner of the older one has the whole room already. */
static void a_newer_ticket_counts_after_the_opening(void **state) {
    static struct player old;
    (void)state;
    ban_and_die(&old);
    show(2, 12);
    pass(400000);
    bring_all(2);
    pass(4 * SECOND);
    assert_int_equal(the_room()->phase, KL_ROOM_PLAYING);
    assert_non_null(heard(12, KL_MSG_WELCOME));
    kl_lobby_add_ban(the_room(), (uint8_t[KL_SEAT_KEY_BYTES]){0}, "192.0.2.66"); /* meanwhile */
    show(1, 11);
    expect_the_newest(2);
    expect_refusal(12, KL_REFUSE_SEAT, "no longer in this room");
    pass(200000);
    assert_non_null(heard(11, KL_MSG_WELCOME));
    assert_true(heard(11, KL_MSG_WELCOME)->welcome.host);
    show(0, 10); /* it has no newer one */
    pass(200000);
    expect_the_newest(2);
    assert_non_null(heard(10, KL_MSG_WELCOME));
    lose(10);
    pass(31 * SECOND);
    connect_peer(13);
    struct kl_msg m = a_return(0, 13, "room", heard(10, KL_MSG_WELCOME)->welcome.token);
    m.back.can_bring = true;
    say(13, &m);
    assert_null(heard(13, KL_MSG_WANT)); /* by now the room is what it is */
    assert_non_null(heard(13, KL_MSG_WELCOME));
}

static void a_client_that_can_bring_nothing_waits_a_little(void **state) {
    (void)state;
    play_and_die(KL_POLICY_BOUNDED);
    struct kl_msg m = prepare_return(2, 12);
    say(12, &m);
    pass(4 * SECOND);
    assert_null(heard(12, KL_MSG_REFUSE));
    pass(2 * SECOND);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    m = prepare_return(2, 13);
    say(13, &m);
    show(1, 11);
    pass(400000);
    bring_all(1);
    pass(3 * SECOND);
    assert_non_null(heard(13, KL_MSG_WELCOME));
    assert_non_null(heard(11, KL_MSG_WELCOME));
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_client_that_is_showing_is_waited_for),
        T(a_client_that_dawdles_is_put_off),
        T(a_client_that_is_slow_is_put_off),
        T(a_client_that_adds_slowly_is_put_off),
        T(if_nobody_else_could_the_slow_one_goes_on),
        T(a_strangers_room_gives_way),
        T(a_strangers_game_that_has_just_begun_too),
        T(his_own_members_are_at_home_there),
        T(a_client_that_comes_too_late_finds_another_game),
        T(the_newest_ticket_counts),
        T(a_newer_ticket_comes_too_late_for_the_making),
        T(a_newer_ticket_counts_after_the_opening),
        T(a_client_that_can_bring_nothing_waits_a_little),
    };
    return cmocka_run_group_tests_name("lobby_bring_turns", tests, NULL, NULL);
}

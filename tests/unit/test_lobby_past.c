/* test_lobby_past.c - rooms that play for real: links are lost, clients come back with what they have or with
 * nothing, and every frame that anybody runs is the same; tickets. The engine is the real one on both
 * sides, the network is a function call. ROOMS.md §7, kept seats. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

TEST_WITH(a_short_cut_is_mended_by_updates, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    uint32_t before = canon_end;
    play(3 * SECOND);
    assert_true(canon_end - before > 3 * 60 - 10); /* the others play on: that the link is lost is known */
    come_back(1, 11);
    play(3 * SECOND);
    assert_int_equal(player[1].pieces, 0);
    expect_all_at_the_end();
    assert_true(canon_end > 10 * 60);
    assert_true(presses_lately(1)); /* its pads count again */
}

TEST_WITH(a_long_one_by_history, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    play(30 * SECOND);
    come_back(1, 11);
    play(4 * SECOND);
    assert_true(player[1].pieces > 10);
    expect_all_at_the_end();
    assert_true(canon_end > 38 * 60);
}

TEST_WITH(in_optimistic_rooms_too, set_up, tear_down) {
    start_room(KL_POLICY_OPTIMISTIC);
    play(5 * SECOND);
    cut(0);
    play(10 * SECOND);
    come_back(0, 11);
    play(4 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > 18 * 60);
}

TEST_WITH(a_strict_room_waits, set_up, tear_down) {
    start_room(KL_POLICY_STRICT);
    play(5 * SECOND);
    cut(1);
    play(SECOND);
    uint32_t before = canon_end;
    play(10 * SECOND);
    assert_int_equal(canon_end, before);
    come_back(1, 11);
    play(3 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 120);
    cut(2);
    play(61 * SECOND); /* and no longer than the seat's time */
    assert_true(canon_end > before + 180);
}

TEST_WITH(a_killed_process_runs_it_all_again, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    cut(0); /* the host, who gave the start data */
    play(5 * SECOND);
    come_back_with_nothing(0, 11);
    play(6 * SECOND);
    assert_true(player[0].pieces > 10);
    expect_all_at_the_end();
    assert_true(player[0].lock.stats.next_run > 30 * 60); /* from frame 0: run_frame() compares */
    assert_int_equal(kl_lobby_rooms(lobby), 1);
}

TEST_WITH(all_at_once, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    for (unsigned i = 0; i < PLAYERS; i++)
        cut(i);
    play(10 * SECOND);
    uint32_t before = canon_end;
    come_back(0, 10), come_back(1, 11);
    come_back_with_nothing(2, 12);
    play(4 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > before + 120);
}

/* --- the ticket --- */

TEST_WITH(the_ticket_says_who_is_who, set_up, tear_down) {
    static struct kl_lobby_ticket t;
    start_room(KL_POLICY_BOUNDED);
    play(SECOND);
    open_ticket(&t);
    uint32_t number = t.number;
    assert_string_equal(t.name, "room");
    assert_int_equal(t.host, 0);
    assert_int_equal(t.start_bytes, 4);
    assert_string_equal(t.facts.fact[0].value, "x");
    assert_string_equal(t.ready.fact[0].value, "a");
    assert_true(kl_seat_token_is(player[2].token, t.member[2].token_hash[0]));
    cut(2);
    come_back(2, 12);
    play(SECOND);
    open_ticket(&t);
    assert_true(kl_seat_token_is(player[2].token, t.member[2].token_hash[0]));
    bye(0);
    vanish(0);
    play(4 * SECOND);
    open_ticket(&t);
    assert_true(t.number > number && t.frame > 60);
    assert_true(kl_seat_token_is(player[2].token, t.member[2].token_hash[0]));
    assert_false(t.member[0].here);
    assert_int_equal(t.host, 1);
    open_ticket(&t);
    assert_memory_equal(t.id, heard(12, KL_MSG_WELCOME)->welcome.room_id, KL_ROOM_ID_BYTES);
}

/* --- bounds --- */

/* If the beginning is gone, and there are no states, nobody can begin anew; a player with enough can still
 * come back. */
TEST_WITH(history_has_its_measure, set_up, tear_down) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.history_kib = 192;
    reopen(&limits);
    start_room(KL_POLICY_BOUNDED);
    lobby->room[0]->snapshot.unfit = true;
    mash();
    play(180 * SECOND);
    const struct kl_lobby_room *r = the_room();
    assert_true(r->past.history.first > 0);
    assert_in_range(lobby->history_bytes, 64 * 1024, 192 * 1024);
    assert_int_equal(lobby->start_bytes, 0); /* of no use any more */
    cut(1);
    play(7 * SECOND);
    come_back(1, 11);
    play(3 * SECOND);
    expect_all_at_the_end();
    cut(2);
    connect_peer(12);
    struct kl_msg m = a_return(2, 12, "room", player[2].token);
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    say(12, &m);
    expect_refusal(12, KL_REFUSE_SEAT, "does not keep the game's beginning any more");
    for (unsigned i = 0; i < 2; i++)
        bye(player[i].peer), vanish(i);
    play(3 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_int_equal(lobby->history_bytes, 0);
}

/* The flow is held back while nothing is acknowledged. */
TEST_WITH(history_waits_for_the_link, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    cut(1);
    play(20 * SECOND);
    struct kl_msg m = prepare_return(1, 11);
    inbox[11].pending = 1;
    say(11, &m);
    play(2 * SECOND);
    assert_int_equal(player[1].pieces, 0);
    inbox[11].pending = 0;
    play(3 * SECOND);
    expect_all_at_the_end();
}

/* After the room was made again a client may have frames that it has not: then it begins anew. */
TEST_WITH(claimed_frames_must_be_the_rooms, set_up, tear_down) {
    start_room(KL_POLICY_BOUNDED);
    play(5 * SECOND);
    the_room()->past.reopened = true;
    cut(1);
    play(2 * SECOND);
    struct kl_msg m = prepare_return(1, 11);
    say(11, &m);
    assert_null(heard(11, KL_MSG_PREPARE));
    play(3 * SECOND);
    expect_all_at_the_end();
    cut(1);
    m = prepare_return(1, 12);
    m.back.digest[3] ^= 1;
    player[1].plays = false;
    say(12, &m);
    assert_non_null(heard(12, KL_MSG_PREPARE));
    player[1].linked = false;
    lose(12);
    m = prepare_return(1, 13);
    m.back.intervals = 100000;
    player[1].linked = false;
    say(13, &m);
    assert_non_null(heard(13, KL_MSG_PREPARE));
}

/* Wherever in an interval the client's frames end. */
TEST_WITH(a_part_of_an_interval_is_the_rooms, set_up, tear_down) {
    fixed_spacing = 7;
    start_room(KL_POLICY_BOUNDED);
    fixed_spacing = 0;
    player[1].mashes = true;
    play(3 * SECOND);
    the_room()->past.reopened = true;
    uint32_t parts = 0; /* a bit for each length */
    for (unsigned i = 0; i < 20; i++) {
        play(SECOND + i * 17000);
        cut(1);
        play(SECOND / 2);
        struct kl_msg m = prepare_return(1, 20 + i);
        parts |= 1U << (m.back.have - digest_of(player[1].room_id, m.back.have).end);
        say(20 + i, &m);
        assert_null(heard(20 + i, KL_MSG_PREPARE));
        play(2 * SECOND);
        expect_all_at_the_end();
    }
    assert_true(__builtin_popcount(parts) >= 4);
}

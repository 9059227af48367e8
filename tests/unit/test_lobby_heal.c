/* Out of sync in the lobby, and back: three who play, one of whom says other hashes. net/ROOMS.md §7,
 * Healing. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_machines.h"

#include "net/engine/command.h"

/* Two play, and nobody can begin anew: the relay has no start data any more. */
static void begin_two(void) {
    begin_machines();
    machine_leaves(2);
    kl_lobby_start_free(the_room());
}

TEST_WITH(two_against_one_the_one_goes_back_to_its_own_state, set_up, tear_down) {
    begin_machines();
    machine[1] = 8;
    uint64_t from_us = now_us;
    while (verdict.differs == 0)
        go_on(20000);
    assert_true(now_us - from_us < 1200000); /* with the next hash */
    from_us = now_us;
    while (the_room()->heal.count == 0 && now_us < from_us + 5 * SECOND)
        go_on(20000);
    assert_true(now_us - from_us < 1 * SECOND);
    go_on(2 * SECOND);
    expect_in_sync(1);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[1], 7);
    expect_notice(player[0].peer, "back in sync: p1 (2)");
    expect_all_at_the_end();
    machine[2] = 9; /* and another time somebody else */
    go_on(4 * SECOND);
    expect_in_sync(2);
}

/* Its own hashes of before do not start it all again. */
TEST_WITH(hashes_of_a_client_under_healing_are_not_heard, set_up, tear_down) {
    begin_machines();
    machine[1] = 8;
    loads[1] = false;
    go_on(4 * SECOND);
    assert_true(the_room()->member[1]->heal.loads);
    assert_true(verdict.complete && !verdict.differs); /* of the others */
    assert_int_equal(verdict.healed, 0);
    assert_int_equal(offers[1], 1);
    machine[1] = 7;
    loads[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(1);
}

/* Whoever is wrong, and whether or not it is the host: nobody gets another's state, both go back to their
 * own. */
TEST_WITH(on_a_tie_both_go_back_to_their_own_states, set_up, tear_down) {
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        begin_machines();
        machine_leaves(2);
        go_on(2 * SECOND);
        uint32_t agreed = verdict.agreed;
        assert_true(agreed > 0 && agreed == the_room()->heal.agreed);
        machine[wrong] = 8;
        while (verdict.differs == 0)
            go_on(20000);
        agreed = verdict.agreed;
        assert_true(verdict.frame >= agreed); /* it stands still while they differ */
        go_on(4 * SECOND);
        assert_int_equal(offers[0] + offers[1], 0);
        assert_true(rewinds[0] == 1 && rewinds[1] == 1);
        assert_true(back_to[0] == agreed && back_to[1] == agreed);
        expect_in_sync(1);
        assert_int_equal(machine[1], 7);
        assert_int_equal(the_room()->snapshot.failures, 0);
        assert_null(the_room()->snapshot.kept); /* nobody was asked for a state */
        expect_notice(player[0].peer, "back in sync: p0 (1), p1 (2) ran again from");
        begin_again();
    }
}

/* They part again before they have agreed anew: both run the game from the beginning, once. */
TEST_WITH(on_a_second_tie_both_run_the_game_again, set_up, tear_down) {
    begin_machines();
    machine_leaves(2);
    machine[1] = 8;
    at_once[1] = true;
    go_on_until(the_room()->member[1]->heal.anew);
    assert_true(rewinds[0] == 1 && rewinds[1] == 1);
    assert_int_equal(offers[0] + offers[1], 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(the_room()->member[i]->heal.anew, 1);
        assert_int_equal(the_room()->member[i]->v.state, KL_MEMBER_LOADING);
        expect_notice(player[i].peer, "p0 (1), p1 (2) runs the game from the beginning");
    }
    assert_false(the_room()->heal.hopeless);
}

/* A host whose machine is false says so again and again: what has failed is tried again once a minute. */
TEST_WITH(a_host_may_have_healing_tried_again_once_a_minute, set_up, tear_down) {
    begin_two();
    machine[1] = 8;
    at_once[1] = true;
    go_on(10 * SECOND);
    assert_true(the_room()->heal.hopeless);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(the_room()->heal.hopeless || the_room()->lock.paused);
    go_on(10 * SECOND);
    assert_true(the_room()->heal.hopeless);
    inbox[player[0].peer].count = 0;
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_true(the_room()->heal.hopeless);
    expect_notice(player[0].peer, "tried less than a minute ago");
    go_on(55 * SECOND);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(the_room()->heal.hopeless);
}

/* It alone runs the game from the beginning. */
TEST_WITH(on_a_tie_a_client_without_own_states_runs_the_game_again_alone, set_up, tear_down) {
    begin_machines();
    machine_leaves(2);
    has_own[0] = false;
    machine[1] = 8;
    go_on_until(the_room()->member[0]->heal.anew);
    assert_int_equal(the_room()->member[0]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_PLAYING);
    assert_int_equal(machine[1], 7);
}

/* Was it away when the others last agreed, then its own state of there may be anything. */
TEST_WITH(a_client_that_missed_the_last_agreement_runs_the_game_again, set_up, tear_down) {
    begin_machines();
    machine_leaves(2);
    machine[0] = 8;
    for (uint64_t end_us = now_us + 5 * SECOND; !the_room()->member[1]->heal.anew && now_us < end_us;) {
        the_room()->heal.agreed_by = 1;
        play(STEP_US);
    }
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->member[0]->v.state, KL_MEMBER_PLAYING);
    assert_int_equal(rewinds[0] + rewinds[1], 0);
}

TEST_WITH(a_client_that_never_goes_back_holds_up_nobody_else, set_up, tear_down) {
    begin_machines();
    machine_leaves(2);
    loads[1] = false;
    machine[1] = 8;
    go_on(4 * SECOND);
    assert_false(the_room()->member[0]->heal.loads);
    assert_true(the_room()->member[1]->heal.loads);
    go_on(10 * SECOND);
    assert_false(the_room()->member[1]->heal.loads);
}

/* Two seats of one address, which tell equal false hashes, do not have the honest third load their state, nor
 * put it out; and an address to which one of them moves in the game changes nothing. */
TEST_WITH(two_clients_of_one_address_are_no_majority, set_up, tear_down) {
    begin_machines();
    snprintf(the_room()->member[0]->home, sizeof the_room()->member[0]->home, "198.51.100.7");
    kl_lobby_moved(lobby, player[2].peer, "203.0.113.9:7");
    go_on(2 * SECOND);
    for (unsigned i = 1; i <= 3; i++) {
        machine[1] = machine[2] = 8;
        go_on(4 * SECOND);
        assert_int_equal(offers[0], 0);
    }
    assert_false(inbox[player[0].peer].hung_up);
    assert_null(the_room()->snapshot.kept);
    assert_int_equal(rewinds[0], 3); /* its own states are all that it gets */
    assert_int_equal(the_room()->member[0]->heal.anew, 0);
}

/* Nor do they give a newcomer a state on which the third does not agree. */
TEST_WITH(two_clients_of_one_address_give_no_state_against_a_third, set_up, tear_down) {
    begin_machines();
    snprintf(the_room()->member[0]->home, sizeof the_room()->member[0]->home, "198.51.100.7");
    false_state[0] = true; /* to them, what it says differs */
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
    go_on(5 * SECOND);
    assert_null(the_room()->snapshot.kept);
    memcpy(the_room()->member[0]->home, the_room()->member[1]->home, sizeof the_room()->member[0]->home);
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us)); /* siblings: each has a vote */
    go_on(5 * SECOND);
    assert_non_null(the_room()->snapshot.kept);
}

TEST_WITH(a_client_out_of_sync_three_times_within_a_minute_is_put_out, set_up, tear_down) {
    begin_machines();
    machine[1] = 8;
    at_once[1] = true;
    go_on(12 * SECOND);
    assert_int_equal(loaded[1], 2);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    vanish(1);
    go_on(2 * SECOND);
    expect_in_sync(3); /* the difference is over, and everybody hears so */
    assert_int_equal(verdict.first, 0);
}

/* One a minute is no crime. */
TEST_WITH(a_client_out_of_sync_once_in_35_s_stays, set_up, tear_down) {
    begin_machines();
    for (unsigned i = 0; i < 4; i++) {
        machine[1] = 8;
        go_on(35 * SECOND);
        expect_in_sync(i + 1);
    }
}

TEST_WITH(nobody_is_put_out_on_a_tie, set_up, tear_down) {
    begin_two();
    machine[1] = 8;
    at_once[1] = true;
    go_on(20 * SECOND);
    assert_false(inbox[player[0].peer].hung_up || inbox[player[1].peer].hung_up);
    assert_true(the_room()->heal.hopeless && the_room()->lock.paused);
    assert_int_equal(verdict.differs, 1);
    at_once[1] = false;
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* the host tries again */
    go_on(4 * SECOND);
    expect_in_sync(2);
}

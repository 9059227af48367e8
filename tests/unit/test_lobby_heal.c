/* test_lobby_heal.c - out of sync in the lobby, and back: three who play, one of whom says other hashes;
 * states that hold too little, givers and loaders that fail, newcomers. net/ROOMS.md §7, Healing. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"

/* Two play, and nobody can begin anew: the relay has no start data any more. */
static void begin_two(void) {
    begin_machines();
    leave(2);
    kl_lobby_start_free(the_room());
}

static void show_pictures_alone(void) {
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_ram = true, player[i].picture = 5;
}

TEST_WITH(two_against_one_the_one_goes_back_to_its_own_state, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    uint64_t from_us = now_us;
    while (verdict.differs == 0)
        play(20000);
    assert_true(now_us - from_us < 1200000); /* with the next hash */
    from_us = now_us;
    while (the_room()->heal.count == 0 && now_us < from_us + 5 * SECOND)
        play(20000);
    assert_true(now_us - from_us < 1 * SECOND);
    play(2 * SECOND);
    expect_in_sync(1);
    assert_int_equal(player[0].offers + player[2].offers, 0);
    assert_int_equal(player[1].machine, 7);
    expect_notice(player[0].peer, "back in sync: p1 (2)");
    expect_all_at_the_end();
    player[2].machine = 9; /* and another time somebody else */
    play(4 * SECOND);
    expect_in_sync(2);
}

/* Its own hashes of before do not start it all again. */
TEST_WITH(hashes_of_a_client_under_healing_are_not_heard, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    play(4 * SECOND);
    assert_true(the_room()->member[1]->heal.loads);
    assert_true(verdict.complete && !verdict.differs); /* of the others */
    assert_int_equal(verdict.healed, 0);
    assert_int_equal(player[1].offers, 1);
    player[1].machine = 7;
    player[1].loads = true;
    play(2 * SECOND);
    expect_in_sync(1);
}

/* Whoever is wrong, and whether or not it is the host: nobody gets another's state, both go back to their
 * own. */
TEST_WITH(on_a_tie_both_go_back_to_their_own_states, set_up, tear_down) {
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        begin_machines();
        leave(2);
        play(2 * SECOND);
        uint32_t agreed = verdict.agreed;
        assert_true(agreed > 0 && agreed == the_room()->heal.agreed);
        player[wrong].machine = 8;
        while (verdict.differs == 0)
            play(20000);
        agreed = verdict.agreed;
        assert_true(verdict.frame >= agreed); /* it stands still while they differ */
        play(4 * SECOND);
        assert_int_equal(player[0].offers + player[1].offers, 0);
        assert_true(player[0].rewinds == 1 && player[1].rewinds == 1);
        assert_true(player[0].back_to == agreed && player[1].back_to == agreed);
        expect_in_sync(1);
        assert_int_equal(player[1].machine, 7);
        assert_int_equal(the_room()->snapshot.failures, 0);
        assert_null(the_room()->snapshot.kept); /* nobody was asked for a state */
        expect_notice(player[0].peer, "back in sync: p0 (1), p1 (2) ran again from");
        begin_again();
    }
}

/* They part again before they have agreed anew: both run the game from the beginning, once. */
TEST_WITH(on_a_second_tie_both_run_the_game_again, set_up, tear_down) {
    begin_machines();
    leave(2);
    player[1].machine = 8;
    player[1].at_once = true;
    play_until(the_room()->member[1]->heal.anew);
    assert_true(player[0].rewinds == 1 && player[1].rewinds == 1);
    assert_int_equal(player[0].offers + player[1].offers, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(the_room()->member[i]->heal.anew, 1);
        assert_int_equal(the_room()->member[i]->v.state, KL_MEMBER_LOADING);
        expect_notice(player[i].peer, "p0 (1), p1 (2) run the game from the beginning");
    }
    assert_false(the_room()->heal.hopeless);
}

/* A host whose machine is false says so again and again: what has failed is tried again once a minute. */
TEST_WITH(a_host_may_have_healing_tried_again_once_a_minute, set_up, tear_down) {
    begin_two();
    player[1].machine = 8;
    player[1].at_once = true;
    play(10 * SECOND);
    assert_true(the_room()->heal.hopeless);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(the_room()->heal.hopeless || the_room()->lock.paused);
    play(10 * SECOND);
    assert_true(the_room()->heal.hopeless);
    forget(player[0].peer, KL_MSG_NOTICE);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_true(the_room()->heal.hopeless);
    expect_notice(player[0].peer, "tried less than a minute ago");
    play(55 * SECOND);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(the_room()->heal.hopeless);
}

/* It alone runs the game from the beginning. */
TEST_WITH(on_a_tie_a_client_without_own_states_runs_the_game_again_alone, set_up, tear_down) {
    begin_machines();
    leave(2);
    player[0].has_own = false;
    player[1].machine = 8;
    play_until(the_room()->member[0]->heal.anew);
    assert_int_equal(the_room()->member[0]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_PLAYING);
    assert_int_equal(player[1].machine, 7);
}

/* Was it away when the others last agreed, then its own state of there may be anything. */
TEST_WITH(a_client_that_missed_the_last_agreement_runs_the_game_again, set_up, tear_down) {
    begin_machines();
    leave(2);
    player[0].machine = 8;
    for (uint64_t end_us = now_us + 5 * SECOND; !the_room()->member[1]->heal.anew && now_us < end_us;) {
        the_room()->heal.agreed_by = 1;
        play(STEP_US);
    }
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->member[0]->v.state, KL_MEMBER_PLAYING);
    assert_int_equal(player[0].rewinds + player[1].rewinds, 0);
}

TEST_WITH(a_client_that_never_goes_back_holds_up_nobody_else, set_up, tear_down) {
    begin_machines();
    leave(2);
    player[1].loads = false;
    player[1].machine = 8;
    play(4 * SECOND);
    assert_false(the_room()->member[0]->heal.loads);
    assert_true(the_room()->member[1]->heal.loads);
    play(10 * SECOND);
    assert_false(the_room()->member[1]->heal.loads);
}

/* Two seats of one address, which tell equal false hashes, do not have the honest third load their state, nor
 * put it out; and an address to which one of them moves in the game changes nothing. */
TEST_WITH(two_clients_of_one_address_are_no_majority, set_up, tear_down) {
    begin_machines();
    snprintf(the_room()->member[0]->home, sizeof the_room()->member[0]->home, "198.51.100.7");
    kl_lobby_moved(lobby, player[2].peer, "203.0.113.9:7");
    play(2 * SECOND);
    for (unsigned i = 1; i <= 3; i++) {
        player[1].machine = player[2].machine = 8;
        play(4 * SECOND);
        assert_int_equal(player[0].offers, 0);
    }
    assert_false(inbox[player[0].peer].hung_up);
    assert_null(the_room()->snapshot.kept);
    assert_int_equal(player[0].rewinds, 3); /* its own states are all that it gets */
    assert_int_equal(the_room()->member[0]->heal.anew, 0);
}

/* Nor do they give a newcomer a state on which the third does not agree. */
TEST_WITH(two_clients_of_one_address_give_no_state_against_a_third, set_up, tear_down) {
    begin_machines();
    snprintf(the_room()->member[0]->home, sizeof the_room()->member[0]->home, "198.51.100.7");
    player[0].false_state = true; /* to them, what it says differs */
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
    play(5 * SECOND);
    assert_null(the_room()->snapshot.kept);
    memcpy(the_room()->member[0]->home, the_room()->member[1]->home, sizeof the_room()->member[0]->home);
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us)); /* siblings: each has a vote */
    play(5 * SECOND);
    assert_non_null(the_room()->snapshot.kept);
}

TEST_WITH(a_client_out_of_sync_three_times_within_a_minute_is_put_out, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].at_once = true;
    play(12 * SECOND);
    assert_int_equal(player[1].loaded, 2);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    vanish(1);
    play(2 * SECOND);
    expect_in_sync(3); /* the difference is over, and everybody hears so */
    assert_int_equal(verdict.first, 0);
}

/* One a minute is no crime. */
TEST_WITH(a_client_out_of_sync_once_in_35_s_stays, set_up, tear_down) {
    begin_machines();
    for (unsigned i = 0; i < 4; i++) {
        player[1].machine = 8;
        play(35 * SECOND);
        expect_in_sync(i + 1);
    }
}

TEST_WITH(nobody_is_put_out_on_a_tie, set_up, tear_down) {
    begin_two();
    player[1].machine = 8;
    player[1].at_once = true;
    play(20 * SECOND);
    assert_false(inbox[player[0].peer].hung_up || inbox[player[1].peer].hung_up);
    assert_true(the_room()->heal.hopeless && the_room()->lock.paused);
    assert_int_equal(verdict.differs, 1);
    player[1].at_once = false;
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* the host tries again */
    play(4 * SECOND);
    expect_in_sync(2);
}

/* --- states --- */

/* Some cores' states do not hold all, and then loading one does not help; running all from the beginning
 * does. */
TEST_WITH(a_client_that_parts_after_two_loads_runs_the_game_again, set_up, tear_down) {
    begin_machines();
    show_pictures_alone();
    player[1].machine = 8;
    player[1].at_once = true;
    play_until(the_room()->member[1]->heal.anew);
    assert_int_equal(player[1].loaded, 2);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
    expect_notice(player[1].peer, "p1 (2) runs the game from the beginning");
    assert_false(inbox[player[1].peer].hung_up || the_room()->heal.hopeless);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
}

/* If the beginning is not kept, nothing is to be done; and nobody is put out for it. */
TEST_WITH(without_start_data_states_that_never_agree_put_nobody_out, set_up, tear_down) {
    begin_machines();
    kl_lobby_start_free(the_room());
    show_pictures_alone();
    player[1].machine = 8;
    player[1].at_once = true;
    play(20 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(player[1].loaded, 2);
    assert_true(the_room()->heal.hopeless);
    player[1].at_once = false;
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* the host has all tried again */
    play(4 * SECOND);
    assert_int_equal(player[1].machine, 7);
}

TEST_WITH(a_client_that_cannot_load_gets_another_offer, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    play(14 * SECOND);
    const struct kl_msg *m = heard(player[0].peer, KL_MSG_NOTICE);
    assert_non_null(m);
    assert_true(player[1].offers >= 2); /* tried again */
    assert_int_equal(the_room()->heal.count, 0);
}

TEST_WITH(healing_ends_if_the_wrong_client_leaves, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    play(3 * SECOND);
    assert_true(the_room()->member[1]->heal.loads);
    leave(1);
    play(2 * SECOND);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
    expect_in_sync(1); /* with him the difference */
}

/* He holds up himself alone. */
TEST_WITH(a_client_that_never_loads_does_not_keep_others_from_healing, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    play(3 * SECOND);
    assert_true(the_room()->member[1]->heal.loads);
    player[2].machine = 9;
    play(3 * SECOND);
    assert_true(the_room()->member[1]->heal.loads); /* still the first time */
    assert_int_equal(player[1].offers, 1);
    assert_int_equal(player[2].offers, 0);
    assert_true(player[0].rewinds == 1 &&
                player[2].rewinds == 1); /* of the other two, nobody can say who is right */
    assert_int_equal(player[2].machine, 7);
    assert_int_equal(the_room()->heal.count, 1);
}

/* However long he is given for it: what he spends loading is no time in sync. */
TEST_WITH(a_client_that_never_loads_is_put_out_after_three_tries, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    for (unsigned tries = 1; tries <= 2; tries++) {
        play_until(the_room()->member[1]->heal.loads);
        assert_int_equal(player[1].offers, tries);
        the_room()->member[1]->heal.by_us += 30 * SECOND; /* as for a large state */
        play(35 * SECOND);
        assert_true(the_room()->member[1]->heal.loads);
        play(6 * SECOND);
    }
    play(4 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    vanish(1);
}

/* A player whose link breaks each time before they have it is out of sync once. */
TEST_WITH(a_client_cut_off_while_it_heals_is_out_of_sync_once, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[1].loads = false;
    for (unsigned peer = 11; peer < 11 + 4; peer++) {
        while (!the_room()->member[1]->heal.loads)
            play(20000);
        come_back(1, peer);
    }
    player[1].loads = true;
    play(5 * SECOND);
    assert_false(inbox[14].hung_up);
    assert_int_equal(player[1].machine, 7);
    expect_in_sync(1);
}

/* A host without a seat decides nothing: of the two who play, neither is more than half. */
TEST_WITH(a_host_without_a_seat_has_no_vote, set_up, tear_down) {
    begin_machines();
    order(0, KL_COMMAND_SEAT, 0);
    play(2 * SECOND);
    assert_int_equal(the_room()->member[0]->seats, 0);
    assert_int_equal(the_room()->host, 0);
    player[0].late_by_us = 300000;
    player[1].machine = 8;
    player[2].machine = 9;
    play(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(player[1].machine, 7);
    assert_int_equal(player[1].offers + player[2].offers, 0);
}

/* In sync, and yet one of two says another state: neither has the word of more than half, so the wrong one
 * goes back to its own. */
TEST_WITH(if_two_states_differ_the_wrong_client_goes_back_to_its_own, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[2].false_state = true;
    play(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(player[1].machine, 7);
    assert_int_equal(player[1].offers, 0);
    assert_true(player[1].rewinds == 1 && !player[0].rewinds && !player[2].rewinds);
}

/* Nor is silence: the next time it is there. */
TEST_WITH(a_snapshot_without_words_is_ordered_again, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[0].states = player[2].states = false;
    while (the_room()->snapshot.failures == 0)
        play(20000);
    player[0].states = player[2].states = true;
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_PLAYING);
    play(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(player[1].offers, 1);
}

/* Nor has the wrong one a state of its own. */
TEST_WITH(without_any_state_the_wrong_client_runs_the_game_again, set_up, tear_down) {
    begin_machines();
    player[0].machine = 8;
    player[0].has_own = false;
    player[2].false_state = true;
    play_until(the_room()->member[0]->heal.anew);
    expect_notice(player[0].peer, "runs the game from the beginning");
    assert_int_equal(player[0].offers, 0);
    assert_int_equal(the_room()->member[0]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
}

/* A core without states, or a room whose profile takes no snapshots. */
TEST_WITH(without_states_of_the_core_the_wrong_client_runs_the_game_again, set_up, tear_down) {
    begin_machines();
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_state = true;
    player[1].machine = 8;
    play_until(the_room()->member[1]->heal.anew);
    assert_true(the_room()->snapshot.unfit && !the_room()->heal.hopeless);
    expect_notice(player[1].peer, "this core gives no state: p1 (2) runs the game from the beginning");
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
    assert_int_equal(player[1].offers, 0);
}

/* Its hashes on the way are older than PREPARE, and no second difference. */
TEST_WITH(hashes_from_before_prepare_do_not_count, set_up, tear_down) {
    without_states_of_the_core_the_wrong_client_runs_the_game_again(NULL);
    const struct kl_verdict_table *t = &the_room()->heal.verdicts;
    player[0].late_by_us = player[2].late_by_us = 100000;
    for (uint32_t end = t->end; t->end == end;)
        play(20000);
    say_hash(&player[1], t->label[(t->end - 1) % t->places].frame);
    play(SECOND);
    assert_int_equal(the_room()->member[1]->heal.anew, 1);
    assert_false(t->any_bad);
}

/* If the beginning is not kept, nothing is to be done. */
TEST_WITH(without_states_and_start_data_nothing_is_healed, set_up, tear_down) {
    begin_machines();
    kl_lobby_start_free(the_room());
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_state = true;
    player[1].machine = 8;
    play(20 * SECOND);
    assert_true(the_room()->heal.hopeless);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_PLAYING);
    assert_false(inbox[player[1].peer].hung_up);
}

TEST_WITH(a_snapshot_that_nobody_gives_is_asked_for_again, set_up, tear_down) {
    begin_machines();
    player[0].gives = player[2].gives = false;
    player[1].machine = 8;
    play(14 * SECOND);
    assert_int_equal(player[1].offers, 0);
    player[0].gives = player[2].gives = true;
    play(4 * SECOND);
    expect_in_sync(1);
}

/* And nobody is put out for what nobody gave him the means to mend, however often it is tried; which is not
 * every second. */
TEST_WITH(a_client_that_nobody_gives_a_state_is_not_put_out, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[0].states = player[2].states = false;
    play(SECOND);
    uint32_t failures = the_room()->snapshot.failures;
    play(90 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(player[1].offers, 0);
    assert_in_range(the_room()->snapshot.failures - failures, 5, 12);
    player[0].states = player[2].states = true;
    play(15 * SECOND);
    expect_in_sync(1);
    player[1].machine = 8; /* that was the first time that he was healed, this is the second */
    play(4 * SECOND);
    expect_in_sync(2);
    player[1].machine = 8;
    player[1].at_once = true;
    play(4 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    vanish(1);
}

/* It has begun with a state of now, and says nothing yet. */
static void comes_new(unsigned who) {
    struct kl_lobby_member *m = the_room()->member[who];
    player[who].says = false;
    play(2 * SECOND);
    m->late.check = KL_LATE_SILENT;
    m->v.catchup.begins = the_room()->lock.next_close;
}

/* Those who parted are what they were before: so the newcomer is as they are. */
TEST_WITH(a_newcomer_is_in_sync_once_the_others_have_gone_back, set_up, tear_down) {
    begin_machines();
    comes_new(2);
    player[0].machine = 8;
    play(4 * SECOND);
    assert_int_equal(player[0].machine, 7);
    player[2].says = true;
    play(4 * SECOND);
    assert_int_equal(the_room()->snapshot.begins_apart, 0);
    assert_int_equal(player[2].offers + player[2].rewinds, 0);
    expect_in_sync(1);
}

/* If nobody else was out of sync since, the state holds too little. */
TEST_WITH(a_newcomer_whose_snapshot_held_too_little_begins_anew, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8; /* and what was before says nothing */
    play(4 * SECOND);
    expect_in_sync(1);
    comes_new(2);
    player[2].machine = 9;
    player[2].says = true;
    play(2 * SECOND);
    assert_int_equal(the_room()->snapshot.begins_apart, 1);
    assert_int_equal(player[2].offers, 0);
    assert_int_equal(the_room()->member[2]->v.state, KL_MEMBER_LOADING);
}

/* Without RAM the picture judges. Before a newcomer has drawn, its state alone says nothing: the state may be
 * what holds too little. The others do not count it among those that can go back. */
TEST_WITH(a_newcomer_without_ram_is_in_sync_once_its_picture_is, set_up, tear_down) {
    begin_machines();
    show_pictures_alone();
    play(2 * SECOND);
    comes_new(2);
    player[2].picture = 0;
    player[2].says = true;
    play(2 * SECOND);
    assert_int_equal(the_room()->member[2]->late.check, KL_LATE_SAID);
    assert_int_equal(the_room()->heal.agreed_by, 3);
    player[2].picture = 6;
    play(2 * SECOND);
    assert_int_equal(the_room()->snapshot.begins_apart, 1);
    assert_int_equal(player[2].offers + player[2].rewinds, 0);
    assert_int_equal(the_room()->member[2]->v.state, KL_MEMBER_LOADING);
}

/* A newcomer that waits for a snapshot orders one as soon as one is done: the one that healing ordered is
 * looked at all the same. */
TEST_WITH(healing_uses_its_snapshot_though_a_newcomer_orders_another, set_up, tear_down) {
    begin_machines();
    player[0].gives = player[2].gives = false;
    player[1].machine = 8;
    while (the_room()->snapshot.phase != KL_SNAPSHOT_GIVING)
        play(STEP_US);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_WAITING);
    player[the_room()->snapshot.giver].gives = true;
    while (the_room()->snapshot.phase == KL_SNAPSHOT_GIVING)
        play(STEP_US);
    while (the_room()->snapshot.phase != KL_SNAPSHOT_NONE)
        run();
    assert_int_equal(the_room()->heal.phase, KL_HEAL_WAITING); /* it has not seen it yet */
    (void)kl_lobby_snapshot_order(the_room(), 0, now_us);
    run();
    assert_int_equal(player[1].offers, 1);
    assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
    player[0].gives = player[2].gives = true;
    play(4 * SECOND);
    assert_int_equal(player[1].machine, 7);
    expect_in_sync(1);
}

TEST_WITH(the_host_alone_sets_the_reaction_to_a_desync, set_up, tear_down) {
    begin_machines();
    order(1, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE); /* not his to say */
    assert_int_equal(the_room()->params.desync, KL_DESYNC_HEAL);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE);
    player[1].machine = 8;
    play(3 * SECOND);
    assert_int_equal(verdict.differs, 1);
    assert_int_equal(player[1].offers, 0);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* mends what is */
    play(4 * SECOND);
    expect_in_sync(1);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_PAUSE);
    player[1].machine = 8;
    play(3 * SECOND);
    assert_true(the_room()->lock.paused);
    uint32_t frame = the_room()->lock.next_close;
    order(0, KL_COMMAND_PAUSE, 0);
    play(3 * SECOND);
    assert_true(the_room()->lock.next_close > frame + 100); /* once is enough */
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    play(4 * SECOND);
    expect_in_sync(2);
}

TEST_WITH(a_healed_that_nobody_asked_for_changes_nothing, set_up, tear_down) {
    begin_machines();
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {.keyframe = 60, .next = 100}};
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(the_room()->heal.count, 0);
    play(2 * SECOND);
    expect_in_sync(0);
    m.healed.next = 1000000; /* of a relay before this one, which had more */
    say(player[1].peer, &m);
    m.healed.keyframe = 999999;
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    play(2 * SECOND);
    expect_in_sync(0);
}

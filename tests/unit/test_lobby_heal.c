/* Out of sync in the lobby, and back: three who play, one of whom says other hashes. net/PROTOCOL.md §7,
 * Healing. */
#include "tests/unit/lobby_machines.h"

static void gone(unsigned who) {
    bye(player[who].peer);
    player[who].linked = player[who].plays = false;
    go_on(SECOND);
}

static void two_against_one(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    uint64_t from_us = now_us;
    while (verdict.differs == 0)
        go_on(20000);
    assert_true(now_us - from_us < 1200000); /* with the next hash */
    from_us = now_us;
    while (room()->heal.count == 0 && now_us < from_us + 5 * SECOND)
        go_on(20000);
    assert_true(now_us - from_us < 1 * SECOND);
    go_on(2 * SECOND);
    expect_in_sync(1);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[1], 7);
    assert_non_null(strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "back in sync: p1 (2)"));
    expect_all_at_the_end();
    machine[2] = 9; /* and another time somebody else */
    go_on(4 * SECOND);
    expect_in_sync(2);
}

/* Its own hashes of before do not start it all again. */
static void while_it_heals_the_wrong_one_is_not_heard(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(4 * SECOND);
    assert_true(room()->member[1].heal.loads);
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
static void on_a_tie_own_states(void **unused) {
    (void)unused;
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        begin();
        gone(2);
        go_on(2 * SECOND);
        uint32_t agreed = verdict.agreed;
        assert_true(agreed > 0 && agreed == room()->heal.agreed);
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
        assert_int_equal(room()->shot.failures, 0);
        assert_null(room()->shot.kept); /* nobody was asked for a state */
        assert_non_null(strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text,
                               "back in sync: p0 (1), p1 (2) ran again from"));
        tear_down(NULL);
        set_up(NULL);
    }
}

/* They part again before they have agreed anew: both run the game from the beginning, once. */
static void who_part_again_run_all(void **unused) {
    (void)unused;
    begin();
    gone(2);
    machine[1] = 8;
    at_once[1] = true;
    for (uint64_t end_us = now_us + 20 * SECOND; !room()->member[1].heal.anew && now_us < end_us;)
        go_on(20000);
    assert_true(rewinds[0] == 1 && rewinds[1] == 1);
    assert_int_equal(offers[0] + offers[1], 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(room()->member[i].heal.anew, 1);
        assert_int_equal(room()->member[i].state, KL_MEMBER_LOADING);
        assert_non_null(strstr(heard(player[i].peer, KL_MSG_NOTICE)->text.text,
                               "p0 (1), p1 (2) runs the game from the beginning"));
    }
    assert_false(room()->heal.hopeless);
}

/* Where the beginning is not kept, the room pauses and says so. */
static void who_part_again_and_again(void **unused) {
    (void)unused;
    begin();
    gone(2);
    kl_lobby_start_free(room());
    machine[1] = 8;
    at_once[1] = true;
    go_on(10 * SECOND);
    assert_true(rewinds[0] == 1 && rewinds[1] == 1 && !offers[0] && !offers[1]);
    assert_true(room()->heal.hopeless && room()->lock.paused);
    for (unsigned i = 0; i < 2; i++)
        assert_non_null(strstr(heard(player[i].peer, KL_MSG_NOTICE)->text.text, "out of sync, paused"));
}

/* A liar that agrees in between cannot have the others go back for ever. */
static void ties_three_times_within_a_minute(void **unused) {
    (void)unused;
    begin();
    gone(2);
    kl_lobby_start_free(room());
    for (unsigned i = 1; i <= 2; i++) {
        machine[1] = 8;
        go_on(6 * SECOND);
        assert_int_equal(rewinds[0], i);
        expect_in_sync(i);
    }
    machine[1] = 8;
    go_on(6 * SECOND);
    assert_int_equal(rewinds[0], 2);
    assert_true(room()->heal.hopeless && room()->lock.paused);
}

/* A host whose machine is false says so again and again: what has failed is tried again once a minute. */
static void the_host_has_it_tried_again_once_a_minute(void **unused) {
    (void)unused;
    begin();
    gone(2);
    kl_lobby_start_free(room());
    machine[1] = 8;
    at_once[1] = true;
    go_on(10 * SECOND);
    assert_true(room()->heal.hopeless);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(room()->heal.hopeless);
    order(player[0].peer, KL_COMMAND_PAUSE, 0);
    go_on(10 * SECOND);
    assert_true(room()->heal.hopeless);
    inbox[player[0].peer].count = 0;
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_true(room()->heal.hopeless);
    assert_non_null(strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "tried less than a minute ago"));
    go_on(55 * SECOND);
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    assert_false(room()->heal.hopeless);
}

/* It alone runs the game from the beginning. */
static void who_has_no_own_state(void **unused) {
    (void)unused;
    begin();
    gone(2);
    has_own[0] = false;
    machine[1] = 8;
    for (uint64_t end_us = now_us + 5 * SECOND; !room()->member[0].heal.anew && now_us < end_us;)
        go_on(20000);
    assert_int_equal(room()->member[0].state, KL_MEMBER_LOADING);
    assert_int_equal(room()->member[1].state, KL_MEMBER_PLAYING);
    assert_int_equal(machine[1], 7);
}

/* Was it away when the others last agreed, then its own state of there may be anything. */
static void who_was_not_there_when_all_agreed(void **unused) {
    (void)unused;
    begin();
    gone(2);
    machine[0] = 8;
    for (uint64_t end_us = now_us + 5 * SECOND; !room()->member[1].heal.anew && now_us < end_us;) {
        room()->heal.agreed_by = 1;
        play(STEP_US);
    }
    assert_int_equal(room()->member[1].state, KL_MEMBER_LOADING);
    assert_int_equal(room()->member[0].state, KL_MEMBER_PLAYING);
    assert_int_equal(rewinds[0] + rewinds[1], 0);
}

static void who_never_goes_back_keeps_nobody_from_it(void **unused) {
    (void)unused;
    begin();
    gone(2);
    loads[1] = false;
    machine[1] = 8;
    go_on(4 * SECOND);
    assert_false(room()->member[0].heal.loads);
    assert_true(room()->member[1].heal.loads);
    go_on(10 * SECOND);
    assert_false(room()->member[1].heal.loads);
}

/* Two seats of one address, which tell equal false hashes, do not have the honest third load their state, nor
 * put it out; and an address to which one of them moves in the game changes nothing. */
static void two_of_one_address_are_no_majority(void **unused) {
    (void)unused;
    begin();
    snprintf(room()->member[0].home, sizeof room()->member[0].home, "198.51.100.7");
    kl_lobby_moved(lobby, player[2].peer, "203.0.113.9:7");
    go_on(2 * SECOND);
    for (unsigned i = 1; i <= 3; i++) {
        machine[1] = machine[2] = 8;
        go_on(4 * SECOND);
        assert_int_equal(offers[0], 0);
    }
    assert_false(inbox[player[0].peer].hung_up);
    assert_null(room()->shot.kept);
    assert_int_equal(rewinds[0], 2); /* the third time all run the game from the beginning */
    assert_int_equal(room()->member[0].heal.anew, 1);
}

/* Nor do they give a newcomer a state on which the third does not agree. */
static void two_of_one_address_give_no_state(void **unused) {
    (void)unused;
    begin();
    snprintf(room()->member[0].home, sizeof room()->member[0].home, "198.51.100.7");
    false_state[0] = true; /* to them, what it says differs */
    assert_true(kl_lobby_snapshot_order(room(), 0, now_us));
    go_on(5 * SECOND);
    assert_null(room()->shot.kept);
    memcpy(room()->member[0].home, room()->member[1].home, sizeof room()->member[0].home);
    assert_true(kl_lobby_snapshot_order(room(), 0, now_us)); /* siblings: each has a vote */
    go_on(5 * SECOND);
    assert_non_null(room()->shot.kept);
}

static void alone_three_times_within_a_minute(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    at_once[1] = true;
    go_on(12 * SECOND);
    assert_int_equal(loaded[1], 2);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    player[1].linked = player[1].plays = false;
    go_on(2 * SECOND);
    expect_in_sync(3); /* what differed is over, and everybody hears so */
    assert_int_equal(verdict.first, 0);
}

/* One a minute is no crime. */
static void seldom_enough(void **unused) {
    (void)unused;
    begin();
    for (unsigned i = 0; i < 4; i++) {
        machine[1] = 8;
        go_on(35 * SECOND);
        expect_in_sync(i + 1);
    }
}

static void nobody_is_put_out_on_a_tie(void **unused) {
    (void)unused;
    begin();
    gone(2);
    kl_lobby_start_free(room());
    machine[1] = 8;
    at_once[1] = true;
    go_on(20 * SECOND);
    assert_false(inbox[player[0].peer].hung_up || inbox[player[1].peer].hung_up);
    assert_true(room()->heal.hopeless && room()->lock.paused);
    assert_int_equal(verdict.differs, 1);
    at_once[1] = false;
    order(0, KL_COMMAND_PAUSE, 0);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* the host tries again */
    go_on(4 * SECOND);
    expect_in_sync(2);
}

/* Some cores' states do not hold all, and then loading one does not help; running all from the beginning
 * does.
 */
static void states_that_do_not_hold_all(void **unused) {
    (void)unused;
    begin();
    no_ram = true;
    machine[1] = 8;
    at_once[1] = true;
    for (uint64_t end_us = now_us + 20 * SECOND; !room()->member[1].heal.anew && now_us < end_us;)
        go_on(20000);
    assert_int_equal(loaded[1], 2);
    assert_int_equal(room()->member[1].state, KL_MEMBER_LOADING);
    assert_non_null(
        strstr(heard(player[1].peer, KL_MSG_NOTICE)->text.text, "p1 (2) runs the game from the beginning"));
    assert_false(inbox[player[1].peer].hung_up || room()->heal.states_hopeless);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

/* Where that is not kept, nothing is to be done; and nobody is put out for it. */
static void states_that_never_agree(void **unused) {
    (void)unused;
    begin();
    kl_lobby_start_free(room());
    no_ram = true;
    machine[1] = 8;
    at_once[1] = true;
    go_on(20 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(loaded[1], 2);
    assert_true(room()->heal.states_hopeless);
    assert_false(room()->heal.hopeless);
    at_once[1] = no_ram = false;
    machine[1] = 9; /* now it is RAM: that is healed */
    while (room()->member[1].heal.strike_us[0] && now_us < room()->member[1].heal.strike_us[0] + 60 * SECOND)
        go_on(SECOND);
    go_on(4 * SECOND);
    assert_int_equal(machine[1], 7);
}

static void who_cannot_load(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(14 * SECOND);
    const struct kl_msg *m = heard(player[0].peer, KL_MSG_NOTICE);
    assert_non_null(m);
    assert_true(offers[1] >= 2); /* tried again */
    assert_int_equal(room()->heal.count, 0);
}

static void who_leaves_meanwhile(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads);
    gone(1);
    go_on(2 * SECOND);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
    expect_in_sync(1); /* with him the difference */
}

/* He holds up himself alone. */
static void who_never_loads_keeps_nobody_from_it(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads);
    machine[2] = 9;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads); /* still the first time */
    assert_int_equal(offers[1], 1);
    assert_int_equal(offers[2], 0);
    assert_true(rewinds[0] == 1 && rewinds[2] == 1); /* of the other two, nobody can say who is right */
    assert_int_equal(machine[2], 7);
    assert_int_equal(room()->heal.count, 1);
}

/* However long he is given for it: what he spends loading is no time in sync. */
static void who_never_loads_is_put_out(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    for (unsigned tries = 1; tries <= 2; tries++) {
        for (uint64_t end_us = now_us + 10 * SECOND; !room()->member[1].heal.loads && now_us < end_us;)
            go_on(20000);
        assert_int_equal(offers[1], tries);
        room()->member[1].heal.by_us += 30 * SECOND; /* as for a large state */
        go_on(35 * SECOND);
        assert_true(room()->member[1].heal.loads);
        go_on(6 * SECOND);
    }
    go_on(4 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    player[1].linked = player[1].plays = false;
}

/* Whose link breaks each time before he has it is out of sync once. */
static void who_is_cut_off_while_it_heals(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    for (unsigned peer = 11; peer < 11 + 4; peer++) {
        while (!room()->member[1].heal.loads)
            go_on(20000);
        late_us[1] = 0;
        to_load[1] = false;
        come_back(1, peer);
    }
    loads[1] = true;
    go_on(5 * SECOND);
    assert_false(inbox[14].hung_up);
    assert_int_equal(machine[1], 7);
    expect_in_sync(1);
}

/* A host without a seat decides nothing: of the two who play, neither is more than half. */
static void the_host_watches(void **unused) {
    (void)unused;
    begin();
    order(0, KL_COMMAND_SEAT, 0);
    go_on(2 * SECOND);
    assert_int_equal(room()->member[0].seats, 0);
    assert_int_equal(room()->host, 0);
    late_by_us[0] = 300000;
    machine[1] = 8;
    machine[2] = 9;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(machine[1], 7);
    assert_int_equal(offers[1] + offers[2], 0);
}

/* In sync, and yet one of two says another state: neither has the word of more than half, so the wrong one
 * goes back to its own. */
static void false_word_on_the_state(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    false_state[2] = true;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(machine[1], 7);
    assert_int_equal(offers[1], 0);
    assert_true(rewinds[1] == 1 && !rewinds[0] && !rewinds[2]);
}

/* Nor is silence: the next time it is there. */
static void no_word_on_the_state(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    mute[0] = mute[2] = true;
    while (room()->shot.failures == 0)
        go_on(20000);
    mute[0] = mute[2] = false;
    assert_int_equal(room()->member[1].state, KL_MEMBER_PLAYING);
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(offers[1], 1);
}

/* Nor has the wrong one a state of its own. */
static void without_a_state_all_is_run_again(void **unused) {
    (void)unused;
    begin();
    machine[0] = 8;
    has_own[0] = false;
    false_state[2] = true;
    for (uint64_t end_us = now_us + 20 * SECOND; room()->member[0].heal.anew == 0 && now_us < end_us;)
        go_on(20000);
    assert_non_null(
        strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "runs the game from the beginning"));
    assert_int_equal(offers[0], 0);
    assert_int_equal(room()->member[0].state, KL_MEMBER_LOADING);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

static void nobody_gives(void **unused) {
    (void)unused;
    begin();
    gives[0] = gives[2] = false;
    machine[1] = 8;
    go_on(14 * SECOND);
    assert_int_equal(offers[1], 0);
    gives[0] = gives[2] = true;
    go_on(4 * SECOND);
    expect_in_sync(1);
}

/* And nobody is put out for what nobody gave him the means to mend, however often it is tried; which is not
 * every second. */
static void nobody_gives_for_long(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    mute[0] = mute[2] = true;
    go_on(SECOND);
    uint32_t failures = room()->shot.failures;
    go_on(90 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(offers[1], 0);
    assert_in_range(room()->shot.failures - failures, 5, 12);
    mute[0] = mute[2] = false;
    go_on(15 * SECOND);
    expect_in_sync(1);
    machine[1] = 8; /* that was the first time that he was healed, this is the second */
    go_on(4 * SECOND);
    expect_in_sync(2);
    machine[1] = 8;
    at_once[1] = true;
    go_on(4 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    player[1].linked = player[1].plays = false;
}

/* --- newcomers --------------------------------------------------------------------------------------------
 */

/* It has begun with a state of now, and says nothing yet. */
static void comes_new(unsigned who) {
    struct kl_lobby_member *m = &room()->member[who];
    says[who] = false;
    go_on(2 * SECOND);
    m->late.check = KL_LATE_SILENT;
    m->way.begins = room()->lock.next_close;
}

/* Those who parted are what they were before: so the newcomer is as they are. */
static void who_comes_between(void **unused) {
    (void)unused;
    begin();
    comes_new(2);
    machine[0] = 8;
    go_on(4 * SECOND);
    assert_int_equal(machine[0], 7);
    says[2] = true;
    go_on(4 * SECOND);
    assert_int_equal(room()->shot.begins_apart, 0);
    assert_int_equal(offers[2] + rewinds[2], 0);
    expect_in_sync(1);
}

/* Where nobody else was out of sync since, it is the state that is not all. */
static void whose_state_is_not_all(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8; /* and what was before says nothing */
    go_on(4 * SECOND);
    expect_in_sync(1);
    comes_new(2);
    machine[2] = 9;
    says[2] = true;
    go_on(2 * SECOND);
    assert_int_equal(room()->shot.begins_apart, 1);
    assert_int_equal(offers[2], 0);
    assert_int_equal(room()->member[2].state, KL_MEMBER_LOADING);
}

/* Who waits for a snapshot to begin with orders one as soon as one is done: what healing had ordered is
 * looked at all the same. */
static void who_else_wants_a_snapshot(void **unused) {
    (void)unused;
    begin();
    gives[0] = gives[2] = false;
    machine[1] = 8;
    while (room()->shot.phase != KL_SHOT_GIVING)
        play(STEP_US);
    assert_int_equal(room()->heal.phase, KL_HEAL_WAITING);
    give_state(room()->shot.giver);
    while (room()->shot.phase != KL_SHOT_NONE)
        run();
    assert_int_equal(room()->heal.phase, KL_HEAL_WAITING); /* it has not seen it yet */
    (void)kl_lobby_snapshot_order(room(), 0, now_us);
    run();
    assert_int_equal(offers[1], 1);
    assert_true(kl_lobby_snapshot_order(room(), 0, now_us));
    gives[0] = gives[2] = true;
    go_on(4 * SECOND);
    assert_int_equal(machine[1], 7);
    expect_in_sync(1);
}

static void policies(void **unused) {
    (void)unused;
    begin();
    order(1, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE); /* not his to say */
    assert_int_equal(room()->params.desync, KL_DESYNC_HEAL);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE);
    machine[1] = 8;
    go_on(3 * SECOND);
    assert_int_equal(verdict.differs, 1);
    assert_int_equal(offers[1], 0);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* mends what is */
    go_on(4 * SECOND);
    expect_in_sync(1);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_PAUSE);
    machine[1] = 8;
    go_on(3 * SECOND);
    assert_true(room()->lock.paused);
    uint32_t frame = room()->lock.next_close;
    order(0, KL_COMMAND_PAUSE, 0);
    go_on(3 * SECOND);
    assert_true(room()->lock.next_close > frame + 100); /* once is enough */
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    go_on(4 * SECOND);
    expect_in_sync(2);
}

static void what_nobody_asked_for(void **unused) {
    (void)unused;
    begin();
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {.keyframe = 60, .next = 100}};
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(room()->heal.count, 0);
    go_on(2 * SECOND);
    expect_in_sync(0);
    m.healed.next = 1000000; /* of a relay before this one, which had more */
    say(player[1].peer, &m);
    m.healed.keyframe = 999999;
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    go_on(2 * SECOND);
    expect_in_sync(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_against_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(while_it_heals_the_wrong_one_is_not_heard, set_up, tear_down),
        cmocka_unit_test_setup_teardown(on_a_tie_own_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_part_again_run_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_part_again_and_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ties_three_times_within_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_has_it_tried_again_once_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_no_own_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_was_not_there_when_all_agreed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_goes_back_keeps_nobody_from_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_of_one_address_are_no_majority, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_of_one_address_give_no_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alone_three_times_within_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seldom_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_put_out_on_a_tie, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_that_do_not_hold_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_that_never_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_cannot_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_leaves_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_loads_keeps_nobody_from_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_loads_is_put_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_cut_off_while_it_heals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_watches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(false_word_on_the_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_word_on_the_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_state_all_is_run_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_gives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_gives_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_between, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whose_state_is_not_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_else_wants_a_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(policies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_asked_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Hashes that the relay keeps to itself until everybody's are in, or their time is up. net/ROOMS.md §7,
 * Hashes. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_machines.h"

#include <zstd.h>

/* The others' difference is told when the slowest of those who play has spoken, and not before. */
TEST_WITH(nothing_is_told_before_all_have_spoken, set_up, tear_down) {
    begin_machines();
    late_by_us[2] = 700000;
    machine[1] = 8;
    go_on(6 * SECOND);
    expect_in_sync(1);
    assert_int_equal(the_room()->heal.count, 1);
    assert_int_equal(heard_early, 0);
}

/* A later client is not waited for, and has no vote: one against one, the host is right, whatever
 * this one says. It is compared all the same. */
TEST_WITH(a_client_that_is_too_late_has_no_vote, set_up, tear_down) {
    begin_machines();
    late_by_us[2] = 1200000;
    machine[1] = machine[2] = 8;
    fixed_spacing = 0;
    go_on(6 * SECOND);
    assert_true(heard_early > 0);
    assert_int_equal(machine[0], 7);
    assert_int_equal(machine[1], 7);
    late_by_us[2] = 0;
    go_on(4 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(verdict.differs, 0);
}

/* Silence has no vote, and is nobody's fault: the others are compared. */
TEST_WITH(a_silent_client_is_counted_on_no_side, set_up, tear_down) {
    begin_machines();
    says[1] = false;
    machine[1] = 8;
    go_on(5 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_false(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    machine[2] = 9; /* one against one, as far as is known: the host is right */
    go_on(4 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(offers[1], 0);
    assert_int_equal(the_room()->heal.count, 1);
    says[1] = true; /* and is looked at again */
    go_on(5 * SECOND);
    expect_in_sync(2);
}

/* The first word counts. */
TEST_WITH(a_client_that_says_two_hashes_is_heard_once, set_up, tear_down) {
    begin_machines();
    machine[1] = 8;
    late_by_us[2] = 500000;
    while (!late_us[2])
        go_on(20000);
    struct kl_msg m = late[2]; /* of the same label */
    say(player[1].peer, &m);
    go_on(SECOND);
    assert_int_equal(verdict.differs, 1);
    late_by_us[2] = 0;
    go_on(3 * SECOND);
    expect_in_sync(1);
}

/* Hashes of before the state that a client was given may be made of that state. */
TEST_WITH(hashes_of_before_a_given_state_do_not_count, set_up, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.has = KL_HASH_RAM, .ram = 7}};
    begin_machines();
    says[1] = false;
    go_on(SECOND);
    m.hash.frame = the_room()->lock.next_close - 10;
    the_room()->member[1]->v.catchup.begins = m.hash.frame + 1;
    say(player[1].peer, &m);
    assert_int_equal(the_room()->heal.verdicts.asked[1].reported, 0);
    the_room()->member[1]->v.catchup.begins = m.hash.frame;
    say(player[1].peer, &m);
    assert_int_equal(the_room()->heal.verdicts.asked[1].reported, 2);
}

/* A newer session of whom it is about: what the old one was sent is not waited for. */
TEST_WITH(a_client_that_is_back_in_time_is_not_missed, set_up, tear_down) {
    begin_machines();
    machine[1] = 8;
    loads[1] = false;
    while (!the_room()->member[1]->heal.loads)
        go_on(20000);
    to_load[1] = false;
    late_us[1] = 0;
    come_back(1, 11);
    assert_false(the_room()->member[1]->heal.loads);
    to_load[1] = false;
    loads[1] = true;
    go_on(5 * SECOND);
    expect_in_sync(1);
}

/* A newcomer in a place has not said the hashes of the one before. */
TEST_WITH(whose_place_it_was, set_up, tear_down) {
    begin_machines();
    says[2] = false;
    machine[1] = 8;
    while (the_room()->heal.phase != KL_HEAL_FOUND) /* and the third is waited for */
        go_on(20000);
    cut(1);
    player[1].plays = false;
    the_room()->seat_time_s = 0;
    while (kl_lobby_here(the_room()->member[1]))
        play(STEP_US);
    struct kl_msg m = a_hello(12, "room", 1, PLAYERS, "x");
    enter(12, &m);
    assert_int_equal(heard(12, KL_MSG_WELCOME)->welcome.client, 1);
    play(1500000);
    assert_null(heard(12, KL_MSG_OFFER));
    assert_int_equal(the_room()->member[1]->heal.strike_us[0], 0);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
}

/* Verdicts that are held back for who takes nothing do not keep the relay awake. */
TEST_WITH(held_back, set_up, tear_down) {
    begin_machines();
    says[2] = false;
    go_on(1200000);
    inbox[1].pending = KL_VERDICTS_UNDER_WAY + 1;
    go_on(4 * SECOND);
    for (unsigned i = 0; i < 250; i++) {
        run();
        assert_true(kl_lobby_due_us(lobby) > now_us);
        now_us += 1000;
    }
}

/* Before a keyframe comes nobody honest can have hashed what stands before it. A client that makes the room
 * stand still there, and speaks at once, makes all others late; that decides nothing. */
TEST_WITH(hashes_while_the_room_stands_decide_nothing, set_up, tear_down) {
    fixed_spacing = 30;
    begin_machines();
    fixed_spacing = 0;
    do {
        order(0, KL_COMMAND_PAUSE, 0);
        go_on(300000);
        order(0, KL_COMMAND_PAUSE, 1);
        go_on(2 * SECOND);
        assert_true(the_room()->lock.paused);
    } while (the_room()->lock.next_close % 60 != 0); /* until the next keyframe is one that will be marked */
    machine[1] = 8;
    say_hash(1, the_room()->lock.next_close - 1);
    go_on(1500000);
    assert_true(the_room()->heal.verdicts.any_open &&
                the_room()->heal.verdicts.open == the_room()->lock.next_close - 1);
    order(0, KL_COMMAND_PAUSE, 0);
    go_on(5 * SECOND);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[0], 7);
    expect_in_sync(1); /* with the next hash he is found out */
}

/* Hashes from far back are nobody's any more. */
TEST_WITH(labels_far_back_are_forgotten, set_up, tear_down) {
    struct kl_msg old = {.kind = KL_MSG_HASH, .hash = {.has = KL_HASH_RAM}};
    begin_machines();
    for (unsigned i = 0; i < PLAYERS; i++)
        says[i] = false;
    go_on(20 * SECOND);
    uint32_t back = the_room()->lock.next_close - KL_KEPT_FRAMES;
    for (unsigned i = 0; i < 2; i++) {
        old.hash.frame = i ? back + 100 : back - 1;
        say(player[1].peer, &old);
        assert_int_equal(the_room()->heal.verdicts.asked[1].reported != 0, i);
    }
}

/* A STATE discloses nothing: who is wrong may repeat the others' hash of it, where he knows it. It gains him
 * nothing: his word is one for what they say, what he gives is looked at, and his next hashes are his own. */
TEST_WITH(a_copied_state_does_not_count, set_up, tear_down) {
    for (unsigned given = 0; given < 2; given++) {
        begin_machines();
        machine[1] = 8;
        copies[1] = true;
        gives[1] = given;
        the_room()->member[0]->failed_gives = the_room()->member[2]->failed_gives =
            1; /* so that he is asked first */
        assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
        while (!to_give[1] && the_room()->snapshot.phase != KL_SNAPSHOT_NONE)
            play(STEP_US);
        assert_true(to_give[1]);
        go_on(12 * SECOND);
        assert_int_equal(inbox[player[1].peer].hung_up, given); /* a lie is one, silence costs a while */
        if (given) {
            expect_refusal(player[1].peer, KL_REFUSE_PROTOCOL, "does not match the hash that you gave");
            vanish(1);
        } else
            expect_in_sync(1);
        assert_int_equal(machine[0], 7);
        assert_int_equal(machine[2], 7);
        uint8_t kept[BYTES], ours[BYTES];
        const struct kl_lobby_packed *k = the_room()->snapshot.kept;
        state_of_machine(0, ours);
        assert_int_equal(ZSTD_decompress(kept, BYTES, k->packed, k->len), BYTES);
        assert_memory_equal(kept, ours, BYTES);
        begin_again();
    }
}

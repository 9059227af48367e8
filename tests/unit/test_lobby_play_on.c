/* test_lobby_play_on.c - machines differ for good in the lobby: the players are asked, and the room never
 * stands for long. net/ROOMS.md §7, Healing. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_machines.h"

#include "net/engine/command.h"

#define AGAIN_PEER 9 /* the connection of one that comes back */

static const char question[] = "machines differ in RAM: p0 (1), p1 (2). Go on?";

static void resume(unsigned who) {
    order(player[who].peer, KL_COMMAND_PAUSE, 0);
}

static bool asks(void) {
    return the_room()->heal.play_on.until_us > 0;
}

/* Two whose machines part at once from each state that they go back to; nobody can begin anew. */
static void begin_apart(void) {
    begin_machines();
    machine_leaves(2);
    kl_lobby_start_free(the_room());
    machine[1] = 8;
    at_once[1] = true;
}

/* Until the room asks and stands. */
static void begin_asked(void) {
    begin_apart();
    for (uint64_t end_us = now_us + 10 * SECOND; now_us < end_us && !(asks() && the_room()->lock.paused);)
        go_on(20000);
    assert_true(asks() && the_room()->lock.paused);
    go_on(100000);
}

static void expect_on(unsigned who) {
    uint32_t from = player[who].lock.stats.next_run;
    assert_false(the_room()->lock.paused || asks());
    go_on(2 * SECOND);
    assert_true(player[who].lock.stats.next_run > from + 60);
}

TEST_WITH(each_player_is_asked_and_all_must_agree, set_up, tear_down) {
    begin_asked();
    assert_false(verdict.parts & KL_PARTS_LEFT);
    for (unsigned i = 0; i < 2; i++) {
        const struct kl_text *t = &heard(player[i].peer, KL_MSG_NOTICE)->text;
        assert_string_equal(t->text, question);
        assert_int_equal(t->code, KL_NOTICE_PLAY_ON);
    }
    resume(0); /* the host's word is one of two */
    resume(0);
    go_on(5 * SECOND);
    assert_true(the_room()->lock.paused && asks());
    resume(1);
    expect_on(0);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text,
                        "playing on, machines differ in RAM: p0 (1), p1 (2)");
    assert_int_equal(verdict.differs, 1); /* known, and not healed any more */
    assert_true(verdict.parts & KL_PARTS_LEFT);
    assert_true(the_room()->heal.hopeless);
    assert_int_equal(rewinds[0], 1);
}

/* One may be asleep, or a liar that has the others stand. */
TEST_WITH(without_an_answer_the_room_goes_on_after_30_s, set_up, tear_down) {
    begin_asked();
    resume(0);
    go_on(28 * SECOND);
    assert_true(the_room()->lock.paused);
    go_on(3 * SECOND);
    expect_on(0);
}

TEST_WITH(an_answer_before_the_pause_begins_counts, set_up, tear_down) {
    begin_apart();
    for (uint64_t end_us = now_us + 10 * SECOND; now_us < end_us && !asks();)
        go_on(20000);
    assert_true(asks() && !the_room()->lock.paused);
    resume(0);
    resume(1);
    go_on(2 * SECOND);
    expect_on(1);
}

TEST_WITH(a_player_in_its_menu_or_without_a_link_is_not_waited_for, set_up, tear_down) {
    begin_asked();
    the_room()->lock.client[1].away = true;
    player[1].plays = false; /* or its next CTRL says otherwise */
    resume(0);
    assert_false(asks());
    begin_again();
    begin_asked();
    cut(1);
    resume(0);
    assert_false(asks());
}

/* The one that is left differs from nobody, and healing is there for the next difference. */
TEST_WITH(the_room_goes_on_if_the_other_leaves, set_up, tear_down) {
    begin_asked();
    machine_leaves(1);
    expect_on(0);
    assert_int_equal(verdict.differs, 0);
    assert_false(the_room()->heal.hopeless);
}

TEST_WITH(a_player_that_comes_back_is_asked, set_up, tear_down) {
    begin_asked();
    cut(1);
    inbox[AGAIN_PEER].count = 0;
    come_back(1, AGAIN_PEER);
    go_on(SECOND);
    assert_string_equal(heard(AGAIN_PEER, KL_MSG_NOTICE)->text.text, question);
    resume(0);
    go_on(SECOND);
    assert_true(asks());
    resume(1);
    assert_false(asks());
}

/* It is there once the others have agreed. */
TEST_WITH(a_newcomer_is_told_that_machines_differ, set_up, tear_down) {
    begin_asked();
    resume(0);
    resume(1);
    go_on(SECOND);
    cut(1);
    inbox[AGAIN_PEER].count = 0;
    come_back(1, AGAIN_PEER);
    go_on(SECOND);
    assert_true(told(AGAIN_PEER, "machines differ in RAM: p0 (1), p1 (2)"));
}

TEST_WITH(the_host_may_decide, set_up, tear_down) {
    static const uint8_t policies[] = {KL_DESYNC_HEAL, KL_DESYNC_PAUSE, KL_DESYNC_IGNORE};
    for (unsigned i = 0; i < sizeof policies; i++) {
        begin_asked();
        order(player[0].peer, KL_COMMAND_DESYNC, policies[i]);
        assert_false(asks() || the_room()->lock.paused);
        begin_again();
    }
}

/* Not even a host with a false machine, who says `desync heal' once a minute, has the others stand again. */
TEST_WITH(the_question_comes_once_in_ten_minutes, set_up, tear_down) {
    begin_asked();
    resume(0);
    resume(1);
    for (unsigned minute = 1; minute < 9; minute++) {
        go_on(60 * SECOND);
        order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
        assert_false(the_room()->heal.hopeless);
        for (unsigned s = 0; s < 10; s++) {
            go_on(SECOND);
            assert_false(asks() || the_room()->lock.paused);
        }
        assert_true(the_room()->heal.hopeless);
    }
}

/* All are equal again: what comes next is healed. */
TEST_WITH(playing_on_ends_when_the_machines_are_equal, set_up, tear_down) {
    begin_asked();
    resume(0);
    resume(1);
    at_once[1] = false;
    machine[1] = machine[0];
    go_on(3 * SECOND);
    assert_false(the_room()->heal.hopeless);
    unsigned before = the_room()->heal.count;
    machine[1] = 9;
    go_on(4 * SECOND);
    expect_in_sync(before + 1);
}

/* A core without states, whose beginning is not kept. */
TEST_WITH(a_core_without_states_has_its_players_asked, set_up, tear_down) {
    begin_apart();
    no_states = true;
    the_room()->snapshot.unfit = true;
    go_on(10 * SECOND);
    assert_true(asks() && the_room()->lock.paused);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text, question);
}

/* One against two, and nobody can be brought back. */
TEST_WITH(the_one_that_differs_from_all_others_is_named, set_up, tear_down) {
    begin_machines();
    kl_lobby_start_free(the_room());
    the_room()->snapshot.unfit = true;
    machine[1] = 8;
    go_on(4 * SECOND);
    assert_true(asks() && the_room()->lock.paused);
    assert_string_equal(heard(player[2].peer, KL_MSG_NOTICE)->text.text,
                        "machines differ in RAM: p1 (2). Go on?");
    resume(0);
    resume(2);
    assert_true(asks());
    machine_leaves(1);
    go_on(2 * SECOND);
    expect_on(2);
}

TEST_WITH(a_room_that_pauses_by_its_rule_goes_on_by_anybody, set_up, tear_down) {
    begin_machines();
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_PAUSE);
    machine[1] = 8;
    go_on(4 * SECOND);
    assert_true(the_room()->lock.paused);
    assert_true(told(player[1].peer, "paused by the room's rule. Go on?"));
    resume(1);
    expect_on(0);
}

/* --- differences that come again --- */

/* Each is another one: the machines were equal in between. */
TEST_WITH(separate_differences_are_each_healed_by_own_states, set_up, tear_down) {
    begin_machines();
    machine_leaves(2);
    for (unsigned i = 1; i <= 4; i++) {
        machine[i & 1] = 8;
        go_on(5 * SECOND);
        assert_int_equal(rewinds[0], i);
        expect_in_sync(i);
    }
    assert_int_equal(the_room()->member[0]->heal.anew + the_room()->member[1]->heal.anew, 0);
}

/* So many ties, each of which takes the second machine so long; each is over when the next one comes. */
static unsigned ties_until_asked(unsigned seconds_apart, uint64_t heals_us, unsigned most) {
    begin_machines();
    machine_leaves(2);
    for (unsigned i = 1; i <= most; i++) {
        uint64_t end_us = now_us + seconds_apart * SECOND;
        loads[1] = false;
        machine[1] = 8;
        while (rewinds[1] < i && !asks() && now_us < end_us)
            go_on(20000);
        if (asks()) return i;
        go_on(heals_us);
        loads[1] = true;
        go_on(end_us - now_us);
    }
    return 0;
}

/* Two healings that cost 2 s each, then a sixteenth of the time; and nobody begins the game again. */
TEST_WITH(the_time_that_own_states_cost_is_bounded, set_up, tear_down) {
    static const struct {
        unsigned seconds_apart;
        uint64_t heals_us;
        unsigned asked_at;
    } c[] = {{20, 2 * SECOND, 4}, {6, 1800000, 3}, {40, 2 * SECOND, 0}, {6, 300000, 0}};
    for (unsigned i = 0; i < sizeof c / sizeof *c; i++) {
        assert_int_equal(ties_until_asked(c[i].seconds_apart, c[i].heals_us, 8), c[i].asked_at);
        assert_int_equal(the_room()->member[0]->heal.anew + the_room()->member[1]->heal.anew, 0);
        begin_again();
    }
}

/* As waits do. */
TEST_WITH(the_time_is_kept_for_a_player_who_comes_again, set_up, tear_down) {
    (void)ties_until_asked(20, 2 * SECOND, 1);
    uint64_t spent_us = the_room()->member[1]->v.spent.healed_us;
    assert_true(spent_us > now_us);
    machine_leaves(1);
    join_late(1, player[1].peer, 1);
    assert_int_equal(the_room()->member[1]->v.spent.healed_us, spent_us);
}

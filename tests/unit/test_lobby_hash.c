/* test_lobby_hash.c - hashes that the relay keeps to itself until everybody's are in; machines that differ
 * for good; players who load no bytes of others. net/ROOMS.md §7, Hashes, Healing, Consent. */
#include <zstd.h>

#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"

/* The others' difference is told when the slowest of those who play has spoken, and not before. */
TEST_WITH(nothing_is_told_before_all_have_spoken, set_up, tear_down) {
    begin_machines();
    player[2].late_by_us = 700000;
    player[1].machine = 8;
    play(6 * SECOND);
    expect_in_sync(1);
    assert_int_equal(the_room()->heal.count, 1);
    assert_int_equal(heard_early, 0);
}

/* A later client is not waited for, and has no vote: one against one, the host is right, whatever
 * this one says. It is compared all the same. */
TEST_WITH(a_client_that_is_too_late_has_no_vote, set_up, tear_down) {
    begin_machines();
    player[2].late_by_us = 1200000;
    player[1].machine = player[2].machine = 8;
    fixed_spacing = 0;
    play(6 * SECOND);
    assert_true(heard_early > 0);
    assert_int_equal(player[0].machine, 7);
    assert_int_equal(player[1].machine, 7);
    player[2].late_by_us = 0;
    play(4 * SECOND);
    assert_int_equal(player[2].machine, 7);
    assert_int_equal(verdict.differs, 0);
}

/* Silence has no vote, and is nobody's fault: the others are compared. */
TEST_WITH(a_silent_client_is_counted_on_no_side, set_up, tear_down) {
    begin_machines();
    player[1].says = false;
    player[1].machine = 8;
    play(5 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_false(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    player[2].machine = 9; /* one against one, as far as is known: the host is right */
    play(4 * SECOND);
    assert_int_equal(player[2].machine, 7);
    assert_int_equal(player[1].offers, 0);
    assert_int_equal(the_room()->heal.count, 1);
    player[1].says = true; /* and is looked at again */
    play(5 * SECOND);
    expect_in_sync(2);
}

/* The first word counts. */
TEST_WITH(a_client_that_says_two_hashes_is_heard_once, set_up, tear_down) {
    begin_machines();
    player[1].machine = 8;
    player[2].late_by_us = 500000;
    while (!player[2].late_us)
        play(20000);
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = player[2].late}; /* of the same label */
    say(player[1].peer, &m);
    play(SECOND);
    assert_int_equal(verdict.differs, 1);
    player[2].late_by_us = 0;
    play(3 * SECOND);
    expect_in_sync(1);
}

/* Hashes of before the state that a client was given may be made of that state. */
TEST_WITH(hashes_of_before_a_given_state_do_not_count, set_up, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.has = KL_HASH_RAM, .ram = 7}};
    begin_machines();
    player[1].says = false;
    play(SECOND);
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
    player[1].machine = 8;
    player[1].loads = false;
    while (!the_room()->member[1]->heal.loads)
        play(20000);
    come_back(1, 11);
    assert_false(the_room()->member[1]->heal.loads);
    player[1].loads = true;
    play(5 * SECOND);
    expect_in_sync(1);
}

/* A newcomer in a place has not said the hashes of the one before. */
TEST_WITH(whose_place_it_was, set_up, tear_down) {
    begin_machines();
    player[2].says = false;
    player[1].machine = 8;
    while (the_room()->heal.phase != KL_HEAL_FOUND) /* and the third is waited for */
        play(20000);
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
    player[2].says = false;
    play(1200000);
    inbox[1].pending = KL_VERDICTS_UNDER_WAY + 1;
    play(4 * SECOND);
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
        play(300000);
        order(0, KL_COMMAND_PAUSE, 1);
        play(2 * SECOND);
        assert_true(the_room()->lock.paused);
    } while (the_room()->lock.next_close % 60 != 0); /* until the next keyframe is one that will be marked */
    player[1].machine = 8;
    say_hash(&player[1], the_room()->lock.next_close - 1);
    play(1500000);
    assert_true(the_room()->heal.verdicts.any_open &&
                the_room()->heal.verdicts.open == the_room()->lock.next_close - 1);
    order(0, KL_COMMAND_PAUSE, 0);
    play(5 * SECOND);
    assert_int_equal(player[0].offers + player[2].offers, 0);
    assert_int_equal(player[0].machine, 7);
    expect_in_sync(1); /* with the next hash he is found out */
}

/* Hashes from far back are nobody's any more. */
TEST_WITH(labels_far_back_are_forgotten, set_up, tear_down) {
    struct kl_msg old = {.kind = KL_MSG_HASH, .hash = {.has = KL_HASH_RAM}};
    begin_machines();
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].says = false;
    play(20 * SECOND);
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
        player[1].machine = 8;
        player[1].copies = true;
        player[1].gives = given;
        the_room()->member[0]->failed_gives = the_room()->member[2]->failed_gives =
            1; /* so that he is asked first */
        assert_true(kl_lobby_snapshot_order(the_room(), 0, now_us));
        while (!player[1].to_give && the_room()->snapshot.phase != KL_SNAPSHOT_NONE)
            play(STEP_US);
        assert_true(player[1].to_give);
        play(12 * SECOND);
        assert_int_equal(inbox[player[1].peer].hung_up, given); /* a lie is one, silence costs a while */
        if (given) {
            expect_refusal(player[1].peer, KL_REFUSE_PROTOCOL, "does not match the hash that you gave");
            vanish(1);
        } else
            expect_in_sync(1);
        assert_int_equal(player[0].machine, 7);
        assert_int_equal(player[2].machine, 7);
        static uint8_t kept[PLAYER_STATE_BYTES], ours[PLAYER_STATE_BYTES];
        const struct kl_lobby_packed *k = the_room()->snapshot.kept;
        state_of_machine(&player[0], ours);
        assert_int_equal(ZSTD_decompress(kept, sizeof kept, k->packed, k->len), state_bytes);
        assert_memory_equal(kept, ours, state_bytes);
        begin_again();
    }
}

/* --- machines that differ for good --- */

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
    leave(2);
    kl_lobby_start_free(the_room());
    player[1].machine = 8;
    player[1].at_once = true;
}

/* Until the room asks and stands. */
static void begin_asked(void) {
    begin_apart();
    for (uint64_t end_us = now_us + 10 * SECOND; now_us < end_us && !(asks() && the_room()->lock.paused);)
        play(20000);
    assert_true(asks() && the_room()->lock.paused);
    play(100000);
}

static void expect_on(unsigned who) {
    uint32_t from = player[who].p.participant.lock.stats.next_run;
    assert_false(the_room()->lock.paused || asks());
    play(2 * SECOND);
    assert_true(player[who].p.participant.lock.stats.next_run > from + 60);
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
    play(5 * SECOND);
    assert_true(the_room()->lock.paused && asks());
    resume(1);
    expect_on(0);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text,
                        "playing on, machines differ in RAM: p0 (1), p1 (2)");
    assert_int_equal(verdict.differs, 1); /* known, and not healed any more */
    assert_true(verdict.parts & KL_PARTS_LEFT);
    assert_true(the_room()->heal.hopeless);
    assert_int_equal(player[0].rewinds, 1);
}

/* One may be asleep, or a liar that has the others stand. */
TEST_WITH(without_an_answer_the_room_goes_on_after_30_s, set_up, tear_down) {
    begin_asked();
    resume(0);
    play(28 * SECOND);
    assert_true(the_room()->lock.paused);
    play(3 * SECOND);
    expect_on(0);
}

TEST_WITH(an_answer_before_the_pause_begins_counts, set_up, tear_down) {
    begin_apart();
    for (uint64_t end_us = now_us + 10 * SECOND; now_us < end_us && !asks();)
        play(20000);
    assert_true(asks() && !the_room()->lock.paused);
    resume(0);
    resume(1);
    play(2 * SECOND);
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
    leave(1);
    expect_on(0);
    assert_int_equal(verdict.differs, 0);
    assert_false(the_room()->heal.hopeless);
}

TEST_WITH(a_player_that_comes_back_is_asked, set_up, tear_down) {
    begin_asked();
    cut(1);
    forget(AGAIN_PEER, KL_MSG_NOTICE);
    come_back(1, AGAIN_PEER);
    play(SECOND);
    assert_string_equal(heard(AGAIN_PEER, KL_MSG_NOTICE)->text.text, question);
    resume(0);
    play(SECOND);
    assert_true(asks());
    resume(1);
    assert_false(asks());
}

/* It is there once the others have agreed. */
TEST_WITH(a_newcomer_is_told_that_machines_differ, set_up, tear_down) {
    begin_asked();
    resume(0);
    resume(1);
    play(SECOND);
    cut(1);
    forget(AGAIN_PEER, KL_MSG_NOTICE);
    come_back(1, AGAIN_PEER);
    play(SECOND);
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
        play(60 * SECOND);
        order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
        assert_false(the_room()->heal.hopeless);
        for (unsigned s = 0; s < 10; s++) {
            play(SECOND);
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
    player[1].at_once = false;
    player[1].machine = player[0].machine;
    play(3 * SECOND);
    assert_false(the_room()->heal.hopeless);
    unsigned before = the_room()->heal.count;
    player[1].machine = 9;
    play(4 * SECOND);
    expect_in_sync(before + 1);
}

/* A core without states, whose beginning is not kept. */
TEST_WITH(a_core_without_states_has_its_players_asked, set_up, tear_down) {
    begin_apart();
    player[0].no_state = player[1].no_state = true;
    the_room()->snapshot.unfit = true;
    play(10 * SECOND);
    assert_true(asks() && the_room()->lock.paused);
    assert_string_equal(heard(player[0].peer, KL_MSG_NOTICE)->text.text, question);
}

/* One against two, and nobody can be brought back. */
TEST_WITH(the_one_that_differs_from_all_others_is_named, set_up, tear_down) {
    begin_machines();
    kl_lobby_start_free(the_room());
    the_room()->snapshot.unfit = true;
    player[1].machine = 8;
    play(4 * SECOND);
    assert_true(asks() && the_room()->lock.paused);
    assert_string_equal(heard(player[2].peer, KL_MSG_NOTICE)->text.text,
                        "machines differ in RAM: p1 (2). Go on?");
    resume(0);
    resume(2);
    assert_true(asks());
    leave(1);
    play(2 * SECOND);
    expect_on(2);
}

TEST_WITH(a_room_that_pauses_by_its_rule_goes_on_by_anybody, set_up, tear_down) {
    begin_machines();
    order(player[0].peer, KL_COMMAND_DESYNC, KL_DESYNC_PAUSE);
    player[1].machine = 8;
    play(4 * SECOND);
    assert_true(the_room()->lock.paused);
    assert_true(told(player[1].peer, "paused by the room's rule. Go on?"));
    resume(1);
    expect_on(0);
}

/* --- differences that come again --- */

/* Each is another one: the machines were equal in between. */
TEST_WITH(separate_differences_are_each_healed_by_own_states, set_up, tear_down) {
    begin_machines();
    leave(2);
    for (unsigned i = 1; i <= 4; i++) {
        player[i & 1].machine = 8;
        play(5 * SECOND);
        assert_int_equal(player[0].rewinds, i);
        expect_in_sync(i);
    }
    assert_int_equal(the_room()->member[0]->heal.anew + the_room()->member[1]->heal.anew, 0);
}

/* So many ties, each of which takes the second machine so long; each is over when the next one comes. */
static unsigned ties_until_asked(unsigned seconds_apart, uint64_t heals_us, unsigned most) {
    begin_machines();
    leave(2);
    for (unsigned i = 1; i <= most; i++) {
        uint64_t end_us = now_us + seconds_apart * SECOND;
        player[1].loads = false;
        player[1].machine = 8;
        while (player[1].rewinds < i && !asks() && now_us < end_us)
            play(20000);
        if (asks()) return i;
        play(heals_us);
        player[1].loads = true;
        play(end_us - now_us);
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
    leave(1);
    join_late(1, player[1].peer, 1);
    assert_int_equal(the_room()->member[1]->v.spent.healed_us, spent_us);
}

/* --- players who load no bytes of others --- */

static void begin_with(uint32_t those) {
    strangers = those;
    begin_machines();
}

static int all_consent_again(void **state) {
    strangers = 0;
    return tear_down(state);
}

static bool asked_bare(uint8_t first, uint8_t second, uint8_t door) {
    struct kl_msg m = a_hello(0, "room", 1, 2, "x");
    m.hello.door = door;
    m.hello.consent = first;
    enter(0, &m);
    m = a_hello(1, "room", 1, 2, "x");
    m.hello.consent = second;
    enter(1, &m);
    bool bare = heard(0, KL_MSG_SEND)->bare;
    begin_again();
    return bare;
}

/* One is enough. A room that the relay lists is not what the players take it for. */
TEST_WITH(the_game_begins_without_saves, set_up, all_consent_again) {
    assert_false(asked_bare(KL_CONSENT_ROOM, KL_CONSENT_ROOM, 0));
    assert_true(asked_bare(KL_CONSENT_ROOM, KL_CONSENT_NONE, 0));
    assert_true(asked_bare(KL_CONSENT_NONE, KL_CONSENT_ROOM, 0));
    assert_true(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_ROOM, 0));
    assert_false(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_UNLISTED, KL_DOOR_UNLISTED));
    assert_true(asked_bare(KL_CONSENT_UNLISTED, KL_CONSENT_NONE, KL_DOOR_UNLISTED));
}

/* Against two a stranger goes back to its own state, and nobody else does. */
TEST_WITH(its_own_state, set_up, all_consent_again) {
    begin_with(1 << 1);
    play(2 * SECOND);
    player[1].machine = 8;
    play(4 * SECOND);
    assert_true(player[1].rewinds == 1 && !player[0].rewinds && !player[2].rewinds);
    assert_int_equal(player[0].offers + player[1].offers + player[2].offers, 0);
    expect_in_sync(1);
}

/* The others' states are still for those that want them. */
TEST_WITH(one_of_each, set_up, all_consent_again) {
    begin_with(1 << 1);
    play(2 * SECOND);
    player[2].machine = 8;
    play(4 * SECOND);
    assert_int_equal(player[2].offers, 1);
    assert_int_equal(player[2].rewinds, 0);
    expect_in_sync(1);
}

/* Its state led it astray again: it runs the game from the beginning, where that is kept. */
TEST_WITH(from_the_beginning, set_up, all_consent_again) {
    begin_with(1 << 1);
    play(2 * SECOND);
    player[1].machine = 8;
    player[1].at_once = true;
    play_until(the_room()->member[1]->heal.anew);
    assert_int_equal(player[1].rewinds, 1);
    assert_int_equal(player[1].offers, 0);
    assert_int_equal(the_room()->member[1]->heal.anew, 1);
    assert_int_equal(the_room()->member[1]->v.state, KL_MEMBER_LOADING);
}

TEST_WITH(else_it_is_put_out, set_up, all_consent_again) {
    begin_with(1 << 1);
    play(2 * SECOND);
    kl_lobby_start_free(the_room());
    player[1].has_own = false;
    player[1].machine = 8;
    play(6 * SECOND);
    vanish(1);
    expect_refusal(1, KL_REFUSE_DESYNC, "out of sync");
    assert_int_equal(player[1].offers, 0);
    play(2 * SECOND);
    assert_true(verdict.complete && !verdict.differs);
}

/* How a newcomer, or who comes back, gets to the present: by history, by a snapshot and what came after it,
 * by one that is ordered first. The engine is the real one on both sides. net/PROTOCOL.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"

/* The limit: what is replayed within a second, of a machine that nothing is known of: 300 frames. */
static void begin_with(unsigned history_kib, enum kl_policy policy) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.catch_up_s = 1;
    limits.history_kib = history_kib;
    reopen(&limits);
    start_room(policy);
    state_bytes = 50000;
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].states = true;
}

static void begin(void) {
    begin_with(0, KL_POLICY_BOUNDED);
}

static void expect_begun_at(unsigned who, uint32_t at) {
    assert_true(at > 0);
    assert_int_equal(player[who].begun, at);
    assert_int_equal(player[who].first_run, at); /* nothing before it */
    const struct kl_offer *o = &player[who].p.offer;
    const struct kl_digest d = digest_of(player[who].p.participant.status.welcome.room_id, o->keyframe);
    assert_int_equal(d.intervals, o->interval);
    assert_memory_equal(d.digest, o->digest, sizeof d.digest);
    assert_int_equal(player[who].machine, player[0].machine);
    assert_int_equal(the_room()->member[2]->v.catchup.step == KL_CATCHUP_LOADS, false);
    expect_all_at_the_end();
    assert_true(presses_lately(who));
}

/* A short game is replayed. */
TEST_WITH(a_short_game_is_replayed, set_up, tear_down) {
    begin();
    play(SECOND);
    leave(2);
    assert_int_equal(join_late(2, 12, 1), 4);
    play(4 * SECOND);
    assert_int_equal(ordered + player[2].offers, 0);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* A player who loads no state of others replays even a long game; and watches nothing else. */
TEST_WITH(a_stranger_replays_all, set_up, tear_down) {
    begin();
    play(30 * SECOND);
    leave(2);
    strangers = 1 << 12;
    assert_int_equal(join_late(2, 12, 1), 4);
    play(12 * SECOND);
    strangers = 0;
    assert_int_equal(ordered + player[2].offers, 0);
    assert_int_equal(player[2].p.participant.lock.first, 0);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* One is ordered while the newcomer loads, it begins there, and nobody waits for anything. */
TEST_WITH(a_long_game_by_a_snapshot, set_up, tear_down) {
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin_with(0, policy);
        play(30 * SECOND);
        leave(2);
        player[2].machine = 1; /* until it has loaded */
        uint32_t before = canon_end;
        assert_int_equal(join_late(2, 12, 1), 4);
        assert_int_equal(ordered, 1);
        assert_true(the_room()->snapshot.kept->keyframe >= before);
        play(4 * SECOND);
        assert_in_range(canon_end - before, 5 * 60 - 5, 5 * 60 + 10);
        assert_int_equal(player[2].offers, 1);
        expect_begun_at(2, the_room()->snapshot.kept->keyframe);
        assert_int_equal(player[2].p.participant.lock.standing, KL_STANDING_IN);
    }
}

/* Samples without sub-frames are numbered by intervals, from the room's beginning. */
TEST_WITH(intervals_go_on, set_up, tear_down) {
    fixed_spacing = 4;
    begin();
    fixed_spacing = 0;
    play(20 * SECOND);
    leave(2);
    assert_int_equal(join_late(2, 12, 1), 4);
    play(4 * SECOND);
    expect_begun_at(2, the_room()->snapshot.kept->keyframe);
    assert_int_equal(player[2].p.participant.snapshot.offer.interval * 4,
                     player[2].p.participant.snapshot.offer.keyframe);
    assert_int_equal(player[2].p.held[(canon_end - 30) % PLAYER_HELD].interval, (canon_end - 30) / 4);
}

/* A recent one is good for the next newcomer as well; what is too old is not. */
TEST_WITH(the_kept_one_serves_again, set_up, tear_down) {
    begin();
    lobby->limits.catch_up_s = 2;
    play(20 * SECOND);
    leave(2);
    assert_int_equal(join_late(2, 12, 1), 4);
    play(SECOND);
    leave(2);
    assert_int_equal(join_late(2, 13, 1), 4);
    play(SECOND);
    assert_int_equal(ordered, 1);
    assert_int_equal(player[2].offers, 1);
    assert_true(player[2].p.participant.lock.stats.next_run + 60 >= canon_end);
    leave(2);
    play(10 * SECOND);
    assert_int_equal(join_late(2, 14, 1), 4);
    play(SECOND);
    assert_int_equal(ordered, 2);
    expect_begun_at(2, the_room()->snapshot.kept->keyframe);
}

/* A core without states, machines that do not agree, or do not answer: all is replayed. */
TEST_WITH(else_all_is_replayed, set_up, tear_down) {
    for (unsigned way = 0; way < 3; way++) {
        begin();
        for (unsigned i = 0; i < PLAYERS; i++)
            player[i].no_state = way == 0, player[i].states = way != 1;
        player[1].machine ^= way == 2;
        play(20 * SECOND);
        leave(2);
        assert_int_equal(join_late(2, 12, 1), 4);
        bool is_told = false;
        for (unsigned n = 0; n < 120; n++) {
            play(SECOND / 10);
            is_told = is_told || told(12, "you run the match from frame 0 on");
        }
        assert_int_equal(ordered, way == 0 ? 1 : 2);
        assert_int_equal(player[2].offers, 0);
        assert_int_equal(player[2].p.participant.lock.first, 0);
        assert_true(is_told);
        expect_all_at_the_end();
        assert_true(presses_lately(2));
    }
}

/* A client that cannot load it replays all; if the beginning is gone, it is told so. */
TEST_WITH(a_machine_that_cannot_load_gets_the_history, set_up, tear_down) {
    begin();
    play(20 * SECOND);
    leave(2);
    player[2].unable = true;
    join_late(2, 12, 1);
    forget(12, KL_MSG_PREPARE);
    play(SECOND / 2);
    assert_non_null(heard(12, KL_MSG_PREPARE));
    load_start(&player[2]);
    play(5 * SECOND);
    assert_int_equal(player[2].offers, 1);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* Before history takes all the memory that it may, a snapshot is made; then the beginning may go. */
TEST_WITH(the_beginning_makes_way, set_up, tear_down) {
    begin_with(64, KL_POLICY_BOUNDED);
    mash();
    play(60 * SECOND);
    assert_true(the_room()->past.history.first > 0);
    assert_true(ordered > 0);
    leave(2);
    strangers = 1 << 14;
    connect_peer(14);
    struct kl_msg m = a_hello(14, "room", 1, PLAYERS, "x");
    say(14, &m);
    strangers = 0;
    expect_refusal(14, KL_REFUSE_STARTED, "you load no state of other players");
    assert_int_equal(join_late(2, 12, 1), 4);
    play(4 * SECOND);
    assert_true(player[2].begun > 0);
    expect_all_at_the_end();
    leave(2);
    player[2].unable = true;
    join_late(2, 13, 1);
    play(SECOND);
    vanish(2);
    expect_refusal(13, KL_REFUSE_STARTED, "could not be loaded on this machine");
}

/* A core without states closes the room to newcomers, and everybody is told. */
TEST_WITH(no_beginning_and_no_states, set_up, tear_down) {
    begin_with(64, KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_state = true;
    mash();
    play(60 * SECOND);
    assert_true(the_room()->past.history.first > 0);
    assert_true(told(0, "nobody can join this room any more"));
    leave(2);
    connect_peer(12);
    struct kl_msg m = a_hello(12, "room", 1, PLAYERS, "x");
    say(12, &m);
    expect_refusal(12, KL_REFUSE_STARTED, "does not keep its beginning any more");
}

/* A player who was away for long does not run all that was missed either, but goes on from a snapshot. */
TEST_WITH(back_after_long, set_up, tear_down) {
    begin();
    play(5 * SECOND);
    uint32_t had = player[2].p.participant.lock.stats.next_run;
    cut(2);
    play(20 * SECOND);
    come_back(2, 12);
    play(4 * SECOND);
    assert_int_equal(ordered, 1);
    assert_true(player[2].begun > had + 60 * 18);
    expect_begun_at(2, the_room()->snapshot.kept->keyframe);
    cut(2);
    play(2 * SECOND);
    come_back(2, 13); /* and what he has since then is as good as from the beginning */
    play(2 * SECOND);
    assert_int_equal(ordered, 1);
    expect_all_at_the_end();
}

/* Its link is lost before it has loaded: it has nothing, and says so. */
TEST_WITH(lost_before_it_is_loaded, set_up, tear_down) {
    begin();
    play(20 * SECOND);
    leave(2);
    player[2].loads = false;
    join_late(2, 12, 1);
    play(SECOND);
    assert_true(the_room()->member[2]->v.catchup.step == KL_CATCHUP_LOADS);
    assert_int_equal(player[2].p.participant.lock.stats.next_run,
                     player[2].p.participant.snapshot.offer.keyframe);
    cut(2);
    player[2].loads = true;
    play(SECOND);
    come_back(2, 22);
    assert_non_null(heard(22, KL_MSG_PREPARE));
    load_start(&player[2]);
    play(4 * SECOND);
    expect_begun_at(2, player[2].p.participant.snapshot.offer.keyframe);
    assert_int_equal(player[2].offers, 2);
}

/* Nobody catches up by a snapshot that never gets there. */
TEST_WITH(it_does_not_arrive, set_up, tear_down) {
    begin();
    play(20 * SECOND);
    leave(2);
    player[2].loads = false;
    join_late(2, 12, 1);
    play(9 * SECOND);
    assert_false(inbox[12].hung_up);
    play(10 * SECOND);
    vanish(2);
    expect_refusal(12, KL_REFUSE_LIMIT, "did not reach you in time");
    play(SECOND);
    expect_all_at_the_end();
}

/* A piece that comes up goes on at once, but for the end: that goes when it has proved good. */
TEST_WITH(it_goes_on_as_it_comes, set_up, tear_down) {
    begin();
    play(20 * SECOND);
    leave(2);
    player[0].halts = player[1].halts = true;
    join_late(2, 12, 1);
    play(SECOND);
    const struct kl_lobby_packed *k = the_room()->snapshot.coming;
    assert_non_null(k);
    assert_int_equal(player[2].offers, 1);
    assert_int_equal(player[2].p.participant.snapshot.offer.keyframe, k->keyframe);
    assert_in_range(player[2].p.participant.snapshot.have, k->have - KL_BULK_MAX, k->have);
    assert_int_equal(player[2].p.participant.lock.stats.next_run, k->keyframe);
    player[0].halts = player[1].halts = false;
    play(4 * SECOND);
    assert_int_equal(player[2].offers, 1);
    expect_begun_at(2, player[2].p.participant.snapshot.offer.keyframe);
}

/* The giver leaves in the middle of it, or gives something else: nobody has got all of that, and the next
 * one is asked. */
TEST_WITH(the_next_one_gives_it, set_up, tear_down) {
    for (unsigned way = 0; way < 2; way++) {
        begin();
        play(20 * SECOND);
        leave(2);
        player[0].halts = player[1].halts = way == 0;
        spoils = way == 1;
        join_late(2, 12, 1);
        unsigned giver = way == 0 ? the_room()->snapshot.giver : inbox[0].hung_up ? 0 : 1;
        player[0].halts = player[1].halts = false;
        if (way == 0) play(SECOND);
        vanish(giver);
        if (way == 0) lose(player[giver].peer);
        play(6 * SECOND);
        assert_int_equal(player[2].p.participant.lock.waits, false);
        assert_true(player[2].begun > 0);
        assert_int_equal(player[2].begun, player[2].p.participant.snapshot.offer.keyframe);
        assert_true(player[2].p.participant.lock.stats.next_run + 60 >= canon_end);
    }
}

/* A room that stands still serializes nothing: then all is replayed. */
TEST_WITH(a_room_that_pauses, set_up, tear_down) {
    begin();
    play(20 * SECOND);
    leave(2);
    order(0, KL_COMMAND_PAUSE, 1);
    play(SECOND);
    assert_int_equal(join_late(2, 12, 1), 4);
    play(SECOND);
    assert_int_equal(player[2].p.participant.lock.stats.next_run, 0);
    play(8 * SECOND);
    assert_int_equal(player[2].offers, 0);
    order(0, KL_COMMAND_PAUSE, 0);
    play(4 * SECOND);
    expect_all_at_the_end();
    assert_true(presses_lately(2));
}

/* A machine's known speed counts: one that replays slowly gets a snapshot sooner. */
TEST_WITH(a_slow_machine, set_up, tear_down) {
    begin();
    play(4 * SECOND);
    leave(2);
    join_late(2, 12, 1); /* some 480 frames: a snapshot */
    play(3 * SECOND);
    assert_int_equal(ordered, 1);
    struct kl_catchup w = {.have = canon_end - 250};
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w), KL_CATCHUP_HISTORY);
    w.fps = 100;
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w), KL_CATCHUP_ORDER);
    play(5 * SECOND);
    w = (struct kl_catchup){.have = 1};
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w), KL_CATCHUP_ORDER); /* the kept one is old by now */
    w.made = the_room()->snapshot.kept->keyframe;
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w),
                     KL_CATCHUP_SNAPSHOT); /* the new one was made for this one */
    w.fps = 1000;
    w.made = 0;
    assert_int_equal(kl_lobby_catchup_by(the_room(), &w), KL_CATCHUP_HISTORY);
}

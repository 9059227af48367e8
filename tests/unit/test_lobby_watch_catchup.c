/* test_lobby_watch_catchup.c - how a watcher comes to what may be seen, and back into sync: by history, by a
 * snapshot that the players' machines agree on, and never by one that is newer than he may see. And how he
 * comes again. The engine is the real one on both sides. net/ROOMS.md §7, Watching. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"

/* No snapshot goes out before its frame may be seen. */
static void look_at_offers(unsigned peer, const struct kl_msg *m) {
    const struct kl_lobby_room *r = the_room();
    listen_message(peer, m);
    if (m->kind != KL_MSG_OFFER || peer < AT_PEER) return;
    assert_true(m->offer.keyframe <= r->watch.end);
    assert_true(m->offer.keyframe + r->watch.delay_s * 60U <= r->lock.next_close);
}

/* The limit: what is replayed within a second, 300 frames. */
static void begin_with_states(unsigned catch_up_s) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.catch_up_s = catch_up_s;
    limits.watchers = WATCHERS;
    reopen(&limits);
    start_room(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].says = player[i].states = true;
    for (unsigned i = 0; i < WATCHERS; i++)
        watcher[i].says = true;
    on_message = look_at_offers;
}

static const struct kl_offer *offer_to(unsigned i) {
    return &heard(AT_PEER + i, KL_MSG_OFFER)->offer;
}

static void expect_no_stalls(uint32_t before, uint32_t frames) {
    assert_in_range(canon_end - before, frames - 2, frames + 2);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_in_range(player[i].p.participant.lock.stats.stalls, 0, 3);
}

/* Until it has been told that it is in sync with the game. */
static void until_verified(unsigned i) {
    forget(AT_PEER + i, KL_MSG_VERDICT);
    for (unsigned n = 0; n < 200; n++) {
        const struct kl_msg *m = heard(AT_PEER + i, KL_MSG_VERDICT);
        if (m && m->verdict.differs == 0) return;
        play(SECOND / 10);
    }
    fail_msg("watcher %u is not told that it is in sync", i);
}

/* Until it is told that it is out of sync. */
static void until_parted(unsigned i) {
    forget(AT_PEER + i, KL_MSG_VERDICT);
    for (unsigned n = 0; n < 200; n++) {
        const struct kl_msg *m = heard(AT_PEER + i, KL_MSG_VERDICT);
        if (m && m->verdict.differs == 1) return;
        play(SECOND / 20);
    }
    fail_msg("watcher %u is not told that it is out of sync", i);
}

/* --- coming late --- */

TEST_WITH(late_by_a_snapshot, set_up, tear_down) {
    begin_with_states(1);
    play(20 * SECOND);
    uint32_t before = canon_end;
    uint64_t from_us = now_us;
    watches(0);
    play(SECOND);
    assert_int_equal(watcher[0].offers, 1);
    assert_true(offer_to(0)->begin);
    assert_true(offer_to(0)->keyframe >= 20 * 60 - 60);
    assert_int_equal(watcher[0].first_run, offer_to(0)->keyframe); /* nothing before it */
    assert_in_range(behind(0), 10, 45);
    watches(1); /* the same is good for the next */
    play(SECOND);
    assert_int_equal(offer_to(1)->keyframe, offer_to(0)->keyframe);
    assert_int_equal(ordered, 1);
    play(5 * SECOND);
    assert_in_range(behind(1), 10, 45);
    until_verified(0);
    until_verified(1);
    expect_no_stalls(before, (uint32_t)((now_us - from_us) * 60 / SECOND));
}

TEST_WITH(early_by_history, set_up, tear_down) {
    begin_with_states(1);
    play(3 * SECOND);
    watches(0);
    play(SECOND);
    assert_int_equal(watcher[0].offers, 0);
    assert_in_range(behind(0), 10, 45);
    assert_int_equal(ordered, 0);
}

/* If the core gives no state, or nobody could load it, all is run from the beginning. */
TEST_WITH(late_without_states, set_up, tear_down) {
    begin_with_states(1);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].no_state = true;
    play(20 * SECOND);
    watches(0);
    play(8 * SECOND);
    assert_int_equal(watcher[0].offers, 0);
    assert_in_range(behind(0), 10, 45);
}

TEST_WITH(one_that_cannot_load_it, set_up, tear_down) {
    begin_with_states(1);
    watcher[0].unable = true;
    play(20 * SECOND);
    watches(0);
    forget(AT_PEER, KL_MSG_PREPARE);
    play(SECOND);
    assert_int_equal(watcher[0].offers, 1);
    assert_true(told(AT_PEER, "from the beginning again"));
    load_start(&watcher[0]);
    play(5 * SECOND);
    assert_int_equal(watcher[0].offers, 1);
    assert_in_range(behind(0), 10, 45);
}

TEST_WITH(no_newer_than_the_delay_allows, set_up, tear_down) {
    begin_with_states(1);
    assert_int_equal(kl_lobby_watch_delay(the_room(), 10, "x"), KL_OK);
    play(70 * SECOND);
    watches(0);
    play(8 * SECOND);
    assert_int_equal(ordered, 1); /* it is there, and may not be seen */
    assert_int_equal(watcher[0].offers, 0);
    play(5 * SECOND);
    assert_int_equal(watcher[0].offers, 1);
    assert_in_range(behind(0), 600, 660);
    until_verified(0);
    /* the beginning that may be seen is soon replayed: nobody waits ten seconds for that */
    begin_with_states(1);
    assert_int_equal(kl_lobby_watch_delay(the_room(), 10, "x"), KL_OK);
    play(17 * SECOND);
    watches(0);
    play(2 * SECOND);
    assert_int_equal(watcher[0].offers, 0);
    assert_in_range(behind(0), 600, 660);
}

/* From then on it is a client that began there. */
TEST_WITH(it_takes_a_seat, set_up, tear_down) {
    begin_with_states(1);
    play(20 * SECOND);
    comes(0, 0);
    play(SECOND / 2);
    bye(2);
    vanish(2);
    play(3 * SECOND);
    load_start(&watcher[0]);
    order(AT_PEER, KL_COMMAND_SEAT, 1); /* too early: it has loaded nothing */
    assert_true(told(AT_PEER, "2 of 3 seats taken: you watch, number 1 in the queue"));
    play(2 * SECOND);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_int_equal(heard(AT_PEER, KL_MSG_WELCOME)->welcome.client, 2);
    play(5 * SECOND);
    assert_int_equal(watcher[0].p.participant.lock.standing, KL_STANDING_IN);
    assert_in_range(behind(0), 0, 30);
    assert_int_equal(state_of(0, 2), KL_MEMBER_PLAYING);
}

/* --- out of sync --- */

TEST_WITH(healed_by_a_snapshot, set_up, tear_down) {
    begin_with_states(10);
    play(5 * SECOND);
    watches(0);
    until_verified(0);
    forget(AT_PEER, KL_MSG_PREPARE);
    uint32_t before = canon_end;
    uint64_t from_us = now_us;
    for (unsigned time = 1; time <= 2; time++) {
        watcher[0].machine = 8;
        until_parted(0);
        play(SECOND);
        assert_int_equal(watcher[0].offers, time);
        assert_false(offer_to(0)->begin);
        until_verified(0);
        assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.healed, time);
        assert_in_range(behind(0), 10, 45);
    }
    assert_true(told(AT_PEER, "it gets the state of the game"));
    assert_null(heard(AT_PEER, KL_MSG_PREPARE));
    expect_no_stalls(before, (uint32_t)((now_us - from_us) * 60 / SECOND));
    assert_int_equal(heard(0, KL_MSG_VERDICT)->verdict.healed, 0); /* those who play hear nothing of it */
    watcher[0].machine = 8;                                        /* the third time within a minute */
    until_parted(0);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_DESYNC, "three times");
}

/* A watcher that was never in sync since it loaded one gets none again. */
TEST_WITH(a_state_that_is_not_all, set_up, tear_down) {
    begin_with_states(1);
    play(20 * SECOND);
    watches(0);
    play(SECOND / 2);
    assert_int_equal(watcher[0].offers, 1);
    watcher[0].machine = 8;
    forget(AT_PEER, KL_MSG_PREPARE);
    until_parted(0);
    assert_non_null(heard(AT_PEER, KL_MSG_PREPARE));
    watcher[0].machine = 7;
    load_start(&watcher[0]);
    play(5 * SECOND);
    assert_int_equal(watcher[0].offers, 1);
    until_verified(0);
    assert_int_equal(heard(AT_PEER, KL_MSG_VERDICT)->verdict.healed, 1);
}

/* --- coming again --- */

static void comes_again(unsigned peer) {
    struct kl_msg m = a_hello(AT_PEER, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    enter(peer, &m);
}

TEST_WITH(a_client_that_comes_again_makes_no_room, set_up, tear_down) {
    begin_with_states(1);
    play(SECOND);
    watches(0);
    play(SECOND);
    unsigned rooms = kl_lobby_rooms(lobby);
    comes_again(30); /* before the relay has missed it: the older one goes */
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "newer session");
    assert_int_equal(heard(30, KL_MSG_WELCOME)->welcome.client, KL_WATCHER);
    assert_int_equal(the_room()->watch.count, 1);
    struct kl_msg m = a_hello(AT_PEER, "other", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    enter(31, &m);
    expect_refusal(31, KL_REFUSE_SEAT, "there is no room other");
    assert_int_equal(kl_lobby_rooms(lobby), rooms);
    the_room()->phase = KL_ROOM_REOPENING;
    comes_again(32);
    expect_refusal(32, KL_REFUSE_STARTED, "is restoring room");
    the_room()->phase = KL_ROOM_PLAYING;
}

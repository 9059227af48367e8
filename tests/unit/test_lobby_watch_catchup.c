/* test_lobby_watch_catchup.c - how a watcher comes to what may be seen, and back into sync: by history, by a
 * snapshot that the players' machines agree on, and never by one that is newer than he may see. And how he
 * comes again. The engine is the real one on both sides. net/ROOMS.md §7, Watching. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_states.h"
#include "tests/lib/lobby_watchers.h"

#include <sodium.h>
#include <zstd.h>

#include "net/engine/command.h"

#define BYTES 20000

static uint8_t state[BYTES]; /* each player's serialized state */
static bool stateless, unable;
static bool asked[PLAYERS];
static unsigned ordered;  /* SNAPSHOTs that player 0 has run */
static uint64_t lie;      /* the error in a watcher's hashes */
static uint32_t lie_from; /* the first frame with that error */
static struct fetch {
    struct kl_offer offer;
    unsigned offers;
    uint32_t got;
    uint8_t packed[2 * BYTES];
    bool whole;
    uint32_t first; /* frame that was run after it */
} fetch[WATCHERS];

static unsigned index_of(const struct player *w) {
    return (unsigned)(w - watcher);
}

static bool is_watcher(const struct player *p) {
    return p >= watcher && p < watcher + WATCHERS;
}

static void give_state(unsigned peer) {
    static uint8_t packed[2 * BYTES];
    uint32_t len = pack_state(state, BYTES, packed, sizeof packed);
    give_packed(peer, (struct kl_snapshot_piece){.keyframe = the_room()->snapshot.keyframe}, packed, 0, len,
                len);
}

static void report(const struct player *p, const struct kl_frame *f) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = f->number - 1, .has = KL_HASH_RAM}};
    bool lies = is_watcher(p) && f->number >= lie_from;
    m.hash.ram = f->number + (lies ? lie : 0);
    if (!p->linked || inbox[p->peer].hung_up) return;
    speak(p->peer, &m);
}

static void obey(struct player *p, const struct kl_frame *f) {
    struct fetch *get = is_watcher(p) ? &fetch[index_of(p)] : NULL;
    bool begun_here = get && get->offers && get->offer.begin && f->number == get->offer.keyframe;
    if (get && get->offers && !get->first) get->first = f->number;
    if (f->flags & KL_FRAME_HASH && !begun_here) report(p, f);
    uint32_t keyframe = snapshot_ordered(p, f);
    if (keyframe == UINT32_MAX) return;
    ordered += p == &player[0];
    struct kl_msg m = a_state(keyframe, stateless ? NULL : state, BYTES);
    if (p->linked) speak(p->peer, &m); /* a watcher's is passed over */
}

static void take_offer(struct player *w, const struct kl_offer *o) {
    struct fetch *f = &fetch[index_of(w)];
    assert_true(o->keyframe <= the_room()->watch.end);
    assert_true(o->keyframe + the_room()->watch.delay_s * 60U <= the_room()->lock.next_close);
    f->offer = *o;
    f->offers++;
    f->got = f->first = 0;
    if (!o->begin) return;
    kl_client_begin_at(&w->lock, o->keyframe, o->interval, now_us);
    w->pieces = w->pieces_done = 0;
}

static void hear(unsigned peer, const struct kl_msg *m) {
    struct player *w = watcher_at(peer);
    if (w && m->kind == KL_MSG_OFFER) take_offer(w, &m->offer);
    if (w && m->kind == KL_MSG_SNAPSHOT) {
        struct fetch *f = &fetch[index_of(w)];
        assert_int_equal(m->snapshot.piece.offset, f->got);
        memcpy(f->packed + f->got, m->snapshot.piece.bytes, m->snapshot.piece.len);
        f->got += m->snapshot.piece.len;
        f->whole = f->got == f->offer.packed;
    }
    struct player *p = at_peer(peer);
    if (p && m->kind == KL_MSG_ASK) asked[p - player] = true;
    hear_message(peer, m);
}

static void load(unsigned i) {
    static uint8_t out[BYTES];
    struct fetch *f = &fetch[i];
    uint32_t next = f->offer.begin ? f->offer.keyframe : watcher[i].lock.stats.next_run;
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {f->offer.keyframe, next, KL_HEALED_SAME}};
    assert_int_equal(ZSTD_decompress(out, BYTES, f->packed, f->got), BYTES);
    assert_memory_equal(out, state, BYTES);
    if (unable)
        m.healed.how = KL_HEALED_NOT;
    else if (f->offer.begin)
        kl_client_go(&watcher[i].lock);
    lie_from = UINT32_MAX; /* the state was what was wrong */
    speak(watcher[i].peer, &m);
}

/* Answers that are owed, and not given within the lobby's turn. */
static void do_it(void) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        bool now = asked[i];
        asked[i] = false;
        if (now && player[i].linked) give_state(player[i].peer);
    }
    for (unsigned i = 0; i < WATCHERS; i++) {
        bool now = fetch[i].whole;
        fetch[i].whole = false;
        if (now && watcher[i].linked) load(i);
    }
}

/* The limit: what is replayed within a second, 300 frames. */
static void begin_with_states(unsigned catch_up_s) {
    struct kl_lobby_limits limits = limits_for_tests;
    limits.catch_up_s = catch_up_s;
    limits.watchers = WATCHERS;
    reopen(&limits);
    stateless = unable = false;
    ordered = 0;
    lie = 7;
    lie_from = UINT32_MAX;
    memset(fetch, 0, sizeof fetch);
    memset(asked, 0, sizeof asked);
    fill_state(state, BYTES);
    begin_watched();
    on_message = hear;
    on_frame = obey;
    on_step = do_it;
}

static void expect_no_stalls(uint32_t before, uint32_t frames) {
    assert_in_range(canon_end - before, frames - 2, frames + 2);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_in_range(player[i].lock.stats.stalls, 0, 3);
}

/* Until it has been told that it is in sync with the game. */
static void until_verified(unsigned i) {
    forget(AT_PEER + i, KL_MSG_VERDICT);
    for (unsigned n = 0; n < 200; n++) {
        const struct kl_msg *m = got(AT_PEER + i, KL_MSG_VERDICT);
        if (m && m->verdict.differs == 0) return;
        go(SECOND / 10);
    }
    fail_msg("watcher %u is not told that it is in sync", i);
}

/* Until it is told that it is out of sync. */
static void until_parted(unsigned i) {
    forget(AT_PEER + i, KL_MSG_VERDICT);
    for (unsigned n = 0; n < 200; n++) {
        const struct kl_msg *m = got(AT_PEER + i, KL_MSG_VERDICT);
        if (m && m->verdict.differs == 1) return;
        go(SECOND / 20);
    }
    fail_msg("watcher %u is not told that it is out of sync", i);
}

/* --- coming late --- */

TEST_WITH(late_by_a_snapshot, set_up, tear_down) {
    begin_with_states(1);
    go(20 * SECOND);
    uint32_t before = canon_end;
    uint64_t from_us = now_us;
    watches(0);
    go(SECOND);
    assert_int_equal(fetch[0].offers, 1);
    assert_true(fetch[0].offer.begin);
    assert_true(fetch[0].offer.keyframe >= 20 * 60 - 60);
    assert_int_equal(fetch[0].first, fetch[0].offer.keyframe); /* nothing before it */
    assert_in_range(behind(0), 10, 45);
    watches(1); /* the same is good for the next */
    go(SECOND);
    assert_int_equal(fetch[1].offer.keyframe, fetch[0].offer.keyframe);
    assert_int_equal(ordered, 1);
    go(5 * SECOND);
    assert_in_range(behind(1), 10, 45);
    until_verified(0);
    until_verified(1);
    expect_no_stalls(before, (uint32_t)((now_us - from_us) * 60 / SECOND));
}

TEST_WITH(early_by_history, set_up, tear_down) {
    begin_with_states(1);
    go(3 * SECOND);
    watches(0);
    go(SECOND);
    assert_int_equal(fetch[0].offers, 0);
    assert_in_range(behind(0), 10, 45);
    assert_int_equal(ordered, 0);
}

/* If the core gives no state, or nobody could load it, all is run from the beginning. */
TEST_WITH(late_without_states, set_up, tear_down) {
    begin_with_states(1);
    stateless = true;
    go(20 * SECOND);
    watches(0);
    go(8 * SECOND);
    assert_int_equal(fetch[0].offers, 0);
    assert_in_range(behind(0), 10, 45);
}

TEST_WITH(one_that_cannot_load_it, set_up, tear_down) {
    begin_with_states(1);
    unable = true;
    go(20 * SECOND);
    watches(0);
    forget(AT_PEER, KL_MSG_PREPARE);
    go(SECOND);
    assert_int_equal(fetch[0].offers, 1);
    assert_true(told(AT_PEER, "from the beginning again"));
    begin_watcher(&watcher[0], &got(AT_PEER, KL_MSG_WELCOME)->welcome);
    says_loaded(0);
    go(5 * SECOND);
    assert_int_equal(fetch[0].offers, 1);
    assert_in_range(behind(0), 10, 45);
}

/* take_offer() looks that no snapshot goes out before its frame may be seen. */
TEST_WITH(no_newer_than_the_delay_allows, set_up, tear_down) {
    begin_with_states(1);
    assert_int_equal(kl_lobby_watch_delay(the_room(), 10, "x"), KL_OK);
    go(70 * SECOND);
    watches(0);
    go(8 * SECOND);
    assert_int_equal(ordered, 1); /* it is there, and may not be seen */
    assert_int_equal(fetch[0].offers, 0);
    go(5 * SECOND);
    assert_int_equal(fetch[0].offers, 1);
    assert_in_range(behind(0), 600, 660);
    until_verified(0);
    /* the beginning that may be seen is soon replayed: nobody waits ten seconds for that */
    begin_with_states(1);
    assert_int_equal(kl_lobby_watch_delay(the_room(), 10, "x"), KL_OK);
    go(17 * SECOND);
    watches(0);
    go(2 * SECOND);
    assert_int_equal(fetch[0].offers, 0);
    assert_in_range(behind(0), 600, 660);
}

/* From then on it is a client that began there. */
TEST_WITH(it_takes_a_seat, set_up, tear_down) {
    begin_with_states(1);
    go(20 * SECOND);
    comes(0, 0);
    go(SECOND / 2);
    bye(2);
    vanish(2);
    go(3 * SECOND);
    says_loaded(0);
    order(AT_PEER, KL_COMMAND_SEAT, 1); /* too early: it has loaded nothing */
    assert_true(told(AT_PEER, "2 of 3 seats taken: you watch, number 1 in the queue"));
    go(2 * SECOND);
    order(AT_PEER, KL_COMMAND_SEAT, 1);
    assert_int_equal(got(AT_PEER, KL_MSG_WELCOME)->welcome.client, 2);
    go(5 * SECOND);
    assert_int_equal(watcher[0].lock.standing, KL_STANDING_IN);
    assert_in_range(behind(0), 0, 30);
    assert_int_equal(state_of(0, 2), KL_MEMBER_PLAYING);
}

/* --- out of sync --- */

TEST_WITH(healed_by_a_snapshot, set_up, tear_down) {
    begin_with_states(10);
    go(5 * SECOND);
    watches(0);
    until_verified(0);
    forget(AT_PEER, KL_MSG_PREPARE);
    uint32_t before = canon_end;
    uint64_t from_us = now_us;
    for (unsigned time = 1; time <= 2; time++) {
        lie_from = canon_end;
        until_parted(0);
        go(SECOND);
        assert_int_equal(fetch[0].offers, time);
        assert_false(fetch[0].offer.begin);
        until_verified(0);
        assert_int_equal(got(AT_PEER, KL_MSG_VERDICT)->verdict.healed, time);
        assert_in_range(behind(0), 10, 45);
    }
    assert_true(told(AT_PEER, "it gets the state of the game"));
    assert_null(got(AT_PEER, KL_MSG_PREPARE));
    expect_no_stalls(before, (uint32_t)((now_us - from_us) * 60 / SECOND));
    assert_int_equal(got(0, KL_MSG_VERDICT)->verdict.healed, 0); /* those who play hear nothing of it */
    lie_from = canon_end;                                        /* the third time within a minute */
    until_parted(0);
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_DESYNC, "three times");
}

/* A watcher that was never in sync since it loaded one gets none again. */
TEST_WITH(a_state_that_is_not_all, set_up, tear_down) {
    begin_with_states(1);
    go(20 * SECOND);
    watches(0);
    go(SECOND / 2);
    assert_int_equal(fetch[0].offers, 1);
    lie_from = 0;
    forget(AT_PEER, KL_MSG_PREPARE);
    until_parted(0);
    assert_non_null(got(AT_PEER, KL_MSG_PREPARE));
    begin_watcher(&watcher[0], &got(AT_PEER, KL_MSG_WELCOME)->welcome);
    lie_from = UINT32_MAX;
    says_loaded(0);
    go(5 * SECOND);
    assert_int_equal(fetch[0].offers, 1);
    until_verified(0);
    assert_int_equal(got(AT_PEER, KL_MSG_VERDICT)->verdict.healed, 1);
}

/* --- coming again --- */

static void comes_again(unsigned peer) {
    struct kl_msg m = a_hello(AT_PEER, "room", 0, PLAYERS, "x");
    m.hello.door = KL_DOOR_AGAIN;
    enter(peer, &m);
}

TEST_WITH(a_client_that_comes_again_makes_no_room, set_up, tear_down) {
    begin_with_states(1);
    go(SECOND);
    watches(0);
    go(SECOND);
    unsigned rooms = kl_lobby_rooms(lobby);
    comes_again(30); /* before the relay has missed it: the older one goes */
    goes(0);
    expect_refusal(AT_PEER, KL_REFUSE_CLOSED, "newer session");
    assert_int_equal(got(30, KL_MSG_WELCOME)->welcome.client, KL_WATCHER);
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

/* test_lobby_debt.c - the bytes that one client can make the relay send, by the bytes that came up: a client
 * that comes back with nothing, joins, watches, again and again; that crashes of honest players cost them no
 * wait; and the work that clients of some rooms make for the relay. Nothing is judged by the clock.
 * docs/security.md, Bounds for one player. */
#include <sodium.h>
#include <zstd.h>

#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/engine/lock_relay_return.h"
#include "net/relay/heal/unpack.h"
#include "net/relay/lobby/lobby_parts.h"

#define CROWD   200
#define TIMES   31
#define EACH_US (480 * UINT64_C(1000)) /* 31 in 15 s */
#define MAL     2

#define FIRST (AT_PEER + WATCHERS) /* session of the person who comes again and again */

static unsigned let_in, refused, next_peer;

static unsigned fresh_peer(void) {
    return next_peer++;
}

/* False, and checked: it was told to wait. */
static bool is_served(unsigned peer, const char *text) {
    if (!inbox[peer].hung_up) return ++let_in;
    expect_refusal(peer, KL_REFUSE_LIMIT, text);
    assert_in_range(strlen(heard(peer, KL_MSG_REFUSE)->text.text), 1, 59);
    refused++;
    return false;
}

static uint64_t joining(void) {
    return kl_lobby_joining_bytes(the_room(), false);
}

#define AHEAD (128 * 1226) /* UPDATEs before the relay finds that nobody hears them */

/* All but three joinings is paid ten to one, however long it goes on. */
static void judge(const char *what) {
    struct kl_traffic sum = {0};
    for (unsigned peer = FIRST; peer < next_peer; peer++) {
        sum.up += inbox[peer].traffic.up;
        sum.down += inbox[peer].traffic.down;
    }
    print_message("           %s: %u served, %u refused, %llu up, %llu down, joining %llu\n", what, let_in,
                  refused, (unsigned long long)sum.up, (unsigned long long)sum.down,
                  (unsigned long long)joining());
    assert_true(sum.down <= 10 * sum.up + 3 * joining() + AHEAD);
}

/* Three play with all devices in motion, so a joining is long. */
static void play_long(void) {
    fixed_spacing = 5;
    start_room(KL_POLICY_BOUNDED);
    let_in = refused = 0;
    next_peer = FIRST;
    mash();
    play(30 * SECOND);
    assert_true(joining() > 100000);
}

static int set_up_many(void **state) {
    static struct kl_lobby_limits limits;
    (void)state;
    limits = limits_for_tests;
    limits.watchers = CROWD;
    limits.peers = 4 * CROWD; /* a quarter watches */
    open_lobby(&limits);
    return 0;
}

/* --- again and again --- */

/* Its last session is dropped without a word, or still there when the next one comes. */
static bool returns_fresh(const uint8_t *token, unsigned peer) {
    connect_peer(peer);
    struct kl_msg m = a_return(MAL, peer, "room", token);
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    say(peer, &m);
    return is_served(peer, "too many returns: try again in ");
}

/* Plays long, then Mal's link is cut. token: for the return. */
static void lose_mal(uint8_t token[KL_TOKEN_BYTES]) {
    play_long();
    memcpy(token, player[MAL].p.participant.status.welcome.token, KL_TOKEN_BYTES);
    cut(MAL);
    player[MAL].plays = false;
}

TEST_WITH(returns_with_nothing, set_up_many, tear_down) {
    uint8_t token[KL_TOKEN_BYTES];
    lose_mal(token);
    for (unsigned i = 0; i < 3 * TIMES; i++) {
        unsigned peer = fresh_peer();
        if (returns_fresh(token, peer)) {
            memcpy(token, heard(peer, KL_MSG_WELCOME)->welcome.token, sizeof token);
            ready(peer, "a");
        }
        play(EACH_US);
        if (i % 2 && !inbox[peer].hung_up) lose(peer);
        assert_true(i + 1 != TIMES || let_in <= 4);
    }
    judge("fresh returns");
    assert_in_range(let_in, 3, 8);
    expect_all_at_the_end();
}

/* It says that it has frames, and lacks nearly all. */
TEST_WITH(returns_with_little, set_up_many, tear_down) {
    uint8_t token[KL_TOKEN_BYTES];
    lose_mal(token);
    for (unsigned i = 0; i < 3 * TIMES; i++) {
        unsigned peer = fresh_peer();
        connect_peer(peer);
        struct kl_msg m = a_return(MAL, peer, "room", token);
        m.back.have = 1;
        say(peer, &m);
        assert_false(inbox[peer].hung_up); /* one with frames is never refused */
        memcpy(token, heard(peer, KL_MSG_WELCOME)->welcome.token, sizeof token);
        play(EACH_US);
    }
    judge("returns with one frame");
    expect_all_at_the_end();
}

/* A member, or a watcher, with another seat key each time; it says BYE or nothing. */
static void come_and_go(unsigned seats, bool bye_too) {
    play_long();
    if (seats) leave(MAL);
    address_of_peers = "192.0.2.66:5";
    for (unsigned i = 0; i < 3 * TIMES; i++) {
        unsigned peer = fresh_peer();
        struct kl_msg m = a_hello(peer, "room", seats, PLAYERS, "x");
        enter(peer, &m);
        if (is_served(peer, "you joined too often: try again in ")) {
            play(EACH_US / 4);
            ready(peer, "a");
        }
        play(EACH_US);
        if (!inbox[peer].hung_up && bye_too) bye(peer);
        inbox[peer].gone = true;
    }
    judge(seats ? "joins" : bye_too ? "watches" : "watches, and says no BYE");
    assert_true(refused > let_in);
    address_of_peers = "192.0.2.7:5"; /* somebody else */
    unsigned peer = fresh_peer();
    hello(peer, "room", seats, PLAYERS, "x");
    assert_false(inbox[peer].hung_up);
    expect_all_at_the_end();
}
TEST_WITH(a_client_that_joins_and_leaves_keeps_its_debt, set_up_many, tear_down) {
    come_and_go(1, true);
}
TEST_WITH(a_watcher_that_leaves_keeps_its_debt, set_up_many, tear_down) {
    come_and_go(0, true);
}
TEST_WITH(a_watcher_that_is_gone_keeps_its_debt, set_up_many, tear_down) {
    come_and_go(0, false);
}

/* A refusal's wait is long enough, and the debt is found at another address by the seat key. */
TEST_WITH(a_client_that_waits_comes_in, set_up_many, tear_down) {
    play_long();
    address_of_peers = "192.0.2.66:5";
    unsigned peer = fresh_peer(), wait_s = 0;
    struct kl_msg m = a_hello(peer, "room", 0, PLAYERS, "x");
    for (unsigned i = 0; wait_s == 0; i++) {
        assert_in_range(i, 0, 20);
        enter(peer, &m);
        if (is_served(peer, "you joined too often")) {
            play(SECOND / 2);
            ready(peer, "a");
            play(SECOND / 2);
            bye(peer);
        } else {
            const char *text = heard(peer, KL_MSG_REFUSE)->text.text;
            wait_s = (unsigned)atoi(strstr(text, "again in ") + 9);
        }
    }
    assert_in_range(wait_s, 1, 300);
    address_of_peers = "192.0.2.67:5";
    enter(peer, &m);
    assert_true(inbox[peer].hung_up);
    play(wait_s * SECOND);
    enter(peer, &m);
    assert_false(inbox[peer].hung_up);
}

/* --- honest players --- */

static void crashes(unsigned who) {
    if (player[who].linked) cut(who);
    come_back_with_nothing(who, fresh_peer());
}

/* Three times in a row, as soon as the game runs again; and each 20 s. */
TEST_WITH(a_client_that_crashes_again_and_again_keeps_its_debt, set_up_many, tear_down) {
    play_long();
    for (unsigned i = 0; i < 3; i++) {
        crashes(1);
        play(2 * SECOND);
        assert_true(inbox[player[1].peer].traffic.down > joining() / 2); /* it got all of it */
    }
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = false;
    for (unsigned i = 0; i < 3; i++) {
        play(20 * SECOND);
        crashes(1);
    }
    play(10 * SECOND);
    expect_all_at_the_end();
}

/* All at once, of one address, with seat file and without. */
TEST_WITH(a_household_crashes, set_up_many, tear_down) {
    play_long();
    for (unsigned i = 0; i < PLAYERS; i++)
        cut(i);
    for (unsigned i = 0; i < PLAYERS; i++)
        crashes(i);
    play(10 * SECOND);
    expect_all_at_the_end();
    for (unsigned i = 1; i < PLAYERS; i++)
        leave(i);
    for (unsigned i = 1; i < PLAYERS; i++)
        (void)join_late(i, fresh_peer(), 1);
    play(10 * SECOND);
    expect_all_at_the_end();
}

/* Bytes down for each byte up, while everything is in motion. */
static double stream(unsigned peer, uint64_t us) {
    struct kl_traffic was = inbox[peer].traffic, *now = &inbox[peer].traffic;
    play(us);
    return (double)(now->down - was.down) / (double)(now->up - was.up);
}

/* As if five more players had everything in motion. */
static void longer_frames(void) {
    inbox[AT_PEER].traffic.down += 60;
    kl_lobby_cost_stream(lobby, AT_PEER, 60 - 40);
}

/* A watcher sends little. So its frames leave no debt, even if there are more. */
TEST_WITH(the_games_own_stream, set_up_many, tear_down) {
    play_long();
    watches(0);
    play(90 * SECOND);
    assert_int_equal(the_room()->member[1]->v.owed, 0);
    assert_int_equal(the_room()->watch.at[0]->v.owed, 0); /* they have paid for their joinings by now */
    double player_ratio = stream(1, 30 * SECOND), watcher_ratio = stream(AT_PEER, 30 * SECOND);
    on_step = longer_frames;
    double eight_ratio = stream(AT_PEER, 60 * SECOND);
    print_message("           player %.1f, watcher %.1f and %.1f bytes down for each byte up\n", player_ratio,
                  watcher_ratio, eight_ratio);
    assert_true(player_ratio < 10 && watcher_ratio < 10 && eight_ratio > 10);
    assert_in_range(the_room()->watch.at[0]->v.owed, 0, 5000);
}

/* --- work for the relay --- */

#define ROOMS 8
#define MIB   1048576U

static struct kl_lobby_limits many = {
    .peers = PEERS, .rooms = ROOMS, .seats = 4, .rooms_per_address = ROOMS, .catch_up_s = 3600};

static const struct kl_lobby_limits limits_with_watchers = {
    .peers = PEERS, .rooms = 2, .seats = 4, .watchers = 8, .catch_up_s = 3600};

/* A room of its own for each of these peers, which plays. */
static void open_rooms(void) {
    char name[KL_NAME_MAX];
    open_lobby(&many);
    for (unsigned i = 0; i < ROOMS; i++) {
        snprintf(name, sizeof name, "room %u", i);
        hello(i, name, 1, 1, "x");
        give(i, "save");
        ready(i, "a");
        assert_int_equal(lobby->room[i]->phase, KL_ROOM_PLAYING);
    }
}

/* --- snapshots --- */

#define BOMB (16 * MIB) /* of zeros: what they make of work is not to be seen in their packed bytes */

static uint8_t packed[65536], hash[32];
static uint32_t packed_len;

static void make_bomb(void) {
    uint8_t *zeros = calloc(1, BOMB);
    assert_non_null(zeros);
    crypto_generichash(hash, sizeof hash, zeros, BOMB, NULL, 0);
    size_t len = ZSTD_compress(packed, sizeof packed, zeros, BOMB, 1);
    assert_false(ZSTD_isError(len));
    packed_len = (uint32_t)len;
    free(zeros);
}

/* As when it has been asked for: its state is of that length and hash, and it gives all of it at once. */
static void give_bomb(unsigned i) {
    struct kl_lobby_snapshot *s = &lobby->room[i]->snapshot;
    s->phase = KL_SNAPSHOT_GIVING;
    s->giver = 0;
    s->agreed = 1;
    s->keyframe = 1;
    s->wanted = (struct kl_state_said){.keyframe = 1, .has = true, .bytes = BOMB};
    memcpy(s->wanted.hash, hash, sizeof hash);
    s->since_us = s->heard_us = now_us;
    for (uint32_t at = 0; at < packed_len;) {
        struct kl_msg m = {.kind = KL_MSG_GIVE, .snapshot.keyframe = 1};
        uint8_t bytes[KL_MSG_MAX];
        m.snapshot.piece = (struct kl_piece){.offset = at, .total = packed_len};
        m.snapshot.piece.len = (uint16_t)(packed_len - at < KL_BULK_MAX ? packed_len - at : KL_BULK_MAX);
        memcpy(m.snapshot.piece.bytes, packed + at, m.snapshot.piece.len);
        at += m.snapshot.piece.len;
        int len = kl_msg_encode(&m, bytes, sizeof bytes);
        kl_lobby_message(lobby, i, bytes, (size_t)len, now_us);
    }
    s->heard_us = now_us - 49 * SECOND / 10; /* that it waits for its turn is not the giver's fault */
}

static uint64_t unpacked(unsigned i) {
    const struct kl_lobby_snapshot *s = &lobby->room[i]->snapshot;
    return s->kept ? BOMB + packed_len : s->unpack ? kl_unpack_done(s->unpack) : 0;
}

static bool all_are_kept(void) {
    for (unsigned i = 0; i < ROOMS; i++)
        if (!lobby->room[i]->snapshot.kept) return false;
    return true;
}

static uint64_t unpacked_by_all(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < ROOMS; i++)
        sum += unpacked(i);
    return sum;
}

/* All rooms together get so much of the relay's time in one turn, and a second; each its share. */
TEST(snapshots_take_turns) {
    uint64_t before = 0, begun_us;
    make_bomb();
    open_rooms();
    for (unsigned i = 0; i < ROOMS; i++)
        give_bomb(i);
    begun_us = now_us;
    for (unsigned turn = 0; !all_are_kept(); turn++, now_us += 250) {
        run();
        uint64_t now = unpacked_by_all();
        assert_in_range(now - before, 0, 2 * KL_UNPACK_STEP);
        assert_in_range(now, 0, (now_us - begun_us) * 256 * MIB / SECOND + 2 * KL_UNPACK_STEP);
        for (unsigned i = 1; i < ROOMS; i++)
            assert_in_range(unpacked(i) + 3 * KL_UNPACK_STEP, unpacked(0), unpacked(0) + 6 * KL_UNPACK_STEP);
        before = now;
        assert_in_range(turn, 0, 8000);
    }
    kl_lobby_destroy(lobby);
}

/* --- words --- */

static unsigned notices, rosters; /* to peer 0 */

static void count_words(unsigned peer, const struct kl_msg *m) {
    notices += peer == 0 && m->kind == KL_MSG_NOTICE;
    rosters += peer == 0 && m->kind == KL_MSG_ROSTER;
}

/* Somebody comes into ann's room and goes again, 25 times a second for 20 s: players, and watchers. */
static void come_and_go_soon(unsigned seats) {
    for (unsigned i = 0; i < 500; i++) {
        unsigned peer = 2 + i % (PEERS - 2);
        hello(peer, "room", seats, 4, "x");
        assert_false(inbox[peer].hung_up);
        bye(peer);
        now_us += 40000;
    }
}

TEST(a_client_that_comes_and_goes_fills_no_screen) {
    for (unsigned seats = 0; seats < 2; seats++) {
        open_lobby(&limits_with_watchers);
        on_message = count_words;
        hello(0, "room", 1, 4, "x");
        hello(1, "room", 1, 4, "x");
        notices = 0;
        come_and_go_soon(seats);
        assert_in_range(notices, 3, 60 + 20 + 1);
        pass(60 * SECOND);
        notices = 0;
        hello(2, "room", seats, 4, "x"); /* and is told of again, once it is over */
        assert_int_equal(notices, 1);
        kl_lobby_destroy(lobby);
    }
}

/* A client that is told much and has not taken it yet is not put out for others' words. */
TEST(nobody_is_put_out_by_others_words) {
    open_lobby(&limits_with_watchers);
    on_message = count_words;
    hello(0, "room", 1, 4, "x");
    hello(1, "room", 1, 4, "x");
    notices = rosters = 0;
    inbox[0].pending = 129; /* a link that stands still for a while */
    come_and_go_soon(1);
    assert_int_equal(notices, 0);
    assert_int_equal(rosters, 0);
    inbox[0].pending = 0;
    pass(SECOND);
    assert_int_equal(rosters, 1); /* the newest */
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.count, 2);
    kl_lobby_destroy(lobby);
}

/* --- the pace --- */

static void say_rate(unsigned peer, uint32_t uhz) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_RATE, .len = 4}};
    for (unsigned i = 0; i < 4; i++)
        m.order.data[i] = (uint8_t)(uhz >> 8 * i);
    say(peer, &m);
}

/* Commands of that kind that wait for a keyframe, of everybody. */
static unsigned queued(uint8_t kind) {
    const struct kl_lock_relay *lock = &lobby->room[0]->lock;
    unsigned count = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        for (unsigned k = 0; k < lock->client[i].queued; k++)
            count += lock->client[i].queue[k].kind == kind;
    return count;
}

/* All leave out the same bytes of a state: those that the host's machine has found. */
TEST_WITH(a_mask_is_the_hosts, set_up, tear_down) {
    start_game_of(2);
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_MASK, 7, {0, 1, 0xe8, 7, 1, 4, 4}}};
    say(1, &m);
    assert_int_equal(queued(KL_COMMAND_MASK), 0);
    say(0, &m);
    assert_int_equal(queued(KL_COMMAND_MASK), 1);
}

/* One player's word does not make all play a frame a second: a rate is the room's when most machines say so.
 */
TEST_WITH(one_alone_sets_no_pace, set_up, tear_down) {
    start_game_of(3);
    for (unsigned i = 0; i < 5; i++)
        say_rate(1, KL_FPS_MIN + i);
    pass(SECOND);
    assert_int_equal(queued(KL_COMMAND_RATE), 0);
    say_rate(1, 50000000);
    say_rate(0, 59000000);
    assert_int_equal(queued(KL_COMMAND_RATE), 0);
    say_rate(0, 50000000);
    assert_int_equal(queued(KL_COMMAND_RATE), 1);
    say_rate(2, 50000000); /* the last to say so */
    assert_int_equal(queued(KL_COMMAND_RATE), 1);
}

/* Seats of one address have one vote. */
TEST_WITH(seats_of_one_address_set_no_pace, set_up, tear_down) {
    hello(0, "room", 1, 3, "x");
    address_of_peers = "192.0.2.2:5";
    hello(1, "room", 1, 3, "x"), hello(2, "room", 1, 3, "x");
    give(0, "save");
    for (unsigned i = 0; i < 3; i++)
        ready(i, "a");
    say_rate(1, 30000000), say_rate(2, 30000000);
    pass(SECOND);
    assert_int_equal(queued(KL_COMMAND_RATE), 0);
    say_rate(0, 30000000);
    assert_int_equal(queued(KL_COMMAND_RATE), 1);
}

/* Nor does one while another runs old frames again, and has no word on the present. */
TEST_WITH(a_client_that_runs_old_frames_keeps_their_vote, set_up, tear_down) {
    start_game_of(2);
    kl_lock_cut(&lobby->room[0]->lock, 0, now_us);
    say_rate(1, 30000000);
    pass(SECOND);
    assert_false(kl_lobby_plays_now(lobby->room[0], 0));
    assert_int_equal(queued(KL_COMMAND_RATE), 0);
}

/* A client that has gone is not asked. */
TEST_WITH(a_client_that_stays_sets_the_pace, set_up, tear_down) {
    start_game_of(2);
    say_rate(1, 50000000);
    assert_int_equal(queued(KL_COMMAND_RATE), 0);
    bye(0);
    pass(SECOND);
    assert_int_equal(queued(KL_COMMAND_RATE), 1);
}

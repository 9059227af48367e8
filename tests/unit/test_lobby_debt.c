/* test_lobby_debt.c - the bytes that one client can make the relay send, by the bytes that came up: a client
 * that comes back with nothing, joins, watches, again and again; and that crashes of honest players cost them
 * no wait. docs/security.md, Bounds for one player. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_watchers.h"

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
    begin_watched();
    let_in = refused = 0;
    next_peer = FIRST;
    mash();
    go(30 * SECOND);
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
    memcpy(token, player[MAL].token, KL_TOKEN_BYTES);
    cut(MAL);
    player[MAL].plays = false;
}

TEST_WITH(returns_with_nothing, set_up_many, tear_down) {
    uint8_t token[KL_TOKEN_BYTES];
    lose_mal(token);
    for (unsigned i = 0; i < 3 * TIMES; i++) {
        unsigned peer = fresh_peer();
        if (returns_fresh(token, peer)) {
            memcpy(token, got(peer, KL_MSG_WELCOME)->welcome.token, sizeof token);
            ready(peer, "a");
        }
        go(EACH_US);
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
        memcpy(token, got(peer, KL_MSG_WELCOME)->welcome.token, sizeof token);
        go(EACH_US);
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
            go(EACH_US / 4);
            ready(peer, "a");
        }
        go(EACH_US);
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
            go(SECOND / 2);
            ready(peer, "a");
            go(SECOND / 2);
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
    go(wait_s * SECOND);
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
        go(2 * SECOND);
        assert_true(inbox[player[1].peer].traffic.down > joining() / 2); /* it got all of it */
    }
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = false;
    for (unsigned i = 0; i < 3; i++) {
        go(20 * SECOND);
        crashes(1);
    }
    go(10 * SECOND);
    expect_all_at_the_end();
}

/* All at once, of one address, with seat file and without. */
TEST_WITH(a_household_crashes, set_up_many, tear_down) {
    play_long();
    for (unsigned i = 0; i < PLAYERS; i++)
        cut(i);
    for (unsigned i = 0; i < PLAYERS; i++)
        crashes(i);
    go(10 * SECOND);
    expect_all_at_the_end();
    for (unsigned i = 1; i < PLAYERS; i++)
        leave(i);
    for (unsigned i = 1; i < PLAYERS; i++)
        (void)join_late(i, fresh_peer(), 1);
    go(10 * SECOND);
    expect_all_at_the_end();
}

/* Bytes down for each byte up, while everything is in motion. */
static double stream(unsigned peer, uint64_t us) {
    struct kl_traffic was = inbox[peer].traffic, *now = &inbox[peer].traffic;
    go(us);
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
    go(90 * SECOND);
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

/* test_liar.c - players who lie about their machines, to a real relay over UDP: what they are told, what it
 * logs, and that the honest ones play on, equal. net/ROOMS.md §7, Hashes, Snapshots and Healing.
 * runs: waiting, test, 78 s */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/net/net_liar.h"
#include "tests/net/net_state.h"

#define ROOM        4
#define FRAMES      40000
#define STATE_BYTES 30000
#define BOMB_BYTES  (64U << 20)
#define GROWTH_KB   16000

static struct program relay, proxy;
static struct player player[ROOM];
static struct state state[ROOM];
static struct liar liar[2];
static unsigned players, liars;

/* --- a room --- */

static struct kl_hello hello_of(const char *name, unsigned seats, unsigned of) {
    struct kl_hello h = hello_make(name, "room", seats, of);
    h.params.clocked = true;
    h.params.policy = KL_POLICY_STRICT;
    h.params.fps_uhz = 120000000;
    h.params.hash_every = 30;
    return h;
}

static void begin(const char *const args[]) {
    memset(player, 0, sizeof player);
    players = liars = 0;
    relay = relay_start(args);
    proxy = proxy_start(relay.port, (const char *const[]){"--delay", "10", "--seed", "5", NULL});
}

static void comes(const char *name, unsigned seats, unsigned of, uint16_t port) {
    struct kl_hello h = hello_of(name, seats, of);
    struct player *p = &player[players];
    player_open(p, &h, port, FRAMES);
    state_begin(p, &state[players], STATE_BYTES);
    players++;
    assert_true(player_joins(p));
}

static void liar_comes(const char *name, unsigned of) {
    struct kl_hello h = hello_of(name, 1, of);
    liar_enter(&liar[liars], &h, relay.port);
    liars++;
}

static void end(void) {
    for (unsigned i = 0; i < liars; i++) {
        assert_int_equal(liar[i].overheard, 0);
        liar_leave(&liar[i]);
    }
    for (unsigned i = 0; i < players; i++) {
        player_close(&player[i], 300);
        state_end(&player[i]);
    }
    program_stop(&proxy, SIGTERM);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

static void turns_for(unsigned ms) {
    for (uint64_t end_us = kl_now_us() + ms * UINT64_C(1000); kl_now_us() < end_us; poll(NULL, 0, 1)) {
        for (unsigned i = 0; i < players; i++)
            player_turn(&player[i]);
        for (unsigned i = 0; i < liars; i++)
            liar_turn(&liar[i]);
    }
}

#define TURNS_UNTIL(condition, seconds)                                                                      \
    do {                                                                                                     \
        for (uint64_t until_us = kl_now_us() + (seconds)*UINT64_C(1000000);                                  \
             !(condition) && kl_now_us() < until_us;)                                                        \
            turns_for(20);                                                                                   \
        assert_true(condition);                                                                              \
    } while (0)

static bool has_verified(unsigned i, uint32_t frame) {
    const struct kl_participant_status *s = &player[i].status;
    return s->any_verified && s->verified >= frame;
}

/* --- claims that must hold --- */

/* A line of the relay's log with all of these. */
static unsigned lines_with(const char *a, const char *b, const char *c) {
    static char line[4000];
    unsigned count = 0;
    FILE *f = fopen(relay.log, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, a) && strstr(line, b) && strstr(line, c);
    if (f) fclose(f);
    return count;
}

static void expect_put_out(const char *name, const char *code, const char *reason) {
    char who[64], why[64];
    snprintf(who, sizeof who, "name=\"%s\"", name);
    snprintf(why, sizeof why, "code=%s", code);
    assert_true(program_said(&relay, "event=put_out"));
    assert_int_equal(lines_with("event=put_out", who, why), 1);
    assert_int_equal(lines_with("event=put_out", who, reason), 1);
    assert_int_equal(lines_with("event=put_out", "", ""), 1); /* and nobody else */
}

/* It has what ann has, so far as both have run. */
static void expect_the_same(const struct player *p) {
    assert_int_equal(p->status.phase, KL_PARTICIPANT_PLAYING);
    for (uint32_t f = p->begun; f < player[0].frames && f < p->frames; f++)
        assert_true(p->digest[f] == player[0].digest[f]);
}

/* The first `count` players play on. */
static void expect_play_goes_on(unsigned count) {
    uint32_t from = player[0].frames;
    for (unsigned i = 0; i < count; i++)
        TURNS_UNTIL(player[i].frames >= from + 120, 20);
    for (unsigned i = 0; i < count; i++)
        expect_the_same(&player[i]);
}

/* The others' hashes are found equal too. */
static void expect_in_sync(unsigned count) {
    uint32_t now = player[0].frames;
    expect_play_goes_on(count);
    for (unsigned i = 0; i < count; i++) {
        TURNS_UNTIL(has_verified(i, now), 20);
        assert_false(player[i].status.desync);
    }
}

/* --- hashes that are held back --- */

#define UNTIL_IT_LOADS 10000

/* A client that says its hashes late hears nothing of the others' before its own is in: neither that they are
 * equal, nor that they differ. */
TEST(a_client_that_is_late_hears_nothing_before) {
    begin(NULL);
    comes("ann", 1, 3, proxy.port);
    comes("bob", 1, 3, proxy.port);
    liar_comes("mal", 3);
    TURNS_UNTIL(has_verified(0, 60), 20);
    liar[0].lie = LIE_LATE;
    unsigned before = liar[0].verdicts;
    TURNS_UNTIL(liar[0].verdicts >= before + 6, 20);
    assert_int_equal(liar[0].differing, 0);
    player[1].wrong_next = UNTIL_IT_LOADS; /* the others differ, until bob has loaded */
    TURNS_UNTIL(liar[0].differing > 0, 20);
    TURNS_UNTIL(player[1].wrong_next == 0, 20);
    liar[0].lie = LIE_NONE;
    expect_in_sync(2);
    assert_int_equal(liar[0].early, 0);
    assert_int_equal(state[1].loads, 1);
    assert_int_equal(state[0].loads, 0);
    assert_false(liar[0].in.gone);
    end();
}

/* Silence holds verdicts up for a second at most, and has no vote. */
TEST(a_silent_client_is_counted_on_no_side) {
    begin(NULL);
    comes("ann", 1, 3, proxy.port);
    comes("bob", 1, 3, proxy.port);
    liar_comes("mal", 3);
    TURNS_UNTIL(has_verified(0, 60), 20);
    liar[0].lie = LIE_SILENT;
    turns_for(4000);
    expect_play_goes_on(2);
    assert_false(liar[0].in.gone);
    assert_int_equal(lines_with("event=put_out", "", ""), 0);
    assert_int_equal(player[0].status.verdict.complete, 0);
    assert_true(player[0].status.verdict.frame > 240); /* told all the same */
    liar[0].lie = LIE_NONE;
    expect_in_sync(2);
    end();
}

/* --- hashes that are not true --- */

/* He says so until he has to load the others' state. */
static void a_false_hash(unsigned who) {
    player[who].wrong_next = UNTIL_IT_LOADS;
    TURNS_UNTIL(player[who].wrong_next == 0, 20);
    expect_in_sync(players);
}

TEST(alone_three_times_within_a_minute) {
    begin(NULL);
    comes("ann", 1, 3, proxy.port);
    comes("bob", 1, 3, proxy.port);
    comes("mal", 1, 3, relay.port);
    TURNS_UNTIL(has_verified(0, 60), 20);
    a_false_hash(2);
    a_false_hash(2);
    player[2].wrong_next = UNTIL_IT_LOADS;
    TURNS_UNTIL(player[2].status.phase == KL_PARTICIPANT_ENDED, 20);
    assert_int_equal(player[2].status.refused, KL_REFUSE_DESYNC);
    assert_non_null(strstr(player[2].status.reason, "three times within a minute"));
    expect_put_out("mal", "9", "three times within a minute");
    assert_int_equal(lines_with("event=desync", "minority=\"mal (3)\"", ""),
                     lines_with("event=desync", "complete=1", ""));
    assert_int_equal(state[2].loads, 2);
    assert_int_equal(state[0].loads + state[1].loads, 0);
    expect_play_goes_on(2);
    end();
}

/* Of two nobody can say who it is. Both go back to their own states; the third time both run the game from
 * the beginning. Nobody loads the other's state, nobody is put out, and both play on. */
TEST(nobody_on_a_tie) {
    for (unsigned who = 0; who < 2; who++) { /* the host lies; and the other one */
        begin(NULL);
        comes("ann", 1, 2, relay.port);
        comes("mal", 1, 2, relay.port);
        TURNS_UNTIL(has_verified(0, 60), 20);
        for (unsigned i = 0; i < 2; i++)
            a_false_hash(who);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(state[i].rewinds, 2);
        player[who].wrong_next = UNTIL_IT_LOADS;
        TURNS_UNTIL(state[0].rewinds == 3 && state[1].rewinds == 3, 30); /* agreed meanwhile: a new one */
        expect_in_sync(players);
        assert_int_equal(lines_with("event=heal_anew", "", ""), 0);
        assert_int_equal(lines_with("event=put_out", "", ""), 0);
        assert_int_equal(lines_with("event=snapshot", "", ""), 0);
        assert_int_equal(state[0].loads + state[1].loads, 0);
        for (unsigned i = 0; i < 2; i++)
            expect_the_same(&player[i]);
        end();
    }
}

/* --- snapshots --- */

static uint8_t *other_bytes(const struct state *s, uint32_t *len) {
    s->own[s->bytes / 2] ^= 1;
    return state_pack(s->own, s->bytes, len);
}
static uint8_t *too_few(const struct state *s, uint32_t *len) {
    return state_pack(s->own, s->bytes - 1, len);
}
static uint8_t *too_many(const struct state *s, uint32_t *len) {
    uint8_t *more = calloc(1, s->bytes + 1);
    if (!more) abort();
    memcpy(more, s->own, s->bytes);
    uint8_t *packed = state_pack(more, s->bytes + 1, len);
    free(more);
    return packed;
}
static uint8_t *bomb(const struct state *s, uint32_t *len) {
    uint8_t *zeros = calloc(1, BOMB_BYTES);
    (void)s;
    if (!zeros) abort();
    uint8_t *packed = state_pack(zeros, BOMB_BYTES, len);
    free(zeros);
    assert_true(*len < STATE_BYTES);
    return packed;
}
static uint8_t *nothing(const struct state *s, uint32_t *len) {
    (void)s;
    (void)len;
    return NULL;
}

static long resident_kb(void) {
    char path[64];
    long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)relay.pid);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    int got = fscanf(f, "%ld %ld", &pages, &resident);
    fclose(f);
    return got == 2 ? resident * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

/* Bob needs the others' state. Mal has the shortest way to the relay: he is asked first. */
static void forges_to_heal(uint8_t *(*forge)(const struct state *, uint32_t *), bool is_out) {
    begin(NULL);
    comes("ann", 1, 3, proxy.port);
    comes("bob", 1, 3, proxy.port);
    comes("mal", 1, 3, relay.port);
    state[2].forge = forge;
    TURNS_UNTIL(has_verified(0, 60), 20);
    long before_kb = resident_kb();
    player[1].wrong_next = UNTIL_IT_LOADS;
    TURNS_UNTIL(player[0].status.healed == 1, 30);
    assert_int_equal(state[2].asked, 1);
    assert_int_equal(state[0].asked, 1);
    assert_int_equal(state[1].loads, 1);
    assert_in_range(resident_kb(), 1, before_kb + GROWTH_KB);
    if (is_out) {
        assert_int_equal(player[2].status.phase, KL_PARTICIPANT_ENDED);
        assert_int_equal(player[2].status.refused, KL_REFUSE_PROTOCOL);
        expect_put_out("mal", "6", "your snapshot does not match the hash that you gave");
    } else {
        assert_int_equal(lines_with("event=put_out", "", ""), 0);
    }
    assert_int_equal(lines_with("event=snapshot_kept", "name=\"ann\"", ""), 1);
    expect_in_sync(is_out ? 2 : 3);
    end();
}

TEST(gives_other_bytes) {
    forges_to_heal(other_bytes, true);
}
TEST(gives_too_few) {
    forges_to_heal(too_few, true);
}
TEST(gives_too_many) {
    forges_to_heal(too_many, true);
}
TEST(gives_a_bomb) {
    forges_to_heal(bomb, true);
}
TEST(gives_nothing) {
    forges_to_heal(nothing, false);
}

/* A newcomer gets the snapshot while it comes up, all but what it would need to load it; and then another. */
TEST(to_a_newcomer) {
    const uint8_t four = ROOM;
    begin((const char *const[]){"--catch-up", "1", NULL});
    comes("ann", 1, 3, proxy.port);
    comes("bob", 1, 3, proxy.port);
    comes("mal", 1, 3, relay.port);
    state[2].forge = other_bytes;
    TURNS_UNTIL(player[0].frames > 700, 30); /* more than it would replay in a second */
    assert_int_equal(player_order(&player[0], KL_COMMAND_PLACES, &four, 1), KL_OK);
    comes("cat", 1, 3, relay.port);
    TURNS_UNTIL(player[3].begun > 0, 30);
    expect_put_out("mal", "6", "your snapshot does not match the hash that you gave");
    assert_int_equal(lines_with("event=catch_up", "name=\"cat\"", "by=snapshot"), 2);
    assert_int_equal(state[3].loads, 1);
    TURNS_UNTIL(player[3].frames + 60 > player[0].frames, 20);
    expect_in_sync(2);
    expect_the_same(&player[3]);
    TURNS_UNTIL(lines_with("event=checked", "name=\"cat\"", "equal=yes") == 1, 20);
    end();
}

/* test_return.c - links that are cut and come back: by themselves after an outage, and as a new process with
 * what it kept; all of it at once to eight players of one house. net/ROOMS.md §7, kept seats.
 *
 *   LONG=1  cut for 10 and 30 s as well, which tests/e2e/relay/return.sh does with the programs themselves
 *
 * runs: waiting, test, 65 s */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_player.h"

static struct program relay, proxy;
#define HOUSE 8 /* players at one address */
static struct player player[HOUSE];

static struct kl_hello hello_of(const char *name) {
    struct kl_hello h = hello_make(name, "room", 1, 2);
    h.params.clocked = true;
    h.params.policy = KL_POLICY_BOUNDED;
    h.params.wait_budget_ms = 250;
    return h;
}

/* Ann straight to the relay, Bob through the proxy; both play. */
static void begin(void) {
    const char *const link[] = {"--delay", "10", "--seed", "5", NULL};
    struct kl_hello ann = hello_of("ann"), bob = hello_of("bob");
    memset(player, 0, sizeof player);
    kl_seat_make(&player[1].seat);
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, link);
    player_open(&player[0], &ann, relay.port, 100000);
    assert_true(player_joins(&player[0]));
    player_open(&player[1], &bob, proxy.port, 100000);
    assert_true(player_joins(&player[1]));
    assert_true(players_reach(player, 2, 1, KL_PARTICIPANT_PLAYING, 10));
}

static void end(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (player[i].link) player_close(&player[i], 500);
    program_stop(&proxy, SIGTERM);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* The longest that Ann waits for a frame. */
static uint64_t turns_for(unsigned count, unsigned ms) {
    uint64_t end_us = kl_now_us() + ms * UINT64_C(1000), last_us = kl_now_us(), longest_us = 0;
    uint32_t frames = player[0].frames;
    for (uint64_t now_us = last_us; now_us < end_us; now_us = kl_now_us(), poll(NULL, 0, 1)) {
        for (unsigned i = 0; i < count; i++)
            player_turn(&player[i]);
        if (player[0].frames == frames) continue;
        if (now_us - last_us > longest_us) longest_us = now_us - last_us;
        last_us = now_us;
        frames = player[0].frames;
    }
    return longest_us;
}

static void expect_the_same(unsigned a, unsigned b) {
    uint32_t both = player[a].frames < player[b].frames ? player[a].frames : player[b].frames;
    for (uint32_t f = 0; f < both; f++)
        assert_true(player[a].digest[f] == player[b].digest[f]);
}

/* Turns until b has nearly caught up with a. */
static bool catches_up(unsigned count, unsigned a, unsigned b, unsigned timeout_s) {
    uint64_t begin_us = kl_now_us();
    while (kl_now_us() < begin_us + timeout_s * UINT64_C(1000000)) {
        turns_for(count, 20);
        if (player[b].status.phase == KL_PARTICIPANT_PLAYING && player[b].frames + 60 > player[a].frames &&
            !player[b].status.lock.absent) {
            print_message("           back and present after %.1f s\n",
                          (double)(kl_now_us() - begin_us) / 1e6);
            return true;
        }
    }
    fprintf(stderr, "%u of %u frames, phase %d, absent %d: %s\n", player[b].frames, player[a].frames,
            player[b].status.phase, player[b].status.lock.absent, player[b].status.reason);
    return false;
}

static void outage(unsigned ms) {
    begin();
    turns_for(2, 1500);
    kill(proxy.pid, SIGUSR1);
    uint32_t before = player[0].frames;
    hitch_watch(relay.pid);
    uint64_t still_us = hitch_us(), longest_us = turns_for(2, ms);
    still_us = hitch_us() - still_us; /* of the longest gap, too, at most so long */
    uint32_t meanwhile = player[0].frames - before;
    enum kl_participant_phase phase = player[1].status.phase;
    kill(proxy.pid, SIGUSR1);
    assert_true(catches_up(2, 0, 1, 10));
    turns_for(2, 500);
    expect_the_same(0, 1);
    print_message("           %u ms: Ann ran %u frames meanwhile, longest gap %.0f ms\n", ms, meanwhile,
                  (double)longest_us / 1e3);
    assert_true(meanwhile > (ms - 500) * 6 / 100 * 9 / 10);
    assert_in_range(longest_us, 0, 350000 + still_us); /* the wait budget once, and this machine's hitches */
    if (ms > 5000) {
        assert_int_equal(phase, KL_PARTICIPANT_RETURNING);
        assert_true(program_said(&relay, "event=returned"));
    }
    end(2);
}

static void three_seconds(void **state) {
    (void)state;
    outage(3000);
}
static void ten_seconds(void **state) {
    (void)state;
    outage(10000);
}
static void thirty_seconds(void **state) {
    (void)state;
    outage(30000);
}

/* The seat is not kept for ever, and both ends say so. */
static void longer_than_the_seat(void **state) {
    (void)state;
    const char *const args[] = {"--seat-time", "6", NULL};
    struct kl_hello ann = hello_of("ann");
    memset(player, 0, sizeof player);
    ann.params.players = 1;
    relay = relay_start(args);
    proxy = proxy_start(relay.port, NULL);
    player_open(&player[0], &ann, proxy.port, 10000);
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_PLAYING, 10));
    kill(proxy.pid, SIGUSR1);
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_RETURNING, 6));
    assert_non_null(strstr(player[0].status.reason, "trying to come back"));
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_ENDED, 6));
    assert_non_null(strstr(player[0].status.reason, "did not answer for as long as it keeps a seat"));
    end(1);
}

/* A process that was killed, and started again with key and token: it begins anew at frame 0 and catches up,
 * and whoever still has the seat is told. */
static void a_new_process(void **state) {
    (void)state;
    struct kl_hello bob = hello_of("bob");
    begin();
    turns_for(2, 3000);
    player_look(&player[1]);
    player[2].seat = player[1].seat;
    player[2].fresh = true;
    memcpy(player[2].token, player[1].status.welcome.token, sizeof player[2].token);
    uint8_t seats = player[1].status.welcome.seats;
    player_open(&player[2], &bob, proxy.port, 100000);
    assert_true(player_joins(&player[2]));
    assert_true(players_reach(player, 3, 1, KL_PARTICIPANT_ENDED, 5));
    assert_non_null(strstr(player[1].status.reason, "taken back by a newer session"));
    assert_int_equal(player[1].status.refused, KL_REFUSE_CLOSED);
    assert_true(catches_up(3, 0, 2, 10));
    turns_for(3, 500);
    expect_the_same(0, 2);
    assert_int_equal(player[2].status.welcome.seats, seats);
    end(3);
}

/* Somebody who has the token but not the key. */
static void a_stolen_token(void **state) {
    (void)state;
    struct kl_hello bob = hello_of("bob");
    begin();
    turns_for(2, 500);
    kl_seat_make(&player[2].seat);
    player[2].fresh = true;
    memcpy(player[2].token, player[1].status.welcome.token, sizeof player[2].token);
    player_open(&player[2], &bob, proxy.port, 10);
    assert_true(players_reach(player, 3, 2, KL_PARTICIPANT_ENDED,
                              8)); /* a relay that has just begun waits a little */
    assert_int_equal(player[2].status.refused, KL_REFUSE_SEAT);
    assert_int_equal(player[1].status.phase, KL_PARTICIPANT_PLAYING);
    end(3);
}

/* Killed in mid-game and started again with the same folder of its state: its journal has the room. */
static void the_relay_is_killed(void **state) {
    (void)state;
    char port[16];
    begin();
    turns_for(2, 4000);
    snprintf(port, sizeof port, "%u", relay.port);
    uint32_t before = player[0].frames;
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    turns_for(2, 500);
    relay = relay_start((const char *const[]){"--port", port, NULL});
    uint64_t from_us = kl_now_us();
    while (player[0].frames < before + 120 && kl_now_us() < from_us + 20000000)
        turns_for(2, 50);
    print_message("           on again %.1f s after the start\n", (double)(kl_now_us() - from_us) / 1e6);
    assert_true(player[0].frames >= before + 120);
    assert_true(catches_up(2, 0, 1, 10));
    turns_for(2, 1000);
    expect_the_same(0, 1);
    assert_int_equal(player[0].status.phase, KL_PARTICIPANT_PLAYING);
    assert_false(player[0].status.desync);
    assert_true(program_said(&relay, "event=journal_loaded"));
    end(2);
}

/* --- eight players behind one NAT --- */

static void house_opens(const char *room, const uint8_t *start, size_t start_len) {
    for (unsigned i = 0; i < HOUSE; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%u", i);
        struct kl_hello h = hello_make(name, room, 1, HOUSE);
        h.params.clocked = true;
        h.params.policy = KL_POLICY_BOUNDED;
        h.params.wait_budget_ms = 250;
        kl_seat_make(&player[i].seat);
        player_open(&player[i], &h, proxy.port, 100000);
        player[i].start = start;
        player[i].start_len = start_len;
    }
    for (unsigned i = 0; i < HOUSE; i++) /* all at once */
        assert_true(player_joins(&player[i]));
    for (unsigned i = 0; i < HOUSE; i++)
        assert_true(players_reach(player, HOUSE, i, KL_PARTICIPANT_PLAYING, 20));
}

/* They play, and each has something to say every second, and is heard. */
static void house_plays(unsigned s) {
    struct kl_text text;
    struct kl_participant *participant;
    for (unsigned k = 0; k < s; k++) {
        for (unsigned i = 0; i < HOUSE; i++)
            player_order(&player[i], KL_COMMAND_CHAT, "well played", 11);
        (void)turns_for(HOUSE, 1000);
        for (unsigned i = 0; i < HOUSE; i++) {
            participant = kl_link_hold(player[i].link);
            while (kl_participant_notice(participant, &text))
                assert_null(strstr(text.text, "dropped"));
            kl_link_release(player[i].link);
        }
    }
}

static void house_is_whole_again(void) {
    for (unsigned i = 1; i < HOUSE; i++)
        assert_true(catches_up(HOUSE, 0, i, 15));
    (void)turns_for(HOUSE, 500);
    for (unsigned i = 0; i < HOUSE; i++) {
        assert_int_equal(player[i].status.phase, KL_PARTICIPANT_PLAYING);
        assert_false(player[i].status.desync);
        expect_the_same(0, i);
    }
}

static void nobody_was_turned_away(void) {
    assert_int_equal(program_lines(&relay, "event=refused"), 0);
    assert_int_equal(program_lines(&relay, "event=put_out"), 0);
    assert_int_equal(program_lines(&relay, "result=-"), 0); /* a command that was dropped */
}

/* With all limits as they are by default: joining, a megabyte of saves, talk, the relay killed, all links
 * cut, the NAT's ports forgotten, and the next match. */
static void eight_behind_one_nat(void **state) {
    static uint8_t start[1 << 20];
    char port[16];
    (void)state;
    memset(player, 0, sizeof player);
    for (size_t i = 0; i < sizeof start; i++)
        start[i] = (uint8_t)(i * 2654435761U >> 13);
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, (const char *const[]){"--delay", "10", "--seed", "6", NULL});
    snprintf(port, sizeof port, "%u", relay.port);
    house_opens("house", start, 10000);
    house_plays(4);
    nobody_was_turned_away();
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    (void)turns_for(HOUSE, 500);
    relay = relay_start((const char *const[]){"--port", port, NULL});
    (void)turns_for(HOUSE, 5000);
    house_is_whole_again();
    kill(proxy.pid, SIGUSR1);
    (void)turns_for(HOUSE, 6000);
    kill(proxy.pid, SIGUSR1);
    (void)turns_for(HOUSE, 500);
    house_is_whole_again();
    assert_int_equal(program_lines(&relay, "event=returned"), 2 * HOUSE);
    for (unsigned i = 0; i < 3; i++) {
        kill(proxy.pid, SIGUSR2);
        house_plays(1);
    }
    house_is_whole_again();
    for (unsigned i = 0; i < HOUSE; i++)
        player_close(&player[i], 500);
    memset(player, 0, sizeof player);
    house_opens("house", start, sizeof start);
    house_plays(4);
    house_is_whole_again();
    nobody_was_turned_away();
    for (unsigned i = 0; i < HOUSE; i++)
        player_close(&player[i], 500);
    program_stop(&proxy, SIGTERM);
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, " put_out=0 wrong_passwords=0 wrong_returns=0 "));
    assert_true(program_said(&relay, " limited=0 slowed=0 unfit=0 flooded=0 "));
    assert_true(program_said(&relay, " refused=0 "));
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_seconds),        cmocka_unit_test(a_new_process),
        cmocka_unit_test(longer_than_the_seat), cmocka_unit_test(a_stolen_token),
        cmocka_unit_test(the_relay_is_killed),  cmocka_unit_test(eight_behind_one_nat),
    };
    const struct CMUnitTest long_ones[] = {cmocka_unit_test(ten_seconds), cmocka_unit_test(thirty_seconds)};
    cmocka_set_test_filter(getenv("KEYLOCK_TEST"));
    int failed = cmocka_run_group_tests_name("return", tests, NULL, NULL);
    return getenv("LONG") ? failed + cmocka_run_group_tests_name("long", long_ones, NULL, NULL) : failed;
}

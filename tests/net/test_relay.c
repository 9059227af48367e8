/* test_relay.c - a real relay process, real links over loopback UDP, synthetic players.
 * runs: waiting, test, 40 s */
#include <netdb.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "net/session/seal.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_player.h"

static struct program relay, proxy;
static struct player player[PLAYERS_MAX];

/* In place of the C library's, so that a name has both kinds of addresses; other names as ever. */
int getaddrinfo_a(int mode, struct gaicb *list[], int n, struct sigevent *event) {
    struct gaicb *r = list[0];
    (void)mode, (void)n, (void)event;
    bool both = !strcmp(r->ar_name, "both.test");
    r->__return = getaddrinfo(both ? "::1" : r->ar_name, NULL, r->ar_request, &r->ar_result);
    if (both && r->__return == 0)
        r->__return = getaddrinfo("127.0.0.1", NULL, r->ar_request, &r->ar_result->ai_next);
    return 0;
}
int gai_error(struct gaicb *request) {
    return request->__return;
}
int gai_cancel(struct gaicb *request) {
    (void)request;
    return EAI_ALLDONE;
}

static void open_players(unsigned count, uint16_t port, uint32_t frames, bool clocked) {
    for (unsigned i = 0; i < count; i++) {
        struct kl_hello h =
            hello_make((const char *const[]){"ann", "bob", "cat", "dan"}[i], "room", 1, count);
        h.params.clocked = clocked;
        player_open(&player[i], &h, port, frames);
        assert_true(player_joins(&player[i])); /* in this order: the first is host */
    }
}

static void close_players(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        player_close(&player[i], 1000);
}

static void expect_lock(unsigned count, uint32_t frames, unsigned timeout_s) {
    uint64_t begin_us = kl_now_us();
    assert_true(players_run(player, count, frames, timeout_s));
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(player[i].frames, frames);
    assert_int_equal(players_differ(player, count, frames), -1);
    assert_true(player[0].presses > frames / 2);
    double s = (double)(kl_now_us() - begin_us) / 1e6;
    print_message("           %u clients, %u frames in %.2f s (%.0f a second)\n", count, frames, s,
                  frames / s);
}

static void play_through(unsigned count, uint32_t frames, bool clocked) {
    const char *const both[] = {"--bind", "::", NULL};
    relay = relay_start(player[0].host ? both : NULL);
    assert_int_not_equal(relay.port, 0);
    open_players(count, relay.port, frames, clocked);
    expect_lock(count, frames, 60);
    for (unsigned i = 0; i < count; i++) {
        player_look(&player[i]);
        assert_false(player[i].status.desync);
    }
    close_players(count);
    for (unsigned i = 0; i < count; i++)
        player[i].host = NULL;
    assert_true(program_said(&relay, "event=room_ended"));
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

TEST(two_players) {
    play_through(2, 10000, false);
}
/* By both kinds of addresses, each written in two ways. */
TEST(four_players) {
    static const char *const host[] = {"::1", "127.0.0.1", "both.test", "::ffff:127.0.0.1"};
    for (unsigned i = 0; i < 4; i++)
        player[i].host = host[i];
    play_through(4, 3000, false);
}
/* Nobody listens at the first address of that name. */
TEST(a_name_whose_ipv6_is_dead) {
    relay = relay_start(NULL);
    struct kl_hello h = hello_make("ann", "room", 1, 1);
    player[0].host = "both.test";
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    player_open(&player[0], &h, relay.port, 10);
    assert_true(player_joins(&player[0]));
    assert_in_time(kl_now_us() - begin_us, 1000000, still_us);
    player[0].host = NULL;
    close_players(1);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}
TEST(with_a_clock) {
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    play_through(2, 180, true);
    assert_true(kl_now_us() - begin_us > 2900000);
    assert_in_time(kl_now_us() - begin_us, 6000000, still_us);
}
/* A bad link, one megabyte of start data, a room with a clock. */
TEST(over_a_bad_link) {
    static uint8_t start[1000003];
    for (size_t i = 0; i < sizeof start; i++)
        start[i] = (uint8_t)(i * 2654435761U >> 13);
    const char *const bad[] = {"--delay", "25",        "--jitter", "3",      "--loss", "1", "--dup",
                               "1",       "--reorder", "1",        "--seed", "7",      NULL};
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, bad);
    open_players(2, proxy.port, 600, true);
    for (unsigned i = 0; i < 2; i++) {
        player[i].start = start;
        player[i].start_len = sizeof start;
    }
    assert_true(players_reach(player, 2, 0, KL_PARTICIPANT_PLAYING, 30));
    expect_lock(2, 600, 30);
    assert_true(player[0].start_ok && player[1].start_ok);
    assert_in_range(player[1].status.lock.rtt_us, 50000, 75000);
    print_message("           rtt %.1f ms, spacing %u, late %llu\n", player[1].status.lock.rtt_us / 1e3,
                  player[1].status.lock.spacing, (unsigned long long)player[1].status.lock.late_frames);
    close_players(2);
    program_stop(&proxy, SIGTERM);
    program_stop(&relay, SIGTERM);
}

TEST(hostile_link) {
    const char *const bad[] = {"--delay",   "1",  "--dup",  "10", "--truncate", "3",  "--replay", "20",
                               "--garbage", "20", "--loss", "3",  "--seed",     "11", NULL};
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, bad);
    open_players(3, proxy.port, 1500, false);
    expect_lock(3, 1500, 60);
    close_players(3);
    program_stop(&proxy, SIGTERM);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* --- refusals and ends --- */

static void expect_end(struct player *p, const char *reason) {
    assert_true(players_reach(p, 1, 0, KL_PARTICIPANT_ENDED, 12));
    if (!strstr(p->status.reason, reason)) print_error("reason: %s\nwanted: %s\n", p->status.reason, reason);
    assert_non_null(strstr(p->status.reason, reason));
}

/* --- the relay's identity, and the cipher --- */

TEST(the_fingerprint_is_checked) {
    struct kl_hello h = hello_make("ann", "room", 1, 2);
    char text[128];
    relay = relay_start(NULL);
    player_open(&player[0], &h, relay.port, 1);
    assert_true(player_joins(&player[0]));
    assert_true(kl_fingerprint_valid(player[0].status.fingerprint));
    assert_true(player[0].status.cipher == KL_CIPHER_AES256GCM ||
                player[0].status.cipher == KL_CIPHER_CHACHA20);
    snprintf(text, sizeof text, "fingerprint=%s", player[0].status.fingerprint);
    assert_true(program_said(&relay, text));

    memcpy(player[1].fingerprint, player[0].status.fingerprint, sizeof player[1].fingerprint);
    player_open(&player[1], &h, relay.port, 1);
    assert_true(player_joins(&player[1]));
    player_close(&player[1], 0);
    char *digit = &player[1].fingerprint[5];
    *digit = *digit == 'a' ? 'b' : 'a';
    player_open(&player[1], &h, relay.port, 1);
    snprintf(text, sizeof text, "its fingerprint is %s, expected was %s", player[0].status.fingerprint,
             player[1].fingerprint);
    expect_end(&player[1], text);
    player_close(&player[1], 0);
    player[1].fingerprint[0] = 0;
    player_close(&player[0], 0);
    program_stop(&relay, SIGTERM);
}

static uint8_t cipher_between(bool relay_insecure, bool client_insecure) {
    struct kl_hello h = hello_make("ann", "room", 1, 2);
    relay = relay_start((const char *const[]){relay_insecure ? "--insecure-lan" : NULL, NULL});
    player[0].insecure_lan = client_insecure;
    player_open(&player[0], &h, relay.port, 1);
    assert_true(player_joins(&player[0]));
    uint8_t cipher = player[0].status.cipher;
    player_close(&player[0], 0);
    player[0].insecure_lan = false;
    program_stop(&relay, SIGTERM);
    return cipher;
}

TEST(clear_takes_both_ends) {
    assert_int_equal(cipher_between(true, true), KL_CIPHER_CLEAR);
    assert_int_not_equal(cipher_between(true, false), KL_CIPHER_CLEAR);
    assert_int_not_equal(cipher_between(false, true), KL_CIPHER_CLEAR);
}

TEST(a_relay_that_stops_says_so) {
    relay = relay_start(NULL);
    open_players(2, relay.port, 100, false);
    expect_lock(2, 100, 10);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
    expect_end(&player[0], "the relay is shutting down");
    expect_end(&player[1], "the relay is shutting down");
    close_players(2);
}

TEST(a_killed_relay_is_noticed) {
    relay = relay_start((const char *const[]){"--seat-time", "6", NULL});
    open_players(2, relay.port, 100, false);
    expect_lock(2, 100, 10);
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    expect_end(&player[0], "did not answer for as long as it keeps a seat");
    expect_end(&player[1], "did not answer for as long as it keeps a seat");
    assert_true(kl_now_us() - begin_us > 4500000);
    assert_in_time(kl_now_us() - begin_us, 11000000, still_us);
    close_players(2);
}

TEST(nobody_there) {
    relay = relay_start(NULL);
    uint16_t port = relay.port;
    program_stop(&relay, SIGTERM);
    struct kl_hello h = hello_make("ann", "room", 1, 1);
    player_open(&player[0], &h, port, 1);
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    expect_end(&player[0], "after 5 s (is keylock-relay running there?)");
    assert_true(kl_now_us() - begin_us > 4500000);
    assert_in_time(kl_now_us() - begin_us, 6000000, still_us);
    begin_us = kl_now_us(), still_us = hitch_us();
    player_close(&player[0], 3000);
    assert_in_time(kl_now_us() - begin_us, 200000, still_us);
}

/* The seat's file is written in this call, and a disk may be slow: no call of the frontend waits for it. */
static atomic_bool asked;
static atomic_int was_asked; /* as the call saw it: 0 not called, 1 in time, 2 never */

static void write_slowly(void *ctx, const struct kl_welcome *w, const char *relays) {
    (void)ctx, (void)w, (void)relays;
    for (unsigned i = 0; i < 5000 && !asked; i++)
        kl_sleep_us(1000);
    was_asked = asked ? 1 : 2;
}

TEST(a_disk_is_not_waited_for) {
    struct kl_link *l;
    struct kl_participant_status status = {0};
    char err[200];
    relay = relay_start(NULL);
    struct kl_link_config config = {.host = "127.0.0.1", .port = relay.port, .keep = write_slowly};
    config.hello = hello_make("ann", "room", 1, 2);
    assert_int_equal(kl_link_open(&l, &config, err, sizeof err), 0);
    for (unsigned i = 0; i < 5000 && status.phase != KL_PARTICIPANT_WAITING; i++) {
        kl_sleep_us(1000);
        kl_participant_status(kl_link_hold(l), &status);
        kl_link_release(l);
    }
    assert_int_equal(status.phase, KL_PARTICIPANT_WAITING);
    asked = true; /* the status was told while the call lasts */
    for (unsigned i = 0; i < 5000 && !was_asked; i++)
        kl_sleep_us(1000);
    assert_int_equal(was_asked, 1);
    kl_link_close(l, 0);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

/* Whatever the name server does, closing is prompt. */
TEST(a_name_that_is_nobodys) {
    struct kl_link_config config = {.host = "nobody.invalid", .port = 55435};
    config.hello = hello_make("ann", "room", 1, 1);
    struct kl_link *l;
    struct kl_participant_status status = {0};
    char err[200];
    assert_int_equal(kl_link_open(&l, &config, err, sizeof err), 0);
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    kl_link_close(l, 3000);
    assert_in_time(kl_now_us() - begin_us, 300000, still_us);
    assert_int_equal(kl_link_open(&l, &config, err, sizeof err), 0);
    for (int i = 0; i < 1200 && status.phase != KL_PARTICIPANT_ENDED; i++) {
        kl_link_wait(l, 10000);
        kl_participant_status(kl_link_hold(l), &status);
        kl_link_release(l);
    }
    assert_int_equal(status.phase, KL_PARTICIPANT_ENDED);
    assert_non_null(strstr(status.reason, "cannot find the relay nobody.invalid: "));
    kl_link_close(l, 0);
}

/* test_relay.c - a real relay process, real links over loopback UDP, synthetic players.
 * runs: waiting, test, 60 s */
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

static void open_players(unsigned count, unsigned seats, uint16_t port, uint32_t frames,
                         const struct kl_params *params) {
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%c%u", 'a' + (int)i, i);
        struct kl_hello h = hello_make(name, "room", seats, count * seats);
        if (params) {
            uint8_t players = h.params.players;
            h.params = *params;
            h.params.players = players;
        }
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

static void play_through(unsigned count, unsigned seats, uint32_t frames, const struct kl_params *params) {
    const char *const both[] = {"--bind", "::", NULL};
    relay = relay_start(player[0].host ? both : NULL);
    assert_int_not_equal(relay.port, 0);
    open_players(count, seats, relay.port, frames, params);
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
    play_through(2, 1, 10000, NULL);
}
/* By both kinds of addresses, each written in two ways. */
TEST(four_players) {
    static const char *const host[] = {"::1", "127.0.0.1", "both.test", "::ffff:127.0.0.1"};
    for (unsigned i = 0; i < 4; i++)
        player[i].host = host[i];
    play_through(4, 1, 3000, NULL);
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
TEST(eight_players) {
    play_through(8, 1, 2000, NULL);
}
TEST(one_player) {
    play_through(1, 1, 1000, NULL);
}
TEST(two_clients_of_four_seats) {
    play_through(2, 4, 2000, NULL);
}
TEST(no_subframes) {
    struct kl_params p = hello_make("x", "x", 1, 1).params;
    p.subframes = false;
    play_through(3, 1, 2000, &p);
}
TEST(with_a_clock) {
    struct kl_params p = hello_make("x", "x", 1, 1).params;
    p.clocked = true;
    hitch_watch(0);
    uint64_t begin_us = kl_now_us(), still_us = hitch_us();
    play_through(2, 1, 180, &p);
    assert_true(kl_now_us() - begin_us > 2900000);
    assert_in_time(kl_now_us() - begin_us, 6000000, still_us);
}
TEST(fixed_spacing) {
    struct kl_params p = hello_make("x", "x", 1, 1).params;
    p.spacing_fixed = 5;
    play_through(2, 1, 1000, &p);
}

TEST(a_spectator_sees_the_same) {
    relay = relay_start(NULL);
    open_players(2, 1, relay.port, 2000, NULL);
    assert_true(player_joins(&player[0])); /* the room is there */
    struct kl_hello h = hello_make("watch", "room", 0, 2);
    player_open(&player[2], &h, relay.port, 2000);
    assert_true(player_joins(&player[2]));
    expect_lock(3, 2000, 30);
    assert_int_equal(player[2].status.welcome.seats, 0);
    close_players(3);
    program_stop(&relay, SIGTERM);
}

/* A bad link, one megabyte of start data, a room with a clock. */
TEST(over_a_bad_link) {
    static uint8_t start[1000003];
    for (size_t i = 0; i < sizeof start; i++)
        start[i] = (uint8_t)(i * 2654435761U >> 13);
    const char *const bad[] = {"--delay", "25",        "--jitter", "3",      "--loss", "1", "--dup",
                               "1",       "--reorder", "1",        "--seed", "7",      NULL};
    struct kl_params p = hello_make("x", "x", 1, 1).params;
    p.clocked = true;
    relay = relay_start(NULL);
    proxy = proxy_start(relay.port, bad);
    open_players(2, 1, proxy.port, 600, &p);
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
    open_players(3, 1, proxy.port, 1500, NULL);
    expect_lock(3, 1500, 60);
    close_players(3);
    program_stop(&proxy, SIGTERM);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
}

TEST(the_one_who_differs_is_named) {
    relay = relay_start(NULL);
    open_players(3, 1, relay.port, 1200, NULL);
    player[1].wrong_from = 600;
    expect_lock(3, 1200, 30);
    for (int i = 0; i < 200 && !player[0].status.first_bad.complete; i++) {
        kl_link_wait(player[0].link, 10000);
        player_look(&player[0]);
    }
    const struct kl_verdict *bad = &player[0].status.first_bad;
    assert_true(player[0].status.desync && bad->complete);
    assert_int_equal(bad->differs, 1);
    assert_int_equal(bad->minority, 1U << player[1].status.welcome.client);
    assert_in_range(bad->frame, 599, 670);
    assert_true(player[0].status.any_verified);
    assert_in_range(player[0].status.verified, 1, bad->frame - 1);
    assert_true(program_said(&relay, "event=desync"));
    close_players(3);
    program_stop(&relay, SIGTERM);
}

TEST(somebody_leaves) {
    relay = relay_start(NULL);
    open_players(3, 1, relay.port, 2000, NULL);
    assert_true(players_run(player, 3, 500, 20));
    uint32_t left_at = player[2].frames;
    uint64_t *kept = malloc(left_at * sizeof *kept);
    memcpy(kept, player[2].digest, left_at * sizeof *kept);
    player_close(&player[2], 1000);
    assert_true(players_run(player, 2, 2000, 20));
    assert_int_equal(players_differ(player, 2, 2000), -1);
    assert_memory_equal(kept, player[0].digest, left_at * sizeof *kept);
    free(kept);
    assert_true(program_said(&relay, "event=left"));
    close_players(2);
    program_stop(&relay, SIGTERM);
}

/* The seat of who has left goes to who comes then: it has every frame, and plays. */
TEST(a_newcomer_gets_the_seat) {
    struct kl_params p = hello_make("x", "x", 1, 1).params;
    p.clocked = true;
    relay = relay_start(NULL);
    open_players(3, 1, relay.port, 480, &p);
    assert_true(players_run(player, 3, 120, 20));
    player_close(&player[2], 1000);
    assert_true(players_run(player, 2, 180, 20));
    struct kl_hello h = hello_make("new", "room", 1, 3);
    player_open(&player[2], &h, relay.port, 480);
    assert_true(players_run(player, 3, 480, 30));
    assert_int_equal(player[2].status.welcome.seats, 4);
    assert_int_equal(players_differ(player, 3, 480), -1);
    assert_true(player[2].samples > 60); /* they were wanted */
    assert_true(program_said(&relay, "event=caught_up"));
    close_players(3);
    program_stop(&relay, SIGTERM);
}

/* --- refusals and ends --- */

static void expect_end(struct player *p, const char *reason) {
    assert_true(players_reach(p, 1, 0, KL_PARTICIPANT_ENDED, 12));
    if (!strstr(p->status.reason, reason)) print_error("reason: %s\nwanted: %s\n", p->status.reason, reason);
    assert_non_null(strstr(p->status.reason, reason));
}

static void refused(struct kl_hello h, const char *reason) {
    struct player *p = &player[PLAYERS_MAX - 1];
    player_open(p, &h, relay.port, 1);
    expect_end(p, reason);
    player_close(p, 100);
}

TEST(refusals_name_the_reason) {
    const char *const args[] = {"--rooms", "1", "--max-seats", "3", NULL};
    relay = relay_start(args);
    struct kl_hello h = hello_make("ann", "room", 1, 3);
    player_open(&player[0], &h, relay.port, 100);
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_WAITING, 5));

    struct kl_hello other = hello_make("bob", "room", 1, 3);
    snprintf(other.facts.fact[1].value, KL_FACT_VAL_MAX, "xxh3 ffff");
    refused(other, "content differs: room has xxh3 0123456789abcdef (test.nes), you have xxh3 ffff");
    refused(hello_make("bob", "room", 3, 3), "room room is full");
    refused(hello_make("bob", "other", 1, 2), "this relay is full: it has 1 rooms");

    h = hello_make("cat", "room", 2, 3);
    player_open(&player[1], &h, relay.port, 100);
    assert_true(players_reach(player, 2, 1, KL_PARTICIPANT_PLAYING, 5));
    expect_lock(2, 100, 10);
    close_players(2);
    refused(hello_make("dan", "room", 4, 4), "this relay's rooms have 3");
    program_stop(&relay, SIGTERM);
}

/* The door is the host's to shut while seats are being filled, not only once the game is on. */
TEST(the_door_before_the_game) {
    const uint8_t yes = 1, no = 0;
    relay = relay_start(NULL);
    struct kl_hello h = hello_make("ann", "room", 1, 3);
    player_open(&player[0], &h, relay.port, 100);
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_WAITING, 5));
    assert_int_equal(player_order(&player[0], KL_COMMAND_LOCK, &yes, 1), KL_OK);
    assert_int_equal(player_order(&player[0], KL_COMMAND_CHAT, "hi", 2), KL_E_STATE);
    assert_true(program_said(&relay, "event=locked"));
    refused(hello_make("bob", "room", 1, 3), "its host has locked it");
    assert_int_equal(player_order(&player[0], KL_COMMAND_LOCK, &no, 1), KL_OK);
    assert_true(program_said(&relay, "event=unlocked"));
    h = hello_make("cat", "room", 1, 3);
    player_open(&player[1], &h, relay.port, 100);
    assert_true(player_joins(&player[1]));
    const uint8_t cat = player[1].status.welcome.client;
    assert_int_equal(player_order(&player[0], KL_COMMAND_BAN, &cat, 1), KL_OK);
    expect_end(&player[1], "banned by the host ann");
    close_players(2);
    program_stop(&relay, SIGTERM);
}

TEST(system_files_are_compared) {
    relay = relay_start(NULL);
    open_players(2, 1, relay.port, 100, NULL);
    snprintf(player[1].ready.fact[0].value, KL_FACT_VAL_MAX, "neogeo.zip xxh3 1");
    assert_true(players_reach(player, 2, 1, KL_PARTICIPANT_ENDED, 5));
    expect_end(&player[1], "system files differs: room has none, you have neogeo.zip xxh3 1");
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_READY, 5));
    struct kl_hello h =
        hello_make("new", "room", 1, 2); /* the seat is free again, the game can still begin */
    player_close(&player[1], 0);
    player_open(&player[1], &h, relay.port, 100);
    expect_lock(2, 100, 5);
    close_players(2);
    program_stop(&relay, SIGTERM);
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

TEST(the_host_leaves_early) {
    relay = relay_start(NULL);
    struct kl_hello h = hello_make("ann", "room", 1, 3);
    player_open(&player[0], &h, relay.port, 50);
    assert_true(players_reach(player, 1, 0, KL_PARTICIPANT_WAITING, 5));
    assert_true(player[0].status.welcome.host);
    h = hello_make("bob", "room", 1, 3);
    player_open(&player[1], &h, relay.port, 50);
    assert_true(players_reach(&player[1], 1, 0, KL_PARTICIPANT_WAITING, 5));
    assert_false(player[1].status.welcome.host);
    player_close(&player[0], 500);
    for (int i = 0; i < 100 && !player[1].status.welcome.host; i++) {
        kl_link_wait(player[1].link, 20000);
        player_look(&player[1]);
    }
    assert_true(player[1].status.welcome.host);
    h = hello_make("cat", "room", 2, 3);
    player_open(&player[0], &h, relay.port, 50);
    expect_lock(2, 50, 10);
    close_players(2);
    program_stop(&relay, SIGTERM);
}

TEST(a_relay_that_stops_says_so) {
    relay = relay_start(NULL);
    open_players(2, 1, relay.port, 100, NULL);
    expect_lock(2, 100, 10);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
    expect_end(&player[0], "the relay is shutting down");
    expect_end(&player[1], "the relay is shutting down");
    close_players(2);
}

TEST(a_killed_relay_is_noticed) {
    relay = relay_start((const char *const[]){"--seat-time", "6", NULL});
    open_players(2, 1, relay.port, 100, NULL);
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

/* test_fleet.c - relays that share a Redis: a player comes to any of them and gets to the room; Redis goes
 * and comes back; a relay dies, and its match goes on. net/relay/fleet/README.md.
 * It mostly waits, for leases and for Redis, so its parts run at the same time:
 * runs: waiting, all, 70 s: KEYLOCK_TEST='a_relay_*'
 * runs: waiting, test, 60 s: KEYLOCK_TEST='a*' KEYLOCK_SKIP='a_relay_*'
 * runs: waiting, all, 60 s: KEYLOCK_TEST='r*'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/transport/ask.h"
#include "tests/unit/unit.h"
#include "tests/net/net_fleet.h"

#define FRAMES_MAX 20000
#define FPS        240 /* so that a match is soon longer than a slot of its tail */

static struct player player[8];
static const char *const host[RELAYS] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
static const char *first_host = "127.0.0.1"; /* as the first tells the others */

static void begin_redis(uint16_t port) {
    char number[8];
    snprintf(number, sizeof number, "%u", port);
    const char *const args[] = {"--port", number,        "--bind", "127.0.0.1",     "--save", "",
                                "--dir",  relay_state(), "--user", "one",           "on",     ">secret",
                                "~*",     "&*",          "+@all",  "--requirepass", "secret", NULL};
    redis_program = redis_start(args);
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/1", port);
}

/* The first has a user of its own. */
static void begin_relay(unsigned i, const char *shards, const char *rooms, const char *state) {
    char login[128];
    snprintf(login, sizeof login, "%s/login%u", relay_state(), i);
    FILE *f = fopen(login, "w");
    assert_non_null(f);
    fprintf(f, i ? "secret\n" : "one secret\n");
    fclose(f);
    chmod(login, 0600);
    const char *const args[] = {"--bind",    host[i],       "--host",        i ? host[i] : first_host,
                                "--shards",  shards,        "--rooms",       rooms,
                                "--fleet",   url,           "--state",       state,
                                "--control", relay_state(), "--fleet-login", login,
                                NULL};
    relay[i] = relay_start(args);
    assert_true(program_said(&relay[i], "event=fleet_found"));
}

static void begin(const char *shards, const char *rooms) {
    begin_redis(free_port());
    for (unsigned i = 0; i < RELAYS; i++)
        begin_relay(i, shards, rooms, relay_state());
    for (unsigned i = 0; i < RELAYS; i++)
        for (uint64_t end_us = kl_now_us() + 5000000;
             program_lines(&relay[i], "event=fleet_relay ") < RELAYS - 1 && kl_now_us() < end_us;)
            kl_sleep_us(20000);
}

static void end(unsigned players) {
    for (unsigned i = 0; i < players; i++)
        player_close(&player[i], 0);
    for (unsigned i = 0; i < RELAYS; i++)
        if (relay[i].pid) assert_int_equal(program_stop(&relay[i], SIGTERM), 0);
    program_stop(&redis_program, SIGTERM);
}

static void come(unsigned p, unsigned at, const char *room, unsigned players) {
    static const char *const names[] = {"ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal"};
    struct kl_hello hello = hello_make(names[p], room, 1, players);
    hello.params.clocked = true;
    hello.params.fps_uhz = FPS * 1000000;
    player[p] = (struct player){.host = host[at]};
    kl_seat_make(&player[p].seat);
    player_open(&player[p], &hello, relay[at].port, FRAMES_MAX);
}

static bool count_rooms(void *ctx, struct kl_rooms *piece) {
    *(unsigned *)ctx += piece->count;
    return true;
}

static unsigned listed(unsigned at) {
    static struct kl_rooms piece;
    char err[128];
    unsigned rooms = 0;
    int s = kl_ask_open(NULL, host[at], relay[at].port, err, sizeof err);
    assert_true(s >= 0);
    assert_int_equal(kl_ask_rooms(NULL, s, &piece, count_rooms, &rooms), 0);
    kl_socket_close(s);
    return rooms;
}

/* By every relay that runs. */
static void expect_listed(unsigned rooms) {
    for (unsigned i = 0; i < RELAYS; i++) {
        unsigned got = rooms + 1;
        for (uint64_t end_us = kl_now_us() + 8000000; relay[i].pid && kl_now_us() < end_us;) {
            if ((got = listed(i)) == rooms) break;
            players_turn(player, 2, 0.1);
        }
        if (relay[i].pid) assert_int_equal(got, rooms);
    }
}

static void play_on(unsigned first) {
    uint32_t had = player[first].frames;
    assert_true(players_run(&player[first], 2, had + 60, 20));
    assert_int_equal(players_differ(&player[first], 2, had + 60), -1);
}

TEST(a_player_at_any_relay_gets_to_the_room) {
    begin("2", "8");
    come(0, 0, "friends", 2);
    assert_true(player_joins(&player[0]));
    come(1, 1, "friends", 2);
    assert_true(players_run(player, 2, 120, 20));
    assert_int_equal(players_differ(player, 2, 120), -1);
    assert_int_equal(program_lines(&relay[0], "event=joined"), 2);
    assert_int_equal(program_lines(&relay[1], "code=15"), 1);
    expect_listed(1);

    /* Two make one room at the same moment. */
    come(2, 1, "both", 2);
    come(3, 2, "both", 2);
    assert_true(players_run(&player[2], 2, 60, 20));
    assert_int_equal(all_lines("event=room_made"), 2);
    expect_listed(2);

    /* A process that was killed comes back with its seat, at another relay than before. */
    player_look(&player[1]);
    player[4] = (struct player){.host = host[2], .seat = player[1].seat, .fresh = true};
    memcpy(player[4].token, player[1].status.welcome.token, sizeof player[4].token);
    struct kl_hello bob = hello_make("bob", "friends", 1, 2);
    bob.params.clocked = true;
    bob.params.fps_uhz = FPS * 1000000;
    player_open(&player[4], &bob, relay[2].port, FRAMES_MAX);
    assert_true(players_run(&player[4], 1, 120, 20));
    assert_int_equal(program_lines(&relay[0], "event=returned"), 1);
    player_close(&player[4], 0);
    end(4);
}

TEST(a_full_relay_sends_its_rooms_on) {
    begin("1", "1");
    for (unsigned i = 0; i < RELAYS; i++) {
        char room[16];
        snprintf(room, sizeof room, "room%u", i);
        come(i, 0, room, 2);
        assert_true(player_joins(&player[i]));
        players_turn(player, i + 1, 2.2); /* until all know that this one is full */
    }
    assert_int_equal(all_lines("event=room_made"), RELAYS);
    end(RELAYS);
}

TEST(rooms_outlive_redis_and_no_name_a_dead_relay) {
    begin("2", "8");
    come(0, 0, "friends", 2);
    assert_true(player_joins(&player[0]));
    come(1, 0, "friends", 2);
    assert_true(players_run(player, 2, 60, 20));
    expect_listed(1);
    kill(redis_program.pid, SIGSTOP);
    play_on(0); /* for once a frame waits for it */
    for (unsigned i = 0; i < RELAYS; i++)
        assert_true(program_said(&relay[i], "event=fleet_lost"));
    play_on(0);
    kill(redis_program.pid, SIGCONT);
    uint16_t port = redis_program.port;
    players_turn(player, 2, 2.5);
    for (unsigned i = 0; i < RELAYS; i++)
        assert_int_equal(program_lines(&relay[i], "event=fleet_found"), 2);
    program_stop(&redis_program, SIGKILL);
    for (unsigned i = 0; i < RELAYS; i++)
        while (program_lines(&relay[i], "event=fleet_lost") < 2)
            players_turn(player, 2, 0.1);
    play_on(0);
    expect_listed(1); /* by the list of before */
    come(2, 1, "friends", 2);
    for (uint64_t end_us = kl_now_us() + 5000000; !player[2].status.refused && kl_now_us() < end_us;)
        players_turn(player, 3, 0.05);
    assert_int_equal(program_lines(&relay[1], "code=15"), 1); /* it was sent on, and is full there */
    player_close(&player[2], 0);

    begin_redis(port); /* it has forgotten all */
    for (unsigned i = 0; i < RELAYS; i++)
        assert_true(program_said(&relay[i], "event=fleet_found"));
    expect_listed(1);
    play_on(0);

    program_stop(&relay[0], SIGKILL);
    expect_listed(0);
    come(2, 1, "friends", 1);
    assert_true(player_joins(&player[2]));
    expect_listed(1);
    player_close(&player[2], 0);
    end(2);
}

/* --- matches move --- */

static uint64_t gone_us;

/* Two play at the first relay: for longer than a slot of the tail is. */
static void begin_match(void) {
    begin("2", "8");
    come(0, 0, "friends", 2);
    assert_true(player_joins(&player[0]));
    come(1, 1, "friends", 2);
    assert_true(players_run(player, 2, 1300, 60));
    players_turn(player, 2, 1.0);
    gone_us = kl_now_us();
}

/* Once another relay has taken it, with all frames that anybody had. */
static void expect_match(const char *after) {
    while (kl_now_us() < gone_us + 30000000 && !all_lines("event=fleet_room_taken"))
        players_turn(player, 2, 0.02);
    assert_int_equal(all_lines("event=fleet_room_taken"), 1);
    const uint32_t frames = player[0].frames + FPS;
    assert_true(players_run(player, 2, frames, 30));
    print_message("%s: the match has gone on for a second after %u ms\n", after,
                  (unsigned)((kl_now_us() - gone_us) / 1000));
    assert_int_equal(players_differ(player, 2, frames), -1);
}

TEST(a_relay_that_ends_hands_its_match_on) {
    begin_match();
    assert_int_equal(program_stop(&relay[0], SIGTERM), 0);
    expect_match("a relay ends");
    /* It comes back with files that are old by now. */
    begin_relay(0, "2", "8", relay_state());
    expect_match("and comes back");
    expect_listed(1);
    assert_int_equal(all_lines("event=fleet_room_twice"), 0);
    end(2);
}

/* Its operator hands its matches on, and then ends it. */
TEST(a_relay_that_is_drained_hands_its_match_on) {
    begin_match();
    char line[256];
    const char *program = getenv("KEYLOCK_RELAY_BIN");
    snprintf(line, sizeof line, "%s ctl --control %s --port %u drain >/dev/null",
             program ? program : "build/keylock-relay", relay_state(), relay[0].port);
    assert_int_equal(system(line), 0);
    expect_match("a relay is drained");
    come(2, 0, "other", 1);
    assert_true(player_joins(&player[2]));
    assert_int_equal(program_lines(&relay[0], "event=room_made"), 1); /* its own, of before */
    expect_listed(2);
    player_close(&player[2], 0);
    end(2);
}

/* Nobody says good bye; and the relay does not know that it was gone. */
TEST(a_relay_that_stood_still_has_lost_its_match) {
    begin_match();
    signal_all(0, SIGSTOP);
    expect_match("a relay stands still");
    signal_all(0, SIGCONT);
    gone_us = kl_now_us();
    assert_true(program_said(&relay[0], "event=fleet_room_lost"));
    expect_match("and goes on");
    assert_int_equal(all_lines("event=returned"), 2);
    expect_listed(1);
    end(2);
}

static void redis(const char *words) {
    char line[200];
    snprintf(line, sizeof line, "redis-cli --no-auth-warning -a secret -p %u -n 1 %s >/dev/null",
             redis_program.port, words);
    assert_int_equal(system(line), 0);
}

TEST(a_match_outlives_its_relay) {
    begin_match();
    lose_power(0);
    expect_match("a relay loses its power");
    end(2);
}

/* Redis had given the room to the relay to which its players come; the answer, with the copy, was lost. */
TEST(a_copy_that_was_lost_on_its_way_is_fetched_again) {
    char words[100];
    begin_match();
    lose_power(0);
    lose_power(2);
    snprintf(words, sizeof words, "HSET keylock:record:friends owner %s:%u", host[1], relay[1].port);
    redis(words);
    expect_match("an answer of Redis is lost");
    end(2);
}

static uint64_t anew_us; /* Redis has begun anew */

/* A player who returns is sent to the dead relay for as long as its lease, and is then kept: no circles. */
static void expect_no_haste(void) {
    if (kl_now_us() < anew_us + 9000000)
        fail_msg("a room was taken %u ms after Redis began anew", (unsigned)((kl_now_us() - anew_us) / 1000));
    for (unsigned i = 1; i < RELAYS; i++)
        assert_in_range(program_lines(&relay[i], "event=refused"), 0, 24);
}

/* The copy is made anew: then the relay dies. No other one takes its match before all that are alive can be
 * in Redis again. */
TEST(redis_loses_all_and_then_the_relay_dies) {
    begin_match();
    redis("FLUSHALL");
    anew_us = kl_now_us();
    players_turn(player, 2, 2.5);
    gone_us = kl_now_us();
    lose_power(0);
    expect_match("Redis loses all, and a relay its power");
    expect_no_haste();
    end(2);
}

/* Another process, which remembers what the one before wrote down. */
TEST(redis_and_a_relay_die_and_redis_comes_back) {
    char path[128];
    begin_match();
    redis("SAVE");
    const uint16_t port = redis_program.port;
    program_stop(&redis_program, SIGKILL);
    gone_us = kl_now_us();
    lose_power(0);
    players_turn(player, 2, 1.0);
    begin_redis(port);
    anew_us = kl_now_us();
    snprintf(path, sizeof path, "%s/dump.rdb", relay_state());
    assert_int_equal(unlink(path), 0);
    expect_match("Redis and a relay die, and Redis comes back");
    expect_no_haste();
    end(2);
}

/* A relay with another key is none of this fleet: nobody is sent to it, and it takes no room. */
TEST(another_key_is_another_fleet) {
    char other[] = "/tmp/test_fleet.XXXXXX";
    assert_non_null(mkdtemp(other));
    begin_redis(free_port());
    begin_relay(0, "1", "8", relay_state());
    begin_relay(1, "1", "8", other);
    assert_true(program_said(&relay[0], "event=fleet_key"));
    assert_true(program_said(&relay[1], "event=fleet_key"));
    for (unsigned i = 0; i < 2; i++) { /* one name, two rooms */
        come(i, i, "friends", 1);
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_run(player, 2, 600, 20));
    assert_int_equal(all_lines("event=room_made"), 2);
    players_turn(player, 2, 11.0); /* until rooms may be taken */
    expect_listed(1);
    lose_power(0);
    players_turn(player, 2, 5.0);
    assert_int_equal(program_lines(&relay[1], "event=fleet_room_taken"), 0);
    assert_int_equal(all_lines("event=fleet_room_lost"), 0);
    end(2);
    char line[64];
    snprintf(line, sizeof line, "rm -rf %s", other);
    assert_int_equal(system(line), 0);
}

/* The first relay alone does not reach Redis any more, which its players do not notice. Then one of them
 * loses it, and finds another one: nothing is played without him, and all go there. */
TEST(a_relay_without_redis_gives_its_match_up) {
    begin("2", "8");
    static const char *const none[] = {NULL};
    struct program way = proxy_start(relay[0].port, none);
    const uint16_t port = relay[0].port;
    come(0, 0, "friends", 2);
    assert_true(player_joins(&player[0]));
    relay[0].port = way.port;
    come(1, 0, "friends", 2);
    relay[0].port = port;
    assert_true(players_run(player, 2, 300, 60));
    redis("ACL SETUSER one off");
    redis("CLIENT KILL USER one");
    players_turn(player, 2, 4.0);
    assert_true(program_said(&relay[0], "event=fleet_lost"));
    play_on(0);
    program_stop(&way, SIGKILL);
    gone_us = kl_now_us();
    expect_match("a player finds another relay");
    assert_int_equal(program_lines(&relay[0], "event=fleet_sent_on"), 1);
    end(2);
}

/* The first relay reaches Redis, and no player reaches it: its name's address is nobody's, and the ways that
 * they came by are gone. */
TEST(a_relay_that_no_player_reaches_lets_its_match_go) {
    static const char *const none[] = {NULL};
    struct program way[2];
    first_host = "127.0.0.9";
    begin("2", "8");
    const uint16_t port = relay[0].port;
    for (unsigned i = 0; i < 2; i++) {
        way[i] = proxy_start(port, none);
        relay[0].port = way[i].port;
        come(i, 0, "friends", 2);
        relay[0].port = port;
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_run(player, 2, 300, 60));
    for (unsigned i = 0; i < 2; i++)
        program_stop(&way[i], SIGKILL);
    gone_us = kl_now_us();
    expect_match("no player reaches a relay");
    assert_int_equal(program_lines(&relay[0], "event=fleet_room_lost"), 1);
    first_host = host[0];
    end(2);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}

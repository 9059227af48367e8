/* test_two_truths.c - no room of a fleet has two truths: relays in network namespaces of their own are cut
 * off and killed while many play. net/relay/fleet/README.md. FLEET_PAIRS and FLEET_SECONDS: make soak-fleet.
 * instead: `rooms --fleet`, the same in virtual time; `relay/fleet`
 * runs: waiting, all, 55 s */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/platform/clock.h"
#include "tests/net/net_fleet.h"

#define PAIRS_MAX    64
#define FAULT_US     9000000
#define LEASE_FRAMES 240  /* of 3 s, and a second to see it */
#define SECOND_ID    4321 /* the user of each second player's sockets: so their way alone is cut */

static struct program replica;
static struct player crowd[2 * PAIRS_MAX];

static bool shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool shell(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return system(line) == 0;
}

static void remove_networks(void) {
    for (unsigned i = 0; i < RELAYS; i++)
        (void)shell("ip netns del klf%u 2>/dev/null; ip link del klf%u 2>/dev/null", i, i);
    (void)shell("ip addr del 10.77.0.1/32 dev lo 2>/dev/null");
    (void)shell("ip rule del pref 77 2>/dev/null");
}

/* Relay I is at 10.77.I+1.2, and Redis at 10.77.0.1. False: this machine does not let us. */
static bool make_networks(void) {
    remove_networks();
    bool good = geteuid() == 0 && shell("ip addr add 10.77.0.1/32 dev lo 2>/dev/null");
    for (unsigned i = 0; good && i < RELAYS; i++)
        good = shell(
            "ip netns add klf%u 2>/dev/null && ip link add klf%u type veth peer name eth netns klf%u && "
            "ip addr add 10.77.%u.1/24 dev klf%u && ip link set klf%u up && "
            "ip -n klf%u addr add 10.77.%u.2/24 dev eth && ip -n klf%u link set lo up && "
            "ip -n klf%u link set eth up && ip -n klf%u route add default via 10.77.%u.1",
            i, i, i, i + 1, i, i, i, i + 1, i, i, i, i + 1);
    return good;
}

static void begin_relay_apart(unsigned i) {
    const char *was = getenv("KEYLOCK_RELAY_BIN"), *program = was ? was : "build/keylock-relay";
    char wrapper[128], address[16], journal[128], *kept = was ? strdup(was) : NULL;
    snprintf(wrapper, sizeof wrapper, "%s/relay%u", relay_state(), i);
    FILE *f = fopen(wrapper, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nexec ip netns exec klf%u %s \"$@\"\n", i, program);
    fclose(f);
    chmod(wrapper, 0700);
    snprintf(address, sizeof address, "10.77.%u.2", i + 1);
    snprintf(journal, sizeof journal, "%s/journal-apart%u", relay_state(), i);
    const char *const args[] = {"--bind",
                                address,
                                "--host",
                                address,
                                "--port",
                                "55998",
                                "--fleet",
                                url,
                                "--journal",
                                journal,
                                "--control",
                                "off",
                                "--rooms-per-address",
                                "4000",
                                "--per-address",
                                "4000",
                                "--handshakes",
                                "1000000",
                                NULL};
    setenv("KEYLOCK_RELAY_BIN", wrapper, 1);
    relay[i] = relay_start(args);
    if (kept)
        setenv("KEYLOCK_RELAY_BIN", kept, 1);
    else
        unsetenv("KEYLOCK_RELAY_BIN");
    free(kept);
    assert_int_equal(relay[i].port, 55998);
}

static struct program redis_apart(uint16_t port, uint16_t of) {
    char number[8], master[8];
    snprintf(number, sizeof number, "%u", port);
    snprintf(master, sizeof master, "%u", of);
    const char *const args[] = {"--port",
                                number,
                                "--bind",
                                "10.77.0.1",
                                "--save",
                                "",
                                "--dir",
                                relay_state(),
                                "--protected-mode",
                                "no",
                                of ? "--replicaof" : NULL,
                                "10.77.0.1",
                                master,
                                NULL};
    return redis_start(args);
}

/* Redis dies, and its replica takes its place. */
static void promote(uint16_t port) {
    program_stop(&redis_program, SIGKILL);
    assert_true(shell("redis-cli -h 10.77.0.1 -p %u replicaof no one >/dev/null", replica.port));
    assert_true(shell("redis-cli -h 10.77.0.1 -p %u config set port %u >/dev/null", replica.port, port));
    redis_program = replica;
    replica = (struct program){0};
}

static void fault(unsigned kind, unsigned at, unsigned pairs, uint16_t port) {
    static const char *const name[] = {"the network of a relay goes",
                                       "a relay loses its power",
                                       "a relay stands still",
                                       "Redis forgets all",
                                       "Redis stands still",
                                       "a replica is promoted",
                                       "a relay loses Redis, and one player of each of its rooms"};
    print_message("%s (relay %u)\n", name[kind], at);
    if (kind == 0) assert_true(shell("ip link set klf%u down", at));
    if (kind == 1) lose_power(at);
    if (kind == 2) signal_all(at, SIGSTOP);
    if (kind == 3) assert_true(shell("redis-cli -h 10.77.0.1 -p %u flushall >/dev/null", port));
    if (kind == 4) kill(redis_program.pid, SIGSTOP);
    if (kind == 5) promote(port);
    if (kind == 6) {
        assert_true(shell("ip -n klf%u route add blackhole 10.77.0.1/32", at));
        assert_true(shell("ip rule add pref 77 uidrange %d-%d to 10.77.%u.2 unreachable", SECOND_ID,
                          SECOND_ID, at + 1));
        players_turn(crowd, 2 * pairs, FAULT_US / 1e6); /* until its lease is over, and the match elsewhere */
    }
    players_turn(crowd, 2 * pairs, FAULT_US / 2e6);
    if (kind == 0)
        assert_true(shell("ip link set klf%u up && ip -n klf%u route replace default via 10.77.%u.1", at, at,
                          at + 1));
    if (kind == 1) begin_relay_apart(at);
    if (kind == 2) signal_all(at, SIGCONT);
    if (kind == 4) kill(redis_program.pid, SIGCONT);
    if (kind == 6) assert_true(shell("ip rule del pref 77 && ip -n klf%u route del blackhole 10.77.0.1", at));
    players_turn(crowd, 2 * pairs, FAULT_US / 2e6);
}

static unsigned number_of(const char *variable, unsigned otherwise) {
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Each pair has a room of its own; its second player's sockets are of another user. */
static void open_crowd(unsigned pairs, uint32_t frames) {
    for (unsigned i = 0; i < 2 * pairs; i++) {
        char room[16], name[16], place[16];
        snprintf(room, sizeof room, "room%u", i / 2);
        snprintf(name, sizeof name, "p%u", i);
        struct kl_hello hello = hello_make(name, room, 1, 2);
        hello.params.clocked = true;
        hello.params.fps_uhz = 60000000;
        hello.params.policy = KL_POLICY_OPTIMISTIC; /* a missing player holds no frame up */
        hello.params.wait_budget_ms = 100;
        snprintf(place, sizeof place, "10.77.%u.2", i / 2 % RELAYS + 1);
        crowd[i] = (struct player){.host = strdup(place)};
        kl_seat_make(&crowd[i].seat);
        setfsuid(i % 2 ? SECOND_ID : 0);
        player_open(&crowd[i], &hello, 55998, frames);
        setfsuid(0);
        assert_true(player_joins(&crowd[i]));
    }
}

/* The most frames of one player that were played otherwise later, since the call before. */
static unsigned most_unmade(unsigned players) {
    static uint32_t before[2 * PAIRS_MAX];
    unsigned most = 0;
    for (unsigned i = 0; i < players; i++) {
        if (crowd[i].unmade - before[i] > most) most = crowd[i].unmade - before[i];
        before[i] = crowd[i].unmade;
    }
    return most;
}

TEST(never_two_truths) {
    const unsigned pairs = number_of("FLEET_PAIRS", 4), seconds = number_of("FLEET_SECONDS", 0);
    const uint16_t port = free_port();
    if (pairs > PAIRS_MAX || !make_networks()) {
        print_message("skip: expected root and network namespaces, got none\n");
        remove_networks();
        skip();
    }
    redis_program = redis_apart(port, 0);
    replica = redis_apart(free_port(), port);
    snprintf(url, sizeof url, "redis://10.77.0.1:%u/0", port);
    for (unsigned i = 0; i < RELAYS; i++)
        begin_relay_apart(i);
    players_turn(crowd, 0, 3.0);
    open_crowd(pairs, 60 * (seconds + 120));
    assert_true(players_run(crowd, 2 * pairs, 60, 30));
    players_turn(crowd, 2 * pairs, 10.0); /* until rooms may be taken */
    const uint64_t end_us = kl_now_us() + seconds * UINT64_C(1000000);
    unsigned kind = 0, differ = 0, ended = 0, unmade = 0;
    do {
        const unsigned which = seconds ? kind % 7 : 6 * kind; /* two of them, if there is no time */
        fault(which == 5 && !replica.pid ? 0 : which, kind % RELAYS, pairs, port);
        kind++;
        const unsigned now = most_unmade(2 * pairs);
        if (now) print_message("    at most %u frames of one player are played otherwise later\n", now);
        if (now > unmade) unmade = now;
    } while (kl_now_us() < end_us || kind < 2);
    players_turn(crowd, 2 * pairs, 12.0);
    const unsigned last = most_unmade(2 * pairs);
    if (last > unmade) unmade = last;
    for (unsigned i = 0; i < 2 * pairs; i += 2) {
        struct player *p = &crowd[i];
        const uint32_t frames = p[0].frames < p[1].frames ? p[0].frames : p[1].frames;
        const long at = players_differ(p, 2, frames);
        if (at >= 0) print_message("room%u: two truths from frame %ld of %u on\n", i / 2, at, frames);
        differ += at >= 0;
        for (unsigned k = 0; k < 2; k++) {
            player_look(&p[k]);
            const bool over = p[k].status.phase == KL_PARTICIPANT_ENDED;
            if (over)
                print_message("room%u: player %u has ended at frame %u: %s\n", i / 2, k, p[k].frames,
                              p[k].status.reason);
            ended += over;
        }
    }
    print_message("%u rooms, %u faults: %u rooms with two truths, %u players ended, at most %u frames of one "
                  "played otherwise after a fault\n",
                  pairs, kind, differ, ended, unmade);
    const unsigned taken = all_lines("event=fleet_room_taken");
    for (unsigned i = 0; i < 2 * pairs; i++)
        player_close(&crowd[i], 0);
    for (unsigned i = 0; i < RELAYS; i++)
        program_stop(&relay[i], SIGTERM);
    program_stop(&redis_program, SIGTERM);
    if (replica.pid) program_stop(&replica, SIGTERM);
    remove_networks();
    assert_int_equal(differ, 0);
    assert_int_equal(ended, 0);
    assert_in_range(unmade, 0, LEASE_FRAMES); /* those that only a relay had that lost its lease then */
    assert_true(seconds || taken);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}

/* test_shards.c - a relay of several processes on one port: its rooms lie in all of them; one is killed with
 * -9, then the parent; their number changes. net/relay/program/README.md, Shards.
 * instead: `relay/restart`
 * runs: waiting, all, 20 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/socket.h"
#include "net/session/keys.h"
#include "net/transport/ask.h"
#include "tests/net/net_intruder.h"

#define ROOMS      8
#define COUNT      (2 * ROOMS)
#define SHARDS_MAX 4
#define FRAMES_MAX 4000

static struct player player[COUNT];
static struct kl_relay_key key;
static char folder[] = "/tmp/test_shards.XXXXXX";

static const char *room_name(unsigned room) {
    static char name[16];
    snprintf(name, sizeof name, "room%u", room);
    return name;
}

static unsigned shard_of(const char *room, unsigned shards) {
    return kl_bucket(key.exchange.pub, room) % shards;
}

/* A key by which the rooms lie in all of two, and of four processes. */
static void make_key(void) {
    char path[128], err[256];
    unsigned in[2 * SHARDS_MAX];
    snprintf(path, sizeof path, "%s/relay.key", relay_state());
    for (bool all = false; !all;) {
        unlink(path);
        assert_int_equal(kl_keys_open(relay_state(), &key, err, sizeof err), 0);
        memset(in, 0, sizeof in);
        for (unsigned i = 0; i < ROOMS; i++) {
            in[shard_of(room_name(i), 4)]++;
            in[4 + shard_of(room_name(i), 2)]++;
        }
        all = in[0] && in[1] && in[2] && in[3] && in[4] && in[5];
    }
}

static struct program begin_relay(uint16_t port, unsigned shards, const char *per_address) {
    char number[8], count[8];
    snprintf(number, sizeof number, "%u", port);
    snprintf(count, sizeof count, "%u", shards);
    const char *const args[] = {"--port",    number,        "--bind",        "::",        "--journal", folder,
                                "--control", relay_state(), "--per-address", per_address, "--shards",  count,
                                NULL};
    return relay_start(args);
}

static void all_listen(const struct program *relay, unsigned shards) {
    for (unsigned i = 0; i < shards && shards > 1; i++) {
        char text[32];
        snprintf(text, sizeof text, "shard=%u/%u", i, shards);
        assert_true(program_said(relay, text));
    }
}

static void all_go_on(void) {
    uint32_t had[COUNT];
    unsigned late = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        had[i] = player[i].frames;
    for (uint64_t end_us = kl_now_us() + 15000000; late && kl_now_us() < end_us;) {
        players_turn(player, COUNT, 0.02);
        late = 0;
        for (unsigned i = 0; i < COUNT; i++)
            late += player[i].frames < had[i] + 60;
    }
    assert_int_equal(late, 0);
    for (unsigned i = 0; i < COUNT; i += 2) {
        uint32_t a = player[i].frames, b = player[i + 1].frames;
        assert_int_equal(players_differ(&player[i], 2, a < b ? a : b), -1);
    }
}

static bool count_rooms(void *ctx, struct kl_rooms *piece) {
    *(unsigned *)ctx += piece->count;
    return true;
}

/* By whatever process that answers. */
static void expect_list(uint16_t port) {
    static struct kl_rooms piece;
    struct kl_pong pong;
    char err[128];
    unsigned rooms = 0;
    int s = kl_ask_open(NULL, "::1", port, err, sizeof err);
    assert_true(s >= 0);
    for (uint64_t end_us = kl_now_us() + 5000000; rooms != ROOMS && kl_now_us() < end_us;
         players_turn(player, COUNT, 0.1)) {
        rooms = 0;
        assert_int_equal(kl_ask_rooms(NULL, s, &piece, count_rooms, &rooms), 0);
    }
    assert_int_equal(rooms, ROOMS);
    assert_true(kl_ask_ping(NULL, s, &pong) >= 0);
    assert_int_equal(pong.rooms, ROOMS);
    assert_int_equal(pong.clients, COUNT);
    kl_socket_close(s);
}

/* --- keylock-relay ctl, whatever process has the room --- */

static const char *ctl(const struct program *relay, const char *words) {
    static char out[65536];
    const char *program = getenv("KEYLOCK_RELAY_BIN");
    char line[512];
    snprintf(line, sizeof line, "%s ctl --control %s --port %u %s 2>&1",
             program ? program : "build/keylock-relay", relay_state(), relay->port, words);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    out[fread(out, 1, sizeof out - 1, f)] = 0;
    snprintf(out + strlen(out), sizeof out - strlen(out), "status=%d", pclose(f) >> 8);
    return out;
}

static void expect(const struct program *relay, const char *words, const char *text) {
    const char *answer = ctl(relay, words);
    if (!strstr(answer, text)) fail_msg("ctl %s: expected \"%s\", got \"%s\"", words, text, answer);
}

static void control_all(const struct program *relay) {
    char words[64], text[64];
    for (unsigned i = 0; i < ROOMS; i++) {
        snprintf(words, sizeof words, "who %s", room_name(i));
        expect(relay, words, "ok members=2 watchers=0\nstatus=0");
        snprintf(text, sizeof text, "room=\"%s\" state=playing", room_name(i));
        expect(relay, "rooms", text);
    }
    snprintf(text, sizeof text, "\nok rooms=%u members=%u\nstatus=0", ROOMS, COUNT);
    expect(relay, "rooms", text);
    expect(relay, "status", text);
    snprintf(text, sizeof text, "sessions open=%u ", COUNT);
    expect(relay, "status", text);
    snprintf(words, sizeof words, "say %s good   evening", room_name(1));
    expect(relay, words, "ok\nstatus=0");
    expect(relay, "who 'no room'", "error: there is no room \"no room\"\nstatus=1");
}

/* Its rooms come back, and no other client notices. */
static void kill_one(const struct program *relay, unsigned shards, unsigned victim) {
    pid_t pid[SHARDS_MAX + 1];
    unsigned mine = 0;
    assert_int_equal(program_children(relay, pid, SHARDS_MAX + 1), shards);
    unsigned returned = program_lines(relay, "event=returned");
    for (unsigned i = 0; i < ROOMS; i++)
        mine += shard_of(room_name(i), shards) == victim;
    uint64_t from_us = kl_now_us();
    kill(pid[victim], SIGKILL);
    while (kl_now_us() < from_us + 10000000 && program_lines(relay, "event=returned") < returned + 2 * mine)
        players_turn(player, COUNT, 0.02);
    print_message("%u rooms of a killed process: all back after %u ms\n", mine,
                  (unsigned)((kl_now_us() - from_us) / 1000));
    all_go_on();
    assert_int_equal(program_lines(relay, "event=returned"), returned + 2 * mine);
    assert_int_equal(program_lines(relay, "event=shard_ended"), 1);
    assert_int_equal(program_lines(relay, "event=journal_left_alone"), 0);
    assert_int_equal(program_lines(relay, "event=journal_torn"), 0);
    assert_int_equal(program_children(relay, pid, SHARDS_MAX + 1), shards);
    expect_list(relay->port);
}

static void rooms_of_several_processes(void **state) {
    (void)state;
    /* As many from one address as come from it: one too many if those of a dead process counted. */
    struct program relay = begin_relay(0, 4, "8");
    uint16_t port = relay.port;
    all_listen(&relay, 4);
    for (unsigned i = 1; i < COUNT; i += 2)
        player[i].host = "::1";
    assert_true(players_pair(player, COUNT, port, FRAMES_MAX));
    assert_true(players_run(player, COUNT, 100, 30));
    assert_int_equal(program_lines(&relay, "event=refused"), 0); /* each INIT had the right bucket */
    expect_list(port);
    control_all(&relay);
    kill_one(&relay, 4, shard_of(room_name(0), 4));
    control_all(&relay); /* the dead one's socket is another's */
    /* The parent dies, and its processes end, for the next one has the port. Then there are other numbers. */
    static const unsigned next[] = {2, 1, 4};
    for (unsigned i = 0; i < sizeof next / sizeof *next; i++) {
        int how = i == 1 ? SIGTERM : SIGKILL;
        assert_int_equal(program_stop(&relay, how), how == SIGTERM ? 0 : -SIGKILL);
        relay = begin_relay(port, next[i], "8");
        for (uint64_t end_us = kl_now_us() + 10000000;
             kl_now_us() < end_us && program_lines(&relay, "event=returned") < COUNT;)
            players_turn(player, COUNT, 0.1);
        assert_int_equal(program_lines(&relay, "event=journal_loaded"), ROOMS);
        assert_int_equal(program_lines(&relay, "event=returned"), COUNT);
        assert_int_equal(program_lines(&relay, "event=journal_left_alone"), 0);
        all_go_on();
        if (next[i] == 2) kill_one(&relay, 2, 1);
    }
    for (unsigned i = 0; i < COUNT; i++)
        player_close(&player[i], 0);
    expect(&relay, "quit", "ok\nstatus=0"); /* ends all rooms */
    assert_int_equal(program_stop(&relay, 0), 0);
    expect(&relay, "rooms", "status=3");
    struct kl_dir_list left;
    char err[128];
    assert_int_equal(kl_dir_list(&left, folder, "", err, sizeof err), 0);
    for (unsigned i = 0; i < left.count; i++)
        assert_true(left.name[i][0] == '.');
    kl_dir_list_free(&left);
}

/* A handshake into another process than the room's is told so, and makes no room there. */
static void a_wrong_bucket_is_sent_on(void **state) {
    (void)state;
    static struct intruder n;
    struct program relay = begin_relay(0, 4, "64");
    unsigned room = 0;
    all_listen(&relay, 4);
    while (shard_of(room_name(room), 4) == 0) /* the intruder says bucket 0 */
        room++;
    struct kl_hello hello = hello_make("stray", room_name(room), 1, 1);
    intruder_enter(&n, relay.port);
    intruder_hello(&n, &hello);
    for (unsigned i = 0; i < 50 && !n.refusal[0]; i++)
        intruder_serve(&n, 20);
    assert_non_null(strstr(n.refusal, "is with another process of this relay"));
    intruder_leave(&n);
    assert_true(program_said(&relay, "code=14"));
    assert_int_equal(program_lines(&relay, "event=room_made"), 0);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
}

/* Four at most from one address, whatever the processes. */
static void limits_count_in_all_of_them(void **state) {
    (void)state;
    struct program relay = begin_relay(0, 4, "4");
    unsigned in = 0;
    all_listen(&relay, 4);
    for (unsigned i = 0; i < 6; i++) {
        struct kl_hello hello = hello_make("p", room_name(i), 1, 2);
        player[i].host = NULL;
        player_open(&player[i], &hello, relay.port, 10);
        in += player_joins(&player[i]);
    }
    assert_int_equal(in, 4);
    for (unsigned i = 0; i < 6; i++)
        player_close(&player[i], 0);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
}

int main(void) {
    if (sodium_init() < 0 || !mkdtemp(folder)) return 1;
    make_key();
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms_of_several_processes),
                                       cmocka_unit_test(a_wrong_bucket_is_sent_on),
                                       cmocka_unit_test(limits_count_in_all_of_them)};
    cmocka_set_test_filter(getenv("KEYLOCK_TEST"));
    int failed = cmocka_run_group_tests_name("shards", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}

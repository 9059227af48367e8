/* test_restart.c - fifty rooms, and the relay is killed with -9 and started again, with a journal. journal.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "net_player.h"

#define ROOMS      50
#define COUNT      (2 * ROOMS)
#define FRAMES_MAX 6000

static struct player player[COUNT];
static char folder[] = "/tmp/test_restart.XXXXXX";

static struct program begin_relay(uint16_t port) {
    char number[8];
    snprintf(number, sizeof number, "%u", port);
    const char *const args[] = {"--port",
                                number,
                                "--journal",
                                folder,
                                "--per-address",
                                "1000",
                                "--handshakes",
                                "100000",
                                "--rooms-per-address",
                                "1000",
                                NULL};
    return relay_start(args);
}

static void turn_for(double s) {
    uint64_t end_us = kl_now_us() + (uint64_t)(s * 1e6);
    while (kl_now_us() < end_us) {
        for (unsigned i = 0; i < COUNT; i++)
            player_turn(&player[i]);
        poll(NULL, 0, 1);
    }
}

static unsigned lines_with(const struct program *p, const char *what) {
    char line[2000];
    unsigned count = 0;
    FILE *f = fopen(p->log, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, what) != NULL;
    if (f) fclose(f);
    return count;
}

static unsigned files(void) {
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Until each has run 30 frames past what it had; ms. */
static unsigned until_all_go_on(const uint32_t *had, uint64_t from_us, unsigned *late) {
    do {
        turn_for(0.02);
        *late = 0;
        for (unsigned i = 0; i < COUNT; i++)
            *late += player[i].frames < had[i] + 30;
    } while (*late && kl_now_us() < from_us + 15000000);
    return (unsigned)((kl_now_us() - from_us) / 1000);
}

static void fifty_rooms_go_on(void **state) {
    (void)state;
    struct program relay = begin_relay(0);
    uint32_t had[COUNT];
    unsigned late;
    for (unsigned i = 0; i < COUNT; i++) {
        char room[16], name[16];
        snprintf(room, sizeof room, "room%u", i / 2);
        snprintf(name, sizeof name, "p%u", i);
        struct kl_hello h = hello_make(name, room, 1, 2);
        h.params.clocked = true;
        player_open(&player[i], &h, relay.port, FRAMES_MAX);
        assert_true(player_joins(&player[i]));
    }
    assert_true(players_run(player, COUNT, 300, 60));
    assert_int_equal(files(), ROOMS);
    uint16_t port = relay.port;
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    turn_for(1);
    for (unsigned i = 0; i < COUNT; i++)
        had[i] = player[i].frames;
    uint64_t begun_us = kl_now_us();
    relay = begin_relay(port);
    unsigned start_ms = (unsigned)((kl_now_us() - begun_us) / 1000);
    unsigned ms = until_all_go_on(had, begun_us, &late);
    print_message("%u rooms: listening after %u ms, all have run 30 frames more after %u ms\n", ROOMS,
                  start_ms, ms);
    if (late) print_error("%u players do not go on\n", late);
    assert_int_equal(late, 0);
    assert_in_range(ms, 1, 3500); /* 3 s, and the 30 frames */
    assert_int_equal(lines_with(&relay, "event=journal_loaded"), ROOMS);
    assert_int_equal(lines_with(&relay, "event=returned"), COUNT);
    turn_for(2);
    for (unsigned i = 0; i < COUNT; i += 2) {
        uint32_t a = player[i].frames, b = player[i + 1].frames, both = a < b ? a : b;
        assert_true(both > had[i]);
        assert_int_equal(players_differ(&player[i], 2, both), -1);
    }
    for (unsigned i = 0; i < COUNT; i++)
        player_close(&player[i], 0);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
    assert_int_equal(files(), 0); /* SIGTERM ends all rooms */
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(fifty_rooms_go_on)};
    int failed = cmocka_run_group_tests_name("restart", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}

/* test_restart.c - many rooms, and the relay is killed with -9 and started again, with a journal. journal.h.
 *   HOURS=50    so many rooms of an hour each, not 10; at most 1,000
 *   MINUTES=1   so long each of them
 * instead: `relay/restart`, a match over a relay's end
 * runs: waiting, all, 50 s */
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

#include "net/platform/clock.h"
#include "net/relay/durable/journal_private.h"
#include "net/relay/durable/tail.h"
#include "net/session/keys.h"
#include "net/session/seat.h"
#include "net/session/seal.h"
#include "net/transport/link_state.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_intruder.h"
#include "tests/net/net_journal.h"

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
                                "--mib-per-address",
                                "4096",
                                "--rooms",
                                "1000",
                                NULL};
    return relay_start(args);
}

static unsigned files(void) {
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void copy_tickets(const char *name, const uint8_t *at, size_t len, FILE *into) {
    static uint8_t body[KL_TICKET_BODY_MAX];
    char err[256];
    uint8_t id[KL_STORE_ID], key[32];
    struct kl_relay_key relay_key;
    struct kl_tail_cursor slot[2];
    size_t wrong;
    assert_int_equal(kl_keys_open(relay_state(), &relay_key, err, sizeof err), 0);
    assert_int_equal(sodium_hex2bin(id, sizeof id, name, 2 * sizeof id, NULL, NULL, NULL), 0);
    kl_tail_key(relay_key.exchange.secret, id, key);
    unsigned slots = kl_tail_open(slot, key, at, len, &wrong);
    assert_true(slots > 0);
    for (unsigned i = 0; i < slots; i++)
        while (kl_tail_next(&slot[i], &wrong)) {
            if (slot[i].type != KL_TAIL_TICKET) continue;
            int opened = kl_ticket_open(relay_key.exchange.secret, slot[i].body, slot[i].body_len, body);
            assert_true(opened > 0);
            fwrite(body, 1, (size_t)opened, into);
        }
}

/* A file as it is, and behind a tail the tickets in it, opened as the relay would. */
static void read_journal(const char *name, FILE *into) {
    static uint8_t at[1 << 20];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t len = fread(at, 1, sizeof at, f);
    fclose(f);
    assert_true(len < sizeof at); /* all of it */
    fwrite(at, 1, len, into);
    if (strstr(name, "." KL_ENDING_TAIL)) copy_tickets(name, at, len, into);
}

static void expect_no_session_keys(void) {
    char *all;
    size_t len;
    FILE *into = open_memstream(&all, &len);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') read_journal(e->d_name, into);
    closedir(dir);
    fclose(into);
    for (unsigned i = 0; i < COUNT; i++) {
        const struct kl_link *l = player[i].link;
        assert_non_null(memmem(all, len, l->participant.seat.pub,
                               sizeof l->participant.seat.pub)); /* this one has to be there */
        assert_null(memmem(all, len, l->participant.seat.secret, KL_SEAT_SEED));
        assert_null(memmem(all, len, l->sealer.state.key, sizeof l->sealer.state.key));
        assert_null(memmem(all, len, l->opener.state.key, sizeof l->opener.state.key));
    }
    free(all);
}

/* Until each has run 30 frames past what it had; ms. */
static unsigned until_all_go_on(const uint32_t *had, uint64_t from_us, unsigned *late) {
    do {
        players_turn(player, COUNT, 0.02);
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
    assert_true(players_pair(player, COUNT, relay.port, FRAMES_MAX));
    hitch_watch(relay.pid);
    assert_true(players_run(player, COUNT, 300, 60));
    assert_int_equal(files(), 2 * ROOMS);
    uint16_t port = relay.port;
    expect_no_session_keys();
    assert_int_equal(program_stop(&relay, SIGKILL), -SIGKILL);
    players_turn(player, COUNT, 1);
    for (unsigned i = 0; i < COUNT; i++)
        had[i] = player[i].frames;
    uint64_t begun_us = kl_now_us(), still_us = hitch_us();
    relay = begin_relay(port);
    hitch_watch(relay.pid);
    unsigned start_ms = (unsigned)((kl_now_us() - begun_us) / 1000);
    unsigned ms = until_all_go_on(had, begun_us, &late);
    print_message("%u rooms: listening after %u ms, all have run 30 frames more after %u ms\n", ROOMS,
                  start_ms, ms);
    if (late) print_error("%u players do not go on\n", late);
    assert_int_equal(late, 0);
    assert_in_time(ms * UINT64_C(1000), 3500000, still_us); /* 3 s, and the 30 frames */
    assert_int_equal(program_lines(&relay, "event=journal_loaded"), ROOMS);
    assert_int_equal(program_lines(&relay, "event=returned"), COUNT);
    players_turn(player, COUNT, 2);
    for (unsigned i = 0; i < COUNT; i += 2) {
        uint32_t a = player[i].frames, b = player[i + 1].frames, both = a < b ? a : b;
        assert_true(both > had[i]);
        assert_int_equal(players_differ(&player[i], 2, both), -1);
    }
    for (unsigned i = 0; i < COUNT; i++)
        player_close(&player[i], 0);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
    assert_int_equal(files(), 0); /* SIGINT ends all rooms */
}

/* --- rooms of an hour --- */

#define HOURS_MAX 1000

static struct long_game game[HOURS_MAX];

static unsigned from_environment(const char *name, unsigned usual) {
    return getenv(name) ? (unsigned)atoi(getenv(name)) : usual;
}

/* Processor time of a process so far, ms. */
static unsigned worked_ms(long pid) {
    char path[40];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int read = fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    fclose(f);
    assert_int_equal(read, 2);
    return (unsigned)((user + kernel) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

static void make_games(unsigned count) {
    uint64_t from_us = kl_now_us();
    uint32_t frames = from_environment("MINUTES", 60) * 3600 + 3;
    for (unsigned i = 0; i < count; i++) {
        char room[16];
        snprintf(room, sizeof room, "hour%u", i);
        game[i] = (struct long_game){
            .hello = hello_make("", room, 1, 2), .frames = frames, .spacing = 3 + i % 6, .writes = 1};
        game[i].hello.params.clocked = true;
        assert_true(journal_make(&game[i], relay_state(), folder));
    }
    print_message("%u journals made in %.1f s, %.1f MiB each\n", count, (double)(kl_now_us() - from_us) / 1e6,
                  (double)game[0].bytes / 1048576);
}

/* As a link that was there when the relay died: it has every frame. */
static void ask_back(struct intruder *n, const struct long_game *g, unsigned who, uint16_t port) {
    uint8_t bytes[KL_MSG_MAX];
    struct kl_msg m = {.kind = KL_MSG_RETURN, .back.consent = KL_CONSENT_ROOM};
    struct kl_return *b = &m.back;
    intruder_enter(n, port);
    snprintf(b->room, sizeof b->room, "%s", g->hello.room);
    memcpy(b->seat_key, g->seat[who].pub, sizeof b->seat_key);
    kl_seat_sign(&g->seat[who], n->outcome.keys.binding, b->token, b->signature);
    b->have = g->frames;
    b->intervals = g->digest.intervals;
    memcpy(b->digest, g->digest.digest, sizeof b->digest);
    memcpy(b->open, g->open, sizeof b->open);
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    assert_true(len > 0);
    intruder_say(n, bytes, (size_t)len);
}

static void both_come_back(const struct long_game *g, uint16_t port) {
    static struct intruder n[2];
    for (unsigned who = 0; who < 2; who++)
        ask_back(&n[who], g, who, port);
    for (int i = 0; i < 3000 && !(n[0].welcome && n[1].welcome); i++) {
        intruder_serve(&n[0], 1);
        intruder_serve(&n[1], 1);
    }
    for (unsigned who = 0; who < 2; who++) {
        if (!n[who].welcome) print_error("%s, player %u: %s\n", g->hello.room, who, n[who].refusal);
        assert_true(n[who].welcome);
        assert_false(n[who].prepare); /* on from what it has */
        intruder_leave(&n[who]);
    }
}

/* All are taken back within 3 s of the start. */
static void rooms_of_an_hour_go_on(void **state) {
    (void)state;
    unsigned count = from_environment("HOURS", 10);
    char have[40];
    unsigned most_ms = count * 60 > 1500 ? count * 60 : 1500; /* 50 of them: 3 s */
    assert_in_range(count, 1, HOURS_MAX);
    make_games(count);
    assert_int_equal(files(), 2 * count);
    hitch_watch(0);
    uint64_t begun_us = kl_now_us(), still_us = hitch_us();
    struct program relay = begin_relay(0);
    hitch_watch(relay.pid);
    unsigned start_ms = (unsigned)((kl_now_us() - begun_us) / 1000);
    for (unsigned i = 0; i < count; i++)
        both_come_back(&game[i], relay.port);
    unsigned ms = (unsigned)((kl_now_us() - begun_us) / 1000);
    print_message("%u rooms: listening after %u ms, all taken back after %u ms; the relay worked for %u ms\n",
                  count, start_ms, ms, worked_ms(relay.pid));
    assert_int_equal(program_lines(&relay, "event=journal_loaded"), count);
    assert_int_equal(program_lines(&relay, "event=reopened"), count);
    assert_int_equal(program_lines(&relay, "event=returned"), 2 * count);
    snprintf(have, sizeof have, "have=%u fresh=0", game[0].frames);
    assert_int_equal(program_lines(&relay, have), 2 * count);
    assert_in_time(ms * UINT64_C(1000), most_ms * UINT64_C(1000), still_us);
    assert_int_equal(program_stop(&relay, SIGINT), 0);
    assert_int_equal(files(), 0);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(fifty_rooms_go_on),
                                       cmocka_unit_test(rooms_of_an_hour_go_on)};
    cmocka_set_test_filter(getenv("KEYLOCK_TEST"));
    int failed = cmocka_run_group_tests_name("restart", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}

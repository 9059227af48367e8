/* test_hostile.c - hostile clients make a relay hold what it may: it grows by a bounded amount for each, and
 * ends their links in time. Bad datagrams beside a match: `relay/storm`.
 * instead: test_udp_filter, test_lobby_limits; `relay/storm`
 * runs: waiting, all, 55 s */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/net/net_intruder.h"

static struct program relay;

static long resident_kb(pid_t pid) {
    char path[64];
    long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    int got = fscanf(f, "%ld %ld", &pages, &resident);
    fclose(f);
    return got == 2 ? resident * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

/* Of each kind so many, in a relay of their own; it may grow by less than 8 MiB for each. */
#define HOSTILE       8
#define CLIENT_MAX_KB (8 * 1024)

static struct intruder bad[HOSTILE];

static int begin(void **state) {
    (void)state;
    relay = relay_start((const char *const[]){"--handshakes", "1000", "--rooms-per-address", "50",
                                              "--mib-per-address", "1000", "--watchers", "0", NULL});
    struct intruder first; /* so that what any client costs the first time is not theirs */
    intruder_enter(&first, relay.port);
    intruder_leave(&first);
    return 0;
}

static int finish(void **state) {
    (void)state;
    for (unsigned i = 0; i < HOSTILE; i++)
        if (bad[i].host) intruder_leave(&bad[i]);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
    return 0;
}

/* The most that was ever resident. */
static long peak_kb(pid_t pid) {
    char line[128], path[64];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        (void)sscanf(line, "VmHWM: %ld kB", &kb);
    fclose(f);
    return kb;
}

static void weighs(const char *what, unsigned count, long before_kb, long least_kb) {
    long grown_kb = peak_kb(relay.pid) - before_kb;
    print_message("           %s: %.2f MiB each\n", what, (double)grown_kb / 1024 / count);
    assert_in_range(grown_kb, least_kb, count * CLIENT_MAX_KB);
}

static void serve_all(unsigned ms) {
    for (uint64_t end_us = kl_now_us() + ms * UINT64_C(1000); kl_now_us() < end_us;)
        for (unsigned i = 0; i < HOSTILE; i++)
            if (bad[i].host) intruder_serve(&bad[i], 1);
}

static void enter_rooms(const char *name, unsigned players) {
    for (unsigned i = 0; i < HOSTILE; i++) {
        char room[24];
        snprintf(room, sizeof room, "%s %u", name, i);
        struct kl_hello h = hello_make("eve", room, 1, players);
        intruder_enter(&bad[i], relay.port);
        intruder_hello(&bad[i], &h);
        assert_false(bad[i].gone);
    }
}

/* Packets of which only the first piece comes, and small ones behind one that is missing. */
TEST_WITH(pieces_without_end, begin, finish) {
    long before_kb = resident_kb(relay.pid);
    enter_rooms("pieces", 2);
    for (unsigned i = 0; i < HOSTILE; i++)
        for (unsigned channel = 0; channel < KL_ENET_CHANNELS; channel++)
            for (unsigned k = 2; k < 1000; k++) {
                ENetProtocolSendFragment c = {.fragmentCount = htonl(12), .totalLength = htonl(6000)};
                uint8_t command[sizeof c + 1] = {0};
                uint16_t at = (uint16_t)(bad[i].peer->channels[channel].outgoingReliableSequenceNumber + k);
                c.header.command =
                    ENET_PROTOCOL_COMMAND_SEND_FRAGMENT | ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE;
                c.header.channelID = (uint8_t)channel;
                c.header.reliableSequenceNumber = c.startSequenceNumber = htons(at);
                c.dataLength = htons(1);
                memcpy(command, &c, sizeof c);
                intruder_enet(&bad[i], command, sizeof command);
                if (k % 100 == 0) poll(NULL, 0, 5);
            }
    serve_all(300);
    weighs("pieces without end", HOSTILE, before_kb, 8 * 100); /* they did arrive */
}

/* Start data of the largest size, but for its end. */
TEST_WITH(start_data_without_end, begin, finish) {
    enum { TOTAL = 3072 * 1024, PIECE = 1000 };
    long before_kb = resident_kb(relay.pid);
    enter_rooms("start", 1);
    for (unsigned i = 0; i < HOSTILE; i++)
        for (uint32_t at = 0; at + PIECE < TOTAL; at += PIECE) {
            struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.offset = at, .total = TOTAL, .len = PIECE}};
            uint8_t bytes[KL_MSG_MAX];
            memset(m.data.bytes, (int)at, PIECE);
            int len = kl_msg_encode(&m, bytes, sizeof bytes);
            ENetPacket *packet = enet_packet_create(bytes, (size_t)len, ENET_PACKET_FLAG_RELIABLE);
            assert_int_equal(enet_peer_send(bad[i].peer, KL_CHANNEL_BULK, packet), 0);
        }
    for (unsigned k = 0; k < 800 && resident_kb(relay.pid) - before_kb < 8 * 3000; k++)
        serve_all(50);
    weighs("start data without end", HOSTILE, before_kb, 8 * 3000);
}

/* Everything that a room may keep: the largest start data and as much history, then nobody there who reads
 * what is sent. */
TEST_WITH(a_full_room, begin, finish) {
    enum { TOTAL = 3072 * 1024, ROOMS = 2, FRAMES = 400000 };
    static uint8_t start[TOTAL];
    static struct player p[ROOMS];
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < ROOMS; i++) {
        struct kl_hello h = hello_make("eve", i ? "full b" : "full a", 8, 8);
        p[i].start = start;
        kl_seat_make(&p[i].seat);
        player_open(&p[i], &h, relay.port, FRAMES);
        p[i].start = start;
        p[i].start_len = TOTAL;
    }
    uint64_t end_us = kl_now_us() + 100 * UINT64_C(1000000);
    while (program_lines(&relay, "event=history_full") < ROOMS && kl_now_us() < end_us)
        for (unsigned k = 0; k < 4000; k++)
            for (unsigned i = 0; i < ROOMS; i++)
                player_turn(&p[i]);
    print_message("           %u frames\n", p[0].frames);
    assert_int_equal(program_lines(&relay, "event=history_full"), ROOMS);
    weighs("a full room", ROOMS, before_kb, ROOMS * 5500); /* the start data goes when the history is full */
    for (unsigned i = 0; i < ROOMS; i++)
        player_close(&p[i], 0);
}

/* Those who acknowledge nothing, in a room where much is said: little waits for them, nobody is put out for
 * what others make the relay say, and their links are given up in time. */
TEST_WITH(a_client_that_takes_nothing_is_put_out, begin, finish) {
    enum { DEAF = 6 }; /* and the host: the room waits for one more */
    struct intruder host;
    struct kl_hello h = hello_make("mallory", "loud", 1, 8);
    long before_kb = resident_kb(relay.pid);
    intruder_enter(&host, relay.port);
    intruder_hello(&host, &h);
    h = hello_make("eve", "loud", 1, 8);
    for (unsigned i = 0; i < DEAF; i++) {
        intruder_enter(&bad[i], relay.port);
        intruder_hello(&bad[i], &h);
        assert_false(bad[i].gone);
        bad[i].deaf = true;
    }
    for (unsigned i = 0; i < 230; i++) {
        const uint8_t lock[] = {KL_MSG_COMMAND, KL_COMMAND_LOCK, (uint8_t)(i % 2 ? 0 : 1)};
        intruder_say(&host, lock, sizeof lock);
        intruder_serve(&host, 5);
    }
    weighs("who takes nothing", DEAF, before_kb, 1);
    for (unsigned i = 0; i < 30 && program_lines(&relay, "event=cut") < DEAF; i++)
        intruder_serve(&host, 500);
    assert_int_equal(program_lines(&relay, "event=cut"), DEAF);
    assert_int_equal(program_lines(&relay, "event=put_out"), 0);
    assert_false(host.gone);
    intruder_leave(&host);
}

/* Hung up on, he makes up acknowledgements of what he never got, so that ENet would wait for ever. After 10 s
 * the relay does not know him any more. */
TEST_WITH(a_client_that_will_not_go_is_cut_off, begin, finish) {
    const uint8_t wrong[] = {KL_MSG_WELCOME};
    const uint8_t acknowledgement[8] = {ENET_PROTOCOL_COMMAND_ACKNOWLEDGE, 0, 0, 0, 0xff, 0xfe, 0, 0};
    struct intruder *n = &bad[0];
    enter_rooms("stay", 2);
    intruder_say(n, wrong, sizeof wrong);
    n->deaf = true;
    for (unsigned i = 0; i < 125; i++) {
        intruder_enet(n, acknowledgement, sizeof acknowledgement);
        intruder_serve(n, 100);
        if (n->gone) poll(NULL, 0, 100);
    }
    for (unsigned i = 0; i < 50; i++)
        intruder_send(n, -1, KL_SEAL_CTRL, wrong, sizeof wrong);
    poll(NULL, 0, 100);
    kill(relay.pid, SIGTERM);
    assert_true(program_said(&relay, "event=stopped"));
    assert_int_equal(program_lines(&relay, "event=put_out"), 1);
    assert_true(program_lines(&relay, " strange=0 ") == 0); /* of a session that is none any more */
}

/* test_hostile.c - strangers attack a relay and a client while two players play. The game must not notice,
 * the relay must neither fall nor grow, and who breaks the protocol is told so. Random bytes come from a seed
 * that is printed; KEYLOCK_SEED sets it.
 * instead: `relay/hostile`, floods beside a match; `conformance`
 * runs: waiting, all, 60 s */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "tests/lib/rng.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_intruder.h"

#define GAME_FRAMES   20000
#define GROWTH_MAX_KB 24000

static struct program relay;
static struct player player[2];
static struct rng chance;

static uint32_t any(uint32_t below) {
    return rng_below(&chance, below);
}

static void turns(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 2; k++)
            player_turn(&player[k]);
}

static void meanwhile(void) {
    turns(1);
}

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

static int begin(void **state) {
    (void)state;
    const char *seed = getenv("KEYLOCK_SEED");
    chance.state = seed ? strtoull(seed, NULL, 0) : 20241121;
    print_message("           seed %llu\n", (unsigned long long)chance.state);
    relay = relay_start(NULL);
    hitch_watch(relay.pid);
    intruder_meanwhile = meanwhile;
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "ann", "room", 1, 2);
        player_open(&player[i], &h, relay.port, GAME_FRAMES);
        if (!player_joins(&player[i])) return -1;
    }
    return players_reach(player, 2, 1, KL_PARTICIPANT_PLAYING, 5) ? 0 : -1;
}

/* The game goes on to its end, equal on both sides, and the relay ends as it should. */
static int finish(void **state) {
    (void)state;
    assert_true(players_run(player, 2, GAME_FRAMES, 60));
    assert_int_equal(player[0].frames, GAME_FRAMES);
    assert_int_equal(player[1].frames, GAME_FRAMES);
    assert_int_equal(players_differ(player, 2, GAME_FRAMES), -1);
    for (unsigned i = 0; i < 2; i++)
        player_close(&player[i], 500);
    assert_int_equal(program_stop(&relay, SIGTERM), 0);
    return 0;
}

/* --- by raw datagrams --- */

static void random_datagram(uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)any(256);
    if (len == 0) return;
    uint32_t kind = any(5);
    if (kind < 3) bytes[0] = KL_SEAL_MAGIC;
    if (kind == 1 && len > 1) bytes[1] = (uint8_t)(KL_SEAL_CTRL + any(KL_SEAL_PATH));
    if (kind == 2 && len > 1) bytes[1] = (uint8_t)(KL_HS_INIT + any(8));
    if (kind == 3 && len > 1) bytes[0] = 0x8f, bytes[1] = 0xff; /* plain ENet: for nobody yet, as a CONNECT */
}

TEST_WITH(random_datagrams, begin, finish) {
    uint8_t bytes[1500];
    int fd = stranger("127.0.0.2");
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 20000; i++) {
        size_t len = any(sizeof bytes);
        random_datagram(bytes, len);
        throw_at(fd, relay.port, bytes, len);
        if (i % 50 == 0) turns(1);
    }
    close(fd);
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
}

TEST_WITH(oversized_datagrams, begin, finish) {
    static uint8_t bytes[60000];
    int fd = stranger("127.0.0.2");
    const size_t sizes[] = {0, 1, 1201, 4095, 4096, 4097, 5000, 60000};
    for (unsigned i = 0; i < 400; i++) {
        bytes[0] = i & 1 ? KL_SEAL_MAGIC : 0x80;
        throw_at(fd, relay.port, bytes, sizes[i % 8]);
        if (i % 10 == 0) turns(1);
    }
    close(fd);
}

/* A reply to port 0 cannot be sent; an unguarded ENet stops sending to everybody. */
TEST_WITH(from_port_zero, begin, finish) {
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
    if (fd < 0) skip();
    uint8_t udp[8 + 56] = {0};
    struct sockaddr_in in = {.sin_family = AF_INET};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    udp[2] = (uint8_t)(relay.port >> 8);
    udp[3] = (uint8_t)relay.port;
    udp[5] = sizeof udp; /* no checksum */
    udp[8] = 0x8f, udp[9] = 0xff, udp[16] = 0x82, udp[17] = 0xff;
    for (unsigned i = 0; i < 200; i++) {
        (void)!sendto(fd, udp, sizeof udp, 0, (struct sockaddr *)&in, sizeof in);
        turns(1);
    }
    close(fd);
}

/* Handshakes to their end, from one address: it gets its share of sessions, another address still connects.
 */
TEST_WITH(handshake_flood, begin, finish) {
    static struct intruder n[300];
    unsigned in = 0, refused = 0;
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 300; i++) {
        intruder_shake(&n[i], relay.port, "127.0.0.3");
        in += n[i].has_keys;
        refused += n[i].refused;
        intruder_leave(&n[i]);
    }
    print_message("           %u sessions, %u refused\n", in, refused);
    assert_int_equal(in + refused, 300);
    assert_in_range(in, 64, 128);
    struct player late = {0};
    struct kl_hello h = hello_make("late", "another", 1, 2);
    player_open(&late, &h, relay.port, 1);
    assert_true(player_joins(&late));
    player_close(&late, 300);
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
}

/* Random bytes at a client's own port, from elsewhere. */
TEST_WITH(at_a_client, begin, finish) {
    uint8_t bytes[1300];
    const char *at = strstr(program_log(&relay), "address=127.0.0.1:");
    assert_non_null(at);
    uint16_t port = (uint16_t)atoi(at + strlen("address=127.0.0.1:"));
    int fd = stranger("127.0.0.2");
    for (unsigned i = 0; i < 5000; i++) {
        size_t len = any(sizeof bytes);
        random_datagram(bytes, len);
        throw_at(fd, port, bytes, len);
        if (i % 50 == 0) turns(1);
    }
    close(fd);
}

/* --- by a connection that breaks the protocol --- */

static void give(struct intruder *n, const void *bytes, size_t len, uint32_t flags) {
    ENetPacket *packet = enet_packet_create(bytes, len, flags);
    if (enet_peer_send(n->peer, 0, packet) != 0) enet_packet_destroy(packet);
}

/* A packet of a megabyte, in fragments that never end, and unreliable ones: the relay takes none of it. */
TEST_WITH(fragments, begin, finish) {
    static uint8_t big[1 << 20];
    struct intruder n;
    intruder_enter(&n, relay.port);
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 8; i++) {
        give(&n, big, sizeof big, ENET_PACKET_FLAG_RELIABLE);
        give(&n, big, 200000, ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT);
        give(&n, big, 100, 0);
    }
    intruder_serve(&n, 1500);
    assert_true(n.host->totalSentData > 20000); /* he did try */
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
    intruder_leave(&n);
}

/* --- by what the relay is made to hold ---
 *
 * Of each kind so many, in a relay of their own; it may grow by less than 8 MiB for each. */

#define HOSTILE       8
#define CLIENT_MAX_KB (8 * 1024)

static struct intruder bad[HOSTILE];

static int begin_alone(void **state) {
    (void)state;
    relay = relay_start((const char *const[]){"--handshakes", "1000", "--rooms-per-address", "50",
                                              "--mib-per-address", "1000", "--watchers", "0", NULL});
    intruder_meanwhile = NULL;
    struct intruder first; /* so that what any client costs the first time is not theirs */
    intruder_enter(&first, relay.port);
    intruder_leave(&first);
    return 0;
}

static int finish_alone(void **state) {
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
TEST_WITH(pieces_without_end, begin_alone, finish_alone) {
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
TEST_WITH(start_data_without_end, begin_alone, finish_alone) {
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
TEST_WITH(a_full_room, begin_alone, finish_alone) {
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
TEST_WITH(a_client_that_takes_nothing_is_put_out, begin_alone, finish_alone) {
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
TEST_WITH(a_client_that_will_not_go_is_cut_off, begin_alone, finish_alone) {
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

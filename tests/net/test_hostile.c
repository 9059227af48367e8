/* test_hostile.c - strangers attack a relay and a client while two players play. The game must not notice,
 * the relay must neither fall nor grow, and who breaks the protocol is told so. Random bytes come from a seed
 * that is printed; KEYLOCK_SEED sets it. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <enet/enet.h>

#include "net_player.h"

#define GAME_FRAMES   20000
#define GROWTH_MAX_KB 24000

static struct program relay;
static struct player player[2];
static uint64_t chance;

static uint32_t any(uint32_t below) {
    chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(chance >> 33) % below;
}

static void turns(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 2; k++)
            player_turn(&player[k]);
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
    chance = seed ? strtoull(seed, NULL, 0) : 20241121;
    print_message("           seed %llu\n", (unsigned long long)chance);
    relay = relay_start(NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct kl_hello h = hello_make(i ? "bob" : "ann", "room", 1, 2);
        player_open(&player[i], &h, relay.port, GAME_FRAMES);
        if (!player_joins(&player[i])) return -1;
    }
    return players_reach(player, 2, 1, KL_LINK_PLAYING, 5) ? 0 : -1;
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

/* --- by raw datagrams --------------------------------------------------------------------------------------
 */

static int stranger(const char *address) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    inet_pton(AF_INET, address, &in.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    return fd;
}

static void throw(int fd, uint16_t port, const void *bytes, size_t len) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)!sendto(fd, bytes, len, 0, (struct sockaddr *)&in, sizeof in);
}

static void random_datagram(uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)any(256);
    if (len == 0) return;
    uint32_t kind = any(4);
    if (kind == 0) bytes[0] = KL_DATAGRAM_MAGIC;
    if (kind == 1 && len > 1) bytes[0] = 0x8f, bytes[1] = 0xff; /* ENet: for nobody yet, as a CONNECT */
    if (kind == 2 && len > 1) bytes[0] = 0x80, bytes[1] = (uint8_t)any(4); /* ENet: a peer that exists */
}

static void random_datagrams(void **state) {
    (void)state;
    uint8_t bytes[1500];
    int fd = stranger("127.0.0.2");
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 20000; i++) {
        size_t len = any(sizeof bytes);
        random_datagram(bytes, len);
        throw(fd, relay.port, bytes, len);
        if (i % 50 == 0) turns(1);
    }
    close(fd);
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
}

static void oversized_datagrams(void **state) {
    (void)state;
    static uint8_t bytes[60000];
    int fd = stranger("127.0.0.2");
    const size_t sizes[] = {0, 1, 1201, 4095, 4096, 4097, 5000, 60000};
    for (unsigned i = 0; i < 400; i++) {
        bytes[0] = i & 1 ? KL_DATAGRAM_MAGIC : 0x80;
        throw(fd, relay.port, bytes, sizes[i % 8]);
        if (i % 10 == 0) turns(1);
    }
    close(fd);
}

/* A reply to port 0 cannot be sent; an unguarded ENet stops sending to everybody. */
static void from_port_zero(void **state) {
    (void)state;
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

/* Well-made CONNECTs from one address: it gets its share of slots, another address still connects. */
static size_t make_connect(uint8_t *bytes, uint32_t id) {
    ENetProtocolHeader header = {.peerID = htons(0x8fff)};
    ENetProtocolConnect c = {.header = {.command = ENET_PROTOCOL_COMMAND_CONNECT | 0x80, .channelID = 0xff}};
    c.header.reliableSequenceNumber = htons(1);
    c.incomingSessionID = c.outgoingSessionID = 0xff;
    c.mtu = htonl(1200);
    c.windowSize = htonl(65536);
    c.channelCount = htonl(1);
    c.packetThrottleInterval = htonl(5000);
    c.connectID = id;
    memset(bytes, 0, 8);
    memcpy(bytes, &header, 4);
    memcpy(bytes + 8, &c, sizeof c);
    ENetBuffer all = {.data = bytes, .dataLength = 8 + sizeof c};
    uint32_t sum = enet_crc32(&all, 1);
    memcpy(bytes + 4, &sum, 4);
    return all.dataLength;
}

static void connect_flood(void **state) {
    (void)state;
    uint8_t bytes[128];
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 5000; i++) {
        static int fd = -1;
        if (i % 20 == 0) {
            if (fd >= 0) close(fd);
            fd = stranger("127.0.0.3");
        }
        size_t len = make_connect(bytes, any(UINT32_MAX));
        throw(fd, relay.port, bytes, len);
        if (i % 20 == 0) turns(1);
    }
    struct player late;
    struct kl_hello h = hello_make("late", "another", 1, 2);
    player_open(&late, &h, relay.port, 1);
    assert_true(player_joins(&late));
    player_close(&late, 300);
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
}

/* Random bytes at a client's own port, from elsewhere. */
static void at_a_client(void **state) {
    (void)state;
    static char log[1 << 16];
    uint8_t bytes[1300];
    FILE *f = fopen(relay.log, "r");
    assert_non_null(f);
    log[fread(log, 1, sizeof log - 1, f)] = 0;
    fclose(f);
    const char *at = strstr(log, "address=127.0.0.1:");
    assert_non_null(at);
    uint16_t port = (uint16_t)atoi(at + strlen("address=127.0.0.1:"));
    int fd = stranger("127.0.0.2");
    for (unsigned i = 0; i < 5000; i++) {
        size_t len = any(sizeof bytes);
        random_datagram(bytes, len);
        throw(fd, port, bytes, len);
        if (i % 50 == 0) turns(1);
    }
    close(fd);
}

/* --- by a connection that breaks the protocol
 * --------------------------------------------------------------- */

struct intruder {
    ENetHost *host;
    ENetPeer *peer;
    bool connected, gone;
    char refusal[KL_TEXT_MAX];
};

static void intruder_serve(struct intruder *n, unsigned ms) {
    ENetEvent e;
    uint64_t end_us = kl_now_us() + ms * UINT64_C(1000);
    while (!n->gone && kl_now_us() < end_us) {
        turns(1);
        if (enet_host_service(n->host, &e, 1) <= 0) continue;
        if (e.type == ENET_EVENT_TYPE_CONNECT) n->connected = true;
        if (e.type == ENET_EVENT_TYPE_DISCONNECT) n->gone = true;
        if (e.type != ENET_EVENT_TYPE_RECEIVE) continue;
        struct kl_msg m;
        if (kl_msg_decode(&m, e.packet->data, e.packet->dataLength) == KL_OK && m.kind == KL_MSG_REFUSE)
            snprintf(n->refusal, sizeof n->refusal, "%s", m.text.text);
        enet_packet_destroy(e.packet);
    }
}

static struct intruder intruder_enter(void) {
    struct intruder n = {.host = enet_host_create(NULL, 1, 1, 0, 0)};
    ENetAddress relay_address = {.host = htonl(INADDR_LOOPBACK), .port = relay.port};
    n.host->checksum = enet_crc32;
    n.peer = enet_host_connect(n.host, &relay_address, 1, 0);
    for (int i = 0; i < 100 && !n.connected; i++)
        intruder_serve(&n, 5);
    assert_true(n.connected);
    return n;
}

static void intruder_say(struct intruder *n, const void *bytes, size_t len) {
    enet_peer_send(n->peer, 0, enet_packet_create(bytes, len, ENET_PACKET_FLAG_RELIABLE));
}

static void expect_refusal(struct intruder *n, const char *text) {
    intruder_serve(n, 7000);
    if (!strstr(n->refusal, text)) print_error("refusal: %s\nwanted: %s\n", n->refusal, text);
    assert_non_null(strstr(n->refusal, text));
    assert_true(n->gone);
    enet_host_destroy(n->host);
}

static void unknown_version(void **state) {
    (void)state;
    struct intruder n = intruder_enter();
    const uint8_t hello[] = {KL_MSG_HELLO, 99, 0, 1, 2, 3};
    intruder_say(&n, hello, sizeof hello);
    expect_refusal(&n, "this relay speaks protocol 2, you speak 99");
}

static void silence(void **state) {
    (void)state;
    struct intruder n = intruder_enter();
    uint64_t begin_us = kl_now_us();
    expect_refusal(&n, "no HELLO within 5 s");
    assert_in_range(kl_now_us() - begin_us, 4500000, 6500000);
}

static void not_a_hello(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 40; kind++) {
        if (kind == KL_MSG_HELLO) continue;
        struct intruder n = intruder_enter();
        uint8_t bytes[40];
        random_datagram(bytes, sizeof bytes);
        bytes[0] = (uint8_t)kind;
        intruder_say(&n, bytes, 1 + any(sizeof bytes - 1));
        expect_refusal(&n, "a HELLO was expected");
    }
}

static struct intruder intruder_join(const char *room) {
    struct intruder n = intruder_enter();
    struct kl_msg m = {.kind = KL_MSG_HELLO, .hello = hello_make("eve", room, 1, 2)};
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    assert_true(len > 0);
    for (int cut = 1; cut < len; cut += 7) { /* every truncation of a HELLO is refused, elsewhere */
        struct intruder t = intruder_enter();
        intruder_say(&t, bytes, (size_t)cut);
        expect_refusal(&t, "a HELLO was expected");
    }
    intruder_say(&n, bytes, (size_t)len);
    intruder_serve(&n, 50);
    assert_false(n.gone);
    return n;
}

static void a_member_who_breaks_the_protocol(void **state) {
    (void)state;
    const uint8_t wrong[][16] = {
        {KL_MSG_DATA, 0, 0, 0, 0, 4}, {KL_MSG_READY, 0}, {KL_MSG_WELCOME}, {KL_MSG_HASH, 1}, {0}, {255}};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct intruder n = intruder_join("eve's");
        intruder_say(&n, wrong[i], 2 + i);
        expect_refusal(&n, "protocol error");
    }
}

/* A packet of a megabyte, in fragments that never end, and unreliable ones: the relay takes none of it. */
static void fragments(void **state) {
    (void)state;
    static uint8_t big[1 << 20];
    struct intruder n = intruder_enter();
    long before_kb = resident_kb(relay.pid);
    for (unsigned i = 0; i < 8; i++) {
        enet_peer_send(n.peer, 0, enet_packet_create(big, sizeof big, ENET_PACKET_FLAG_RELIABLE));
        enet_peer_send(n.peer, 0, enet_packet_create(big, 200000, ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT));
        enet_peer_send(n.peer, 0, enet_packet_create(big, 100, 0));
    }
    intruder_serve(&n, 1500);
    assert_in_range(resident_kb(relay.pid), 1, before_kb + GROWTH_MAX_KB);
    enet_host_destroy(n.host);
}

int main(void) {
#define ATTACK(f) cmocka_unit_test_setup_teardown(f, begin, finish)
    const struct CMUnitTest tests[] = {
        ATTACK(random_datagrams), ATTACK(oversized_datagrams), ATTACK(from_port_zero),
        ATTACK(connect_flood),    ATTACK(at_a_client),         ATTACK(unknown_version),
        ATTACK(silence),          ATTACK(not_a_hello),         ATTACK(a_member_who_breaks_the_protocol),
        ATTACK(fragments),
    };
    cmocka_set_test_filter(getenv("KEYLOCK_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

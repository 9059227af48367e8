/* That the ENet installed lets itself be sealed whole: two hosts, and between them somebody who sees, keeps,
 * damages and makes up datagrams.
 * runs: waiting, test, 1 s */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/platform/clock.h"
#include "net/transport/enet_feed.h"

#define SESSION 0x12345007U

struct end {
    ENetHost *host;
    struct kl_enet_seal seal;
    struct kl_sealer sealer;
    struct kl_opener opener;
    bool connected, gone;
    unsigned received, dropped, plain;
    uint32_t asked; /* the connect id that a sealer was last asked for */
};

static struct end relay, client;
static ENetPeer *peer;
static int between[2]; /* towards the client, towards the relay */
static bool outage;
static unsigned passed, flip_every, clear_text, empty;
static uint32_t counters[4096]; /* of what the client sent */
static unsigned counted;
static struct sockaddr_in client_at, relay_at;

static struct kl_sealer *sealer_of(void *ctx, uint32_t connect_id) {
    struct end *e = ctx;
    e->asked = connect_id;
    return &e->sealer;
}

static int intercept(ENetHost *host, ENetEvent *event) {
    (void)event;
    struct end *e = ((struct kl_enet_seal *)host->compressor.context)->ctx;
    struct kl_opened o;
    if (kl_open(&e->opener, host->receivedData, host->receivedDataLength, &o) != 0 ||
        o.kind != KL_SEAL_ENET) {
        e->dropped++;
        return 1;
    }
    kl_enet_seal_deliver(host, &o, &host->receivedAddress);
    return 0;
}

static struct sockaddr_in bound(int fd) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t size = sizeof in;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    getsockname(fd, (struct sockaddr *)&in, &size);
    return in;
}

static struct sockaddr_in open_end(struct end *e, const struct kl_session_keys *k, bool is_relay) {
    *e = (struct end){.host = kl_enet_host_create(4)};
    e->seal.ctx = e;
    e->seal.sealer = sealer_of;
    kl_sealer_init(&e->sealer, k, is_relay ? k->down : k->up);
    kl_opener_init(&e->opener, k, is_relay ? k->up : k->down);
    kl_enet_seal_attach(e->host, &e->seal);
    e->host->intercept = intercept;
    return bound(e->host->socket);
}

/* Datagrams from one end to the other. */
static void carry(int from, int to, const struct sockaddr_in *target) {
    uint8_t bytes[2048];
    ssize_t len;
    while ((len = recv(from, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
        passed++;
        if (len == 0) {
            empty++;
            continue;
        }
        if (memmem(bytes, (size_t)len, "readable", 8)) clear_text++;
        if (len < KL_SEAL_OVERHEAD || bytes[0] != 'K' || bytes[1] != KL_SEAL_ENET) clear_text++;
        if (to == between[0]) memcpy(&counters[counted++ % 4096], bytes + 6, 4);
        if (outage) continue;
        if (flip_every && passed % flip_every == 0) bytes[10 + passed % (size_t)(len - 10)] ^= 1;
        (void)!sendto(to, bytes, (size_t)len, 0, (const struct sockaddr *)target, sizeof *target);
    }
}

static void serve(struct end *e) {
    ENetEvent event;
    while (kl_enet_service(e->host, &event)) {
        if (event.type == ENET_EVENT_TYPE_CONNECT) e->connected = true;
        if (event.type == ENET_EVENT_TYPE_DISCONNECT) e->gone = true;
        if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
        assert_memory_equal(event.packet->data, "readable", 8);
        e->received++;
        enet_packet_destroy(event.packet);
    }
}

static void turn(unsigned ms) {
    for (uint64_t end_us = kl_now_us() + ms * UINT64_C(1000); kl_now_us() < end_us; usleep(500)) {
        serve(&client);
        carry(between[1], between[0], &relay_at); /* the client's datagrams to us */
        serve(&relay);
        carry(between[0], between[1], &client_at);
    }
}

/* Until that many have come, or for so long that it will not happen: on a machine that others use, how long
 * it takes says nothing. */
static void turn_until(const unsigned *counter, unsigned count) {
    for (unsigned i = 0; i < 6000 && *counter < count; i++)
        turn(5);
}

static int begin(void **state) {
    (void)state;
    struct kl_session_keys k = {.cipher = KL_CIPHER_CHACHA20, .session = SESSION, .up = {1}, .down = {2}};
    relay_at = open_end(&relay, &k, true);
    client_at = open_end(&client, &k, false);
    outage = false;
    passed = flip_every = clear_text = empty = counted = 0;
    for (int i = 0; i < 2; i++)
        between[i] = socket(AF_INET, SOCK_DGRAM, 0);
    bound(between[0]);
    struct sockaddr_in us = bound(between[1]);
    ENetAddress address = {.host = us.sin_addr.s_addr, .port = ntohs(us.sin_port)};
    peer = kl_enet_seal_connect(client.host, &address, SESSION);
    assert_non_null(peer);
    for (int i = 0; i < 2000 && !(relay.connected && client.connected); i++)
        turn(5);
    assert_true(client.connected && relay.connected);
    assert_int_equal(relay.host->peers[0].connectID, SESSION);
    return 0;
}

static int finish(void **state) {
    (void)state;
    enet_host_destroy(relay.host);
    enet_host_destroy(client.host);
    close(between[0]);
    close(between[1]);
    return 0;
}

static void say(ENetPeer *to, unsigned count, size_t len) {
    static uint8_t bytes[4000] = "readable";
    for (unsigned i = 0; i < count; i++)
        enet_peer_send(to, (uint8_t)(i % KL_ENET_CHANNELS),
                       enet_packet_create(bytes, len, ENET_PACKET_FLAG_RELIABLE));
}

TEST_WITH(both_ways, begin, finish) {
    say(peer, 50, 4000);
    say(&relay.host->peers[0], 50, 1000);
    turn_until(&relay.received, 50);
    turn_until(&client.received, 50);
    assert_int_equal(relay.received, 50);
    assert_int_equal(client.received, 50);
    assert_int_equal(relay.asked, SESSION);
    assert_int_equal(relay.dropped + client.dropped, 0);
    assert_int_equal(clear_text, 0);
}

/* A repetition is a datagram of its own: no counter is used twice. */
TEST_WITH(repetitions_are_sealed_anew, begin, finish) {
    unsigned from = counted;
    outage = true;
    say(peer, 1, 100);
    turn_until(&counted, from + 2);
    assert_in_range(counted - from, 2, 100);
    for (unsigned i = from; i < counted; i++)
        for (unsigned k = from; k < i; k++)
            assert_int_not_equal(counters[i], counters[k]);
    outage = false;
    turn_until(&relay.received, 1);
    assert_int_equal(relay.received, 1);
    assert_int_equal(relay.dropped, 0);
    assert_int_equal(clear_text, 0);
}

TEST_WITH(a_turned_bit_costs_one_datagram, begin, finish) {
    flip_every = 5;
    say(peer, 20, 100);
    turn_until(&relay.dropped, 1);
    say(peer, 20, 3000);
    turn_until(&relay.received, 40);
    assert_true(relay.dropped > 0);
    assert_int_equal(relay.received, 40);
    flip_every = 0;
    turn(50);
    assert_int_equal(relay.received, 40); /* and none of them twice */
}

/* Spoofed by somebody who sees everything but has no key. */
TEST_WITH(plain_enet_is_nothing, begin, finish) {
    uint8_t plain[12] = {0x80, 0, 0, 0, 0, 0, 0, 0, ENET_PROTOCOL_COMMAND_DISCONNECT, 0xff, 0, 9};
    uint32_t id = SESSION;
    memcpy(plain + 4, &id, sizeof id);
    for (unsigned flags = 0; flags < 16; flags++) {
        plain[0] = (uint8_t)(0x80 | flags << 4);
        (void)!sendto(between[0], plain, sizeof plain, 0, (struct sockaddr *)&relay_at, sizeof relay_at);
        (void)!sendto(between[1], plain, sizeof plain, 0, (struct sockaddr *)&client_at, sizeof client_at);
    }
    turn_until(&relay.dropped, 16);
    turn_until(&client.dropped, 16);
    assert_int_equal(relay.dropped, 16);
    assert_int_equal(client.dropped, 16);
    say(peer, 1, 10);
    turn_until(&relay.received, 1);
    assert_int_equal(relay.received, 1);
    assert_false(relay.gone || client.gone);
}

TEST_WITH(a_goodbye_is_sealed_too, begin, finish) {
    unsigned from = passed;
    enet_peer_disconnect_later(peer, KL_ENET_BYE);
    for (int i = 0; i < 2000 && !(relay.gone && client.gone); i++)
        turn(5);
    assert_true(relay.gone && client.gone && passed > from);
    assert_int_equal(clear_text, 0);
}

/* Without keys nothing is said at all. */
TEST_WITH(no_key_no_word, begin, finish) {
    client.sealer.counter = UINT32_MAX; /* used up */
    say(peer, 1, 100);
    unsigned from = passed;
    turn_until(&empty, 1);
    turn(50);
    assert_int_equal(relay.received, 0);
    assert_int_equal(clear_text, 0);
    assert_true(empty > 0 && empty <= passed - from);
}

/* That ENet is set up as enet_common.h says: the traps of the ENet installed that a setting closes.
 * runs: waiting, test, 2 s */
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "net/engine/msg.h"
#include "net/transport/enet_common.h"
#include "net/transport/link.h"

static ENetHost *relay, *client;
static ENetPeer *peer, *theirs;
static unsigned received, gone;
static struct kl_sent sent[KL_ENET_CHANNELS];
static time_t clock_step_s;

/* In place of the C library's, for ENet as well, which reads it: the wall clock, with steps. */
__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
    struct timespec t;
    (void)tz;
    clock_gettime(CLOCK_REALTIME, &t);
    tv->tv_sec = t.tv_sec + clock_step_s;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}

static void serve(ENetHost *host) {
    ENetEvent e;
    while (kl_enet_service(host, &e)) {
        gone += e.type == ENET_EVENT_TYPE_DISCONNECT;
        if (e.type == ENET_EVENT_TYPE_CONNECT && host == relay) theirs = e.peer;
        if (e.type != ENET_EVENT_TYPE_RECEIVE) continue;
        received++;
        enet_packet_destroy(e.packet);
    }
}

static void turns(unsigned count) {
    for (unsigned i = 0; i < count; i++, usleep(500)) {
        serve(client);
        serve(relay);
    }
}

static void until_received(unsigned count) {
    for (unsigned i = 0; i < 200 && received < count && !gone; i++)
        turns(50);
}

static int begin(void **state) {
    (void)state;
    ENetAddress at = {.host = htonl(INADDR_LOOPBACK)};
    clock_step_s = 0;
    received = gone = 0;
    memset(sent, 0, sizeof sent);
    relay = kl_enet_host_create(4);
    client = kl_enet_host_create(1);
    assert_int_equal(enet_socket_bind(relay->socket, &at), 0);
    assert_int_equal(enet_socket_get_address(relay->socket, &at), 0);
    at.host = htonl(INADDR_LOOPBACK);
    peer = enet_host_connect(client, &at, KL_ENET_CHANNELS, 0);
    theirs = NULL;
    for (unsigned i = 0; i < 200 && !(theirs && peer->state == ENET_PEER_STATE_CONNECTED); i++)
        turns(20);
    assert_non_null(theirs);
    kl_enet_peer_setup(peer);
    kl_enet_peer_setup(theirs);
    return 0;
}

static int finish(void **state) {
    (void)state;
    enet_host_destroy(relay);
    enet_host_destroy(client);
    return 0;
}

/* A burst of a full relay: as a process may not be given more than net.core.rmem_max, root's own is asked
 * for. */
TEST_WITH(the_socket_holds_a_burst, begin, finish) {
    const int option[] = {SO_RCVBUF, SO_SNDBUF};
    for (unsigned i = 0; i < 2; i++) {
        int bytes = 0, plain = socket(AF_INET, SOCK_DGRAM, 0), usual = 0, most = KL_SOCKET_BUFFER_BYTES;
        socklen_t size = sizeof bytes;
        getsockopt(plain, SOL_SOCKET, option[i], &usual, &size);
        setsockopt(plain, SOL_SOCKET, option[i], &most, sizeof most);
        getsockopt(plain, SOL_SOCKET, option[i], &most, &size); /* the answer to anybody's question */
        close(plain);
        getsockopt(relay->socket, SOL_SOCKET, option[i], &bytes, &size);
        print_message("           %d bytes, a plain socket %d\n", bytes, usual);
        assert_true(bytes >= most);
        if (geteuid() == 0) assert_true(bytes >= KL_SOCKET_BUFFER_BYTES);
    }
}

TEST_WITH(packets_and_datagrams_are_small, begin, finish) {
    assert_int_equal(relay->maximumPacketSize, KL_MSG_MAX);
    assert_int_equal(relay->maximumWaitingData, KL_ENET_WAITING_BYTES);
    assert_int_equal(theirs->mtu, KL_ENET_MTU);
    assert_int_equal(peer->mtu, KL_ENET_MTU);
    assert_null(relay->compressor.compress);
}

/* ENet reads the wall clock; a step of it, either way, times nobody out. */
TEST_WITH(the_clock_may_step, begin, finish) {
    const time_t steps[] = {3600, -7200, 86400, 0};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_CONTROL, "x", 1), 0);
        serve(client); /* on its way, and not acknowledged */
        clock_step_s = steps[i];
        until_received(i + 1);
        turns(100);
        assert_int_equal(received, i + 1);
        assert_int_equal(gone, 0);
    }
    for (unsigned i = 0; i < 2000 && kl_sent_span(&sent[KL_CHANNEL_CONTROL]); i++)
        turns(1);
    assert_int_equal(kl_sent_span(&sent[KL_CHANNEL_CONTROL]), 0); /* all acknowledged */
}

/* Datagrams too long for ENet's buffer, which make enet_host_service() fail, hide none that come after them.
 */
TEST_WITH(a_datagram_too_long_is_passed_over, begin, finish) {
    static uint8_t bytes[5000];
    struct sockaddr_in in = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons(peer->address.port);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(sendto(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&in, sizeof in), sizeof bytes);
    assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_CONTROL, "x", 1), 0);
    serve(client);
    serve(relay); /* once */
    assert_int_equal(received, 1);
    assert_int_equal(gone, 0);
    close(fd);
}

/* Every packet is reliable, so that the throttle, whatever it has come to by a link that jitters, drops none.
 */
TEST_WITH(the_throttle_drops_nothing, begin, finish) {
    peer->packetThrottle = peer->packetThrottleLimit = 0;
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(kl_enet_send(peer, sent, i % KL_ENET_CHANNELS, "x", 1), 0);
        peer->packetThrottle = 0;
        turns(2);
    }
    until_received(50);
    assert_int_equal(received, 50);
}

/* Packets that wait for a peer that acknowledges nothing are counted, by bytes and by messages. */
TEST_WITH(waiting_packets_are_bounded, begin, finish) {
    static uint8_t big[KL_MSG_MAX];
    struct kl_sent *control = &sent[KL_CHANNEL_CONTROL];
    size_t bytes = 0;
    unsigned count = 0;
    for (; !kl_sent_full(control, sizeof big); count++, bytes += sizeof big)
        assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_CONTROL, big, sizeof big), 0);
    assert_in_range(bytes, KL_CONTROL_UNDER_WAY - sizeof big, KL_CONTROL_UNDER_WAY);
    for (; !kl_sent_full(control, 1); count++)
        assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_CONTROL, "x", 1), 0);
    assert_in_range(count, KL_SENT_MAX, KL_SENT_MAX);
    until_received(count);
    for (unsigned i = 0; i < 2000 && control->bytes; i++)
        turns(1);
    assert_false(kl_sent_full(control, sizeof big)); /* acknowledged */
}

/* Bulk waits while anything of control is on its way, and no more than its measure is on its way at a time.
 */
TEST_WITH(bulk_comes_last, begin, finish) {
    static uint8_t piece[1000];
    size_t bytes = 0;
    unsigned count = 0;
    assert_int_equal(kl_bulk_room(sent), KL_BULK_UNDER_WAY);
    assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_CONTROL, "x", 1), 0);
    assert_int_equal(kl_bulk_room(sent), 0);
    for (unsigned i = 0; i < 2000 && kl_bulk_room(sent) == 0; i++)
        turns(1);
    for (; kl_bulk_room(sent) > 0; bytes += sizeof piece, count++)
        assert_int_equal(kl_enet_send(peer, sent, KL_CHANNEL_BULK, piece, sizeof piece), 0);
    assert_in_range(bytes, KL_BULK_UNDER_WAY, KL_BULK_UNDER_WAY + sizeof piece);
    assert_false(kl_sent_full(&sent[KL_CHANNEL_CONTROL], KL_MSG_MAX)); /* control goes on meanwhile */
    until_received(1 + count);
    for (unsigned i = 0; i < 2000 && sent[KL_CHANNEL_BULK].bytes; i++)
        turns(1);
    assert_int_equal(kl_bulk_room(sent), KL_BULK_UNDER_WAY);
}

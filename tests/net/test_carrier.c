/* A datagram way from the guest's link to the host's relay and back, by sockets of this machine's loop.
 * runs: waiting, test, 1 s */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core_wrapper/netplay/carrier.h"
#include "net/session/seal.h"

static int bound(uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, KL_CARRIER_HOST, &at.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void to_port(int fd, uint16_t port, const uint8_t *bytes, size_t len) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, KL_CARRIER_HOST, &to.sin_addr);
    assert_int_equal(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof to), len);
}

/* The channel between the two, one way, until nothing goes any more. */
static unsigned move(struct kl_carrier *from, struct kl_carrier *to) {
    struct kl_channel_packet p;
    unsigned count = 0;
    kl_carrier_frame(from);
    while (kl_carrier_next(from, &p)) {
        assert_int_equal(kl_carrier_take(to, &p), KL_OK);
        count++;
    }
    return count;
}

static size_t come(int fd, uint8_t *bytes, size_t cap, struct sockaddr_in *from) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    socklen_t len = sizeof *from;
    if (poll(&p, 1, 2000) <= 0) return 0;
    ssize_t got = recvfrom(fd, bytes, cap, 0, (struct sockaddr *)from, &len);
    return got > 0 ? (size_t)got : 0;
}

TEST(there_and_back) {
    uint16_t relay_port, link_port, way_port;
    uint8_t said[200] = {KL_SEAL_MAGIC, KL_SEAL_CTRL}, heard[KL_CARRY_MAX];
    struct sockaddr_in from;
    int relay = bound(&relay_port), link = bound(&link_port);
    struct kl_carrier *guest = kl_carrier_open_guest(&way_port), *host = kl_carrier_open_host(relay_port);
    assert_non_null(guest);
    assert_non_null(host);
    assert_int_equal(move(guest, host), 0);
    to_port(link, way_port, said, sizeof said);
    assert_int_equal(move(guest, host), 1);
    assert_int_equal(come(relay, heard, sizeof heard, &from), sizeof said);
    assert_memory_equal(said, heard, sizeof said);
    said[1] = KL_SEAL_UPDATE;
    to_port(relay, ntohs(from.sin_port), said, 100); /* the guest's address there */
    assert_int_equal(move(host, guest), 1);
    assert_int_equal(come(link, heard, sizeof heard, &from), 100);
    assert_memory_equal(said, heard, 100);
    assert_int_equal(ntohs(from.sin_port), way_port);
    uint64_t in, out, dropped;
    kl_carrier_count(guest, &in, &out, &dropped);
    assert_int_equal(in, 1);
    assert_int_equal(out, 1);
    assert_int_equal(dropped, 0);
    kl_carrier_close(guest);
    kl_carrier_close(host);
    close(relay);
    close(link);
}

/* Packets from before the link has spoken have nowhere to go; a relay that is gone hears nothing; a new
 * channel counts from 0. */
TEST(nobody_there) {
    uint16_t relay_port, way_port;
    uint8_t said[60] = {KL_SEAL_MAGIC, KL_SEAL_CTRL};
    int relay = bound(&relay_port), link = bound(&(uint16_t){0});
    struct kl_carrier *guest = kl_carrier_open_guest(&way_port), *host = kl_carrier_open_host(relay_port);
    struct kl_channel_packet p = {.kind = KL_CHANNEL_CARRY, .len = 60};
    assert_int_equal(kl_carrier_take(guest, &p), KL_OK);
    kl_carrier_again(guest);
    close(relay);
    for (unsigned i = 0; i < 5; i++) {
        to_port(link, way_port, said, sizeof said);
        (void)move(guest, host);
        (void)move(host, guest);
    }
    kl_carrier_again(guest);
    kl_carrier_again(host);
    to_port(link, way_port, said, sizeof said);
    assert_int_equal(move(guest, host), 1);
    p = (struct kl_channel_packet){.kind = KL_CHANNEL_CARRY, .taken = 1000};
    assert_int_equal(kl_carrier_take(guest, &p), KL_E_MALFORMED);
    kl_carrier_close(guest);
    kl_carrier_close(host);
    kl_carrier_close(NULL);
    close(link);
}

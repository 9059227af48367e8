/* Datagrams before ENet: the judgements that tests/conformance/session.py does not hold against §8 of
 * PROTOCOL.md, which are of a client's side, of sequence numbers, and of every truncation. */
#include "tests/unit/unit.h"

#include "net/transport/enet_common.h"

enum { CONNECT = 2, VERIFY = 3, RELIABLE = 6, FRAGMENT = 8 };

static uint8_t bytes[5000];
static size_t len;

/* An ENet header for this peer: flags with a sent time, and a checksum. */
static void header(uint16_t peer) {
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (uint8_t)(0x80 | peer >> 8);
    bytes[1] = (uint8_t)peer;
    len = 8;
}
static void u16(unsigned v) {
    bytes[len++] = (uint8_t)(v >> 8);
    bytes[len++] = (uint8_t)v;
}
static void command(unsigned kind, unsigned channel, unsigned sequence) {
    u16((kind | 0x80) << 8 | channel);
    u16(sequence);
}
static void reliable(unsigned sequence, unsigned size) {
    command(RELIABLE, 0, sequence);
    u16(size);
    len += size;
}
/* Of two channels, and no bandwidth. */
static void connect_command(void) {
    command(CONNECT, 255, 1);
    bytes[len + 15] = 2;
    len += 44;
}

static bool passes(enum kl_udp_side side) {
    return kl_udp_judge(side, bytes, len, NULL).pass;
}

TEST(only_a_relay_is_connected_to_and_only_first) {
    header(0xfff);
    connect_command();
    assert_true(passes(KL_UDP_RELAY));
    assert_false(passes(KL_UDP_CLIENT));
    header(0xfff); /* nobody yet, and already data */
    reliable(1, 5);
    assert_false(passes(KL_UDP_RELAY));
    header(3); /* a peer that connects again */
    connect_command();
    assert_false(passes(KL_UDP_RELAY));
    header(3);
    command(VERIFY, 255, 1);
    len += 40;
    assert_true(passes(KL_UDP_CLIENT));
    assert_false(passes(KL_UDP_RELAY));
}

TEST(every_truncation_is_dropped) {
    header(3);
    reliable(1, 60);
    command(FRAGMENT, 0, 7);
    u16(7);
    u16(10);
    bytes[len + 3] = 2;   /* pieces */
    bytes[len + 11] = 20; /* bytes of all */
    len += 16 + 10;
    assert_true(passes(KL_UDP_CLIENT));
    size_t whole = len, first = 8 + 6 + 60;
    for (len = 0; len < whole; len++)
        if (len != first) assert_false(passes(KL_UDP_RELAY));
}

TEST(distance_is_measured) {
    header(3);
    reliable(65535, 5);
    reliable(4, 5);
    const uint16_t wraps[2] = {65530, 0}, passed[2] = {100, 0};
    assert_int_equal(kl_udp_judge(KL_UDP_RELAY, bytes, len, wraps).ahead, 10);
    assert_int_equal(kl_udp_judge(KL_UDP_RELAY, bytes, len, passed).ahead, 0); /* behind: repetitions */
}

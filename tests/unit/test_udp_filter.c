#include <stdlib.h>

#include "tests/unit/unit.h"

#include "net/engine/msg.h"
#include "net/transport/enet_common.h"

enum {
    ACK = 1,
    CONNECT,
    VERIFY,
    DISCONNECT,
    PING,
    RELIABLE,
    UNRELIABLE,
    FRAGMENT,
    UNSEQUENCED,
    BANDWIDTH,
    THROTTLE
};

static uint8_t bytes[5000];
static size_t len;

/* An ENet header for this peer: flags with a sent time, and a checksum. */
static void header(uint16_t peer) {
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (uint8_t)(0x80 | peer >> 8);
    bytes[1] = (uint8_t)peer;
    len = 8;
}
static void u8(unsigned v) {
    bytes[len++] = (uint8_t)v;
}
static void u16(unsigned v) {
    u8(v >> 8);
    u8(v & 255);
}
static void u32(uint32_t v) {
    u16(v >> 16);
    u16(v & 65535);
}
static void command(unsigned kind, unsigned channel, unsigned sequence) {
    u8(kind | 0x80);
    u8(channel);
    u16(sequence);
}
static void reliable(unsigned sequence, unsigned size) {
    command(RELIABLE, 0, sequence);
    u16(size);
    len += size;
}
static void connect_command(uint32_t channels, uint32_t bandwidth) {
    command(CONNECT, 255, 1);
    u16(0);
    u16(0xffff);
    u32(1200);
    u32(65536);
    u32(channels);
    u32(bandwidth);
    len += 6 * 4;
}
static void fragment(uint32_t count, uint32_t total) {
    command(FRAGMENT, 0, 7);
    u16(7);
    u16(10);
    u32(count);
    u32(0);
    u32(total);
    u32(0);
    len += 10;
}

static bool passes(enum kl_udp_side side) {
    return kl_udp_judge(side, bytes, len, NULL).pass;
}

TEST(datagrams_of_keylock_pass) {
    header(3);
    reliable(1, 100);
    reliable(2, 1);
    command(PING, 255, 3);
    command(ACK, 0, 3);
    u32(0);
    command(DISCONNECT, 255, 3);
    u32(0);
    assert_true(passes(KL_UDP_RELAY));
    assert_true(passes(KL_UDP_CLIENT));
    header(3);
    fragment(6, 6000);
    assert_true(passes(KL_UDP_RELAY));
}

TEST(only_a_relay_is_connected_to) {
    header(0xfff);
    connect_command(2, 0);
    assert_true(passes(KL_UDP_RELAY));
    assert_false(passes(KL_UDP_CLIENT));
    header(0xfff);
    connect_command(3, 0);
    assert_false(passes(KL_UDP_RELAY));
    header(0xfff);
    connect_command(2, 9600);
    assert_false(passes(KL_UDP_RELAY));
    header(0xfff); /* nobody yet, and already data */
    reliable(1, 5);
    assert_false(passes(KL_UDP_RELAY));
    header(0xfff); /* ENet would take the first, and the last one's connect id is what is looked at */
    connect_command(2, 0);
    connect_command(2, 0);
    assert_false(passes(KL_UDP_RELAY));
    header(0xfff);
    connect_command(2, 0);
    command(PING, 255, 2);
    assert_false(passes(KL_UDP_RELAY));
    header(3); /* a peer that connects again */
    connect_command(2, 0);
    assert_false(passes(KL_UDP_RELAY));
}

TEST(other_datagrams_are_dropped) {
    const unsigned kinds[] = {0, UNRELIABLE, UNSEQUENCED, THROTTLE, 12, 13, 15};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        header(3);
        command(kinds[i], 0, 1);
        len += 40;
        assert_false(passes(KL_UDP_RELAY));
        assert_false(passes(KL_UDP_CLIENT));
    }
    for (unsigned i = 0; i < 4; i++) { /* a stock ENet says that it has no limits */
        header(3);
        command(BANDWIDTH, 255, 1);
        u32(i & 1 ? 9600 : 0);
        u32(i & 2 ? 9600 : 0);
        assert_int_equal(passes(KL_UDP_RELAY), i == 0);
        assert_int_equal(passes(KL_UDP_CLIENT), i == 0);
    }
    header(3);
    bytes[0] |= 0x40; /* compressed */
    reliable(1, 10);
    assert_false(passes(KL_UDP_RELAY));
}

TEST(fragments_are_bounded) {
    header(3);
    fragment(12, 6000);
    assert_true(passes(KL_UDP_RELAY));
    header(3);
    fragment(13, 6000);
    assert_false(passes(KL_UDP_RELAY));
    header(3);
    fragment(2, KL_MSG_MAX + 1);
    assert_false(passes(KL_UDP_RELAY));
}

TEST(no_more_commands_than_enet_sends) {
    header(3);
    for (unsigned i = 0; i < 32; i++)
        command(PING, 255, i);
    assert_true(passes(KL_UDP_RELAY));
    command(PING, 255, 32);
    assert_false(passes(KL_UDP_RELAY));
}

TEST(every_truncation_is_dropped) {
    header(3);
    reliable(1, 60);
    fragment(2, 20);
    size_t whole = len, first = 8 + 6 + 60;
    for (len = 0; len < whole; len++)
        if (len != first) assert_false(passes(KL_UDP_RELAY));
}

TEST(length_is_bounded) {
    header(3);
    reliable(1, 1174 - 8 - 6);
    assert_true(passes(KL_UDP_RELAY));
    header(3);
    reliable(1, 1174 - 8 - 5);
    assert_false(passes(KL_UDP_RELAY));
    header(3);
    reliable(1, 0);
    assert_false(passes(KL_UDP_RELAY));
}

TEST(distance_is_measured) {
    header(3);
    reliable(65535, 5);
    reliable(4, 5);
    const uint16_t wraps[2] = {65530, 0}, passed[2] = {100, 0};
    assert_int_equal(kl_udp_judge(KL_UDP_RELAY, bytes, len, wraps).ahead, 10);
    assert_int_equal(kl_udp_judge(KL_UDP_RELAY, bytes, len, passed).ahead, 0); /* behind: repetitions */
}

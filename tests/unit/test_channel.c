/* Packets of RetroArch's packet channel: nothing but whole packets of this version. PROTOCOL.md §11. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/netplay/channel.h"
#include "tests/lib/rng.h"

#define FP "wgythom7kfxgzawo3kes55npkd5ewttr"

static struct kl_channel_packet a_ticket(void) {
    struct kl_channel_packet p = {.kind = KL_CHANNEL_TICKET, .url.port = 55435};
    strcpy(p.url.host, "relay.example.org");
    strcpy(p.url.room, "np-abcdefgh");
    strcpy(p.url.fingerprint, FP);
    return p;
}

static struct kl_channel_packet a_packet(uint8_t kind) {
    struct kl_channel_packet p = {.kind = kind};
    if (kind == KL_CHANNEL_GREET) p.version = KL_CHANNEL_VERSION, p.protocol = KL_PROTOCOL_VERSION;
    if (kind == KL_CHANNEL_TICKET) p = a_ticket();
    if (kind == KL_CHANNEL_OUTCOME) p.outcome = KL_CHANNEL_FAILED;
    if (kind == KL_CHANNEL_REFUSE) strcpy(p.text, "the room is full");
    if (kind == KL_CHANNEL_CARRY) p.taken = 0x01020304;
    return p;
}

static int take(const uint8_t *bytes, size_t len) {
    struct kl_channel_packet p;
    uint8_t *own = malloc(len ? len : 1); /* so that a byte read past the end is seen */
    memcpy(own, bytes, len);
    int result = kl_channel_decode(&p, own, len);
    free(own);
    return result;
}

TEST(there_and_back) {
    for (uint8_t kind = KL_CHANNEL_GREET; kind <= KL_CHANNEL_BEAT; kind++) {
        uint8_t bytes[KL_CHANNEL_MAX];
        struct kl_channel_packet is = a_packet(kind), back;
        int len = kl_channel_encode(&is, bytes, sizeof bytes);
        assert_true(len > 0);
        assert_int_equal(kl_channel_decode(&back, bytes, (size_t)len), KL_OK);
        assert_memory_equal(&is, &back, sizeof is);
    }
}

TEST(an_unknown_kind_is_not_written) {
    uint8_t bytes[KL_CHANNEL_MAX];
    const uint8_t none[] = {0, KL_CHANNEL_CARRY + 1, 255};
    for (unsigned i = 0; i < sizeof none; i++)
        assert_int_equal(kl_channel_encode(&(struct kl_channel_packet){.kind = none[i]}, bytes, sizeof bytes),
                         KL_E_MALFORMED);
}

TEST(cut_and_long_packets) {
    for (uint8_t kind = KL_CHANNEL_GREET; kind <= KL_CHANNEL_BEAT; kind++) {
        uint8_t bytes[KL_CHANNEL_MAX + 1] = {0};
        struct kl_channel_packet is = a_packet(kind);
        int len = kl_channel_encode(&is, bytes, sizeof bytes);
        for (int n = 0; n < len; n++)
            assert_int_equal(take(bytes, (size_t)n), KL_E_MALFORMED);
        assert_int_equal(take(bytes, (size_t)len + 1), KL_E_MALFORMED);
        assert_int_equal(take(bytes, sizeof bytes), KL_E_MALFORMED);
        for (size_t room = 0; room < (size_t)len; room++)
            assert_int_equal(kl_channel_encode(&is, bytes, room), KL_E_SPACE);
    }
}

TEST(another_version_is_told_apart) {
    uint8_t bytes[64];
    struct kl_channel_packet is = a_packet(KL_CHANNEL_GREET), back;
    int len = kl_channel_encode(&is, bytes, sizeof bytes);
    bytes[5] = 3; /* whatever comes behind it */
    assert_int_equal(kl_channel_decode(&back, bytes, (size_t)len), KL_E_VERSION);
    assert_int_equal(back.version, 3);
    assert_int_equal(kl_channel_decode(&back, bytes, 7), KL_E_VERSION);
    assert_int_equal(kl_channel_decode(&back, bytes, (size_t)len + 20), KL_E_VERSION);
    bytes[1] = 'X';
    assert_int_equal(kl_channel_decode(&back, bytes, (size_t)len), KL_E_MALFORMED);
}

TEST(tickets_name_all) {
    static const char *const bad[] = {
        "keylock://relay.example.org/room#" FP,   /* no port */
        "keylock://relay.example.org:55435/room", /* no fingerprint */
        "keylock://relay.example.org:0/room#" FP, /* a port that is none */
        "keylock://:55435/room#" FP,              /* no host */
        "keylock://-x:55435/room#" FP,            /* a host that is an option */
        "keylock://relay.example.org:55435/#" FP, /* no room */
        "https://relay.example.org:55435/r#" FP,  /* something else */
        "keylock://relay.example.org:55435/r#" FP " -v",
    };
    uint8_t bytes[KL_CHANNEL_MAX] = {KL_CHANNEL_TICKET, 0};
    for (size_t i = 0; i < COUNT(bad); i++) {
        memcpy(bytes + 2, bad[i], strlen(bad[i]));
        if (take(bytes, 2 + strlen(bad[i])) != KL_E_MALFORMED) fail_msg("%s", bad[i]);
    }
    struct kl_channel_packet is = a_ticket();
    int len = kl_channel_encode(&is, bytes, sizeof bytes);
    bytes[1] = 2; /* neither the host's own nor another */
    assert_int_equal(take(bytes, (size_t)len), KL_E_MALFORMED);
    bytes[1] = 1;
    assert_int_equal(take(bytes, (size_t)len), KL_OK);
    bytes[len - 3] = 0; /* a NUL within */
    assert_int_equal(take(bytes, (size_t)len), KL_E_MALFORMED);
    strcpy(is.url.host, "2001:db8::1");
    len = kl_channel_encode(&is, bytes, sizeof bytes);
    assert_int_equal(take(bytes, (size_t)len), KL_OK);
    strcpy(is.url.host, "2001:db8::g");
    assert_int_equal(kl_channel_encode(&is, bytes, sizeof bytes), KL_E_SPACE);
}

/* A datagram is whatever it is, up to the longest; none at all is one as well. */
TEST(a_datagram) {
    static const uint16_t lengths[] = {0, 1, 26, 1226, KL_CARRY_MAX};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        uint8_t bytes[KL_CHANNEL_MAX];
        struct kl_channel_packet is = {.kind = KL_CHANNEL_CARRY, .taken = 0xfffffffe, .len = lengths[i]},
                                 back;
        memset(is.datagram, 0x4b, is.len);
        int len = kl_channel_encode(&is, bytes, sizeof bytes);
        assert_int_equal(len, 5 + lengths[i]);
        assert_int_equal(kl_channel_decode(&back, bytes, (size_t)len), KL_OK);
        assert_memory_equal(&is, &back, sizeof is);
    }
    uint8_t long_one[6 + KL_CARRY_MAX] = {KL_CHANNEL_CARRY};
    assert_int_equal(take(long_one, sizeof long_one), KL_E_MALFORMED);
    assert_int_equal(take(long_one, sizeof long_one - 1), KL_OK);
    for (size_t n = 1; n < 5; n++)
        assert_int_equal(take(long_one, n), KL_E_MALFORMED);
}

TEST(garbage) {
    struct rng rng = {20};
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t bytes[96];
        size_t len = rng_below(&rng, sizeof bytes);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)rng_next(&rng);
        if (len) bytes[0] = (uint8_t)rng_below(&rng, 8);
        int result = take(bytes, len);
        assert_true(result == KL_OK || result == KL_E_MALFORMED || result == KL_E_VERSION);
        if (result == KL_OK && bytes[0] == KL_CHANNEL_TICKET) fail_msg("a ticket out of chance, seed 20");
    }
    assert_int_equal(take((const uint8_t *)"\x05", 1), KL_OK);
    assert_int_equal(take((const uint8_t *)"\x07", 1), KL_E_MALFORMED);
    assert_int_equal(take((const uint8_t *)"\x03\x02", 2), KL_E_MALFORMED);
    assert_int_equal(take((const uint8_t *)"\x04\x02\x1b[", 4), KL_E_MALFORMED);
}

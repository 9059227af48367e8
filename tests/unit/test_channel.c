/* The packet channel of RetroArch: whole packets of this version and nothing else; and datagrams over it: the
 * order, the dropped ones, the most that is under way. PROTOCOL.md §11. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/netplay/channel.h"
#include "net/session/seal.h"
#include "tests/lib/rng.h"

static int take(const uint8_t *bytes, size_t len) {
    struct kl_channel_packet p;
    uint8_t *own = malloc(len ? len : 1); /* so that a byte read past the end is seen */
    memcpy(own, bytes, len);
    int result = kl_channel_decode(&p, own, len);
    free(own);
    return result;
}

TEST(an_unknown_kind_is_not_written) {
    uint8_t bytes[KL_CHANNEL_MAX];
    const uint8_t none[] = {0, KL_CHANNEL_CARRY + 1, 255};
    for (unsigned i = 0; i < sizeof none; i++)
        assert_int_equal(kl_channel_encode(&(struct kl_channel_packet){.kind = none[i]}, bytes, sizeof bytes),
                         KL_E_MALFORMED);
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

/* Any bytes at all: fuzz_channel. */
TEST(values_that_no_packet_has) {
    assert_int_equal(take((const uint8_t *)"\x05", 1), KL_OK);
    assert_int_equal(take((const uint8_t *)"\x07", 1), KL_E_MALFORMED);
    assert_int_equal(take((const uint8_t *)"\x03\x02", 2), KL_E_MALFORMED);
    assert_int_equal(take((const uint8_t *)"\x04\x02\x1b[", 4), KL_E_MALFORMED);
}

static struct kl_carry a, b;

static int begin(void **state) {
    (void)state;
    kl_carry_init(&a);
    kl_carry_init(&b);
    return 0;
}

/* A datagram of that kind with a number in it. */
static void put(struct kl_carry *c, uint8_t kind, unsigned number, size_t len) {
    uint8_t bytes[KL_CARRY_MAX] = {KL_SEAL_MAGIC, kind, (uint8_t)number, (uint8_t)(number >> 8)};
    kl_carry_put(c, bytes, len);
}
static unsigned number_of(const struct kl_channel_packet *p) {
    return p->datagram[2] | (unsigned)p->datagram[3] << 8;
}

TEST_WITH(inputs_go_first_and_in_order, begin, NULL) {
    struct kl_channel_packet p;
    put(&a, KL_SEAL_ENET, 1, 500);
    put(&a, KL_SEAL_CTRL, 2, 60);
    put(&a, 0x10, 3, 256); /* a handshake's */
    put(&a, KL_SEAL_UPDATE, 4, 60);
    put(&a, KL_SEAL_PATH, 5, 35);
    static const unsigned order[] = {2, 4, 5, 1, 3};
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_true(kl_carry_next(&a, &p));
        assert_int_equal(p.kind, KL_CHANNEL_CARRY);
        assert_int_equal(number_of(&p), order[i]);
    }
    assert_false(kl_carry_next(&a, &p));
}

TEST_WITH(the_oldest_input_is_dropped, begin, NULL) {
    struct kl_channel_packet p;
    for (unsigned i = 0; i < 3 * KL_CARRY_INPUTS; i++)
        put(&a, KL_SEAL_CTRL, i, 40);
    for (unsigned i = 2 * KL_CARRY_INPUTS; i < 3 * KL_CARRY_INPUTS; i++) {
        assert_true(kl_carry_next(&a, &p));
        assert_int_equal(number_of(&p), i);
    }
    assert_false(kl_carry_next(&a, &p));
    assert_int_equal(a.dropped, 2 * KL_CARRY_INPUTS);
}

TEST_WITH(of_the_rest_the_newest_is_dropped, begin, NULL) {
    struct kl_channel_packet p;
    for (unsigned i = 0; i < 2 * KL_CARRY_RESTS; i++)
        put(&a, KL_SEAL_ENET, i, 40);
    for (unsigned i = 0; i < KL_CARRY_RESTS; i++) {
        kl_carry_frame(&a);
        assert_true(kl_carry_next(&a, &p));
        assert_int_equal(number_of(&p), i);
    }
    assert_false(kl_carry_next(&a, &p));
    assert_int_equal(a.dropped, KL_CARRY_RESTS);
    kl_carry_put(&a, "", 0);
    uint8_t huge[KL_CARRY_MAX + 1] = {0};
    kl_carry_put(&a, huge, sizeof huge);
    assert_int_equal(a.dropped, KL_CARRY_RESTS + 2);
}

/* Bulk trickles, and an input that comes meanwhile waits for none of it. */
TEST_WITH(bulk_trickles, begin, NULL) {
    struct kl_channel_packet p;
    for (unsigned i = 0; i < 100; i++)
        put(&a, KL_SEAL_ENET, i, 1200);
    for (unsigned frame = 0; frame < 5; frame++) {
        size_t bytes = 0;
        kl_carry_frame(&a);
        put(&a, KL_SEAL_CTRL, 1000 + frame, 80);
        assert_true(kl_carry_next(&a, &p));
        assert_int_equal(number_of(&p), 1000 + frame);
        while (kl_carry_next(&a, &p))
            bytes += p.len;
        assert_int_equal(bytes, KL_CARRY_TRICKLE);
    }
}

/* The other says nothing: what is under way ends, first of bulk. */
TEST_WITH(no_more_than_so_much_is_under_way, begin, NULL) {
    struct kl_channel_packet p;
    size_t rest = 0, input = 0;
    for (unsigned i = 0; i < 1000; i++) {
        kl_carry_frame(&a);
        put(&a, KL_SEAL_ENET, i, 1200);
        while (kl_carry_next(&a, &p))
            rest += p.len;
    }
    assert_in_range(rest, KL_CARRY_AHEAD_REST - 1200, KL_CARRY_AHEAD_REST);
    for (unsigned i = 0; i < 1000; i++) {
        put(&a, KL_SEAL_CTRL, i, 100);
        while (kl_carry_next(&a, &p))
            input += p.len;
    }
    assert_in_range(rest + input, KL_CARRY_AHEAD - 100, KL_CARRY_AHEAD);
    p = (struct kl_channel_packet){.kind = KL_CHANNEL_CARRY, .taken = a.sent};
    assert_int_equal(kl_carry_take(&a, &p), KL_OK);
    assert_true(kl_carry_next(&a, &p)); /* and goes on with the newest */
    assert_int_equal(number_of(&p), 1000 - KL_CARRY_INPUTS);
}

TEST_WITH(taken_packets_are_said_once, begin, NULL) {
    struct kl_channel_packet p;
    assert_false(kl_carry_next(&b, &p));
    put(&a, KL_SEAL_CTRL, 1, 70);
    assert_true(kl_carry_next(&a, &p));
    assert_int_equal(kl_carry_take(&b, &p), KL_OK);
    assert_true(kl_carry_next(&b, &p)); /* it has nothing else to say */
    assert_int_equal(p.len, 0);
    assert_int_equal(p.taken, 70);
    assert_int_equal(kl_carry_take(&a, &p), KL_OK);
    assert_false(kl_carry_next(&b, &p));
    assert_false(kl_carry_next(&a, &p)); /* nor is that answered */
}

TEST_WITH(lies_change_nothing, begin, NULL) {
    struct kl_channel_packet p;
    a.sent = a.gone = 0xffffffff - 50; /* counts go round */
    put(&a, KL_SEAL_CTRL, 1, 100);
    assert_true(kl_carry_next(&a, &p));
    struct kl_carry was = a;
    p = (struct kl_channel_packet){.kind = KL_CHANNEL_CARRY, .taken = a.sent + 1, .len = 30};
    assert_int_equal(kl_carry_take(&a, &p), KL_E_MALFORMED);
    p.taken = a.gone - 1;
    assert_int_equal(kl_carry_take(&a, &p), KL_E_MALFORMED);
    assert_memory_equal(&a, &was, sizeof a);
    p.taken = a.sent;
    assert_int_equal(kl_carry_take(&a, &p), KL_OK);
    assert_int_equal(a.taken, 30);
    p.taken = a.sent - 1; /* less than before */
    assert_int_equal(kl_carry_take(&a, &p), KL_E_MALFORMED);
}

/* Two ends, a channel that stands still at times: nothing is lost but what had to be dropped, all in order.
 */
TEST_WITH(two_ends, begin, NULL) {
    struct rng rng = {6};
    unsigned put_in = 0, put_rest = 0, next_in = 0, next_rest = 0, got = 0;
    static struct kl_channel_packet way[20000];
    unsigned first = 0, last = 0;
    for (unsigned frame = 0; frame < 4900; frame++) {
        struct kl_channel_packet p;
        kl_carry_frame(&a);
        kl_carry_frame(&b);
        put(&a, KL_SEAL_CTRL, put_in++, 26 + rng_below(&rng, 300));
        if (rng_below(&rng, 2) && a.rest_count < KL_CARRY_RESTS)
            put(&a, KL_SEAL_ENET, put_rest++, 26 + rng_below(&rng, 1200));
        while (last - first < COUNT(way) && kl_carry_next(&a, &p))
            way[last++ % COUNT(way)] = p;
        assert_true(a.sent - b.taken <= KL_CARRY_AHEAD);
        if (frame % 700 < 350) continue; /* it stands still */
        while (first != last) {
            const struct kl_channel_packet *come = &way[first++ % COUNT(way)];
            assert_int_equal(kl_carry_take(&b, come), KL_OK);
            unsigned *next = come->datagram[1] == KL_SEAL_CTRL ? &next_in : &next_rest;
            assert_true(number_of(come) >= *next);
            if (next == &next_rest) assert_int_equal(number_of(come), *next);
            *next = number_of(come) + 1;
            got++;
        }
        while (kl_carry_next(&b, &p))
            assert_int_equal(kl_carry_take(&a, &p), KL_OK);
    }
    assert_int_equal(got + a.input_count + a.rest_count + a.dropped, put_in + put_rest);
    assert_true(a.dropped > 0);
}

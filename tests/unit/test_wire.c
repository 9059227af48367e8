/* Integers and strings of the wire: net/PROTOCOL.md §1. */
#include "tests/unit/unit.h"

#include "net/engine/wire.h"

static const uint64_t edges[] = {0,         1,        0x7f,       0x80,       0x3fff,           0x4000,
                                 0xffff,    0x1fffff, 0xffffffff, 1ull << 32, (1ull << 63) - 1, 1ull << 63,
                                 UINT64_MAX};

TEST(fixed_width_is_little_endian) {
    uint8_t b[15];
    struct kl_writer w;
    kl_writer_init(&w, b, sizeof b);
    kl_write_u8(&w, 0x01);
    kl_write_u16(&w, 0x0203);
    kl_write_u32(&w, 0x04050607);
    kl_write_u64(&w, 0x08090a0b0c0d0e0f);
    assert_false(w.failed);
    static const uint8_t expected[] = {1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8};
    assert_memory_equal(b, expected, sizeof b);
    struct kl_reader r;
    kl_reader_init(&r, b, sizeof b);
    assert_int_equal(kl_read_u8(&r), 1);
    assert_int_equal(kl_read_u16(&r), 0x0203);
    assert_int_equal(kl_read_u32(&r), 0x04050607);
    assert_true(kl_read_u64(&r) == 0x08090a0b0c0d0e0f);
    assert_int_equal(kl_reader_left(&r), 0);
    assert_false(r.failed);
}

TEST(varints_come_back) {
    for (size_t i = 0; i < COUNT(edges); i++) {
        uint8_t b[10];
        struct kl_writer w;
        struct kl_reader r;
        kl_writer_init(&w, b, sizeof b);
        kl_write_var(&w, edges[i]);
        assert_false(w.failed);
        kl_reader_init(&r, b, (size_t)(w.at - b));
        assert_true(kl_read_var(&r, UINT64_MAX) == edges[i]);
        assert_int_equal(kl_reader_left(&r), 0);
        kl_reader_init(&r, b, (size_t)(w.at - b));
        int64_t s = kl_read_svar(&r);
        kl_writer_init(&w, b, sizeof b);
        kl_write_svar(&w, s);
        kl_reader_init(&r, b, (size_t)(w.at - b));
        assert_true(kl_read_svar(&r) == s);
    }
}

TEST(zigzag_by_hand) {
    static const struct {
        int64_t v;
        uint8_t byte;
    } table[] = {{0, 0}, {-1, 1}, {1, 2}, {-2, 3}, {63, 126}, {-64, 127}};
    for (size_t i = 0; i < COUNT(table); i++) {
        uint8_t b[10];
        struct kl_writer w;
        kl_writer_init(&w, b, sizeof b);
        kl_write_svar(&w, table[i].v);
        assert_ptr_equal(w.at, b + 1);
        assert_int_equal(b[0], table[i].byte);
    }
}

static void refuses(const uint8_t *b, size_t len, uint64_t max) {
    struct kl_reader r;
    kl_reader_init(&r, b, len);
    assert_true(kl_read_var(&r, max) == 0);
    assert_true(r.failed);
    assert_int_equal(kl_reader_left(&r), 0);
    assert_int_equal(kl_read_u8(&r), 0);
}

TEST(varints_that_are_not_allowed) {
    refuses((const uint8_t *)"", 0, UINT64_MAX);
    refuses((const uint8_t *)"\x80", 1, UINT64_MAX);     /* ends early */
    refuses((const uint8_t *)"\x80\x00", 2, UINT64_MAX); /* not the shortest */
    refuses((const uint8_t *)"\xff\xff\x00", 3, UINT64_MAX);
    refuses((const uint8_t *)"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, UINT64_MAX); /* 2^64 */
    refuses((const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, UINT64_MAX);
    refuses((const uint8_t *)"\x0b", 1, 10); /* above max */
    refuses((const uint8_t *)"\x80\x02", 2, 255);
}

TEST(a_full_writer_stays_failed) {
    uint8_t b[4] = {9, 9, 9, 9};
    struct kl_writer w;
    kl_writer_init(&w, b, 3);
    kl_write_u16(&w, 0);
    kl_write_u16(&w, 0x5555);
    assert_true(w.failed);
    kl_write_u8(&w, 1); /* would fit, and must not go in */
    assert_ptr_equal(w.at, b + 2);
    assert_int_equal(b[2], 9);
    assert_int_equal(b[3], 9);
}

static bool accepts(const char *s, size_t len, size_t cap) {
    uint8_t b[64];
    char out[64];
    struct kl_writer w;
    struct kl_reader r;
    kl_writer_init(&w, b, sizeof b);
    kl_write_var(&w, len);
    kl_write_bytes(&w, s, len);
    kl_reader_init(&r, b, (size_t)(w.at - b));
    kl_read_string(&r, out, cap);
    if (!r.failed) assert_string_equal(out, s);
    return !r.failed;
}

TEST(strings) {
    assert_true(accepts("", 0, 1));
    assert_true(accepts("room 1", 6, 7));
    assert_false(accepts("room 1", 6, 6)); /* no place for the NUL */
    assert_true(accepts("\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xae", 9, 32));
    assert_false(accepts("a\0b", 3, 32));
    assert_false(accepts("a\nb", 3, 32));
    assert_false(accepts("\x7f", 1, 32));
    assert_false(accepts("\xc3", 1, 32));     /* ends within a sequence */
    assert_false(accepts("\x80", 1, 32));     /* begins with a later byte */
    assert_false(accepts("\xc0\xaf", 2, 32)); /* overlong */
    assert_false(accepts("\xe0\x9f\xbf", 3, 32));
    assert_false(accepts("\xed\xa0\x80", 3, 32)); /* surrogate */
    assert_false(accepts("\xf0\x8f\xbf\xbf", 4, 32));
    assert_true(accepts("\xf4\x8f\xbf\xbf", 4, 32));  /* U+10FFFF */
    assert_false(accepts("\xf4\x90\x80\x80", 4, 32)); /* past it */
    assert_false(accepts("\xf5\x80\x80\x80", 4, 32));
}

/* Integers and strings of the wire that are not allowed; those that are: tests/conformance/decode.py.
 * net/PROTOCOL.md §1. */
#include "tests/unit/unit.h"

#include "net/engine/wire.h"

static void refuses(const uint8_t *b, size_t len, uint64_t max) {
    struct kl_reader r = kl_reader(b, len);
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
    struct kl_writer w = kl_writer(b, 3);
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
    struct kl_writer w = kl_writer(b, sizeof b);
    kl_write_var(&w, len);
    kl_write_bytes(&w, s, len);
    struct kl_reader r = kl_reader(b, (size_t)(w.at - b));
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

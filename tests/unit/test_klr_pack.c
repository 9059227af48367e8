/* Closed recordings are packed in place, or stay as they are; bytes of anybody's are unpacked. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include <zstd.h>

#include "net/engine/wire.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_pack.h"
#include "tests/unit/folder.h"

#define GOLDEN "tests/conformance/golden/match.klr"

static uint8_t *match, *now; /* the golden file, and what is_now() has read */
static size_t match_len, now_len;

static int begin(void **state) {
    if (make_folder(state) != 0) return -1;
    return kl_file_read(GOLDEN, 1 << 20, 0, (void **)&match, &match_len, err, sizeof err);
}

static int finish(void **state) {
    free(match);
    free(now);
    now = NULL;
    return remove_folder(state);
}

static void write_now(const void *bytes, size_t len) {
    assert_int_equal(kl_file_write_whole(at("a.klr"), bytes, len, 0, err, sizeof err), 0);
}

static void is_now(const void *bytes, size_t len) {
    free(now);
    assert_int_equal(kl_file_read(at("a.klr"), 1 << 20, 0, (void **)&now, &now_len, err, sizeof err), 0);
    if (!bytes) return;
    assert_int_equal(now_len, len);
    assert_memory_equal(now, bytes, len);
}

static void stays(const void *bytes, size_t len, const char *why) {
    write_now(bytes, len);
    assert_int_equal(kl_klr_pack(at("a.klr"), err, sizeof err), -1);
    says(why, at("a.klr"));
    is_now(bytes, len);
}

TEST_WITH(a_closed_recording_is_packed_in_place, begin, finish) {
    struct kl_klr_unpacked u;
    write_now(match, match_len);
    assert_int_equal(kl_klr_pack(at("a.klr"), err, sizeof err), 0);
    is_now(NULL, 0);
    assert_true(kl_klr_is_packed(now, now_len) && now_len < match_len);
    assert_int_equal(kl_klr_unpack(&u, now, now_len, "a", err, sizeof err), 0);
    assert_true(!*u.damage && u.frames == 1 && u.at == now_len && u.len == match_len);
    assert_memory_equal(u.bytes, match, match_len);
    /* zstd knows them as its own, frame after frame; only the blocks' checks are left out. */
    struct kl_klr_cursor c;
    size_t blocks = 0, len = ZSTD_decompress(u.bytes, u.len, now, now_len);
    for (kl_klr_open(&c, match, match_len); kl_klr_next(&c) == KL_KLR_BLOCK;)
        blocks++;
    assert_int_equal(len, match_len - KL_KLR_CHECK * blocks);
    free(u.bytes);
    uint8_t *once = now;
    size_t once_len = now_len;
    now = NULL;
    assert_int_equal(kl_klr_pack(at("a.klr"), err, sizeof err), 0);
    is_now(once, once_len);
    free(once);
    has_names(1); /* nothing stays beside it */
}

TEST_WITH(one_that_is_not_closed_stays, begin, finish) {
    struct kl_klr_cursor c;
    size_t end = 0;
    kl_klr_open(&c, match, match_len);
    for (size_t from = 0; kl_klr_next(&c) == KL_KLR_BLOCK; from = c.place.at)
        end = from; /* of the block before the last */
    stays(match, end, "it has no end");
    stays(match, match_len - 1, "it is damaged");
    stays("text", 4, "it begins otherwise than a recording");
    match[match_len / 2] ^= 1;
    stays(match, match_len, "it is damaged");
    assert_int_equal(kl_klr_pack(at("none"), err, sizeof err), -1);
    assert_int_equal(kl_klr_pack(dir, err, sizeof err), -1);
}

/* --- hostile bytes with a right check --- */

static uint8_t made[400];

/* A packed frame of these bytes, which are said to become so many. */
static size_t make_frame(const void *bytes, size_t len, uint32_t become) {
    struct kl_klr_place p = kl_klr_begin();
    p.at = 0;
    struct kl_writer w = kl_writer(made, sizeof made);
    kl_write_u32(&w, 0x184D2A5Bu);
    kl_write_u32(&w, 16);
    kl_write_u32(&w, 0);
    kl_write_u32(&w, 0);
    kl_write_u32(&w, (uint32_t)len);
    kl_write_u32(&w, become);
    kl_write_bytes(&w, bytes, len);
    kl_klr_check(&p, 0, made + 16, 8 + len, made + 8);
    return (size_t)(w.at - made);
}

TEST(no_more_is_unpacked_than_a_recording_may_have) {
    struct kl_klr_unpacked u;
    assert_int_equal(kl_klr_unpack(&u, made, make_frame("x", 1, UINT32_MAX), "bomb", err, sizeof err), -1);
    assert_string_equal(err,
                        "bomb: expected a recording of 268435456 bytes at most, unpacked; got 4294967295");
    free(u.bytes);
}

TEST(what_unpacks_otherwise_than_it_says_is_damage) {
    enum { WHOLE = 8 + 5 * 199 }; /* the magic, and empty blocks */
    static const uint8_t zeros[WHOLE + 1];
    static const uint32_t becomes[] = {0, 1, WHOLE - 1, WHOLE + 1, 100000, WHOLE};
    for (unsigned i = 0; i <= COUNT(becomes); i++) {
        struct kl_klr_unpacked u;
        uint8_t packed[200];
        bool right = i == COUNT(becomes) - 1, half = i == COUNT(becomes); /* its last block is not whole */
        size_t len = ZSTD_compress(packed, sizeof packed, zeros, WHOLE + half, 3);
        assert_false(ZSTD_isError(len));
        size_t all = make_frame(packed, len, half ? WHOLE + 1 : becomes[i]);
        assert_int_equal(kl_klr_unpack(&u, made, all, "x", err, sizeof err), 0);
        assert_int_equal(u.frames, right);
        assert_string_equal(u.damage, right ? "" : "it does not unpack to the blocks that it should have");
        assert_int_equal(u.len, right ? 8 + 13 * 199 : 0);
        free(u.bytes);
    }
}

#ifndef _WIN32
#include <signal.h>
#include <sys/resource.h>

/* Of a disk, too: a write fails within the file beside. */
TEST_WITH(one_that_does_not_fit_stays_unpacked, begin, finish) {
    struct rlimit all, few;
    write_now(match, match_len);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &all);
    few = (struct rlimit){100, all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    int result = kl_klr_pack(at("a.klr"), err, sizeof err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(result, -1);
    is_now(match, match_len);
    has_names(1);
}
#endif

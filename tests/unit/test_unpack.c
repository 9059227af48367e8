/* A packed snapshot, looked at as it comes; and one that is given as its difference from another, of which
 * the same comes as if it had come whole. net/ROOMS.md §7, Snapshots. */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <zstd.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "net/engine/msg.h"
#include "net/relay/heal/unpack.h"

#define BYTES (3u << 20)

static uint8_t state[BYTES], packed[BYTES + 65536], hash[32];

static uint32_t pack(uint32_t bytes, int window_log) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    size_t n = ZSTD_compress2(c, packed, sizeof packed, state, bytes);
    assert_false(ZSTD_isError(n));
    ZSTD_freeCCtx(c);
    crypto_generichash(hash, sizeof hash, state, bytes, NULL, 0);
    return (uint32_t)n;
}

/* A state as they are: much of it empty, some of it noise. */
static int set_up(void **unused) {
    (void)unused;
    uint32_t seed = 7;
    for (uint32_t i = 0; i < BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        state[i] = i / 4096 % 3 ? 0 : (uint8_t)(seed >> 24);
    }
    return sodium_init() < 0;
}

/* In pieces of `step` bytes. The most steps that one piece has made in *most. */
static bool take(uint32_t bytes, uint32_t len, uint32_t step, unsigned *most) {
    struct kl_unpack *u = kl_unpack_begin(bytes);
    unsigned steps = 0;
    *most = 0;
    for (uint32_t have = 0; have < len && !kl_unpack_failed(u);) {
        have = len - have < step ? len : have + step;
        for (steps = 1; kl_unpack_step(u, packed, have); steps++)
            ;
        if (steps > *most) *most = steps;
        for (unsigned i = 0; i < 40; i++) /* asked again and again before the next piece comes */
            (void)kl_unpack_step(u, packed, have);
    }
    bool good = kl_unpack_good(u, len, hash);
    kl_unpack_free(u);
    return good;
}

TEST(a_good_one) {
    unsigned most;
    uint32_t len = pack(BYTES, 20);
    assert_true(take(BYTES, len, 4000, &most));
    assert_true(take(BYTES, len, len, &most));
    assert_in_range(most, BYTES / KL_UNPACK_STEP - 2, BYTES / KL_UNPACK_STEP + 2);
    len = pack(1, 20);
    assert_true(take(1, len, 1, &most));
}

TEST(not_what_was_said) {
    unsigned most;
    uint32_t len = pack(100000, 20);
    assert_false(take(99999, len, 4000, &most));
    assert_false(take(100001, len, 4000, &most));
    assert_false(take(100000, len - 1, 4000, &most));
    packed[len] = 0;
    assert_false(take(100000, len + 1, 4000, &most)); /* something behind it */
    hash[31] ^= 1;
    assert_false(take(100000, len, 4000, &most));
    hash[31] ^= 1;
    packed[len / 2] ^= 1;
    assert_false(take(100000, len, 4000, &most));
    packed[0] ^= 1;
    assert_false(take(100000, len, 4000, &most));
}

/* 64 MiB of zeros are a few KiB of bytes: no more comes out than was said, and little in one step. */
TEST(a_bomb) {
    unsigned most;
    memset(state, 0, sizeof state);
    uint32_t len = pack(BYTES, 20);
    assert_true(len < 4000);
    assert_false(take(5000, len, len, &most));
    assert_true(most <= 2);
    set_up(NULL);
}

TEST(too_wide_a_window) {
    unsigned most;
    uint32_t len = pack(BYTES, 22);
    assert_false(take(BYTES, len, 4000, &most));
}

#define ALL (3 * KL_SNAPSHOT_SLICE + 777)

static uint8_t base[ALL], changed[ALL], out[ALL + 65536], changed_hash[32];
static uint8_t *base_packed, *slices;
static size_t packed_len, slices_len;
static uint32_t base_bytes, out_len;

/* Both as they are: much of it empty, some of it noise; and one as the other but for a few places. */
static void make_slices(size_t of_base, size_t bytes) {
    uint32_t seed = 7;
    for (uint32_t i = 0; i < ALL; i++) {
        seed = seed * 1664525u + 1013904223u;
        base[i] = i / 4096 % 3 ? 0 : (uint8_t)(seed >> 24);
    }
    memcpy(changed, base, ALL);
    for (uint32_t i = 0; i < ALL; i += 5000)
        memset(changed + i, (int)(i / 5000), 40);
    base_bytes = (uint32_t)of_base;
    base_packed = kl_snapshot_pack(base, of_base, &packed_len);
    slices = kl_snapshot_pack_against(base, of_base, changed, bytes, &slices_len);
    assert_non_null(base_packed);
    assert_non_null(slices);
    crypto_generichash(changed_hash, sizeof changed_hash, changed, bytes, NULL, 0);
}

static void drop(void) {
    free(base_packed);
    free(slices);
}

/* In pieces of `step` bytes. */
static bool take_slices(size_t bytes, size_t len, size_t step, size_t cap) {
    struct kl_unpack *u = kl_unpack_begin_slices(base_packed, (uint32_t)packed_len, base_bytes,
                                                 (uint32_t)bytes, out, (uint32_t)cap);
    for (size_t have = 0; have < len && !kl_unpack_failed(u);) {
        have = len - have < step ? len : have + step;
        unsigned steps = 0;
        while (kl_unpack_step(u, slices, (uint32_t)have))
            steps++;
        assert_true(steps <= step / 10 + 1);
    }
    out_len = kl_unpack_good(u, (uint32_t)len, changed_hash);
    kl_unpack_free(u);
    return out_len > 0;
}

TEST(is_whole_again) {
    static const size_t of_base[] = {ALL, KL_SNAPSHOT_SLICE, 100, ALL - 1, ALL};
    static const size_t bytes[] = {ALL, ALL, ALL, ALL, 2 * KL_SNAPSHOT_SLICE};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        make_slices(of_base[i], bytes[i]);
        if (i == 0) assert_true(slices_len * 4 < packed_len);
        for (size_t step = 1; step <= slices_len; step = step == 1      ? 4000
                                                         : step == 4000 ? slices_len
                                                                        : SIZE_MAX) {
            assert_true(take_slices(bytes[i], slices_len, step, sizeof out));
            uint8_t *whole = kl_snapshot_unpack(out, out_len, (uint32_t)bytes[i], changed_hash);
            assert_non_null(whole);
            free(whole);
        }
        drop();
    }
}

TEST(slices_that_are_not_what_was_said) {
    make_slices(ALL, ALL);
    assert_false(take_slices(ALL - 1, slices_len, 4000, sizeof out));
    assert_false(take_slices(ALL + 1, slices_len, 4000, sizeof out));
    assert_false(take_slices(ALL, slices_len - 1, 4000, sizeof out));
    assert_false(take_slices(ALL, slices_len, 4000, 5000)); /* more than there is place for */
    changed_hash[31] ^= 1;
    assert_false(take_slices(ALL, slices_len, 4000, sizeof out));
    changed_hash[31] ^= 1;
    slices[slices_len / 2] ^= 1;
    assert_false(take_slices(ALL, slices_len, 4000, sizeof out));
    slices[slices_len / 2] ^= 1;
    slices[0] ^= 1;
    assert_false(take_slices(ALL, slices_len, 4000, sizeof out));
    drop();
}

/* Something behind the last slice, and a frame that is more, or less, than a slice. */
TEST(other_slices) {
    make_slices(ALL, ALL);
    slices = realloc(slices, 2 * slices_len);
    memcpy(slices + slices_len, slices, slices_len);
    assert_true(take_slices(ALL, slices_len, 4000, sizeof out));
    assert_false(take_slices(ALL, slices_len + 1, 4000, sizeof out));
    free(slices);
    slices = kl_snapshot_pack(changed, ALL, &slices_len);
    assert_false(take_slices(ALL, slices_len, 4000, sizeof out));
    assert_false(take_slices(10, slices_len, 4000, sizeof out));
    free(slices);
    size_t len, more; /* the right bytes, cut elsewhere */
    slices = malloc(2 * KL_SNAPSHOT_SLICE);
    len = ZSTD_compress(slices, KL_SNAPSHOT_SLICE, changed, KL_SNAPSHOT_SLICE - 1, 1);
    more = ZSTD_compress(slices + len, KL_SNAPSHOT_SLICE, changed + KL_SNAPSHOT_SLICE - 1, 1, 1);
    crypto_generichash(changed_hash, sizeof changed_hash, changed, KL_SNAPSHOT_SLICE, NULL, 0);
    assert_false(take_slices(KL_SNAPSHOT_SLICE, len + more, 4000, sizeof out));
    drop();
}

/* Slices against another base than the relay's are found by what comes of them. */
TEST(another_base) {
    make_slices(ALL, ALL);
    base[3000] ^= 1;
    free(base_packed);
    base_packed = kl_snapshot_pack(base, ALL, &packed_len);
    assert_false(take_slices(ALL, slices_len, 4000, sizeof out));
    drop();
}

int main(void) {
    return run_all_tests(set_up, NULL);
}

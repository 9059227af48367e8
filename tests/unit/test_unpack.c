/* A packed snapshot, looked at as it comes. net/ROOMS.md §7, Snapshots. */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <zstd.h>

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

int main(void) {
    return run_all_tests(set_up, NULL);
}

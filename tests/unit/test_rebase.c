/* A snapshot given as what differs from another: what comes of it is the same as if it had come whole, and
 * what is not so is found. net/ROOMS.md §7, Snapshots. */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <zstd.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "net/engine/msg.h"
#include "net/relay/heal/unpack.h"

#define BYTES (3 * KL_SNAPSHOT_SLICE + 777)

static uint8_t base[BYTES], state[BYTES], out[BYTES + 65536], hash[32];
static uint8_t *packed, *slices;
static size_t packed_len, slices_len;
static uint32_t base_bytes, out_len;

/* Both as they are: much of it empty, some of it noise; and one as the other but for a few places. */
static void make(size_t of_base, size_t bytes) {
    uint32_t seed = 7;
    for (uint32_t i = 0; i < BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        base[i] = i / 4096 % 3 ? 0 : (uint8_t)(seed >> 24);
    }
    memcpy(state, base, BYTES);
    for (uint32_t i = 0; i < BYTES; i += 5000)
        memset(state + i, (int)(i / 5000), 40);
    base_bytes = (uint32_t)of_base;
    packed = kl_snapshot_pack(base, of_base, &packed_len);
    slices = kl_snapshot_pack_against(base, of_base, state, bytes, &slices_len);
    assert_non_null(packed);
    assert_non_null(slices);
    crypto_generichash(hash, sizeof hash, state, bytes, NULL, 0);
}

static void drop(void) {
    free(packed);
    free(slices);
}

/* In pieces of `step` bytes. */
static bool take(size_t bytes, size_t len, size_t step, size_t cap) {
    struct kl_unpack *u =
        kl_unpack_begin_slices(packed, (uint32_t)packed_len, base_bytes, (uint32_t)bytes, out, (uint32_t)cap);
    for (size_t have = 0; have < len && !kl_unpack_failed(u);) {
        have = len - have < step ? len : have + step;
        unsigned steps = 0;
        while (kl_unpack_step(u, slices, (uint32_t)have))
            steps++;
        assert_true(steps <= step / 10 + 1);
    }
    out_len = kl_unpack_good(u, (uint32_t)len, hash);
    kl_unpack_free(u);
    return out_len > 0;
}

TEST(is_whole_again) {
    static const size_t of_base[] = {BYTES, KL_SNAPSHOT_SLICE, 100, BYTES - 1, BYTES};
    static const size_t bytes[] = {BYTES, BYTES, BYTES, BYTES, 2 * KL_SNAPSHOT_SLICE};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        make(of_base[i], bytes[i]);
        if (i == 0) assert_true(slices_len * 4 < packed_len);
        for (size_t step = 1; step <= slices_len; step = step == 1      ? 4000
                                                         : step == 4000 ? slices_len
                                                                        : SIZE_MAX) {
            assert_true(take(bytes[i], slices_len, step, sizeof out));
            uint8_t *whole = kl_snapshot_unpack(out, out_len, (uint32_t)bytes[i], hash);
            assert_non_null(whole);
            free(whole);
        }
        drop();
    }
}

TEST(not_what_was_said) {
    make(BYTES, BYTES);
    assert_false(take(BYTES - 1, slices_len, 4000, sizeof out));
    assert_false(take(BYTES + 1, slices_len, 4000, sizeof out));
    assert_false(take(BYTES, slices_len - 1, 4000, sizeof out));
    assert_false(take(BYTES, slices_len, 4000, 5000)); /* more than there is place for */
    hash[31] ^= 1;
    assert_false(take(BYTES, slices_len, 4000, sizeof out));
    hash[31] ^= 1;
    slices[slices_len / 2] ^= 1;
    assert_false(take(BYTES, slices_len, 4000, sizeof out));
    slices[slices_len / 2] ^= 1;
    slices[0] ^= 1;
    assert_false(take(BYTES, slices_len, 4000, sizeof out));
    drop();
}

/* Something behind the last slice, and a frame that is more, or less, than a slice. */
TEST(other_slices) {
    make(BYTES, BYTES);
    slices = realloc(slices, 2 * slices_len);
    memcpy(slices + slices_len, slices, slices_len);
    assert_true(take(BYTES, slices_len, 4000, sizeof out));
    assert_false(take(BYTES, slices_len + 1, 4000, sizeof out));
    free(slices);
    slices = kl_snapshot_pack(state, BYTES, &slices_len);
    assert_false(take(BYTES, slices_len, 4000, sizeof out));
    assert_false(take(10, slices_len, 4000, sizeof out));
    free(slices);
    size_t len, more; /* the right bytes, cut elsewhere */
    slices = malloc(2 * KL_SNAPSHOT_SLICE);
    len = ZSTD_compress(slices, KL_SNAPSHOT_SLICE, state, KL_SNAPSHOT_SLICE - 1, 1);
    more = ZSTD_compress(slices + len, KL_SNAPSHOT_SLICE, state + KL_SNAPSHOT_SLICE - 1, 1, 1);
    crypto_generichash(hash, sizeof hash, state, KL_SNAPSHOT_SLICE, NULL, 0);
    assert_false(take(KL_SNAPSHOT_SLICE, len + more, 4000, sizeof out));
    drop();
}

/* Slices against another base than the relay's are found by what comes of them. */
TEST(another_base) {
    make(BYTES, BYTES);
    base[3000] ^= 1;
    free(packed);
    packed = kl_snapshot_pack(base, BYTES, &packed_len);
    assert_false(take(BYTES, slices_len, 4000, sizeof out));
    drop();
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}

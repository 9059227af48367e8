/* A snapshot as bytes. core_wrapper/match/snapshot_form.h */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>

#include "core_wrapper/match/snapshot_pack.h"
#include "core_wrapper/match/snapshot_form.h"
#include "net/engine/msg.h"

#define STATE 70000

static struct kl_option two[] = {{.key = (char *)"core_speed", .value = (char *)"2x"},
                                 {.key = (char *)"core_region", .value = (char *)""}};
static const struct kl_options options = {.at = two, .count = 2};

static const struct kl_snapshot_head head = {
    .frame = 600,
    .chance = UINT64_MAX - 5,
    .time = {.base_ns = 1234567890123, .base_frame = 600, .fps_uhz = 59185600},
    .plays = {1, 0, 2, 3, 4, 5, 6, 7},
    .policy = KL_POLICY_BOUNDED,
    .wait_budget_ms = 250,
    .spacing_fixed = 30,
    .tray_open = true,
    .tray_frame = 660,
    .tray_index = 1,
    .disk = 1,
    .ejected = true};

static uint8_t *make(size_t *len) {
    uint8_t *state, *bytes = kl_snapshot_begin(&head, &options, STATE, &state, len);
    assert_non_null(bytes);
    for (size_t i = 0; i < STATE; i++) {
        assert_int_equal(state[i], 0); /* bytes that a core does not write are the same everywhere */
        state[i] = (uint8_t)(i / 7);
    }
    return bytes;
}

static void there_and_back(void **unused) {
    (void)unused;
    struct kl_snapshot_view v;
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX];
    size_t len;
    uint8_t *bytes = make(&len);
    assert_int_equal(kl_snapshot_open(&v, bytes, len), 0);
    assert_memory_equal(&v.head.time, &head.time, sizeof head.time);
    assert_memory_equal(v.head.plays, head.plays, sizeof head.plays);
    assert_true(v.head.frame == 600 && v.head.chance == head.chance && v.head.policy == head.policy &&
                v.head.wait_budget_ms == 250 && v.head.spacing_fixed == 30 && v.head.tray_open &&
                v.head.tray_frame == 660 && v.head.tray_index == 1 && v.head.disk == 1 && v.head.ejected);
    assert_true(kl_snapshot_option(&v, key, value));
    assert_string_equal(key, "core_speed");
    assert_string_equal(value, "2x");
    assert_true(kl_snapshot_option(&v, key, value));
    assert_string_equal(value, "");
    assert_false(kl_snapshot_option(&v, key, value));
    assert_int_equal(v.state_len, STATE);
    assert_int_equal(v.state[STATE - 1], (uint8_t)((STATE - 1) / 7));
    free(bytes);
}

static void expect_bad(uint8_t *bytes, size_t len, size_t at, uint8_t byte) {
    struct kl_snapshot_view v;
    uint8_t was = bytes[at];
    bytes[at] = byte;
    assert_int_equal(kl_snapshot_open(&v, bytes, len), KL_E_MALFORMED);
    bytes[at] = was;
}

static void impossible_heads_are_refused(void **unused) {
    (void)unused;
    struct kl_snapshot_view v;
    size_t len;
    uint8_t *bytes = make(&len);
    for (size_t cut = 0; cut < len; cut += cut < 200 ? 1 : 997) {
        uint8_t *exact = malloc(cut ? cut : 1); /* for the sanitizer's eyes */
        memcpy(exact, bytes, cut);
        assert_int_equal(kl_snapshot_open(&v, exact, cut), KL_E_MALFORMED);
        free(exact);
    }
    expect_bad(bytes, len, 0, 'x');
    expect_bad(bytes, len, 23, 0x80); /* a clock before frame 0 */
    expect_bad(bytes, len, 26, 1);    /* a piece based on a frame to come */
    expect_bad(bytes, len, 31, 0xff); /* a rate above all */
    expect_bad(bytes, len, 32, 8);    /* a seat that there is not */
    expect_bad(bytes, len, 40, 3);    /* a policy */
    expect_bad(bytes, len, 44, 2);    /* a flag */
    free(bytes);
}

static void packing(void **unused) {
    (void)unused;
    uint8_t hash[32];
    size_t len, packed_len;
    uint8_t *bytes = make(&len);
    uint8_t *packed = kl_snapshot_pack(bytes, len, &packed_len);
    assert_non_null(packed);
    assert_true(packed_len < len / 2);
    crypto_generichash(hash, sizeof hash, bytes, len, NULL, 0);
    uint8_t *back = kl_snapshot_unpack(packed, packed_len, (uint32_t)len, hash);
    assert_non_null(back);
    assert_memory_equal(back, bytes, len);
    free(back);
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len - 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len + 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len, KL_SNAPSHOT_MAX + 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len - 1, (uint32_t)len, hash));
    hash[0] ^= 1;
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len, hash));
    free(packed);
    free(bytes);
}

static void too_large(void **unused) {
    (void)unused;
    uint8_t *state;
    size_t len;
    assert_null(kl_snapshot_begin(&head, &options, KL_SNAPSHOT_MAX, &state, &len));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(impossible_heads_are_refused),
        cmocka_unit_test(packing),
        cmocka_unit_test(too_large),
    };
    if (sodium_init() < 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Chained tags of intervals: nobody rewrites what was played. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include "net/session/tag.h"

static uint8_t secret[32], room[16];

static int fill(void **state) {
    (void)state;
    for (unsigned i = 0; i < 32; i++)
        secret[i] = (uint8_t)i;
    memcpy(room, secret, 16);
    return 0;
}

static void tag(uint8_t out[16], const uint8_t key[32], const uint8_t before[16], uint32_t i,
                uint32_t keyframe, const char *frames) {
    struct kl_tag t;
    kl_tag_begin(&t, key, before, room, i, keyframe);
    for (; *frames; frames++) /* in pieces: the cuts do not count */
        kl_tag_add(&t, frames, 1);
    kl_tag_end(&t, out);
}

/* By Python's hashlib. */
static void known_answers(void **state) {
    (void)state;
    static const uint8_t key_known[32] = {0x8d, 0x18, 0x13, 0x1a, 0xd1, 0x50, 0xae, 0x82, 0x25, 0xaa, 0x2e,
                                          0x58, 0xfe, 0xac, 0x30, 0x0c, 0x16, 0xb2, 0xa4, 0xe5, 0x4b, 0xe1,
                                          0xe2, 0xc8, 0x37, 0x14, 0xde, 0x96, 0x1b, 0x7d, 0x85, 0x4d};
    static const uint8_t tags_known[2][16] = {
        {0x44, 0xe8, 0xc9, 0xd7, 0xfc, 0xe7, 0x52, 0x35, 0xa0, 0xc9, 0x7b, 0x4e, 0x1e, 0x3b, 0x09, 0xd5},
        {0xca, 0xbb, 0xa7, 0xe5, 0x44, 0xf6, 0x7a, 0xf5, 0x34, 0x72, 0x07, 0x6f, 0x2a, 0x28, 0xa0, 0xcc}};
    uint8_t key[32], zero[16] = {0}, first[16], second[16];
    kl_tag_key(secret, room, key);
    assert_memory_equal(key, key_known, 32);
    tag(first, key, zero, 0, 0, "neutral");
    assert_memory_equal(first, tags_known[0], 16);
    tag(second, key, first, 1, 4, "pressed");
    assert_memory_equal(second, tags_known[1], 16);
}

static void everything_counts(void **state) {
    (void)state;
    uint8_t key[32], key2[32], before[16] = {0}, before2[16] = {1}, good[16], t[16];
    kl_tag_key(secret, room, key);
    tag(good, key, before, 7, 40, "frames");
    tag(t, key, before, 7, 40, "frames");
    assert_true(kl_tag_equal(good, t));
    tag(t, key, before2, 7, 40, "frames"); /* another past */
    assert_false(kl_tag_equal(good, t));
    tag(t, key, before, 8, 40, "frames");
    assert_false(kl_tag_equal(good, t));
    tag(t, key, before, 7, 41, "frames");
    assert_false(kl_tag_equal(good, t));
    tag(t, key, before, 7, 40, "framez");
    assert_false(kl_tag_equal(good, t));
    tag(t, key, before, 7, 40, "framesx");
    assert_false(kl_tag_equal(good, t));
    room[0] ^= 1; /* another room of the same relay */
    tag(t, key, before, 7, 40, "frames");
    assert_false(kl_tag_equal(good, t));
    kl_tag_key(secret, room, key2);
    assert_memory_not_equal(key, key2, 32);
    room[0] ^= 1;
    tag(t, key2, before, 7, 40, "frames");
    assert_false(kl_tag_equal(good, t));
    secret[0] ^= 1; /* another relay */
    kl_tag_key(secret, room, key2);
    assert_memory_not_equal(key, key2, 32);
    secret[0] ^= 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(known_answers, fill),
        cmocka_unit_test_setup(everything_counts, fill),
    };
    return cmocka_run_group_tests_name("tag", tests, NULL, NULL);
}

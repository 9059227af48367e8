/* Samples straight from another player: the body of a datagram, and the samples that are kept by seat. Any
 * bytes: fuzz_link. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include "net/engine/lock_client.h"

TEST(a_body_comes_back_and_a_malformed_one_fails) {
    const uint8_t seats = 0x12; /* two */
    uint8_t body[KL_DIRECT_BYTES + 1] = {0};
    struct kl_direct back;
    for (uint8_t count = 0; count <= KL_DIRECT_MAX; count++) {
        struct kl_direct d = {.guesses = count % 2, .first = 1000, .count = count};
        for (unsigned i = 0; i < count; i++)
            d.joypad[0][i] = d.joypad[1][i] = (uint16_t)(i + 1);
        size_t len = kl_direct_write(&d, seats, body);
        assert_int_equal(len, 5 + 4 * count);
        assert_int_equal(kl_direct_read(&back, seats, body, len), 0);
        assert_memory_equal(&back, &d, sizeof d);
        assert_int_equal(kl_direct_read(&back, seats, body, len + 1), KL_E_MALFORMED);
        assert_int_equal(kl_direct_read(&back, seats, body, len - 1), KL_E_MALFORMED);
        if (count) assert_int_equal(kl_direct_read(&back, 1, body, len), KL_E_MALFORMED);
    }
    body[4] = KL_DIRECT_MAX + 1;
    assert_int_equal(kl_direct_read(&back, seats, body, 5 + 4 * (KL_DIRECT_MAX + 1)), KL_E_MALFORMED);
    memset(body, 0xff, 4);
    body[4] = 0;
    assert_int_equal(kl_direct_read(&back, seats, body, 5), KL_E_MALFORMED);
}

TEST(the_first_word_on_a_sample_counts_and_only_for_its_seats) {
    static struct kl_direct_kept kept[KL_MAX_SEATS];
    struct kl_direct d = {.first = 100, .count = 2, .joypad = {{1, 2}, {3, 4}}};
    uint16_t joypad;
    kl_direct_keep(kept, 0x12, &d);
    assert_true(kl_direct_find(&kept[1], 101, &joypad) && joypad == 2);
    assert_true(kl_direct_find(&kept[4], 100, &joypad) && joypad == 3);
    assert_false(kl_direct_find(&kept[0], 100, &joypad));
    d.joypad[0][0] = 77;
    kl_direct_keep(kept, 0x12, &d);
    assert_true(kl_direct_find(&kept[1], 100, &joypad) && joypad == 1);
    d.first += KL_DIRECT_KEPT;
    kl_direct_keep(kept, 0x12, &d);
    assert_false(kl_direct_find(&kept[1], 100, &joypad));
    assert_true(kl_direct_find(&kept[1], 100 + KL_DIRECT_KEPT, &joypad) && joypad == 77);
}

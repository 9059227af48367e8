#include "tests/unit/unit.h"

#include "core_wrapper/screen/away.h"

#define SECOND UINT64_C(1000000)

TEST(a_steady_pace) {
    struct kl_remaining r = {0};
    uint32_t left = 6000;
    assert_int_equal(kl_remaining_s(&r), 0);
    for (uint64_t us = SECOND; us < 6 * SECOND; us += SECOND / 10, left -= 100) {
        kl_remaining_turn(&r, left, us);
        if (us >= 2 * SECOND) assert_in_range(kl_remaining_s(&r), left / 1000, left / 1000 + 1);
        if (us < SECOND + SECOND / 2) assert_int_equal(kl_remaining_s(&r), 0); /* not known yet */
    }
    kl_remaining_turn(&r, 0, 7 * SECOND);
    assert_int_equal(kl_remaining_s(&r), 0);
    kl_remaining_turn(&r, 50, 8 * SECOND); /* begins anew */
    assert_int_equal(kl_remaining_s(&r), 0);
}

TEST(a_client_that_falls_behind_never_gets_there) {
    struct kl_remaining r = {0};
    for (uint32_t i = 0; i < 20; i++)
        kl_remaining_turn(&r, 1000 + i, SECOND + i * SECOND);
    assert_int_equal(kl_remaining_s(&r), 0);
    for (uint32_t i = 0; i < 40; i++)
        kl_remaining_turn(&r, 1000 - i, (21 + i) * SECOND);
    assert_in_range(kl_remaining_s(&r), 900, 1000);
}

TEST(the_last_second_is_a_second) {
    struct kl_remaining r = {0};
    kl_remaining_turn(&r, 4000000000u, SECOND);
    kl_remaining_turn(&r, 3999999999u, 2 * SECOND);
    assert_int_equal(kl_remaining_s(&r), 359999);
    kl_remaining_turn(&r, 1, 3 * SECOND);
    assert_int_equal(kl_remaining_s(&r), 1);
}

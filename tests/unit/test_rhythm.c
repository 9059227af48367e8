/* The rhythm of buttons: read, gone on with, and given up. */
#include "tests/unit/unit.h"

#include "net/engine/ahead.h"

static struct kl_rhythm rhythm;

static int nothing_seen(void **state) {
    (void)state;
    memset(&rhythm, 0, sizeof rhythm);
    return 0;
}

static void see(uint16_t pad, unsigned frames) {
    while (frames-- > 0)
        kl_rhythm_see(&rhythm, pad);
}

static void hit(uint16_t pad, unsigned times, unsigned on, unsigned off) {
    while (times-- > 0) {
        see(pad, on);
        see(0, off);
    }
}

TEST_WITH(a_button_without_a_rhythm_is_held, nothing_seen, NULL) {
    assert_int_equal(kl_rhythm_guess(&rhythm, 5), 0);
    see(0x0101, 30);
    assert_int_equal(kl_rhythm_guess(&rhythm, 9), 0x0101);
    hit(0x8000, 3, 4, 4); /* too few of them */
    see(0x8000, 1);
    assert_int_equal(kl_rhythm_guess(&rhythm, 9), 0x8000);
}

TEST_WITH(a_rhythm_goes_on_for_any_number_of_frames, nothing_seen, NULL) {
    hit(1, 6, 3, 2);
    see(1, 1);
    for (unsigned ahead = 0; ahead < 100; ahead++)
        assert_int_equal(kl_rhythm_guess(&rhythm, ahead), ahead % 5 < 3);
}

TEST_WITH(a_hand_is_not_exact, nothing_seen, NULL) {
    for (unsigned i = 0; i < 4; i++)
        hit(1, 1, 4 + i % 3, 5 - i % 2);
    see(1, 2);
    assert_int_equal(kl_rhythm_guess(&rhythm, 3), 1); /* five frames on average */
    assert_int_equal(kl_rhythm_guess(&rhythm, 4), 0);
}

TEST_WITH(a_button_that_is_held_on_has_left_its_rhythm, nothing_seen, NULL) {
    hit(1, 6, 3, 3);
    see(1, 3 + KL_RHYTHM_SPREAD);
    assert_int_equal(kl_rhythm_guess(&rhythm, 1), 0);
    see(1, 1);
    assert_int_equal(kl_rhythm_guess(&rhythm, 1), 1);
    see(1, 300);
    assert_int_equal(kl_rhythm_guess(&rhythm, 100), 1);
}

TEST_WITH(slow_presses_are_no_rhythm, nothing_seen, NULL) {
    hit(1, 6, KL_RHYTHM_MOST + 1, 5);
    see(1, 1);
    assert_int_equal(kl_rhythm_guess(&rhythm, KL_RHYTHM_MOST + 1), 1);
}

TEST_WITH(buttons_have_rhythms_of_their_own, nothing_seen, NULL) {
    for (unsigned f = 0; f < 60; f++)
        see((uint16_t)((f % 4 < 2) | (f % 6 < 3) << 7 | 1 << 15), 1);
    for (unsigned f = 60; f < 90; f++)
        assert_int_equal(kl_rhythm_guess(&rhythm, f - 59), (f % 4 < 2) | (f % 6 < 3) << 7 | 1 << 15);
}

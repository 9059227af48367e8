/* How long the next interval is. spacing.h, DESIGN.md §3 "Spacing". */
#include "unit.h"

#include <math.h>

#include "engine.h"
#include "spacing.h"

#define FPS 60

/* Frames [from, to) needed `quarters`. */
static void need(struct kl_spacing *s, uint32_t from, uint32_t to, unsigned quarters) {
    for (uint32_t f = from; f < to; f++)
        kl_spacing_need(s, f, (uint8_t)quarters);
}

static void from_rtt(void **state) {
    (void)state;
    assert_int_equal(kl_spacing_from_rtt(0, 0, 60), 2);
    assert_int_equal(kl_spacing_from_rtt(50000, 2000, 60), 5); /* 58 ms are 3.48 frames: 3 whole, and two */
    assert_int_equal(kl_spacing_from_rtt(10000000, 0, 60), KL_SPACING_MAX);
    assert_int_equal(kl_spacing_from_rtt(UINT32_MAX, UINT32_MAX, 1000), KL_SPACING_MAX);
}

static void nothing_reported_changes_nothing(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    for (uint32_t f = 4; f < 4000; f += 4)
        assert_int_equal(kl_spacing_next(&s, f), 4);
}

static void lasting_lateness_raises_by_the_whole_shortfall(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 3, FPS, 0);
    need(&s, 0, 100, 10);
    need(&s, 100, 100 + KL_SPACING_BURST - 1, 36);
    assert_int_equal(kl_spacing_next(&s, 120), 3);
    need(&s, 100 + KL_SPACING_BURST - 1, 100 + KL_SPACING_BURST, 36);
    assert_int_equal(kl_spacing_next(&s, 120), 9); /* 36 quarters, at once */
}

static void it_stays_within_the_range(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 3, FPS, 0);
    need(&s, 0, 100, 255);
    assert_int_equal(kl_spacing_next(&s, 100), KL_SPACING_MAX);
    kl_spacing_init(&s, 3, FPS, 0);
    for (uint32_t f = 0; f < 20000; f += 3) {
        need(&s, f, f + 3, 1);
        uint16_t n = kl_spacing_next(&s, f + 3);
        assert_true(n >= KL_SPACING_MIN && n <= 3);
    }
    assert_int_equal(kl_spacing_next(&s, 20000), KL_SPACING_MIN);
}

static void two_hitches_raise_nothing_three_do(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    need(&s, 0, 200, 15);
    need(&s, 200, 205, 24);
    need(&s, 205, 300, 15);
    assert_int_equal(kl_spacing_next(&s, 300), 4);
    need(&s, 300, 303, 23);
    need(&s, 303, 400, 15);
    assert_int_equal(kl_spacing_next(&s, 400), 4);
    need(&s, 400, 401, 23);
    assert_int_equal(kl_spacing_next(&s, 401), 6); /* none would have been late */
}

static void three_outliers_raise_nothing_four_do(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    for (uint32_t f = 0; f < 300; f++) {
        need(&s, f, f + 1, f == 50 || f == 100 || f == 200 ? 40 : 15);
        assert_int_equal(kl_spacing_next(&s, f + 1), 4);
    }
    need(&s, 300, 301, 40);
    assert_int_equal(kl_spacing_next(&s, 301), 10);
}

static void far_apart_they_are_lone_hitches(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    for (uint32_t f = 0; f < 4000; f += 4) {
        bool hitch = f == 100 || f == 800 || f == 1500 || f == 2200;
        need(&s, f, f + 4, hitch ? 24 : 15);
        assert_int_equal(kl_spacing_next(&s, f + 4), 4);
    }
}

static void the_first_guess_is_given_back_at_once(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 12, FPS, 0);
    for (uint32_t f = 0; f < 4 * FPS; f++) {
        need(&s, f, f + 1, 18); /* would do with 5 */
        uint16_t n = kl_spacing_next(&s, f + 1);
        assert_int_equal(n, f + 1 < 2 * FPS ? 12 : 5);
    }
}

static void two_or_more_are_given_back_soon_the_last_late(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 5, FPS, 0);
    uint32_t fast = 0, slow = 0;
    for (uint32_t f = 0; f < 60 * FPS; f++) {
        bool worse = f >= 3 * FPS && f < 4 * FPS; /* for a second the link needs 12 */
        need(&s, f, f + 1, worse ? 48 : 18);
        uint16_t n = kl_spacing_next(&s, f + 1);
        if (f < 4 * FPS) continue;
        if (!fast && n < 12) fast = f - 4 * FPS;
        if (!slow && n == 5) slow = f - 4 * FPS;
        if (!fast) assert_int_equal(n, 12);
        if (fast && !slow) assert_int_equal(n, 6); /* all but one of them, in one step */
        if (slow) assert_int_equal(n, 5);
    }
    assert_in_range(fast, 3 * FPS, 5 * FPS);
    assert_in_range(slow, 20 * FPS, 31 * FPS);
}

static void excused_frames_do_not_count(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    need(&s, 0, 100, 15);
    kl_spacing_excuse(&s, 100, 150);
    need(&s, 90, 150, 15);
    need(&s, 100, 150, 60);
    assert_int_equal(kl_spacing_next(&s, 150), 4);
    need(&s, 150, 170, 60);
    assert_int_equal(kl_spacing_next(&s, 170), 15);
}

static void the_greatest_need_of_a_frame_counts(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 2, FPS, 0);
    need(&s, 0, 20, 28);
    need(&s, 0, 20, 5); /* another client was better off */
    assert_int_equal(kl_spacing_next(&s, 20), 7);
}

/* The ring must not take a frame's need for that of one KL_SPACING_HISTORY earlier. */
static void old_frames_are_forgotten(void **state) {
    (void)state;
    struct kl_spacing s;
    kl_spacing_init(&s, 4, FPS, 0);
    need(&s, 0, KL_SPACING_HISTORY, 14);
    uint32_t f = 10 * KL_SPACING_HISTORY;
    need(&s, f, f + 1000, 14);
    kl_spacing_need(&s, f + 900 - KL_SPACING_HISTORY, 200); /* too old: ignored */
    kl_spacing_need(&s, 5, 200);
    kl_spacing_need(&s, 6 + 9 * KL_SPACING_HISTORY, 200);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(kl_spacing_next(&s, f + 1000), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_rtt),
        cmocka_unit_test(nothing_reported_changes_nothing),
        cmocka_unit_test(lasting_lateness_raises_by_the_whole_shortfall),
        cmocka_unit_test(it_stays_within_the_range),
        cmocka_unit_test(two_hitches_raise_nothing_three_do),
        cmocka_unit_test(three_outliers_raise_nothing_four_do),
        cmocka_unit_test(far_apart_they_are_lone_hitches),
        cmocka_unit_test(the_first_guess_is_given_back_at_once),
        cmocka_unit_test(two_or_more_are_given_back_soon_the_last_late),
        cmocka_unit_test(excused_frames_do_not_count),
        cmocka_unit_test(the_greatest_need_of_a_frame_counts),
        cmocka_unit_test(old_frames_are_forgotten),
    };
    return cmocka_run_group_tests_name("spacing", tests, NULL, NULL);
}

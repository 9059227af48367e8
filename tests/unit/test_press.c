/* Press to play: one press at a time, from its sample to its frame. */
#include "tests/unit/unit.h"

#include "core_wrapper/frame/pace.h"

#define MS UINT64_C(1000)

TEST(a_press_is_timed_to_its_frame) {
    struct kl_press p = {0};
    kl_press_sample(&p, 1, 100 * MS);
    kl_press_sample(&p, 1 | 4, 116 * MS); /* another meanwhile */
    kl_press_frame(&p, 0, 120 * MS);
    assert_int_equal(p.took_us, 0);
    kl_press_frame(&p, 1, 150 * MS);
    assert_int_equal(p.took_us, 50 * MS);
    kl_press_frame(&p, 1 | 4, 166 * MS);
    assert_int_equal(p.took_us, 50 * MS);
}

TEST(presses_under_way_are_not_taken_for_the_answer) {
    struct kl_press p = {0};
    kl_press_sample(&p, 2, 100 * MS);
    kl_press_frame(&p, 2, 180 * MS);
    kl_press_sample(&p, 0, 200 * MS);
    kl_press_sample(&p, 2, 216 * MS); /* again, while frames have the first */
    kl_press_frame(&p, 2, 220 * MS);
    assert_int_equal(p.took_us, 80 * MS);
    kl_press_frame(&p, 0, 280 * MS);
    kl_press_sample(&p, 0, 300 * MS);
    kl_press_sample(&p, 2, 316 * MS);
    kl_press_frame(&p, 2, 376 * MS);
    assert_int_equal(p.took_us, 60 * MS);
}

TEST(a_press_that_was_dropped_is_forgotten) {
    struct kl_press p = {0};
    kl_press_sample(&p, 1, 100 * MS);
    kl_press_sample(&p, 0, 150 * MS);
    kl_press_sample(&p, 0, 2200 * MS);
    kl_press_sample(&p, 1, 2216 * MS);
    kl_press_frame(&p, 1, 2300 * MS);
    assert_int_equal(p.took_us, 84 * MS);
}

/* test_frame_cost.c - the cost of a frame on a machine that is busy with other work.
 * core_wrapper/frame/pace.h. */
#include "core_wrapper/frame/pace.h"
#include "tests/unit/unit.h"

static const struct kl_spent nothing;

static void add(struct kl_cost *c, unsigned count, uint64_t time_us, uint64_t thread_us) {
    for (unsigned i = 0; i < count; i++)
        kl_cost_add(c, (struct kl_spent){time_us, thread_us}, nothing);
}

TEST(other_programs_cost_nothing) {
    struct kl_cost c = {0};
    for (unsigned i = 0; i < 20; i++) {
        add(&c, 1, 1000, 950);
        add(&c, 1, i % 3 ? 1000 : 5000, 950); /* held up in every sixth frame */
    }
    assert_int_equal((int)kl_cost_us(&c), 1000);
}

TEST(threads_of_the_core_cost) {
    struct kl_cost c = {0};
    add(&c, 32, 3000, 400);
    assert_int_equal((int)kl_cost_us(&c), 3000);
}

TEST(dear_frames_count_and_two_of_them_do_not) {
    struct kl_cost c = {0};
    add(&c, 29, 1000, 900);
    add(&c, 2, 4000, 4000);
    assert_in_range(kl_cost_us(&c), 900, 1000);
    add(&c, 1, 4000, 4000);
    assert_int_equal((int)kl_cost_us(&c), 4000);
}

TEST(a_part_does_not_count) {
    struct kl_cost c = {0};
    for (unsigned i = 0; i < 32; i++)
        kl_cost_add(&c, (struct kl_spent){16000, 3000}, (struct kl_spent){15000, 2000});
    assert_int_equal((int)kl_cost_us(&c), 1000);
}

TEST(a_system_without_thread_times_has_the_median) {
    struct kl_cost c = {0};
    add(&c, 20, 1000, 0);
    add(&c, 12, 6000, 0);
    assert_int_equal((int)kl_cost_us(&c), 1000);
    assert_int_equal((int)kl_cost_us(&(struct kl_cost){0}), 0);
}

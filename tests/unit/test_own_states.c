/* The states to which a machine can go back. */
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/match/own_states.h"

static struct kl_own_states own;

static int clear(void **unused) {
    (void)unused;
    kl_own_states_clear(&own);
    return 0;
}

static void keep(uint32_t frame, size_t len) {
    uint8_t *bytes = malloc(4);
    assert_non_null(bytes);
    kl_own_states_keep(&own, frame, bytes, len, NULL);
}

static uint32_t found(uint32_t keyframe) {
    const struct kl_own_state *s = kl_own_states_find(&own, keyframe);
    return s ? s->frame : 0;
}

TEST_WITH(the_agreed_one_and_those_after_it, NULL, clear) {
    assert_int_equal(found(1000), 0);
    for (uint32_t f = 60; f <= 240; f += 60)
        keep(f, 100);
    kl_own_states_agreed(&own, 59);
    assert_int_equal(found(60), 60);
    kl_own_states_agreed(&own, 120);
    assert_int_equal(found(119), 60);
    assert_int_equal(found(120), 120);
    assert_int_equal(found(200), 180);
    kl_own_states_agreed(&own, 1000); /* all are; the newest stays, and an older one */
    assert_true(own.count == 2 && own.older == 1 && found(1000) == 240 && found(239) == 60);
}

/* A relay that lost up to 600 frames finds one that its record covers. */
TEST_WITH(older_ones_reach_far_back, NULL, clear) {
    for (uint32_t f = 60; f <= 20000; f += 60) {
        keep(f, 100);
        kl_own_states_agreed(&own, f - 60);
        assert_true(own.count <= KL_OWN_STATES_ALL && own.older <= KL_OWN_STATES_OLDER);
        if (f > 660) assert_in_range(found(f - 600), f > 1800 ? f - 1800 : 1, f - 600);
    }
    kl_own_states_after(&own, found(19400));
    assert_true(own.older < own.count);
}

/* However long no verdict comes, the agreed one stays. */
TEST_WITH(a_new_one_takes_the_place_of_the_newest, NULL, clear) {
    for (uint32_t f = 60; f <= 6000; f += 60)
        keep(f, 100);
    assert_int_equal(own.count, KL_OWN_STATES);
    assert_int_equal(found(60), 60);
    assert_int_equal(found(5999), 180);
    assert_int_equal(found(6000), 6000);
}

TEST_WITH(after_going_back, NULL, clear) {
    for (uint32_t f = 60; f <= 240; f += 60)
        keep(f, 100);
    kl_own_states_after(&own, 120);
    assert_int_equal(found(1000), 120);
    keep(180, 100);
    keep(180, 100); /* the same frame again */
    assert_true(own.count == 3 && found(1000) == 180);
}

TEST_WITH(of_large_states_fewer, NULL, clear) {
    for (uint32_t f = 60; f <= 600; f += 60)
        keep(f, KL_OWN_STATES_MAX / 2);
    assert_true(own.count == 2 && found(60) == 60 && found(600) == 600);
    assert_true(kl_own_states_takes(KL_OWN_STATES_MAX / 2));
    assert_false(kl_own_states_takes(KL_OWN_STATES_MAX / 2 + 1));
    assert_false(kl_own_states_takes(0));
    keep(660, KL_OWN_STATES_MAX / 2 + 1); /* it has grown */
    assert_int_equal(found(660), 600);
}

TEST_WITH(of_large_states_older_ones_go_first, NULL, clear) {
    for (uint32_t f = 60; f <= 3000; f += 60) {
        keep(f, KL_OWN_STATES_MAX / 5);
        kl_own_states_agreed(&own, f - 60);
        assert_true(own.count <= 5);
    }
    keep(3060, KL_OWN_STATES_MAX / 2); /* they have grown */
    assert_true(own.older == 0 && found(2940) == 2940);
}

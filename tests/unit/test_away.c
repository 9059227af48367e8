/* The screen shows a player as away if it lasts, not at every hitch. */
#include "tests/unit/unit.h"

#include "core_wrapper/screen/away.h"

#define MS 1000u

static struct kl_away p;
static unsigned changes;

/* Frames of 16 ms with this mask of seats away. Gives what is shown. */
static uint8_t pass(uint64_t *now_us, unsigned ms, uint8_t away) {
    for (uint64_t until_us = *now_us + ms * MS; *now_us < until_us; *now_us += 16 * MS) {
        uint8_t changed = kl_away_turn(&p, away, *now_us);
        changes += (unsigned)__builtin_popcount(changed);
    }
    return p.shown;
}

static int set_up(void **state) {
    (void)state;
    memset(&p, 0, sizeof p);
    changes = 0;
    return 0;
}

TEST_WITH(a_client_that_stays_away_is_shown, set_up, NULL) {
    uint64_t now_us = 5000 * MS;
    assert_int_equal(pass(&now_us, 400, 4), 0);
    assert_int_equal(pass(&now_us, 200, 4), 4);
    assert_int_equal(pass(&now_us, 20000, 4), 4);
    assert_int_equal(changes, 1);
    assert_int_equal(pass(&now_us, 900, 0), 4);
    assert_int_equal(pass(&now_us, 200, 0), 0);
    assert_int_equal(changes, 2);
}

/* A frontend that is held back 150 ms now and then is reported away each time. */
TEST_WITH(hitches_do_not_flicker, set_up, NULL) {
    uint64_t now_us = 5000 * MS;
    for (int i = 0; i < 50; i++) {
        pass(&now_us, 170, 1);
        pass(&now_us, 130, 0);
    }
    assert_int_equal(changes, 0);
}

/* A player who is away most of the time, with glimpses of them, is shown away once. */
TEST_WITH(glimpses_do_not_flicker, set_up, NULL) {
    uint64_t now_us = 5000 * MS;
    for (int i = 0; i < 50; i++) {
        pass(&now_us, 700, 1);
        pass(&now_us, 300, 0);
    }
    assert_int_equal(changes, 1);
    assert_int_equal(p.shown, 1);
}

/* From when he went to when he came, not to when it was believed. */
TEST_WITH(the_time_away_is_the_true_one, set_up, NULL) {
    uint64_t now_us = 5000 * MS;
    pass(&now_us, 8000, 2);
    while (!kl_away_turn(&p, 0, now_us))
        now_us += 16 * MS;
    assert_in_range(kl_away_time_us(&p, 1), 7980 * MS, 8020 * MS);
}

TEST_WITH(seats_are_apart, set_up, NULL) {
    uint64_t now_us = 5000 * MS;
    pass(&now_us, 300, 0x81);
    assert_int_equal(pass(&now_us, 300, 0x80), 0x80);
    assert_int_equal(pass(&now_us, 600, 0x81), 0x81);
}

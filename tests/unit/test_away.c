/* The screen shows a player as away if it lasts, not at every hitch; and the time of catching up. */
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

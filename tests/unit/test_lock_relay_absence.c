/* Players who are not waited for: when, and how they come back. PROTOCOL.md §5 "Absence". */
#include "tests/unit/unit.h"

#include "net/engine/lock_relay.h"
#include "net/engine/lock_relay_return.h"
#include "tests/lib/relay_hand.h"

/* Three players with spacing 4. Their pads say their seat's bit. */
static void begin(uint8_t policy) {
    hand_begin_three(hand_params(policy, 3, 4));
}

static uint8_t shown(void) {
    uint8_t seats = 0;
    for (unsigned s = 0; s < 3; s++)
        seats |= (uint8_t)((hand_last.in[s].joypad != 0) << s);
    return seats;
}

/* Paid once: the schedule moves by the stall, and the room goes on without him. */
TEST(bounded_waits_for_the_budget_once) {
    begin(KL_POLICY_BOUNDED);
    hand_all_say(7, 0);
    hand_all_say(7, 1);
    hand_all_say(3, 2);
    hand_take_all();
    uint32_t waited = r.next_close;
    assert_int_equal(waited, interval + 2);
    uint64_t until = hand_line(waited) + HAND_BUDGET_US;
    assert_int_equal(kl_lock_tick_at(&r), until);
    kl_lock_tick(&r, until - 1);
    assert_int_equal(hand_take_all(), 0);
    kl_lock_tick(&r, until);
    assert_int_equal(hand_take_all(), 1);
    assert_int_equal(shown(), 3);
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    assert_int_equal(kl_lock_away(&r), 4);
    assert_true(kl_schedule_line_us(&r.schedule, waited) == (double)until);
    for (uint32_t n = 3; n < 40; n++) { /* nobody waits again */
        hand_all_say(3, n);
        assert_int_equal(hand_take_all(), 1);
        assert_int_equal(shown(), 3);
    }
    assert_true(kl_schedule_line_us(&r.schedule, waited) == (double)until);
}

/* A stall shorter than what moves the schedule by itself is moved all the same: nobody fast-forwards it. */
TEST(a_short_budget_moves_the_schedule_too) {
    begin(KL_POLICY_BOUNDED);
    r.params.wait_budget_ms = 100;
    hand_all_say(3, 0);
    kl_lock_tick(&r, hand_line(interval) + 100000);
    assert_int_equal(hand_take_all(), 1);
    assert_true(kl_schedule_line_us(&r.schedule, interval) == (double)(hand_line(interval) + 100000));
}

TEST(the_budget_counts_from_the_last_close_where_that_is_later) {
    begin(KL_POLICY_BOUNDED);
    uint64_t late = hand_line(interval) + 100000;
    for (unsigned i = 0; i < 3; i++)
        hand_ctrl(i, 0, i == 2 ? 1 : 2, 0, late);
    assert_int_equal(hand_take_all(), 1);
    r.client[2].cost_us = 0; /* another rule */
    assert_int_equal(kl_lock_tick_at(&r), late + HAND_BUDGET_US);
}

TEST(a_client_may_come_back_without_a_sample) {
    begin(KL_POLICY_BOUNDED);
    hand_ctrl(2, 0, 0, HAND_AWAY, hand_line(0));
    assert_int_equal(hand_ctrl(2, 3, 0, HAND_RESUME, hand_line(1)), 0);
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    assert_int_equal(r.client[2].next_sample, 3);
    hand_ctrl(2, 7, 1, HAND_RESUME, hand_line(2)); /* begins anew: he took us for deaf */
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    assert_int_equal(r.client[2].next_sample, 8);
    assert_int_equal(hand_ctrl(2, 4000, 0, HAND_RESUME, hand_line(3)), KL_E_WINDOW);
}

/* A metered link: its CTRLs say that nothing is to be sent again at half steps. */
TEST(a_sparing_client_gets_nothing_at_half_steps) {
    uint8_t buf[KL_DATAGRAM_MAX];
    begin(KL_POLICY_STRICT);
    r.params.half_steps = true;
    hand_ctrl(1, 0, 1, HAND_SPARING, hand_line(0));
    for (unsigned i = 0; i < 3; i++)
        while (kl_lock_send(&r, i, hand_line(0), buf, sizeof buf) > 0) {
        }
    assert_true(kl_lock_send(&r, 0, hand_line(0) + 10000, buf, sizeof buf) > 0);
    assert_int_equal(kl_lock_send(&r, 1, hand_line(0) + 10000, buf, sizeof buf), 0);
    assert_int_equal(kl_lock_send(&r, 1, hand_line(0) + 24999, buf, sizeof buf), 0);
    assert_true(kl_lock_send(&r, 1, hand_line(0) + 25000, buf, sizeof buf) > 0);
}

/* --- players who hold the room up --- */

/* When frame n is due now: the schedule moves with the stalls. */
static uint64_t due(uint32_t n) {
    return (uint64_t)r.schedule.t0_us + n * UINT64_C(20000);
}

/* The others give a sample a frame; these clients (a mask) call every so many frames and give all at once.
 * Samples [from, to), by the clock. Gives the first sample at which client 2 was absent; `to`: never. */
static uint32_t call_seldom(unsigned clients, unsigned every, uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) {
        uint64_t now_us = due(n);
        kl_lock_tick(&r, now_us);
        for (unsigned i = 0; i < 3; i++) {
            bool seldom = clients >> i & 1;
            uint32_t first = seldom ? n + 1 - every : n, count = seldom ? every : 1;
            if (seldom && (n + 1) % every) continue;
            hand_late = 0;
            hand_batch = (uint8_t)count;
            assert_int_equal(hand_ctrl(i, first, count, 0, now_us), 0);
        }
        hand_take_all();
        if (r.client[2].presence == KL_ABSENT) return n;
    }
    return to;
}

TEST(a_client_that_calls_too_seldom_is_absent_though_no_wait_is_long) {
    begin(KL_POLICY_BOUNDED);
    uint32_t at = call_seldom(4, 10, 0, 500); /* 5 Hz, of a budget of 250 ms */
    assert_in_range(at, 10, 80);
    assert_true(kl_lock_holds_up(&r, 2));
    assert_false(kl_lock_holds_up(&r, 0));
    uint32_t closed = r.next_close;
    for (uint32_t n = at + 1; n < at + 41; n++)
        for (unsigned i = 0; i < 2; i++)
            hand_ctrl(i, n, 1, 0, due(n));
    assert_in_range(r.next_close, closed + 39, closed + 42); /* nobody waits for him */
}

TEST(a_client_that_called_too_seldom_comes_back_after_a_growing_pause) {
    begin(KL_POLICY_BOUNDED);
    uint32_t n = call_seldom(4, 10, 0, 500);
    uint64_t now_us = due(n++), again_us = r.client[2].barred_until_us;
    assert_in_range(again_us, now_us + 800000, now_us + 1100000);
    for (; (now_us = due(n)) < again_us; n++) {
        hand_ctrl(0, n, 1, 0, now_us);
        hand_ctrl(1, n, 1, 0, now_us);
        hand_ctrl(2, n, 1, HAND_RESUME, now_us);
        assert_int_equal(r.client[2].presence, KL_ABSENT);
    }
    for (uint32_t from = n; n < from + 20 || n % 10; n++)
        for (unsigned i = 0; i < 3; i++)
            hand_ctrl(i, n, 1, i == 2 && n == from ? HAND_RESUME : 0, due(n));
    assert_int_equal(r.client[2].presence, KL_PRESENT);
    n = call_seldom(4, 10, n, n + 500);
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    assert_in_range(r.client[2].barred_until_us, due(n) + 1800000, due(n) + 2100000);
}

/* The others follow the schedule; of the frame times of client 2 each is so much too long. Gives the sample
 * at which it was absent; `to`: never. */
static uint32_t fall_behind(uint64_t each_us, uint32_t to) {
    uint32_t others = 0, his = 0;
    while (his < to && r.client[2].presence != KL_ABSENT) {
        uint64_t his_us = hand_line(0) + his * (20000 + each_us);
        if (due(others) <= his_us) {
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(hand_ctrl(i, others, 1, 0, due(others)), 0);
            others++;
        } else {
            assert_int_equal(hand_ctrl(2, his++, 1, 0, his_us), 0);
        }
        hand_take_all();
    }
    return his;
}

TEST(a_machine_that_is_a_few_percent_too_slow_is_found) {
    begin(KL_POLICY_BOUNDED);
    assert_in_range(fall_behind(1000, 3000), 200, 1200); /* 5 % */
    assert_true(kl_lock_holds_up(&r, 2));
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(fall_behind(200, 3000), 3000); /* 1 %: he may */
    assert_false(kl_lock_holds_up(&r, 2));
    begin(KL_POLICY_STRICT);
    assert_int_equal(fall_behind(1000, 3000), 3000);
    assert_true(kl_lock_holds_up(&r, 2)); /* the room may be told */
    assert_int_equal(r.client[2].presence, KL_PRESENT);
}

/* Each of its samples comes 30 ms late, just under two frame times, and no wait is charged. The schedule
 * slips, and that is. */
TEST(samples_held_for_less_than_a_free_wait_are_charged) {
    begin(KL_POLICY_BOUNDED);
    uint32_t n = 0;
    uint64_t now_us = hand_line(0);
    for (; n < 600 && r.client[2].presence == KL_PRESENT; n++) {
        for (unsigned i = 0; i < 2; i++)
            hand_ctrl(i, n, 1, 0, now_us);
        hand_ctrl(2, n, 1, 0, now_us += 30000);
        hand_take_all();
    }
    assert_in_range(n, 10, 100);
    assert_true(kl_lock_holds_up(&r, 2));
}

TEST(if_nobody_keeps_pace_nobody_is_absent) {
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(call_seldom(7, 10, 0, 1000), 1000);
}

TEST(a_late_sample_now_and_then_is_borne) {
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(call_seldom(4, 2, 0, 3000), 3000); /* calls at half the rate */
    begin(KL_POLICY_BOUNDED);
    for (uint32_t n = 0; n < 3000; n++) { /* 100 ms of nothing every three seconds */
        uint64_t now_us = due(n);
        hand_ctrl(0, n, 1, 0, now_us);
        hand_ctrl(1, n, 1, 0, now_us);
        if (n % 150 > 145) continue;
        bool after = n >= 150 && n % 150 == 0;
        hand_ctrl(2, after ? n - 4 : n, after ? 5 : 1, 0, now_us);
        hand_take_all();
        assert_int_equal(r.client[2].presence, KL_PRESENT);
    }
}

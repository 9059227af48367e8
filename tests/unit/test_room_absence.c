/* Who is not waited for, when, and how he comes back. PROTOCOL.md §5 "Absence". */
#include "tests/unit/unit.h"

#include "net/engine/room.h"
#include "net/engine/room_return.h"
#include "tests/unit/room_hand.h"

#define BUDGET_US 250000
#define START_US  1000

/* Three players with spacing 4; 20 ms a frame, frame f due at 51,000 + 20,000 f. Their pads say their seat's
 * bit. */
static void begin(uint8_t policy) {
    hand_begin((struct kl_params){.policy = policy,
                                  .subframes = true,
                                  .clocked = true,
                                  .players = 3,
                                  .wait_budget_ms = BUDGET_US / 1000,
                                  .spacing_fixed = 4,
                                  .fps_uhz = 50000000});
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(kl_room_add(&r, i, (uint8_t)(1u << i), 0), 0);
    kl_room_add(&r, 9, 0, 0);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = 0x10;
    assert_int_equal(kl_room_start(&r, START_US), 0);
    interval = hand_take_all();
}

static uint64_t line(uint32_t f) {
    return 51000 + f * UINT64_C(20000);
}

/* Sample n of these clients, each at its frame's time. */
static void all_say(unsigned clients, uint32_t n) {
    for (unsigned i = 0; i < 3; i++)
        if (clients >> i & 1) assert_int_equal(hand_ctrl(i, n, 1, 0, line(n)), 0);
}

static uint8_t shown(void) {
    uint8_t seats = 0;
    for (unsigned s = 0; s < 3; s++)
        seats |= (uint8_t)((hand_last.in[s].joypad != 0) << s);
    return seats;
}

static void strict_waits_for_ever(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        all_say(3, n);
    assert_int_equal(kl_room_missing(&r), 4);
    assert_true(kl_room_tick_at(&r) == UINT64_MAX);
    kl_room_tick(&r, UINT64_C(3600000000));
    assert_int_equal(hand_take_all(), 0);
    hand_ctrl(2, 0, 0, HAND_AWAY, 200000); /* saying so changes nothing, but everybody sees it */
    assert_int_equal(hand_take_all(), 0);
    assert_int_equal(kl_room_away(&r), 4);
}

/* Paid once: the schedule moves by the stall, and the room goes on without him. */
static void bounded_waits_for_the_budget_once(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    all_say(7, 0);
    all_say(7, 1);
    all_say(3, 2);
    hand_take_all();
    uint32_t waited = r.next_close;
    assert_int_equal(waited, interval + 2);
    uint64_t until = line(waited) + BUDGET_US;
    assert_int_equal(kl_room_tick_at(&r), until);
    kl_room_tick(&r, until - 1);
    assert_int_equal(hand_take_all(), 0);
    kl_room_tick(&r, until);
    assert_int_equal(hand_take_all(), 1);
    assert_int_equal(shown(), 3);
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    assert_int_equal(kl_room_away(&r), 4);
    assert_true(kl_schedule_line_us(&r.schedule, waited) == (double)until);
    for (uint32_t n = 3; n < 40; n++) { /* nobody waits again */
        all_say(3, n);
        assert_int_equal(hand_take_all(), 1);
        assert_int_equal(shown(), 3);
    }
    assert_true(kl_schedule_line_us(&r.schedule, waited) == (double)until);
}

/* A stall shorter than what moves the schedule by itself is moved all the same: nobody fast-forwards it. */
static void a_short_budget_moves_the_schedule_too(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    r.params.wait_budget_ms = 100;
    all_say(3, 0);
    kl_room_tick(&r, line(interval) + 100000);
    assert_int_equal(hand_take_all(), 1);
    assert_true(kl_schedule_line_us(&r.schedule, interval) == (double)(line(interval) + 100000));
}

static void the_budget_counts_from_the_last_close_where_that_is_later(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    uint64_t late = line(interval) + 100000;
    for (unsigned i = 0; i < 3; i++)
        hand_ctrl(i, 0, i == 2 ? 1 : 2, 0, late);
    assert_int_equal(hand_take_all(), 1);
    r.client[2].cost_us = 0; /* another rule */
    assert_int_equal(kl_room_tick_at(&r), late + BUDGET_US);
}

static void who_says_away_is_absent_at_once(void **state) {
    (void)state;
    for (uint8_t policy = KL_POLICY_BOUNDED; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin(policy);
        all_say(7, 0);
        hand_ctrl(2, 1, 0, HAND_AWAY, line(1));
        assert_int_equal(r.client[2].presence, KL_ABSENT);
        assert_int_equal(kl_room_missing(&r) & 4, 0);
    }
}

static void an_overtaken_word_does_not_count(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    all_say(7, 0);
    hand_ctrl(2, 1, 1, 0, line(3));
    hand_ctrl(2, 1, 0, HAND_AWAY, line(1));
    assert_int_equal(r.client[2].presence, KL_PRESENT);
    hand_ctrl(2, 2, 0, HAND_AWAY, line(4));
    hand_ctrl(2, 2, 1, HAND_RESUME, line(2));
    assert_int_equal(r.client[2].presence, KL_ABSENT);
}

static void a_spectator_is_never_absent(void **state) {
    (void)state;
    begin(KL_POLICY_OPTIMISTIC);
    hand_ctrl(9, 0, 0, HAND_AWAY, line(1));
    kl_room_tick(&r, line(2000));
    assert_int_equal(r.client[9].presence, KL_PRESENT);
}

/* Away, then back with sample `first`; the two others play on. Gives the first frame that shows his pad. */
static uint32_t shown_from(uint32_t gone, uint32_t back, uint32_t first) {
    uint32_t from = 0;
    for (uint32_t n = 0; n < 60; n++) {
        if (n == gone) hand_ctrl(2, n, 0, HAND_AWAY, line(n));
        unsigned there = n < gone ? 7 : 3;
        all_say(there, n);
        if (n >= back)
            assert_int_equal(hand_ctrl(2, first, n + 1 - first, n < back + 3 ? HAND_RESUME : 0, line(n)), 0);
        kl_room_tick(&r, line(n));
        while (kl_room_take(&r, &hand_last))
            if (!from && hand_last.number > interval + gone && hand_last.in[2].joypad)
                from = hand_last.number;
    }
    return from;
}

static void he_feeds_the_interval_after_the_keyframe_he_reaches(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(shown_from(10, 30, 30),
                     40); /* 32..35 is laid out already: 36..39 counts, and feeds 40..43 */
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(shown_from(10, 31, 31),
                     44); /* frame 35 has just closed, and with it 36..39 is laid out */
    begin(KL_POLICY_OPTIMISTIC);
    assert_in_range(shown_from(10, 30, 30), 30, 31); /* no interval to fit in with */
}

static void what_he_said_before_is_not_wanted(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    all_say(7, 0);
    all_say(7, 1);
    hand_ctrl(2, 2, 0, HAND_AWAY, line(1) + 1);
    hand_ctrl(2, 0, 3, 0, line(1) + 2); /* does not know it yet */
    assert_int_equal(r.client[2].next_sample, 2);
    hand_ctrl(2, 1, 2, HAND_RESUME, line(1) + 3); /* below what the relay has: not a place to go on from */
    assert_int_equal(r.client[2].presence, KL_ABSENT);
    hand_ctrl(2, 2, 0, HAND_RESUME | HAND_AWAY, line(1) + 4);
    assert_int_equal(r.client[2].presence, KL_ABSENT);
}

static void he_may_come_back_without_a_sample(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    hand_ctrl(2, 0, 0, HAND_AWAY, line(0));
    assert_int_equal(hand_ctrl(2, 3, 0, HAND_RESUME, line(1)), 0);
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    assert_int_equal(r.client[2].next_sample, 3);
    hand_ctrl(2, 7, 1, HAND_RESUME, line(2)); /* begins anew: he took us for deaf */
    assert_int_equal(r.client[2].presence, KL_RETURNING);
    assert_int_equal(r.client[2].next_sample, 8);
    assert_int_equal(hand_ctrl(2, 4000, 0, HAND_RESUME, line(3)), KL_E_WINDOW);
}

static void where_all_are_absent_nothing_closes_until_one_is_back(void **state) {
    (void)state;
    for (uint8_t policy = KL_POLICY_BOUNDED; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin(policy);
        for (unsigned i = 0; i < 3; i++)
            hand_ctrl(i, 0, 0, HAND_AWAY, line(interval));
        hand_take_all();
        uint32_t at = r.next_close;
        assert_true(kl_room_tick_at(&r) == UINT64_MAX);
        kl_room_tick(&r, line(500));
        assert_int_equal(hand_take_all(), 0);
        hand_ctrl(1, at, 1, HAND_RESUME, line(500));
        kl_room_tick(&r, line(500));
        assert_in_range(hand_take_all(), 1,
                        3); /* on from here, and not all of what was passed over at once */
        kl_room_tick(&r, line(510));
        assert_in_range(hand_take_all(), 1, 14);
    }
}

/* A metered link: its CTRLs say that nothing is to be sent again at half steps. */
static void who_is_sparing_gets_nothing_at_half_steps(void **state) {
    (void)state;
    uint8_t buf[KL_DATAGRAM_MAX];
    begin(KL_POLICY_STRICT);
    r.params.half_steps = true;
    hand_ctrl(1, 0, 1, HAND_SPARING, line(0));
    for (unsigned i = 0; i < 3; i++)
        while (kl_room_send(&r, i, line(0), buf, sizeof buf) > 0) {
        }
    assert_true(kl_room_send(&r, 0, line(0) + 10000, buf, sizeof buf) > 0);
    assert_int_equal(kl_room_send(&r, 1, line(0) + 10000, buf, sizeof buf), 0);
    assert_int_equal(kl_room_send(&r, 1, line(0) + 24999, buf, sizeof buf), 0);
    assert_true(kl_room_send(&r, 1, line(0) + 25000, buf, sizeof buf) > 0);
}

/* --- who holds the room up --- */

/* When frame n is due now: the schedule moves with the stalls. */
static uint64_t due(uint32_t n) {
    return (uint64_t)r.schedule.t0_us + n * UINT64_C(20000);
}

/* The others give a sample a frame; these clients (a mask) call every so many frames and give all at once.
 * Samples [from, to), by the clock. Gives the first sample at which client 2 was absent; `to`: never. */
static uint32_t call_seldom(unsigned clients, unsigned every, uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) {
        uint64_t now_us = due(n);
        kl_room_tick(&r, now_us);
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

static void who_calls_too_seldom_is_absent_though_no_wait_is_long(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    uint32_t at = call_seldom(4, 10, 0, 500); /* 5 Hz, of a budget of 250 ms */
    assert_in_range(at, 10, 80);
    assert_true(kl_room_holds_up(&r, 2));
    assert_false(kl_room_holds_up(&r, 0));
    uint32_t closed = r.next_close;
    for (uint32_t n = at + 1; n < at + 41; n++)
        for (unsigned i = 0; i < 2; i++)
            hand_ctrl(i, n, 1, 0, due(n));
    assert_in_range(r.next_close, closed + 39, closed + 42); /* nobody waits for him */
}

static void he_comes_back_after_a_pause_that_grows(void **state) {
    (void)state;
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
        uint64_t his_us = line(0) + his * (20000 + each_us);
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

static void a_machine_that_is_a_few_percent_too_slow_is_found(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    assert_in_range(fall_behind(1000, 3000), 200, 1200); /* 5 % */
    assert_true(kl_room_holds_up(&r, 2));
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(fall_behind(200, 3000), 3000); /* 1 %: he may */
    assert_false(kl_room_holds_up(&r, 2));
    begin(KL_POLICY_STRICT);
    assert_int_equal(fall_behind(1000, 3000), 3000);
    assert_true(kl_room_holds_up(&r, 2)); /* the room may be told */
    assert_int_equal(r.client[2].presence, KL_PRESENT);
}

/* Each of its samples comes 30 ms late, just under two frame times, and no wait is charged. The schedule
 * slips, and that is. */
static void samples_held_for_less_than_a_free_wait_are_charged(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    uint32_t n = 0;
    uint64_t now_us = line(0);
    for (; n < 600 && r.client[2].presence == KL_PRESENT; n++) {
        for (unsigned i = 0; i < 2; i++)
            hand_ctrl(i, n, 1, 0, now_us);
        hand_ctrl(2, n, 1, 0, now_us += 30000);
        hand_take_all();
    }
    assert_in_range(n, 10, 100);
    assert_true(kl_room_holds_up(&r, 2));
}

static void where_nobody_keeps_pace_nobody_is_absent(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(call_seldom(7, 10, 0, 1000), 1000);
}

static void a_late_sample_now_and_then_is_borne(void **state) {
    (void)state;
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

/* --- what a frame owes to samples that were taken late --- */

static void lateness_of_the_sampler_is_no_need_of_the_links(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    all_say(7, 0);
    all_say(7, 1);
    all_say(3, 2);
    all_say(3, 3);
    hand_late = 16 * 10; /* the newest ten frames late, the one before eleven */
    hand_batch = 2;
    hand_ctrl(2, 2, 2, 0, line(3) + 300000);
    hand_take_all();
    assert_int_equal(r.next_close, interval + 4);
    assert_int_equal(r.excuse[(interval + 1) % KL_KEPT_FRAMES], 0);
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], 4 * 11 - 3);
    assert_int_equal(r.excuse[(interval + 3) % KL_KEPT_FRAMES], 4 * 10 - 3);
}

static uint32_t need_echo = 8960000;

/* Client 0 says that this was its need, and echoes what was sent 40 ms ago. */
static uint8_t kept_need_of(uint32_t frame, uint8_t told) {
    uint8_t buf[KL_DATAGRAM_MAX];
    r.client[0].sent[7].stamp = 8960000;
    struct kl_ctrl m = {.stamp = 9000000,
                        .has_echo = true,
                        .echo = need_echo,
                        .frame_acked = r.next_close,
                        .need_first = frame,
                        .need_count = 1,
                        .need = {told},
                        .sample_first = r.client[0].next_sample};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, 1, buf, sizeof buf);
    assert_int_equal(kl_room_receive(&r, 0, buf, len, 9000000), 0);
    return r.spacing.need[0][frame % KL_SPACING_HISTORY];
}

/* The client acknowledged the frame so late that the need may be true. */
static uint8_t kept_need(uint32_t frame, uint8_t told) {
    r.client[0].shown_us[frame % KL_WINDOW_FRAMES] = 9000000;
    return kept_need_of(frame, told);
}

static void a_need_counts_without_what_the_frame_owes_to_it(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 4; n++)
        all_say(n < 2 ? 7 : 3, n);
    hand_late = 16 * 10;
    hand_batch = 2;
    hand_ctrl(2, 2, 2, 0, line(3) + 300000);
    hand_take_all();
    assert_int_equal(kept_need(interval + 1, 9), 9);
    assert_int_equal(kept_need(interval + 2, 50), 50 - 41);
    assert_int_equal(kept_need(interval + 3, 20), 1);
}

/* The lead is four frames, and the client had the frame one and a half before it was due, or one round trip
 * before that. */
static void a_need_is_no_greater_than_the_acknowledgement_shows(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        all_say(7, n);
    assert_int_equal(interval, 4);
    hand_ctrl(0, 3, 0, 0, line(interval + 2) - 30000);
    assert_int_equal(kept_need_of(interval + 2, 254), 4 * 4 - 6 - 8 + 4); /* a trip of two frames */
    r.client[0].trip_us = 1;
    assert_int_equal(kept_need_of(interval + 2, 254), 4 * 4 - 6 + 4 - 1);  /* and a moment */
    assert_int_equal(kept_need_of(interval + 1, 254), 4 * 4 - 12 + 4 - 1); /* three frames before */
}

/* What it acknowledges is not all that it has: it echoes an UPDATE with more. */
static void who_echoes_a_frame_has_it(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        all_say(7, n);
    struct kl_room_client *c = &r.client[0];
    c->frame_acked = c->shown = interval;
    c->sent[3].stamp = (uint32_t)line(interval + 1);
    c->sent[3].end = interval + 2;
    hand_has_echo = true;
    hand_echo = c->sent[3].stamp;
    uint32_t closed = r.next_close;
    r.next_close = interval; /* as hand_ctrl() acknowledges */
    hand_ctrl(0, 3, 0, 0, line(interval + 2));
    r.next_close = closed;
    assert_int_equal(c->frame_acked, interval);
    assert_int_equal(c->shown, interval + 2);
    assert_int_equal(c->shown_us[(interval + 1) % KL_WINDOW_FRAMES], (uint32_t)line(interval + 2));
}

/* A client that shows no stamp of ours shows nothing of its link. */
static void needs_without_a_true_echo_say_nothing(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        all_say(7, n);
    need_echo++;
    assert_int_equal(kept_need(interval + 2, 9), 0);
    need_echo--;
    assert_int_equal(kept_need(interval + 2, 9), 9);
}

/* Client 2 sends sample 2 long after its time. trip_us: the shortest so far. */
static uint32_t trip_us;
static uint8_t excuse_with_echo(bool has_echo, uint32_t echo) {
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 3; n++)
        all_say(n < 2 ? 7 : 3, n);
    hand_has_echo = has_echo;
    hand_echo = echo;
    r.client[2].trip_us = trip_us;
    if (echo < line(50)) r.client[2].sent[5].stamp = echo; /* one of ours */
    hand_ctrl(2, 2, 1, 0, line(2) + 200000);
    hand_take_all();
    return r.excuse[(interval + 2) % KL_KEPT_FRAMES];
}

/* What it echoes was sent eight frames after the sample's time: it held the sample back, whatever it says of
 * itself. With an old echo its link may be long. One that has shown how short its link is, and now echoes
 * nothing of ours, has had the newest. */
static void a_sample_that_left_late_by_its_echo_is_no_need_of_the_links(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    uint32_t sent = (uint32_t)line(2);
    assert_int_equal(excuse_with_echo(true, sent + 160000), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(true, sent - 1000), 0);
    assert_int_equal(excuse_with_echo(true, sent + 10000), 0);         /* a frontend's phase */
    assert_int_equal(excuse_with_echo(true, sent + 100 * 1000000), 0); /* no stamp of ours: it is to come */
    assert_int_equal(excuse_with_echo(false, 0), 0);
    trip_us = 40000;
    assert_int_equal(excuse_with_echo(true, sent + 100 * 1000000), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(false, 0), 4 * 8 - 3);
    assert_int_equal(excuse_with_echo(true, sent - 1000), 0);
    trip_us = 0;
}

/* All stood still and one is coming back: the frames between close by the schedule alone, whatever the lead
 * is. */
static void needs_of_a_frame_that_nobody_fed_say_nothing(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    all_say(7, 0);
    kl_room_tick(&r, line(interval + 1) + BUDGET_US);
    assert_int_equal(kl_room_away(&r), 7);
    hand_ctrl(0, 30, 0, HAND_RESUME, line(30)); /* no later interval counts before frame 30 */
    hand_take_all();
    uint32_t f = r.next_close;
    for (; r.next_close < f + 3;)
        kl_room_tick(&r, kl_room_tick_at(&r));
    assert_int_equal(r.client[0].presence, KL_RETURNING);
    assert_int_equal(kept_need(f, 60), 0);
    assert_int_equal(kept_need(f + 2, 60), 0);
}

/* Round trips measured right after a machine stood still are too long. In a new session they are all there
 * is. */
static void a_client_that_returns_asks_for_no_more_spacing_than_it_left(void **state) {
    (void)state;
    for (unsigned new_session = 0; new_session < 2; new_session++) {
        begin(KL_POLICY_BOUNDED);
        r.params.spacing_fixed = 0;
        all_say(7, 0);
        hand_ctrl(2, 1, 0, HAND_AWAY, line(1));
        if (new_session) assert_int_equal(kl_room_return(&r, 2, r.next_close, line(1)), 0);
        for (unsigned i = 0; i < KL_RTT_RECENT; i++)
            kl_rtt_sample(&r.client[2].rtt, 450000);
        hand_ctrl(2, 4, 1, HAND_RESUME, line(1) + 1);
        for (uint32_t n = 1; r.client[2].presence != KL_PRESENT && n < 40; n++)
            all_say(3, n);
        assert_int_equal(r.client[2].presence, KL_PRESENT);
        if (new_session)
            assert_true(r.spacing.current > 20);
        else
            assert_int_equal(r.spacing.current, 4);
    }
}

/* For 4 s and a bit: the needs of three clients, quarter frames. */
static void all_need(unsigned a, unsigned b, unsigned c) {
    uint32_t from = r.spacing.reported;
    for (uint32_t f = from; f < from + 250; f++) {
        kl_spacing_need(&r.spacing, 0, f, (uint8_t)a);
        kl_spacing_need(&r.spacing, 1, f, (uint8_t)b);
        kl_spacing_need(&r.spacing, 2, f, (uint8_t)c);
    }
}

static void all_are_so_far(uint32_t a_us, uint32_t b_us, uint32_t c_us) {
    const uint32_t rtt_us[] = {a_us, b_us, c_us};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n < KL_RTT_RECENT; n++)
            kl_rtt_sample(&r.client[i].rtt, rtt_us[i]);
}

/* Its way up lengthens all needs and its own round trip; its way down its own needs, too. */
static void whose_link_sets_the_spacing(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    assert_int_equal(kl_room_farthest(&r), KL_MAX_CLIENTS); /* of fixed spacing nobody's */
    r.params.spacing_fixed = 0;
    assert_int_equal(kl_room_farthest(&r), KL_MAX_CLIENTS); /* not known yet */
    all_are_so_far(20000, 30000, 25000);
    all_need(8, 9, 8);
    assert_int_equal(kl_room_farthest(&r), KL_MAX_CLIENTS); /* none stands out */
    all_need(8, 9, 16);
    assert_int_equal(kl_room_farthest(&r), 2); /* down */
    all_need(12, 12, 12);
    assert_int_equal(kl_room_farthest(&r), KL_MAX_CLIENTS);
    all_are_so_far(20000, 60000, 25000);
    assert_int_equal(kl_room_farthest(&r), 1); /* up */
}

/* A link that loses and delays, and a machine that takes its samples late or holds them back. */
static void late_by_itself_or_by_its_link(void **state) {
    (void)state;
    begin(KL_POLICY_BOUNDED);
    for (uint32_t n = 0; n < 40; n++) {
        all_say(3, n);
        assert_int_equal(hand_ctrl(2, n, 1, 0, line(n) + 50000), 0);
    }
    assert_false(kl_room_late_itself(&r, 2));
    for (uint32_t n = 40; n < 80; n++) {
        all_say(3, n);
        hand_late = 48; /* three frames, as the client says or the relay finds */
        assert_int_equal(hand_ctrl(2, n, 1, 0, line(n) + 50000), 0);
        hand_late = 0;
    }
    assert_true(kl_room_late_itself(&r, 2));
    assert_false(kl_room_late_itself(&r, 0));
}

/* 5/16 of a frame are a frontend's phase; where the turn came late they are not, and what is rounded up in
 * needs goes with them. */
static void a_late_turn_is_no_phase(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    for (uint32_t n = 0; n < 4; n++)
        all_say(n < 2 ? 7 : 3, n);
    hand_late = 5;
    hand_batch = 1;
    hand_ctrl(2, 2, 1, 0, line(2) + 6250);
    hand_turn_late = 5;
    hand_ctrl(2, 3, 1, 0, line(3) + 6250);
    hand_take_all();
    assert_int_equal(r.excuse[(interval + 2) % KL_KEPT_FRAMES], 0);
    assert_int_equal(r.excuse[(interval + 3) % KL_KEPT_FRAMES], 1); /* the others' came at its line */
}

/* Another's sample came hardly earlier: that is a long link. */
static void what_would_have_been_late_all_the_same_is_no_excuse(void **state) {
    (void)state;
    begin(KL_POLICY_STRICT);
    all_say(7, 0);
    hand_ctrl(0, 1, 1, 0, line(1));
    hand_ctrl(1, 1, 1, 0, line(1) + 90000);
    hand_late = 16 * 60;
    hand_batch = 1;
    hand_ctrl(2, 1, 1, 0, line(1) + 100000);
    assert_int_equal(r.excuse[(interval + 1) % KL_KEPT_FRAMES], 2); /* 10 ms of 20 */
}

static void nobody_is_absent_before_the_start(void **state) {
    (void)state;
    hand_begin((struct kl_params){.policy = KL_POLICY_OPTIMISTIC,
                                  .subframes = true,
                                  .clocked = true,
                                  .players = 2,
                                  .wait_budget_ms = 60,
                                  .fps_uhz = 50000000});
    kl_room_add(&r, 0, 1, 0);
    kl_room_add(&r, 1, 2, 0);
    hand_ctrl(0, 0, 0, 0, 1000);
    hand_ctrl(1, 0, 0, HAND_AWAY, 900000);
    assert_int_equal(r.client[0].presence, KL_PRESENT);
    assert_int_equal(r.client[1].presence, KL_PRESENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_waits_for_ever),
        cmocka_unit_test(bounded_waits_for_the_budget_once),
        cmocka_unit_test(a_short_budget_moves_the_schedule_too),
        cmocka_unit_test(the_budget_counts_from_the_last_close_where_that_is_later),
        cmocka_unit_test(who_says_away_is_absent_at_once),
        cmocka_unit_test(an_overtaken_word_does_not_count),
        cmocka_unit_test(a_spectator_is_never_absent),
        cmocka_unit_test(he_feeds_the_interval_after_the_keyframe_he_reaches),
        cmocka_unit_test(what_he_said_before_is_not_wanted),
        cmocka_unit_test(he_may_come_back_without_a_sample),
        cmocka_unit_test(where_all_are_absent_nothing_closes_until_one_is_back),
        cmocka_unit_test(who_is_sparing_gets_nothing_at_half_steps),
        cmocka_unit_test(who_calls_too_seldom_is_absent_though_no_wait_is_long),
        cmocka_unit_test(he_comes_back_after_a_pause_that_grows),
        cmocka_unit_test(a_machine_that_is_a_few_percent_too_slow_is_found),
        cmocka_unit_test(samples_held_for_less_than_a_free_wait_are_charged),
        cmocka_unit_test(where_nobody_keeps_pace_nobody_is_absent),
        cmocka_unit_test(a_late_sample_now_and_then_is_borne),
        cmocka_unit_test(lateness_of_the_sampler_is_no_need_of_the_links),
        cmocka_unit_test(a_need_counts_without_what_the_frame_owes_to_it),
        cmocka_unit_test(a_need_is_no_greater_than_the_acknowledgement_shows),
        cmocka_unit_test(who_echoes_a_frame_has_it),
        cmocka_unit_test(needs_without_a_true_echo_say_nothing),
        cmocka_unit_test(a_sample_that_left_late_by_its_echo_is_no_need_of_the_links),
        cmocka_unit_test(needs_of_a_frame_that_nobody_fed_say_nothing),
        cmocka_unit_test(a_client_that_returns_asks_for_no_more_spacing_than_it_left),
        cmocka_unit_test(whose_link_sets_the_spacing),
        cmocka_unit_test(late_by_itself_or_by_its_link),
        cmocka_unit_test(a_late_turn_is_no_phase),
        cmocka_unit_test(what_would_have_been_late_all_the_same_is_no_excuse),
        cmocka_unit_test(nobody_is_absent_before_the_start),
    };
    return cmocka_run_group_tests_name("room_absence", tests, NULL, NULL);
}

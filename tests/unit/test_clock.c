/* RTT, the relay's clock as a client sees it, the room's schedule: numbers worked out by hand. */
#include "tests/unit/unit.h"

#include "net/engine/clock.h"

#define assert_near(a, b, by) assert_true((a) - (b) < (by) && (b) - (a) < (by))

/* Frames of 10 ms; frame 0 stands at 0 of the relay's clock, of which a client hears at 1 s of its own. */
static struct kl_clock begun(void) {
    struct kl_clock c;
    kl_clock_init(&c, 10000);
    kl_clock_heard(&c, 0, 1000000);
    kl_clock_schedule(&c, 0, 0, 0);
    return c;
}

TEST(rtt_as_rfc_6298_has_it) {
    struct kl_rtt r = {0};
    kl_rtt_sample(&r, 100000);
    assert_int_equal(r.srtt_us, 100000);
    assert_int_equal(r.rttvar_us, 50000);
    kl_rtt_sample(&r, 140000); /* 3/4 of 50 ms + 1/4 of 40 ms; 7/8 of 100 ms + 1/8 of 140 ms */
    assert_int_equal(r.rttvar_us, 47500);
    assert_int_equal(r.srtt_us, 105000);
    kl_rtt_sample(&r, 105000);
    assert_int_equal(r.rttvar_us, 35625);
    assert_int_equal(r.srtt_us, 105000);
    assert_int_equal(r.last_us, 105000);
    assert_int_equal(r.count, 3);
}

/* Eight round trips; a machine that stood still for 400 ms spoils two of them. */
TEST(the_least_leaves_out_a_standstill) {
    struct kl_rtt r = {0};
    uint32_t spread;
    assert_int_equal(kl_rtt_least_us(&r, &spread), 0);
    kl_rtt_sample(&r, 900000);
    assert_int_equal(kl_rtt_least_us(&r, &spread), 900000);
    assert_int_equal(spread, 0);
    for (uint32_t i = 0; i < 6; i++)
        kl_rtt_sample(&r, 50000 + i * 1000);
    kl_rtt_sample(&r, 450000);
    assert_int_equal(kl_rtt_least_us(&r, &spread), 50000);
    assert_int_equal(spread, 5000);
    kl_rtt_sample(&r, 51500); /* in place of the first */
    kl_rtt_sample(&r, 52500);
    assert_int_equal(kl_rtt_least_us(&r, &spread), 51000); /* 50000 is forgotten */
}

TEST(the_usual_value_leaves_two_out) {
    struct kl_usual u = {0};
    kl_usual_add(&u, 1e9);
    kl_usual_add(&u, 300);
    assert_int_equal(kl_usual(&u), 0);
    kl_usual_add(&u, 15.6);
    assert_int_equal(kl_usual(&u), 16);
    for (unsigned i = 0; i < KL_USUAL_COUNT - 1; i++)
        kl_usual_add(&u, 10);
    assert_int_equal(kl_usual(&u), 10); /* one of the three is left */
}

TEST(a_schedule_is_seen_one_way_later) {
    struct kl_clock c;
    kl_clock_init(&c, 10000);
    assert_near(kl_clock_position(&c, 5000000), 0, 1e-9); /* nothing known yet */
    kl_clock_heard(&c, 1000, 5001000);
    kl_clock_schedule(&c, 1000, 7,
                      50000); /* frame 7 in 50 ms of the relay: here, when the datagram's like would come */
    assert_near(kl_clock_position(&c, 5051000), 7, 1e-6);
    assert_near(kl_clock_position(&c, 5056000), 7.5, 1e-6);
    assert_near(kl_clock_position(&c, 5041000), 6, 1e-6);
}

TEST(the_shortest_way_counts) {
    struct kl_clock c = begun();
    kl_clock_heard(&c, 10000, 1007000); /* 3 ms quicker; taken at once, for we have just begun */
    assert_near(kl_clock_position(&c, 1007000), 1.0, 1e-6);
    kl_clock_heard(&c, 20000, 1025000); /* 5 ms slower: changes nothing */
    assert_near(kl_clock_position(&c, 1027000), 3.0, 1e-6);
}

TEST(later_it_is_followed_slowly) {
    struct kl_clock c = begun();
    for (uint32_t t = 100000; t <= 1000000; t += 100000)
        kl_clock_heard(&c, t, 1000000 + t);
    double before = kl_clock_position(&c, 2000000);
    kl_clock_heard(&c, 1020000, 2000000); /* 20 ms quicker */
    assert_near(kl_clock_position(&c, 2000000), before, 1e-6);
    assert_near(kl_clock_position(&c, 2100000), before + 10.2, 1e-6);  /* 2 % quicker */
    assert_near(kl_clock_position(&c, 4000000), before + 202.0, 1e-6); /* arrived, and no further */
}

TEST(an_old_way_is_forgotten) {
    struct kl_clock c = begun();
    for (uint32_t t = 100000; t <= 20000000; t += 100000)
        kl_clock_heard(&c, t, 1030000 + t); /* 30 ms longer now */
    assert_near(kl_clock_position(&c, 21030000), 2000, 0.01);
}

/* Two clients, whatever their own clocks say, forget the old way at the same moment of the relay's clock. */
TEST(all_slew_at_the_same_time) {
    struct kl_clock c[2];
    const uint32_t began[2] = {0, 310000};
    for (unsigned i = 0; i < 2; i++) {
        kl_clock_init(&c[i], 10000);
        for (uint32_t t = began[i]; t < 10000000; t += 10000) {
            kl_clock_heard(&c[i], t, 1000000 + 70000 * i + t + (t > 7000000 ? 30000 : 0));
            kl_clock_schedule(&c[i], t, t / 10000, 0);
        }
    }
    assert_near(c[0].base_us, c[1].base_us, 1e-6);
    for (uint32_t t = 10000000; t < 11500000; t += 10000) {
        for (unsigned i = 0; i < 2; i++)
            kl_clock_heard(&c[i], t, 1030000 + 70000 * i + t);
        assert_near(c[0].base_us, c[1].base_us, 1);
    }
    assert_true(c[0].base_us > 5000 && c[0].base_us < 25000); /* under way */
}

/* The process stood still for 8 s: what the socket held comes at once, as if it had been under way so long.
 */
TEST(datagrams_that_lay_in_the_socket_are_not_followed) {
    struct kl_clock c = begun();
    for (uint32_t t = 10000; t <= 5000000; t += 10000)
        kl_clock_heard(&c, t, 1000000 + t);
    for (uint32_t t = 5010000; t <= 6000000; t += 10000)
        kl_clock_heard(&c, t, 14000000 + t / 1000); /* all within a millisecond */
    kl_clock_heard(&c, 13010000, 14010000);
    assert_near(kl_clock_position(&c, 14010000), 1301, 0.1);
}

TEST(a_machine_that_slept_goes_on_with_the_room) {
    struct kl_clock c = begun();
    for (uint32_t t = 10000; t <= 5000000; t += 10000)
        kl_clock_heard(&c, t, 1000000 + t);
    kl_clock_heard(&c, 65000000, 6010000); /* a minute, of which the clock here counted 10 ms */
    assert_near(kl_clock_position(&c, 6010000), 6500, 0.1);
}

TEST(stamps_wrap) {
    struct kl_clock c;
    kl_clock_init(&c, 10000);
    uint64_t now = (UINT64_C(5) << 32) - 40000; /* both clocks wrap, at different moments */
    kl_clock_heard(&c, UINT32_MAX - 19999, now);
    kl_clock_schedule(&c, UINT32_MAX - 19999, 0, 0);
    for (unsigned i = 1; i <= 10; i++) {
        kl_clock_heard(&c, UINT32_MAX - 19999 + i * 10000, now + i * 10000);
        kl_clock_schedule(&c, UINT32_MAX - 19999 + i * 10000, i, 0);
        assert_near(kl_clock_position(&c, now + i * 10000), i, 1e-6);
    }
    assert_true(c.peer_stamp == 80000);
}

TEST(the_newest_stamp_is_echoed) {
    struct kl_clock c;
    kl_clock_init(&c, 10000);
    kl_clock_heard(&c, 500, 1000);
    kl_clock_heard(&c, 400, 1100); /* overtaken */
    assert_int_equal(c.peer_stamp, 500);
    assert_int_equal(c.heard_at_us, 1000);
    kl_clock_schedule(&c, 500, 10, 0);
    kl_clock_schedule(&c, 400, 20, 0); /* an older word on the schedule is not news */
    assert_near(kl_clock_position(&c, 1000), 10, 1e-6);
}

TEST(the_line) {
    struct kl_schedule s;
    kl_schedule_start(&s, 1000000, 10000);
    assert_near(kl_schedule_line_us(&s, 0), 1000000, 1e-6);
    assert_near(kl_schedule_line_us(&s, 36000), 361000000, 1e-3);
}

/* A longer link: by whole frames, so that who called when stays as it was; but a display's drift as it comes.
 */
TEST(a_lasting_frame_or_more_moves_it_by_whole_frames) {
    static const struct {
        uint32_t late_us, moved_us;
    } row[] = {{9900, 9900}, {10000, 10000}, {10900, 10000}, {27000, 30000}, {46100, 50000}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct kl_schedule s;
        kl_schedule_start(&s, 0, 10000);
        for (uint32_t f = 0; f < KL_SCHEDULE_WINDOW; f++)
            kl_schedule_closed(&s, f, f * 10000 + row[i].late_us);
        assert_near(kl_schedule_line_us(&s, 0), row[i].moved_us, 1e-6);
    }
}

TEST(lasting_lateness_moves_the_schedule) {
    struct kl_schedule s;
    kl_schedule_start(&s, 0, 10000);
    for (uint32_t f = 0; f < KL_SCHEDULE_WINDOW - 1; f++)
        assert_false(kl_schedule_closed(&s, f, f * 10000 + 5000 + f));
    assert_true(kl_schedule_closed(&s, KL_SCHEDULE_WINDOW - 1, (KL_SCHEDULE_WINDOW - 1) * 10000 + 9000));
    assert_near(kl_schedule_line_us(&s, 0), 5000, 1e-6); /* by the least of them */
    assert_false(kl_schedule_closed(&s, KL_SCHEDULE_WINDOW, KL_SCHEDULE_WINDOW * 10000 + 5000));
    assert_near(kl_schedule_line_us(&s, 0), 5000, 1e-6);
}

TEST(one_frame_in_time_holds_it) {
    struct kl_schedule s;
    kl_schedule_start(&s, 1000000, 10000);
    for (uint32_t f = 0; f < 200; f++) {
        bool in_time = f % KL_SCHEDULE_WINDOW == 3;
        assert_false(kl_schedule_closed(&s, f, 1000000 + f * 10000 + (in_time ? 0 : 90000)));
    }
    assert_near(kl_schedule_line_us(&s, 0), 1000000, 1e-6);
}

TEST(a_long_stall_moves_it_at_once_and_never_back) {
    struct kl_schedule s;
    kl_schedule_start(&s, 0, 10000);
    assert_false(kl_schedule_closed(&s, 0, KL_SCHEDULE_JUMP_US));
    assert_true(kl_schedule_closed(&s, 1, 10000 + 2000000));
    assert_near(kl_schedule_line_us(&s, 1), 2010000, 1e-6);
    for (uint32_t f = 2; f < 100; f++)
        assert_false(kl_schedule_closed(&s, f, 0)); /* all early */
    assert_near(kl_schedule_line_us(&s, 1), 2010000, 1e-6);
}

/* --- playout --- */

/* Frames for so many seconds from *at_us on, 10 ms each, `late_us` late; every `spike_every`-th (0: none) 40
 * ms late. */
static void hear(struct kl_playout *p, uint64_t *at_us, unsigned seconds, double late_us,
                 unsigned spike_every) {
    for (unsigned i = 0; i < seconds * 100; i++, *at_us += 10000) {
        bool spike = spike_every && i % spike_every == spike_every - 1;
        kl_playout_heard(p, spike ? 40000 : late_us, *at_us);
        kl_playout_margin_us(p, *at_us);
    }
}

TEST(playout_covers_the_jitter) {
    struct kl_playout p = {0};
    uint64_t at = 1000000;
    hear(&p, &at, 5, 8000, 0);
    assert_near(kl_playout_margin_us(&p, at), 8000, 1);
    struct kl_playout early = {0};
    hear(&early, &at, 5, -3000, 0); /* nothing is late: nothing is held back */
    assert_near(kl_playout_margin_us(&early, at), 0, 1);
}

TEST(one_spike_in_ten_seconds_costs_nothing_two_do) {
    struct kl_playout p = {0};
    uint64_t at = 1000000;
    hear(&p, &at, 9, 2000, 0);
    kl_playout_heard(&p, 40000, at);
    hear(&p, &at, 3, 2000, 0);
    assert_near(kl_playout_margin_us(&p, at), 2000, 1);
    kl_playout_heard(&p, 40000, at);
    hear(&p, &at, 3, 2000, 0);
    assert_near(kl_playout_margin_us(&p, at), 40000, 1);
    hear(&p, &at, 16, 2000, 0); /* they are forgotten */
    assert_near(kl_playout_margin_us(&p, at), 2000, 1);
}

TEST(the_margin_moves_slowly_and_not_too_far) {
    struct kl_playout p = {0};
    uint64_t at = 1000000;
    kl_playout_heard(&p, 0, at);
    kl_playout_margin_us(&p, at);
    for (unsigned i = 0; i < 3; i++)
        kl_playout_heard(&p, 900000, at += KL_CLOCK_WINDOW_US);
    uint64_t from = at;
    double before = kl_playout_margin_us(&p, at);
    assert_near(kl_playout_margin_us(&p, at += 100000), before + 2000, 1); /* 20 ms a second */
    hear(&p, &at, 15, 900000, 0);
    assert_true(at > from);
    assert_near(kl_playout_margin_us(&p, at), KL_PLAYOUT_MAX_US, 1);
}

/* The network's thread and the frontend's take their times before they meet at the lock. */
TEST(times_out_of_order_do_not_slew) {
    struct kl_clock c;
    kl_clock_init(&c, 16666);
    for (uint64_t now = 1000000; now < 3000000; now += 16000)
        kl_clock_heard(&c, (uint32_t)(now - 25000), now);
    double base = c.base_us;
    for (uint64_t late = 0; late < 40;
         late++) /* a process that stood still reads what has piled up: seconds old */
        kl_clock_heard(&c, (uint32_t)(8000000 - 3000000 + late), 8000000 + late);
    kl_clock_schedule(&c, c.peer_stamp, 100, 0);
    kl_clock_position(&c, 8000000 - 1000); /* taken before the network's thread had its turn */
    assert_true(c.base_us - base < 150000);
}

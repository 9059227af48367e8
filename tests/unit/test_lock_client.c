/* One client's side of the lock, fed by hand-made UPDATEs: refusals, needs, and datagrams out. The rooms of
 * tests/sim judge its samples and frames. net/PROTOCOL.md §4 to §6. */
#include "tests/unit/unit.h"

#include "net/engine/frames.h"
#include "net/engine/lock_client.h"

static struct kl_client c;
static struct kl_frame ring[KL_KEPT_FRAMES];
static uint8_t buf[KL_DATAGRAM_MAX];

static struct kl_params params_of(bool subframes, bool clocked) {
    return (struct kl_params){
        .subframes = subframes, .clocked = clocked, .players = 2, .fps_uhz = 50000000}; /* 20 ms */
}

/* Frames of intervals of `spacing`, seat 0 showing the frame's number. */
static void make_frames(uint16_t spacing) {
    for (uint32_t f = 0; f < KL_KEPT_FRAMES; f++) {
        ring[f] = (struct kl_frame){
            .number = f, .keyframe = f / spacing * spacing, .spacing = spacing, .active = 3};
        if (f % spacing == 0) ring[f].flags = KL_FRAME_KEY;
        ring[f].in[0].joypad = (uint16_t)(f >= spacing ? f : 0);
    }
}

static struct kl_held held[KL_WINDOW_FRAMES];
static const struct kl_frames_from frames = {.ring = ring, .places = KL_KEPT_FRAMES};

static int update(uint32_t first, uint32_t count, uint32_t next_sample, int64_t due_us, uint64_t now_us) {
    struct kl_update u = {.stamp = (uint32_t)now_us,
                          .next_sample = next_sample,
                          .has_schedule = c.params.clocked,
                          .due_us = due_us,
                          .first = first,
                          .count = count};
    size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
    assert_true(len > 0);
    return kl_client_receive(&c, buf, len, now_us);
}

static void begin(bool subframes, bool clocked, uint8_t seats) {
    struct kl_params p = params_of(subframes, clocked);
    kl_client_init(&c, &p, seats, held, KL_WINDOW_FRAMES, 1000000);
    make_frames(4);
}

static void sample(uint16_t joypad, uint64_t now_us) {
    struct kl_input in[KL_MAX_SEATS];
    memset(in, 0, sizeof in);
    in[0].joypad = joypad;
    in[1].joypad = (uint16_t)~joypad;
    assert_int_equal(kl_client_sample(&c, in, now_us), 0);
}

/* One turn: all samples and frames that it wants. */
static struct kl_plan turn(uint64_t now_us, uint32_t max_runs) {
    struct kl_frame f;
    struct kl_plan p = kl_client_plan(&c, now_us, max_runs);
    for (uint32_t i = 0; i < p.samples; i++)
        sample(7, now_us);
    for (uint32_t i = 0; i < p.runs; i++)
        assert_true(kl_client_take(&c, &f));
    return p;
}

TEST(before_the_start_only_heartbeats) {
    begin(true, true, 1);
    struct kl_frame f;
    struct kl_input in = {0};
    struct kl_plan p = kl_client_plan(&c, 1000000, 8);
    assert_true(p.samples == 0 && p.runs == 0 && !p.stalled && p.backlog == 0);
    assert_int_equal(kl_client_sample(&c, &in, 1000000), KL_E_WINDOW);
    assert_false(kl_client_take(&c, &f));
    assert_int_equal(kl_client_send(&c, 1000000, buf, sizeof buf), 0);
    uint64_t at = kl_client_send_at(&c);
    assert_in_range(at, 1000001, 1100000);
    assert_true(kl_client_send(&c, at, buf, sizeof buf) > 0);
    assert_int_equal(kl_client_send(&c, at, buf, sizeof buf), 0);
}

TEST(old_and_far_frames_are_passed_over) {
    begin(true, false, 1);
    assert_int_equal(update(4, 4, 0, 0, 1000000), 0); /* 0..3 are missing */
    assert_int_equal(c.stats.next_closed, 0);
    assert_int_equal(update(0, 2, 0, 0, 1000000), 0);
    assert_int_equal(update(0, 2, 0, 0, 1000000), 0);
    assert_int_equal(c.stats.next_closed, 2);
    assert_int_equal(update(1, 5, 0, 0, 1000000), 0);
    assert_int_equal(c.stats.next_closed, 6);
    ring[3].in[0].joypad = 0xbad; /* a closed frame never changes */
    assert_int_equal(update(0, 8, 0, 0, 1000000), 0);
    struct kl_frame f;
    assert_int_equal(kl_client_plan(&c, 1000000, 100).runs, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(kl_client_take(&c, &f));
        assert_int_equal(f.in[0].joypad, i < 4 ? 0 : i);
    }
    for (uint32_t first = 8; first < KL_WINDOW_FRAMES; first += 62) /* more than there is place for */
        assert_int_equal(update(first, 62, 0, 0, 1000000), 0);
    assert_true(c.stats.next_closed - c.stats.next_run <= KL_WINDOW_FRAMES);
}

TEST(malformed_leaves_it_as_it_was) {
    static struct kl_client before;
    begin(true, true, 1);
    assert_int_equal(update(0, 4, 0, 50000, 1000000), 0);
    before = c;
    assert_int_equal(update(4, 4, 1, 0, 1010000), KL_E_MALFORMED); /* thanks for a sample never taken */
    assert_memory_equal(&c, &before, sizeof c);
    struct kl_update u = {.first = 4, .count = 4, .has_schedule = true};
    size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(kl_client_receive(&c, buf, cut, 1010000), KL_E_MALFORMED);
    buf[len] = 0;
    assert_int_equal(kl_client_receive(&c, buf, len + 1, 1010000), KL_E_MALFORMED);
    assert_memory_equal(&c, &before, sizeof c);
}

TEST(a_sample_goes_out_at_once_a_timer_repeats) {
    begin(true, true, 1);
    update(0, 4, 0, 0, 1000000);
    uint64_t now = 1100000;
    assert_true(kl_client_send(&c, now, buf, sizeof buf) > 0); /* long due */
    assert_int_equal(kl_client_send_at(&c), now + 25000);      /* 1.25 frame times */
    assert_int_equal(kl_client_send(&c, now + 24999, buf, sizeof buf), 0);
    assert_true(kl_client_plan(&c, now, 8).samples > 0);
    sample(1, now);
    assert_true(kl_client_send_at(&c) <= now);
    assert_true(kl_client_send(&c, now, buf, sizeof buf) > 0);
    assert_int_equal(kl_client_send(&c, now, buf, sizeof buf), 0);
    for (unsigned i = 1; i < 10; i++) /* whether or not there is anything new */
        assert_true(kl_client_send(&c, now + i * 25000, buf, sizeof buf) > 0);
}

/* The lead that a frame would have needed, told in whole quarters: a microsecond over one is the next. A
 * frame that comes less than 100 us before it is due counts as late. */
TEST(a_need_just_over_a_quarter_rounds_up) {
    static const struct {
        int64_t early_us;
        unsigned need;
    } row[] = {{10100, 14}, {10099, 15}, {10097, 15},  {10101, 14},       {100, 16}, {99, 17},
               {0, 17},     {-1, 17},    {-59900, 28}, {-200000000, 254}, {80099, 1}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        begin(true, true, 1); /* 50 fps: a quarter frame is 5,000 us; frames 4 to 7 have a lead of 4 */
        update(0, 4, 0, 100000, 1000000);
        for (uint32_t f = 0; f < 4; f++)
            turn(1100000 + f * 20000, 8);
        uint64_t due_us = 1180000;
        if (row[i].early_us <= 0) turn(due_us, 8); /* it is asked for before it comes */
        uint64_t at_us = due_us - (uint64_t)row[i].early_us;
        c.clock.heard = false; /* the schedule is known */
        struct kl_update u = {.stamp = 0, .first = 4, .count = 1};
        size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
        assert_int_equal(kl_client_receive(&c, buf, len, at_us), 0);
        kl_client_plan(&c, row[i].early_us <= 0 ? at_us : due_us, 8);
        struct kl_frame f;
        assert_true(kl_client_take(&c, &f));
        assert_int_equal(c.stats.need, row[i].need);
    }
}

TEST(rtt_is_less_the_hold) {
    begin(true, true, 1);
    struct kl_update u = {.stamp = 77, .has_echo = true, .echo = 1000000, .hold_us = 5000};
    size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
    assert_int_equal(kl_client_receive(&c, buf, len, 1045000), 0);
    assert_int_equal(c.stats.rtt_us, 40000);
    len = kl_client_send(&c, 1200000, buf, sizeof buf);
    struct kl_ctrl m;
    assert_int_equal(kl_ctrl_open(&m, 1, 0, buf, len), 0);
    assert_true(m.has_echo && m.echo == 77 && m.hold_us == 155000);
}

/* --- absence, closing by the clock --- */

/* As update(), with the relay's word on our presence; frame `first` is due at once. */
static void told(enum kl_presence presence, uint32_t first, uint32_t count, uint32_t next_sample,
                 uint64_t now_us) {
    struct kl_update u = {.stamp = (uint32_t)now_us,
                          .next_sample = next_sample,
                          .presence = (uint8_t)presence,
                          .has_schedule = true,
                          .due_us = 0,
                          .first = first,
                          .count = count};
    size_t len = kl_update_write(&u, &frames, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_client_receive(&c, buf, len, now_us), 0);
}

static struct kl_ctrl sent(uint64_t now_us) {
    static struct kl_ctrl m;
    size_t len = kl_client_send(&c, now_us, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_ctrl_open(&m, c.seat_count, 0, buf, len), 0);
    return m;
}

/* A frontend that calls seldom takes several samples at once: the relay is told how many, and how late the
 * newest is. */
TEST(a_late_turn_says_how_late_and_how_many) {
    begin(true, true, 1);
    told(KL_PRESENT, 0, 16, 0, 100000); /* frame f is due at 100,000 + 20,000 f */
    turn(100000, 1);
    struct kl_ctrl m = sent(100000);
    assert_int_equal(m.sample_late, 0);
    assert_int_equal(m.sample_batch, 1);
    assert_int_equal(turn(215000, 1).samples, 5); /* it is at frame 5.75, and runs one */
    m = sent(215000);
    assert_int_equal(m.sample_count, 6);
    assert_int_equal(m.sample_late, 12);
    assert_int_equal(m.sample_batch, 5);
}

/* Turns 20 ms apart, some wobbling by 5 ms. One that comes 40 ms after the last, 15 more than usual, says so,
 * and the frame that it makes due tells no need. */
TEST(a_turn_that_comes_late_is_told_apart_from_a_phase) {
    begin(true, true, 1);
    told(KL_PRESENT, 0, 60, 0, 100000);
    uint64_t now = 100000;
    for (unsigned i = 0; i < 40; i++)
        turn(now = 100000 + i * 20000 + (i % 8 == 3) * 5000, 1);
    assert_int_equal(sent(now).turn_late, 0);
    turn(now += 40000, 2);
    assert_in_range(sent(now).turn_late, 11, 13); /* sixteenths of 20 ms */
    turn(now += 20000, 1);
    struct kl_ctrl m = sent(now);
    assert_int_equal(m.turn_late, 0);
    for (uint32_t f = 39; f < 43; f++)
        if (f >= kl_ctrl_need_first(&m) && f < kl_ctrl_need_first(&m) + m.need_count)
            assert_int_equal(m.need[f - kl_ctrl_need_first(&m)] == 0, f == 40);
}

/* A machine that has the frames and does not run them is not held back by anybody. */
TEST(one_who_is_behind_by_himself_says_so) {
    begin(true, true, 1);
    told(KL_PRESENT, 0, 40, 0, 100000);
    for (unsigned i = 0; i < 16; i++) /* a frame in four frame times */
        turn(100000 + i * 80000, 1);
    struct kl_ctrl m = sent(100000 + 15 * 80000);
    assert_in_range(m.sample_late, 16 * 30, 16 * 36); /* at frame 60; samples go to 15 + 12 */
}

TEST(on_a_metered_link_nothing_goes_out_at_half_steps) {
    begin(true, true, 1);
    c.params.half_steps = true;
    told(KL_PRESENT, 0, 4, 0, 1000000);
    struct kl_ctrl m = sent(1200000);
    assert_false(m.sparing);
    assert_int_equal(kl_client_send_at(&c), 1210000);
    kl_client_spare(&c, true);
    assert_int_equal(kl_client_send_at(&c), 1225000);
    m = sent(1225000);
    assert_true(m.sparing);
}

/* 50 frames a second: two in a group. */
TEST(in_an_economy_room_a_datagram_takes_two_samples) {
    begin(true, true, 1);
    c.params.economy = true;
    told(KL_PRESENT, 0, 4, 0, 1000000);
    sent(1100000);
    assert_int_equal(kl_client_send_at(&c), 1150000); /* two frames and a half later */
    sample(1, 1100000);
    assert_int_equal(kl_client_send_at(&c), 1150000); /* it waits for the next one */
    sample(2, 1120000);
    assert_true(kl_client_send_at(&c) <= 1120000);
    struct kl_ctrl m = sent(1120000);
    assert_true(m.sample_first == 0 && m.sample_count == 2);
    sample(3, 1140000);
    kl_client_set_away(&c, true); /* at once all the same */
    m = sent(1140000);
    assert_true(m.away && m.sample_first == 0 && m.sample_count == 3);
    sample(4, 1160000);
    m = sent(1160000); /* and what was in a lost datagram comes again */
    assert_true(m.sample_first == 0 && m.sample_count == 4);
    c.params.half_steps = true; /* counts for nothing here */
    assert_int_equal(kl_client_send_at(&c), 1210000);
    c.params.clocked = false; /* nor do groups, without a clock */
    sample(5, 1165000);
    assert_true(kl_client_send_at(&c) <= 1165000);
}

TEST(a_group_has_as_many_frames_as_make_forty_a_second) {
    static const struct {
        uint32_t fps;
        unsigned frames;
    } rate[] = {{1, 1}, {40, 1}, {41, 2}, {60, 2}, {80, 2}, {120, 3}, {144, 4}, {1000, KL_GROUP_MAX}};
    for (unsigned i = 0; i < COUNT(rate); i++) {
        struct kl_params p = {
            .subframes = true, .clocked = true, .economy = true, .fps_uhz = rate[i].fps * 1000000};
        assert_int_equal(kl_group_frames(&p), rate[i].frames);
        p.economy = false;
        assert_int_equal(kl_group_frames(&p), 1);
    }
}

TEST(away_is_said_at_once) {
    begin(true, true, 1);
    told(KL_PRESENT, 0, 8, 0, 1000000);
    assert_false(sent(1030000).away);
    kl_client_set_away(&c, true);
    assert_true(kl_client_send_at(&c) <= 1030001);
    assert_true(sent(1030001).away);
    kl_client_set_away(&c, false);
    assert_false(sent(1030002).away);
}

TEST(by_the_clock_only_news_goes_out_at_once) {
    begin(true, true, 1);
    for (uint32_t f = 0; f < KL_WINDOW_FRAMES; f++)
        ring[f].flags |= KL_FRAME_BY_CLOCK;
    told(KL_PRESENT, 0, 100, 0, 1000000);
    uint64_t now = 1100000;
    while (turn(now, 100).samples == 0)
        now += 1000;
    sent(now);
    assert_int_equal(kl_client_send_at(&c), now + 25000); /* repeated until it is acknowledged */
    told(KL_PRESENT, 100, 0, c.stats.next_sample, now);
    uint64_t before = now;
    for (unsigned i = 0; i < 2; i++) { /* the same buttons: no news, and nothing to repeat */
        while (turn(now, 100).samples == 0)
            now += 1000;
        assert_int_equal(kl_client_send_at(&c), before + 50000);
    }
    while (kl_client_plan(&c, now, 100).samples == 0)
        now += 1000;
    sample(9, now);
    assert_true(kl_client_send_at(&c) <= now);
}

/* A quarter of a frame early is for frames that nobody's way down decides. */
TEST(by_the_clock_nothing_is_due_before_its_line) {
    for (unsigned by_clock = 0; by_clock < 2; by_clock++) {
        begin(true, true, 1);
        for (uint32_t f = 0; by_clock && f < KL_WINDOW_FRAMES; f++)
            ring[f].flags |= KL_FRAME_BY_CLOCK;
        told(KL_PRESENT, 0, 8, 0, 1000000);
        turn(1000000, 8);
        assert_int_equal(c.stats.next_run, 1);
        assert_int_equal(kl_client_plan(&c, 1016000, 8).runs, !by_clock);
        assert_int_equal(kl_client_plan(&c, 1020000, 8).runs, 1);
    }
}

/* Without a lead, what people are shown is by how much frames came after their line, and the margin held. */
TEST(by_the_clock_the_need_is_one_of_margin) {
    static const struct {
        int64_t late_us;
        unsigned need;
    } row[] = {{0, 1}, {-9000, 1}, {15000, 3}, {15010, 4}, {7000, 2}, {3000000, 254}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        begin(true, true, 1); /* a quarter frame is 5,000 us */
        for (uint32_t f = 0; f < KL_WINDOW_FRAMES; f++)
            ring[f].flags |= KL_FRAME_BY_CLOCK;
        update(0, 8, 0, 0, 1000000);
        c.playout.margin_us = 10001;
        c.playout.slewed_at_us = UINT64_MAX; /* keeps it */
        update(8, 1, 0, -row[i].late_us, 1160000 + (uint64_t)row[i].late_us);
        while (c.stats.next_run < 9)
            turn(1600000, 8);
        assert_int_equal(c.stats.need, row[i].need);
        assert_int_equal(c.stats.had, 3);
        assert_int_equal(held[8].need, 0); /* the relay is told none */
    }
}

/* Frames that close by the clock: when, and what they show of samples that come as they like. PROTOCOL.md §5.
 */
#include "tests/unit/unit.h"

#include "net/engine/lock_relay.h"
#include "tests/lib/relay_hand.h"

#define A 0x0001
#define B 0x0002

/* Two players; frame f is due at 51,000 + 20,000 f. Seats without an owner have no memory, as in a relay. */
static void begin(void) {
    hand_begin(hand_params(KL_POLICY_OPTIMISTIC, 2, 0));
    for (unsigned s = 2; s < KL_MAX_SEATS; s++) {
        r.sample[s] = r.near.input[s] = (struct kl_inputs){0};
        r.keys[s] = NULL;
    }
    assert_int_equal(kl_lock_add(&r, 0, 1, 0), 0);
    assert_int_equal(kl_lock_add(&r, 3, 2, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
    interval = hand_take_all();
    assert_true(interval > 0);
}

/* The samples of client 0's pad, from sample 0 on. */
static void says(const uint16_t *joypad, uint32_t count, uint32_t told_before, uint64_t now_us) {
    for (uint32_t i = 0; i < count; i++)
        ring[i][0].joypad = joypad[i];
    assert_int_equal(hand_ctrl(0, told_before, count - told_before, 0, now_us), 0);
}

static uint16_t next_frame(void) {
    struct kl_frame f;
    uint32_t n = r.next_close;
    assert_int_equal(kl_lock_tick_at(&r), hand_line(n));
    kl_lock_tick(&r, hand_line(n) - 1);
    assert_false(kl_lock_take(&r, &f));
    kl_lock_tick(&r, hand_line(n));
    assert_true(kl_lock_take(&r, &f));
    assert_int_equal(f.number, n);
    assert_true(f.flags & KL_FRAME_BY_CLOCK);
    assert_false(kl_lock_take(&r, &f) && "one at a time");
    return hand_last.in[0].joypad = f.in[0].joypad;
}

TEST(frames_close_at_their_lines_whatever_has_come) {
    begin();
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(next_frame(), 0);
    assert_int_equal(kl_lock_missing(&r), 0);
}

TEST(a_press_between_two_closes_shows_for_one_frame) {
    begin();
    says((uint16_t[]){0, A, 0}, 3, 0, hand_line(interval) - 5000);
    assert_int_equal(next_frame(), A);
    assert_int_equal(next_frame(), 0);
    assert_int_equal(next_frame(), 0);
}

TEST(press_release_press_shows_on_alternate_frames) {
    begin();
    says((uint16_t[]){A, 0, A, 0, A, A}, 6, 0, hand_line(interval) - 5000);
    static const uint16_t shown[] = {A, 0, A, 0, A, A};
    for (unsigned i = 0; i < COUNT(shown); i++)
        assert_int_equal(next_frame(), shown[i]);
}

/* The second press comes in the next frame's time, when the first has been folded and its release is hidden.
 */
TEST(a_release_shows_before_the_next_press) {
    begin();
    says((uint16_t[]){A, 0}, 2, 0, hand_line(interval) - 5000);
    assert_int_equal(next_frame(), A);
    says((uint16_t[]){A, 0, A}, 3, 2, hand_line(interval + 1) - 5000);
    assert_int_equal(next_frame(), 0);
    assert_int_equal(next_frame(), A);
    assert_int_equal(next_frame(), A);
}

TEST(other_buttons_do_not_wait) {
    begin();
    says((uint16_t[]){A, B, A | B}, 3, 0, hand_line(interval) - 5000);
    assert_int_equal(next_frame(), A); /* ends one before the sample that presses A again */
    assert_int_equal(next_frame(), B); /* this one shows A released */
    assert_int_equal(next_frame(), A | B);
}

TEST(without_news_it_holds_what_it_held_but_no_motion) {
    begin();
    ring[0][0].mouse_x = 7;
    says((uint16_t[]){A}, 1, 0, hand_line(interval) - 5000);
    kl_lock_tick(&r, hand_line(interval));
    struct kl_frame f;
    assert_true(kl_lock_take(&r, &f));
    assert_int_equal(f.in[0].mouse_x, 7);
    kl_lock_tick(&r, hand_line(interval + 1));
    assert_true(kl_lock_take(&r, &f));
    assert_int_equal(f.in[0].joypad, A);
    assert_int_equal(f.in[0].mouse_x, 0);
    ring[0][0].mouse_x = 0;
}

TEST(too_much_that_waits_is_taken_at_once) {
    uint16_t mash[41];
    begin();
    for (unsigned i = 0; i < COUNT(mash); i++)
        mash[i] = i % 2 ? 0 : A;
    says(mash, COUNT(mash), 0, hand_line(interval) - 5000);
    assert_int_equal(next_frame(), A);
    assert_int_equal(r.client[0].used, COUNT(mash));
}

/* An outage is over while the room pauses: more samples come than the room has places for. The next frame
 * shows the motion of all of them. */
TEST(no_motion_is_lost_that_comes_in_a_pause) {
    const uint32_t lag = KL_WINDOW_FRAMES + 60;
    begin();
    while (r.next_close < lag) { /* the clients are there, and say nothing new */
        hand_ctrl(0, 0, 0, 0, hand_line(r.next_close) - 1);
        hand_ctrl(3, 0, 0, 0, hand_line(r.next_close) - 1);
        kl_lock_tick(&r, hand_line(r.next_close));
    }
    hand_take_all();
    uint64_t now_us = hand_line(r.next_close) - 1;
    int32_t moved = 0;
    for (uint32_t n = 0; n < lag; n++) {
        ring[n % KL_WINDOW_FRAMES][0] = (struct kl_input){.mouse_x = (int16_t)(n % 7), .mouse_y = -1};
        moved += n % 7;
        assert_int_equal(hand_ctrl(0, n, 1, 0, now_us), 0);
    }
    assert_int_equal(r.client[0].next_sample, lag);
    kl_lock_tick(&r, hand_line(r.next_close));
    assert_int_equal(hand_take_all(), 1);
    assert_int_equal(hand_last.in[0].mouse_x, moved);
    assert_int_equal(hand_last.in[0].mouse_y, -(int32_t)lag);
    assert_int_equal(r.client[0].used, lag);
}

TEST(on_a_slow_link_frames_close_in_twos_and_threes) {
    static const struct { uint32_t rtt_us, group; } link[] = {{60000, 1}, {60001, 2}, {120001, 3}};
    for (unsigned i = 0; i < COUNT(link); i++) {
        begin();
        r.client[3].rtt.srtt_us = link[i].rtt_us;
        uint32_t first = (r.next_close + link[i].group) / link[i].group * link[i].group;
        kl_lock_tick(&r, hand_line(first) - 1);
        hand_take_all();
        assert_int_equal(r.next_close, first);
        kl_lock_tick(&r, hand_line(first));
        assert_int_equal(hand_take_all(), link[i].group);
    }
}

TEST(in_an_economy_room_they_close_in_twos_at_least) {
    static const struct { uint32_t rtt_us, group; } link[] = {{10000, 2}, {100000, 2}, {120001, 3}};
    for (unsigned i = 0; i < COUNT(link); i++) {
        begin();
        r.params.economy = true;
        r.client[3].rtt.srtt_us = link[i].rtt_us;
        uint32_t first = (r.next_close + link[i].group) / link[i].group * link[i].group;
        kl_lock_tick(&r, hand_line(first) - 1);
        hand_take_all();
        kl_lock_tick(&r, hand_line(first));
        assert_int_equal(hand_take_all(), link[i].group);
    }
}

TEST(silence_for_the_budget_is_absence) {
    begin();
    says((uint16_t[]){A}, 1, 0, 60000);
    kl_lock_tick(&r, 309999);
    assert_int_equal(r.client[0].presence, KL_PRESENT);
    hand_take_all();
    assert_int_equal(hand_last.in[0].joypad, A);
    assert_true(kl_lock_tick_at(&r) <= 310000);
    kl_lock_tick(&r, 310000);
    assert_int_equal(r.client[0].presence, KL_ABSENT);
    kl_lock_tick(&r, 340000);
    assert_true(hand_take_all() > 0);
    assert_int_equal(hand_last.in[0].joypad, 0);
    assert_int_equal(kl_lock_away(&r), 1);
}

/* From bounded: the samples of the interval before are the first not played. And back: one interval between
 * closes by the clock, from samples of before it; the one after from its samples as usual. */
TEST(a_change_of_policy_plays_every_sample_once) {
    hand_begin((struct kl_params){.policy = KL_POLICY_BOUNDED,
                                  .subframes = true,
                                  .clocked = true,
                                  .players = 1,
                                  .wait_budget_ms = 5000,
                                  .spacing_fixed = 4,
                                  .fps_uhz = 50000000});
    kl_lock_add(&r, 0, 1, 0);
    kl_lock_start(&r, 1000);
    for (uint32_t i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0] = (struct kl_input){.mouse_x = 1};
    int32_t played = 0;
    for (uint32_t n = 0; n < 120; n++) {
        uint8_t to[] = {n == 30 ? KL_POLICY_OPTIMISTIC : KL_POLICY_BOUNDED, 136, 19, 4, 0};
        if (n == 30 || n == 70) assert_int_equal(kl_lock_command(&r, 0, KL_COMMAND_POLICY, to, 5), 0);
        hand_ctrl(0, n, 1, 0, hand_line(n));
        kl_lock_tick(&r, hand_line(n));
        struct kl_frame f;
        while (kl_lock_take(&r, &f))
            played += f.in[0].mouse_x;
        assert_true(kl_lock_frame(&r, r.next_close - 1, &f));
        bool by_clock = f.flags & KL_FRAME_BY_CLOCK;
        if (n > 40 && n < 70) assert_true(by_clock);
        if (n < 30 || n > 90) assert_false(by_clock);
    }
    assert_int_equal(played, 120);
}

static uint32_t leave_optimistic(uint8_t policy) {
    uint8_t to[] = {policy, 250, 0, 4, 0};
    assert_int_equal(kl_lock_command(&r, 3, KL_COMMAND_POLICY, to, 5), 0);
    for (uint32_t n = r.next_close; r.params.policy == KL_POLICY_OPTIMISTIC; n++) {
        hand_ctrl(0, r.client[0].next_sample, 1, 0, hand_line(n));
        hand_ctrl(3, r.client[3].next_sample, 1, 0, hand_line(n));
        kl_lock_tick(&r, hand_line(n));
        hand_take_all();
    }
    assert_true(r.now.by_clock);
    return r.now.first;
}

/* A press that was under way longer than the frames between the policies take is shown all the same: the last
 * of them waits for it. */
TEST(a_press_that_comes_late_is_not_lost_by_leaving) {
    begin();
    uint32_t first = leave_optimistic(KL_POLICY_STRICT), last = first + r.now.length - 1;
    hand_ctrl(3, r.client[3].next_sample, last + 2 - r.client[3].next_sample, 0, hand_line(first));
    for (uint32_t n = first; n <= last + 3; n++)
        kl_lock_tick(&r, hand_line(n));
    assert_int_equal(r.next_close, last); /* a frame that is overdue */
    assert_int_equal(kl_lock_missing(&r), 1);
    assert_int_equal(kl_lock_tick_at(&r), UINT64_MAX); /* strict: as long as it takes */
    uint32_t from = r.client[0].next_sample;
    assert_true(from < r.now.samples_end);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = i == from ? A : 0;
    hand_take_all();
    assert_int_equal(hand_ctrl(0, from, r.now.samples_end - from, 0, hand_line(last + 4)), 0);
    assert_true(kl_lock_take(&r, &hand_last));
    assert_int_equal(hand_last.number, last);
    assert_int_equal(hand_last.in[0].joypad, A);
}

/* A press that cannot show in one frame has one more interval: two presses stay two. */
TEST(and_two_presses_stay_two) {
    begin();
    uint32_t first = leave_optimistic(KL_POLICY_STRICT), last = first + r.now.length - 1;
    hand_ctrl(3, r.client[3].next_sample, last + 2 - r.client[3].next_sample, 0, hand_line(first));
    for (uint32_t n = first; n <= last; n++)
        kl_lock_tick(&r, hand_line(n));
    uint32_t from = r.client[0].next_sample, end = r.now.samples_end, presses = 0, before = 0;
    assert_true(from + 3 <= end);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = i == from || i == from + 2 ? A : 0;
    hand_take_all();
    assert_int_equal(hand_ctrl(0, from, 120 - from, 0, hand_line(last)), 0);
    assert_int_equal(hand_ctrl(3, r.client[3].next_sample, 100 - r.client[3].next_sample, 0, hand_line(last)),
                     0);
    for (uint32_t n = last; n < last + 20; n++) {
        kl_lock_tick(&r, hand_line(n));
        while (kl_lock_take(&r, &hand_last)) {
            presses += hand_last.in[0].joypad & ~before & A;
            before = hand_last.in[0].joypad;
        }
    }
    assert_int_equal(presses, 2);
    assert_false(r.now.by_clock);
}

/* In a bounded room nobody waits for long. */
TEST(nor_is_anybody_waited_for_longer_than_the_policy_has_it) {
    begin();
    uint32_t first = leave_optimistic(KL_POLICY_BOUNDED), last = first + r.now.length - 1;
    hand_ctrl(3, r.client[3].next_sample, last + 2 - r.client[3].next_sample, 0, hand_line(first));
    for (uint32_t n = first; n <= last; n++)
        kl_lock_tick(&r, hand_line(n));
    assert_int_equal(r.next_close, last);
    assert_int_equal(kl_lock_tick_at(&r), hand_line(last) + 250000);
    kl_lock_tick(&r, hand_line(last) + 250000);
    assert_int_equal(r.client[0].presence, KL_ABSENT);
    assert_true(r.next_close > last);
}

/* Into optimistic with one who has just come back and of whom nothing has come yet: what stands in his places
 * is of long ago. */
TEST(samples_that_have_not_come_are_not_used_up) {
    hand_begin((struct kl_params){.policy = KL_POLICY_BOUNDED,
                                  .subframes = true,
                                  .clocked = true,
                                  .players = 2,
                                  .spacing_fixed = 4,
                                  .wait_budget_ms = 250,
                                  .fps_uhz = 50000000});
    assert_int_equal(kl_lock_add(&r, 0, 1, 0), 0);
    assert_int_equal(kl_lock_add(&r, 3, 2, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
    hand_ctrl(0, 0, 0, HAND_AWAY, hand_line(3));
    uint8_t to[] = {KL_POLICY_OPTIMISTIC, 250, 0, 4, 0};
    for (uint32_t n = 0; r.next_close < 40 && n < 100; n++) {
        if (r.next_close == 12)
            hand_ctrl(0, 14, 0, HAND_RESUME, hand_line(13)); /* counts from keyframe 16 on */
        if (r.next_close == 16) assert_int_equal(kl_lock_command(&r, 3, KL_COMMAND_POLICY, to, 5), 0);
        hand_ctrl(3, n, 1, 0, hand_line(n + 4));
        kl_lock_tick(&r, hand_line(n + 4));
        for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
            r.sample[0].pad[i].joypad = 0xbad;
        while (kl_lock_take(&r, &hand_last))
            assert_int_equal(hand_last.in[0].joypad, 0);
        if (!r.now.by_clock) continue;
        assert_int_equal(r.client[0].presence, KL_PRESENT);
        assert_int_equal(r.client[0].used, 14);
        break;
    }
    assert_true(r.now.by_clock);
    for (uint32_t n = r.next_close; n < r.next_close + 3; n++)
        kl_lock_tick(&r, hand_line(n));
    while (kl_lock_take(&r, &hand_last))
        assert_int_equal(hand_last.in[0].joypad, 0);
}

/* In the one interval between optimistic and the next policy he must fit in with the one after: only from its
 * first sample on, or what he said long ago would be played. */
TEST(a_client_that_comes_back_in_between_fits_in_first) {
    begin();
    uint8_t to[] = {KL_POLICY_STRICT, 250, 0, 4, 0};
    hand_ctrl(0, 0, 0, HAND_AWAY, hand_line(interval));
    assert_int_equal(kl_lock_command(&r, 3, KL_COMMAND_POLICY, to, 5), 0);
    for (uint32_t n = interval; r.params.policy == KL_POLICY_OPTIMISTIC; n++) {
        hand_ctrl(3, n - interval, 1, 0, hand_line(n));
        kl_lock_tick(&r, hand_line(n));
        hand_take_all();
    }
    assert_true(r.now.by_clock);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        r.sample[0].pad[i].joypad = 0xbad; /* of long ago */
    assert_int_equal(hand_ctrl(0, r.now.sample_first + 1, 1, HAND_RESUME, hand_line(r.next_close)), 0);
    assert_int_equal(r.client[0].presence, KL_RETURNING);
    uint32_t end = r.now.first + 3 * r.now.length;
    for (uint32_t n = 0; r.next_close < end && n < 100; n++) {
        hand_ctrl(3, r.client[3].next_sample, 1, 0, hand_line(r.next_close));
        kl_lock_tick(&r, hand_line(r.next_close));
        while (kl_lock_take(&r, &hand_last))
            assert_int_equal(hand_last.in[0].joypad, 0);
        if (kl_lock_missing(&r) & 1) break; /* now he counts, and is waited for */
    }
}

TEST(it_has_no_meaning_without_a_clock_or_subframes) {
    for (unsigned i = 0; i < 2; i++) {
        hand_begin((struct kl_params){.policy = KL_POLICY_OPTIMISTIC,
                                      .subframes = i,
                                      .clocked = !i,
                                      .players = 1,
                                      .wait_budget_ms = 250,
                                      .fps_uhz = 50000000});
        kl_lock_add(&r, 0, 1, 0);
        kl_lock_start(&r, 1000);
        struct kl_frame f;
        while (kl_lock_take(&r, &f))
            assert_false(f.flags & KL_FRAME_BY_CLOCK);
        assert_int_equal(r.params.policy, KL_POLICY_BOUNDED);
        assert_int_equal(kl_lock_missing(&r), 1);
    }
}

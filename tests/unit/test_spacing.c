/* How long the next interval is. spacing.h, docs/design.md §3 "Spacing". */
#include "tests/unit/unit.h"

#include <math.h>

#include "net/engine/engine.h"
#include "net/engine/spacing.h"

#define FPS 60

static void begin(struct kl_spacing *s, uint16_t first, uint16_t most, double fps, uint32_t frame) {
    static uint8_t memory[KL_MAX_CLIENTS][KL_SPACING_HISTORY];
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        s->need[i] = memory[i];
    kl_spacing_init(s, first, most, fps, frame);
}

/* Client `who` needed `quarters` for frames [from, to). */
static void need_of(struct kl_spacing *s, unsigned who, uint32_t from, uint32_t to, unsigned quarters) {
    for (uint32_t f = from; f < to; f++)
        kl_spacing_need(s, who, f, (uint8_t)quarters);
}

static void need(struct kl_spacing *s, uint32_t from, uint32_t to, unsigned quarters) {
    need_of(s, 0, from, to, quarters);
}

TEST(from_rtt) {
    assert_int_equal(kl_spacing_from_rtt(0, 0, 60), 2);
    assert_int_equal(kl_spacing_from_rtt(50000, 2000, 60), 5); /* 58 ms are 3.48 frames: 3 whole, and two */
    assert_int_equal(kl_spacing_from_rtt(10000000, 0, 60), KL_SPACING_MAX);
    assert_int_equal(kl_spacing_from_rtt(UINT32_MAX, UINT32_MAX, 1000), KL_SPACING_MAX);
}

/* docs/measured.md: at round trips of 20, 100 and 150 ms a press shows after 33, 117 and 168 ms. */
TEST(delay_to_expect) {
    assert_int_equal(kl_spacing_delay_ms(20, KL_RTT_UNKNOWN, false), 33);
    assert_int_equal(kl_spacing_delay_ms(100.2, 3, false), 117); /* the own round trip is the longer */
    assert_int_equal(kl_spacing_delay_ms(3, 150, false), 167);   /* the other's is */
    assert_int_equal(kl_spacing_delay_ms(0, 0, false), 17);
    assert_int_equal(kl_spacing_delay_ms(3, 150, true), 183);
}

TEST(nothing_reported_changes_nothing) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    for (uint32_t f = 4; f < 4000; f += 4)
        assert_int_equal(kl_spacing_next(&s, f), 4);
}

TEST(lasting_lateness_raises_by_the_whole_shortfall) {
    struct kl_spacing s;
    begin(&s, 3, KL_SPACING_MAX, FPS, 0);
    need(&s, 0, 100, 10);
    need(&s, 100, 100 + KL_SPACING_BURST - 1, 36);
    assert_int_equal(kl_spacing_next(&s, 120), 3);
    need(&s, 100 + KL_SPACING_BURST - 1, 100 + KL_SPACING_BURST, 36);
    assert_int_equal(kl_spacing_next(&s, 120), 9); /* 36 quarters, at once */
}

/* Whatever is late, and whatever a newcomer asks for. */
TEST(it_is_never_longer_than_its_limit) {
    struct kl_spacing s;
    begin(&s, 20, 12, FPS, 0);
    assert_int_equal(s.current, 12);
    begin(&s, 3, 12, FPS, 0);
    need(&s, 0, 100, 255);
    assert_int_equal(kl_spacing_next(&s, 100), 12);
    begin(&s, 3, 12, FPS, 0);
    kl_spacing_newcomer(&s, 29);
    assert_int_equal(kl_spacing_next(&s, 100), 12);
    s.most = 7; /* by a command */
    assert_int_equal(kl_spacing_next(&s, 110), 7);
}

TEST(it_stays_within_the_range) {
    struct kl_spacing s;
    begin(&s, 3, KL_SPACING_MAX, FPS, 0);
    need(&s, 0, 100, 255);
    assert_int_equal(kl_spacing_next(&s, 100), KL_SPACING_MAX);
    begin(&s, 3, KL_SPACING_MAX, FPS, 0);
    for (uint32_t f = 0; f < 20000; f += 3) {
        need(&s, f, f + 3, 1);
        uint16_t n = kl_spacing_next(&s, f + 3);
        assert_true(n >= KL_SPACING_MIN && n <= 3);
    }
    assert_int_equal(kl_spacing_next(&s, 20000), KL_SPACING_MIN);
}

/* One episode, and never most of eight frames, yet every other frame of half a second. */
TEST(many_late_frames_in_few_episodes_raise_it) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    need(&s, 0, 200, 15);
    for (uint32_t f = 200; f < 222; f++) {
        need(&s, f, f + 1, f % 2 ? 15 : 18);
        assert_int_equal(kl_spacing_next(&s, f + 1), f < 220 ? 4 : 5); /* the eleventh */
    }
}

/* Each of them counts for two, however long it is. */
TEST(three_hitches_raise_nothing_four_do) {
    struct kl_spacing s;
    for (unsigned apart = 150; apart <= 250; apart += 100) { /* four fill it by eight, less 3 × apart / 550 */
        begin(&s, 4, KL_SPACING_MAX, FPS, 0);
        uint16_t n = 4;
        for (uint32_t f = 0; f < 100 + 4 * apart; f++) {
            unsigned hitch = f >= 100 ? (f - 100) % apart : apart;
            need(&s, f, f + 1, hitch < 3 ? 23 : 15);
            n = kl_spacing_next(&s, f + 1);
            if (f < 100 + 3 * apart + 1) assert_int_equal(n, 4);
        }
        assert_int_equal(n, apart == 150 ? 6 : 4); /* none would have been late */
    }
}

/* A need that two frames more would not cover counts as well. */
TEST(seven_outliers_raise_nothing_eight_do) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    for (uint32_t f = 0; f < 400; f++) {
        need(&s, f, f + 1, f > 0 && f % 49 == 0 ? 40 : 15);
        assert_int_equal(kl_spacing_next(&s, f + 1), f < 8 * 49 ? 4 : 10);
    }
}

/* Late frames that come by chance, in so many of 10,000 frames, for so long: the spacing at the end, and when
 * it was raised first. */
static uint16_t by_chance(uint32_t seed, unsigned of_10000, uint32_t frames, uint32_t *raised) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    *raised = frames;
    for (uint32_t f = 0; f < frames; f++) {
        seed = seed * 1664525u + 1013904223u;
        bool late = (seed >> 8) % 10000 < of_10000;
        need(&s, f, f + 1, late ? 17 : 14); /* 14: a frame less would be late always */
        if (f % 4 == 3 && kl_spacing_next(&s, f + 1) > 4 && *raised == frames) *raised = f;
    }
    return s.current;
}

/* The budget, four hours of it; what is five, ten and thirty times the budget is found. */
TEST(a_rate_is_held_against_the_budget) {
    uint32_t raised;
    uint64_t sum[3] = {0};
    static const unsigned rate[3] = {50, 100, 300};
    for (uint32_t room = 0; room < 4; room++)
        assert_int_equal(by_chance(room * 77 + 5, 10, 3600 * FPS, &raised), 4);
    for (uint32_t room = 0; room < 20; room++)
        for (unsigned k = 0; k < 3; k++) {
            by_chance(room * 91 + k, rate[k], 300 * FPS, &raised);
            sum[k] += raised;
        }
    assert_in_range(sum[0] / 20, 20 * FPS, 80 * FPS);
    assert_in_range(sum[1] / 20, 8 * FPS, 25 * FPS);
    assert_in_range(sum[2] / 20, 2 * FPS, 6 * FPS);
}

/* A lateness that falls together with others' is each one's own: the room's budget does not grow with its
 * players. */
TEST(everyone_has_a_bucket_of_his_own) {
    struct kl_spacing s;
    for (unsigned together = 0; together < 2; together++) {
        begin(&s, 4, KL_SPACING_MAX, FPS, 0);
        uint16_t n = 4;
        for (uint32_t f = 0; f < 800; f++) {
            for (unsigned i = 0; i < 8; i++) {
                bool late = together ? f % 80 == 79 : f % 80 == 10 * i; /* ten in 800 frames, each of them */
                need_of(&s, i, f, f + 1, late && (together || f < 400) ? 17 : 14);
            }
            n = kl_spacing_next(&s, f + 1);
        }
        assert_int_equal(n, together ? 5 : 4); /* five of each one's are none too many, though forty in all */
    }
}

TEST(far_apart_they_are_lone_hitches) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    for (uint32_t f = 0; f < 4000; f += 4) {
        bool hitch = f == 100 || f == 800 || f == 1500 || f == 2200;
        need(&s, f, f + 4, hitch ? 24 : 15);
        assert_int_equal(kl_spacing_next(&s, f + 4), 4);
    }
}

/* A room that leaves optimistic, or that somebody comes back to, begins anew long after its frame 0. */
TEST(a_late_beginning_learns_first) {
    struct kl_spacing s;
    begin(&s, 12, KL_SPACING_MAX, FPS, 5000);
    for (uint32_t f = 5000; f < 5060; f++) {
        need(&s, f, f + 1, 18);
        assert_int_equal(kl_spacing_next(&s, f + 1), 12);
    }
    need(&s, 5060, 9000, 18);
    assert_int_equal(kl_spacing_next(&s, 9000), 5);
    kl_spacing_newcomer(&s, 9);
    need(&s, 9000, 9060, 18);
    assert_int_equal(kl_spacing_next(&s, 9060), 9);
}

TEST(the_first_guess_is_given_back_at_once) {
    struct kl_spacing s;
    begin(&s, 12, KL_SPACING_MAX, FPS, 0);
    for (uint32_t f = 0; f < 4 * FPS; f++) {
        need(&s, f, f + 1, 18); /* would do with 5 */
        uint16_t n = kl_spacing_next(&s, f + 1);
        assert_int_equal(n, f + 1 < 2 * FPS ? 12 : 5);
    }
}

TEST(two_or_more_are_given_back_soon_the_last_late) {
    struct kl_spacing s;
    begin(&s, 5, KL_SPACING_MAX, FPS, 0);
    uint32_t fast = 0, slow = 0;
    for (uint32_t f = 0; f < 60 * FPS; f++) {
        bool worse = f >= 3 * FPS && f < 4 * FPS; /* for a second the link needs 12 */
        need(&s, f, f + 1, worse ? 48 : 18);
        uint16_t n = kl_spacing_next(&s, f + 1);
        if (f < 4 * FPS) continue;
        if (!fast && n < 12) fast = f - 4 * FPS;
        if (!slow && n == 5) slow = f - 4 * FPS;
        if (!fast) assert_int_equal(n, 12);
        if (fast && !slow) assert_int_equal(n, 6); /* all but one of them, in one step */
        if (slow) assert_int_equal(n, 5);
    }
    assert_in_range(fast, 3 * FPS, 5 * FPS);
    assert_in_range(slow, 20 * FPS, 31 * FPS);
}

TEST(the_greatest_need_of_a_frame_counts) {
    struct kl_spacing s;
    begin(&s, 2, KL_SPACING_MAX, FPS, 0);
    need_of(&s, 3, 0, 20, 28);
    need_of(&s, 15, 0, 20, 5); /* another client was better off */
    need_of(&s, 3, 0, 20, 5);  /* told again, and less: the first word was the greater */
    assert_int_equal(kl_spacing_next(&s, 20), 7);
}

/* A client on a short way hears of its frames, and tells, long before the others do. */
TEST(one_who_reports_early_hides_nobodys_lateness) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    need_of(&s, 0, 0, 300, 10);
    need_of(&s, 1, 0, 280, 14);
    need_of(&s, 1, 280, 280 + KL_SPACING_BURST, 26);
    assert_int_equal(kl_spacing_next(&s, 300), 7);
}

/* A link that held its breath and then gave all at once: each frame was late by one less. */
TEST(lateness_that_passes_by_itself_raises_nothing) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    need(&s, 0, 200, 15);
    for (uint32_t i = 0; i < 12; i++) {
        need(&s, 200 + i, 201 + i, 64 - 4 * i);
        assert_int_equal(kl_spacing_next(&s, 201 + i), 4);
    }
    need(&s, 212, 220, 40); /* but here it stays */
    assert_int_equal(kl_spacing_next(&s, 220), 10);
}

/* One raise for all that the longer link will need: losses that asked for a frame more will do so again. */
TEST(known_losses_stay_known) {
    struct kl_spacing s;
    begin(&s, 5, KL_SPACING_MAX, FPS, 0);
    uint16_t n = 5;
    for (uint32_t f = 0; f < 40 * FPS; f++) {
        unsigned length = f < 20 * FPS ? 15 : 39; /* 6 frames more */
        need_of(&s, 0, f, f + 1, length + (f % 40 == 7 ? 4 : 0));
        need_of(&s, 1, f, f + 1, length + (f % 40 == 27 ? 4 : 0));
        n = kl_spacing_next(&s, f + 1);
        if (f < 20 * FPS + KL_SPACING_BURST - 1) assert_int_equal(n, 5);
        if (f > 20 * FPS + KL_SPACING_RECENT) assert_int_equal(n, 11); /* 10 would do but for the losses */
    }
}

/* The first frames of a longer link may say too little: what it has grown by is looked at for half a second.
 */
TEST(an_understated_beginning_is_mended_soon) {
    struct kl_spacing s;
    for (unsigned frames = 12; frames <= 60; frames += 48) {
        begin(&s, 5, KL_SPACING_MAX, FPS, 0);
        uint16_t n = 5;
        for (uint32_t f = 0; f < 30 * FPS; f++) {
            unsigned length = f < 20 * FPS ? 15 : f < 20 * FPS + frames ? 37 : 40;
            need_of(&s, 0, f, f + 1, length + (f % 40 == 7 ? 4 : 0));
            need_of(&s, 1, f, f + 1, length);
            n = kl_spacing_next(&s, f + 1);
            if (f == 20 * FPS + KL_SPACING_RECENT) assert_int_equal(n, 11); /* 10.25 with the losses */
            if (f == 20 * FPS + 30) assert_int_equal(n, 11);                /* 11 will do: 44 quarters */
        }
        assert_int_equal(n, 11);
        begin(&s, 4, KL_SPACING_MAX, FPS, 0);
        for (uint32_t f = 0; f < 21 * FPS; f++) {
            need(&s, f, f + 1, f < 20 * FPS ? 14 : f < 20 * FPS + frames ? 38 : 41);
            n = kl_spacing_next(&s, f + 1);
            if (f == 20 * FPS + frames - 1) assert_int_equal(n, 10);
            if (f == 20 * FPS + frames + 2)
                assert_int_equal(n, frames == 12 ? 11 : 10); /* later it takes more */
        }
    }
}

/* A frame that was under way when the link changed is no evidence of what the longer link will ask for on
 * top. */
TEST(samples_under_way_are_not_moved_with_the_rest) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    uint16_t n = 4;
    for (uint32_t f = 0; f < 22 * FPS; f++) {
        unsigned length = f < 20 * FPS ? 14 : f == 20 * FPS ? 26 : 38;
        bool lost = f == 20 * FPS - 100 || f == 20 * FPS - 200 || f == 20 * FPS - 300 || f == 20 * FPS + 60;
        for (unsigned i = 0; i < 2; i++)
            need_of(&s, i, f, f + 1, length + (lost && i == 0 ? 4 : 0));
        if (f % 10 == 9) n = kl_spacing_next(&s, f + 1);
        if (f == 20 * FPS + 19) assert_int_equal(n, 10);
    }
    assert_int_equal(n, 10); /* four losses are bearable; 26 + 24 of two clients beside them would not be */
}

/* Late at once when a frame less is tried, on a link of the same length: tried again more seldom, too. */
TEST(a_try_that_fails_at_once_is_no_longer_link) {
    struct kl_spacing s;
    begin(&s, 5, KL_SPACING_MAX, FPS, 0);
    unsigned given_back = 0;
    uint16_t before = 5;
    for (uint32_t f = 0; f < 600 * FPS; f++) {
        need(&s, f, f + 1, before == 4 ? 17 : 16);
        uint16_t n = kl_spacing_next(&s, f + 1);
        given_back += n < before;
        before = n;
    }
    assert_in_range(given_back, 3, 6);
}

/* The last frame is given back while the link becomes shorter: what is too many then goes no later for that.
 */
TEST(a_late_frame_given_back_delays_no_soon_ones) {
    struct kl_spacing s;
    begin(&s, 12, KL_SPACING_MAX, FPS, 0);
    const uint32_t shorter = 23 * FPS;
    uint32_t late = 0, soon = 0;
    for (uint32_t f = 0; f < 60 * FPS && !soon; f++) {
        need(&s, f, f + 1, f >= shorter ? 14 : f == 10 || f == 80 ? 47 : 42);
        uint16_t n = kl_spacing_next(&s, f + 1);
        if (!late && n == 11) late = f;
        if (n < 11) soon = f - shorter;
    }
    assert_in_range(late, 24 * FPS, 26 * FPS);
    assert_in_range(soon, 4 * FPS - 2, 5 * FPS);
}

/* Needs that were moved must not stand in the way of giving back when the link is short again. */
TEST(and_back_again_within_half_a_minute) {
    struct kl_spacing s;
    begin(&s, 5, KL_SPACING_MAX, FPS, 0);
    uint32_t first = 0, last = 0;
    for (uint32_t f = 0; f < 100 * FPS; f++) {
        bool longer = f >= 20 * FPS && f < 60 * FPS;
        need(&s, f, f + 1, (longer ? 39 : 15) + (f % 40 == 7 ? 4 : 0));
        uint16_t n = kl_spacing_next(&s, f + 1);
        if (f < 60 * FPS) continue;
        if (!first && n <= 9) first = f - 60 * FPS;
        if (!last && n == 5) last = f - 60 * FPS;
        assert_true(n <= 11 && n >= 5 && (!last || n == 5));
    }
    assert_in_range(first, 4 * FPS - 2, 5 * FPS);
    assert_in_range(last, 20 * FPS, 30 * FPS);
}

/* An edge on which a frame less is too little now and then: it is tried more and more seldom. */
TEST(a_spacing_that_was_taken_back_is_tried_more_seldom) {
    struct kl_spacing s;
    begin(&s, 5, KL_SPACING_MAX, FPS, 0);
    unsigned given_back = 0;
    uint16_t before = 5;
    uint32_t bad_until = 0;
    for (uint32_t f = 0; f < 600 * FPS; f++) {
        if (before == 4 && bad_until < f) bad_until = f + 10 * FPS; /* as soon as it is tried, it is bad */
        need(&s, f, f + 1, f < bad_until && f % 60 == 0 ? 18 : 14);
        uint16_t n = kl_spacing_next(&s, f + 1);
        given_back += n < before;
        before = n;
    }
    assert_in_range(given_back, 3, 6); /* every 30 s would be 20 times */
}

/* The spacing that sufficed when the link was as short is tried again though a few frames were late. */
TEST(a_spacing_that_sufficed_is_taken_again) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    uint32_t last = 0;
    for (uint32_t f = 0; f < 100 * FPS; f++) {
        bool longer = f >= 20 * FPS && f < 60 * FPS;
        bool hitch = f > 60 * FPS && f % (6 * FPS) == 5; /* four in 25 s, never three in 10 s */
        need(&s, f, f + 1, longer ? 39 : hitch ? 18 : 14);
        if (kl_spacing_next(&s, f + 1) == 4 && f > 60 * FPS && !last) last = f - 60 * FPS;
    }
    assert_in_range(last, 20 * FPS, 30 * FPS);
}

/* The ring must not take a frame's need for that of one KL_SPACING_HISTORY earlier. */
TEST(old_frames_are_forgotten) {
    struct kl_spacing s;
    begin(&s, 4, KL_SPACING_MAX, FPS, 0);
    need(&s, 0, KL_SPACING_HISTORY, 14);
    uint32_t f = 10 * KL_SPACING_HISTORY;
    need(&s, f, f + 1000, 14);
    kl_spacing_need(&s, 0, f + 900 - KL_SPACING_HISTORY, 200); /* too old: ignored */
    kl_spacing_need(&s, 0, 5, 200);
    kl_spacing_need(&s, 0, 6 + 9 * KL_SPACING_HISTORY, 200);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(kl_spacing_next(&s, f + 1000), 4);
}

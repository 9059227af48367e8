/* Frames that close by the clock, in groups. The rooms of tests/sim judge their samples. PROTOCOL.md §5. */
#include "tests/unit/unit.h"

#include "net/engine/lock_relay.h"
#include "tests/lib/relay_hand.h"

/* Two players; frame f is due at 51,000 + 20,000 f. */
static void begin(void) {
    hand_begin(hand_params(KL_POLICY_OPTIMISTIC, 2, 0));
    assert_int_equal(kl_lock_add(&r, 0, 1, 0), 0);
    assert_int_equal(kl_lock_add(&r, 3, 2, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
    hand_take_all();
}

TEST(on_a_slow_link_and_in_an_economy_room_frames_close_in_groups) {
    static const struct {
        uint32_t rtt_us, group;
        bool economy;
    } row[] = {{60000, 1, false}, {60001, 2, false}, {120001, 3, false},
               {10000, 2, true},  {100000, 2, true}, {120001, 3, true}};
    for (unsigned i = 0; i < COUNT(row); i++) {
        begin();
        r.params.economy = row[i].economy;
        r.client[3].rtt.srtt_us = row[i].rtt_us;
        uint32_t first = (r.next_close + row[i].group) / row[i].group * row[i].group;
        kl_lock_tick(&r, hand_line(first) - 1);
        hand_take_all();
        if (r.next_close != first) fail_msg("row %u: frame %u, not %u", i, r.next_close, first);
        kl_lock_tick(&r, hand_line(first));
        if (hand_take_all() != row[i].group) fail_msg("row %u: no group of %u", i, row[i].group);
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

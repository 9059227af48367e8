/* test_lock_relay_near.c - a lock that keeps its newest frames alone, and reads older ones from the history.
 * lock_relay_pace.c. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "net/engine/lock_relay_return.h"
#include "tests/lib/lock_memory.h"
#include "tests/lib/relay_hand.h"

#define BLOCKS 4

static struct kl_history history;
static uint32_t taken;

/* Client 0 plays two seats, 9 watches. */
static void begin(uint8_t policy) {
    struct kl_params p = hand_params(policy, 2, 4);
    hand_begin(p);
    kl_history_init(&history, 0, 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        kl_history_give(&history, malloc(KL_HISTORY_BLOCK));
    lock_begin(&r, &p, &history);
    taken = 0;
    assert_int_equal(kl_lock_add(&r, 0, 3, 0), 0);
    assert_int_equal(kl_lock_add(&r, 9, 0, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
}

static void take(void) {
    struct kl_frame f;
    while (kl_lock_take(&r, &f)) {
        struct kl_commands set;
        static struct kl_pad pads[KL_MAX_SEATS][KL_PIECE_FRAMES];
        assert_int_equal(f.number, taken);
        taken++;
        for (KL_EACH(s, kl_history_wants_pads(&history, &f)))
            kl_history_give_pads(&history, s, pads[s]);
        assert_true(kl_history_append(&history, &f, kl_lock_commands(&r, f.number, &set)) >= 0);
    }
}

static void play_until(uint32_t frame) {
    for (uint32_t n = 0; r.next_close < frame; n++) {
        assert_int_equal(hand_ctrl(0, n, 1, 0, hand_line(n)), 0);
        take();
    }
}

static void end(void) {
    for (void *b; (b = kl_history_drop(&history));)
        free(b);
}

/* A client that lacks a frame which is nowhere is lost; one that lacks a near one is not. */
TEST(a_history_that_stops_leaves_the_newest) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_frame f;
    begin(KL_POLICY_BOUNDED);
    play_until(100);
    for (uint32_t n = 0; r.next_close < 300; n++) {
        assert_int_equal(hand_ctrl(0, 100 - 4 + n, 1, 0, hand_line(100 + n)), 0);
        if (n == KL_NEAR_FRAMES / 2) assert_false(kl_lock_lost(&r, 9));
        while (kl_lock_take(&r, &f)) {
        }
    }
    assert_true(kl_lock_lost(&r, 9));
    assert_false(kl_lock_lost(&r, 0));
    assert_true(kl_lock_frame(&r, r.next_close - KL_NEAR_FRAMES, &f));
    assert_false(kl_lock_frame(&r, r.next_close - KL_NEAR_FRAMES - 1, &f));
    for (unsigned n = 0; kl_lock_send(&r, 9, hand_line(400), buf, sizeof buf) > 0; n++)
        assert_true(n < KL_BURST_MAX);
    end();
}

TEST(nobody_comes_without_memory) {
    static struct kl_lock_place place;
    static struct kl_pad pads[KL_WINDOW_FRAMES + KL_NEAR_FRAMES];
    struct kl_params p = hand_params(KL_POLICY_BOUNDED, 2, 4);
    kl_lock_init(&r, &p);
    assert_int_equal(kl_lock_add(&r, 0, 0, 0), KL_E_SPACE);
    kl_lock_give_place(&r, 0, &place);
    assert_int_equal(kl_lock_add(&r, 0, 2, 0), KL_E_SPACE);
    kl_lock_give_seat(&r, 1, pads);
    assert_int_equal(kl_lock_add(&r, 0, 3, 0), KL_E_SPACE);
    assert_int_equal(kl_lock_add(&r, 0, 2, 0), 0);
}

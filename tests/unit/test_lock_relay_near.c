/* test_lock_relay_near.c - a lock that keeps its newest frames alone, and reads older ones from the history.
 * lock_relay_pace.c. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "net/engine/lock_relay_return.h"
#include "tests/lib/lock_memory.h"
#include "tests/lib/relay_hand.h"

#define BLOCKS 4

static struct kl_history history;
static struct kl_frame played[2000];
static uint32_t taken;

/* Client 0 plays two seats that swap at a keyframe, 9 watches. */
static void begin(uint8_t policy) {
    struct kl_params p = hand_params(policy, 2, 4);
    hand_begin(p);
    kl_history_init(&history, 0, 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        kl_history_give(&history, malloc(KL_HISTORY_BLOCK));
    lock_begin(&r, &p, &history);
    taken = 0;
    for (uint32_t i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = (uint16_t)(i * 7), ring[i][1].joypad = (uint16_t)(0x100 + i);
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
        played[taken++] = f;
        for (KL_EACH(s, kl_history_wants_pads(&history, &f)))
            kl_history_give_pads(&history, s, pads[s]);
        assert_true(kl_history_append(&history, &f, kl_lock_commands(&r, f.number, &set)) >= 0);
    }
}

static void play_until(uint32_t frame) {
    for (uint32_t n = 0; r.next_close < frame; n++) {
        uint8_t swap[] = {0, 1};
        if (n == 50) assert_int_equal(kl_lock_command(&r, 0, KL_COMMAND_SWAP, swap, 2), 0);
        assert_int_equal(hand_ctrl(0, n, 1, 0, hand_line(n)), 0);
        take();
    }
}

static void end(void) {
    for (void *b; (b = kl_history_drop(&history));)
        free(b);
}

static void assert_played(const struct kl_frame *f) {
    const struct kl_frame *p = &played[f->number];
    assert_true(f->keyframe == p->keyframe && f->spacing == p->spacing && f->flags == p->flags);
    assert_int_equal(f->active, p->active);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        assert_true(kl_input_equal(&f->in[s], &p->in[s]));
}

/* The spectator has acknowledged nothing. */
TEST(an_update_brings_frames_of_the_history) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_update u;
    struct kl_frame f;
    begin(KL_POLICY_BOUNDED);
    play_until(200);
    assert_int_equal(played[40].in[1].joypad, 0x100 + 36);
    assert_int_equal(played[190].in[0].joypad, 0x100 + 186); /* they have swapped */
    uint32_t next = 0;
    for (size_t len; (len = kl_lock_send(&r, 9, hand_line(200), buf, sizeof buf)) > 0;) {
        assert_int_equal(kl_update_open(&u, buf, len), 0);
        assert_int_equal(u.first, next);
        while (kl_update_frame(&u, &f)) {
            assert_int_equal(f.number, next++);
            assert_played(&f);
        }
    }
    assert_true(next > KL_NEAR_FRAMES);
    end();
}

TEST(every_kept_frame_can_be_read) {
    struct kl_frame f;
    begin(KL_POLICY_BOUNDED);
    play_until(1400);
    uint32_t oldest = r.next_close - KL_KEPT_FRAMES;
    for (uint32_t n = oldest; n < r.next_close; n++) {
        assert_true(kl_lock_frame(&r, n, &f));
        assert_int_equal(f.number, n);
        assert_played(&f);
    }
    assert_false(kl_lock_frame(&r, oldest - 1, &f));
    assert_false(kl_lock_frame(&r, r.next_close, &f));
    end();
}

/* As when a link delivers at once all that it held back. They close as of the same moment, once the ones
 * before are taken. */
TEST(an_event_closes_more_frames_than_the_ring_has) {
    begin(KL_POLICY_STRICT);
    play_until(8);
    uint32_t before = r.next_close, sample = r.client[0].next_sample;
    for (uint32_t i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = ring[i][1].joypad = (uint16_t)(i / 64);
    assert_int_equal(hand_ctrl(0, sample, 200, 0, hand_line(300)), 0);
    assert_int_equal(r.next_close, before + KL_NEAR_FRAMES);
    take();
    assert_int_equal(r.next_close, before + 200);
    assert_int_equal(taken, r.next_close);
    assert_true(r.last_close_us == hand_line(300));
    assert_int_equal(played[before + 199].in[0].joypad, played[before + 199].in[1].joypad);
    assert_int_equal(played[before + 199].in[0].joypad, (sample + 199) % KL_WINDOW_FRAMES / 64);
    end();
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

/* Seats in a room that plays: a client joins late, takes other seats, or only watches from then on.
 * PROTOCOL.md §5, joining. */
#include "tests/unit/unit.h"

#include "tests/lib/relay_hand.h"
#include "net/engine/lock_relay_return.h"

#define FRAME_US UINT64_C(20000)

static uint32_t at; /* the next frame's samples to be given */

/* Two players; spacing 4; 20 ms a frame, frame f due at 51,000 + 20,000 f. */
static void begin(uint8_t policy) {
    hand_begin(hand_params(policy, 2, 4));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(kl_lock_add(&r, i, (uint8_t)(1u << i), 0), 0);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            ring[i][s].joypad = 0x10;
    assert_int_equal(kl_lock_start(&r, 1000), 0);
    hand_take_all();
    at = 0;
}

/* So many frames, to which these clients give samples. */
static void play(unsigned clients, uint32_t frames) {
    for (uint32_t end = at + frames; at < end; at++) {
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
            if (clients >> i & 1) assert_int_equal(hand_ctrl(i, at, 1, 0, hand_line(at)), 0);
        kl_lock_tick(&r, hand_line(at));
        hand_take_all();
    }
}

static bool presses(unsigned seat) {
    return hand_last.in[seat].joypad == 0x10;
}

static void resume(unsigned client) {
    assert_int_equal(hand_ctrl(client, at, 1, HAND_RESUME, hand_line(at)), 0);
}

/* Under every policy: not one frame waits for it, it is no part of the game until it resumes, and then counts
 * from a keyframe on. */
TEST(nobody_waits_for_who_joins) {
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_OPTIMISTIC; policy++) {
        begin(policy);
        play(3, 40);
        assert_int_equal(kl_lock_add(&r, 5, 4, hand_line(at)), 0);
        assert_true(kl_lock_joining(&r, 5));
        uint32_t before = r.next_close;
        play(3, 20);
        assert_int_equal(r.next_close, before + 20);
        assert_int_equal(hand_last.active, 3);
        assert_int_equal(kl_lock_return(&r, 5, 0, hand_line(at)), 0);
        play(3, 20);
        assert_int_equal(r.next_close, before + 40);
        assert_int_equal(kl_lock_waiting_for(&r) & 4, 0);
        assert_int_equal(hand_last.active, 3);
        assert_false(presses(2));
        hand_ctrl(5, 0, 0, 0, hand_line(at)); /* it has everything */
        resume(5);
        play(3 | 1u << 5, 12);
        assert_false(kl_lock_joining(&r, 5));
        assert_int_equal(hand_last.active, 7);
        assert_true(presses(0) && presses(1) && presses(2));
        assert_int_equal(r.next_close, before + 52);
    }
}

/* Once it plays, it is waited for like everybody. */
TEST(a_strict_room_waits_for_who_has_joined) {
    begin(KL_POLICY_STRICT);
    play(3, 40);
    kl_lock_add(&r, 5, 4, hand_line(at));
    kl_lock_return(&r, 5, r.next_close, hand_line(at));
    play(3, 1);
    resume(5);
    play(3 | 1u << 5, 12);
    uint32_t before = r.next_close;
    kl_lock_cut(&r, 5, hand_line(at));
    play(3, 12);
    assert_int_equal(r.next_close, before);
    assert_int_equal(kl_lock_out(&r), 4);
}

/* It is not away while it joins, even if its link is lost then. */
TEST(a_joiner_that_is_cut_holds_nobody_up) {
    begin(KL_POLICY_STRICT);
    play(3, 40);
    kl_lock_add(&r, 5, 4, hand_line(at));
    kl_lock_return(&r, 5, 0, hand_line(at));
    play(3, 4);
    kl_lock_cut(&r, 5, hand_line(at));
    uint32_t before = r.next_close;
    play(3, 8);
    kl_lock_return(&r, 5, 0, hand_line(at));
    play(3, 8);
    assert_int_equal(r.next_close, before + 16);
    kl_lock_remove(&r, 5, hand_line(at));
    play(3, 4);
    assert_int_equal(r.next_close, before + 20);
}

/* A seat whose owner has gone in the middle of an interval is nobody's until the new one counts. */
TEST(a_seat_goes_on_to_another) {
    begin(KL_POLICY_BOUNDED);
    play(3, 41);
    kl_lock_remove(&r, 1, hand_line(at));
    assert_int_equal(kl_lock_add(&r, 5, 2, hand_line(at)), 0);
    assert_int_equal(kl_lock_waiting_for(&r) & 2, 0);
    uint32_t before = r.next_close;
    play(1, 19);
    assert_int_equal(r.next_close, before + 19);
    assert_int_equal(hand_last.active, 1);
    assert_false(presses(1));
    kl_lock_return(&r, 5, r.next_close, hand_line(at));
    resume(5);
    play(1 | 1u << 5, 12);
    assert_int_equal(hand_last.active, 3);
    assert_true(presses(1));
}

TEST(a_seat_passes_from_one_that_steps_back) {
    begin(KL_POLICY_BOUNDED);
    kl_lock_add(&r, 9, 0, hand_line(0));
    kl_lock_return(&r, 9, 0, hand_line(0));
    play(3, 40);
    assert_int_equal(kl_lock_reseat(&r, 9, 2, hand_line(at)), KL_E_STATE); /* it is taken */
    assert_int_equal(kl_lock_reseat(&r, 7, 4, hand_line(at)), KL_E_STATE); /* nobody */
    assert_int_equal(kl_lock_reseat(&r, 1, 0, hand_line(at)), 0);
    uint32_t before = r.next_close;
    play(1, 8);
    assert_int_equal(r.next_close, before + 8);
    assert_int_equal(hand_last.active, 1);
    assert_int_equal(kl_lock_reseat(&r, 9, 2, hand_line(at)), 0);
    assert_true(kl_lock_joining(&r, 9));
    play(1, 8);
    assert_int_equal(r.next_close, before + 16);
    hand_ctrl(1, 0, 0, 0, hand_line(at)); /* it goes on watching */
    assert_false(kl_lock_lost(&r, 1));
    resume(9);
    play(1 | 1u << 9, 12);
    assert_int_equal(hand_last.active, 3);
    assert_true(presses(1));
    assert_int_equal(r.next_close, before + 28);
}

/* The last player steps back: the game holds still until somebody takes a seat. */
TEST(nobody_is_left_to_play) {
    begin(KL_POLICY_BOUNDED);
    play(3, 40);
    kl_lock_reseat(&r, 0, 0, hand_line(at));
    kl_lock_reseat(&r, 1, 0, hand_line(at));
    uint32_t before = r.next_close;
    play(0, 20);
    assert_int_equal(r.next_close, before);
    assert_int_equal(kl_lock_reseat(&r, 1, 1, hand_line(at)), 0);
    play(0, 20);
    assert_int_equal(r.next_close, before);
    hand_ctrl(1, at, 1, HAND_RESUME, hand_line(at));
    play(2, 40);
    assert_true(r.next_close > before + 20);
}

TEST(before_the_start_nobody_is_reseated) {
    struct kl_params p = {.players = 1, .fps_uhz = 50000000};
    hand_begin(p);
    kl_lock_add(&r, 0, 1, 0);
    assert_int_equal(kl_lock_reseat(&r, 0, 2, 0), KL_E_STATE);
    assert_false(kl_lock_joining(&r, 0));
    assert_false(kl_lock_joining(&r, 100));
}

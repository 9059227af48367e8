/* Seats in a room that plays, at its edges. PROTOCOL.md §5, joining. Clients that join late, take other
 * seats, or only watch from then on: test_lobby_late. */
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

/* Seats that change hands in a room that plays: the game holds still while nobody has one, and no seat keeps
 * the keys of its last owner. PROTOCOL.md §3, "Keys", §5, joining. Clients that join late, take other seats,
 * or only watch from then on: test_lobby_late. */
#include "tests/unit/unit.h"

#include "net/engine/lock_relay_return.h"
#include "tests/lib/relay_hand.h"

static struct kl_keyboard machine; /* after all frames */
static struct kl_frame kept[600];
static uint32_t frames, said;

static void take(void) {
    while (kl_lock_take(&r, &hand_last)) {
        kl_keyboard_play(&machine, hand_last.in, NULL, NULL);
        assert_true(hand_last.number < COUNT(kept));
        kept[hand_last.number] = hand_last;
        frames++;
    }
}

static void press(uint32_t sample, unsigned code, bool down) {
    struct kl_input *in = &ring[sample % KL_WINDOW_FRAMES][0];
    in->key[in->key_count++] = (struct kl_key){.code = (uint16_t)code, .down = down};
}

/* These clients (a mask) say their samples up to this one, each at its time. */
static void play(unsigned clients, uint32_t to) {
    for (; said < to; said++) {
        for (unsigned i = 0; i < 3; i++)
            if (clients >> i & 1) {
                struct kl_input own = ring[said % KL_WINDOW_FRAMES][0];
                if (i) ring[said % KL_WINDOW_FRAMES][0].key_count = 0; /* client 0 alone has a keyboard */
                assert_int_equal(hand_ctrl(i, said, 1, 0, hand_line(said)), 0);
                ring[said % KL_WINDOW_FRAMES][0] = own;
            }
        kl_lock_tick(&r, hand_line(said));
        take();
    }
}

/* Three players and a spectator. Client 0 holds key 97 from sample 10 on. */
static void begin(uint8_t policy, uint8_t spacing) {
    hand_begin_three(hand_params(policy, 3, spacing));
    memset(ring, 0, sizeof ring);
    memset(&machine, 0, sizeof machine);
    frames = said = 0;
    r.next_hand = 0; /* the first interval's frames, too */
    take();
    press(10, 97, true);
    play(7, 30);
    assert_true(kl_keyboard_down(&machine, 97));
}

TEST(a_seat_that_is_handed_on_lets_go) {
    begin(KL_POLICY_BOUNDED, 4);
    assert_int_equal(kl_lock_reseat(&r, 0, 0, hand_line(30)), 0);
    assert_int_equal(kl_lock_reseat(&r, 9, 1, hand_line(30)), 0);
    play(6, 60);
    assert_false(kl_keyboard_down(&machine, 97));
}

/* In an optimistic room the samples of a client that resumes may be in the very next frame. */
TEST(the_next_owner_of_a_seat_does_not_inherit_its_keys) {
    begin(KL_POLICY_OPTIMISTIC, 0);
    assert_int_equal(kl_lock_reseat(&r, 0, 0, hand_line(29) + 1), 0);
    assert_int_equal(kl_lock_reseat(&r, 9, 1, hand_line(29) + 1), 0);
    press(30, 98, true);
    assert_int_equal(hand_ctrl(9, 30, 1, HAND_RESUME, hand_line(29) + 2), 0);
    assert_int_equal(r.client[9].presence, KL_PRESENT);
    play(6, 40);
    assert_false(kl_keyboard_down(&machine, 97));
    assert_true(kl_keyboard_down(&machine, 98));
}

/* By its journal, from whose older part it reads no inputs. */
TEST(a_relay_that_begins_again_lets_go) {
    for (unsigned skims = 0; skims < 2; skims++) {
        begin(KL_POLICY_BOUNDED, 4);
        hand_begin(r.params);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(kl_lock_add(&r, i, (uint8_t)(1u << i), 0), 0);
        kl_lock_remove(&r, 0, 0); /* its player is gone since, and it has no memory */
        r.sample[0] = r.near.input[0] = (struct kl_inputs){0};
        r.keys[0] = NULL;
        for (uint32_t f = 0; f < frames;) {
            if (skims && kept[f].keyframe == f && f + kept[f].spacing <= 20) {
                assert_int_equal(kl_lock_adopt_interval(&r, &kept[f], NULL), 0);
                f += kept[f].spacing;
            } else
                assert_int_equal(kl_lock_adopt(&r, &kept[f++], NULL), 0);
        }
        assert_int_equal(kl_lock_reopen(&r, 0, hand_line(40)), 0);
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(kl_lock_return(&r, i, frames, hand_line(40)), 0);
            assert_int_equal(hand_ctrl(i, 60, 1, HAND_RESUME, hand_line(41)), 0);
        }
        kl_lock_tick(&r, hand_line(90));
        take();
        assert_true(hand_last.number >= 30);
        assert_false(kl_keyboard_down(&machine, 97));
    }
}

/* --- nobody has a seat --- */

/* The last player steps back: the game holds still until somebody takes a seat. */
TEST(nobody_is_left_to_play) {
    begin(KL_POLICY_BOUNDED, 4);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(kl_lock_reseat(&r, i, 0, hand_line(said)), 0);
    uint32_t before = r.next_close;
    play(0, 60);
    assert_int_equal(r.next_close, before);
    assert_int_equal(kl_lock_reseat(&r, 1, 1, hand_line(said)), 0);
    play(0, 80);
    assert_int_equal(r.next_close, before);
    hand_ctrl(1, said++, 1, HAND_RESUME, hand_line(80));
    play(2, 121);
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

/* Keys in frames: a seat that is gone lets go of them, whatever the reason. net/PROTOCOL.md §3, "Keys". */
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

static void begin_without_keys(uint8_t policy, uint8_t spacing) {
    hand_begin(hand_params(policy, 3, spacing));
    memset(&machine, 0, sizeof machine);
    frames = said = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(kl_lock_add(&r, i, (uint8_t)(1u << i), 0), 0);
    assert_int_equal(kl_lock_add(&r, 9, 0, 0), 0);
    assert_int_equal(kl_lock_start(&r, 1000), 0);
    take();
}

/* Client 0 holds key 97 from sample 10 on. */
static void begin(uint8_t policy, uint8_t spacing) {
    begin_without_keys(policy, spacing);
    press(10, 97, true);
    play(7, 30);
    assert_true(kl_keyboard_down(&machine, 97));
}

TEST(each_policy_lets_the_keys_of_a_silent_client_go) {
    static const uint8_t policies[] = {KL_POLICY_BOUNDED, KL_POLICY_OPTIMISTIC};
    for (unsigned i = 0; i < COUNT(policies); i++) {
        begin(policies[i], policies[i] == KL_POLICY_BOUNDED ? 4 : 0);
        play(6, 90);
        assert_int_equal(r.client[0].presence, KL_ABSENT);
        assert_false(kl_keyboard_down(&machine, 97));
        assert_false(hand_last.in[0].all_up); /* said once */
    }
}

TEST(a_client_that_leaves_or_is_cut_lets_go) {
    static const uint8_t policies[] = {KL_POLICY_BOUNDED, KL_POLICY_OPTIMISTIC, KL_POLICY_STRICT};
    for (unsigned i = 0; i < COUNT(policies); i++) {
        begin(policies[i], policies[i] == KL_POLICY_OPTIMISTIC ? 0 : 4);
        kl_lock_remove(&r, 0, hand_line(30));
        play(6, 60);
        assert_false(kl_keyboard_down(&machine, 97));
        if (policies[i] == KL_POLICY_STRICT) continue; /* waits for a cut client */
        begin(policies[i], policies[i] == KL_POLICY_OPTIMISTIC ? 0 : 4);
        kl_lock_cut(&r, 0, hand_line(30));
        play(6, 60);
        assert_false(kl_keyboard_down(&machine, 97));
    }
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

TEST(a_swap_lets_both_seats_go) {
    static const uint8_t with[] = {1, 5}; /* seat 5 has no owner and no memory */
    for (unsigned i = 0; i < COUNT(with); i++) {
        const uint8_t swap[] = {0, with[i]};
        begin(KL_POLICY_BOUNDED, 4);
        r.sample[5] = r.near.input[5] = (struct kl_inputs){0};
        r.keys[5] = NULL;
        assert_int_equal(kl_lock_command(&r, 0, KL_COMMAND_SWAP, swap, sizeof swap), 0);
        play(7, 50);
        assert_int_equal(r.plays[0], with[i]);
        assert_false(kl_keyboard_down(&machine, 97));
        press(50, 97, true);
        play(7, 70);
        assert_true(kl_keyboard_holds(&machine, with[i]));
        press(70, 97, false);
        play(7, 90);
        assert_false(kl_keyboard_down(&machine, 97));
    }
}

/* Without a restart: a change of policy leaves frames that are made of no sample. */
TEST(a_change_of_policy_leaves_no_key_down) {
    static const uint8_t optimistic[] = {KL_POLICY_OPTIMISTIC, 250, 0, 0, 0}, strict[] = {0, 250, 0, 4, 0};
    begin(KL_POLICY_BOUNDED, 4);
    assert_int_equal(kl_lock_command(&r, 1, KL_COMMAND_POLICY, optimistic, sizeof optimistic), 0);
    play(7, 60);
    assert_true(kl_keyboard_down(&machine, 97));
    press(60, 97, false);
    assert_int_equal(kl_lock_command(&r, 1, KL_COMMAND_POLICY, strict, sizeof strict), 0);
    play(7, 100);
    assert_false(kl_keyboard_down(&machine, 97));
}

/* Seven samples with twelve keys go into one frame; the rest comes in the frames after it. */
TEST(a_spacing_that_shrinks_loses_no_key) {
    static const uint8_t shorter[] = {KL_POLICY_BOUNDED, 250, 0, 1, 0};
    begin(KL_POLICY_BOUNDED, 12);
    for (unsigned i = 0; i < 12; i++)
        press(36 + i % 6, 100 + i, true);
    press(41, 97, false);
    assert_int_equal(kl_lock_command(&r, 0, KL_COMMAND_POLICY, shorter, sizeof shorter), 0);
    play(7, 60);
    assert_int_equal(hand_last.spacing, 1);
    assert_false(kl_keyboard_down(&machine, 97));
    for (unsigned i = 0; i < 12; i++)
        assert_true(kl_keyboard_down(&machine, 100 + i));
    for (unsigned i = 0; i < 12; i++)
        press(60 + i / 4, 100 + i, false);
    play(7, 80);
    assert_false(kl_keyboard_holds(&machine, 0));
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

TEST(pads_without_keys_cost_nothing) {
    begin_without_keys(KL_POLICY_BOUNDED, 4);
    play(7, 30);
    for (unsigned f = 0; f < 30; f++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            assert_false(kept[f].in[s].all_up);
    kl_lock_remove(&r, 0, hand_line(30));
    play(6, 60);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        assert_false(hand_last.in[s].all_up);
}

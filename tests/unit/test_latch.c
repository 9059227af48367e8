/* The latch: from a frontend's devices to samples, from locked frames to what the core reads. */

#include "tests/unit/unit.h"

#include "core_wrapper/frame/latch.h"

/* A frontend: state by port, device, index, id (keys by code). */
static int16_t pad[2][16], analog[2][3][16], mouse[2][16], gun[2][20], touch[2][2][4], keys[KL_KEY_CODES];
static unsigned calls;

static int16_t frontend(unsigned port, unsigned device, unsigned index, unsigned id) {
    calls++;
    switch (device) {
    case RETRO_DEVICE_JOYPAD: {
        if (id != RETRO_DEVICE_ID_JOYPAD_MASK) return pad[port][id];
        unsigned m = 0;
        for (unsigned i = 0; i < 16; i++)
            m |= (unsigned)(pad[port][i] != 0) << i;
        return (int16_t)m;
    }
    case RETRO_DEVICE_ANALOG: return analog[port][index][id];
    case RETRO_DEVICE_MOUSE: return mouse[port][id];
    case RETRO_DEVICE_LIGHTGUN: return gun[port][id];
    case RETRO_DEVICE_POINTER: return touch[port][index][id];
    case RETRO_DEVICE_KEYBOARD: return keys[id];
    default: return 0;
    }
}

static struct kl_latch latch;
static struct kl_input sample[KL_MAX_SEATS];

static int setup(void **state) {
    (void)state;
    memset(pad, 0, sizeof pad);
    memset(analog, 0, sizeof analog);
    memset(mouse, 0, sizeof mouse);
    memset(gun, 0, sizeof gun);
    memset(touch, 0, sizeof touch);
    memset(keys, 0, sizeof keys);
    calls = 0;
    kl_latch_init(&latch, true);
    return 0;
}

static void poll_and_sample(unsigned seats) {
    kl_latch_poll(&latch, frontend, seats);
    kl_latch_sample(&latch, sample, seats);
}

/* Gives the core what was sampled, the k-th sample as seat k. */
static void run(unsigned seats) {
    struct kl_frame f = {0};
    for (unsigned s = 0; s < seats; s++)
        f.in[s] = sample[s];
    kl_latch_frame(&latch, &f, NULL, NULL);
}

static int16_t core(unsigned port, unsigned device, unsigned index, unsigned id) {
    return kl_latch_state(&latch, port, device, index, id);
}

TEST_WITH(pads_by_mask_and_one_by_one, setup, NULL) {
    pad[0][RETRO_DEVICE_ID_JOYPAD_A] = pad[1][RETRO_DEVICE_ID_JOYPAD_R3] = 1;
    for (int masks = 0; masks < 2; masks++) {
        kl_latch_init(&latch, masks);
        poll_and_sample(2);
        run(2);
        assert_int_equal((uint16_t)core(0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_MASK), 0x100);
        assert_int_equal((uint16_t)core(1, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_MASK), 0x8000);
        assert_int_equal(core(0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A), 1);
        assert_int_equal(core(0, RETRO_DEVICE_SUBCLASS(RETRO_DEVICE_JOYPAD, 3), 0, RETRO_DEVICE_ID_JOYPAD_A),
                         1);
        assert_int_equal(core(0, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_B), 0);
        assert_int_equal(core(2, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A), 0);
        assert_int_equal(core(99, RETRO_DEVICE_JOYPAD, 0, RETRO_DEVICE_ID_JOYPAD_A), 0);
        assert_int_equal(core(0, RETRO_DEVICE_JOYPAD, 0, 77), 0);
    }
}

TEST_WITH(only_what_the_core_asks_for_is_read, setup, NULL) {
    poll_and_sample(2);
    assert_int_equal(calls, 2); /* two masks */
    core(0, RETRO_DEVICE_ANALOG, RETRO_DEVICE_INDEX_ANALOG_LEFT, RETRO_DEVICE_ID_ANALOG_X);
    calls = 0;
    poll_and_sample(1);
    assert_int_equal(calls, 1 + 4);
}

TEST_WITH(a_short_press_is_not_lost, setup, NULL) {
    pad[0][RETRO_DEVICE_ID_JOYPAD_B] = 1;
    kl_latch_poll(&latch, frontend, 1);
    pad[0][RETRO_DEVICE_ID_JOYPAD_B] = 0;
    poll_and_sample(1);
    assert_int_equal(sample[0].joypad, 1);
    poll_and_sample(1);
    assert_int_equal(sample[0].joypad, 0);
}

TEST_WITH(motion_adds_up_and_counts_once, setup, NULL) {
    core(0, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_X);
    mouse[0][RETRO_DEVICE_ID_MOUSE_X] = 5;
    mouse[0][RETRO_DEVICE_ID_MOUSE_LEFT] = 1;
    kl_latch_poll(&latch, frontend, 1);
    poll_and_sample(1);
    assert_int_equal(sample[0].mouse_x, 10);
    kl_latch_sample(&latch, sample, 1); /* no poll since */
    assert_int_equal(sample[0].mouse_x, 0);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_MOUSE, 0, RETRO_DEVICE_ID_MOUSE_LEFT), 1);
}

TEST_WITH(sticks_and_triggers, setup, NULL) {
    core(0, RETRO_DEVICE_ANALOG, RETRO_DEVICE_INDEX_ANALOG_RIGHT, RETRO_DEVICE_ID_ANALOG_Y);
    core(0, RETRO_DEVICE_ANALOG, RETRO_DEVICE_INDEX_ANALOG_BUTTON, RETRO_DEVICE_ID_JOYPAD_L2);
    analog[0][RETRO_DEVICE_INDEX_ANALOG_RIGHT][RETRO_DEVICE_ID_ANALOG_Y] = -0x7fff;
    analog[0][RETRO_DEVICE_INDEX_ANALOG_LEFT][RETRO_DEVICE_ID_ANALOG_X] = 77;
    analog[0][RETRO_DEVICE_INDEX_ANALOG_BUTTON][RETRO_DEVICE_ID_JOYPAD_L2] = 1234;
    pad[0][RETRO_DEVICE_ID_JOYPAD_R2] = pad[0][RETRO_DEVICE_ID_JOYPAD_A] = 1;
    poll_and_sample(1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 1, 1), -0x7fff);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 0, 0), 77);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 2, RETRO_DEVICE_ID_JOYPAD_L2), 1234);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 2, RETRO_DEVICE_ID_JOYPAD_R2), 0x7fff);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 2, RETRO_DEVICE_ID_JOYPAD_A), 0x7fff);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 2, RETRO_DEVICE_ID_JOYPAD_B), 0);
    assert_int_equal(core(0, RETRO_DEVICE_ANALOG, 9, 9), 0);
}

TEST_WITH(guns_and_fingers, setup, NULL) {
    core(0, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_TRIGGER);
    core(0, RETRO_DEVICE_POINTER, 0, RETRO_DEVICE_ID_POINTER_X);
    gun[0][RETRO_DEVICE_ID_LIGHTGUN_SCREEN_X] = -300;
    gun[0][RETRO_DEVICE_ID_LIGHTGUN_RELOAD] = 1;
    touch[0][1][RETRO_DEVICE_ID_POINTER_X] = 42;
    touch[0][1][RETRO_DEVICE_ID_POINTER_PRESSED] = 1;
    poll_and_sample(1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_SCREEN_X), -300);
    assert_int_equal(core(0, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_RELOAD), 1);
    assert_int_equal(core(0, RETRO_DEVICE_LIGHTGUN, 0, RETRO_DEVICE_ID_LIGHTGUN_TRIGGER), 0);
    assert_int_equal(core(0, RETRO_DEVICE_POINTER, 1, RETRO_DEVICE_ID_POINTER_X), 42);
    assert_int_equal(core(0, RETRO_DEVICE_POINTER, 1, RETRO_DEVICE_ID_POINTER_PRESSED), 1);
    assert_int_equal(core(0, RETRO_DEVICE_POINTER, 0, RETRO_DEVICE_ID_POINTER_COUNT), 1);
    assert_int_equal(core(0, RETRO_DEVICE_POINTER, 5, RETRO_DEVICE_ID_POINTER_X), 0);
}

TEST_WITH(key_events_keep_their_order, setup, NULL) {
    latch.key_events = true;
    for (unsigned i = 0; i < KL_KEYS + 2; i++)
        kl_latch_key(&latch, true, RETROK_a + i, 'a' + i, 0);
    poll_and_sample(2);
    assert_int_equal(sample[0].key_count, KL_KEYS);
    assert_int_equal(sample[0].key[0].code, RETROK_a);
    assert_int_equal(sample[1].key_count, 0);
    run(2);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_a), 1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_a + KL_KEYS), 0);
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 2);
    assert_int_equal(sample[0].key[1].code, RETROK_a + KL_KEYS + 1);
    run(1);
    assert_int_equal(core(7, RETRO_DEVICE_KEYBOARD, 0, RETROK_a + KL_KEYS), 1);
    for (unsigned i = 0; i < 2 * KL_KEYS_WAITING; i++)
        kl_latch_key(&latch, i & 1, RETROK_b, 0, 0);
    kl_latch_key(&latch, true, 60000, 0, 0); /* no such key */
    core(0, RETRO_DEVICE_KEYBOARD, 0, 60000);
}

/* A core that reads keys without taking events: changes become events. */
TEST_WITH(polled_keys, setup, NULL) {
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_SPACE), 0);
    keys[RETROK_SPACE] = 1;
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_SPACE), 1);
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 0); /* held: no change */
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_SPACE), 1);
    keys[RETROK_SPACE] = 0;
    poll_and_sample(1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_SPACE), 0);
}

/* It is taken while the game has it: the game sees it released, and not again. */
static void take_key(bool events) {
    latch.key_events = events;
    core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_RCTRL);
    poll_and_sample(1);
    keys[RETROK_RCTRL] = 1;
    if (events) kl_latch_key(&latch, true, RETROK_RCTRL, 0, 0);
    poll_and_sample(1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_RCTRL), 1);
    poll_and_sample(1); /* the frontend has answered for it */
    latch.own_key = RETROK_RCTRL;
    poll_and_sample(1);
    run(1);
    assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_RCTRL), 0);
    for (unsigned i = 0; i < 6; i++) {
        keys[RETROK_RCTRL] = i % 2;
        if (events) kl_latch_key(&latch, i % 2, RETROK_RCTRL, 0, 0);
        poll_and_sample(1);
        assert_int_equal(sample[0].key_count, 0);
    }
}

TEST_WITH(an_own_key_is_not_the_games, setup, NULL) {
    take_key(false);
    kl_latch_init(&latch, true);
    keys[RETROK_RCTRL] = 0;
    take_key(true);
    kl_latch_init(&latch, true);
    keys[RETROK_RCTRL] = 0;
    latch.key_events = true;
    kl_latch_key(&latch, true, RETROK_x, 'x', 0); /* of a frontend that never answers */
    latch.own_key = RETROK_x;
    kl_latch_key(&latch, false, RETROK_x, 'x', 0);
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 2);
    assert_false(sample[0].key[1].down);
}

TEST_WITH(forgotten, setup, NULL) {
    latch.key_events = true;
    pad[0][0] = 1;
    kl_latch_key(&latch, true, RETROK_a, 0, 0);
    kl_latch_poll(&latch, frontend, 1);
    kl_latch_forget(&latch);
    pad[0][0] = 0;
    poll_and_sample(1);
    assert_int_equal(sample[0].joypad, 0);
    assert_int_equal(sample[0].key_count, 0);
}

/* An event that the frontend kept for itself, as for its menu. */
TEST_WITH(a_release_without_an_event_is_seen, setup, NULL) {
    latch.key_events = true;
    poll_and_sample(1);
    keys[RETROK_w] = 1;
    kl_latch_key(&latch, true, RETROK_w, 'w', 0);
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 1);
    poll_and_sample(1);
    keys[RETROK_w] = 0;
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 1);
    assert_false(sample[0].key[0].down);
    kl_latch_key(&latch, true, RETROK_x, 'x', 0); /* of a frontend that never answers */
    poll_and_sample(1);
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 0);
}

/* In the frontend's menu one key was released, another pressed, and one is still held. */
TEST_WITH(keys_that_changed_meanwhile_are_said, setup, NULL) {
    latch.key_events = true;
    poll_and_sample(1);
    for (unsigned code = RETROK_a; code <= RETROK_b; code++) {
        keys[code] = 1;
        kl_latch_key(&latch, true, code, 0, 0);
    }
    poll_and_sample(1);
    kl_latch_forget(&latch);
    keys[RETROK_a] = 0;
    kl_latch_key(&latch, true, RETROK_c, 0, 0);
    kl_latch_forget(&latch);
    keys[RETROK_c] = 1;
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 2);
    assert_true(sample[0].key[0].code == RETROK_a && !sample[0].key[0].down);
    assert_true(sample[0].key[1].code == RETROK_c && sample[0].key[1].down);
}

TEST_WITH(all_keys_are_pressed_again, setup, NULL) {
    for (unsigned events = 0; events < 2; events++) {
        setup(NULL);
        latch.key_events = events;
        poll_and_sample(1);
        for (unsigned i = 0; i < 6; i++) { /* more than a sample has */
            core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_a + i);
            keys[RETROK_a + i] = 1;
            if (events) kl_latch_key(&latch, true, RETROK_a + i, 0, 0);
        }
        poll_and_sample(1);
        run(1);
        poll_and_sample(1);
        run(1);
        keys[RETROK_a] = 0;
        kl_latch_forget(&latch);
        kl_latch_press_again(&latch);
        sample[0] = (struct kl_input){.all_up = true};
        run(1);
        for (unsigned i = 0; i < 3; i++) {
            poll_and_sample(1);
            run(1);
        }
        assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_a), 0);
        for (unsigned i = 1; i < 6; i++)
            assert_int_equal(core(0, RETRO_DEVICE_KEYBOARD, 0, RETROK_a + i), 1);
    }
}

/* The key was down before anybody could say so: a new process of a player who comes back. */
TEST_WITH(a_new_process_says_what_is_down, setup, NULL) {
    latch.key_events = true;
    keys[RETROK_w] = 1;
    poll_and_sample(1);
    assert_int_equal(sample[0].key_count, 1);
    assert_int_equal(sample[0].key[0].code, RETROK_w);
}

static unsigned filtered_port, filtered;
static uint16_t without_l2(void *ctx, unsigned port, uint16_t buttons) {
    (void)ctx;
    filtered_port = port;
    filtered++;
    return buttons & (uint16_t) ~(1u << RETRO_DEVICE_ID_JOYPAD_L2);
}

/* A hot key's buttons are taken from the pad and from the triggers; a watcher has hot keys as well. */
TEST_WITH(hidden_buttons, setup, NULL) {
    latch.filter = without_l2;
    filtered = 0;
    (void)core(0, RETRO_DEVICE_ANALOG, RETRO_DEVICE_INDEX_ANALOG_BUTTON, RETRO_DEVICE_ID_JOYPAD_L2);
    pad[0][RETRO_DEVICE_ID_JOYPAD_L2] = pad[0][RETRO_DEVICE_ID_JOYPAD_A] = 1;
    analog[0][RETRO_DEVICE_INDEX_ANALOG_BUTTON][RETRO_DEVICE_ID_JOYPAD_L2] = 0x4000;
    poll_and_sample(1);
    assert_int_equal(sample[0].joypad, 1u << RETRO_DEVICE_ID_JOYPAD_A);
    assert_int_equal(sample[0].trigger[0], 0);
    assert_int_equal(filtered, 1);
    poll_and_sample(0);
    assert_int_equal(filtered, 2);
    assert_int_equal(filtered_port, 0);
}

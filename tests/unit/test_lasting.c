/* Motors and lights: off while the game stands, in each way of standing, and as they should be when it goes
 * on. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include "core_wrapper/env/lasting.h"

#define MS 1000

static struct kl_lasting core;
static struct kl_lasting_told told;
static int motor[KL_MAX_SEATS][2], light[KL_LASTING_LIGHTS], pads[KL_MAX_SEATS];
static unsigned calls;
static struct kl_lasting_game game;

static bool set_motor(unsigned pad, enum retro_rumble_effect effect, uint16_t strength) {
    motor[pad][effect] = strength;
    calls++;
    return true;
}
static void set_light(int i, int state) {
    light[i] = state;
    calls++;
}
static int pad_of(void *ctx, unsigned port) {
    return ((int *)ctx)[port];
}

/* The end of a call, this long after the one before, with a frame of its own or without. */
static void call(uint64_t later_us, bool ran) {
    const struct kl_lasting_front front = {set_motor, set_light, pad_of, pads};
    game.now_us += later_us;
    if (ran) game.ran_us = game.now_us;
    kl_lasting_tell(&told, kl_lasting_stands(&game) ? NULL : &core, &front, game.now_us);
}

static int play(void **state) {
    (void)state;
    memset(&core, 0, sizeof core);
    memset(&told, 0, sizeof told);
    memset(motor, 0, sizeof motor);
    memset(light, 0, sizeof light);
    for (int i = 0; i < KL_MAX_SEATS; i++)
        pads[i] = i < 2 ? i : -1;
    game = (struct kl_lasting_game){.runs = true, .now_us = 1000 * MS};
    kl_lasting_motor(&core, 0, RETRO_RUMBLE_STRONG, 500);
    kl_lasting_motor(&core, 3, RETRO_RUMBLE_WEAK, 900); /* another player's */
    kl_lasting_light(&core, 2, 1);
    call(16 * MS, true);
    assert_int_equal(motor[0][RETRO_RUMBLE_STRONG], 500);
    assert_int_equal(light[2], 1);
    calls = 0;
    return 0;
}

static void are(bool on) {
    assert_int_equal(motor[0][RETRO_RUMBLE_STRONG], on ? 500 : 0);
    assert_int_equal(light[2], on);
}

TEST_WITH(only_differences_are_told, play, NULL) {
    for (int i = 0; i < 10; i++)
        call(16 * MS, true);
    assert_int_equal(calls, 0);
    kl_lasting_motor(&core, 1, RETRO_RUMBLE_WEAK, 7);
    kl_lasting_motor(&core, 0, RETRO_RUMBLE_STRONG, 3); /* on the way */
    kl_lasting_motor(&core, 0, RETRO_RUMBLE_STRONG, 500);
    call(16 * MS, true);
    assert_int_equal(calls, 1);
    assert_int_equal(motor[1][RETRO_RUMBLE_WEAK], 7);
}

/* A pause, a room that waits for a player, a relay that is lost: no frames come. */
TEST_WITH(off_while_no_frames_come, play, NULL) {
    for (int i = 0; i < 15; i++)
        call(16 * MS, false);
    are(true); /* a late frame is no pause */
    call(16 * MS, false);
    are(false);
    assert_int_equal(calls, 2);
    call(16 * MS, true);
    are(true);
}

TEST_WITH(off_while_the_core_waits_or_catches_up, play, NULL) {
    for (unsigned i = 0; i < 2; i++) {
        game.runs = i == 1;
        game.catching_up = i == 1;
        call(16 * MS, true);
        are(false);
        game.runs = true;
        game.catching_up = false;
        call(16 * MS, true);
        are(true);
    }
}

TEST_WITH(off_while_frames_run_again, play, NULL) {
    game.healing = true;
    call(16 * MS, false);
    are(false);
    kl_lasting_light(&core, 2, 0);
    kl_lasting_motor(&core, 0, RETRO_RUMBLE_STRONG, 30);
    call(16 * MS, false);
    are(false);
    game.healing = false;
    call(16 * MS, true);
    assert_int_equal(motor[0][RETRO_RUMBLE_STRONG], 30);
    assert_int_equal(light[2], 0);
}

TEST_WITH(off_when_the_core_begins_anew_and_when_it_goes, play, NULL) {
    memset(&core, 0, sizeof core); /* a rematch, a reset */
    call(16 * MS, true);
    are(false);
    kl_lasting_motor(&core, 0, RETRO_RUMBLE_STRONG, 500);
    kl_lasting_light(&core, 2, 1);
    call(16 * MS, true);
    are(true);
    kl_lasting_tell(&told, NULL, &(struct kl_lasting_front){set_motor, set_light, pad_of, pads}, game.now_us);
    are(false);
}

/* The frontend stops motors itself while its menu is open, and calls nobody. */
TEST_WITH(told_again_after_the_frontends_menu, play, NULL) {
    memset(motor, 0, sizeof motor);
    call(2000 * MS, true);
    are(true);
    assert_int_equal(calls, 2);
}

TEST_WITH(a_swap_of_seats_moves_the_motor, play, NULL) {
    pads[0] = -1;
    pads[3] = 0;
    call(16 * MS, true);
    assert_int_equal(motor[0][RETRO_RUMBLE_STRONG], 0);
    assert_int_equal(motor[0][RETRO_RUMBLE_WEAK], 900);
}

TEST_WITH(numbers_of_a_core_are_bounded, play, NULL) {
    struct kl_lasting before = core;
    kl_lasting_motor(&core, KL_MAX_SEATS, RETRO_RUMBLE_STRONG, 1);
    kl_lasting_motor(&core, 0, 2, 1);
    kl_lasting_light(&core, -1, 1);
    kl_lasting_light(&core, KL_LASTING_LIGHTS, 1);
    assert_memory_equal(&core, &before, sizeof core);
    kl_lasting_light(&core, 0, -1);
    kl_lasting_light(&core, 1, 0x10000);
    assert_true(core.light[0] == 0xffff && core.light[1] == 0xffff);
}

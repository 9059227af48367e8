/* A shown core beside the true one: of its calls the frontend gets what the last frame run gave, not what
 * frames on the way gave. tests/cores/probe_core.c is both. runs: working, check, 1 s */
#include "tests/unit/unit.h"
#include "tests/lib/probe_core.h"

#include "core_wrapper/ahead/shown.h"
#include "core_wrapper/env/reload.h"
#include "net/platform/environment.h"

static int light = -1, strength = -1;
static unsigned calls;

static bool no_rumble(unsigned port, enum retro_rumble_effect effect, uint16_t s) {
    return (void)port, (void)effect, (void)s, false;
}
static void no_led(int led, int state) {
    (void)led, (void)state;
}

static bool environment(unsigned cmd, void *data) {
    if (cmd == RETRO_ENVIRONMENT_GET_LED_INTERFACE)
        return ((struct retro_led_interface *)data)->set_led_state = no_led, true;
    if (cmd == RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE)
        return ((struct retro_rumble_interface *)data)->set_rumble_state = no_rumble, true;
    return probe_environment(cmd, data);
}
static const struct kl_front frontend = {.environment = environment};

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)ctx, (void)data, (void)width, (void)height, (void)pitch;
}
static void on_sound(void *ctx, const int16_t *stereo, size_t frames) {
    (void)ctx, (void)stereo, (void)frames;
}
static void on_rumble(void *ctx, unsigned port, enum retro_rumble_effect effect, uint16_t s) {
    (void)ctx;
    assert_int_equal(port, 0);
    assert_int_equal(effect, RETRO_RUMBLE_STRONG);
    strength = s;
    calls++;
}
static void on_light(void *ctx, int led, int state) {
    (void)ctx;
    assert_int_equal(led, 0);
    light = state;
    calls++;
}

static struct kl_emulator true_core;
static struct kl_shown shown;
static uint32_t frame;

static int open_both(void **state) {
    static const struct kl_start start;
    static const struct kl_emulator_hooks hooks = {.video = on_video, .sound = on_sound};
    static const struct kl_shown_hooks ours = {NULL, on_video, on_sound, on_rumble, on_light};
    char err[512];
    (void)state;
    kl_environment_set("PROBE_CORE", "feel");
    assert_int_equal(kl_emulator_begin(&true_core, &frontend, &hooks), 0);
    true_core.content.none = true;
    true_core.phase = KL_PHASE_PLAYING;
    true_core.load = KL_LOAD_FIRST;
    if (kl_core_open_late(&true_core.core, probe_core_path(), err, sizeof err) != 0) fail_msg("%s", err);
    kl_emulator_turn(&true_core, 1000000000);
    kl_latch_init(&true_core.latch, true);
    true_core.core.set_environment(kl_emulator_environment(&true_core));
    kl_emulator_give_callbacks(&true_core);
    true_core.core.init();
    true_core.core.initialised = true;
    assert_true(kl_emulator_load_content(&true_core));
    true_core.load = KL_LOAD_NONE;
    true_core.core.get_system_av_info(&true_core.av);
    if (kl_shown_open(&shown, &true_core, &start, 1000000000, "/nonexistent", "/nonexistent", &ours, err,
                      sizeof err) != 0)
        fail_msg("%s", err);
    light = strength = -1;
    calls = frame = 0;
    return 0;
}

static int close_both(void **state) {
    (void)state;
    kl_shown_close(&shown);
    kl_core_close(&true_core.core);
    kl_options_free(&true_core.options);
    kl_memory_drop(&true_core.memory);
    kl_audio_free(&true_core.audio);
    kl_picture_free(&true_core.picture);
    kl_emulator_end(&true_core);
    kl_environment_set("PROBE_CORE", NULL);
    return 0;
}

static void run(bool pressed) {
    struct kl_frame f = {.number = frame++};
    f.in[0].joypad = pressed;
    kl_shown_run(&shown, &f, true);
}

static void frames_on_the_way_move_no_motor_and_no_light(void **state) {
    (void)state;
    run(true);
    run(false);
    run(true);
    assert_int_equal(calls, 0);
    kl_shown_feel(&shown);
    assert_int_equal(light, 1);
    assert_int_equal(strength, 1000);
    assert_int_equal(calls, 2);
    run(false);
    run(true);
    kl_shown_feel(&shown);
    assert_int_equal(calls, 2); /* as before */
    run(false);
    kl_shown_feel(&shown);
    assert_int_equal(light, 0);
    assert_int_equal(strength, 0);
}

static void a_shown_core_that_stops_leaves_no_motor_on(void **state) {
    (void)state;
    run(true);
    kl_shown_feel(&shown);
    kl_shown_still(&shown);
    assert_int_equal(strength, 0);
    assert_int_equal(light, 1); /* the true core's to change */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_on_the_way_move_no_motor_and_no_light, open_both, close_both),
        cmocka_unit_test_setup_teardown(a_shown_core_that_stops_leaves_no_motor_on, open_both, close_both),
    };
    return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}

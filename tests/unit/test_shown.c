/* A shown core beside the true one: its motors and lights are its own, and go back with its states.
 * tests/cores/probe_core.c is both. runs: working, check, 1 s */
#include "tests/unit/unit.h"
#include "tests/lib/probe_core.h"

#include "core_wrapper/ahead/shown.h"
#include "core_wrapper/env/env.h"
#include "core_wrapper/env/reload.h"
#include "net/platform/process.h"

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
static struct kl_emulator true_core;
static struct kl_shown shown;
static uint32_t frame;

static int open_with(bool by_pages, const char *mood) {
    static const struct kl_start start;
    static const struct kl_emulator_hooks hooks = {.video = on_video, .sound = on_sound};
    static const struct kl_shown_hooks ours = {NULL, on_video, on_sound};
    char err[512];
    kl_environment_set("PROBE_CORE", mood);
    assert_int_equal(kl_emulator_begin(&true_core, &frontend, &hooks), 0);
    true_core.content.none = true;
    true_core.phase = KL_PHASE_PLAYING;
    true_core.load = KL_LOAD_FIRST;
    if (kl_core_open_late(&true_core.core, probe_core_path(), err, sizeof err) != 0) fail_msg("%s", err);
    if (kl_emulator_turn(&true_core, 1000000000, err, sizeof err) != 0) fail_msg("%s", err);
    kl_latch_init(&true_core.latch, true);
    true_core.core.set_environment(kl_emulator_environment(&true_core));
    kl_emulator_give_callbacks(&true_core);
    true_core.core.init();
    true_core.core.initialised = true;
    assert_true(kl_emulator_load_content(&true_core));
    true_core.load = KL_LOAD_NONE;
    true_core.core.get_system_av_info(&true_core.av);
    if (kl_shown_open(&shown, &true_core, &start, 1000000000, "/nonexistent", "/nonexistent", &ours, by_pages,
                      err, sizeof err) != 0)
        fail_msg("%s", err);
    frame = 0;
    return 0;
}
static int open_both(void **state) {
    return (void)state, open_with(false, "feel");
}
#ifndef _WIN32
static int open_by_pages(void **state) {
    return (void)state, open_with(true, "feel");
}
static int open_with_a_scar(void **state) {
    return (void)state, open_with(true, "feel,scar");
}
#endif

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
    kl_world_frame(shown.emu.world, f.number);
    kl_emulator_run(&shown.emu, &f, true);
}

static int strength(const struct kl_emulator *e) {
    return e->lasting.motor[0][RETRO_RUMBLE_STRONG];
}
static int light(const struct kl_emulator *e) {
    return e->lasting.light[0];
}

TEST_WITH(motors_and_lights_are_those_of_its_last_frame, open_both, close_both) {
    run(true);
    assert_int_equal(strength(&shown.emu), 1000);
    assert_int_equal(light(&shown.emu), 1);
    assert_int_equal(strength(&true_core), 0);
    assert_int_equal(light(&true_core), 0);
    run(false);
    assert_int_equal(strength(&shown.emu), 0);
}

TEST_WITH(going_back_goes_back_to_its_motors, open_both, close_both) {
    shown.state_bytes = shown.emu.core.serialize_size();
    run(true);
    assert_true(kl_shown_keep(&shown, frame));
    uint32_t kept = frame;
    run(false);
    assert_int_equal(strength(&shown.emu), 0);
    assert_true(kl_shown_back(&shown, kept));
    assert_int_equal(strength(&shown.emu), 1000);
    assert_int_equal(light(&shown.emu), 1);
}

#ifndef _WIN32
/* The true core's state is where it begins; from there its memory goes back. */
static void begin_as_true(void) {
    static uint8_t bytes[1 << 20];
    size_t len = true_core.core.serialize_size();
    assert_true(len && len <= sizeof bytes && true_core.core.serialize(bytes, len));
    assert_string_equal(kl_shown_begin(&shown, &true_core, bytes, len, NULL), "");
}

static uint64_t ram(void) {
    uint64_t hash = 0;
    assert_true(kl_shown_ram(&shown, &hash));
    return hash;
}

TEST_WITH(by_pages_it_goes_back_to_its_memory, open_by_pages, close_both) {
    uint64_t at[6];
    begin_as_true();
    assert_true(shown.by_pages);
    for (unsigned i = 0; i < 6; i++) {
        at[i] = ram();
        assert_true(kl_shown_keep(&shown, frame));
        run(i % 2);
    }
    for (unsigned i = 6; i-- > 0;) {
        assert_true(kl_shown_back(&shown, i));
        assert_int_equal(ram(), at[i]);
        assert_int_equal(strength(&shown.emu), i && (i - 1) % 2 ? 1000 : 0);
    }
    assert_false(kl_shown_back(&shown, 6));
}

/* Both cores stand before their first frame. This one's loading a state would leave a trace in the game. */
TEST_WITH(before_the_first_frame_it_loads_nothing, open_with_a_scar, close_both) {
    uint64_t before = ram();
    assert_string_equal(kl_shown_begin(&shown, &true_core, NULL, 0, NULL), "");
    assert_true(shown.by_pages);
    assert_int_equal(ram(), before);
    assert_true(kl_shown_keep(&shown, frame));
    run(true);
    assert_true(kl_shown_back(&shown, 0));
    assert_int_equal(ram(), before);
}

/* It begins anew: nothing of before is kept. */
TEST_WITH(by_pages_it_begins_anew, open_by_pages, close_both) {
    begin_as_true();
    assert_true(kl_shown_keep(&shown, frame));
    run(true);
    begin_as_true();
    assert_true(shown.by_pages);
    assert_false(kl_shown_back(&shown, 0));
    assert_true(kl_shown_keep(&shown, frame));
    uint64_t before = ram();
    run(true);
    assert_true(ram() != before);
    assert_true(kl_shown_back(&shown, 1));
    assert_int_equal(ram(), before);
}

#endif

static void on_time(retro_usec_t us) {
    (void)us;
}

static void declare_size(struct kl_emulator *e, unsigned width) {
    struct retro_game_geometry g = {width, 240, 640, 480, 0};
    kl_env_call(e, RETRO_ENVIRONMENT_SET_GEOMETRY, &g);
}

static bool set_speed(struct kl_emulator *e, const char *value) {
    struct retro_variable v = {"probe_speed", value};
    return kl_env_call(e, RETRO_ENVIRONMENT_SET_VARIABLE, &v);
}

/* It begins with the other core's size and options, and goes back to its own of that frame. */
TEST_WITH(what_is_outside_of_the_state_goes_with_it, open_both, close_both) {
    static uint8_t bytes[1 << 20];
    size_t len = true_core.core.serialize_size();
    declare_size(&true_core, 200);
    assert_true(set_speed(&true_core, "slow"));
    assert_true(len && len <= sizeof bytes && true_core.core.serialize(bytes, len));
    assert_string_equal(kl_shown_begin(&shown, &true_core, bytes, len, NULL), "");
    assert_int_equal(shown.emu.av.geometry.base_width, 200);
    assert_string_equal(kl_options_get(&shown.emu.options, "probe_speed"), "slow");
    assert_true(kl_shown_keep(&shown, 7));
    declare_size(&shown.emu, 300);
    assert_true(set_speed(&shown.emu, "fast"));
    assert_true(kl_shown_keep(&shown, 8));
    assert_true(kl_shown_back(&shown, 7));
    assert_int_equal(shown.emu.av.geometry.base_width, 200);
    assert_string_equal(kl_options_get(&shown.emu.options, "probe_speed"), "slow");
    assert_true(kl_shown_back(&shown, 8));
    assert_int_equal(shown.emu.av.geometry.base_width, 300);
    assert_string_equal(kl_options_get(&shown.emu.options, "probe_speed"), "fast");
    assert_int_equal(true_core.av.geometry.base_width, 200);
}

/* Only the core itself can declare a callback, and the copy has not played. */
TEST_WITH(a_core_that_declares_in_play_is_not_shown, open_both, close_both) {
    static uint8_t bytes[1 << 20];
    size_t len = true_core.core.serialize_size();
    struct retro_frame_time_callback t = {on_time, 16667};
    assert_true(true_core.core.serialize(bytes, len));
    kl_env_call(&true_core, RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK, &t);
    assert_non_null(strstr(kl_shown_begin(&shown, &true_core, bytes, len, NULL), "SET_FRAME_TIME_CALLBACK"));
}

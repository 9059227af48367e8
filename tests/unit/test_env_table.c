/* A core's environment calls: each has its place in the table, once, with a reason; and the time and the
 * frontend's abilities as a core in a room gets them. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

static struct retro_perf_callback perf;
static bool can_turn;
static unsigned turns;

static bool front(unsigned cmd, void *data) {
    (void)data;
    if (cmd != RETRO_ENVIRONMENT_SET_ROTATION) return false;
    turns++;
    return can_turn;
}

static struct kl_emulator emu;
static const struct kl_front frontend = {.environment = front};

static int set_up(void **state) {
    (void)state;
    static const struct kl_emulator_hooks hooks = {0};
    kl_emulator_end(&emu);
    memset(&emu, 0, sizeof emu);
    if (kl_emulator_begin(&emu, &frontend, &hooks) != 0) return -1;
    (void)kl_emulator_environment(&emu);
    emu.av.timing.fps = 60;
    turns = 0;
    assert_true(kl_env_call(&emu, RETRO_ENVIRONMENT_GET_PERF_INTERFACE, &perf));
    kl_world_start(emu.world, 1000000000, 60000000);
    return 0;
}

/* As play.c does before each run. */
static void frame(uint32_t f) {
    kl_world_frame(emu.world, f);
}

TEST_WITH(time_goes_by_frames, set_up, NULL) {
    frame(600);
    assert_int_equal(perf.get_time_usec(), 10000000);
    assert_int_equal(perf.get_perf_counter(), 10000000000);
    frame(601);
    assert_int_equal(perf.get_time_usec(), 10016666);
}

/* A core that changes its rate in play goes on from the time that it is, as by every other clock. */
TEST_WITH(a_change_of_rate_makes_no_jump, set_up, NULL) {
    struct retro_system_av_info av = {.timing = {.fps = 50, .sample_rate = 48000}};
    frame(600);
    kl_env_call(&emu, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
    assert_int_equal(perf.get_time_usec(), 10000000);
    frame(601);
    assert_int_equal(perf.get_time_usec(), 10020000);
    av.timing.fps = 60;
    kl_env_call(&emu, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
    frame(602);
    assert_int_equal(perf.get_time_usec(), 10036666);
}

/* A core that hears no turns its picture itself; loaded afresh it hears the same, and the frontend nothing
 * new. */
TEST(rotation_is_answered_by_the_frontend) {
    unsigned quarters = 1;
    for (int can = 0; can < 2; can++) {
        set_up(NULL);
        can_turn = can;
        emu.load = KL_LOAD_FIRST;
        assert_int_equal(kl_env_call(&emu, RETRO_ENVIRONMENT_SET_ROTATION, &quarters), can_turn);
        emu.load = KL_LOAD_AFRESH;
        assert_int_equal(kl_env_call(&emu, RETRO_ENVIRONMENT_SET_ROTATION, &quarters), can_turn);
        assert_int_equal(turns, 1);
    }
    assert_false(kl_env_call(&emu, RETRO_ENVIRONMENT_SET_ROTATION, NULL));
}

TEST(nothing_is_missing) {
    for (unsigned n = 1; n <= 91; n++) {
        if (n == 4 || n == 5 || n == 20) continue; /* no longer calls */
        if (!kl_env_find(n) && !kl_env_find(n | RETRO_ENVIRONMENT_EXPERIMENTAL))
            fail_msg("call %u is missing", n);
    }
}

TEST(every_entry_is_whole) {
    unsigned count;
    const struct kl_env_entry *all = kl_env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        assert_non_null(all[i].name);
        assert_true(all[i].why && *all[i].why);
        assert_int_equal(all[i].room == KL_ENV_ANSWER, all[i].answer != NULL);
        assert_ptr_equal(kl_env_find(all[i].cmd), &all[i]); /* no number twice */
    }
}

/* A SET_* call declares something. A late player needs it by a snapshot, or cannot have it so, or does not
 * need it (outside.h). A newcomer's machine would be another one if nobody had asked. */
TEST(every_declaration_has_its_part) {
    unsigned count, locked = 0, core = 0;
    const struct kl_env_entry *all = kl_env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        bool declares = strstr(all[i].name, "SET_") && !strstr(all[i].name, "GET_");
        if (declares && all[i].part == KL_PART_NONE) fail_msg("%s has no part", all[i].name);
        if (strstr(all[i].name, "GET_") && all[i].part != KL_PART_NONE) fail_msg("%s asks", all[i].name);
        locked += all[i].part == KL_PART_LOCKED;
        core += all[i].part == KL_PART_CORE;
        if (all[i].part == KL_PART_CORE) assert_true(strlen(all[i].name) < KL_CORE_ONLY_NAME);
        /* nobody answers it from what is in the agreed bytes if it only goes by */
        if (all[i].part == KL_PART_LOCKED) assert_int_equal(all[i].room, KL_ENV_ANSWER);
    }
    assert_true(locked >= 14 && core >= 9);
    assert_ptr_equal(kl_env_find(44)->answer, kl_env_find(87)->answer);
}

/* The flags are part of the number: two calls share 44. */
TEST(flags_count) {
    const struct kl_env_entry *quirks = kl_env_find(RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS);
    const struct kl_env_entry *shared = kl_env_find(RETRO_ENVIRONMENT_SET_HW_SHARED_CONTEXT);
    assert_non_null(quirks);
    assert_non_null(shared);
    assert_ptr_not_equal(quirks, shared);
    assert_non_null(strstr(shared->name, "HW_SHARED"));
    assert_null(kl_env_find(RETRO_ENVIRONMENT_GET_VARIABLE | RETRO_ENVIRONMENT_EXPERIMENTAL));
    assert_null(kl_env_find(999));
}

/* As the header numbers them. */
TEST(flags_are_the_headers) {
    static const unsigned header[] = {
        RETRO_ENVIRONMENT_SET_ROTATION,
        RETRO_ENVIRONMENT_SET_MEMORY_MAPS,
        RETRO_ENVIRONMENT_GET_VFS_INTERFACE,
        RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE,
        RETRO_ENVIRONMENT_GET_FASTFORWARDING,
        RETRO_ENVIRONMENT_GET_INPUT_BITMASKS,
        RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION,
        RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE,
        RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE,
        RETRO_ENVIRONMENT_GET_THROTTLE_STATE,
        RETRO_ENVIRONMENT_GET_SAVESTATE_CONTEXT,
        RETRO_ENVIRONMENT_GET_HW_RENDER_INTERFACE,
        RETRO_ENVIRONMENT_SET_VARIABLE,
        RETRO_ENVIRONMENT_GET_CURRENT_SOFTWARE_FRAMEBUFFER,
        RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS,
        RETRO_ENVIRONMENT_GET_LED_INTERFACE,
        RETRO_ENVIRONMENT_GET_MIDI_INTERFACE,
        RETRO_ENVIRONMENT_GET_TARGET_REFRESH_RATE,
        RETRO_ENVIRONMENT_SET_HW_RENDER_CONTEXT_NEGOTIATION_INTERFACE,
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        if (!kl_env_find(header[i])) fail_msg("call %#x is missing", header[i]);
}

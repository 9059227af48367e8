/* The core's view in a room: the time, and the abilities of its frontend. */
#include "tests/unit/unit.h"

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

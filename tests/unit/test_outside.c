/* The machine beside the core's savestate: declarations made in play reach a machine that loads a
 * snapshot, and its frontend, once; those that only a core can make keep it from loading.
 * core_wrapper/env/outside.h, core_wrapper/env/README.md. runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include <math.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/outside.h"

/* The calls that a frontend has got. */
struct heard {
    unsigned geometry, av, format, rotation, map, list, others;
    struct retro_system_av_info last;
    bool refuses_quirks;
};
static struct heard first_heard, second_heard;

static bool rumble(unsigned port, enum retro_rumble_effect effect, uint16_t strength) {
    (void)port, (void)effect, (void)strength;
    return true;
}
static void light(int led, int state) {
    (void)led, (void)state;
}

static bool hear(struct heard *h, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_SET_GEOMETRY:
        h->geometry++;
        h->last.geometry = *(struct retro_game_geometry *)data;
        return true;
    case RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO:
        h->av++;
        h->last = *(struct retro_system_av_info *)data;
        return true;
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT: return ++h->format;
    case RETRO_ENVIRONMENT_SET_ROTATION: return ++h->rotation;
    case RETRO_ENVIRONMENT_SET_MEMORY_MAPS: return ++h->map;
    case RETRO_ENVIRONMENT_SET_VARIABLES: return ++h->list;
    case RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION: return false;
    case RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS:
    case 87: *(uint64_t *)data = 0; return !h->refuses_quirks;
    case RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE:
        ((struct retro_rumble_interface *)data)->set_rumble_state = rumble;
        return true;
    case RETRO_ENVIRONMENT_GET_LED_INTERFACE:
        ((struct retro_led_interface *)data)->set_led_state = light;
        return true;
    default: h->others++; return true;
    }
}
static bool hear_first(unsigned cmd, void *data) {
    return hear(&first_heard, cmd, data);
}
static bool hear_second(unsigned cmd, void *data) {
    return hear(&second_heard, cmd, data);
}
static const struct kl_front fronts[2] = {{.environment = hear_first}, {.environment = hear_second}};

/* --- a core's parts --- */

static const struct retro_variable declared[] = {{"own_speed", "Speed; one|two|three"},
                                                 {"own_diff", "Difficulty; easy|hard"},
                                                 {NULL, NULL}},
                                   later[] = {{"own_speed", "Speed; two|three|four"},
                                              {"own_diff", "Difficulty; hard|easy"},
                                              {NULL, NULL}};
static uint8_t ram[64], expansion[64];
static unsigned ports_set;

static void set_port(unsigned port, unsigned device) {
    (void)port, (void)device;
    ports_set++;
}
static void on_time(retro_usec_t us) {
    (void)us;
}
static void on_other_time(retro_usec_t us) {
    (void)us;
}
static void on_key(bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    (void)down, (void)code, (void)character, (void)modifiers;
}
static bool eject(bool out) {
    return out;
}

static void declare_map(struct kl_emulator *e, unsigned parts) {
    struct retro_memory_descriptor d[2] = {
        {RETRO_MEMDESC_SYSTEM_RAM, ram, 0, 0, 0, 0, sizeof ram, "ram"},
        {RETRO_MEMDESC_SYSTEM_RAM, expansion, 0, 0x10000, 0, 0, sizeof expansion, "exp"}};
    struct retro_memory_map map = {d, parts};
    kl_env_call(e, RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &map);
}

static void declare_time(struct kl_emulator *e, retro_frame_time_callback_t callback) {
    struct retro_frame_time_callback t = {callback, 16667};
    kl_env_call(e, RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK, &t);
}

static void declare_av(struct kl_emulator *e, unsigned width, double fps) {
    struct retro_system_av_info av = {{width, 240, 640, 480, 4.0f / 3}, {fps, 48000}};
    kl_env_call(e, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
}

/* --- two machines, as loaded for the room --- */

static struct kl_emulator playing, newcomer;
static struct kl_outside outside;
static uint8_t bytes[65536];

static void load(struct kl_emulator *e, const struct kl_front *front) {
    static const struct kl_emulator_hooks none = {0};
    kl_options_free(&e->options);
    kl_emulator_end(e);
    memset(e, 0, sizeof *e);
    assert_int_equal(kl_emulator_begin(e, front, &none), 0);
    kl_world_start(e->world, 1, 60000000);
    e->core.set_controller_port_device = set_port;
    e->load = KL_LOAD_FIRST;
    kl_env_call(e, RETRO_ENVIRONMENT_SET_VARIABLES, (void *)declared);
    declare_map(e, 1);
    declare_av(e, 320, 60);
    e->load = KL_LOAD_NONE;
    e->phase = KL_PHASE_PLAYING;
}

static int set_up(void **state) {
    (void)state;
    kl_outside_free(&outside);
    load(&playing, &fronts[0]);
    load(&newcomer, &fronts[1]);
    memset(&first_heard, 0, sizeof first_heard);
    memset(&second_heard, 0, sizeof second_heard);
    ports_set = 0;
    return 0;
}

/* The one's outside, as the other reads it from a snapshot's bytes. */
static void sent(const struct kl_emulator *e, struct kl_outside *got) {
    assert_true(kl_outside_collect(&outside, e));
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_outside_write(&w, &outside);
    assert_false(w.failed);
    struct kl_reader r = kl_reader(bytes, (size_t)(w.at - bytes));
    kl_outside_read(&r, got);
    assert_false(r.failed);
    assert_int_equal(kl_reader_left(&r), 0);
}

static void assert_equal_machines(void) {
    static struct kl_outside a, b;
    char what[256];
    assert_true(kl_outside_collect(&a, &playing) && kl_outside_collect(&b, &newcomer));
    if (kl_outside_differs(&a, &b, what, sizeof what)) fail_msg("%s", what);
    kl_outside_free(&a);
    kl_outside_free(&b);
}

static void begin(void) {
    struct kl_outside got;
    sent(&playing, &got);
    assert_null(kl_outside_lacks(&newcomer, &got));
    unsigned before = second_heard.av + second_heard.geometry + second_heard.format;
    newcomer.quiet = true;
    assert_true(kl_outside_apply(&newcomer, &got));
    kl_outside_tell(&newcomer);
    assert_int_equal(second_heard.av + second_heard.geometry + second_heard.format, before); /* not yet */
    newcomer.quiet = false;
    kl_outside_tell(&newcomer);
    kl_outside_tell(&newcomer);
}

TEST_WITH(a_newcomer_and_its_frontend_have_the_mode, set_up, NULL) {
    enum retro_pixel_format format = RETRO_PIXEL_FORMAT_XRGB8888;
    unsigned quarters = 3;
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_ROTATION, &quarters);
    declare_av(&playing, 512, 50.0069789);
    begin();
    assert_equal_machines();
    assert_int_equal(second_heard.av, 1);
    assert_int_equal(second_heard.format, 1);
    assert_int_equal(second_heard.rotation, 1);
    assert_int_equal(second_heard.geometry, 0);
    assert_int_equal(second_heard.last.geometry.base_width, 512);
    assert_true(fabs(second_heard.last.timing.fps - 50.006979) < 1e-6);
    assert_int_equal(kl_world_time(newcomer.world).fps_uhz, 50006979);
    begin();
    assert_int_equal(second_heard.av, 1); /* once */
}

/* A size alone makes no new drivers. */
TEST_WITH(a_size_alone_is_told_as_a_size, set_up, NULL) {
    struct retro_game_geometry g = {256, 224, 640, 480, 0};
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_GEOMETRY, &g);
    assert_int_equal(first_heard.geometry, 1);
    begin();
    assert_equal_machines();
    assert_int_equal(second_heard.geometry, 1);
    assert_int_equal(second_heard.av, 0);
    begin();
    assert_int_equal(second_heard.geometry, 1);
}

/* The values are the machine's; a core that has never asked for the functions is told them as well. */
TEST_WITH(a_newcomer_has_the_motors_and_lights, set_up, NULL) {
    kl_lasting_motor(&playing.lasting, 2, RETRO_RUMBLE_WEAK, 0xffff);
    kl_lasting_light(&playing.lasting, KL_LASTING_LIGHTS - 1, 3);
    kl_lasting_light(&newcomer.lasting, 0, 1); /* of its own frames before the load */
    begin();
    assert_equal_machines();
    assert_int_equal(newcomer.lasting.motor[2][RETRO_RUMBLE_WEAK], 0xffff);
    assert_int_equal(newcomer.lasting.light[KL_LASTING_LIGHTS - 1], 3);
    assert_int_equal(newcomer.lasting.light[0], 0);
    assert_non_null(newcomer.told.rumble.set_rumble_state);
    assert_non_null(newcomer.told.led.set_led_state);
    kl_lasting_motor(&newcomer.lasting, 2, RETRO_RUMBLE_WEAK, 0);
    struct kl_outside got;
    char what[256];
    sent(&newcomer, &got);
    static struct kl_outside here;
    assert_true(kl_outside_collect(&here, &playing) &&
                kl_outside_differs(&here, &got, what, sizeof what)); /* a difference has a name */
    assert_non_null(strstr(what, "motors and lights"));
    kl_outside_free(&here);
}

static bool set_speed(struct kl_emulator *e, const char *value) {
    struct retro_variable v = {"own_speed", value};
    return kl_env_call(e, RETRO_ENVIRONMENT_SET_VARIABLE, &v);
}

TEST_WITH(options_are_those_declared_last, set_up, NULL) {
    bool updated = false;
    assert_true(set_speed(&playing, "two"));
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_VARIABLES, (void *)later);
    assert_true(first_heard.list >= 1);
    begin();
    assert_equal_machines();
    assert_int_equal(second_heard.list, 1);
    assert_true(kl_env_call(&newcomer, RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &updated) && updated);
    assert_false(set_speed(&playing, "one"));
    assert_false(set_speed(&newcomer, "one"));
    assert_true(set_speed(&playing, "four"));
    assert_true(set_speed(&newcomer, "four"));
    assert_string_equal(kl_options_get(&newcomer.options, "own_speed"), "four");
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_VARIABLES, (void *)declared);
    kl_env_call(&newcomer, RETRO_ENVIRONMENT_SET_VARIABLES, (void *)declared);
    assert_string_equal(kl_options_get(&playing.options, "own_speed"),
                        kl_options_get(&newcomer.options, "own_speed"));
}

static const char *lacking(void) {
    static struct kl_outside got;
    sent(&playing, &got);
    return kl_outside_lacks(&newcomer, &got);
}

TEST_WITH(a_newcomer_lacks_what_only_the_core_can_do, set_up, NULL) {
    struct retro_keyboard_callback keys = {on_key};
    struct retro_disk_control_callback disks = {.set_eject_state = eject};
    assert_null(lacking());
    declare_map(&playing, 2); /* a larger one than the one that both have */
    assert_string_equal(lacking(), "SET_MEMORY_MAPS");
    declare_map(&newcomer, 2);
    assert_null(lacking());
    declare_time(&playing, on_time);
    assert_string_equal(lacking(), "SET_FRAME_TIME_CALLBACK");
    declare_time(&newcomer, on_time);
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &keys);
    assert_string_equal(lacking(), "SET_KEYBOARD_CALLBACK");
    kl_env_call(&newcomer, RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &keys);
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &disks);
    assert_string_equal(lacking(), "SET_DISK_CONTROL_INTERFACE");
    kl_env_call(&newcomer, RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &disks);
    assert_null(lacking());
    struct retro_audio_callback audio = {0};
    assert_false(
        kl_env_call(&playing, RETRO_ENVIRONMENT_SET_AUDIO_CALLBACK, &audio)); /* refused, and known */
    assert_string_equal(lacking(), "SET_AUDIO_CALLBACK");
}

/* Its own earlier state: the wrapper has kept the pointers, and puts them in force as they were. */
TEST_WITH(going_back_puts_the_earlier_functions_in_force, set_up, NULL) {
    static struct kl_outside before, between, after;
    char what[256];
    assert_true(kl_outside_collect(&before, &playing));
    declare_time(&playing, on_time);
    declare_map(&playing, 2);
    assert_true(kl_outside_collect(&between, &playing));
    declare_time(&playing, on_other_time); /* the same numbers, another function */
    assert_true(kl_outside_collect(&after, &playing));
    assert_true(kl_outside_differs(&between, &after, what, sizeof what));
    assert_null(kl_outside_lacks(&playing, &before));
    assert_true(kl_outside_apply(&playing, &before));
    assert_null(playing.told.frame_time.callback);
    assert_int_equal(kl_memory_inner(&playing.memory).num_descriptors, 1);
    assert_true(kl_outside_apply(&playing, &between));
    assert_ptr_equal(playing.told.frame_time.callback, on_time);
    assert_int_equal(kl_memory_inner(&playing.memory).num_descriptors, 2);
    assert_ptr_equal(kl_memory_inner(&playing.memory).descriptors[1].ptr, expansion);
    assert_true(kl_outside_apply(&playing, &after));
    assert_ptr_equal(playing.told.frame_time.callback, on_other_time);
    kl_outside_free(&before);
    kl_outside_free(&between);
    kl_outside_free(&after);
}

TEST_WITH(another_device_or_system_is_lacking, set_up, NULL) {
    struct kl_outside got;
    uint64_t quirks = RETRO_SERIALIZATION_QUIRK_PLATFORM_DEPENDENT;
    sent(&playing, &got);
    got.device[1] = 100000;
    assert_non_null(kl_outside_lacks(&newcomer, &got)); /* past the end of a core's table */
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS, &quirks);
    sent(&playing, &got);
    assert_non_null(strstr(got.platform, kl_world_system));
    assert_string_equal(kl_outside_lacks(&newcomer, &got), "SET_SERIALIZATION_QUIRKS");
    kl_env_call(&newcomer, 87, &quirks);
    assert_null(kl_outside_lacks(&newcomer, &got));
    strcpy(got.platform, "vax VMS");
    assert_string_equal(kl_outside_lacks(&newcomer, &got), "the same system");
}

/* The answer depends on no frontend, and 87 is 44. */
TEST_WITH(quirks_are_answered_the_same_everywhere, set_up, NULL) {
    const uint64_t said = RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION |
                          RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE | (uint64_t)1 << 40;
    for (unsigned refuses = 0; refuses < 2; refuses++)
        for (unsigned n = 0; n < 2; n++) {
            uint64_t q = said;
            first_heard.refuses_quirks = refuses;
            playing.phase = KL_PHASE_FREE;
            assert_true(kl_env_call(&playing, n ? 87 : 44, &q));
            assert_int_equal(q, RETRO_SERIALIZATION_QUIRK_SINGLE_SESSION |
                                    RETRO_SERIALIZATION_QUIRK_CORE_VARIABLE_SIZE |
                                    RETRO_SERIALIZATION_QUIRK_FRONT_VARIABLE_SIZE);
            assert_int_equal(playing.quirks, q);
        }
}

/* A core may declare anything of itself; its snapshots can be read all the same. */
TEST_WITH(nonsense_of_a_core_is_bounded, set_up, NULL) {
    struct kl_outside got;
    struct retro_system_av_info av = {{0, 70000, 0, 70000, NAN}, {NAN, INFINITY}};
    kl_env_call(&playing, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
    sent(&playing, &got);
    assert_true(got.base_width == 1 && got.base_height == KL_OUTSIDE_SIZE_MAX && got.aspect_e6 == 0 &&
                got.fps_uhz == 60000000 && got.rate_mhz == KL_OUTSIDE_RATE_MAX);
}

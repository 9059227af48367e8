/* The core's questions in a room: every machine gets the same answers. */
#include <string.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/context/wrapper.h"

static bool forward(unsigned cmd, void *data) {
    return kl_w.front.environment && kl_w.front.environment(cmd, data);
}

/* Most questions take a pointer to the answer; a core that passes none only asks whether there is one. */
static bool give_bool(void *data, bool v) {
    if (data) *(bool *)data = v;
    return true;
}
static bool give_unsigned(void *data, unsigned v) {
    if (data) *(unsigned *)data = v;
    return true;
}
static bool give_string(void *data, const char *v) {
    if (data) *(const char **)data = v;
    return true;
}

bool kl_env_can_dupe(unsigned cmd, void *data) {
    return (void)cmd, give_bool(data, true);
}
bool kl_env_overscan(unsigned cmd, void *data) {
    return (void)cmd, give_bool(data, false);
}
bool kl_env_fastforwarding(unsigned cmd, void *data) {
    return (void)cmd, give_bool(data, false);
}
bool kl_env_bitmasks(unsigned cmd, void *data) {
    return (void)cmd, give_bool(data, true);
}
bool kl_env_max_users(unsigned cmd, void *data) {
    return (void)cmd, give_unsigned(data, KL_MAX_SEATS);
}
bool kl_env_language(unsigned cmd, void *data) {
    return (void)cmd, give_unsigned(data, RETRO_LANGUAGE_ENGLISH);
}
bool kl_env_disk_version(unsigned cmd, void *data) {
    return (void)cmd, give_unsigned(data, 1);
}
bool kl_env_username(unsigned cmd, void *data) {
    return (void)cmd, give_string(data, "Keylock");
}
bool kl_env_libretro_path(unsigned cmd, void *data) {
    return (void)cmd, give_string(data, kl_w.core.path);
}
bool kl_env_save_dir(unsigned cmd, void *data) {
    return (void)cmd, give_string(data, kl_w.save_dir);
}
bool kl_env_yes(unsigned cmd, void *data) {
    return (void)cmd, give_bool(data, true);
}

bool kl_env_capabilities(unsigned cmd, void *data) {
    (void)cmd;
    if (data)
        *(uint64_t *)data = 1u << RETRO_DEVICE_JOYPAD | 1u << RETRO_DEVICE_MOUSE |
                            1u << RETRO_DEVICE_KEYBOARD | 1u << RETRO_DEVICE_LIGHTGUN |
                            1u << RETRO_DEVICE_ANALOG | 1u << RETRO_DEVICE_POINTER;
    return true;
}

/* Bit 0: picture, bit 1: sound. The sound stays on: switched off it changes some cores' state. */
bool kl_env_av_enable(unsigned cmd, void *data) {
    (void)cmd;
    if (data) *(int *)data = kl_w.play.hidden && !kl_w.show_all && !kl_w.play.hash_av ? 2 : 3;
    return true;
}

bool kl_env_refresh_rate(unsigned cmd, void *data) {
    (void)cmd;
    if (data) *(float *)data = (float)(kl_w.av.timing.fps > 0 ? kl_w.av.timing.fps : 60.0);
    return true;
}

bool kl_env_throttle(unsigned cmd, void *data) {
    struct retro_throttle_state *t = data;
    (void)cmd;
    if (!t) return true;
    t->mode = RETRO_THROTTLE_NONE;
    t->rate = (float)(kl_w.av.timing.fps > 0 ? kl_w.av.timing.fps : 60.0);
    return true;
}

bool kl_env_savestate_context(unsigned cmd, void *data) {
    (void)cmd;
    if (data) *(int *)data = RETRO_SAVESTATE_CONTEXT_NORMAL;
    return true;
}

/* ---- options ---- */

/* Before the room has given its options, the player's own are asked for and kept: the host's become the
 * room's. */
static void ask_frontend(const char *key) {
    struct retro_variable v = {.key = key};
    char why[256];
    if (kl_w.phase < KL_PHASE_READY && kl_w.load != KL_LOAD_AFRESH &&
        forward(RETRO_ENVIRONMENT_GET_VARIABLE, &v) && v.value)
        kl_options_set(&kl_w.options, key, v.value, true, why, sizeof why);
}

bool kl_env_variable(unsigned cmd, void *data) {
    struct retro_variable *v = data;
    (void)cmd;
    if (!v || !v->key) return false;
    ask_frontend(v->key);
    v->value = kl_options_get(&kl_w.options, v->key);
    return v->value != NULL;
}

bool kl_env_variable_update(unsigned cmd, void *data) {
    (void)cmd;
    bool playing = kl_w.phase >= KL_PHASE_FREE && kl_w.load == KL_LOAD_NONE;
    bool updated = playing && kl_w.options.updated;
    if (playing) kl_w.options.updated = false;
    return give_bool(data, updated);
}

bool kl_env_set_variable(unsigned cmd, void *data) {
    const struct retro_variable *v = data;
    char why[256];
    (void)cmd;
    if (!v) return true;
    return v->key && v->value && kl_options_set(&kl_w.options, v->key, v->value, false, why, sizeof why) == 0;
}

bool kl_env_options_version(unsigned cmd, void *data) {
    unsigned v = 0;
    if (!forward(cmd, &v)) v = 0;
    return give_unsigned(data, v < 2 ? v : 2);
}

/* ---- content ---- */

bool kl_env_game_info_ext(unsigned cmd, void *data) {
    const struct retro_game_info_ext *ext = NULL;
    if (!kl_w.content.has_ext && kl_w.load == KL_LOAD_FIRST && forward(cmd, &ext) && ext)
        kl_content_keep_ext(&kl_w.content, ext);
    if (!kl_w.content.has_ext) return false;
    if (data) *(const struct retro_game_info_ext **)data = kl_w.content.ext;
    return true;
}

/* ---- performance: the world's clock, so that both ways to ask for the time agree ---- */

static retro_time_t perf_time_us(void) {
    return kl_world_read_ns() / 1000;
}

static retro_perf_tick_t perf_counter(void) {
    return (retro_perf_tick_t)kl_world_read_ns();
}

/* The code path of a core may show in its floating-point results, so the answer names only features that all
 * machines of a kind have. */
static uint64_t cpu_features(void) {
#if defined(__x86_64__)
    return RETRO_SIMD_SSE | RETRO_SIMD_SSE2 | RETRO_SIMD_MMX | RETRO_SIMD_MMXEXT | RETRO_SIMD_CMOV;
#elif defined(__aarch64__)
    return RETRO_SIMD_NEON | RETRO_SIMD_ASIMD;
#else
    return 0;
#endif
}

static void perf_register(struct retro_perf_counter *c) {
    c->registered = true;
}
static void perf_nothing(struct retro_perf_counter *c) {
    (void)c;
}
static void perf_log(void) {}

bool kl_env_perf(unsigned cmd, void *data) {
    struct retro_perf_callback *p = data;
    (void)cmd;
    if (!p) return true;
    p->get_time_usec = perf_time_us;
    p->get_cpu_features = cpu_features;
    p->get_perf_counter = perf_counter;
    p->perf_register = perf_register;
    p->perf_start = perf_nothing;
    p->perf_stop = perf_nothing;
    p->perf_log = perf_log;
    return true;
}

/* ---- rumble, sensors and lights ---- */

static bool set_rumble(unsigned port, enum retro_rumble_effect effect, uint16_t strength) {
    int pad = kl_env_hooks.pad ? kl_env_hooks.pad(port) : -1;
    if (pad >= 0 && kl_w.told.rumble.set_rumble_state)
        kl_w.told.rumble.set_rumble_state((unsigned)pad, effect, strength);
    return true;
}

bool kl_env_rumble(unsigned cmd, void *data) {
    struct retro_rumble_interface *r = data;
    if (!forward(cmd, &kl_w.told.rumble)) kl_w.told.rumble.set_rumble_state = NULL;
    if (r) r->set_rumble_state = set_rumble;
    return true;
}

static void set_led(int led, int state) {
    if (kl_w.told.led.set_led_state) kl_w.told.led.set_led_state(led, state);
}

bool kl_env_led(unsigned cmd, void *data) {
    struct retro_led_interface *l = data;
    if (!forward(cmd, &kl_w.told.led)) kl_w.told.led.set_led_state = NULL;
    if (l) l->set_led_state = set_led;
    return true;
}

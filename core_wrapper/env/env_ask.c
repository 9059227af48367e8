/* The core's questions in a room: every machine gets the same answers. */
#include <string.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

/* Most questions take a pointer to the answer; a core that passes none only asks whether there is one. */
static bool give_string(void *data, const char *v) {
    if (data) *(const char **)data = v;
    return true;
}

bool kl_env_libretro_path(struct kl_emulator *e, unsigned cmd, void *data) {
    return (void)cmd, give_string(data, e->core.path);
}
bool kl_env_save_dir(struct kl_emulator *e, unsigned cmd, void *data) {
    return (void)cmd, give_string(data, e->save_dir);
}

/* Bit 0: picture, bit 1: sound. The sound stays on: switched off it changes some cores' state. */
bool kl_env_av_enable(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    if (data) *(int *)data = e->unseen ? 2 : 3;
    return true;
}

/* By the integer that a snapshot carries: a machine that began with one answers the same. */
static float rate(const struct kl_emulator *e) {
    return (float)(kl_emulator_fps_uhz(e->av.timing.fps) / 1e6);
}

bool kl_env_refresh_rate(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    if (data) *(float *)data = rate(e);
    return true;
}

bool kl_env_throttle(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_throttle_state *t = data;
    (void)cmd;
    if (!t) return true;
    t->mode = RETRO_THROTTLE_NONE;
    t->rate = rate(e);
    return true;
}

/* --- options --- */

/* Before the room has given its options, the player's own are asked for and kept: the host's become the
 * room's. */
static void ask_frontend(struct kl_emulator *e, const char *key) {
    struct retro_variable v = {.key = key};
    char why[256];
    if (e->phase < KL_PHASE_READY && e->load != KL_LOAD_AFRESH &&
        kl_env_forward(e, RETRO_ENVIRONMENT_GET_VARIABLE, &v) && v.value)
        kl_options_set(&e->options, key, v.value, true, why, sizeof why);
}

bool kl_env_variable(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_variable *v = data;
    (void)cmd;
    if (!v || !v->key) return false;
    ask_frontend(e, v->key);
    v->value = kl_options_get(&e->options, v->key);
    return v->value != NULL;
}

bool kl_env_variable_update(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    bool playing = e->phase >= KL_PHASE_FREE && e->load == KL_LOAD_NONE;
    bool updated = playing && e->options.updated;
    if (playing) e->options.updated = false;
    if (data) *(bool *)data = updated;
    return true;
}

bool kl_env_set_variable(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_variable *v = data;
    char why[256];
    (void)cmd;
    if (!v) return true;
    return v->key && v->value && kl_options_set(&e->options, v->key, v->value, false, why, sizeof why) == 0;
}

bool kl_env_options_version(struct kl_emulator *e, unsigned cmd, void *data) {
    unsigned v = 0;
    if (!kl_env_forward(e, cmd, &v)) v = 0;
    if (data) *(unsigned *)data = v < 2 ? v : 2;
    return true;
}

/* --- content --- */

bool kl_env_game_info_ext(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_game_info_ext *ext = NULL;
    if (!e->content.has_ext && e->load == KL_LOAD_FIRST && kl_env_forward(e, cmd, &ext) && ext)
        kl_content_keep_ext(&e->content, ext);
    if (!e->content.has_ext) return false;
    if (data) *(const struct retro_game_info_ext **)data = e->content.ext;
    return true;
}

/* --- performance: the world's clock, so that both ways to ask for the time agree --- */

int64_t kl_env_perf_ns(struct kl_emulator *e) {
    return kl_world_read_ns(e->world);
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

bool kl_env_perf(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_perf_callback *p = data;
    (void)cmd;
    if (!p) return true;
    p->get_time_usec = e->calls->perf_time_us;
    p->get_cpu_features = cpu_features;
    p->get_perf_counter = e->calls->perf_counter;
    p->perf_register = perf_register;
    p->perf_start = perf_nothing;
    p->perf_stop = perf_nothing;
    p->perf_log = perf_log;
    return true;
}

/* --- rumble, sensors and lights --- */

/* A core hears the same everywhere, whoever has a motor. */
bool kl_env_set_rumble(struct kl_emulator *e, unsigned port, enum retro_rumble_effect effect,
                       uint16_t strength) {
    kl_lasting_motor(&e->lasting, port, effect, strength);
    return true;
}

bool kl_env_rumble(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_rumble_interface *r = data;
    if (!kl_env_forward(e, cmd, &e->told.rumble)) e->told.rumble.set_rumble_state = NULL;
    if (r) r->set_rumble_state = e->calls->rumble;
    return true;
}

void kl_env_set_led(struct kl_emulator *e, int led, int state) {
    kl_lasting_light(&e->lasting, led, state);
}

bool kl_env_led(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_led_interface *l = data;
    if (!kl_env_forward(e, cmd, &e->told.led)) e->told.led.set_led_state = NULL;
    if (l) l->set_led_state = e->calls->led;
    return true;
}

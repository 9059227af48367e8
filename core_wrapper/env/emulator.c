#include "core_wrapper/env/emulator.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

/* Which emulator a function without a context belongs to. */
static struct kl_emulator *at[KL_WORLDS];
static struct kl_emulator *known;

/* ---- the functions of each emulator ---- */

static void sound(struct kl_emulator *e, const int16_t *stereo, size_t frames) {
    if (e->hooks.sound) e->hooks.sound(e->hooks.ctx, stereo, frames);
}

/* The frontend has been polled by the time the core polls: a core that polls late, often or never reads the
 * same. */
static void poll(void) {}

#define CALLS(n)                                                                                             \
    static bool environment_##n(unsigned cmd, void *data) {                                                  \
        return at[n] && kl_env_call(at[n], cmd, data);                                                       \
    }                                                                                                        \
    static void video_##n(const void *data, unsigned width, unsigned height, size_t pitch) {                 \
        if (at[n]->hooks.video) at[n]->hooks.video(at[n]->hooks.ctx, data, width, height, pitch);            \
    }                                                                                                        \
    static void sample_##n(int16_t left, int16_t right) {                                                    \
        int16_t stereo[2] = {left, right};                                                                   \
        sound(at[n], stereo, 1);                                                                             \
    }                                                                                                        \
    static size_t batch_##n(const int16_t *stereo, size_t frames) {                                          \
        sound(at[n], stereo, frames);                                                                        \
        return frames;                                                                                       \
    }                                                                                                        \
    static int16_t state_##n(unsigned port, unsigned device, unsigned index, unsigned id) {                  \
        return kl_latch_state(&at[n]->latch, port, device, index, id);                                       \
    }                                                                                                        \
    static retro_time_t perf_time_us_##n(void) {                                                             \
        return kl_env_perf_ns(at[n]) / 1000;                                                                 \
    }                                                                                                        \
    static retro_perf_tick_t perf_counter_##n(void) {                                                        \
        return (retro_perf_tick_t)kl_env_perf_ns(at[n]);                                                     \
    }                                                                                                        \
    static bool rumble_##n(unsigned port, enum retro_rumble_effect effect, uint16_t strength) {              \
        return kl_env_set_rumble(at[n], port, effect, strength);                                             \
    }                                                                                                        \
    static void led_##n(int led, int state) {                                                                \
        kl_env_set_led(at[n], led, state);                                                                   \
    }                                                                                                        \
    static void log_##n(enum retro_log_level level, const char *format, ...) {                               \
        va_list args;                                                                                        \
        va_start(args, format);                                                                              \
        kl_env_core_says(at[n], level, format, args);                                                        \
        va_end(args);                                                                                        \
    }
CALLS(0)
CALLS(1)
CALLS(2)
CALLS(3)
_Static_assert(KL_WORLDS == 4, "CALLS lists the emulators");

static const struct callbacks {
    retro_environment_t environment;
    retro_video_refresh_t video;
    retro_audio_sample_t sample;
    retro_audio_sample_batch_t batch;
    retro_input_state_t state;
    struct kl_emulator_calls calls;
} callbacks[KL_WORLDS] = {
#define ROW(n)                                                                                               \
    {                                                                                                        \
        environment_##n, video_##n, sample_##n, batch_##n, state_##n, {                                      \
            perf_time_us_##n, perf_counter_##n, rumble_##n, led_##n, log_##n                                 \
        }                                                                                                    \
    }
    ROW(0), ROW(1), ROW(2), ROW(3)};

static const struct callbacks *callbacks_of(const struct kl_emulator *e) {
    unsigned n = 0;
    while (n + 1 < KL_WORLDS && at[n] != e)
        n++;
    return &callbacks[n];
}

retro_environment_t kl_emulator_environment(const struct kl_emulator *e) {
    return callbacks_of(e)->environment;
}

void kl_emulator_give_callbacks(const struct kl_emulator *e) {
    const struct callbacks *c = callbacks_of(e);
    e->core.set_video_refresh(c->video);
    e->core.set_audio_sample(c->sample);
    e->core.set_audio_sample_batch(c->batch);
    e->core.set_input_poll(poll);
    e->core.set_input_state(c->state);
}

const struct kl_emulator_calls *kl_emulator_calls(const struct kl_emulator *e) {
    return &callbacks_of(e)->calls;
}

struct kl_emulator *kl_emulator_known(void) {
    return known;
}

/* ---- begin and end ---- */

int kl_emulator_begin(struct kl_emulator *e, const struct kl_front *front,
                      const struct kl_emulator_hooks *hooks) {
    unsigned n = 0;
    e->front = front;
    e->hooks = *hooks;
    if (e->world) return 0;
    while (n < KL_WORLDS && at[n])
        n++;
    if (n == KL_WORLDS || !(e->world = kl_world_take())) return -1;
    at[n] = e;
    if (!known) known = e;
    return 0;
}

void kl_emulator_end(struct kl_emulator *e) {
    for (unsigned n = 0; n < KL_WORLDS; n++)
        if (at[n] == e) at[n] = NULL;
    if (known == e) known = NULL;
    kl_world_release(e->world);
    e->world = NULL;
}

bool kl_emulator_local(const struct kl_emulator *e) {
    return e->phase == KL_PHASE_LOCAL || e->phase == KL_PHASE_FREE;
}

uint32_t kl_emulator_fps_uhz(double fps) {
    return fps >= 1 && fps <= 1000 ? (uint32_t)llround(fps * 1e6) : 60000000;
}

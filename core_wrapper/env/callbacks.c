/* libretro's callbacks take no context: a set of functions for each emulator. */
#include <stdarg.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"

static void sound(struct kl_emulator *e, const int16_t *stereo, size_t frames) {
    if (e->hooks.sound) e->hooks.sound(e->hooks.ctx, stereo, frames);
}

/* The frontend has been polled by the time the core polls: a core that polls late, often or never reads the
 * same. */
static void poll(void) {}

#define CALLS(n)                                                                                             \
    static bool environment_##n(unsigned cmd, void *data) {                                                  \
        return kl_emulator_at[n] && kl_env_call(kl_emulator_at[n], cmd, data);                               \
    }                                                                                                        \
    static void video_##n(const void *data, unsigned width, unsigned height, size_t pitch) {                 \
        if (kl_emulator_at[n]->hooks.video)                                                                  \
            kl_emulator_at[n]->hooks.video(kl_emulator_at[n]->hooks.ctx, data, width, height, pitch);        \
    }                                                                                                        \
    static void sample_##n(int16_t left, int16_t right) {                                                    \
        int16_t stereo[2] = {left, right};                                                                   \
        sound(kl_emulator_at[n], stereo, 1);                                                                 \
    }                                                                                                        \
    static size_t batch_##n(const int16_t *stereo, size_t frames) {                                          \
        sound(kl_emulator_at[n], stereo, frames);                                                            \
        return frames;                                                                                       \
    }                                                                                                        \
    static int16_t state_##n(unsigned port, unsigned device, unsigned index, unsigned id) {                  \
        return kl_latch_state(&kl_emulator_at[n]->latch, port, device, index, id);                           \
    }                                                                                                        \
    static retro_time_t perf_time_us_##n(void) {                                                             \
        return kl_env_perf_ns(kl_emulator_at[n]) / 1000;                                                     \
    }                                                                                                        \
    static retro_perf_tick_t perf_counter_##n(void) {                                                        \
        return (retro_perf_tick_t)kl_env_perf_ns(kl_emulator_at[n]);                                         \
    }                                                                                                        \
    static bool rumble_##n(unsigned port, enum retro_rumble_effect effect, uint16_t strength) {              \
        return kl_env_set_rumble(kl_emulator_at[n], port, effect, strength);                                 \
    }                                                                                                        \
    static void led_##n(int led, int state) {                                                                \
        kl_env_set_led(kl_emulator_at[n], led, state);                                                       \
    }                                                                                                        \
    static void log_##n(enum retro_log_level level, const char *format, ...) {                               \
        va_list args;                                                                                        \
        va_start(args, format);                                                                              \
        kl_env_core_says(kl_emulator_at[n], level, format, args);                                            \
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
    while (n + 1 < KL_WORLDS && kl_emulator_at[n] != e)
        n++;
    return &callbacks[n];
}

retro_environment_t kl_emulator_environment(struct kl_emulator *e) {
    e->calls = &callbacks_of(e)->calls;
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

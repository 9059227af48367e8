/* env_answers.h - the answers of env_table.c, by file. */
#ifndef KLW_ENV_ANSWERS_H
#define KLW_ENV_ANSWERS_H

#include <stdarg.h>
#include <stdbool.h>

#include "core_wrapper/env/env.h"

#define KL_ANSWER(name) bool kl_env_##name(struct kl_emulator *e, unsigned cmd, void *data)

/* env_ask.c: questions of the core */
KL_ANSWER(libretro_path);
KL_ANSWER(save_dir);
KL_ANSWER(variable);
KL_ANSWER(variable_update);
KL_ANSWER(set_variable);
KL_ANSWER(options_version);
KL_ANSWER(perf);
KL_ANSWER(rumble);
KL_ANSWER(led);
KL_ANSWER(av_enable);
KL_ANSWER(refresh_rate);
KL_ANSWER(throttle);
KL_ANSWER(game_info_ext);

/* core_log.c */
KL_ANSWER(log);

/* env_tell.c: declarations of the core */
KL_ANSWER(rotation);
KL_ANSWER(pixel_format);
KL_ANSWER(descriptors);
KL_ANSWER(keyboard);
KL_ANSWER(disk);
KL_ANSWER(options);
KL_ANSWER(display_callback);
KL_ANSWER(frame_time);
KL_ANSWER(system_av_info);
KL_ANSWER(geometry);
KL_ANSWER(subsystems);
KL_ANSWER(controllers);
KL_ANSWER(memory_maps);
KL_ANSWER(overrides);
KL_ANSWER(quirks);
KL_ANSWER(no_game);
KL_ANSWER(achievements);
KL_ANSWER(first_load);
KL_ANSWER(netpacket);

/* env_hw.c: hardware rendering */
KL_ANSWER(hw_render);
void kl_env_hw_leave(struct kl_emulator *e); /* the library goes: its context is destroyed */
void kl_env_hw_enter(struct kl_emulator *e); /* it is there again: its context is made */

#undef KL_ANSWER

/* env_shut.c: a call of a core that is shut in, instead of the frontend. */
bool kl_env_shut(const struct kl_emulator *like, unsigned cmd, void *data);
/* To the frontend as it is. */
static inline bool kl_env_forward(struct kl_emulator *e, unsigned cmd, void *data) {
    if (e->like) return kl_env_shut(e->like, cmd, data);
    return e->front->environment && e->front->environment(cmd, data);
}
/* By place; NULL: free. */
extern struct kl_emulator *kl_emulator_at[KL_WORLDS];
/* The emulator that the frontend knows: its calls through interfaces of ours go there. */
struct kl_emulator *kl_emulator_known(void);
/* The functions of libretro's interfaces that a core calls without a context, for each emulator its own. */
struct kl_emulator_calls {
    retro_perf_get_time_usec_t perf_time_us;
    retro_perf_get_counter_t perf_counter;
    retro_set_rumble_state_t rumble;
    retro_set_led_state_t led;
    retro_log_printf_t log;
};
/* Their effects. */
int64_t kl_env_perf_ns(struct kl_emulator *e);
void kl_env_core_says(struct kl_emulator *e, enum retro_log_level level, const char *format, va_list args);
void kl_env_set_led(struct kl_emulator *e, int led, int state);
bool kl_env_set_rumble(struct kl_emulator *e, unsigned port, enum retro_rumble_effect effect,
                       uint16_t strength);

#endif

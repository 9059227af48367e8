/* env_answers.h - the answers of env_table.c, by file. */
#ifndef KLW_ENV_ANSWERS_H
#define KLW_ENV_ANSWERS_H

#include <stdbool.h>

#include "core_wrapper/env/env.h"

/* As kl_env_hook() has set them. */
extern struct kl_env_hooks kl_env_hooks;

#define KL_ANSWER(name) bool kl_env_##name(unsigned cmd, void *data)

/* env_ask.c: questions of the core */
KL_ANSWER(can_dupe);
KL_ANSWER(overscan);
KL_ANSWER(libretro_path);
KL_ANSWER(save_dir);
KL_ANSWER(variable);
KL_ANSWER(variable_update);
KL_ANSWER(set_variable);
KL_ANSWER(options_version);
KL_ANSWER(language);
KL_ANSWER(username);
KL_ANSWER(perf);
KL_ANSWER(rumble);
KL_ANSWER(led);
KL_ANSWER(capabilities);
KL_ANSWER(bitmasks);
KL_ANSWER(av_enable);
KL_ANSWER(fastforwarding);
KL_ANSWER(refresh_rate);
KL_ANSWER(max_users);
KL_ANSWER(throttle);
KL_ANSWER(savestate_context);
KL_ANSWER(game_info_ext);
KL_ANSWER(disk_version);
KL_ANSWER(yes);

/* core_log.c */
KL_ANSWER(log);

/* env_tell.c: declarations of the core */
KL_ANSWER(rotation);
KL_ANSWER(pixel_format);
KL_ANSWER(descriptors);
KL_ANSWER(keyboard);
KL_ANSWER(disk);
KL_ANSWER(disk_ext);
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
KL_ANSWER(first_load);
KL_ANSWER(netpacket);

/* env_hw.c: hardware rendering */
KL_ANSWER(hw_render);
void kl_env_hw_leave(void); /* the library goes: its context is destroyed */
void kl_env_hw_enter(void); /* it is there again: its context is made */

#undef KL_ANSWER
#endif

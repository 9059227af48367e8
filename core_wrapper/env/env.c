#include "core_wrapper/env/env.h"

#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/context/wrapper.h"

struct kl_env_hooks kl_env_hooks;

void kl_env_hook(const struct kl_env_hooks *hooks) {
    kl_env_hooks = *hooks;
}

static bool forward(unsigned cmd, void *data) {
    return kl_w.front.environment && kl_w.front.environment(cmd, data);
}

/* With KEYLOCK_EPOCH the core's virtual clock follows its rate. */
bool kl_env_alone(unsigned cmd, void *data) {
    if (cmd == RETRO_ENVIRONMENT_GET_LIBRETRO_PATH) return kl_env_libretro_path(cmd, data);
    if (cmd == RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO && data && kl_w.config.epoch_set)
        kl_world_rate(kl_wrapper_fps_uhz(((struct retro_system_av_info *)data)->timing.fps));
    if (!kl_w.attached && kl_w.front.environment && kl_own_options_declare(kl_w.front.environment, cmd, data))
        return kl_w.told.options = true;
    return forward(cmd, data);
}

/* A call that the table does not have may do anything: nobody gets it. */
bool kl_env_room(unsigned cmd, void *data) {
    const struct kl_env_entry *e = kl_env_find(cmd);
    if (!e) {
        static unsigned last;
        if (cmd != last)
            kl_screen_log(&kl_w.screen, kl_w.front.environment, "unknown environment call=%u refused", cmd);
        last = cmd;
        return false;
    }
    switch (e->room) {
    case KL_ENV_FORWARD: return forward(cmd, data);
    case KL_ENV_ANSWER: return e->answer(cmd, data);
    case KL_ENV_REFUSE: return false;
    }
    return false;
}

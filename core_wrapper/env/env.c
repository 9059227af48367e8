#include "core_wrapper/env/env.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/words/own_options.h"

/* With KEYLOCK_EPOCH the core's virtual clock follows its rate. */
static bool call_alone(struct kl_emulator *e, unsigned cmd, void *data) {
    if (cmd == RETRO_ENVIRONMENT_GET_LIBRETRO_PATH) return kl_env_libretro_path(e, cmd, data);
    if (cmd == RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO && data && e->clocked)
        kl_world_rate(e->world, kl_emulator_fps_uhz(((struct retro_system_av_info *)data)->timing.fps));
    if (!e->runner && e->front->environment && kl_own_options_declare(e->front->environment, cmd, data))
        return e->told.options = true;
    return kl_env_forward(e, cmd, data);
}

static void log_unknown(struct kl_emulator *e, unsigned cmd) {
    char line[64];
    if (cmd == e->told.unknown || !e->hooks.log) return;
    e->told.unknown = cmd;
    snprintf(line, sizeof line, "unknown environment call=%u refused", cmd);
    e->hooks.log(e->hooks.ctx, line);
}

/* A call that the table does not have may do anything: nobody gets it. */
static bool call_in_room(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct kl_env_entry *entry = kl_env_find(cmd);
    if (!entry) {
        log_unknown(e, cmd);
        return false;
    }
    bool answer = false;
    switch (entry->room) {
    case KL_ENV_FORWARD: answer = kl_env_forward(e, cmd, data); break;
    case KL_ENV_ANSWER: answer = entry->answer(e, cmd, data); break;
    case KL_ENV_GIVE:
        if (data) memcpy(data, entry->value, entry->value_bytes);
        answer = true; /* a core that passes no place only asks whether there is an answer */
        break;
    case KL_ENV_REFUSE: break;
    }
    if (entry->part == KL_PART_CORE)
        kl_core_only_note(&e->only, cmd, entry->name, data, kl_memory_inner(&e->memory));
    return answer;
}

bool kl_env_call(struct kl_emulator *e, unsigned cmd, void *data) {
    return e->alone ? call_alone(e, cmd, data) : call_in_room(e, cmd, data);
}

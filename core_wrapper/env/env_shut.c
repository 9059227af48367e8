/* The frontend's answers to a core that is shut in. Such a core plays beside the core that the frontend
 * knows. Its questions are answered as that core's were; its declarations and messages stay here. */
#include "core_wrapper/env/env_answers.h"

static void log_nothing(enum retro_log_level level, const char *format, ...) {
    (void)level, (void)format;
}

static bool give_rumble(const struct kl_emulator *like, struct retro_rumble_interface *r) {
    *r = like->told.rumble;
    return r->set_rumble_state != NULL;
}

static bool give_led(const struct kl_emulator *like, struct retro_led_interface *l) {
    *l = like->told.led;
    return l->set_led_state != NULL;
}

/* As the frontend answered the other core, which may not have come so far. A picture of another format than
 * the frontend's is not shown. */
static bool takes_format(const struct kl_emulator *like, const enum retro_pixel_format *format) {
    return !(like->told.refused_formats >> *format & 1);
}

bool kl_env_shut(const struct kl_emulator *like, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_CORE_ASSETS_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION:
    case RETRO_ENVIRONMENT_GET_MESSAGE_INTERFACE_VERSION:
    case RETRO_ENVIRONMENT_GET_PREFERRED_HW_RENDER:
        return like->front->environment && like->front->environment(cmd, data);
    case RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE: return give_rumble(like, data);
    case RETRO_ENVIRONMENT_GET_LED_INTERFACE: return give_led(like, data);
    case RETRO_ENVIRONMENT_GET_LOG_INTERFACE:
        ((struct retro_log_callback *)data)->log = log_nothing;
        return like->log.front != NULL;
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT: return takes_format(like, data);
    case RETRO_ENVIRONMENT_SET_ROTATION: return like->told.turns;
    case RETRO_ENVIRONMENT_SET_HW_RENDER:
    case RETRO_ENVIRONMENT_SET_HW_SHARED_CONTEXT:
    case RETRO_ENVIRONMENT_GET_HW_RENDER_INTERFACE: return false; /* one context, which the other core has */
    case RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK: return like->latch.key_events;
    default: return true; /* a declaration or a message */
    }
}

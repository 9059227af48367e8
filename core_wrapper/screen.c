#include "screen.h"

#include <stdarg.h>
#include <stdio.h>

static void ask(struct kl_screen *s, retro_environment_t environment) {
    if (s->asked || !environment) return;
    struct retro_log_callback log = {0};
    s->asked = true;
    s->log = environment(RETRO_ENVIRONMENT_GET_LOG_INTERFACE, &log) ? log.log : NULL;
    if (!environment(RETRO_ENVIRONMENT_GET_MESSAGE_INTERFACE_VERSION, &s->version)) s->version = 0;
}

static void log_line(struct kl_screen *s, enum retro_log_level level, const char *line) {
    if (s->log)
        s->log(level, "[Keylock] %s\n", line);
    else
        fprintf(stderr, "[Keylock] %s\n", line);
}

void kl_screen_log(struct kl_screen *s, retro_environment_t environment, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ask(s, environment);
    log_line(s, RETRO_LOG_INFO, line);
}

void kl_screen_say(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                   unsigned ms, const char *line) {
    static const enum retro_log_level levels[] = {RETRO_LOG_INFO, RETRO_LOG_WARN, RETRO_LOG_ERROR};
    ask(s, environment);
    log_line(s, levels[tone], line);
    if (!environment) return;
    if (s->version >= 1) {
        struct retro_message_ext m = {.msg = line, .duration = ms, .priority = 3, .level = levels[tone]};
        m.target = RETRO_MESSAGE_TARGET_OSD;
        m.type = RETRO_MESSAGE_TYPE_NOTIFICATION_ALT;
        m.progress = -1;
        environment(RETRO_ENVIRONMENT_SET_MESSAGE_EXT, &m);
    } else {
        struct retro_message m = {.msg = line, .frames = ms * 60 / 1000};
        environment(RETRO_ENVIRONMENT_SET_MESSAGE, &m);
    }
}

#include "core_wrapper/frontend/frontend.h"

#include <stdarg.h>
#include <stdio.h>

static void show(struct kl_frontend *f, enum kl_screen_tone tone, unsigned ms, const char *line) {
    kl_screen_say(&f->screen, f->call.environment, tone, ms, line, KL_SCREEN_NONE);
}

void kl_frontend_say(struct kl_frontend *f, enum kl_screen_tone tone, unsigned ms, const char *format, ...) {
    char line[KLW_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    show(f, tone, ms, line);
}

void kl_frontend_say_once(struct kl_frontend *f, bool *said, const char *format, ...) {
    char line[KLW_TEXT_MAX];
    if (*said) return;
    *said = true;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    show(f, KL_SCREEN_WARNING, 4000, line);
}

void kl_frontend_fail(struct kl_frontend *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(f->error, sizeof f->error, format, args);
    va_end(args);
    show(f, KL_SCREEN_ERROR, 8000, f->error);
}

void kl_frontend_log(struct kl_frontend *f, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    kl_screen_log(&f->screen, f->call.environment, "%s", line);
}

#include "core_wrapper/context/wrapper.h"

#include <stdarg.h>
#include <stdio.h>

struct kl_wrapper kl_w = {.instance = -1};

void kl_wrapper_say(enum kl_screen_tone tone, unsigned ms, const char *format, ...) {
    char line[KLW_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    kl_screen_say(&kl_w.screen, kl_w.front.environment, tone, ms, line, KL_SCREEN_NONE);
}

void kl_wrapper_say_once(bool *said, const char *format, ...) {
    char line[KLW_TEXT_MAX];
    if (*said) return;
    *said = true;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    kl_screen_say(&kl_w.screen, kl_w.front.environment, KL_SCREEN_WARNING, 4000, line, KL_SCREEN_NONE);
}

void kl_wrapper_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(kl_w.error, sizeof kl_w.error, format, args);
    va_end(args);
    kl_screen_say(&kl_w.screen, kl_w.front.environment, KL_SCREEN_ERROR, 8000, kl_w.error, KL_SCREEN_NONE);
}

#include "core_wrapper/env/core_log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/env/env_answers.h"

static void keep(struct kl_core_log *l, const char *text) {
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    if (end) text = end + 1 + strspn(end + 1, " ");
    snprintf(l->error, sizeof l->error, "%.*s", (int)strcspn(text, "\r\n"), text);
}

void kl_env_core_says(struct kl_emulator *e, enum retro_log_level level, const char *format, va_list args) {
    char text[4096];
    vsnprintf(text, sizeof text, format, args);
    if (level == RETRO_LOG_ERROR && atomic_exchange(&e->log.listens, false)) keep(&e->log, text);
    if (e->log.front) e->log.front(level, "%s", text);
}

bool kl_env_log(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_log_callback *out = data, theirs = {0};
    if (!kl_env_forward(e, cmd, &theirs) || !theirs.log) return false;
    e->log.front = theirs.log;
    if (out) out->log = e->calls->log;
    return true;
}

void kl_core_log_listen(struct kl_emulator *e) {
    e->log.error[0] = 0;
    atomic_store(&e->log.listens, true);
}

const char *kl_core_log_error(const struct kl_emulator *e) {
    return e->log.error;
}

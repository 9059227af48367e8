#include "core_wrapper/env/core_log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/env/env_answers.h"

static retro_log_printf_t front; /* the frontend's */
static char error[128];
static atomic_bool heard = true; /* cores log from any thread: the first to set it writes the line */

static void keep(const char *text) {
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    if (end) text = end + 1 + strspn(end + 1, " ");
    snprintf(error, sizeof error, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static void on_log(enum retro_log_level level, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (level == RETRO_LOG_ERROR && !atomic_exchange(&heard, true)) keep(text);
    if (front) front(level, "%s", text);
}

bool kl_env_log(struct kl_emulator *e, unsigned cmd, void *data) {
    struct retro_log_callback *out = data, theirs = {0};
    if (!kl_env_forward(e, cmd, &theirs) || !theirs.log) return false;
    front = theirs.log;
    if (out) out->log = on_log;
    return true;
}

void kl_core_log_listen(void) {
    error[0] = 0;
    atomic_store(&heard, false);
}

const char *kl_core_log_error(void) {
    return error;
}

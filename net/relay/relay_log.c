#include "relay_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static enum kl_log_level wanted = KL_LOG_INFO;
static FILE *stream; /* NULL: standard error */
static const char *const names[] = {"error", "info", "debug"};

void kl_log_set_level(enum kl_log_level level) {
    wanted = level;
}
void kl_log_to(FILE *to) {
    stream = to;
}
bool kl_log_wants(enum kl_log_level level) {
    return level <= wanted;
}

bool kl_log_level_parse(const char *name, enum kl_log_level *out) {
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (enum kl_log_level)i;
        return true;
    }
    return false;
}

void kl_log(enum kl_log_level level, const char *event, const char *format, ...) {
    if (!kl_log_wants(level)) return;
    char line[1024], when[32];
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stream ? stream : stderr, "%s.%03dZ %s event=%s%s%s\n", when, (int)(t.tv_nsec / 1000000),
            names[level], event, line[0] ? " " : "", line);
}

const char *kl_log_quote(char *out, size_t cap, const char *s) {
    size_t n = 0;
    out[n++] = '"';
    for (; *s && n + 3 < cap; s++) {
        if (*s == '"' || *s == '\\') out[n++] = '\\';
        out[n++] = (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s;
    }
    out[n++] = '"';
    out[n] = 0;
    return out;
}

const char *kl_log_seats(char out[20], uint8_t seats) {
    size_t n = 0;
    for (unsigned s = 0; s < 8; s++)
        if (seats >> s & 1) n += (size_t)snprintf(out + n, 20 - n, "%s%u", n ? "," : "", s);
    if (n == 0) snprintf(out, 20, "none");
    return out;
}

#include "core_wrapper/screen/screen.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/facts.h"
#include "net/engine/plain.h"
#include "net/platform/buffer.h"
#include "net/platform/clock.h"
#include "core_wrapper/draw/canvas.h"

#define LINE    2048 /* bytes of one in the log, NUL included */
#define BRIEF   72   /* bytes that fit into RetroArch's smallest window */
#define LAST_MS 8000

void kl_screen_panel(struct kl_screen *s, bool on) {
    s->panel = on;
}
bool kl_screen_panel_toggle(struct kl_screen *s) {
    return s->panel = !s->panel;
}
bool kl_screen_panel_on(const struct kl_screen *s) {
    return s->panel;
}
void kl_screen_strip(struct kl_screen *s, bool on) {
    s->strip = on;
}
bool kl_screen_strip_on(const struct kl_screen *s) {
    return s->strip;
}
void kl_screen_draw(struct kl_screen *s, bool on) {
    s->draw = on;
}
bool kl_screen_drawn(const struct kl_screen *s) {
    return s->draw || s->mute;
}

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
    char line[LINE];
    KL_FORMAT(line, sizeof line, format);
    ask(s, environment);
    log_line(s, RETRO_LOG_INFO, kl_plain(line));
}

static const enum retro_log_level levels[] = {RETRO_LOG_INFO, RETRO_LOG_WARN, RETRO_LOG_ERROR};

/* Of a long list of reasons the first: a frontend's message is one line, and the picture has all of it. */
static const char *brief(const char *line, enum kl_screen_tone tone) {
    static char first[BRIEF + 1];
    const char *end = strstr(line, "; ");
    if (tone != KL_SCREEN_ERROR || strlen(line) <= BRIEF || !end || end - line > BRIEF) return line;
    snprintf(first, sizeof first, "%.*s", (int)(end - line), line);
    return first;
}

static bool tell(const struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                 unsigned ms, const char *whole, int percent) {
    const char *line = brief(whole, tone);
    if (s->version >= 1) {
        struct retro_message_ext m = {.msg = line, .duration = ms, .priority = 3, .level = levels[tone]};
        m.target = RETRO_MESSAGE_TARGET_OSD;
        m.type = percent < 0 ? RETRO_MESSAGE_TYPE_NOTIFICATION_ALT : RETRO_MESSAGE_TYPE_PROGRESS;
        m.progress = (int8_t)percent;
        return environment(RETRO_ENVIRONMENT_SET_MESSAGE_EXT, &m);
    }
    struct retro_message m = {.msg = line, .frames = ms * 60 / 1000};
    return environment(RETRO_ENVIRONMENT_SET_MESSAGE, &m);
}

/* Names and words in it are others'. */
static char *plain_copy(char out[LINE], const char *line) {
    snprintf(out, LINE, "%s", line);
    return kl_plain(out);
}

static void put(struct kl_screen_line *l, enum kl_screen_tone tone, uint64_t from_us, unsigned ms,
                const char *line, size_t words, int percent) {
    char copy[LINE];
    kl_copy_cut(l->text, sizeof l->text, plain_copy(copy, line));
    /* The bytes before the words may become fewer: one '?' for a character of several. */
    char head[LINE];
    snprintf(head, sizeof head, "%.*s", (int)words, line);
    l->words = strlen(kl_plain(head));
    l->tone = tone;
    l->percent = percent;
    l->from_us = from_us;
    l->until_us = from_us + ms * UINT64_C(1000);
}

void kl_screen_show(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                    unsigned ms, const char *line, size_t words, int percent) {
    char copy[LINE];
    ask(s, environment);
    put(&s->state, tone, kl_now_us(), ms, line, words, percent);
    if (!environment || kl_screen_drawn(s) || kl_now_us() < s->news[0].until_us) return;
    s->mute = !tell(s, environment, tone, ms, plain_copy(copy, line), percent);
}

void kl_screen_news(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                    unsigned ms, const char *line, size_t words) {
    char copy[LINE];
    ask(s, environment);
    uint64_t from_us = kl_now_us();
    if (from_us < s->clear_us && kl_screen_drawn(s)) from_us = s->clear_us;
    memmove(s->news + 1, s->news, sizeof s->news - sizeof *s->news);
    put(&s->news[0], tone, from_us, ms, line, words, -1);
    if (!environment || kl_screen_drawn(s)) return;
    s->mute = !tell(s, environment, tone, ms, plain_copy(copy, line), -1);
}

void kl_screen_say(struct kl_screen *s, retro_environment_t environment, enum kl_screen_tone tone,
                   unsigned ms, const char *said, size_t words) {
    char line[LINE];
    ask(s, environment);
    log_line(s, levels[tone], plain_copy(line, said));
    kl_screen_news(s, environment, tone, ms, said, words);
}

void kl_screen_forget(struct kl_screen *s) {
    memset(s->news, 0, sizeof s->news);
    memset(&s->state, 0, sizeof s->state);
}

void kl_screen_wait(struct kl_screen *s, unsigned ms) {
    s->clear_us = ms ? kl_now_us() + ms * UINT64_C(1000) : 0;
}

/* --- lines that stand --- */

static bool stands(const struct kl_screen_line *l, uint64_t now_us) {
    return now_us >= l->from_us && now_us < l->until_us;
}

/* Takes the least serious away; of two that are equally serious the older one. */
static unsigned take_least(const struct kl_screen_line *out[KL_SCREEN_MOST], unsigned count) {
    unsigned least = 0;
    for (unsigned i = 1; i < count; i++)
        if (out[i]->tone <= out[least]->tone) least = i;
    memmove(out + least, out + least + 1, (count - least - 1) * sizeof *out);
    return count - 1;
}

unsigned kl_screen_standing(const struct kl_screen *s, bool elsewhere, uint64_t now_us,
                            const struct kl_screen_line *out[KL_SCREEN_MOST]) {
    unsigned count = 0, most = KL_SCREEN_TROUBLE - elsewhere;
    bool trouble = elsewhere;
    if (stands(&s->state, now_us)) out[count++] = &s->state;
    for (unsigned i = 0; i < KL_SCREEN_NEWS; i++)
        if (stands(&s->news[i], now_us)) out[count++] = &s->news[i];
    for (unsigned i = 0; i < count; i++)
        trouble = trouble || out[i]->tone != KL_SCREEN_INFO;
    if (!trouble) return count;
    while (count > most)
        count = take_least(out, count);
    /* Of lines that are equally serious the order stays: the state's line is the lowest, then the newest. */
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && out[k]->tone < out[k - 1]->tone; k--) {
            const struct kl_screen_line *lower = out[k];
            out[k] = out[k - 1];
            out[k - 1] = lower;
        }
    return count;
}

static bool needs_unifont(const struct kl_screen_line *l, uint64_t now_us) {
    return stands(l, now_us) && kl_letters_need_unifont(l->text, l->words);
}

bool kl_screen_needs_unifont(const struct kl_screen *s) {
    uint64_t now_us = kl_now_us();
    bool needs = needs_unifont(&s->state, now_us);
    for (unsigned i = 0; i < KL_SCREEN_NEWS; i++)
        needs = needs || needs_unifont(&s->news[i], now_us);
    return needs;
}

void kl_screen_last(struct kl_screen *s, retro_environment_t environment, const char *line) {
    char copy[LINE];
    ask(s, environment);
    if (environment && kl_screen_drawn(s))
        tell(s, environment, KL_SCREEN_ERROR, LAST_MS, plain_copy(copy, line), -1);
}

/* The frontend of a headless run: it has folders and standard error, and nothing else. The core's questions
 * are answered by its emulator (core_wrapper/env/env_table.c), as in a room. */
#include "core_wrapper/tool/headless/headless.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/file.h"

static void on_log(enum retro_log_level level, const char *format, ...) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    const struct kl_headless *h = kl_headless_current();
    char text[4096];
    if (!format || level > RETRO_LOG_ERROR || (h && h->setup.quiet && level < RETRO_LOG_WARN)) return;
    KL_FORMAT(text, sizeof(text), format);
    size_t len = strlen(text);
    fprintf(stderr, "core [%s] %s%s", names[level], text, len && text[len - 1] == '\n' ? "" : "\n");
}

static bool show(const struct kl_headless *h, const char *text) {
    if (text && !h->setup.quiet) fprintf(stderr, "message: %s\n", text);
    return true;
}

static bool environment(unsigned cmd, void *data) {
    struct kl_headless *h = kl_headless_current();
    if (!h) return false;
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_CORE_ASSETS_DIRECTORY: return *(const char **)data = h->system_dir, true;
    case RETRO_ENVIRONMENT_GET_LOG_INTERFACE: return ((struct retro_log_callback *)data)->log = on_log, true;
    case RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION: return *(unsigned *)data = 2, true;
    case RETRO_ENVIRONMENT_GET_MESSAGE_INTERFACE_VERSION: return *(unsigned *)data = 1, true;
    case RETRO_ENVIRONMENT_SET_MESSAGE: return show(h, ((const struct retro_message *)data)->msg);
    case RETRO_ENVIRONMENT_SET_MESSAGE_EXT: return show(h, ((const struct retro_message_ext *)data)->msg);
    case RETRO_ENVIRONMENT_SHUTDOWN: return h->shutdown = true;
    case RETRO_ENVIRONMENT_SET_HW_RENDER: h->wants_hw_render = true; return false;
    /* The emulator keeps these declarations; here they are only taken. */
    case RETRO_ENVIRONMENT_SET_ROTATION:
    case RETRO_ENVIRONMENT_SET_PERFORMANCE_LEVEL:
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT:
    case RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK:
    case RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME:
    case RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_DISPLAY:
    case RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE: return true;
    default: return false;
    }
}

const struct kl_front kl_headless_front = {.environment = environment};

int kl_headless_write_told(const struct kl_headless *h, const char *path) {
    const struct kl_emulator *e = &h->emu;
    const struct retro_game_geometry *g = &e->av.geometry;
    FILE *f = kl_file_stream(path, "w");
    if (!f) return -1;
    fprintf(f, "picture %ux%u aspect=%.6f\n", g->base_width, g->base_height, (double)g->aspect_ratio);
    fprintf(f, "largest %ux%u\n", g->max_width, g->max_height);
    fprintf(f, "rate fps=%.6f sound=%.3f\n", e->av.timing.fps, e->av.timing.sample_rate);
    fprintf(f, "rotation %u\nformat %u\n", e->rotation, (unsigned)e->picture.format);
    /* Not the wrapper's own options, which belong to this machine. */
    for (unsigned i = 0; i < e->options.count; i++)
        if (strncmp(e->options.at[i].key, "keylock_", 8) != 0)
            fprintf(f, "option %s=%s\n", e->options.at[i].key,
                    e->options.at[i].value ? e->options.at[i].value : "");
    for (unsigned i = 0; i < KL_MAX_SEATS; i++)
        if (e->lasting.motor[i][0] || e->lasting.motor[i][1])
            fprintf(f, "rumble %u strong=%u weak=%u\n", i, e->lasting.motor[i][0], e->lasting.motor[i][1]);
    for (unsigned i = 0; i < KL_LASTING_LIGHTS; i++)
        if (e->lasting.light[i]) fprintf(f, "led %u=%d\n", i, e->lasting.light[i]);
    bool bad = ferror(f) != 0;
    return fclose(f) != 0 || bad ? -1 : 0;
}

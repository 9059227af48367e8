/* The headless frontend's answers to a core's environment calls. Calls that need a screen, a sound card, a
 * sensor or the wall clock is refused, as a frontend without them would. */
#include "core_wrapper/tool/headless/headless.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kl_headless *frontend; /* for the log and performance interfaces, which carry no context */

/* --- log, messages --- */

static void on_log(enum retro_log_level level, const char *format, ...) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    va_list args;
    if (format && level == RETRO_LOG_ERROR && frontend && !frontend->core.game_loaded &&
        !*frontend->core_error) {
        va_start(args, format);
        vsnprintf(frontend->core_error, sizeof(frontend->core_error), format, args);
        frontend->core_error[strcspn(frontend->core_error, "\r\n")] = 0;
        va_end(args);
    }
    if (!format || level > RETRO_LOG_ERROR || (frontend && frontend->setup.quiet && level < RETRO_LOG_WARN))
        return;
    fprintf(stderr, "core [%s] ", names[level]);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    size_t len = strlen(format);
    if (!len || format[len - 1] != '\n') fputc('\n', stderr);
}

static bool show(const struct kl_headless *h, const char *text) {
    if (text && !h->setup.quiet) fprintf(stderr, "message: %s\n", text);
    return true;
}

/* --- the performance interface follows frames, as the world does --- */

static retro_time_t on_time_usec(void) {
    if (!frontend || frontend->av.timing.fps < 1) return 0;
    return (retro_time_t)((double)frontend->frame * 1e6 / frontend->av.timing.fps);
}
static retro_perf_tick_t on_counter(void) {
    return (retro_perf_tick_t)on_time_usec();
}
static uint64_t on_cpu_features(void) {
    return 0;
}
static void on_perf(struct retro_perf_counter *counter) {
    counter->registered = true;
}
static void on_perf_log(void) {}

static bool give_perf(struct retro_perf_callback *out) {
    *out = (struct retro_perf_callback){on_time_usec, on_cpu_features, on_counter, on_perf,
                                        on_perf,      on_perf,         on_perf_log};
    return true;
}

/* --- answers of more than one line --- */

static bool give_string(const char **out, const char *value) {
    *out = value;
    return true;
}

/* As RetroArch: an unknown key is no refusal, and a change is news until the core asks for a value. */
static bool give_variable(struct kl_headless *h, struct retro_variable *v) {
    if (!v) return true;
    v->value = kl_options_get(&h->options, v->key);
    h->options.updated = false;
    return true;
}

static bool give_bool(bool *out, bool value) {
    *out = value;
    return true;
}

static bool give_game_info_ext(const struct kl_headless *h, const struct retro_game_info_ext **out) {
    if (out) *out = h->game.path ? &h->game_ext : NULL;
    return out && h->game.path;
}

static bool take_overrides(struct kl_headless *h, const struct retro_system_content_info_override *o) {
    for (; o && o->extensions && h->override_count < KLT_OVERRIDES; o++) {
        struct kl_headless_override *mine = &h->override[h->override_count++];
        snprintf(mine->extensions, sizeof(mine->extensions), "%s", o->extensions);
        mine->need_fullpath = o->need_fullpath;
    }
    return true;
}

static bool set_variable(struct kl_headless *h, const struct retro_variable *v) {
    char err[KLT_ERR];
    return !v || (v->key && v->value &&
                  kl_options_set(&h->options, v->key, v->value, false, err, sizeof(err)) == 0);
}

static bool take_map(struct kl_headless *h, const struct retro_memory_map *map) {
    size_t bytes = map->num_descriptors * sizeof(*map->descriptors);
    struct retro_memory_descriptor *mine = malloc(bytes ? bytes : 1);
    if (!mine) return false;
    if (bytes) memcpy(mine, map->descriptors, bytes);
    free((void *)h->map.descriptors);
    h->map.descriptors = mine;
    h->map.num_descriptors = map->num_descriptors;
    return true;
}

static bool take_av(struct kl_headless *h, const struct retro_system_av_info *av) {
    h->av = *av;
    if (!h->wrapper && av->timing.fps >= 1 && av->timing.fps <= 1000)
        kl_world_rate(h->world, (uint32_t)llround(av->timing.fps * 1e6));
    return true;
}

/* The largest size belongs to SET_SYSTEM_AV_INFO. */
static bool take_geometry(struct kl_headless *h, const struct retro_game_geometry *g) {
    h->av.geometry.base_width = g->base_width;
    h->av.geometry.base_height = g->base_height;
    h->av.geometry.aspect_ratio = g->aspect_ratio;
    return true;
}

static bool give_throttle(const struct kl_headless *h, struct retro_throttle_state *out) {
    *out = (struct retro_throttle_state){RETRO_THROTTLE_NONE, (float)h->av.timing.fps};
    return true;
}

static bool give_refresh(const struct kl_headless *h, float *out) {
    *out = h->av.timing.fps >= 1 ? (float)h->av.timing.fps : 60.0f;
    return true;
}

static bool take_pixels(struct kl_headless *h, enum retro_pixel_format format) {
    h->told.pixel_format = format;
    h->wide_pixels = format == RETRO_PIXEL_FORMAT_XRGB8888;
    return format <= RETRO_PIXEL_FORMAT_RGB565;
}

static bool take_keyboard(struct kl_headless *h, const struct retro_keyboard_callback *cb) {
    h->key_event = cb ? cb->callback : NULL;
    return true;
}

static bool hw_render(struct kl_headless *h) {
    h->wants_hw_render = true;
    return false;
}

/* --- three groups, each by its call; true/false: answered, -1: not of this group --- */

static int ask_machine(struct kl_headless *h, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_CORE_ASSETS_DIRECTORY: return give_string(data, h->system_dir);
    case RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY: return give_string(data, h->save_dir);
    case RETRO_ENVIRONMENT_GET_LIBRETRO_PATH: return give_string(data, h->core.path);
    case RETRO_ENVIRONMENT_GET_USERNAME: return give_string(data, "keylock");
    case RETRO_ENVIRONMENT_GET_LANGUAGE: return *(unsigned *)data = RETRO_LANGUAGE_ENGLISH, true;
    case RETRO_ENVIRONMENT_GET_OVERSCAN: return give_bool(data, false);
    case RETRO_ENVIRONMENT_GET_CAN_DUPE: return give_bool(data, true);
    case RETRO_ENVIRONMENT_GET_INPUT_BITMASKS: return true;
    case RETRO_ENVIRONMENT_GET_INPUT_MAX_USERS: return *(unsigned *)data = KLT_INPUT_PORTS, true;
    case RETRO_ENVIRONMENT_GET_INPUT_DEVICE_CAPABILITIES:
        return *(uint64_t *)data = 1u << RETRO_DEVICE_JOYPAD, true;
    case RETRO_ENVIRONMENT_GET_AUDIO_VIDEO_ENABLE:
        if (data) *(int *)data = h->av_enable;
        return true;
    case RETRO_ENVIRONMENT_GET_FASTFORWARDING: return give_bool(data, false);
    case RETRO_ENVIRONMENT_GET_THROTTLE_STATE: return give_throttle(h, data);
    case RETRO_ENVIRONMENT_GET_TARGET_REFRESH_RATE: return give_refresh(h, data);
    case RETRO_ENVIRONMENT_GET_SAVESTATE_CONTEXT:
        if (data) *(int *)data = RETRO_SAVESTATE_CONTEXT_NORMAL;
        return true;
    case RETRO_ENVIRONMENT_GET_LOG_INTERFACE: return ((struct retro_log_callback *)data)->log = on_log, true;
    case RETRO_ENVIRONMENT_GET_PERF_INTERFACE: return give_perf(data);
    case RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE: return kl_headless_rumble(data);
    case RETRO_ENVIRONMENT_GET_LED_INTERFACE: return kl_headless_leds(data);
    case RETRO_ENVIRONMENT_GET_VFS_INTERFACE: return false; /* as in rooms: the core takes the C library */
    case RETRO_ENVIRONMENT_GET_MESSAGE_INTERFACE_VERSION: return *(unsigned *)data = 1, true;
    case RETRO_ENVIRONMENT_GET_DISK_CONTROL_INTERFACE_VERSION: return *(unsigned *)data = 1, true;
    case RETRO_ENVIRONMENT_GET_GAME_INFO_EXT: return give_game_info_ext(h, data);
    case 74: /* GET_JIT_CAPABLE, newer than Debian 12's header */ return give_bool(data, true);
    default: return -1;
    }
}

static int ask_options(struct kl_headless *h, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_GET_CORE_OPTIONS_VERSION: return *(unsigned *)data = 2, true;
    case RETRO_ENVIRONMENT_SET_VARIABLES:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_INTL:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_V2_INTL: return kl_options_declare(&h->options, cmd, data);
    case RETRO_ENVIRONMENT_GET_VARIABLE: return give_variable(h, data);
    case RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE: return give_bool(data, h->options.updated);
    case RETRO_ENVIRONMENT_SET_VARIABLE: return set_variable(h, data);
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_DISPLAY:
    case RETRO_ENVIRONMENT_SET_CORE_OPTIONS_UPDATE_DISPLAY_CALLBACK: return true;
    default: return -1;
    }
}

static int tell(struct kl_headless *h, unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT: return take_pixels(h, *(const enum retro_pixel_format *)data);
    case RETRO_ENVIRONMENT_SET_MEMORY_MAPS: return take_map(h, data);
    case RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO: return take_av(h, data);
    case RETRO_ENVIRONMENT_SET_GEOMETRY: return take_geometry(h, data);
    case RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK:
        return h->frame_time = *(const struct retro_frame_time_callback *)data, true;
    case RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE: return take_overrides(h, data);
    case RETRO_ENVIRONMENT_SET_SUPPORT_NO_GAME: return h->support_no_game = *(const bool *)data, true;
    case RETRO_ENVIRONMENT_SHUTDOWN: return h->shutdown = true, true;
    case RETRO_ENVIRONMENT_SET_MESSAGE: return show(h, ((const struct retro_message *)data)->msg);
    case RETRO_ENVIRONMENT_SET_MESSAGE_EXT: return show(h, ((const struct retro_message_ext *)data)->msg);
    case RETRO_ENVIRONMENT_SET_HW_RENDER: return hw_render(h);
    case RETRO_ENVIRONMENT_SET_ROTATION: return h->told.rotation = *(const unsigned *)data, true;
    case RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK: return take_keyboard(h, data);
    case RETRO_ENVIRONMENT_SET_PERFORMANCE_LEVEL:
    case RETRO_ENVIRONMENT_SET_INPUT_DESCRIPTORS:
    case RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE:
    case RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE:
    case RETRO_ENVIRONMENT_SET_PROC_ADDRESS_CALLBACK:
    case RETRO_ENVIRONMENT_SET_SUBSYSTEM_INFO:
    case RETRO_ENVIRONMENT_SET_CONTROLLER_INFO:
    case RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS:
    case RETRO_ENVIRONMENT_SET_SERIALIZATION_QUIRKS:
    case RETRO_ENVIRONMENT_SET_MINIMUM_AUDIO_LATENCY:
    case RETRO_ENVIRONMENT_SET_FASTFORWARDING_OVERRIDE: return true;
    default: return -1;
    }
}

/* The flag 0x10000 is part of a call's number: 44 and 44 | 0x10000 are two different calls. */
bool kl_headless_environment(struct kl_headless *h, unsigned cmd, void *data) {
    frontend = h;
    int answer = ask_machine(h, cmd, data);
    if (answer < 0) answer = ask_options(h, cmd, data);
    if (answer < 0) answer = tell(h, cmd, data);
    return answer > 0;
}

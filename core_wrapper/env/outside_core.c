/* The struct and an emulator: out of it, into it, and what its frontend hears of that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/env/outside.h"
#include "core_wrapper/words/own_options.h"

/* --- integers of what a core declares; nonsense is bounded --- */

static uint16_t size_of(unsigned pixels) {
    return (uint16_t)(pixels < 1 ? 1 : pixels > KL_OUTSIDE_SIZE_MAX ? KL_OUTSIDE_SIZE_MAX : pixels);
}

static uint32_t aspect_of(float aspect) {
    if (!(aspect > 0)) return 0; /* NaN as well */
    return aspect > KL_OUTSIDE_ASPECT_MAX / 1e6 ? KL_OUTSIDE_ASPECT_MAX : (uint32_t)llround(aspect * 1e6);
}

static uint32_t rate_of(double hertz) {
    if (!(hertz > KL_OUTSIDE_RATE_MIN / 1e3)) return KL_OUTSIDE_RATE_MIN;
    return hertz > KL_OUTSIDE_RATE_MAX / 1e3 ? KL_OUTSIDE_RATE_MAX : (uint32_t)llround(hertz * 1e3);
}

static void take_av(struct kl_outside *o, const struct retro_system_av_info *av) {
    o->base_width = size_of(av->geometry.base_width);
    o->base_height = size_of(av->geometry.base_height);
    o->max_width = size_of(av->geometry.max_width);
    o->max_height = size_of(av->geometry.max_height);
    o->aspect_e6 = aspect_of(av->geometry.aspect_ratio);
    o->fps_uhz = kl_emulator_fps_uhz(av->timing.fps);
    o->rate_mhz = rate_of(av->timing.sample_rate);
}

static bool same_geometry(const struct kl_outside *a, const struct kl_outside *b) {
    return a->base_width == b->base_width && a->base_height == b->base_height && a->aspect_e6 == b->aspect_e6;
}

/* The frontend's drivers are made for these. */
static bool same_drivers(const struct kl_outside *a, const struct kl_outside *b) {
    return a->max_width == b->max_width && a->max_height == b->max_height && a->fps_uhz == b->fps_uhz &&
           a->rate_mhz == b->rate_mhz;
}

static void give_av(struct kl_emulator *e, const struct kl_outside *o) {
    struct kl_outside here = {0};
    struct retro_game_geometry *g = &e->av.geometry;
    take_av(&here, &e->av);
    if (!same_geometry(&here, o)) {
        g->base_width = o->base_width;
        g->base_height = o->base_height;
        g->aspect_ratio = (float)(o->aspect_e6 / 1e6);
    }
    if (same_drivers(&here, o)) return;
    g->max_width = o->max_width;
    g->max_height = o->max_height;
    e->av.timing.fps = o->fps_uhz / 1e6;
    e->av.timing.sample_rate = o->rate_mhz / 1e3;
    kl_audio_init(&e->audio, e->av.timing.sample_rate, e->av.timing.fps);
    if (here.fps_uhz == o->fps_uhz) return;
    kl_world_rate(e->world, o->fps_uhz);
    if (e->hooks.rate) e->hooks.rate(e->hooks.ctx, e->av.timing.fps);
}

/* --- out of an emulator --- */

static bool take_options(struct kl_outside *o, const struct kl_emulator *e) {
    struct kl_writer w;
    o->updated = e->options.updated;
    if (o->own && o->options == o->own && o->version == e->options.version) return true;
    for (size_t cap = o->own_cap ? o->own_cap : 4096; cap <= KL_OPTIONS_BYTES; cap *= 2) {
        uint8_t *more = cap > o->own_cap ? realloc(o->own, cap) : o->own;
        if (!more) return false;
        o->own = more;
        o->own_cap = cap;
        w = kl_writer(o->own, cap);
        kl_options_write(&w, &e->options);
        o->options = o->own;
        o->options_len = (size_t)(w.at - o->own);
        o->version = e->options.version;
        if (!w.failed) return true;
    }
    o->options = NULL;
    o->options_len = 0;
    return false;
}

bool kl_outside_collect(struct kl_outside *o, const struct kl_emulator *e) {
    take_av(o, &e->av);
    o->format = (uint8_t)e->picture.format;
    o->rotation = (uint8_t)(e->rotation & 3);
    o->supports = e->supports;
    o->quirks = (uint8_t)e->quirks;
    kl_quirks_platform(e->quirks, kl_world_system, o->platform);
    memcpy(o->device, e->device, sizeof o->device);
    o->subsystem = e->content.special ? e->content.type + 1 : 0;
    const struct retro_disk_control_ext_callback *d = &e->told.disk_control;
    o->disk = d->get_image_index ? (uint16_t)d->get_image_index() : KL_OUTSIDE_NO_DISK;
    o->disks = d->get_num_images ? (uint16_t)d->get_num_images() : KL_OUTSIDE_NO_DISK;
    o->ejected = d->get_eject_state && d->get_eject_state();
    o->tray = e->tray.open ? e->tray : (struct kl_tray){0};
    memcpy(o->held, e->latch.keyboard.held, sizeof o->held);
    o->lasting = e->lasting;
    o->only_count = (uint8_t)kl_core_only_names(&e->only, o->only);
    return take_options(o, e);
}

/* --- into an emulator --- */

const char *kl_outside_lacks(const struct kl_emulator *e, const struct kl_outside *o) {
    const struct kl_declared *controllers = e->like ? &e->like->told.controllers : &e->told.controllers;
    char here[KL_QUIRKS_PLATFORM_MAX];
    if (o->quirks != (uint8_t)e->quirks) return "SET_SERIALIZATION_QUIRKS";
    kl_quirks_platform(e->quirks, kl_world_system, here);
    if (strcmp(here, o->platform) != 0) return "the same system";
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        if (o->device[p] && !kl_declared_device(controllers, p, o->device[p] - 1))
            return "a device that this core names";
    if (o->subsystem != (e->content.special ? e->content.type + 1 : 0)) return "the same subsystem";
    return kl_core_only_lacks(&e->only, o->only, o->only_count);
}

/* The functions that the core declared at that time. */
static void give_only(struct kl_emulator *e, const struct kl_outside *o) {
    kl_core_only_force(&e->only, o->only, o->only_count);
    const struct kl_core_only_at *key = kl_core_only_find(&e->only, RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK),
                                 *time =
                                     kl_core_only_find(&e->only, RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK),
                                 *disk = kl_core_only_find(&e->only,
                                                           RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE),
                                 *map = kl_core_only_find(&e->only, RETRO_ENVIRONMENT_SET_MEMORY_MAPS);
    e->told.key_event = key ? key->is.key_event : NULL;
    e->told.frame_time = time ? time->is.frame_time : (struct retro_frame_time_callback){0};
    e->told.disk_control = disk ? disk->is.disk : (struct retro_disk_control_ext_callback){0};
    const struct retro_memory_map none = {0}, *wanted = map ? &map->is.map : &none;
    bool there = wanted->num_descriptors ? wanted->descriptors == e->memory.inner : e->memory.count == 0;
    if (!there && kl_memory_map(&e->memory, wanted)) e->told.map_changed = true;
}

bool kl_outside_other_list(const struct kl_outside *o, const struct kl_emulator *e) {
    struct kl_outside here = {0};
    bool same = take_options(&here, e) && here.options_len == o->options_len &&
                !memcmp(here.options, o->options, o->options_len);
    kl_outside_free(&here);
    return !same;
}

static bool give_options(struct kl_emulator *e, const struct kl_outside *o) {
    bool own = o->own && o->options == o->own && o->version == e->options.version;
    bool other = !own && kl_outside_other_list(o, e);
    bool good = !other || kl_options_read(&e->options, o->options, o->options_len);
    e->options.updated = e->options.updated || o->updated;
    e->told.list_changed = e->told.list_changed || (good && other);
    return good;
}

bool kl_outside_apply(struct kl_emulator *e, const struct kl_outside *o) {
    bool good = give_options(e, o);
    give_av(e, o);
    if (e->picture.format != (enum retro_pixel_format)o->format) e->picture.kept = false;
    e->picture.format = (enum retro_pixel_format)o->format;
    e->rotation = o->rotation;
    e->supports = o->supports;
    give_only(e, o);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++) {
        if (e->device[p] == o->device[p]) continue;
        e->device[p] = o->device[p];
        e->core.set_controller_port_device(p, o->device[p] ? o->device[p] - 1 : RETRO_DEVICE_JOYPAD);
    }
    e->tray = o->tray;
    if (o->disk != KL_OUTSIDE_NO_DISK) kl_emulator_put_disk(e, o->disk, o->ejected);
    /* A core that asks finds them down. One that takes events has heard of them: that is in its state. */
    memcpy(e->latch.keyboard.held, o->held, sizeof o->held);
    e->lasting = o->lasting;
    return good;
}

/* --- the frontend --- */

static void tell_format(struct kl_emulator *e) {
    enum retro_pixel_format format = e->picture.format;
    if (e->told.format == format) return;
    e->told.has_format = true;
    e->told.format = format;
    e->told.reinit = true; /* its drivers know a new format only from then on */
    kl_env_forward(e, RETRO_ENVIRONMENT_SET_PIXEL_FORMAT, &format);
}

static void log_av(struct kl_emulator *e, const struct kl_outside *o, bool drivers) {
    char line[96];
    if (!e->hooks.log) return;
    snprintf(line, sizeof line, "frontend told %s: %ux%u %.6f Hz, sound %.0f Hz",
             drivers ? "SET_SYSTEM_AV_INFO" : "SET_GEOMETRY", o->base_width, o->base_height, o->fps_uhz / 1e6,
             o->rate_mhz / 1e3);
    e->hooks.log(e->hooks.ctx, line);
}

static void tell_av(struct kl_emulator *e) {
    struct kl_outside now = {0}, told = {0};
    take_av(&now, &e->av);
    take_av(&told, &e->told.av);
    bool drivers = !same_drivers(&now, &told) || e->told.reinit;
    if (!drivers && same_geometry(&now, &told)) return;
    e->told.av = e->av;
    e->told.reinit = false;
    log_av(e, &now, drivers);
    if (drivers)
        kl_env_forward(e, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &e->told.av);
    else
        kl_env_forward(e, RETRO_ENVIRONMENT_SET_GEOMETRY, &e->told.av.geometry);
}

static void tell_rotation(struct kl_emulator *e) {
    unsigned quarters = e->rotation;
    if ((e->told.has_rotation ? e->told.rotation : 0) == quarters) return;
    e->told.has_rotation = true;
    e->told.rotation = quarters;
    e->told.turns = kl_env_forward(e, RETRO_ENVIRONMENT_SET_ROTATION, &quarters);
}

static void tell_supports(struct kl_emulator *e) {
    bool achievements = e->supports & KL_SUPPORT_ACHIEVEMENTS;
    if (e->told.supports == e->supports) return;
    e->told.supports = e->supports;
    kl_env_forward(e, RETRO_ENVIRONMENT_SET_SUPPORT_ACHIEVEMENTS, &achievements);
}

void kl_outside_tell_map(struct kl_emulator *e) {
    struct retro_memory_map shown = kl_memory_shown(&e->memory);
    if (!e->told.map_changed || e->quiet) return;
    e->told.map_changed = false;
    kl_env_forward(e, RETRO_ENVIRONMENT_SET_MEMORY_MAPS, &shown);
}

/* libretro allows a list again with as many options as the first one had. */
static void tell_list(struct kl_emulator *e) {
    const struct kl_options *o = &e->options;
    if (!e->told.list_changed) return;
    e->told.list_changed = false;
    struct retro_variable *list =
        e->like || o->count != e->told.listed ? NULL : calloc(o->count + 1, sizeof *list);
    for (unsigned i = 0; list && i < o->count; i++)
        list[i] = (struct retro_variable){o->at[i].key, kl_options_line(&o->at[i])};
    if (list) kl_own_options_declare(e->front->environment, RETRO_ENVIRONMENT_SET_VARIABLES, list);
    for (unsigned i = 0; list && i < o->count; i++)
        free((char *)list[i].value);
    free(list);
}

/* Motors and lights are told call by call (lasting.h). A core that has not asked for the frontend's functions
 * by itself may have values all the same: those of a loaded state. */
static void ask_for_lasting(struct kl_emulator *e) {
    static const struct kl_lasting none;
    if (memcmp(e->lasting.motor, none.motor, sizeof none.motor) != 0 && !e->told.rumble.set_rumble_state)
        kl_env_rumble(e, RETRO_ENVIRONMENT_GET_RUMBLE_INTERFACE, NULL);
    if (memcmp(e->lasting.light, none.light, sizeof none.light) != 0 && !e->told.led.set_led_state)
        kl_env_led(e, RETRO_ENVIRONMENT_GET_LED_INTERFACE, NULL);
}

void kl_outside_tell(struct kl_emulator *e) {
    if (e->quiet) return;
    tell_format(e);
    tell_av(e);
    tell_rotation(e);
    tell_supports(e);
    kl_outside_tell_map(e);
    tell_list(e);
    ask_for_lasting(e);
}

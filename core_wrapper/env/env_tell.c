/* The core's declarations in a room. The frontend gets a declaration when it is first made. Later, or when
 * the core is loaded afresh, it gets only changes, as far as they are allowed. The core gets the same answer
 * on every machine. */
#include <math.h>
#include <string.h>

#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/env/outside.h"
#include "core_wrapper/words/own_options.h"
#include "net/engine/command.h"

/* True if the frontend has the declaration already, changes excepted. */
static bool told_before(const struct kl_emulator *e) {
    return e->load == KL_LOAD_AFRESH || e->phase >= KL_PHASE_READY;
}

/* --- picture and sound --- */

/* A core that hears no may turn the picture itself: the frontend's word is needed at once, the first time. */
bool kl_env_rotation(struct kl_emulator *e, unsigned cmd, void *data) {
    if (!data) return false;
    e->rotation = *(const unsigned *)data & 3;
    bool known = told_before(e) && e->told.has_rotation;
    if (known && (e->quiet || e->told.rotation == e->rotation)) return e->told.turns;
    e->told.has_rotation = true;
    e->told.rotation = e->rotation;
    e->told.turns = kl_env_forward(e, cmd, &e->told.rotation);
    return e->told.turns;
}

/* A format that is newer than the wrapper's drawing is refused everywhere. */
bool kl_env_pixel_format(struct kl_emulator *e, unsigned cmd, void *data) {
    if (!data) return false;
    enum retro_pixel_format format = *(const enum retro_pixel_format *)data;
    if ((unsigned)format > RETRO_PIXEL_FORMAT_RGB565) return false;
    bool known = told_before(e) && e->told.has_format && e->told.format == format;
    if (!known && !kl_env_forward(e, cmd, data)) {
        e->told.refused_formats |= (uint8_t)(1u << format);
        return false;
    }
    e->told.reinit = e->told.reinit || (!known && told_before(e)); /* drivers know it only from then on */
    e->told.has_format = true;
    e->told.format = format;
    if (e->picture.format != format) e->picture.kept = false;
    e->picture.format = format;
    return true;
}

bool kl_env_geometry(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_game_geometry *g = data;
    if (!g) return false;
    e->av.geometry.base_width = g->base_width;
    e->av.geometry.base_height = g->base_height;
    e->av.geometry.aspect_ratio = g->aspect_ratio;
    if (told_before(e)) {
        kl_outside_tell(e);
        return true;
    }
    e->told.av.geometry = e->av.geometry;
    kl_env_forward(e, cmd, data);
    return true;
}

static bool same_timing(const struct retro_system_timing *a, const struct retro_system_timing *b) {
    return fabs(a->fps - b->fps) < 1e-9 && fabs(a->sample_rate - b->sample_rate) < 1e-9;
}

bool kl_env_system_av_info(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_system_av_info *av = data;
    if (!av) return false;
    bool other_rate = fabs(av->timing.fps - e->av.timing.fps) >= 1e-9,
         other_timing = !same_timing(&av->timing, &e->av.timing);
    if (e->load == KL_LOAD_NONE) kl_world_rate(e->world, kl_emulator_fps_uhz(av->timing.fps));
    if (e->load == KL_LOAD_NONE && other_rate && e->hooks.rate) e->hooks.rate(e->hooks.ctx, av->timing.fps);
    e->av = *av;
    if (other_timing || !told_before(e)) kl_audio_init(&e->audio, av->timing.sample_rate, av->timing.fps);
    if (told_before(e)) {
        kl_outside_tell(e);
        return true;
    }
    e->told.av = e->av;
    kl_env_forward(e, cmd, data);
    return true;
}

/* --- input --- */

bool kl_env_descriptors(struct kl_emulator *e, unsigned cmd, void *data) {
    if (e->like) return true;
    bool changed = kl_declare_descriptors(&e->told.descriptors, data);
    if ((changed || !told_before(e)) && e->told.descriptors.copy)
        kl_env_forward(e, cmd, e->told.descriptors.copy);
    return true;
}

bool kl_env_controllers(struct kl_emulator *e, unsigned cmd, void *data) {
    if (e->like) return true;
    bool changed = kl_declare_controllers(&e->told.controllers, data);
    if ((changed || !told_before(e)) && e->told.controllers.copy)
        kl_env_forward(e, cmd, e->told.controllers.copy);
    return true;
}

static void key_event(bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    struct kl_emulator *e = kl_emulator_known();
    bool typed = e->hooks.typed && e->hooks.typed(e->hooks.ctx, down, code, character);
    if (!typed || !down) kl_latch_key(&e->latch, down, code, character, modifiers);
}

void kl_env_listen(struct kl_emulator *e) {
    struct retro_keyboard_callback ours = {key_event};
    if (!e->told.key_event && !e->runner) kl_env_forward(e, RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &ours);
}

bool kl_env_keyboard(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_keyboard_callback *cb = data;
    struct retro_keyboard_callback ours = {key_event};
    if (!cb) return false;
    e->told.key_event = cb->callback;
    if (!e->told.keyboard || !told_before(e)) {
        e->told.keyboard = true;
        e->latch.key_events = kl_env_forward(e, cmd, &ours);
    }
    return true;
}

/* --- disks ---
 *
 * In a room the frontend's swap is a command. It shows the tray open until the player closes it; the core's
 * tray opens, and closes, at the room's frames. */

static bool swapping(const struct kl_emulator *e) {
    return e->phase == KL_PHASE_READY || e->phase == KL_PHASE_PLAYING;
}

static unsigned disk_now(const struct kl_emulator *e) {
    unsigned (*f)(void) = e->told.disk_control.get_image_index;
    return f ? f() : 0;
}
static unsigned disk_count(void) {
    struct kl_emulator *e = kl_emulator_known();
    unsigned (*f)(void) = e->told.disk_control.get_num_images;
    return f ? f() : 0;
}

static bool disk_close_tray(struct kl_emulator *e) {
    unsigned i = e->told.tray_index;
    e->told.tray_open = false;
    return e->hooks.disk && e->hooks.disk(e->hooks.ctx, i < disk_count() ? (uint16_t)i : KL_DISK_NONE) == 0;
}

static bool disk_eject(bool out) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(bool) = e->told.disk_control.set_eject_state;
    if (!swapping(e)) return f && kl_emulator_local(e) && f(out);
    if (!f) return false;
    if (!out) return !e->told.tray_open || disk_close_tray(e);
    if (!e->told.tray_open) e->told.tray_index = disk_now(e);
    return e->told.tray_open = true;
}
static bool disk_ejected(void) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(void) = e->told.disk_control.get_eject_state;
    return (swapping(e) && e->told.tray_open) || (f && f());
}
static unsigned disk_index(void) {
    struct kl_emulator *e = kl_emulator_known();
    return swapping(e) && e->told.tray_open ? e->told.tray_index : disk_now(e);
}
static bool disk_set_index(unsigned i) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(unsigned) = e->told.disk_control.set_image_index;
    if (!swapping(e)) return f && kl_emulator_local(e) && f(i);
    if (e->told.tray_open) e->told.tray_index = i;
    return e->told.tray_open;
}

/* A file of one player's is not on the others' machines. */
static bool may_change_list(struct kl_emulator *e) {
    if (kl_emulator_local(e)) return true;
    if (swapping(e) && e->hooks.no_new_disk) e->hooks.no_new_disk(e->hooks.ctx);
    return false;
}
static bool disk_replace(unsigned i, const struct retro_game_info *info) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(unsigned, const struct retro_game_info *) = e->told.disk_control.replace_image_index;
    return f && may_change_list(e) && f(i, info);
}
static bool disk_add(void) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(void) = e->told.disk_control.add_image_index;
    return f && may_change_list(e) && f();
}
/* The last disk of a player does not count in a room: every machine starts with the first. */
static bool disk_initial(unsigned i, const char *path) {
    return (void)i, (void)path, false;
}
static bool disk_path(unsigned i, char *path, size_t len) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(unsigned, char *, size_t) = e->told.disk_control.get_image_path;
    return f && f(i, path, len);
}
static bool disk_label(unsigned i, char *label, size_t len) {
    struct kl_emulator *e = kl_emulator_known();
    bool (*f)(unsigned, char *, size_t) = e->told.disk_control.get_image_label;
    return f && f(i, label, len);
}

static void show_disks(struct kl_emulator *e) {
    struct retro_disk_control_ext_callback ext = {disk_eject, disk_ejected, disk_index, disk_set_index,
                                                  disk_count, disk_replace, disk_add,   disk_initial,
                                                  disk_path,  disk_label};
    struct retro_disk_control_callback plain = {disk_eject, disk_ejected, disk_index, disk_set_index,
                                                disk_count, disk_replace, disk_add};
    unsigned version = 0;
    if (e->told.disk && told_before(e)) return;
    e->told.disk = true;
    if (kl_env_forward(e, RETRO_ENVIRONMENT_GET_DISK_CONTROL_INTERFACE_VERSION, &version) && version >= 1)
        kl_env_forward(e, RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE, &ext);
    else
        kl_env_forward(e, RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &plain);
}

bool kl_env_disk(struct kl_emulator *e, unsigned cmd, void *data) {
    bool extended = cmd == RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE;
    size_t bytes = extended ? sizeof e->told.disk_control : sizeof(struct retro_disk_control_callback);
    memset(&e->told.disk_control, 0, sizeof e->told.disk_control);
    if (data) memcpy(&e->told.disk_control, data, bytes);
    show_disks(e);
    return true;
}

/* --- options --- */

bool kl_env_options(struct kl_emulator *e, unsigned cmd, void *data) {
    struct kl_outside before = {0};
    bool knew = told_before(e) && kl_outside_collect(&before, e);
    bool ok = kl_options_declare(&e->options, cmd, data);
    if (!told_before(e)) {
        e->told.options = kl_own_options_declare(e->front->environment, cmd, data);
        e->told.listed = e->options.count;
    } else if (knew && e->load == KL_LOAD_NONE && kl_outside_other_list(&before, e)) {
        e->told.list_changed = true;
        kl_outside_tell(e);
    }
    kl_outside_free(&before);
    return ok;
}

static bool update_display(void) {
    struct kl_emulator *e = kl_emulator_known();
    return e->told.update_display && e->told.update_display();
}

bool kl_env_display_callback(struct kl_emulator *e, unsigned cmd, void *data) {
    const struct retro_core_options_update_display_callback *cb = data;
    struct retro_core_options_update_display_callback ours = {update_display};
    e->told.update_display = cb ? cb->callback : NULL;
    if (!e->told.display || !told_before(e)) {
        e->told.display = true;
        kl_env_forward(e, cmd, &ours);
    }
    return true;
}

/* --- the rest --- */

bool kl_env_frame_time(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    memset(&e->told.frame_time, 0, sizeof e->told.frame_time);
    if (data) e->told.frame_time = *(const struct retro_frame_time_callback *)data;
    return true;
}

bool kl_env_subsystems(struct kl_emulator *e, unsigned cmd, void *data) {
    if (e->like) return true;
    kl_declare_subsystems(&e->told.subsystems, data);
    if (!told_before(e) && e->told.subsystems.copy) kl_env_forward(e, cmd, e->told.subsystems.copy);
    return true;
}

/* Whether the frontend knows overrides decides whether GET_GAME_INFO_EXT is answered: the same both times. */
bool kl_env_overrides(struct kl_emulator *e, unsigned cmd, void *data) {
    if (e->like) return e->told.overrides_known;
    kl_declare_overrides(&e->told.overrides, data);
    if (!told_before(e))
        e->told.overrides_known = kl_env_forward(e, cmd, data ? e->told.overrides.copy : NULL);
    return e->told.overrides_known;
}

bool kl_env_memory_maps(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    bool changed = kl_memory_map(&e->memory, data);
    e->told.map_changed = e->told.map_changed || changed || !told_before(e);
    kl_outside_tell_map(e);
    return true;
}

bool kl_env_quirks(struct kl_emulator *e, unsigned cmd, void *data) {
    uint64_t *q = data, shown;
    if (!q) return false;
    shown = *q;
    e->quirks = *q = kl_quirks_answer(*q);
    if (!told_before(e)) kl_env_forward(e, cmd, &shown);
    return true;
}

static bool support(struct kl_emulator *e, unsigned cmd, void *data, uint8_t flag) {
    if (!data) return false;
    bool yes = *(const bool *)data;
    e->supports = (uint8_t)((e->supports & ~flag) | (yes ? flag : 0));
    if (told_before(e)) {
        kl_outside_tell(e);
        return true;
    }
    e->told.supports = e->supports;
    return kl_env_forward(e, cmd, data);
}

bool kl_env_no_game(struct kl_emulator *e, unsigned cmd, void *data) {
    return support(e, cmd, data, KL_SUPPORT_NO_GAME);
}

bool kl_env_achievements(struct kl_emulator *e, unsigned cmd, void *data) {
    return support(e, cmd, data, KL_SUPPORT_ACHIEVEMENTS);
}

bool kl_env_first_load(struct kl_emulator *e, unsigned cmd, void *data) {
    return told_before(e) || kl_env_forward(e, cmd, data);
}

/* --- RetroArch's netplay --- */

bool kl_env_netpacket(struct kl_emulator *e, unsigned cmd, void *data) {
    (void)cmd;
    if (!e->like) e->told.netpacket = e->hooks.netpacket && e->hooks.netpacket(e->hooks.ctx, data);
    return e->told.netpacket;
}

/* The core's declarations in a room. The frontend gets a declaration when it is first made. Later, or when
 * the core is loaded afresh, it gets only changes, as far as they are allowed. The core gets the same answer
 * on every machine. */
#include <math.h>
#include <string.h>

#include "core_wrapper/words/command_words.h"
#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/context/wrapper.h"

static bool forward(unsigned cmd, void *data) {
    return kl_w.front.environment && kl_w.front.environment(cmd, data);
}

/* True if the frontend has the declaration already, changes excepted. */
static bool told_before(void) {
    return kl_w.load == KL_LOAD_AFRESH || kl_w.phase >= KL_PHASE_READY;
}

/* ---- picture and sound ---- */

bool kl_env_rotation(unsigned cmd, void *data) {
    if (!data) return false;
    unsigned r = *(const unsigned *)data;
    if (told_before() && kl_w.told.has_rotation && kl_w.told.rotation == r) return kl_w.told.turns;
    kl_w.told.has_rotation = true;
    kl_w.told.rotation = r;
    kl_w.told.turns = forward(cmd, data); /* a core that hears no may turn the picture itself */
    return kl_w.told.turns;
}

bool kl_env_pixel_format(unsigned cmd, void *data) {
    if (!data) return false;
    enum retro_pixel_format format = *(const enum retro_pixel_format *)data;
    if (told_before() && kl_w.told.has_format && kl_w.picture.format == format) return true;
    if (!forward(cmd, data)) return false;
    kl_w.told.reinit = told_before(); /* drivers know a new format only from then on */
    kl_w.told.has_format = true;
    kl_w.picture.format = format;
    return true;
}

static bool same_geometry(const struct retro_game_geometry *a, const struct retro_game_geometry *b) {
    return a->base_width == b->base_width && a->base_height == b->base_height &&
           fabsf(a->aspect_ratio - b->aspect_ratio) < 1e-6f;
}

bool kl_env_geometry(unsigned cmd, void *data) {
    const struct retro_game_geometry *g = data;
    if (!g) return false;
    if (told_before() && same_geometry(g, &kl_w.av.geometry)) return true;
    kl_w.av.geometry.base_width = g->base_width;
    kl_w.av.geometry.base_height = g->base_height;
    kl_w.av.geometry.aspect_ratio = g->aspect_ratio;
    forward(cmd, data);
    return true;
}

static bool same_av(const struct retro_system_av_info *a, const struct retro_system_av_info *b) {
    return same_geometry(&a->geometry, &b->geometry) && a->geometry.max_width == b->geometry.max_width &&
           a->geometry.max_height == b->geometry.max_height && fabs(a->timing.fps - b->timing.fps) < 1e-9 &&
           fabs(a->timing.sample_rate - b->timing.sample_rate) < 1e-9;
}

bool kl_env_system_av_info(unsigned cmd, void *data) {
    const struct retro_system_av_info *av = data;
    if (!av) return false;
    bool other_rate = fabs(av->timing.fps - kl_w.av.timing.fps) >= 1e-9;
    if (kl_w.load == KL_LOAD_NONE) kl_world_rate(kl_wrapper_fps_uhz(av->timing.fps));
    if (kl_w.load == KL_LOAD_NONE && other_rate && kl_env_hooks.rate) kl_env_hooks.rate(av->timing.fps);
    if (told_before() && same_av(av, &kl_w.av)) return true;
    kl_w.av = *av;
    kl_audio_init(&kl_w.audio, av->timing.sample_rate, av->timing.fps);
    forward(cmd, data);
    return true;
}

/* ---- input ---- */

bool kl_env_descriptors(unsigned cmd, void *data) {
    bool changed = kl_declare_descriptors(&kl_w.told.descriptors, data);
    if ((changed || !told_before()) && kl_w.told.descriptors.copy) forward(cmd, kl_w.told.descriptors.copy);
    return true;
}

bool kl_env_controllers(unsigned cmd, void *data) {
    bool changed = kl_declare_controllers(&kl_w.told.controllers, data);
    if ((changed || !told_before()) && kl_w.told.controllers.copy) forward(cmd, kl_w.told.controllers.copy);
    return true;
}

static void key_event(bool down, unsigned code, uint32_t character, uint16_t modifiers) {
    if (kl_env_hooks.typed && kl_env_hooks.typed(down, code, character)) return;
    if (kl_w.phase == KL_PHASE_PLAYING || kl_wrapper_local())
        kl_latch_key(&kl_w.latch, down, code, character, modifiers);
}

void kl_env_listen(void) {
    struct retro_keyboard_callback ours = {key_event};
    if (!kl_w.told.key_event && !kl_w.attached) forward(RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK, &ours);
}

bool kl_env_keyboard(unsigned cmd, void *data) {
    const struct retro_keyboard_callback *cb = data;
    struct retro_keyboard_callback ours = {key_event};
    if (!cb) return false;
    kl_w.told.key_event = cb->callback;
    if (!kl_w.told.keyboard || !told_before()) {
        kl_w.told.keyboard = true;
        kl_w.latch.key_events = forward(cmd, &ours);
    }
    return true;
}

/* ---- disks: in a room the frontend's swap is a command. It shows the tray open until the player closes it;
 * the core's tray opens, and closes, at the room's frames ---- */

static bool swapping(void) {
    return kl_w.phase == KL_PHASE_READY || kl_w.phase == KL_PHASE_PLAYING;
}

static unsigned disk_now(void) {
    unsigned (*f)(void) = kl_w.told.disk_control.get_image_index;
    return f ? f() : 0;
}
static unsigned disk_count(void) {
    unsigned (*f)(void) = kl_w.told.disk_control.get_num_images;
    return f ? f() : 0;
}

static bool disk_close_tray(void) {
    unsigned i = kl_w.told.tray_index;
    kl_w.told.tray_open = false;
    return kl_env_hooks.disk && kl_env_hooks.disk(i < disk_count() ? (uint16_t)i : KL_DISK_NONE) == 0;
}

static bool disk_eject(bool out) {
    bool (*f)(bool) = kl_w.told.disk_control.set_eject_state;
    if (!swapping()) return f && kl_wrapper_local() && f(out);
    if (!f) return false;
    if (!out) return !kl_w.told.tray_open || disk_close_tray();
    if (!kl_w.told.tray_open) kl_w.told.tray_index = disk_now();
    return kl_w.told.tray_open = true;
}
static bool disk_ejected(void) {
    bool (*f)(void) = kl_w.told.disk_control.get_eject_state;
    return (swapping() && kl_w.told.tray_open) || (f && f());
}
static unsigned disk_index(void) {
    return swapping() && kl_w.told.tray_open ? kl_w.told.tray_index : disk_now();
}
static bool disk_set_index(unsigned i) {
    bool (*f)(unsigned) = kl_w.told.disk_control.set_image_index;
    if (!swapping()) return f && kl_wrapper_local() && f(i);
    if (kl_w.told.tray_open) kl_w.told.tray_index = i;
    return kl_w.told.tray_open;
}

/* A file of one player's is not on the others' machines. */
static bool may_change_list(void) {
    if (kl_wrapper_local()) return true;
    if (swapping())
        kl_wrapper_say_once(&kl_w.said_disk, "disks cannot be added in a room: the others lack them");
    return false;
}
static bool disk_replace(unsigned i, const struct retro_game_info *info) {
    bool (*f)(unsigned, const struct retro_game_info *) = kl_w.told.disk_control.replace_image_index;
    return f && may_change_list() && f(i, info);
}
static bool disk_add(void) {
    bool (*f)(void) = kl_w.told.disk_control.add_image_index;
    return f && may_change_list() && f();
}
/* The last disk of a player does not count in a room: every machine starts with the first. */
static bool disk_initial(unsigned i, const char *path) {
    return (void)i, (void)path, false;
}
static bool disk_path(unsigned i, char *path, size_t len) {
    bool (*f)(unsigned, char *, size_t) = kl_w.told.disk_control.get_image_path;
    return f && f(i, path, len);
}
static bool disk_label(unsigned i, char *label, size_t len) {
    bool (*f)(unsigned, char *, size_t) = kl_w.told.disk_control.get_image_label;
    return f && f(i, label, len);
}

static void show_disks(void) {
    struct retro_disk_control_ext_callback ext = {disk_eject, disk_ejected, disk_index, disk_set_index,
                                                  disk_count, disk_replace, disk_add,   disk_initial,
                                                  disk_path,  disk_label};
    struct retro_disk_control_callback plain = {disk_eject, disk_ejected, disk_index, disk_set_index,
                                                disk_count, disk_replace, disk_add};
    unsigned version = 0;
    if (kl_w.told.disk && told_before()) return;
    kl_w.told.disk = true;
    if (forward(RETRO_ENVIRONMENT_GET_DISK_CONTROL_INTERFACE_VERSION, &version) && version >= 1)
        forward(RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE, &ext);
    else
        forward(RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &plain);
}

bool kl_env_disk(unsigned cmd, void *data) {
    (void)cmd;
    memset(&kl_w.told.disk_control, 0, sizeof kl_w.told.disk_control);
    if (data) memcpy(&kl_w.told.disk_control, data, sizeof(struct retro_disk_control_callback));
    show_disks();
    return true;
}

bool kl_env_disk_ext(unsigned cmd, void *data) {
    (void)cmd;
    memset(&kl_w.told.disk_control, 0, sizeof kl_w.told.disk_control);
    if (data) memcpy(&kl_w.told.disk_control, data, sizeof kl_w.told.disk_control);
    show_disks();
    return true;
}

/* ---- options ---- */

bool kl_env_options(unsigned cmd, void *data) {
    bool ok = kl_options_declare(&kl_w.options, cmd, data);
    if (!told_before()) kl_w.told.options = kl_own_options_declare(kl_w.front.environment, cmd, data);
    return ok;
}

static bool update_display(void) {
    return kl_w.told.update_display && kl_w.told.update_display();
}

bool kl_env_display_callback(unsigned cmd, void *data) {
    const struct retro_core_options_update_display_callback *cb = data;
    struct retro_core_options_update_display_callback ours = {update_display};
    kl_w.told.update_display = cb ? cb->callback : NULL;
    if (!kl_w.told.display || !told_before()) {
        kl_w.told.display = true;
        forward(cmd, &ours);
    }
    return true;
}

/* ---- the rest ---- */

bool kl_env_frame_time(unsigned cmd, void *data) {
    (void)cmd;
    if (data) kl_w.told.frame_time = *(const struct retro_frame_time_callback *)data;
    return true;
}

bool kl_env_subsystems(unsigned cmd, void *data) {
    kl_declare_subsystems(&kl_w.told.subsystems, data);
    if (!told_before() && kl_w.told.subsystems.copy) forward(cmd, kl_w.told.subsystems.copy);
    return true;
}

/* Whether the frontend knows overrides decides whether GET_GAME_INFO_EXT is answered: the same both times. */
bool kl_env_overrides(unsigned cmd, void *data) {
    kl_declare_overrides(&kl_w.told.overrides, data);
    if (!told_before()) kl_w.told.overrides_known = forward(cmd, data ? kl_w.told.overrides.copy : NULL);
    return kl_w.told.overrides_known;
}

bool kl_env_memory_maps(unsigned cmd, void *data) {
    bool changed = kl_memory_map(&kl_w.memory, data);
    struct retro_memory_map shown = kl_memory_shown(&kl_w.memory);
    if (changed || !told_before()) forward(cmd, &shown);
    return true;
}

bool kl_env_quirks(unsigned cmd, void *data) {
    uint64_t *q = data;
    if (!q) return false;
    if (!told_before()) {
        kl_w.told.has_quirks = forward(cmd, q);
        kl_w.told.quirks = *q;
    }
    *q = kl_w.told.quirks;
    return kl_w.told.has_quirks;
}

bool kl_env_first_load(unsigned cmd, void *data) {
    return told_before() || forward(cmd, data);
}

/* ---- RetroArch's netplay ---- */

bool kl_env_netpacket(unsigned cmd, void *data) {
    (void)cmd;
    return kl_env_hooks.netpacket && kl_env_hooks.netpacket(data);
}

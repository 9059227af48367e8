#include "core_wrapper/ahead/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/env/reload.h"

/* --- the core's calls --- */

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    struct kl_shown *s = ctx;
    s->hooks.video(s->hooks.ctx, data, width, height, pitch);
}

static void on_sound(void *ctx, const int16_t *stereo, size_t frames) {
    struct kl_shown *s = ctx;
    s->hooks.sound(s->hooks.ctx, stereo, frames);
}

static void on_rumble(void *ctx, unsigned port, enum retro_rumble_effect effect, uint16_t strength) {
    struct kl_shown *s = ctx;
    if (port < KL_MAX_SEATS && effect <= RETRO_RUMBLE_WEAK) s->rumble[port][effect].is = strength;
}

static void on_light(void *ctx, int led, int state) {
    struct kl_shown *s = ctx;
    if (led >= 0 && led < KL_SHOWN_LIGHTS) s->light[led].is = state;
}

/* --- the floating-point environment: each core has its own --- */

static void enter(struct kl_shown *s, fenv_t *ours) {
    fegetenv(ours);
    fesetenv(&s->fenv);
}

static void leave(struct kl_shown *s, const fenv_t *ours) {
    fegetenv(&s->fenv);
    fesetenv(ours);
}

/* --- opening --- */

/* The frontend knows the other core's declarations; those that point into its library are not this one's. */
static void take_told(struct kl_emulator *e, const struct kl_emulator *like) {
    e->told = like->told;
    e->told.controllers = e->told.subsystems = e->told.descriptors = e->told.overrides =
        (struct kl_declared){0};
    e->told.key_event = NULL;
    e->told.update_display = NULL;
    memset(&e->told.disk_control, 0, sizeof e->told.disk_control);
    memset(&e->told.frame_time, 0, sizeof e->told.frame_time);
    e->told.tray_open = false;
}

static int load(struct kl_shown *s, const struct kl_emulator *like, const struct kl_start *start,
                uint64_t epoch_s, char *err, size_t err_len) {
    struct kl_emulator *e = &s->emu;
    fenv_t ours;
    enter(s, &ours);
    int r = kl_emulator_reload(e, start, epoch_s, err, err_len);
    leave(s, &ours);
    e->load = KL_LOAD_NONE;
    if (r != 0) return r;
    if (e->core.run == like->core.run) {
        snprintf(err, err_len, "the core is not loaded twice: its library is marked to stay");
        return -1;
    }
    e->options.updated = false;
    e->av = like->av;
    kl_world_rate(e->world, kl_emulator_fps_uhz(e->av.timing.fps));
    return 0;
}

int kl_shown_open(struct kl_shown *s, const struct kl_emulator *like, const struct kl_start *start,
                  uint64_t epoch_s, const char *system_dir, const char *save_dir,
                  const struct kl_shown_hooks *hooks, char *err, size_t err_len) {
    const struct kl_emulator_hooks ours = {
        .ctx = s, .video = on_video, .sound = on_sound, .rumble = on_rumble, .light = on_light};
    struct kl_emulator *e = &s->emu;
    memset(s, 0, sizeof *s);
    if (like->told.hw) {
        snprintf(err, err_len, "the core draws with the graphics card, which it has once");
        return -1;
    }
    if (kl_emulator_begin(e, like->front, &ours) != 0) {
        snprintf(err, err_len, "this process runs %d cores already, which is the most", KL_WORLDS);
        return -1;
    }
    s->open = true;
    s->hooks = *hooks;
    e->like = like;
    e->clocked = like->clocked;
    e->runner = like->runner;
    e->content = like->content; /* borrowed: the cores only read it */
    e->latch.key_events = like->latch.key_events;
    e->phase = KL_PHASE_PLAYING;
    e->load = KL_LOAD_AFRESH;
    snprintf(e->core.path, sizeof e->core.path, "%s", like->core.path);
    e->core.late = true;
    snprintf(e->save_dir, sizeof e->save_dir, "%s", save_dir);
    e->picture.format = like->picture.format;
    take_told(e, like);
    kl_latch_init(&e->latch, true);
    fegetenv(&s->fenv);
    kl_gifts_redirect(&e->gifts, e->world, system_dir, e->save_dir, e->content.stem);
    if (load(s, like, start, epoch_s, err, err_len) == 0) return 0;
    kl_shown_close(s);
    return -1;
}

void kl_shown_close(struct kl_shown *s) {
    struct kl_emulator *e = &s->emu;
    fenv_t ours;
    if (!s->open) return;
    for (unsigned i = 0; i < KL_AHEAD_FRAMES; i++)
        free(s->state[i].bytes);
    enter(s, &ours);
    kl_core_close(&e->core);
    leave(s, &ours);
    kl_options_free(&e->options);
    kl_memory_drop(&e->memory);
    kl_audio_free(&e->audio);
    kl_picture_free(&e->picture);
    kl_emulator_end(e);
    memset(s, 0, sizeof *s);
}

/* --- states --- */

/* The world's clock and chance, the drive and the keys that are down: no state holds them. */
static void take_rest(struct kl_shown_state *to, const struct kl_emulator *e, const struct kl_tray *tray) {
    const struct retro_disk_control_ext_callback *d = &e->told.disk_control;
    to->time = kl_world_time(e->world);
    to->chance = kl_world_chance(e->world);
    to->tray = *tray;
    to->disk = d->get_image_index ? d->get_image_index() : 0;
    to->ejected = d->get_eject_state && d->get_eject_state();
    memcpy(to->key_down, e->latch.key_down, sizeof to->key_down);
}

static void give_rest(struct kl_shown *s, const struct kl_shown_state *from) {
    struct kl_emulator *e = &s->emu;
    kl_world_time_set(e->world, &from->time);
    kl_world_chance_set(e->world, from->chance);
    s->tray = from->tray;
    kl_emulator_put_disk(e, from->disk, from->ejected);
    memcpy(e->latch.key_down, from->key_down, sizeof from->key_down);
}

static void take_options(struct kl_options *to, const struct kl_options *from) {
    char why[256];
    for (unsigned i = 0; i < from->count; i++) {
        const char *is = kl_options_get(to, from->at[i].key);
        if (is && strcmp(is, from->at[i].value) != 0)
            kl_options_set(to, from->at[i].key, from->at[i].value, true, why, sizeof why);
    }
}

bool kl_shown_load(struct kl_shown *s, const uint8_t *bytes, size_t len) {
    fenv_t ours;
    enter(s, &ours);
    bool good = s->emu.core.unserialize(bytes, len);
    leave(s, &ours);
    return good;
}

bool kl_shown_begin(struct kl_shown *s, const struct kl_emulator *like, const struct kl_tray *tray,
                    const uint8_t *bytes, size_t len) {
    struct kl_shown_state rest;
    for (unsigned i = 0; i < KL_AHEAD_FRAMES; i++)
        s->state[i].kept = false;
    s->state_bytes = len;
    take_options(&s->emu.options, &like->options);
    take_rest(&rest, like, tray);
    kl_emulator_put_disk(&s->emu, rest.disk, rest.ejected);
    if (!len || !kl_shown_load(s, bytes, len)) return false;
    give_rest(s, &rest);
    return true;
}

unsigned kl_shown_depth(const struct kl_shown *s) {
    size_t most = s->state_bytes ? KL_SHOWN_BYTES_MAX / s->state_bytes : 0;
    return most < KL_AHEAD_FRAMES ? (unsigned)most : KL_AHEAD_FRAMES;
}

/* A core's states may change their size (nestopia's do after the first frame). */
static bool serialize(struct kl_shown *s, struct kl_shown_state *to) {
    for (unsigned tries = 0; tries < 2; tries++) {
        size_t len = tries ? s->emu.core.serialize_size() : s->state_bytes;
        uint8_t *more = len > to->cap ? realloc(to->bytes, len) : to->bytes;
        if (!len || !more) return false;
        if (len > to->cap) memset(more, 0, len);
        to->cap = len > to->cap ? len : to->cap;
        to->bytes = more;
        to->len = s->state_bytes = len;
        if (s->emu.core.serialize(to->bytes, len)) return true;
    }
    return false;
}

bool kl_shown_keep(struct kl_shown *s, uint32_t frame) {
    struct kl_shown_state *to = &s->state[frame % KL_AHEAD_FRAMES];
    fenv_t ours;
    to->frame = frame;
    take_rest(to, &s->emu, &s->tray);
    enter(s, &ours);
    to->kept = serialize(s, to);
    leave(s, &ours);
    return to->kept;
}

bool kl_shown_back(struct kl_shown *s, uint32_t frame) {
    const struct kl_shown_state *from = &s->state[frame % KL_AHEAD_FRAMES];
    if (!from->kept || from->frame != frame || !kl_shown_load(s, from->bytes, from->len)) return false;
    give_rest(s, from);
    return true;
}

/* --- frames --- */

void kl_shown_run(struct kl_shown *s, const struct kl_frame *f, bool hidden) {
    fenv_t ours;
    kl_world_frame(s->emu.world, f->number);
    enter(s, &ours);
    kl_emulator_run(&s->emu, f, hidden);
    leave(s, &ours);
}

void kl_shown_reset(struct kl_shown *s) {
    fenv_t ours;
    enter(s, &ours);
    s->emu.core.reset();
    leave(s, &ours);
}

void kl_shown_swap_disk(struct kl_shown *s, uint16_t index, uint32_t frame) {
    fenv_t ours;
    enter(s, &ours);
    (void)kl_emulator_swap_disk(&s->emu, &s->tray, index, frame);
    leave(s, &ours);
}

void kl_shown_tray(struct kl_shown *s, uint32_t frame) {
    fenv_t ours;
    if (!s->tray.open || frame < s->tray.frame) return;
    enter(s, &ours);
    kl_emulator_tray(&s->emu, &s->tray, frame);
    leave(s, &ours);
}

bool kl_shown_ram(struct kl_shown *s, uint64_t *hash) {
    struct retro_memory_map map = kl_memory_inner(&s->emu.memory);
    kl_ram_find(&s->ram, &s->emu.core, map.num_descriptors ? &map : NULL);
    return kl_ram_hash(&s->ram, hash);
}

void kl_shown_feel(struct kl_shown *s) {
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        for (unsigned e = RETRO_RUMBLE_STRONG; e <= RETRO_RUMBLE_WEAK; e++) {
            if (s->rumble[p][e].is == s->rumble[p][e].was) continue;
            s->rumble[p][e].was = s->rumble[p][e].is;
            s->hooks.rumble(s->hooks.ctx, p, (enum retro_rumble_effect)e, s->rumble[p][e].is);
        }
    for (int i = 0; i < KL_SHOWN_LIGHTS; i++) {
        if (s->light[i].is == s->light[i].was) continue;
        s->light[i].was = s->light[i].is;
        s->hooks.light(s->hooks.ctx, i, s->light[i].is);
    }
}

void kl_shown_still(struct kl_shown *s) {
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        s->rumble[p][RETRO_RUMBLE_STRONG].is = s->rumble[p][RETRO_RUMBLE_WEAK].is = 0;
    kl_shown_feel(s);
}

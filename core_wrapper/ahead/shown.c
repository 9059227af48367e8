#include "core_wrapper/ahead/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/env/reload.h"

/* --- the crossfade --- */

static void see_step(struct kl_fade_side *s, int from, int to) {
    if (abs(to - from) > s->step) s->step = abs(to - from);
}

void kl_fade_begin(struct kl_fade *f, unsigned most) {
    f->count = f->tail < most ? f->tail : most;
    if (f->count > KL_FADE_MAX) f->count = KL_FADE_MAX;
    f->at = 0;
    f->on = f->count > 0;
    for (unsigned i = 0; i < f->count; i++)
        memcpy(&f->out[2 * i], &f->given[2 * (f->tail - 1 - i)], 2 * sizeof *f->out);
    for (unsigned c = 0; f->on && c < 2; c++) {
        f->side[c] = (struct kl_fade_side){.mixed = f->out[c], .step = KL_FADE_STEP};
        for (unsigned i = 1; i < f->tail; i++)
            see_step(&f->side[c], f->given[2 * i + c - 2], f->given[2 * i + c]);
    }
}

/* Towards the new sound, and over the fade's time from the old one. */
static int16_t mix(struct kl_fade *f, struct kl_fade_side *s, int16_t new, unsigned c) {
    double in = (double)(f->at + 1) / (double)(f->count + 1);
    int to = f->at < f->count ? (int)(in * new + (1 - in) * f->out[2 * f->at + c]) : new;
    if (f->at > 0) see_step(s, s->new, new);
    if (to > s->mixed + s->step) to = s->mixed + s->step;
    if (to < s->mixed - s->step) to = s->mixed - s->step;
    s->new = new;
    s->mixed = to;
    return (int16_t)to;
}

void kl_fade_mix(struct kl_fade *f, int16_t *stereo, size_t samples) {
    for (size_t i = 0; f->on && i < samples; i++) {
        for (unsigned c = 0; c < 2; c++)
            stereo[2 * i + c] = mix(f, &f->side[c], stereo[2 * i + c], c);
        if (f->at < f->count) f->at++;
        f->on = f->at < f->count || f->side[0].mixed != f->side[0].new || f->side[1].mixed != f->side[1].new;
    }
}

void kl_fade_keep(struct kl_fade *f, const int16_t *stereo, size_t samples) {
    size_t n = samples < KL_FADE_MAX ? samples : KL_FADE_MAX;
    bool moves = n < samples || f->tail + n > 2 * KL_FADE_MAX; /* no hole in what is kept */
    size_t old = moves ? KL_FADE_MAX - n : f->tail;
    if (moves) memmove(f->given, f->given + 2 * (f->tail - old), old * 2 * sizeof *f->given);
    memcpy(f->given + 2 * old, stereo + 2 * (samples - n), n * 2 * sizeof *f->given);
    f->tail = (unsigned)(old + n);
}

/* --- the shown core --- */

#define WARM_UP 60 /* frames at most */

/* --- the core's calls --- */

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    struct kl_shown *s = ctx;
    s->hooks.video(s->hooks.ctx, data, width, height, pitch);
}

static void on_sound(void *ctx, const int16_t *stereo, size_t frames) {
    struct kl_shown *s = ctx;
    s->hooks.sound(s->hooks.ctx, stereo, frames);
}

/* --- the floating-point environment: each core has its own --- */

void kl_shown_enter(struct kl_shown *s, fenv_t *ours) {
    fegetenv(ours);
    fesetenv(&s->fenv);
}

void kl_shown_leave(struct kl_shown *s, const fenv_t *ours) {
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
    kl_shown_enter(s, &ours);
    int r = kl_emulator_reload(e, start, epoch_s, err, err_len);
    kl_shown_leave(s, &ours);
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
                  const struct kl_shown_hooks *hooks, bool by_pages, char *err, size_t err_len) {
    const struct kl_emulator_hooks ours = {.ctx = s, .video = on_video, .sound = on_sound};
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
    e->own_heap = by_pages;
    snprintf(e->save_dir, sizeof e->save_dir, "%s", save_dir);
    e->picture.format = like->picture.format;
    take_told(e, like);
    kl_latch_init(&e->latch, true);
    fegetenv(&s->fenv);
    e->system_dir = system_dir;
    if (load(s, like, start, epoch_s, err, err_len) == 0) return 0;
    kl_shown_close(s);
    return -1;
}

void kl_shown_close(struct kl_shown *s) {
    struct kl_emulator *e = &s->emu;
    fenv_t ours;
    if (!s->open) return;
    for (unsigned i = 0; i < KL_AHEAD_FRAMES; i++) {
        free(s->state[i].bytes);
        kl_outside_free(&s->state[i].outside);
        kl_fileset_free(s->state[i].files);
    }
    kl_outside_free(&s->begun);
    kl_shown_enter(s, &ours);
    kl_emulator_close(e);
    kl_shown_leave(s, &ours);
    memset(s, 0, sizeof *s);
}

/* --- states --- */

static void give_time(struct kl_shown *s, const struct kl_world_time *time, uint64_t chance) {
    kl_world_time_set(s->emu.world, time);
    kl_world_chance_set(s->emu.world, chance);
}

/* The files and the outside before the state, and the outside after it: a core may declare something while it
 * loads. own: the files were kept by this core. bytes NULL: by the pages of that slot. */
static bool load_state(struct kl_shown *s, const struct kl_outside *o, const uint8_t *bytes, size_t len,
                       const struct kl_fileset *files, bool own, unsigned slot) {
    fenv_t ours;
    if (kl_outside_lacks(&s->emu, o) || !kl_world_files_back(s->emu.world, files, own)) return false;
    kl_shown_enter(s, &ours);
    bool good = kl_outside_apply(&s->emu, o);
    good = good && (bytes ? s->emu.core.unserialize(bytes, len) : kl_pages_back(s->emu.pages, slot));
    good = kl_outside_apply(&s->emu, o) && good;
    kl_shown_leave(s, &ours);
    return good;
}

_Static_assert(KL_AHEAD_FRAMES <= KL_PAGES_SLOTS, "a slot for each kept frame");

static void drop_states(struct kl_shown *s) {
    for (unsigned i = 0; i < KL_AHEAD_FRAMES; i++)
        s->state[i].kept = false;
    s->by_pages = false;
    if (s->emu.pages) kl_pages_end(s->emu.pages);
}

/* As the other core does before its first frame. */
static bool stands_alike(struct kl_shown *s) {
    fenv_t ours;
    kl_shown_enter(s, &ours);
    bool good = kl_outside_apply(&s->emu, &s->begun);
    s->state_bytes = s->emu.core.serialize_size();
    kl_shown_leave(s, &ours);
    return good;
}

static bool take_state(struct kl_shown *s, const uint8_t *bytes, size_t len, const struct kl_fileset *files) {
    unsigned frames = kl_quirks_warm_up(s->emu.quirks) ? WARM_UP : 0;
    bool good = load_state(s, &s->begun, bytes, len, files, false, 0);
    for (unsigned i = 0; i < frames && !good; i++) {
        /* A frame of no game, unseen: some cores load nothing before they have run. */
        const struct kl_frame still = {0};
        fenv_t ours;
        kl_world_frame(s->emu.world, 0);
        kl_shown_enter(s, &ours);
        kl_emulator_run(&s->emu, &still, true);
        kl_shown_leave(s, &ours);
        good = load_state(s, &s->begun, bytes, len, files, false, 0);
    }
    return good;
}

const char *kl_shown_begin(struct kl_shown *s, const struct kl_emulator *like, const uint8_t *bytes,
                           size_t len, const struct kl_fileset *files) {
    static char why[96];
    drop_states(s);
    if (bytes && !len) return "the core gives no savestates";
    if (!kl_outside_collect(&s->begun, like)) return "out of memory";
    const char *lacking = kl_outside_lacks(&s->emu, &s->begun);
    snprintf(why, sizeof why, "%s came in play, in the other core alone", lacking ? lacking : "");
    if (lacking) return why;
    s->state_bytes = len;
    bool good = bytes ? take_state(s, bytes, len, files) : stands_alike(s);
    const struct kl_world_time time = kl_world_time(like->world);
    give_time(s, &time, kl_world_chance(like->world));
    s->by_pages = good && s->emu.pages && kl_pages_begin(s->emu.pages);
    return good ? "" : "the core refused its own state or files";
}

unsigned kl_shown_depth(const struct kl_shown *s) {
    size_t bytes = s->by_pages ? kl_pages_bytes(s->emu.pages) : s->state_bytes;
    size_t most = bytes ? KL_SHOWN_BYTES_MAX / bytes : s->by_pages ? KL_AHEAD_FRAMES : 0;
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

/* If its pages cannot be kept any more (a thread, too many of them), it goes on with states, and cannot go
 * back behind here. */
static bool keep_memory(struct kl_shown *s, struct kl_shown_state *to) {
    unsigned slot = (unsigned)(to - s->state);
    if (s->by_pages && kl_pages_keep(s->emu.pages, slot)) return true;
    if (s->by_pages) drop_states(s);
    return serialize(s, to);
}

bool kl_shown_keep(struct kl_shown *s, uint32_t frame) {
    struct kl_shown_state *to = &s->state[frame % KL_AHEAD_FRAMES];
    char ignored[256];
    fenv_t ours;
    kl_fileset_free(to->files);
    to->kept = kl_world_files_keep(s->emu.world, &to->files, ignored, sizeof ignored) == 0;
    if (!to->kept) return false;
    to->frame = frame;
    /* The world's clock and chance, and what is outside of the core: no state holds them. */
    to->time = kl_world_time(s->emu.world);
    to->chance = kl_world_chance(s->emu.world);
    bool rest = kl_outside_collect(&to->outside, &s->emu);
    kl_shown_enter(s, &ours);
    to->kept = rest && keep_memory(s, to);
    kl_shown_leave(s, &ours);
    return to->kept;
}

bool kl_shown_back(struct kl_shown *s, uint32_t frame) {
    const struct kl_shown_state *from = &s->state[frame % KL_AHEAD_FRAMES];
    if (!from->kept || from->frame != frame ||
        !load_state(s, &from->outside, s->by_pages ? NULL : from->bytes, from->len, from->files, true,
                    frame % KL_AHEAD_FRAMES))
        return false;
    give_time(s, &from->time, from->chance);
    return true;
}

bool kl_shown_ram(struct kl_shown *s, uint64_t *hash) {
    kl_emulator_find_ram(&s->emu, &s->ram);
    return kl_ram_hash(&s->ram, hash);
}

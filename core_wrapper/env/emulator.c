#include "core_wrapper/env/emulator.h"

#include <math.h>

#include "core_wrapper/env/env_answers.h"

/* A machine that was emulated for no time with its tray open has not seen it open. */
#define TRAY_FRAMES 60

struct kl_emulator *kl_emulator_at[KL_WORLDS];
static struct kl_emulator *known;

struct kl_emulator *kl_emulator_known(void) {
    return known;
}

int kl_emulator_begin(struct kl_emulator *e, const struct kl_front *front,
                      const struct kl_emulator_hooks *hooks) {
    unsigned n = 0;
    e->front = front;
    e->hooks = *hooks;
    if (e->world) return 0;
    while (n < KL_WORLDS && kl_emulator_at[n])
        n++;
    if (n == KL_WORLDS || !(e->world = kl_world_take())) return -1;
    kl_emulator_at[n] = e;
    if (!known) known = e;
    return 0;
}

void kl_emulator_end(struct kl_emulator *e) {
    for (unsigned n = 0; n < KL_WORLDS; n++)
        if (kl_emulator_at[n] == e) kl_emulator_at[n] = NULL;
    if (known == e) known = NULL;
    kl_world_release(e->world);
    e->world = NULL;
}

void kl_emulator_close(struct kl_emulator *e) {
    if (e->pages) kl_pages_end(e->pages);
    kl_core_close(&e->core);
    kl_pages_release(e->pages);
    e->pages = NULL;
    kl_options_free(&e->options);
    kl_memory_drop(&e->memory);
    kl_audio_free(&e->audio);
    kl_picture_free(&e->picture);
    kl_emulator_end(e);
}

void kl_emulator_find_ram(const struct kl_emulator *e, struct kl_ram *ram) {
    struct retro_memory_map map = kl_memory_inner(&e->memory);
    kl_ram_find(ram, &e->core, map.num_descriptors ? &map : NULL);
}

static void give_key(void *ctx, const struct kl_key *k) {
    const struct kl_emulator *e = ctx;
    if (e->told.key_event) e->told.key_event(k->down, k->code, k->character, k->modifiers);
}

void kl_emulator_run(struct kl_emulator *e, const struct kl_frame *f, bool unseen) {
    const struct retro_frame_time_callback *t = &e->told.frame_time;
    retro_usec_t usual = (retro_usec_t)(1e12 / kl_emulator_fps_uhz(e->av.timing.fps));
    kl_latch_frame(&e->latch, f, give_key, e);
    e->unseen = unseen;
    if (t->callback) t->callback(t->reference ? t->reference : usual);
    e->core.run();
    kl_world_rest(e->world);
    kl_world_files_settle(e->world);
    e->unseen = false;
}

bool kl_emulator_swap_disk(struct kl_emulator *e, uint16_t index, uint32_t frame) {
    const struct retro_disk_control_ext_callback *d = &e->told.disk_control;
    if (!d->set_eject_state || !d->set_image_index) return false;
    d->set_eject_state(true);
    e->tray = (struct kl_tray){true, frame + TRAY_FRAMES, index};
    return true;
}

void kl_emulator_tray(struct kl_emulator *e, uint32_t frame) {
    const struct retro_disk_control_ext_callback *d = &e->told.disk_control;
    if (!e->tray.open || frame < e->tray.frame) return;
    e->tray.open = false;
    if (!d->set_eject_state || !d->set_image_index) return;
    unsigned count = d->get_num_images ? d->get_num_images() : 0;
    d->set_image_index(e->tray.index < count ? e->tray.index : count); /* count: none */
    d->set_eject_state(false);
}

void kl_emulator_put_disk(struct kl_emulator *e, unsigned index, bool ejected) {
    const struct retro_disk_control_ext_callback *d = &e->told.disk_control;
    if (!d->get_image_index || !d->set_eject_state || !d->set_image_index) return;
    if (d->get_image_index() == index && d->get_eject_state && d->get_eject_state() == ejected) return;
    d->set_eject_state(true);
    d->set_image_index(index);
    d->set_eject_state(ejected);
}

bool kl_emulator_local(const struct kl_emulator *e) {
    return e->phase == KL_PHASE_LOCAL || e->phase == KL_PHASE_FREE;
}

uint32_t kl_emulator_fps_uhz(double fps) {
    return fps >= 1 && fps <= 1000 ? (uint32_t)llround(fps * 1e6) : 60000000;
}

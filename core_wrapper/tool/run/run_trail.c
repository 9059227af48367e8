#include "core_wrapper/tool/run/run.h"

#include "net/platform/buffer.h"
#include "net/platform/process.h"
#include "net/platform/dir.h"
#include "core_wrapper/env/reload.h"
#include "core_wrapper/start/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void export_one(const char *name, const char *value) {
    if (value) kl_environment_set(name, value);
}

void kl_run_trail_export(const struct kl_run_options *o) {
    export_one("KEYLOCK_RECORD", o->record);
    export_one("KEYLOCK_STATES", o->states);
    export_one("KEYLOCK_CORRUPT", o->machine.corrupt);
}

__attribute__((format(__printf__, 2, 3))) static int failed(struct kl_run_trail *t, const char *format, ...) {
    if (!t->error[0]) KL_FORMAT(t->error, sizeof(t->error), format);
    return -1;
}

/* --- the beginning --- */

/* The run's own start data, as a room has it. */
static void make_start(struct kl_start *s, struct kl_headless *h) {
    kl_emulator_put_options(&h->emu, s);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        if (h->emu.device[p])
            s->device[s->device_count++] = (struct kl_start_device){(uint8_t)p, h->emu.device[p] - 1};
    size_t len = h->setup.save_dir ? h->emu.core.get_memory_size(RETRO_MEMORY_SAVE_RAM) : 0;
    const void *sram = len ? h->emu.core.get_memory_data(RETRO_MEMORY_SAVE_RAM) : NULL;
    if (sram) s->memory[s->memory_count++] = (struct kl_start_memory){RETRO_MEMORY_SAVE_RAM, sram, len};
}

static int record_head(struct kl_run_trail *t, struct kl_headless *h) {
    static struct kl_klr_room room;
    struct kl_klr_head head = {.rules = KL_KLR_RULES, .flags = KL_KLR_BY_CLIENT, .epoch_s = h->setup.epoch_s};
    if (h->setup.virtual_clock) head.flags |= KL_KLR_HAS_EPOCH;
    kl_facts_add(&room.facts, "core", t->origin.core);
    kl_facts_add(&room.facts, "content", t->origin.content);
    kl_facts_add(&room.facts, KL_RECORDING_SYSTEM, kl_world_system);
    room.has_params = h->emu.av.timing.fps * 1e6 >= KL_FPS_MIN && h->emu.av.timing.fps * 1e6 <= KL_FPS_MAX;
    room.params = (struct kl_params){
        .clocked = true, .players = 1, .fps_uhz = (uint32_t)(h->emu.av.timing.fps * 1e6 + 0.5)};
    struct kl_start *start = calloc(1, sizeof(*start));
    uint8_t *bytes = NULL;
    int len = -1;
    if (start) make_start(start, h);
    if (start && (bytes = malloc(kl_start_bound(start))))
        len = kl_start_encode(start, bytes, kl_start_bound(start));
    if (len >= 0) kl_recorder_head(&t->recorder, 0, &head, &room, bytes, (size_t)len);
    free(bytes);
    free(start);
    return len >= 0 ? 0
                    : failed(t, "cannot write %s: its save memory and options do not fit into a recording",
                             t->record);
}

int kl_run_trail_begin(struct kl_run_trail *t, const struct kl_run_options *o, struct kl_headless *h) {
    char why[KLT_ERR];
    snprintf(t->origin.core, sizeof(t->origin.core), "%.80s %.40s", h->name, h->version);
    snprintf(t->origin.content, sizeof(t->origin.content), "none");
    if (!h->emu.content.none)
        kl_identity_hash_file(h->emu.content.item[0].path, t->origin.content, sizeof(t->origin.content));
    t->origin.has_world = h->setup.virtual_clock;
    t->origin.epoch_s = h->setup.epoch_s;
    t->states = o->states;
    t->record = o->record;
    if (o->machine.corrupt && kl_corrupt_parse(&t->corrupt, o->machine.corrupt, why, sizeof(why)) != 0)
        return failed(t, "%s", why);
    if (t->states && kl_dir_make(t->states, false, why, sizeof(why)) != 0) return failed(t, "%s", why);
    if (!t->record) return 0;
    if (kl_recorder_open(&t->recorder, t->record) != 0 || kl_spool_opened(&t->recorder.spool) != 0)
        return failed(t, "cannot write %s: %s", t->record, strerror(errno));
    return record_head(t, h);
}

/* --- frames --- */

void kl_run_trail_frame(struct kl_run_trail *t, struct kl_headless *h, const struct kl_frame *next) {
    if (t->recorder.on) {
        /* Frames without a room: intervals as long as they may be. */
        struct kl_frame f = *next;
        f.keyframe = f.number - f.number % KL_SPACING_MAX;
        f.spacing = KL_SPACING_MAX;
        f.flags = f.number % KL_SPACING_MAX ? 0 : KL_FRAME_KEY;
        kl_recorder_frame(&t->recorder, &f);
    }
    if (t->corrupt.set && h->frame == t->corrupt.frame) {
        struct retro_memory_map map = kl_memory_inner(&h->emu.memory);
        char line[256];
        if (kl_corrupt_do(&t->corrupt, &h->emu.core, &map, line, sizeof(line)) == 0) {
            struct kl_klr_event e = {.kind = KL_KLR_FLIP,
                                     .frame = t->corrupt.frame,
                                     .offset = t->corrupt.offset,
                                     .yes = t->corrupt.in_state};
            kl_recorder_event(&t->recorder, &e);
        }
        fprintf(stderr, "keylock run: %s\n", line);
    }
}

void kl_run_trail_hash(struct kl_run_trail *t, const struct kl_headless *h,
                       const struct kl_statehash *taken) {
    struct klw_hash line = {h->frame - 1, taken->has_ram, taken->has_state, taken->ram, taken->state};
    char path[4352], err[KLT_ERR];
    kl_recorder_hash(&t->recorder, &line);
    if (!t->states || !h->buffer.size) return;
    struct kl_origin o = t->origin;
    o.has_frame = true;
    o.frame = h->frame - 1;
    o.chance = kl_world_chance(h->emu.world);
    kl_statefile_name(path, sizeof(path), t->states, o.frame);
    if (kl_statefile_write(path, &o, h->buffer.data, h->buffer.size, err, sizeof(err)) != 0)
        failed(t, "%s", err);
}

int kl_run_trail_end(struct kl_run_trail *t) {
    if (kl_recorder_close(&t->recorder) != 0) failed(t, "cannot write all of %s", t->record);
    return t->error[0] ? -1 : 0;
}

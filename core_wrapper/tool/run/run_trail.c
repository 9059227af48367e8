#include "core_wrapper/tool/run/run_trail.h"

#include "net/platform/environment.h"
#include "net/platform/dir.h"
#include "core_wrapper/start/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void export_one(const char *name, const char *value) {
    if (value) kl_environment_set(name, value);
}

void kl_run_trail_export(const struct kl_run_options *o) {
    export_one("KEYLOCK_RECORD", o->record);
    export_one("KEYLOCK_STATES", o->states);
    export_one("KEYLOCK_CORRUPT", o->corrupt);
}

__attribute__((format(__printf__, 2, 3))) static int failed(struct kl_run_trail *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!t->error[0]) vsnprintf(t->error, sizeof(t->error), format, args);
    va_end(args);
    return -1;
}

/* --- the beginning --- */

static void find_origin(struct kl_run_trail *t, const struct kl_headless *h) {
    snprintf(t->origin.core, sizeof(t->origin.core), "%.80s %.40s", h->name, h->version);
    snprintf(t->origin.content, sizeof(t->origin.content), "none");
    if (h->game.path) kl_identity_hash_file(h->game.path, t->origin.content, sizeof(t->origin.content));
    t->origin.has_world = h->setup.virtual_clock;
    t->origin.epoch_s = h->setup.epoch_s;
}

static void record_head(struct kl_run_trail *t, const struct kl_headless *h) {
    char text[KL_RECORDING_TEXT];
    kl_recorder_line(&t->recorder, "core", t->origin.core);
    kl_recorder_line(&t->recorder, "content", t->origin.content);
    snprintf(text, sizeof(text), "%" PRIu64, h->setup.epoch_s);
    if (h->setup.virtual_clock) kl_recorder_line(&t->recorder, "epoch", text);
    for (unsigned i = 0; i < h->options.count; i++) {
        snprintf(text, sizeof(text), "%s=%s", h->options.at[i].key, h->options.at[i].value);
        kl_recorder_line(&t->recorder, "option", text);
    }
    for (unsigned p = 0; p < KL_MAX_SEATS; p++) {
        snprintf(text, sizeof(text), "%u %" PRIu32, p, h->setup.devices.id[p]);
        if (h->setup.devices.set >> p & 1) kl_recorder_line(&t->recorder, "device", text);
    }
    if (h->setup.save_dir)
        kl_recorder_memory(&t->recorder, RETRO_MEMORY_SAVE_RAM,
                           h->core.get_memory_data(RETRO_MEMORY_SAVE_RAM),
                           h->core.get_memory_size(RETRO_MEMORY_SAVE_RAM));
}

int kl_run_trail_begin(struct kl_run_trail *t, const struct kl_run_options *o, struct kl_headless *h) {
    char why[KLT_ERR];
    find_origin(t, h);
    t->states = o->states;
    t->record = o->record;
    if (o->corrupt && kl_corrupt_parse(&t->corrupt, o->corrupt, why, sizeof(why)) != 0)
        return failed(t, "%s", why);
    if (t->states && kl_dir_make(t->states, false, why, sizeof(why)) != 0) return failed(t, "%s", why);
    if (!t->record) return 0;
    if (kl_recorder_open(&t->recorder, t->record) != 0)
        return failed(t, "cannot write %s: %s", t->record, strerror(errno));
    record_head(t, h);
    return 0;
}

/* --- frames --- */

static void plant(struct kl_run_trail *t, const struct kl_headless *h) {
    char line[256], text[64];
    if (kl_corrupt_do(&t->corrupt, &h->core, &h->map, line, sizeof(line)) == 0) {
        snprintf(text, sizeof(text), "%" PRIu32 " %" PRIu64, t->corrupt.frame, t->corrupt.offset);
        kl_recorder_line(&t->recorder, "flip", text);
    }
    fprintf(stderr, "keylock run: %s\n", line);
}

static void hash_ram(struct kl_run_trail *t, struct kl_headless *h) {
    struct kl_statehash taken;
    kl_headless_hash_ram(h, &taken);
    struct klw_hash line = {.frame = h->frame - 1, .has_ram = taken.has_ram, .ram = taken.ram};
    kl_recorder_hash(&t->recorder, &line);
}

void kl_run_trail_frame(struct kl_run_trail *t, struct kl_headless *h) {
    struct kl_input in[KL_MAX_SEATS] = {0};
    if (t->recorder.file) {
        if (h->frame && t->recorder.hashed < h->frame) hash_ram(t, h);
        for (unsigned p = 0; p < KL_MAX_SEATS && p < h->input_ports; p++)
            in[p].joypad = kl_input_source_joypad(h->input, h->frame, p);
        kl_recorder_frame(&t->recorder, h->frame, in);
    }
    if (t->corrupt.set && h->frame == t->corrupt.frame) plant(t, h);
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
    o.chance = kl_world_chance(h->world);
    kl_statefile_name(path, sizeof(path), t->states, o.frame);
    if (kl_statefile_write(path, &o, h->buffer.data, h->buffer.size, err, sizeof(err)) != 0)
        failed(t, "%s", err);
}

int kl_run_trail_end(struct kl_run_trail *t) {
    if (kl_recorder_close(&t->recorder) != 0) failed(t, "cannot write all of %s", t->record);
    return t->error[0] ? -1 : 0;
}

/* The files of a session for bisect and blame: the recording, the states at a desync; also a planted
 * desync. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/environment.h"
#include "core_wrapper/words/command_words.h"
#include "core_wrapper/record/corrupt.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/record/keep.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/start/start.h"

/* --- the beginning --- */

static void find_origin(struct kl_record *r) {
    static struct kl_facts facts;
    struct retro_system_info info = {0};
    memset(&r->origin, 0, sizeof r->origin);
    facts.count = 0;
    r->emu->core.get_system_info(&info);
    kl_identity_core(&facts, &info);
    kl_identity_content(&facts, &r->emu->content);
    for (unsigned i = 0; i < facts.count; i++) {
        if (!strcmp(facts.fact[i].key, "core"))
            snprintf(r->origin.core, sizeof r->origin.core, "%s", facts.fact[i].value);
        if (!strcmp(facts.fact[i].key, "content"))
            snprintf(r->origin.content, sizeof r->origin.content, "%s", facts.fact[i].value);
    }
    r->origin.has_world = true;
    r->origin.epoch_s = r->status->prepare.epoch_s;
}

static void record_start(struct kl_record *r, const struct kl_start *s) {
    char text[64];
    for (unsigned i = 0; i < s->device_count; i++) {
        snprintf(text, sizeof text, "%u %" PRIu32, s->device[i].port, s->device[i].device);
        kl_recorder_line(&r->recorder, "device", text);
    }
    for (unsigned i = 0; i < s->memory_count; i++)
        kl_recorder_memory(&r->recorder, s->memory[i].id, s->memory[i].bytes, s->memory[i].len);
    snprintf(text, sizeof text, "0 the host's %u save files were brought", s->file_count);
    if (s->file_count) kl_recorder_line(&r->recorder, "alien", text);
}

static void record_head(struct kl_record *r, const uint8_t *data, size_t len) {
    char text[KL_RECORDING_TEXT];
    struct kl_start *start = calloc(1, sizeof *start);
    kl_recorder_line(&r->recorder, "core", r->origin.core);
    kl_recorder_line(&r->recorder, "content", r->origin.content);
    snprintf(text, sizeof text, "%" PRIu64, r->origin.epoch_s);
    kl_recorder_line(&r->recorder, "epoch", text);
    for (unsigned i = 0; i < r->emu->options.count; i++) {
        snprintf(text, sizeof text, "%s=%s", r->emu->options.at[i].key, r->emu->options.at[i].value);
        kl_recorder_line(&r->recorder, "option", text);
    }
    if (start && data && kl_start_decode(start, data, len) == 0) record_start(r, start);
    free(start);
}

void kl_record_run_begin(struct kl_record *r, const uint8_t *start, size_t len) {
    const char *path = kl_environment_get("KEYLOCK_RECORD"), *planted = kl_environment_get("KEYLOCK_CORRUPT");
    char why[256];
    kl_record_run_end(r);
    find_origin(r);
    snprintf(r->keep.dir, sizeof r->keep.dir, "%s", r->config->states);
    if (path && *path && kl_recorder_open(&r->recorder, path) != 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "KEYLOCK_RECORD: cannot write %s", path);
    if (r->recorder.file) record_head(r, start, len);
    r->corrupt.set = false;
    if (planted && *planted && !r->planted_once &&
        kl_corrupt_parse(&r->corrupt, planted, why, sizeof why) != 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "KEYLOCK_CORRUPT: %s", why);
}

void kl_record_run_end(struct kl_record *r) {
    if (kl_recorder_close(&r->recorder) != 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "cannot write the recording: is the disk full?");
    kl_keep_free(&r->keep);
}

/* --- frames --- */

static struct retro_memory_map memory_map(struct kl_record *r) {
    return kl_memory_inner(&r->emu->memory);
}

static void plant(struct kl_record *r) {
    struct retro_memory_map map = memory_map(r);
    char line[256], text[64];
    r->corrupt.set = false;
    r->planted_once = true;
    if (kl_corrupt_do(&r->corrupt, &r->emu->core, map.num_descriptors ? &map : NULL, line, sizeof line) ==
        0) {
        snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64, r->corrupt.frame, r->corrupt.offset);
        kl_recorder_line(&r->recorder, "flip", text);
    }
    kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "%s", line);
}

/* RAM can be hashed after every frame, for reading it does nothing to the core. */
static void hash_ram(struct kl_record *r, uint32_t label) {
    struct klw_hash h = {.frame = label};
    struct retro_memory_map map = memory_map(r);
    struct kl_ram ram;
    kl_ram_find(&ram, &r->emu->core, map.num_descriptors ? &map : NULL);
    h.has_ram = kl_ram_hash(&ram, &h.ram);
    kl_recorder_hash(&r->recorder, &h);
}

void kl_record_frame(struct kl_record *r, const struct kl_frame *f) {
    if (r->recorder.file && f->number > r->recorder.hashed) hash_ram(r, f->number - 1);
    kl_recorder_frame(&r->recorder, f->number, f->in);
    if (r->corrupt.set && f->number == r->corrupt.frame) plant(r);
}

void kl_record_run_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes) {
    kl_recorder_hash(&r->recorder, h);
    if (h->has_state) kl_keep_add(&r->keep, h->frame, kl_world_chance(r->emu->world), state, bytes);
}

/* --- other events --- */

void kl_record_command(struct kl_record *r, const struct kl_command *c, uint32_t frame,
                       enum kl_record_snapshot snapshot) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], text[KL_RECORDING_TEXT] = "";
    struct kl_reader in;
    uint16_t disk;
    switch (c->kind) {
    case KL_COMMAND_RESET: snprintf(text, sizeof text, "%" PRIu32 " reset", frame); break;
    case KL_COMMAND_SAVE: snprintf(text, sizeof text, "%" PRIu32 " save", frame); break;
    case KL_COMMAND_SNAPSHOT:
        if (snapshot != KL_RECORD_NONE)
            snprintf(text, sizeof text, "%" PRIu32 " snapshot%s", frame,
                     snapshot == KL_RECORD_LOADED ? " load" : "");
        break;
    case KL_COMMAND_LOAD:
        kl_reader_init(&in, c->data, c->len);
        snprintf(text, sizeof text, "%" PRIu32 " load %" PRIu32, frame, kl_read_u32(&in));
        break;
    case KL_COMMAND_OPTION:
        if (kl_words_option(c, key, value))
            snprintf(text, sizeof text, "%" PRIu32 " option %.240s=%.240s", frame, key, value);
        break;
    case KL_COMMAND_DISK:
        if (kl_words_get_disk(c, &disk)) snprintf(text, sizeof text, "%" PRIu32 " disk %u", frame, disk + 1u);
        break;
    default: break; /* nothing to the core */
    }
    if (*text) kl_recorder_line(&r->recorder, "do", text);
}

void kl_record_alien(struct kl_record *r, uint32_t frame, const char *why) {
    char text[KL_RECORDING_TEXT];
    snprintf(text, sizeof text, "%" PRIu32 " %s", frame, why);
    kl_recorder_line(&r->recorder, "alien", text);
}

void kl_record_desync(struct kl_record *r) {
    char why[256];
    int written = kl_keep_write(&r->keep, &r->origin, why, sizeof why);
    if (written < 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "cannot write the states at the desync: %s", why);
    if (written > 0) kl_frontend_log(r->front, "keylock: %d states written to %s", written, r->keep.dir);
}

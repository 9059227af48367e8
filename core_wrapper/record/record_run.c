/* The files of a session for bisect and blame: the recording, the states at a desync; also a planted
 * desync. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/words/command_words.h"
#include "core_wrapper/record/corrupt.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/record/keep.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/start/start.h"
#include "core_wrapper/context/wrapper.h"

static struct kl_recorder recorder;
static struct kl_keep keep;
static struct kl_corrupt corrupt;
static bool planted_once;       /* also if this machine replays the history from frame 0 later */
static struct kl_origin origin; /* of this session's states */

/* ---- the beginning ---- */

static void find_origin(void) {
    static struct kl_facts facts;
    struct retro_system_info info = {0};
    memset(&origin, 0, sizeof origin);
    facts.count = 0;
    kl_w.emu.core.get_system_info(&info);
    kl_identity_core(&facts, &info);
    kl_identity_content(&facts, &kl_w.emu.content);
    for (unsigned i = 0; i < facts.count; i++) {
        if (!strcmp(facts.fact[i].key, "core"))
            snprintf(origin.core, sizeof origin.core, "%s", facts.fact[i].value);
        if (!strcmp(facts.fact[i].key, "content"))
            snprintf(origin.content, sizeof origin.content, "%s", facts.fact[i].value);
    }
    origin.has_world = true;
    origin.epoch_s = kl_w.status.prepare.epoch_s;
}

static void record_start(const struct kl_start *s) {
    char text[64];
    for (unsigned i = 0; i < s->device_count; i++) {
        snprintf(text, sizeof text, "%u %" PRIu32, s->device[i].port, s->device[i].device);
        kl_recorder_line(&recorder, "device", text);
    }
    for (unsigned i = 0; i < s->memory_count; i++)
        kl_recorder_memory(&recorder, s->memory[i].id, s->memory[i].bytes, s->memory[i].len);
    snprintf(text, sizeof text, "0 the host's %u save files were brought", s->file_count);
    if (s->file_count) kl_recorder_line(&recorder, "alien", text);
}

static void record_head(void) {
    char text[KL_RECORDING_TEXT];
    size_t len;
    const uint8_t *data = kl_link_start_data(kl_w.link, &len);
    struct kl_start *start = calloc(1, sizeof *start);
    kl_recorder_line(&recorder, "core", origin.core);
    kl_recorder_line(&recorder, "content", origin.content);
    snprintf(text, sizeof text, "%" PRIu64, origin.epoch_s);
    kl_recorder_line(&recorder, "epoch", text);
    for (unsigned i = 0; i < kl_w.emu.options.count; i++) {
        snprintf(text, sizeof text, "%s=%s", kl_w.emu.options.at[i].key, kl_w.emu.options.at[i].value);
        kl_recorder_line(&recorder, "option", text);
    }
    if (start && data && kl_start_decode(start, data, len) == 0) record_start(start);
    free(start);
}

void kl_record_run_begin(void) {
    const char *path = getenv("KEYLOCK_RECORD"), *planted = getenv("KEYLOCK_CORRUPT");
    char why[256];
    kl_record_run_end();
    find_origin();
    snprintf(keep.dir, sizeof keep.dir, "%s", kl_w.config.states);
    if (path && *path && kl_recorder_open(&recorder, path) != 0)
        kl_wrapper_say(KL_SCREEN_WARNING, 4000, "KEYLOCK_RECORD: cannot write %s", path);
    if (recorder.file) record_head();
    corrupt.set = false;
    if (planted && *planted && !planted_once && kl_corrupt_parse(&corrupt, planted, why, sizeof why) != 0)
        kl_wrapper_say(KL_SCREEN_WARNING, 4000, "KEYLOCK_CORRUPT: %s", why);
}

void kl_record_run_end(void) {
    if (kl_recorder_close(&recorder) != 0)
        kl_wrapper_say(KL_SCREEN_WARNING, 4000, "cannot write the recording: is the disk full?");
    kl_keep_free(&keep);
}

/* ---- frames ---- */

static struct retro_memory_map memory_map(void) {
    return kl_memory_inner(&kl_w.emu.memory);
}

static void plant(void) {
    struct retro_memory_map map = memory_map();
    char line[256], text[64];
    corrupt.set = false;
    planted_once = true;
    if (kl_corrupt_do(&corrupt, &kl_w.emu.core, map.num_descriptors ? &map : NULL, line, sizeof line) == 0) {
        snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64, corrupt.frame, corrupt.offset);
        kl_recorder_line(&recorder, "flip", text);
    }
    kl_wrapper_say(KL_SCREEN_WARNING, 4000, "%s", line);
}

/* RAM can be hashed after every frame, for reading it does nothing to the core. */
static void hash_ram(uint32_t label) {
    struct klw_hash h = {.frame = label};
    struct retro_memory_map map = memory_map();
    struct kl_ram ram;
    kl_ram_find(&ram, &kl_w.emu.core, map.num_descriptors ? &map : NULL);
    h.has_ram = kl_ram_hash(&ram, &h.ram);
    kl_recorder_hash(&recorder, &h);
}

void kl_record_frame(const struct kl_frame *f) {
    if (recorder.file && f->number > recorder.hashed) hash_ram(f->number - 1);
    kl_recorder_frame(&recorder, f->number, f->in);
    if (corrupt.set && f->number == corrupt.frame) plant();
}

void kl_record_run_hash(const struct klw_hash *h) {
    kl_recorder_hash(&recorder, h);
    if (h->has_state)
        kl_keep_add(&keep, h->frame, kl_world_chance(kl_w.emu.world), kl_w.play.buffer.data,
                    kl_w.play.buffer.size);
}

/* ---- other events ---- */

void kl_record_command(const struct kl_command *c, uint32_t frame) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1], text[KL_RECORDING_TEXT] = "";
    struct kl_reader in;
    uint16_t disk;
    switch (c->kind) {
    case KL_COMMAND_RESET: snprintf(text, sizeof text, "%" PRIu32 " reset", frame); break;
    case KL_COMMAND_SAVE: snprintf(text, sizeof text, "%" PRIu32 " save", frame); break;
    case KL_COMMAND_SNAPSHOT:
        if (!kl_w.no_snapshots)
            snprintf(text, sizeof text, "%" PRIu32 " snapshot%s", frame, kl_w.load_own ? " load" : "");
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
    if (*text) kl_recorder_line(&recorder, "do", text);
}

void kl_record_alien(uint32_t frame, const char *why) {
    char text[KL_RECORDING_TEXT];
    snprintf(text, sizeof text, "%" PRIu32 " %s", frame, why);
    kl_recorder_line(&recorder, "alien", text);
}

void kl_record_desync(void) {
    char why[256];
    int written = kl_keep_write(&keep, &origin, why, sizeof why);
    if (written < 0)
        kl_wrapper_say(KL_SCREEN_WARNING, 4000, "cannot write the states at the desync: %s", why);
    if (written > 0)
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "keylock: %d states written to %s", written,
                      keep.dir);
}

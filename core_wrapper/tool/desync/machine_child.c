/* The child's side of a machine: one core, driven over a socket. */
#include "core_wrapper/tool/desync/machine.h"
#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/env/reload.h"
#include "core_wrapper/record/desync.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/record/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/dir.h"
#include "net/platform/library.h"

struct child {
    struct kl_machine_setup setup;
    struct kl_headless h;
    struct kl_input_source *input;
    struct kl_recording rec;
    unsigned deeds;                              /* of the recording, done */
    const char *option[2 * KLT_MACHINE_OPTIONS]; /* the recording's, then the command line's */
    unsigned options, recorded_options;
    struct kl_corrupt corrupt;
    char saves[256]; /* a folder; "": none */
    struct kl_asked asked;
    struct kl_measure measure; /* with setup.measures */
    struct kl_chain chain;     /* of pictures, if the recording has some */
    bool serialized;           /* h.buffer has the state as it stands */
    unsigned marks;            /* of the recording, passed */
    uint8_t *saved;            /* the room's slot */
    size_t saved_len;
    uint32_t saved_frame;
};

/* --- answering --- */

/* A core that did not load has no world. */
static struct kl_machine_reply reply(const struct child *c, int32_t status) {
    return (struct kl_machine_reply){status, c->h.frame,
                                     c->h.emu.world ? kl_world_chance(c->h.emu.world) : 0};
}

static bool answer(struct child *c, int32_t status, const void *bytes, uint64_t len) {
    struct kl_machine_reply r = reply(c, status);
    struct kl_process_part part[] = {{&r, sizeof(r)}, {bytes, len}};
    return kl_process_tell(part, 2);
}

static bool answer_text(struct child *c, int32_t status, const char *text) {
    return answer(c, status, text, strlen(text));
}

/* --- running --- */

static void reset_or_option(struct child *c, const char *words) {
    char err[KLT_ERR], key[KL_RECORDING_TEXT];
    if (strcmp(words, "reset") == 0) c->h.emu.core.reset();
    const char *pair = strncmp(words, "option ", 7) == 0 ? words + 7 : NULL,
               *equals = pair ? strchr(pair, '=') : NULL;
    if (!equals) return;
    snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
    kl_options_set(&c->h.emu.options, key, equals + 1, true, err, sizeof(err));
}

/* The room's slot: a load names the frame of the save that it means. */
static void save_or_load(struct child *c, const struct kl_recorded_deed *d) {
    char wanted[32];
    snprintf(wanted, sizeof(wanted), "load %" PRIu32, c->saved_frame);
    if (strcmp(d->text, wanted) == 0 && c->saved_len) c->h.emu.core.unserialize(c->saved, c->saved_len);
    if (strcmp(d->text, "save") != 0) return;
    struct kl_statehash ignored;
    kl_headless_hash(&c->h, &ignored);
    uint8_t *copy = realloc(c->saved, c->h.buffer.size ? c->h.buffer.size : 1);
    if (!copy) return;
    memcpy(copy, c->h.buffer.data, c->h.buffer.size);
    c->saved = copy;
    c->saved_len = c->h.buffer.size;
    c->saved_frame = d->frame;
}

/* Serializing leaves its trace in some cores. */
static void snapshot(struct child *c, const char *words) {
    struct kl_statehash ignored;
    bool loads = strcmp(words, "snapshot load") == 0;
    if (!loads && strcmp(words, "snapshot") != 0) return;
    kl_headless_hash(&c->h, &ignored);
    if (loads && c->h.buffer.size) c->h.emu.core.unserialize(c->h.buffer.data, c->h.buffer.size);
}

static void flip(struct child *c, struct kl_corrupt *what) {
    struct retro_memory_map map = kl_memory_inner(&c->h.emu.memory);
    char line[KLT_ERR];
    kl_corrupt_do(what, &c->h.emu.core, &map, line, sizeof(line));
}

static void do_deed(struct child *c, const struct kl_recorded_deed *d) {
    if (d->kind == KL_DEED_COMMAND) {
        reset_or_option(c, d->text);
        save_or_load(c, d);
        snapshot(c, d->text);
    }
    if (d->kind == KL_DEED_FLIP && !c->setup.verifies) {
        struct kl_corrupt what = {.set = true,
                                  .has_offset = true,
                                  .in_state = strstr(d->text, " state"),
                                  .frame = d->frame,
                                  .offset = strtoull(d->text, NULL, 10)};
        flip(c, &what);
    }
}

static void run_frame(struct child *c) {
    uint32_t f = c->h.frame;
    struct kl_frame frame = {.number = f};
    if (c->setup.recording) {
        for (; c->deeds < c->rec.deeds && c->rec.deed[c->deeds].frame <= f; c->deeds++)
            do_deed(c, &c->rec.deed[c->deeds]);
        for (; c->marks < c->rec.marks && c->rec.mark[c->marks] <= f; c->marks++)
            kl_chain_label(&c->chain);
        memcpy(frame.in, kl_recording_at(&c->rec, f), sizeof(frame.in));
    }
    if (c->corrupt.set && f == c->corrupt.frame) flip(c, &c->corrupt);
    if (c->setup.recording)
        kl_headless_play(&c->h, &frame);
    else
        kl_headless_run(&c->h);
    c->serialized = false;
}

/* As the recording's writer says them. */
static void verify_after(struct child *c, struct kl_hashline *out) {
    static const struct kl_mask none;
    bool masked = !(c->rec.head.flags & KL_KLR_BY_CLIENT) && out->frame >= c->rec.mask_from, ignored;
    if (out->has_state)
        out->state =
            kl_mask_hash(masked ? &c->rec.mask : &none, c->h.buffer.data, c->h.buffer.size, &ignored);
    out->has_picture = c->h.chain && kl_chain_sees(&c->chain);
    out->picture = c->chain.picture;
}

static void hash_after(struct child *c, uint8_t what, struct kl_hashline *out) {
    struct kl_statehash h = {0};
    if (what == KLT_HASH_FULL) kl_headless_hash(&c->h, &h);
    if (what == KLT_HASH_RAM) kl_headless_hash_ram(&c->h, &h);
    *out = kl_hashline_of(c->h.frame - 1, &h);
    c->serialized = what == KLT_HASH_FULL && h.has_state;
    if (what == KLT_HASH_FULL && c->setup.verifies) verify_after(c, out);
}

static bool do_run(struct child *c, const struct kl_machine_request *q, const uint8_t *what, size_t len) {
    struct kl_hashline *lines = calloc(q->frame ? q->frame : 1, sizeof(*lines));
    bool good = lines != NULL;
    for (uint32_t i = 0; good && i < q->frame && i < len; i++) {
        run_frame(c);
        hash_after(c, what[i], &lines[i]);
        good = !c->h.shutdown;
    }
    bool told = good ? answer(c, 0, lines, q->frame * sizeof(*lines))
                     : answer_text(c, -1, lines ? "the core asked to be shut down" : "out of memory");
    free(lines);
    return told;
}

/* --- states --- */

/* A state holds no options: those that the room has set before this frame. Nothing else of then is done. */
static void pass_deeds(struct child *c, uint32_t frame) {
    for (; c->deeds < c->rec.deeds && c->rec.deed[c->deeds].frame < frame; c->deeds++) {
        const struct kl_recorded_deed *d = &c->rec.deed[c->deeds];
        if (d->kind == KL_DEED_COMMAND && strncmp(d->text, "option ", 7) == 0) reset_or_option(c, d->text);
    }
}

static bool do_load(struct child *c, const struct kl_machine_request *q, const uint8_t *bytes, size_t len) {
    struct kl_statehash after;
    char text[KLT_ERR];
    size_t own = c->h.emu.core.serialize_size();
    pass_deeds(c, q->frame);
    c->serialized = false;
    if (!c->h.emu.core.unserialize(bytes, len)) {
        if (own == len)
            snprintf(text, sizeof(text), "%s does not take it, though its size is right (%zu bytes)",
                     c->h.name, own);
        else
            snprintf(text, sizeof(text),
                     "%s does not take it: it has %zu bytes, one that it makes now has %zu", c->h.name, len,
                     own);
        return answer_text(c, 1, text);
    }
    if (q->has_world) kl_world_start(c->h.emu.world, q->epoch_s, 0);
    if (q->has_world) kl_world_rate(c->h.emu.world, (uint32_t)(c->h.emu.av.timing.fps * 1e6 + 0.5));
    kl_headless_rewind(&c->h, q->frame, q->has_world ? q->chance : kl_world_chance(c->h.emu.world));
    /* The keys that are down before this frame. */
    memset(&c->h.emu.latch.keyboard, 0, sizeof(c->h.emu.latch.keyboard));
    for (uint32_t f = 0; c->setup.recording && f < q->frame; f++)
        kl_keyboard_play(&c->h.emu.latch.keyboard, kl_recording_at(&c->rec, f), NULL, NULL);
    kl_chain_loaded(&c->chain);
    kl_headless_hash(&c->h, &after);
    if (c->h.buffer.size == len) return answer(c, 0, NULL, 0);
    snprintf(text, sizeof(text),
             "%s does not take it as its own: it has %zu bytes, the state after loading it has %zu",
             c->h.name, len, c->h.buffer.size);
    return answer_text(c, 1, text);
}

static bool do_look(struct child *c) {
    struct kl_region at[KLT_REGIONS + 1];
    struct kl_statehash ignored;
    struct retro_memory_map map = kl_memory_inner(&c->h.emu.memory);
    uint32_t count = kl_regions_find(at, &c->h.emu.core, &map);
    kl_headless_hash(&c->h, &ignored);
    at[count] = (struct kl_region){.name = KLT_DUMP_STATE, .len = c->h.buffer.size, .ptr = c->h.buffer.data};
    count++;
    struct kl_machine_reply r = reply(c, 0);
    struct kl_process_part part[3 + KLT_REGIONS + 1] = {
        {&r, sizeof(r)}, {&count, sizeof(count)}, {at, count * sizeof(at[0])}};
    for (uint32_t i = 0; i < count; i++)
        part[3 + i] = (struct kl_process_part){at[i].ptr, at[i].len};
    return kl_process_tell(part, 3 + count);
}

/* Serializing leaves its trace in some cores: not twice after one frame. */
static bool do_save(struct child *c) {
    struct kl_statehash h = {.has_state = c->serialized};
    if (!c->serialized) kl_headless_hash(&c->h, &h);
    if (!h.has_state) return answer_text(c, 1, "the core gives no state");
    return answer(c, 0, c->h.buffer.data, c->h.buffer.size);
}

static bool do_options(struct child *c) {
    struct kl_buffer text = {0};
    for (unsigned i = 0; i < c->h.emu.options.count; i++) {
        const struct kl_option *o = &c->h.emu.options.at[i];
        kl_buffer_add(&text, "%s\t%s", o->key, o->value);
        for (unsigned k = 0; k < o->choice_count; k++)
            kl_buffer_add(&text, "\t%s", o->choices[k]);
        kl_buffer_add(&text, "\n");
    }
    bool good = !text.failed && answer(c, 0, text.at, text.len);
    kl_buffer_free(&text);
    return good;
}

static bool do_check(struct child *c, const struct kl_machine_request *q) {
    struct kl_measure_check check;
    if (!kl_measure_run(&c->measure, q->frame, &check)) return answer_text(c, -1, c->measure.fault);
    struct kl_machine_reply r = reply(c, 0);
    struct kl_process_part part[] = {
        {&r, sizeof(r)}, {&check, sizeof(check)}, {c->h.buffer.data, check.state_bytes}};
    return kl_process_tell(part, q->with_state ? 3 : 2);
}

static bool do_figures(struct child *c) {
    static struct kl_measure_figures figures; /* large */
    kl_measure_figures(&c->measure, &figures);
    return answer(c, 0, &figures, sizeof(figures));
}

static bool serve(struct child *c) {
    struct kl_machine_request q;
    void *all;
    size_t len;
    if (!kl_process_hear(KLT_MACHINE_MAX, &all, &len)) return false;
    bool good = len >= sizeof(q);
    if (good) memcpy(&q, all, sizeof(q));
    const uint8_t *bytes = (const uint8_t *)all + sizeof(q);
    len -= sizeof(q);
    switch (good ? q.op : 0) {
    case KLT_OP_RUN: good = do_run(c, &q, bytes, len); break;
    case KLT_OP_LOAD: good = do_load(c, &q, bytes, len); break;
    case KLT_OP_LOOK: good = do_look(c); break;
    case KLT_OP_SAVE: good = do_save(c); break;
    case KLT_OP_OPTIONS: good = do_options(c); break;
    case KLT_OP_ASKED: good = answer(c, 0, &c->asked, sizeof(c->asked)); break;
    case KLT_OP_CHECK: good = c->setup.measures && do_check(c, &q); break;
    case KLT_OP_FIGURES: good = c->setup.measures && do_figures(c); break;
    default: good = false;
    }
    free(all);
    return good;
}

/* --- starting --- */

/* Takes the recording's settings, unless the command line has others. */
static int take_recording(struct child *c, char *err, size_t err_len) {
    struct kl_machine_setup *s = &c->setup;
    int result = kl_recording_read(&c->rec, s->recording, err, err_len);
    if (result > 0) snprintf(err, err_len, "%s: expected a recording (keylock run --record)", s->recording);
    if (result != 0) return -1;
    if (c->rec.head.flags & KL_KLR_HAS_EPOCH && !s->has_epoch) {
        s->epoch_s = c->rec.head.epoch_s;
        s->has_epoch = true;
    }
    for (unsigned p = 0; p < KL_MAX_SEATS; p++) {
        if (!(c->rec.device_set >> p & 1) || s->devices.set >> p & 1) continue;
        s->devices.set |= (uint8_t)(1u << p);
        s->devices.id[p] = c->rec.device[p];
    }
    return 0;
}

static void list_options(struct child *c) {
    for (unsigned i = 0; i < c->rec.options && c->options < KLT_MACHINE_OPTIONS; i++)
        c->option[c->options++] = c->rec.option[i];
    c->recorded_options = c->options;
    for (unsigned i = 0; i < c->setup.option_count; i++)
        c->option[c->options++] = c->setup.option[i];
}

/* The host's save files, in a folder that goes with the machine's scratch. */
static int bring_files(struct child *c, char *err, size_t err_len) {
    if (!c->rec.files || c->setup.save_dir) return 0;
    if (kl_dir_make_temporary(c->saves, sizeof(c->saves), "keylock-saves", err, err_len) != 0) return -1;
    for (unsigned i = 0; i < c->rec.files; i++) {
        const struct kl_start_file *f = &c->rec.file[i];
        if (kl_gifts_may_write(f) && kl_savedir_write(c->saves, f->path, f->bytes, f->len, err, err_len) != 0)
            return -1;
    }
    c->setup.save_dir = c->saves;
    return 0;
}

static void fill_memory(struct child *c) {
    for (unsigned i = 0; i < c->rec.memories; i++) {
        const struct kl_start_memory *m = &c->rec.memory[i];
        uint8_t *data = c->h.emu.core.get_memory_data(m->id);
        size_t size = c->h.emu.core.get_memory_size(m->id);
        if (data) memcpy(data, m->bytes, m->len < size ? m->len : size);
    }
}

static int start(struct child *c, char *err, size_t err_len) {
    struct kl_machine_setup *s = &c->setup;
    if (s->recording && take_recording(c, err, err_len) != 0) return -1;
    if (bring_files(c, err, err_len) != 0) return -1;
    list_options(c);
    s->epoch_s = s->has_epoch ? s->epoch_s : KLT_EPOCH_DEFAULT;
    struct kl_headless_setup setup = {.core_path = s->core,
                                      .content_path = s->content,
                                      .system_dir = s->system_dir,
                                      .save_dir = s->save_dir,
                                      .keep_saves = true,
                                      .options = c->option,
                                      .option_count = c->options,
                                      .optional = c->recorded_options,
                                      .devices = s->devices,
                                      .virtual_clock = !s->host_clock,
                                      .epoch_s = s->epoch_s,
                                      .quiet = true};
    if (s->corrupt && kl_corrupt_parse(&c->corrupt, s->corrupt, err, err_len) != 0) return -1;
    if (kl_input_source_open(&c->input, s->input ? s->input : "none", err, err_len) != 0) return -1;
    if (s->measures) kl_measure_prepare(&c->measure, (enum kl_measure_mode)(s->measures - 1), &setup);
    if (s->moved) kl_library_move(s->core);
    if (kl_headless_open(&c->h, &setup, err, err_len) != 0) return -1;
    fill_memory(c);
    if (kl_emulator_begin_state(&c->h.emu, &c->rec.begun, err, err_len) != 0) return -1;
    kl_chain_begin(&c->chain);
    for (unsigned i = 0; s->verifies && i < c->rec.hashes; i++)
        if (c->rec.hash[i].has & KL_HASH_PICTURE) c->h.chain = &c->chain;
    c->h.asked = s->asks ? &c->asked : NULL;
    kl_headless_input(&c->h, c->input, s->ports ? (unsigned)s->ports : 2);
    return s->measures ? kl_measure_begin(&c->measure, &c->h, c->input, err, err_len) : 0;
}

static bool introduce(struct child *c) {
    static struct kl_machine_info info;
    info = (struct kl_machine_info){.epoch_s = c->setup.epoch_s};
    snprintf(info.name, sizeof(info.name), "%s", c->h.name);
    snprintf(info.version, sizeof(info.version), "%s", c->h.version);
    snprintf(info.content, sizeof(info.content), "none");
    const struct kl_content *content = &c->h.emu.content;
    if (!content->none && !c->setup.measures)
        kl_identity_hash_file(content->item[0].path, info.content, sizeof(info.content));
    if (c->setup.verifies) {
        /* Of content and files, as a room of this machine would have them. */
        kl_identity_content(&info.facts, content, NULL);
        kl_identity_files(&info.facts, c->h.emu.world, c->h.system_dir, content, NULL);
    }
    return answer(c, 0, &info, sizeof(info));
}

#define KL_ROWS_OF struct child

int cmd_machine(int argc, char **argv) {
    static const struct kl_row rows[] = {
        KL_ROW_SWITCH("verifies", setup.verifies, NULL),
        KL_ROW_SWITCH("asks", setup.asks, NULL),
        KL_ROW_SWITCH("moved", setup.moved, NULL),
        KL_ROW_NUMBER("measures", "N", setup.measures, 1, KL_MEASURE_MODES, NULL),
        {.name = NULL}};
    static const struct kl_table tables[] = {
        {.rows = kl_machine_rows, .fields = offsetof(struct child, setup)}, {.rows = rows}, {.rows = NULL}};
    static struct child child; /* large, and zero */
    struct child *c = &child;
    char err[KLT_ERR];
    char why[KL_ROW_TEXT];
    if (kl_tables_parse(tables, c, argc, argv, false, "one of ours", why) != KL_LINE_DONE || !c->setup.core)
        return tool_fail(KLT_USAGE, "machine", "only another command of keylock may start this");
    kl_process_ignore_stop();
    if (start(c, err, sizeof(err)) != 0) {
        answer_text(c, -1, err);
        return KLT_LOAD;
    }
    bool good = introduce(c);
    while (good)
        good = serve(c);
    kl_measure_end(&c->measure);
    kl_headless_close(&c->h, err, sizeof(err));
    kl_input_source_close(c->input);
    kl_recording_free(&c->rec);
    free(c->saved);
    return KLT_OK;
}

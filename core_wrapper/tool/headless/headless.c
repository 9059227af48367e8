#include "core_wrapper/tool/headless/headless.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core_wrapper/env/core_log.h"
#include "core_wrapper/env/reload.h"
#include "net/platform/library.h"
#include "net/platform/process.h"

static struct kl_headless *current; /* for the callbacks without a context */

struct kl_headless *kl_headless_current(void) {
    return current;
}

void kl_headless_turn(struct kl_headless *h) {
    current = h;
}

/* --- picture and sound --- */

/* The hash of the picture goes by lines: the bytes between them are the core's own. */
static void fold_picture(struct kl_headless *h, const uint8_t *data, unsigned width, unsigned height,
                         size_t pitch) {
    size_t line_bytes = (size_t)width * (h->emu.picture.format == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2);
    if (!data || data == RETRO_HW_FRAME_BUFFER_VALID) return;
    for (unsigned y = 0; y < height; y++)
        h->av_hash = XXH3_64bits_withSeed(data + y * pitch, line_bytes, h->av_hash);
}

static void on_video(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch) {
    struct kl_headless *h = ctx;
    if (h->want_av) fold_picture(h, data, width, height, pitch);
    if (h->chain && data)
        kl_chain_picture(h->chain, data == RETRO_HW_FRAME_BUFFER_VALID
                                       ? 0
                                       : kl_picture_hash(h->emu.picture.format, data, width, height, pitch));
}

static void on_sound(void *ctx, const int16_t *data, size_t frames) {
    struct kl_headless *h = ctx;
    if (h->wav) kl_wav_add(h->wav, data, frames);
    if (h->want_av) h->av_hash = XXH3_64bits_withSeed(data, frames * 4, h->av_hash);
}

/* --- the pads of the script --- */

/* In a room the pads answer for the sample that the wrapper takes, alone for the frame that runs. */
static uint32_t input_frame(const struct kl_headless *h) {
    return h->wrapper && h->setup.in_room ? h->wrapper->next_sample() : h->frame;
}

static int16_t script_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    const struct kl_headless *h = current;
    if (!h || port >= h->input_ports) return 0;
    device &= RETRO_DEVICE_MASK;
    if (device == RETRO_DEVICE_KEYBOARD) {
        uint16_t down = kl_input_source_keys(h->input, input_frame(h));
        for (unsigned i = 0; i < KLT_INPUT_KEYS; i++)
            if (kl_input_source_code(i) == id) return down >> i & 1;
        return 0;
    }
    if (device != RETRO_DEVICE_JOYPAD)
        return kl_input_source_other(h->input, input_frame(h), port, device, index, id);
    uint16_t mask = kl_input_source_joypad(h->input, input_frame(h), port);
    if (id == RETRO_DEVICE_ID_JOYPAD_MASK) return (int16_t)mask;
    return id < 16 && (mask >> id & 1);
}

/* The keys that changed since the last poll, as events: the wrapper hears them, or the core's latch. */
static void script_poll(void) {
    struct kl_headless *h = current;
    if (!h || !h->emu.told.key_event || !h->input_ports) return;
    uint16_t down = kl_input_source_keys(h->input, input_frame(h));
    unsigned changed = down ^ h->keys_down;
    h->keys_down = down;
    for (unsigned i = 0; i < KLT_INPUT_KEYS; i++) {
        if (!(changed >> i & 1)) continue;
        if (h->wrapper)
            h->emu.told.key_event(down >> i & 1, kl_input_source_code(i), 0, 0);
        else
            kl_latch_key(&h->emu.latch, down >> i & 1, kl_input_source_code(i), 0, 0);
    }
}

static void note_question(struct kl_asked *a, const struct kl_question *q) {
    for (unsigned i = 0; i < a->count; i++) {
        const struct kl_question *known = &a->at[i];
        if (known->port == q->port && known->device == q->device && known->index == q->index &&
            known->id == q->id)
            return;
    }
    a->more |= a->count == KLT_ASKED;
    if (!a->more) a->at[a->count++] = *q;
}

/* A bare core reads its frame, as in a room; the wrapper makes samples of the script. */
static int16_t on_input_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    if (!current) return 0;
    if (current->asked)
        note_question(current->asked, &(struct kl_question){(uint8_t)port, device & RETRO_DEVICE_MASK,
                                                            (uint8_t)index, (uint16_t)id});
    return current->wrapper ? script_state(port, device, index, id)
                            : kl_latch_state(&current->emu.latch, port, device, index, id);
}

/* --- the way up --- */

static klw_api_fn wrapper_symbol(const struct kl_core *c) {
    klw_api_fn get = NULL;
    void *symbol = kl_library_find(c->handle, KLW_API_SYMBOL);
    memcpy(&get, &symbol, sizeof(get));
    return get;
}

static int greet_wrapper(struct kl_headless *h, klw_api_fn get, char *err, size_t err_len) {
    h->wrapper = get();
    if (h->wrapper && h->wrapper->version == KLW_API_VERSION) {
        h->wrapper->set_frame_limit(h->setup.frame_limit);
        h->wrapper->set_hash_callback(h->setup.on_hash, h->setup.on_hash_user);
        return 0;
    }
    snprintf(err, err_len, "%s: expected wrapper interface %d, got %u", h->emu.core.path, KLW_API_VERSION,
             h->wrapper ? h->wrapper->version : 0);
    return -1;
}

/* A core whose world will be turned is opened late, so that its constructors see that world; the wrapper is
 * opened as it is, for it looks for things beside its own file. */
static int open_core(struct kl_headless *h, char *err, size_t err_len) {
    const char *path = h->setup.core_path;
    int result = h->setup.virtual_clock ? kl_core_open_late(&h->emu.core, path, err, err_len)
                                        : kl_core_open(&h->emu.core, path, err, err_len);
    if (result != 0) return -1;
    if (wrapper_symbol(&h->emu.core) && h->emu.core.late) {
        kl_core_close(&h->emu.core);
        if (kl_core_open(&h->emu.core, path, err, err_len) != 0) return -1;
    }
    klw_api_fn get = wrapper_symbol(&h->emu.core);
    return get ? greet_wrapper(h, get, err, err_len) : 0;
}

/* The wrapper turns the world of the core inside it, and is told so by the environment: its own imports keep
 * the host's clock. */
static int turn_world(struct kl_headless *h, char *err, size_t err_len) {
    char epoch[32];
    bool wrapped = h->wrapper && h->setup.virtual_clock;
    snprintf(epoch, sizeof(epoch), "%" PRIu64, h->setup.epoch_s);
    kl_environment_set("KEYLOCK_EPOCH", wrapped ? epoch : NULL);
    if (h->wrapper || !h->setup.virtual_clock) return 0;
    h->emu.own_heap = h->setup.own_heap;
    if (h->setup.session_files)
        kl_gifts_view(&h->emu.gifts, h->emu.world, h->system_dir, h->emu.save_dir, h->emu.content.stem,
                      h->emu.content.item[0].path, false);
    return kl_emulator_turn(&h->emu, h->setup.epoch_s, err, err_len);
}

static int set_options(struct kl_headless *h, bool pending, char *err, size_t err_len) {
    for (unsigned i = pending ? 0 : h->setup.optional; i < h->setup.option_count; i++) {
        char key[256];
        const char *equals = strchr(h->setup.options[i], '=');
        if (!equals || equals == h->setup.options[i] ||
            (size_t)(equals - h->setup.options[i]) >= sizeof(key)) {
            snprintf(err, err_len, "--option: expected KEY=VALUE, got \"%s\"", h->setup.options[i]);
            return -1;
        }
        snprintf(key, sizeof(key), "%.*s", (int)(equals - h->setup.options[i]), h->setup.options[i]);
        if (kl_options_set(&h->emu.options, key, equals + 1, pending, err, err_len) != 0) return -1;
    }
    return 0;
}

static int load_game(struct kl_headless *h, char *err, size_t err_len) {
    struct kl_emulator *e = &h->emu;
    if (kl_headless_read_content(h, err, err_len) != 0) return -1;
    e->load = KL_LOAD_FIRST;
    bool loaded = kl_emulator_load_content(e);
    e->load = KL_LOAD_NONE;
    if (loaded && (h->wrapper || !*kl_emulator_refusal(e))) return 0;
    const char *why = h->wrapper ? h->wrapper->error() : kl_core_log_error(e);
    if (h->wants_hw_render && !*why) why = "it asked for hardware rendering, which a headless run has not";
    snprintf(err, err_len, "the core %s did not load %s%s%s%s", h->name[0] ? h->name : e->core.path,
             h->setup.content_path ? h->setup.content_path : "without content", *why ? ": " : "", why,
             loaded ? "" : " (retro_load_game returned false)");
    return -1;
}

/* The game runs from here on. */
static int begin_play(struct kl_headless *h, char *err, size_t err_len) {
    struct kl_emulator *e = &h->emu;
    bool key_events = e->latch.key_events;
    e->core.get_system_av_info(&e->av);
    if (!(e->av.timing.fps >= 1 && e->av.timing.fps <= 1000)) {
        snprintf(err, err_len, "the core says %g frames a second: expected 1 to 1000", e->av.timing.fps);
        return -1;
    }
    e->told.av = e->av;
    e->options.updated = false;
    kl_world_rate(e->world, kl_emulator_fps_uhz(e->av.timing.fps));
    kl_latch_init(&e->latch, true);
    e->latch.key_events = key_events;
    e->phase = KL_PHASE_PLAYING;
    return 0;
}

static bool take_device(const struct kl_row *row, void *devices, const char *text, char why[KL_ROW_TEXT]) {
    struct kl_headless_devices *d = devices;
    char *end = NULL;
    unsigned long long port = strtoull(text, &end, 10), id = 0;
    bool good = *text >= '0' && *text <= '9' && *end == ':' && port < KL_MAX_SEATS;
    if (good) {
        const char *from = end + 1;
        id = strtoull(from, &end, 0);
        good = *from >= '0' && *from <= '9' && !*end && id <= UINT32_MAX;
    }
    (void)row, (void)why;
    if (!good) return false;
    d->set |= (uint8_t)(1u << port);
    d->id[port] = (uint32_t)id;
    return true;
}

#define KL_ROWS_OF struct kl_machine_setup
#define OF_BOTH    .by = KLT_OF_RUN | KLT_OF_PROBE

const struct kl_row kl_machine_rows[] = {
    KL_ROW_PATH("core", "NAME_OR_PATH", core,
                "the libretro core; a name is looked for in the usual core folders", OF_BOTH),
    KL_ROW_PATH("content", "FILE", content,
                "the content that the core plays; it is not unpacked (no .zip for a core that reads none)",
                OF_BOTH),
    KL_ROW_PATH("system", "DIR", system_dir, "system folder (BIOS images; default: an empty one)", OF_BOTH),
    KL_ROW_PATH(
        "save", "DIR", save_dir,
        "save folder; DIR/<content>.srm is loaded and stored (default: an empty one, dropped at the end)",
        .by = KLT_OF_RUN),
    {.name = "option",
     .value = "KEY=VALUE",
     .kind = KL_KIND_LIST,
     KL_ROW_FIELD(option),
     .count = offsetof(struct kl_machine_setup, option_count),
     .max = KLT_MACHINE_OPTIONS,
     .words = "=",
     .want = "KEY=VALUE",
     .help = "a core option; repeat for more",
     OF_BOTH},
    {.name = "device",
     .value = "PORT:ID",
     .take = take_device,
     KL_ROW_FIELD(devices),
     .want = "PORT:ID with a port from 0 to 7",
     .help = "the controller in a port, as the core numbers them (retro_set_controller_port_device); repeat "
             "for more. In a room the host's devices count for all",
     .by = KLT_OF_RUN},
    {.name = "clock",
     .value = "virtual|host",
     .kind = KL_KIND_SWITCH,
     KL_ROW_FIELD(host_clock),
     KL_ROW_SAID(has_clock),
     .words = "virtual host",
     .want = "virtual or host",
     .shown = "none",
     .help = "alone: the core's time and chance are virtual (default: equal in every run), or the host's",
     .by = KLT_OF_RUN},
    KL_ROW_NUMBER("epoch", "SECONDS", epoch_s, 0, 8000000000u,
                  "alone: the start of the virtual clock (default 946684800, 2000-01-01 UTC)",
                  KL_ROW_SAID(has_epoch), .by = KLT_OF_RUN),
    KL_ROW_STRING("input", "SOURCE", input, NULL),
    KL_ROW_NUMBER("seats", "K", ports, 1, KL_MAX_SEATS, NULL),
    KL_ROW_PATH("recording", "FILE", recording, NULL),
    KL_ROW_STRING("corrupt", "WHERE", corrupt, NULL),
    {.name = NULL},
};

static void set_devices(struct kl_headless *h) {
    const struct kl_headless_devices *d = &h->setup.devices;
    for (unsigned port = 0; port < KL_MAX_SEATS; port++) {
        uint32_t id = d->set >> port & 1 ? d->id[port] : RETRO_DEVICE_JOYPAD;
        if (!(d->set >> port & 1) && port >= 2) continue;
        h->emu.device[port] = id + 1;
        h->emu.core.set_controller_port_device(port, id);
    }
}

static void meet_core(struct kl_headless *h) {
    struct kl_core *c = &h->emu.core;
    c->set_environment(kl_emulator_environment(&h->emu));
    c->get_system_info(&h->info);
    c->init();
    c->initialised = true;
    c->get_system_info(&h->info); /* a wrapper may know only now */
    const char *name = h->info.library_name, *version = h->info.library_version;
    snprintf(h->name, sizeof(h->name), "%.*s", kl_core_text_len(name, 127), name ? name : "");
    snprintf(h->version, sizeof(h->version), "%.*s", kl_core_text_len(version, 127), version ? version : "");
    kl_emulator_give_callbacks(&h->emu);
    if (h->wrapper) c->set_input_poll(script_poll);
    c->set_input_state(on_input_state);
}

static int start(struct kl_headless *h, char *err, size_t err_len) {
    const struct kl_emulator_hooks hooks = {.ctx = h, .video = on_video, .sound = on_sound};
    if (kl_emulator_begin(&h->emu, &kl_headless_front, &hooks) != 0) {
        snprintf(err, err_len, "this process runs %d cores already, which is the most", KL_WORLDS);
        return -1;
    }
    if (kl_headless_make_dirs(h, err, err_len) != 0) return -1;
    if (open_core(h, err, err_len) != 0) return -1;
    if (kl_headless_name_content(h, err, err_len) != 0) return -1;
    if (turn_world(h, err, err_len) != 0) return -1;
    if (set_options(h, true, err, err_len) != 0) return -1;
    meet_core(h);
    if (load_game(h, err, err_len) != 0) return -1;
    if (set_options(h, false, err, err_len) != 0) return -1;
    if (begin_play(h, err, err_len) != 0) return -1;
    set_devices(h);
    return kl_headless_load_sram(h, err, err_len);
}

static void tear_down(struct kl_headless *h) {
    current = h;
    kl_emulator_close(&h->emu);
    kl_content_free(&h->emu.content);
    kl_statehash_buffer_free(&h->buffer);
    kl_headless_remove_dirs(h);
    current = NULL;
}

int kl_headless_open(struct kl_headless *h, const struct kl_headless_setup *setup, char *err,
                     size_t err_len) {
    memset(h, 0, sizeof(*h));
    h->setup = *setup;
    current = h;
    if (start(h, err, err_len) == 0) return 0;
    tear_down(h);
    return -1;
}

/* --- a run --- */

void kl_headless_input(struct kl_headless *h, struct kl_input_source *src, unsigned ports) {
    h->input = src;
    h->input_ports = ports;
}

void kl_headless_sample(struct kl_headless *h, struct kl_frame *out) {
    unsigned ports = h->input_ports < KL_MAX_SEATS ? h->input_ports : KL_MAX_SEATS;
    current = h;
    *out = (struct kl_frame){.number = h->frame};
    if (h->wrapper || !ports) return;
    script_poll();
    kl_latch_poll(&h->emu.latch, script_state, ports);
    kl_latch_sample(&h->emu.latch, out->in, ports);
    out->active = (uint8_t)((1u << ports) - 1);
}

void kl_headless_play(struct kl_headless *h, const struct kl_frame *f) {
    current = h;
    kl_world_frame(h->emu.world, h->frame);
    kl_emulator_run(&h->emu, f, h->unseen);
    if (h->chain) kl_chain_frame(h->chain);
    h->frame++;
}

void kl_headless_run(struct kl_headless *h) {
    struct kl_frame f;
    kl_headless_sample(h, &f);
    kl_headless_play(h, &f);
}

void kl_headless_rewind(struct kl_headless *h, uint32_t f, uint64_t chance) {
    h->frame = f;
    kl_world_frame(h->emu.world, f);
    kl_world_chance_set(h->emu.world, chance);
}

void kl_headless_hash(struct kl_headless *h, struct kl_statehash *out) {
    struct kl_ram ram;
    kl_emulator_find_ram(&h->emu, &ram);
    kl_statehash_take(out, &h->emu.core, &ram, &h->buffer);
}

void kl_headless_hash_ram(struct kl_headless *h, struct kl_statehash *out) {
    struct kl_ram ram;
    memset(out, 0, sizeof(*out));
    kl_emulator_find_ram(&h->emu, &ram);
    out->has_ram = kl_ram_hash(&ram, &out->ram);
}

int kl_headless_close(struct kl_headless *h, char *err, size_t err_len) {
    int result = kl_headless_store_sram(h, err, err_len);
    tear_down(h);
    return result;
}

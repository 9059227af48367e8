#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/frame/picture.h"
#include "core_wrapper/start/rand_use.h"
#include "core_wrapper/world/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "net/platform/process.h"
#include "net/platform/library.h"

static struct kl_headless *current; /* for the callbacks */

struct kl_headless *kl_headless_current(void) {
    return current;
}

void kl_headless_turn(struct kl_headless *h) {
    current = h;
}

/* --- callbacks --- */

static bool on_environment(unsigned cmd, void *data) {
    return current ? kl_headless_environment(current, cmd, data) : false;
}

/* The hash of the picture goes by lines: the bytes between them are the core's own. */
static void fold_picture(struct kl_headless *h, const uint8_t *data, unsigned width, unsigned height,
                         size_t pitch) {
    size_t line_bytes = (size_t)width * (h->wide_pixels ? 4 : 2);
    if (!data || data == RETRO_HW_FRAME_BUFFER_VALID) return;
    for (unsigned y = 0; y < height; y++)
        h->av_hash = XXH3_64bits_withSeed(data + y * pitch, line_bytes, h->av_hash);
}

static void on_video(const void *data, unsigned width, unsigned height, size_t pitch) {
    if (!current) return;
    current->video_frames++;
    if (current->want_av) fold_picture(current, data, width, height, pitch);
    if (current->chain && data)
        kl_chain_picture(current->chain,
                         data == RETRO_HW_FRAME_BUFFER_VALID
                             ? 0
                             : kl_picture_hash((enum retro_pixel_format)current->told.pixel_format, data,
                                               width, height, pitch));
}

static size_t on_audio_batch(const int16_t *data, size_t frames) {
    if (!current) return frames;
    current->audio_frames += frames;
    if (current->wav) kl_wav_add(current->wav, data, frames);
    if (current->want_av) current->av_hash = XXH3_64bits_withSeed(data, frames * 4, current->av_hash);
    return frames;
}

static void on_audio(int16_t left, int16_t right) {
    int16_t frame[2] = {left, right};
    on_audio_batch(frame, 1);
}

/* In a room the pads answer for the sample that the wrapper takes, alone for the frame that runs. */
static uint32_t input_frame(const struct kl_headless *h) {
    return h->wrapper && h->setup.in_room ? h->wrapper->next_sample() : h->frame;
}

/* The keys that changed since the last poll, as events. */
static void on_input_poll(void) {
    if (!current || current->latch || !current->key_event || !current->input_ports) return;
    uint16_t down = kl_input_source_keys(current->input, input_frame(current));
    unsigned changed = down ^ current->keys_down;
    current->keys_down = down;
    for (unsigned i = 0; i < KLT_INPUT_KEYS; i++)
        if (changed >> i & 1) current->key_event(down >> i & 1, kl_input_source_code(i), 0, 0);
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

static int16_t on_input_state(unsigned port, unsigned device, unsigned index, unsigned id) {
    if (current && current->asked)
        note_question(current->asked, &(struct kl_question){(uint8_t)port, device & RETRO_DEVICE_MASK,
                                                            (uint8_t)index, (uint16_t)id});
    if (current && current->latch) return kl_latch_state(current->latch, port, device, index, id);
    if (!current || port >= current->input_ports) return 0;
    device &= RETRO_DEVICE_MASK;
    if (device == RETRO_DEVICE_KEYBOARD) {
        const struct kl_headless *h = current;
        uint16_t down = kl_input_source_keys(h->input, input_frame(h));
        for (unsigned i = 0; i < KLT_INPUT_KEYS; i++)
            if (kl_input_source_code(i) == id) return down >> i & 1;
        return 0;
    }
    if (device != RETRO_DEVICE_JOYPAD)
        return kl_input_source_other(current->input, input_frame(current), port, device, index, id);
    uint16_t mask = kl_input_source_joypad(current->input, input_frame(current), port);
    if (id == RETRO_DEVICE_ID_JOYPAD_MASK) return (int16_t)mask;
    return id < 16 && (mask >> id & 1);
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
    snprintf(err, err_len, "%s: expected wrapper interface %d, got %u", h->core.path, KLW_API_VERSION,
             h->wrapper ? h->wrapper->version : 0);
    return -1;
}

/* A core whose world will be turned is opened late, so that its constructors see that world; the wrapper is
 * opened as it is, for it looks for things beside its own file. */
static int open_core(struct kl_headless *h, char *err, size_t err_len) {
    const char *path = h->setup.core_path;
    int result = h->setup.virtual_clock ? kl_core_open_late(&h->core, path, err, err_len)
                                        : kl_core_open(&h->core, path, err, err_len);
    if (result != 0) return -1;
    if (wrapper_symbol(&h->core) && h->core.late) {
        kl_core_close(&h->core);
        if (kl_core_open(&h->core, path, err, err_len) != 0) return -1;
    }
    klw_api_fn get = wrapper_symbol(&h->core);
    return get ? greet_wrapper(h, get, err, err_len) : 0;
}

/* The wrapper turns the world of the core inside it, and is told so by the environment: its own imports keep
 * the host's clock. */
static int settle_world(struct kl_headless *h, char *err, size_t err_len) {
    struct retro_system_info info = {0};
    char epoch[32];
    if (!h->setup.virtual_clock) {
        kl_environment_set("KEYLOCK_EPOCH", NULL);
        return 0;
    }
    if (h->wrapper) {
        snprintf(epoch, sizeof(epoch), "%" PRIu64, h->setup.epoch_s);
        kl_environment_set("KEYLOCK_EPOCH", epoch);
        return 0;
    }
    kl_world_start(h->world, h->setup.epoch_s, 0);
    int result = kl_world_turn(h->world, h->core.handle, &h->turned, err, err_len);
    if (result == 0 && h->setup.own_heap) h->pages = kl_pages_take(h->world, h->core.handle, err, err_len);
    if (result == 0 && h->setup.session_files) result = kl_headless_view_files(h, err, err_len);
    kl_core_construct(&h->core);
    h->core.get_system_info(&info);
    kl_world_rand_use(h->world, kl_rand_use(info.library_name, h->setup.content_path));
    return result;
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
        if (kl_options_set(&h->options, key, equals + 1, pending, err, err_len) != 0) return -1;
    }
    return 0;
}

/* Arcade cores load a game that lacks files all the same, and show a picture that names them: there is no
 * machine, neither memory nor state. */
static bool shows_error(struct kl_headless *h) {
    struct kl_ram ram;
    if (h->wrapper || !*h->core_error) return false;
    kl_ram_find(&ram, &h->core, &h->map);
    return !ram.count && h->core.serialize_size() == 0;
}

static int load_game(struct kl_headless *h, char *err, size_t err_len) {
    if (kl_headless_read_content(h, err, err_len) != 0) return -1;
    h->core.game_loaded = h->core.load_game(h->game.path ? &h->game : NULL);
    if (h->core.game_loaded && !shows_error(h)) return 0;
    const char *why = h->wrapper ? h->wrapper->error() : h->core_error;
    if (h->wants_hw_render && !*why) why = "it asked for hardware rendering, which a headless run has not";
    snprintf(err, err_len, "the core %s did not load %s%s%s%s", h->name[0] ? h->name : h->core.path,
             h->setup.content_path ? h->setup.content_path : "without content", *why ? ": " : "", why,
             h->core.game_loaded ? "" : " (retro_load_game returned false)");
    return -1;
}

static int settle_av(struct kl_headless *h, char *err, size_t err_len) {
    h->core.get_system_av_info(&h->av);
    double fps = h->av.timing.fps;
    if (!(fps >= 1 && fps <= 1000)) {
        snprintf(err, err_len, "the core says %g frames a second: expected 1 to 1000", fps);
        return -1;
    }
    if (!h->wrapper) kl_world_rate(h->world, (uint32_t)llround(fps * 1e6));
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
    for (unsigned port = 0; port < KL_MAX_SEATS; port++)
        if (d->set >> port & 1 || port < 2)
            h->core.set_controller_port_device(port, d->set >> port & 1 ? d->id[port] : RETRO_DEVICE_JOYPAD);
}

static int start(struct kl_headless *h, char *err, size_t err_len) {
    h->world = kl_world_take();
    if (!h->world) {
        snprintf(err, err_len, "this process runs %d cores already, which is the most", KL_WORLDS);
        return -1;
    }
    if (kl_headless_make_dirs(h, err, err_len) != 0) return -1;
    if (open_core(h, err, err_len) != 0) return -1;
    if (settle_world(h, err, err_len) != 0) return -1;
    if (set_options(h, true, err, err_len) != 0) return -1;
    h->core.set_environment(on_environment);
    h->core.get_system_info(&h->info);
    h->core.init();
    h->core.initialised = true;
    h->core.get_system_info(&h->info); /* a wrapper may know only now */
    const char *name = h->info.library_name, *version = h->info.library_version;
    snprintf(h->name, sizeof(h->name), "%.*s", kl_core_text_len(name, 127), name ? name : "");
    snprintf(h->version, sizeof(h->version), "%.*s", kl_core_text_len(version, 127), version ? version : "");
    h->core.set_video_refresh(on_video);
    h->core.set_audio_sample(on_audio);
    h->core.set_audio_sample_batch(on_audio_batch);
    h->core.set_input_poll(on_input_poll);
    h->core.set_input_state(on_input_state);
    if (load_game(h, err, err_len) != 0) return -1;
    if (set_options(h, false, err, err_len) != 0) return -1;
    if (settle_av(h, err, err_len) != 0) return -1;
    set_devices(h);
    return kl_headless_load_sram(h, err, err_len);
}

static void tear_down(struct kl_headless *h) {
    current = h;
    if (h->pages) kl_pages_end(h->pages);
    kl_core_close(&h->core);
    kl_pages_release(h->pages);
    h->pages = NULL;
    kl_headless_free_content(h);
    kl_options_free(&h->options);
    free((void *)h->map.descriptors);
    kl_statehash_buffer_free(&h->buffer);
    kl_headless_remove_dirs(h);
    kl_world_release(h->world);
    h->world = NULL;
    current = NULL;
}

int kl_headless_open(struct kl_headless *h, const struct kl_headless_setup *setup, char *err,
                     size_t err_len) {
    memset(h, 0, sizeof(*h));
    h->setup = *setup;
    h->av_enable = 3;
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

void kl_headless_run(struct kl_headless *h) {
    current = h;
    if (!h->wrapper) kl_world_frame(h->world, h->frame);
    if (h->frame_time.callback) h->frame_time.callback(h->frame_time.reference);
    h->core.run();
    if (h->chain) kl_chain_frame(h->chain);
    if (!h->wrapper) {
        kl_world_rest(h->world);
        kl_world_files_settle(h->world);
    }
    h->frame++;
}

void kl_headless_rewind(struct kl_headless *h, uint32_t f, uint64_t chance) {
    h->frame = f;
    if (h->wrapper) return;
    kl_world_frame(h->world, f);
    kl_world_chance_set(h->world, chance);
}

void kl_headless_hash(struct kl_headless *h, struct kl_statehash *out) {
    struct kl_ram ram;
    kl_ram_find(&ram, &h->core, &h->map);
    kl_statehash_take(out, &h->core, &ram, &h->buffer);
}

void kl_headless_hash_ram(struct kl_headless *h, struct kl_statehash *out) {
    struct kl_ram ram;
    memset(out, 0, sizeof(*out));
    kl_ram_find(&ram, &h->core, &h->map);
    out->has_ram = kl_ram_hash(&ram, &out->ram);
}

int kl_headless_close(struct kl_headless *h, char *err, size_t err_len) {
    int result = kl_headless_store_sram(h, err, err_len);
    tear_down(h);
    return result;
}

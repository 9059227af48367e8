#include "core_wrapper/match/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"
#include "net/platform/process.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/env/core_log.h"
#include "core_wrapper/core/declare.h"
#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/start/gifts.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/wish.h"

/* ---- opening ---- */

static void ask_folder(unsigned cmd, char *out, size_t cap) {
    const char *dir = NULL;
    if (kl_w.front.environment && kl_w.front.environment(cmd, &dir) && dir) snprintf(out, cap, "%s", dir);
}

static void find_own_path(void) {
    static const char anchor;
    char path[sizeof kl_w.own_path];
    if (kl_library_file_of(&anchor, path, sizeof path) &&
        !kl_file_real(path, kl_w.own_path, sizeof kl_w.own_path))
        strcpy(kl_w.own_path, path);
}

static void folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
}

/* Run-ahead's second instance is a copy of this file under another name: the first tells it which core. */
static const char *memo_name(void) {
    static char name[48];
    snprintf(name, sizeof name, "KEYLOCK_WRAPPED_BY_%ld", kl_process_self());
    return name;
}

static int find_core(char *path, size_t cap, char *err, size_t err_len) {
    char beside[4096], frontend[4096] = "", name[4096];
    const char *memo = getenv(memo_name()), *front = NULL;
    snprintf(beside, sizeof beside, "%s", kl_w.own_path);
    folder_of(beside);
    if (kl_w.front.environment && kl_w.front.environment(RETRO_ENVIRONMENT_GET_LIBRETRO_PATH, &front) &&
        front)
        snprintf(frontend, sizeof frontend, "%s", front);
    folder_of(frontend);
    bool two = *frontend && strcmp(frontend, beside) != 0;
    const char *dirs[] = {beside, two ? frontend : NULL, NULL};
    if (kl_config_core_from_file_name(kl_w.own_path, name, sizeof name)) /* chosen from the list of cores */
        return kl_core_find(name, dirs, path, cap, err, err_len);
    if (*kl_w.config.core) return kl_core_find(kl_w.config.core, dirs, path, cap, err, err_len);
    if (memo) return kl_core_find(memo, dirs, path, cap, err, err_len);
    snprintf(err, err_len,
             "no core to wrap: set KEYLOCK_CORE, or name the wrapper NAME_keylock_libretro.so, or "
             "write core = NAME into %.200s/%s",
             *kl_w.system_dir ? kl_w.system_dir : "the system folder", KL_CONFIG_FILE);
    return -1;
}

/* After a late open: the core's static constructors see the turned world already. */
static void turn_world(uint64_t epoch_s) {
    char err[256];
    if (kl_world_turn(kl_w.emu.world, kl_w.emu.core.handle, &kl_w.emu.turned, err, sizeof err) != 0)
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "world not turned: %s", err);
    kl_world_files_clear(kl_w.emu.world);
    kl_world_start(kl_w.emu.world, epoch_s, 0);
    kl_core_construct(&kl_w.emu.core);
}

/* This core may come into a room: one on the relay that is known, or one that RetroArch's netplay leads to.
 */
static bool may_lock(void) {
    const struct kl_config *c = &kl_w.config;
    if (c->mode == KL_PLAY_ALONE) return false;
    return (c->netplay && kl_netplay_offer()) || *c->host;
}

/* ---- what the core's calls cause ---- */

static bool netpacket(const void *theirs) {
    return kl_netplay_inner(theirs);
}

static void no_new_disk(void) {
    kl_wrapper_say_once(&kl_w.said_disk, "disks cannot be added in a room: the others lack them");
}

static void log_line(const char *line) {
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s", line);
}

static int begin_emulator(char *err, size_t err_len) {
    static const struct kl_emulator_hooks hooks = {.video = kl_play_video,
                                                   .sound = kl_play_sound,
                                                   .pad = kl_command_pad,
                                                   .rate = kl_play_rate,
                                                   .typed = kl_control_typed,
                                                   .disk = kl_command_disk,
                                                   .netpacket = netpacket,
                                                   .no_new_disk = no_new_disk,
                                                   .log = log_line};
    if (kl_emulator_begin(&kl_w.emu, &kl_w.front, &hooks) == 0) return 0;
    snprintf(err, err_len, "this process runs %d cores already, which is the most", KL_WORLDS);
    return -1;
}

static int open_core(char *err, size_t err_len) {
    char path[4096];
    bool turn = may_lock() || kl_w.config.epoch_set;
    int (*open)(struct kl_core *, const char *, char *, size_t) = turn ? kl_core_open_late : kl_core_open;
    if (begin_emulator(err, err_len) != 0 || find_core(path, sizeof path, err, err_len) != 0) return -1;
    kl_w.emu.clocked = kl_w.config.epoch_set;
    kl_gifts_redirect(&kl_w.emu.gifts, kl_w.emu.world, "", NULL, "");
    if (open(&kl_w.emu.core, path, err, err_len) != 0) return -1;
    if (kl_library_find(kl_w.emu.core.handle, KLW_API_SYMBOL)) {
        snprintf(err, err_len, "expected an emulator core, got Keylock itself: %.300s", path);
        kl_core_close(&kl_w.emu.core);
        return -1;
    }
    setenv(memo_name(), path, 1);
    if (turn) turn_world(kl_w.config.epoch_set ? kl_w.config.epoch_s : kl_wall_us() / 1000000);
    return 0;
}

/* The frontend has told a system folder only now, and there is a configuration in it that nobody has read. */
static bool is_news(const char *system_dir) {
    char path[4096 + 16];
    snprintf(path, sizeof path, "%s/%s", system_dir, KL_CONFIG_FILE);
    return *system_dir && strcmp(system_dir, kl_w.system_dir) != 0 && kl_file_readable(path);
}

void kl_load_open(bool final) {
    char err[KLW_TEXT_MAX], system_dir[4096] = "";
    ask_folder(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, system_dir, sizeof system_dir);
    /* a program that only asks for our name has no interface; the frontend that loads us may have one */
    bool lockable = kl_w.mode != KL_MODE_NONE && may_lock();
    bool news = is_news(system_dir) || kl_wish_new() || (kl_w.mode == KL_MODE_ALONE && lockable);
    bool stands = kl_w.emu.core.initialised || !news;
    if (kl_w.mode != KL_MODE_NONE && stands) return;
    if (kl_w.mode != KL_MODE_NONE) kl_core_close(&kl_w.emu.core);
    kl_w.mode = KL_MODE_NONE;
    strcpy(kl_w.system_dir, system_dir);
    if (!*kl_w.own_path) find_own_path();
    if (kl_config_read(&kl_w.config, kl_w.system_dir, err, sizeof err) != 0 ||
        kl_wish_apply(&kl_w.config, err, sizeof err) != 0 || open_core(err, sizeof err) != 0) {
        if (final) kl_wrapper_fail("%s", err);
        return;
    }
    kl_w.mode = may_lock() ? KL_MODE_ROOM : KL_MODE_ALONE;
    kl_w.emu.alone = kl_w.mode == KL_MODE_ALONE;
}

/* ---- both loads of a room ---- */

static bool load_content(void) {
    const struct kl_content *c = &kl_w.emu.content;
    struct kl_core *core = &kl_w.emu.core;
    kl_core_log_listen();
    if (c->special)
        core->game_loaded = core->load_game_special(c->type, c->item, c->count);
    else
        core->game_loaded = core->load_game(c->none ? NULL : &c->item[0]);
    return core->game_loaded;
}

/* Arcade cores load a game that lacks files all the same: a picture names them, and there is no machine that
 * could be locked, neither memory nor state. */
static const char *refusal(void) {
    struct retro_memory_map map = kl_memory_inner(&kl_w.emu.memory);
    struct kl_ram ram;
    if (!*kl_core_log_error()) return "";
    kl_ram_find(&ram, &kl_w.emu.core, map.num_descriptors ? &map : NULL);
    return ram.count || kl_w.emu.core.serialize_size() ? "" : kl_core_log_error();
}

/* ---- the first load ---- */

/* The core sees copies of the player's save files, so its writes while loading and unloading stay in the
 * copies. A core that begins alone has the player's own files. */
static int prepare_first_folder(char *err, size_t err_len) {
    struct kl_savefiles *files = calloc(1, sizeof *files);
    ask_folder(RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY, kl_w.player_dir, sizeof kl_w.player_dir);
    ask_folder(RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, kl_w.system_dir, sizeof kl_w.system_dir);
    int r = files ? kl_savedir_open(&kl_w.dir, NULL, kl_w.config.room, err, err_len) : -1;
    if (r == 0)
        r = kl_savedir_fresh(&kl_w.dir, "first", kl_w.emu.save_dir, sizeof kl_w.emu.save_dir, err, err_len);
    if (r == 0 && kl_w.own_saves && *kl_w.player_dir) {
        strcpy(kl_w.emu.save_dir, kl_w.player_dir);
        free(files);
        return 0;
    }
    if (r == 0 && *kl_w.player_dir) kl_savefiles_collect(files, kl_w.player_dir, kl_w.emu.content.stem);
    for (unsigned i = 0; r == 0 && i < files->count; i++)
        r = kl_savedir_write(kl_w.emu.save_dir, files->file[i].path, files->file[i].bytes, files->file[i].len,
                             err, err_len);
    if (files) kl_savefiles_free(files);
    free(files);
    return r;
}

/* Memory that a subsystem's parts keep, beyond the standard kinds. */
static unsigned extra_memory(unsigned *ids, unsigned cap) {
    unsigned n = 0;
    const struct retro_subsystem_info *s = kl_w.emu.told.subsystems.copy;
    for (; kl_w.emu.content.special && s && s->ident; s++) {
        if (s->id != kl_w.emu.content.type) continue;
        for (unsigned r = 0; r < s->num_roms; r++)
            for (unsigned m = 0; m < s->roms[r].num_memory && n < cap; m++)
                ids[n++] = s->roms[r].memory[m].type;
    }
    return n;
}

static void meet_core(void) {
    unsigned extra[KL_MEMORY_VIEWS] = {0};
    bool dupe = false, mask = false, key_events = kl_w.emu.latch.key_events;
    retro_environment_t env = kl_w.front.environment;
    memset(&kl_w.emu.av, 0, sizeof kl_w.emu.av);
    kl_w.emu.core.get_system_av_info(&kl_w.emu.av);
    kl_memory_make(&kl_w.emu.memory, &kl_w.emu.core, extra, extra_memory(extra, KL_MEMORY_VIEWS));
    env(RETRO_ENVIRONMENT_GET_CAN_DUPE, &dupe);
    if (!env(RETRO_ENVIRONMENT_GET_INPUT_BITMASKS, &mask)) mask = false;
    kl_latch_init(&kl_w.emu.latch, mask);
    kl_w.emu.latch.key_events = key_events;
    kl_w.emu.latch.filter = kl_control_pad;
    kl_audio_init(&kl_w.emu.audio, kl_w.emu.av.timing.sample_rate, kl_w.emu.av.timing.fps);
    kl_picture_init(&kl_w.emu.picture, dupe, kl_w.emu.av.geometry.base_width,
                    kl_w.emu.av.geometry.base_height);
    kl_w.emu.picture.hardware = kl_w.emu.told.hw;
}

bool kl_load_first(bool special, unsigned type, const struct retro_game_info *info, size_t count) {
    char err[KLW_TEXT_MAX] = "out of memory";
    if (kl_content_keep(&kl_w.emu.content, special, type, info, count) != 0 ||
        prepare_first_folder(err, sizeof err) != 0) {
        kl_wrapper_fail("%s", err);
        return false;
    }
    kl_emulator_give_callbacks(&kl_w.emu);
    kl_w.emu.load = KL_LOAD_FIRST;
    bool ok = load_content();
    kl_w.emu.load = KL_LOAD_NONE;
    if (!ok) {
        kl_wrapper_fail("the core %s could not load %s", kl_w.emu.core.path,
                        kl_w.emu.content.count && info->path ? info->path : "without content");
        return false;
    }
    snprintf(kl_w.emu.content.refusal, sizeof kl_w.emu.content.refusal, "%s", refusal());
    if (*kl_w.emu.content.refusal && kl_w.emu.runner) { /* nobody looks at the picture */
        kl_wrapper_fail("the game did not load: %s", kl_w.emu.content.refusal);
        return false;
    }
    meet_core();
    kl_env_listen(&kl_w.emu);
    return true;
}

/* ---- start data ---- */

static void put_options(struct kl_start *s) {
    for (unsigned i = 0; i < kl_w.emu.options.count && s->option_count < KL_START_OPTIONS; i++) {
        struct retro_variable v = {.key = kl_w.emu.options.at[i].key};
        struct kl_start_option *o = &s->option[s->option_count];
        if (!kl_env_variable(&kl_w.emu, RETRO_ENVIRONMENT_GET_VARIABLE, &v)) continue;
        if (!kl_start_text_ok(v.key, sizeof o->key) || !kl_start_text_ok(v.value, sizeof o->value)) continue;
        strcpy(o->key, v.key);
        strcpy(o->value, v.value);
        s->option_count++;
    }
}

static void put_devices(struct kl_start *s) {
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        if (kl_w.device_set >> p & 1 && kl_declared_device(&kl_w.emu.told.controllers, p, kl_w.device[p]))
            s->device[s->device_count++] = (struct kl_start_device){(uint8_t)p, kl_w.device[p]};
}

static void put_memories(struct kl_start *s) {
    for (unsigned i = 0; i < kl_w.emu.memory.views; i++) {
        if (!kl_w.emu.memory.view[i].save || s->memory_count == KL_START_MEMORIES) continue;
        struct kl_start_memory *m = &s->memory[s->memory_count++];
        m->id = kl_w.emu.memory.view[i].id;
        m->bytes = kl_w.emu.memory.view[i].bytes;
        m->len = kl_w.emu.memory.view[i].size;
    }
}

/* Adds the player's files for this content, and other files that the core looked for in its save folder. */
static void put_saves(struct kl_savefiles *files) {
    size_t n = strlen(kl_w.emu.save_dir);
    if (!*kl_w.player_dir) return;
    kl_savefiles_collect(files, kl_w.player_dir, kl_w.emu.content.stem);
    for (unsigned i = 0; i < kl_world_files(kl_w.emu.world); i++) {
        bool wrote;
        const char *path = kl_world_file(kl_w.emu.world, i, &wrote);
        if (path && !strncmp(path, kl_w.emu.save_dir, n) && path[n] == '/')
            kl_savefiles_add(files, kl_w.player_dir, path + n + 1);
    }
}

/* Of a room that anybody may enter strangers get no small files. */
static void put_files(struct kl_start *s, struct kl_savefiles *files) {
    bool public = !kl_w.config.unlisted && !*kl_w.config.password;
    put_saves(files);
    if (!public) kl_gifts_collect(files, kl_w.emu.world, kl_w.system_dir, kl_w.emu.content.stem);
    for (unsigned i = 0; i < files->count; i++) {
        struct kl_start_file *f = &s->file[s->file_count++];
        strcpy(f->path, files->file[i].path);
        f->bytes = files->file[i].bytes;
        f->len = files->file[i].len;
    }
}

int kl_load_start_data(bool bare, uint8_t **out, size_t *len, char *err, size_t err_len) {
    struct kl_start *s = calloc(1, sizeof *s);
    struct kl_savefiles *files = calloc(1, sizeof *files);
    int n = -1;
    *out = NULL;
    if (s && files) {
        kl_room_profile_put(&s->profile);
        put_options(s);
        put_devices(s);
        if (!bare) {
            put_memories(s);
            put_files(s, files);
        }
        size_t bound = kl_start_bound(s);
        *out = malloc(bound);
        if (*out) n = kl_start_encode(s, *out, bound);
        kl_savefiles_free(files);
    }
    free(s);
    free(files);
    if (n >= 0 && n <= (int)KL_START_MAX) {
        *len = (size_t)n;
        return 0;
    }
    free(*out);
    *out = NULL;
    snprintf(err, err_len, "the save data of this game is too large for a room (%d bytes, at most %u)", n,
             KL_START_MAX);
    return -1;
}

/* ---- the load afresh ---- */

/* Another's bytes are loaded only with the player's consent. */
static int may_load(const struct kl_start *s, char *err, size_t err_len) {
    bool bare = s->memory_count == 0 && s->file_count == 0;
    if (bare || kl_w.config.consent != KL_CONSENT_NONE) return 0;
    snprintf(err, err_len,
             "the room's game began with its host's saves, and this machine loads none of strangers: set "
             "trust = on if you know the players");
    return -1;
}

static int write_files(const struct kl_start *s, char *err, size_t err_len) {
    if (kl_savedir_fresh(&kl_w.dir, "save", kl_w.emu.save_dir, sizeof kl_w.emu.save_dir, err, err_len) != 0)
        return -1;
    for (unsigned i = 0; i < s->file_count; i++)
        if (!kl_gifts_may_write(&s->file[i])) {
            snprintf(err, err_len, "the room's start data has a file that it may not have: \"%.200s\"",
                     s->file[i].path);
            return -1;
        } else if (kl_savedir_write(kl_w.emu.save_dir, s->file[i].path, s->file[i].bytes, s->file[i].len, err,
                                    err_len) != 0)
            return -1;
    return 0;
}

/* Nothing of the library that goes may be called or read any more. */
static void forget_library(void) {
    kl_env_hw_leave(&kl_w.emu);
    kl_memory_detach(&kl_w.emu.memory);
    kl_w.emu.told.key_event = NULL;
    kl_w.emu.told.update_display = NULL;
    memset(&kl_w.emu.told.disk_control, 0, sizeof kl_w.emu.told.disk_control);
    memset(&kl_w.emu.told.frame_time, 0, sizeof kl_w.emu.told.frame_time);
}

static void take_options(const struct kl_start *s) {
    char why[256];
    kl_options_free(&kl_w.emu.options);
    for (unsigned i = 0; i < s->option_count; i++)
        kl_options_set(&kl_w.emu.options, s->option[i].key, s->option[i].value, true, why, sizeof why);
}

static void check_options(const struct kl_start *s) {
    for (unsigned i = 0; i < s->option_count; i++) {
        const char *v = kl_options_get(&kl_w.emu.options, s->option[i].key);
        if (!v || strcmp(v, s->option[i].value) != 0)
            kl_screen_log(&kl_w.screen, kl_w.front.environment, "option key=%s room=%s here=%s",
                          s->option[i].key, s->option[i].value, v ? v : "-");
    }
}

static int fill_memory(const struct kl_start *s, char *err, size_t err_len) {
    for (unsigned i = 0; i < s->memory_count; i++) {
        size_t size = kl_w.emu.core.get_memory_size(s->memory[i].id);
        void *data = kl_w.emu.core.get_memory_data(s->memory[i].id);
        if (!data || size != s->memory[i].len) {
            snprintf(err, err_len, "save memory %u: the room's has %zu bytes, this core's has %zu",
                     s->memory[i].id, s->memory[i].len, data ? size : 0);
            return -1;
        }
        memcpy(data, s->memory[i].bytes, size);
    }
    return 0;
}

/* Cores look their devices up in tables: a number that the core never named may be past their end. */
static int set_devices(const struct kl_start *s, char *err, size_t err_len) {
    for (unsigned i = 0; i < s->device_count; i++) {
        const struct kl_start_device *d = &s->device[i];
        if (!kl_declared_device(&kl_w.emu.told.controllers, d->port, d->device)) {
            snprintf(err, err_len, "the room has device %u at port %u, which this core does not name",
                     d->device, d->port + 1u);
            return -1;
        }
        kl_w.emu.core.set_controller_port_device(d->port, d->device);
    }
    return 0;
}

static int run_load(const struct kl_start *s, uint64_t epoch_s, char *err, size_t err_len) {
    struct retro_system_info info = {0};
    if (kl_core_reopen(&kl_w.emu.core, err, err_len) != 0) return -1;
    turn_world(epoch_s);
    kl_w.emu.core.set_environment(kl_emulator_environment(&kl_w.emu));
    kl_w.emu.core.get_system_info(&info);
    kl_w.emu.core.init();
    kl_w.emu.core.initialised = true;
    kl_emulator_give_callbacks(&kl_w.emu);
    if (!load_content()) {
        snprintf(err, err_len, "the core refused to load the content a second time");
        return -1;
    }
    if (*refusal()) {
        snprintf(err, err_len, "the game did not load a second time: %s", refusal());
        return -1;
    }
    if (fill_memory(s, err, err_len) != 0) return -1;
    return set_devices(s, err, err_len);
}

/* The room's options may have changed the core's picture and sound since the frontend was told. */
static void compare_av(void) {
    struct retro_system_av_info av = {0};
    kl_w.emu.core.get_system_av_info(&av);
    kl_world_rate(kl_w.emu.world, kl_emulator_fps_uhz(av.timing.fps));
    if (kl_w.emu.told.reinit) memset(&kl_w.emu.av, 0, sizeof kl_w.emu.av);
    kl_w.emu.told.reinit = false;
    kl_env_system_av_info(&kl_w.emu, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
}

int kl_load_afresh(const uint8_t *data, size_t len, uint64_t epoch_s, struct kl_facts *facts, char *err,
                   size_t err_len) {
    struct kl_start *s = calloc(1, sizeof *s);
    int r = -1;
    snprintf(err, err_len, "the room's start data is damaged");
    if (s && kl_start_decode(s, data, len) == 0 && may_load(s, err, err_len) == 0 &&
        write_files(s, err, err_len) == 0) {
        forget_library();
        kl_room_profile_take(&s->profile);
        take_options(s);
        kl_gifts_redirect(&kl_w.emu.gifts, kl_w.emu.world, kl_w.system_dir, kl_w.emu.save_dir,
                          kl_w.emu.content.stem);
        kl_w.emu.load = KL_LOAD_AFRESH;
        r = run_load(s, epoch_s, err, err_len);
        if (r == 0) {
            compare_av();
            kl_env_hw_enter(&kl_w.emu);
            check_options(s);
            kl_w.emu.options.updated = false;
            facts->count = 0;
            kl_identity_files(facts, kl_w.emu.world, kl_w.system_dir, &kl_w.emu.content);
        }
        kl_w.emu.load = KL_LOAD_NONE;
    }
    free(s);
    return r;
}

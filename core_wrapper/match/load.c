#include "core_wrapper/match/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/env/core_log.h"
#include "core_wrapper/core/declare.h"
#include "core_wrapper/env/env.h"
#include "core_wrapper/env/env_answers.h"
#include "core_wrapper/env/reload.h"
#include "core_wrapper/match/take_over.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/start/patch.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/match.h"

/* --- the first load --- */

/* The core sees copies of the player's save files, so its writes while loading and unloading stay in the
 * copies. A core that begins alone has the player's own files. */
static int prepare_first_folder(struct kl_match *m, char *err, size_t err_len) {
    struct kl_savefiles *files = calloc(1, sizeof *files);
    kl_open_core_folder(m, RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY, m->front.player_dir,
                        sizeof m->front.player_dir);
    kl_open_core_folder(m, RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, m->front.system_dir,
                        sizeof m->front.system_dir);
    int r = files ? kl_savedir_open(&m->dir, NULL, m->config.room, err, err_len) : -1;
    if (r == 0) r = kl_savedir_fresh(&m->dir, "first", m->emu.save_dir, sizeof m->emu.save_dir, err, err_len);
    kl_world_view(m->emu.world, NULL);
    if (r == 0 && m->play.own_saves && *m->front.player_dir) {
        strcpy(m->emu.save_dir, m->front.player_dir);
        free(files);
        return 0;
    }
    if (r == 0 && *m->front.player_dir) kl_savefiles_collect(files, m->front.player_dir, m->emu.content.stem);
    for (unsigned i = 0; r == 0 && i < files->count; i++)
        r = kl_savedir_write(m->emu.save_dir, files->file[i].path, files->file[i].bytes, files->file[i].len,
                             err, err_len);
    if (files) kl_savefiles_free(files);
    free(files);
    if (r == 0)
        kl_gifts_view(&m->emu.gifts, m->emu.world, m->front.system_dir, m->emu.save_dir, m->emu.content.stem,
                      m->emu.content.item[0].path, false);
    return r;
}

/* Memory that a subsystem's parts keep, beyond the standard kinds. */
static unsigned extra_memory(struct kl_match *m, unsigned *ids, unsigned cap) {
    unsigned n = 0;
    const struct retro_subsystem_info *s = m->emu.told.subsystems.copy;
    for (; m->emu.content.special && s && s->ident; s++) {
        if (s->id != m->emu.content.type) continue;
        for (unsigned r = 0; r < s->num_roms; r++)
            for (unsigned k = 0; k < s->roms[r].num_memory && n < cap; k++)
                ids[n++] = s->roms[r].memory[k].type;
    }
    return n;
}

static uint16_t filter_pad(void *m, unsigned port, uint16_t pad) {
    return kl_control_pad(m, port, pad);
}

static void meet_core(struct kl_match *m) {
    unsigned extra[KL_MEMORY_VIEWS] = {0};
    bool dupe = false, mask = false, key_events = m->emu.latch.key_events;
    retro_environment_t env = m->front.call.environment;
    memset(&m->emu.av, 0, sizeof m->emu.av);
    m->emu.core.get_system_av_info(&m->emu.av);
    m->emu.told.av = m->emu.av; /* the frontend asks for it */
    kl_memory_make(&m->emu.memory, &m->emu.core, extra, extra_memory(m, extra, KL_MEMORY_VIEWS));
    env(RETRO_ENVIRONMENT_GET_CAN_DUPE, &dupe);
    if (!env(RETRO_ENVIRONMENT_GET_INPUT_BITMASKS, &mask)) mask = false;
    kl_latch_init(&m->emu.latch, mask);
    m->emu.latch.key_events = key_events;
    m->emu.latch.filter = filter_pad;
    m->emu.latch.filter_ctx = m;
    kl_audio_init(&m->emu.audio, m->emu.av.timing.sample_rate, m->emu.av.timing.fps);
    kl_picture_init(&m->emu.picture, dupe, m->emu.av.geometry.base_width, m->emu.av.geometry.base_height);
    m->emu.picture.hardware = m->emu.told.hw;
}

bool kl_load_first(struct kl_match *m, bool special, unsigned type, const struct retro_game_info *info,
                   size_t count) {
    char err[KLW_TEXT_MAX] = "out of memory";
    if (kl_content_keep(&m->emu.content, special, type, info, count) != 0 ||
        prepare_first_folder(m, err, sizeof err) != 0) {
        kl_frontend_fail(&m->front, "%s", err);
        return false;
    }
    if (m->emu.content.count) kl_patch_find(&m->emu.content.item[0], m->emu.content.patch);
    kl_emulator_give_callbacks(&m->emu);
    m->emu.load = KL_LOAD_FIRST;
    bool ok = kl_emulator_load_content(&m->emu);
    m->emu.load = KL_LOAD_NONE;
    if (!ok) {
        const char *why = kl_core_log_error(&m->emu);
        kl_frontend_fail(&m->front, "the core %s could not load %s%s%s", m->emu.core.path,
                         m->emu.content.count && info->path ? info->path : "without content",
                         *why ? ": " : "", why);
        return false;
    }
    snprintf(m->emu.content.refusal, sizeof m->emu.content.refusal, "%s", kl_emulator_refusal(&m->emu));
    if (*m->emu.content.refusal && m->emu.runner) { /* nobody looks at the picture */
        kl_frontend_fail(&m->front, "the game did not load: %s", m->emu.content.refusal);
        return false;
    }
    meet_core(m);
    kl_env_listen(&m->emu);
    return true;
}

/* --- start data --- */

static void put_devices(struct kl_match *m, struct kl_start *s) {
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        if (m->front.devices.set >> p & 1 &&
            kl_declared_device(&m->emu.told.controllers, p, m->front.devices.of[p]))
            s->device[s->device_count++] = (struct kl_start_device){(uint8_t)p, m->front.devices.of[p]};
}

static void put_memories(struct kl_match *m, struct kl_start *s) {
    for (unsigned i = 0; i < m->emu.memory.views; i++) {
        if (!m->emu.memory.view[i].save || s->memory_count == KL_START_MEMORIES) continue;
        struct kl_start_memory *memory = &s->memory[s->memory_count++];
        memory->id = m->emu.memory.view[i].id;
        memory->bytes = m->emu.memory.view[i].bytes;
        memory->len = m->emu.memory.view[i].size;
    }
}

/* Adds the player's files for this content, and other files that the core looked for in its save folder. */
static void put_saves(struct kl_match *m, struct kl_savefiles *files) {
    size_t n = strlen(m->emu.save_dir);
    if (!*m->front.player_dir) return;
    kl_savefiles_collect(files, m->front.player_dir, m->emu.content.stem);
    for (unsigned i = 0; i < kl_world_files(m->emu.world); i++) {
        bool wrote;
        const char *path = kl_world_file(m->emu.world, i, &wrote);
        if (path && !strncmp(path, m->emu.save_dir, n) && path[n] == '/')
            kl_savefiles_add(files, m->front.player_dir, path + n + 1);
    }
}

/* Of a room that anybody may enter strangers get no small files. */
static void put_files(struct kl_match *m, struct kl_start *s, struct kl_savefiles *files) {
    bool public = !m->join.request.unlisted && !*m->join.request.password;
    put_saves(m, files);
    if (!public) kl_gifts_collect(files, m->emu.world, m->front.system_dir, m->emu.content.stem);
    for (unsigned i = 0; i < files->count; i++) {
        struct kl_start_file *f = &s->file[s->file_count++];
        strcpy(f->path, files->file[i].path);
        f->bytes = files->file[i].bytes;
        f->len = files->file[i].len;
    }
}

int kl_load_start_data(struct kl_match *m, bool bare, uint8_t **out, size_t *len, char *err, size_t err_len) {
    struct kl_start *s = calloc(1, sizeof *s);
    struct kl_savefiles *files = calloc(1, sizeof *files);
    int n = -1;
    *out = NULL;
    bare = bare || !m->config.saves;
    if (s && files) {
        kl_room_profile_put(m, &s->profile);
        kl_emulator_put_options(&m->emu, s);
        kl_start_put_system(s, kl_world_system);
        put_devices(m, s);
        if (!bare) {
            put_memories(m, s);
            put_files(m, s, files);
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

/* --- the load afresh --- */

/* Another's bytes are loaded only with the player's consent. */
static int may_load(struct kl_match *m, const struct kl_start *s, char *err, size_t err_len) {
    if (s->state.bytes && !kl_take_over_agreed(m, &s->state)) {
        snprintf(err, err_len,
                 "it begins with a state that another machine made, which this one loads with trust alone");
        return -1;
    }
    bool bare = s->memory_count == 0 && s->file_count == 0;
    if (bare || kl_participant_consents(&m->status, m->join.request.consent)) return 0;
    snprintf(err, err_len,
             "the room's game began with its host's saves, and this machine loads none of strangers: set "
             "trust = on if you know the players");
    return -1;
}

static int write_files(struct kl_match *m, const struct kl_start *s, const char *folder,
                       char dir[KL_SAVEDIR_PATH], char *err, size_t err_len) {
    if (kl_savedir_fresh(&m->dir, folder, dir, KL_SAVEDIR_PATH, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < s->file_count; i++)
        if (!kl_gifts_may_write(&s->file[i])) {
            snprintf(err, err_len, "the room's start data has a file that it may not have: \"%.200s\"",
                     s->file[i].path);
            return -1;
        } else if (kl_savedir_write(dir, s->file[i].path, s->file[i].bytes, s->file[i].len, err, err_len) !=
                   0)
            return -1;
    return 0;
}

/* Nothing of the library that goes may be called or read any more. */
static void forget_library(struct kl_match *m) {
    kl_env_hw_leave(&m->emu);
    kl_memory_detach(&m->emu.memory);
    m->emu.told.key_event = NULL;
    m->emu.told.update_display = NULL;
    memset(&m->emu.told.disk_control, 0, sizeof m->emu.told.disk_control);
    memset(&m->emu.told.frame_time, 0, sizeof m->emu.told.frame_time);
}

/* The core of the match before writes its saves as it goes: it has another folder. */
static const char *next_folder(struct kl_match *m) {
    m->dir.second = !m->dir.second;
    return m->dir.second ? "save" : "save-2";
}

static void check_options(struct kl_match *m, const struct kl_start *s) {
    for (unsigned i = 0; i < s->option_count; i++) {
        const char *v = kl_options_get(&m->emu.options, s->option[i].key);
        bool here = v && !strcmp(v, s->option[i].value);
        if (!here && strcmp(s->option[i].key, KL_START_SYSTEM) != 0)
            kl_frontend_log(&m->front, "option key=%s room=%s here=%s", s->option[i].key, s->option[i].value,
                            v ? v : "-");
    }
}

int kl_load_afresh(struct kl_match *m, const uint8_t *data, size_t len, uint64_t epoch_s, char *err,
                   size_t err_len) {
    struct kl_start *s = calloc(1, sizeof *s);
    int r = -1;
    snprintf(err, err_len, "the room's start data is damaged");
    if (s && kl_start_decode(s, data, len) == 0 && may_load(m, s, err, err_len) == 0 &&
        write_files(m, s, next_folder(m), m->emu.save_dir, err, err_len) == 0) {
        kl_run_ahead_close(m);
        forget_library(m);
        kl_room_profile_take(m, &s->profile, kl_start_system(s));
        kl_learn_game(m);
        m->emu.system_dir = m->front.system_dir;
        m->emu.load = KL_LOAD_AFRESH;
        m->emu.quiet = true;
        r = kl_emulator_reload(&m->emu, s, epoch_s, err, err_len);
        m->emu.quiet = false;
        if (r == 0) {
            /* The room's options may have changed picture and sound since the frontend was told. */
            struct retro_system_av_info av = {0};
            m->emu.core.get_system_av_info(&av);
            kl_world_rate(m->emu.world, kl_emulator_fps_uhz(av.timing.fps));
            kl_env_system_av_info(&m->emu, RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO, &av);
            kl_env_hw_enter(&m->emu);
            check_options(m, s);
            m->emu.options.updated = false;
        }
        m->emu.load = KL_LOAD_NONE;
    }
    free(s);
    return r;
}

void kl_load_shown(struct kl_match *m) {
    struct kl_start *s = calloc(1, sizeof *s);
    const struct kl_shown_hooks hooks = kl_run_ahead_hooks(m);
    char dir[KL_SAVEDIR_PATH], err[KLW_TEXT_MAX] = "the room's start data is damaged";
    const char *found = kl_room_profile_no_ahead(m);
    if (!*found) found = kl_quirks_why(m->emu.quirks, KL_STATE_SHOWN);
    if (*found) snprintf(err, sizeof err, "%s", found);
    bool good =
        !*found && s && kl_start_decode(s, m->status.start, m->status.start_len) == 0 &&
        write_files(m, s, "shown", dir, err, sizeof err) == 0 &&
        kl_shown_open(&m->play.ahead.shown, &m->emu, s, m->status.prepare.epoch_s, m->front.system_dir, dir,
                      &hooks, kl_room_profile_pages(m), err, sizeof err) == 0;
    if (!good) kl_run_ahead_give_up(m, err);
    free(s);
}

void kl_load_close(struct kl_match *m) {
    kl_savedir_close(&m->dir);
}

#include "core_wrapper/match/load.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "core_wrapper/env/reload.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/play.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/netplay/netplay.h"

void kl_open_core_folder(const struct kl_match *m, unsigned cmd, char *out, size_t cap) {
    const char *dir = NULL;
    if (m->front.call.environment && m->front.call.environment(cmd, &dir) && dir)
        snprintf(out, cap, "%s", dir);
    kl_file_use_slashes(out);
}

static void find_own_path(struct kl_match *m) {
    static const char anchor;
    char path[sizeof m->front.own_path];
    if (kl_library_file_of(&anchor, path, sizeof path) &&
        !kl_file_real(path, m->front.own_path, sizeof m->front.own_path))
        strcpy(m->front.own_path, path);
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

static int find_core(struct kl_match *m, char *path, size_t cap, char *err, size_t err_len) {
    char beside[4096], frontend[4096] = "", name[4096];
    const char *memo = kl_environment_get(memo_name()), *front = NULL;
    snprintf(beside, sizeof beside, "%s", m->front.own_path);
    folder_of(beside);
    if (m->front.call.environment && m->front.call.environment(RETRO_ENVIRONMENT_GET_LIBRETRO_PATH, &front) &&
        front)
        snprintf(frontend, sizeof frontend, "%s", front);
    kl_file_use_slashes(frontend);
    folder_of(frontend);
    bool two = *frontend && strcmp(frontend, beside) != 0;
    const char *dirs[] = {beside, two ? frontend : NULL, NULL};
    if (kl_config_core_from_file_name(m->front.own_path, name,
                                      sizeof name)) /* chosen from the list of cores */
        return kl_core_find(name, dirs, path, cap, err, err_len);
    if (*m->config.core) return kl_core_find(m->config.core, dirs, path, cap, err, err_len);
    if (memo) return kl_core_find(memo, dirs, path, cap, err, err_len);
    snprintf(err, err_len,
             "no core to wrap: set KEYLOCK_CORE, or name the wrapper NAME_keylock_libretro" KL_LIBRARY_ENDING
             ", or "
             "write core = NAME into %.200s/%s",
             *m->front.system_dir ? m->front.system_dir : "the system folder", KL_CONFIG_FILE);
    return -1;
}

/* This core may come into a room: one on the relay that is known, or one that RetroArch's netplay leads to.
 */
static bool may_lock(struct kl_match *m) {
    const struct kl_config *c = &m->config;
    if (kl_config_replay()) return true;
    if (c->mode == KL_PLAY_ALONE) return false;
    return (c->netplay && kl_netplay_offer(&m->netplay)) || *c->host;
}

/* --- effects of the core's calls --- */

static void on_video(void *m, const void *data, unsigned width, unsigned height, size_t pitch) {
    kl_play_video(m, data, width, height, pitch);
}
static void on_sound(void *m, const int16_t *stereo, size_t frames) {
    kl_play_sound(m, stereo, frames);
}
static void on_rate(void *m, double fps) {
    kl_play_rate(m, fps);
}
static bool on_typed(void *m, bool down, unsigned code, uint32_t character) {
    return kl_control_typed(m, down, code, character);
}
static int on_disk(void *m, uint16_t index) {
    return kl_command_disk(m, index);
}
static bool on_netpacket(void *ctx, const void *theirs) {
    struct kl_match *m = ctx;
    return kl_netplay_inner(&m->netplay, theirs);
}
static void on_new_disk(void *ctx) {
    struct kl_match *m = ctx;
    kl_frontend_say_once(&m->front, &m->front.said.disk,
                         "disks cannot be added in a room: the others lack them");
}
static void on_log(void *ctx, const char *line) {
    struct kl_match *m = ctx;
    kl_frontend_log(&m->front, "%s", line);
}

static int begin_emulator(struct kl_match *m, char *err, size_t err_len) {
    const struct kl_emulator_hooks hooks = {.ctx = m,
                                            .video = on_video,
                                            .sound = on_sound,
                                            .rate = on_rate,
                                            .typed = on_typed,
                                            .disk = on_disk,
                                            .netpacket = on_netpacket,
                                            .no_new_disk = on_new_disk,
                                            .log = on_log};
    if (kl_emulator_begin(&m->emu, &m->front.call, &hooks) == 0) return 0;
    snprintf(err, err_len, "this process runs %d cores already, which is the most", KL_WORLDS);
    return -1;
}

static int open_core(struct kl_match *m, char *err, size_t err_len) {
    char path[4096];
    bool turn = may_lock(m) || m->config.epoch_set;
    int (*open)(struct kl_core *, const char *, char *, size_t) = turn ? kl_core_open_late : kl_core_open;
    if (begin_emulator(m, err, err_len) != 0 || find_core(m, path, sizeof path, err, err_len) != 0) return -1;
    m->emu.clocked = m->config.epoch_set;
    kl_world_view(m->emu.world, NULL);
    if (open(&m->emu.core, path, err, err_len) != 0) return -1;
    if (kl_library_find(m->emu.core.handle, KLW_API_SYMBOL)) {
        snprintf(err, err_len, "expected an emulator core, got Keylock itself: %.300s", path);
        kl_core_close(&m->emu.core);
        return -1;
    }
    kl_environment_set(memo_name(), path);
    if (turn)
        (void)kl_emulator_turn(&m->emu, m->config.epoch_set ? m->config.epoch_s : kl_wall_us() / 1000000, err,
                               err_len);
    return 0;
}

int kl_open_core_settings(struct kl_match *m, struct kl_config *out, char *err, size_t err_len) {
    if (kl_config_read(out, m->front.system_dir, err, err_len) != 0) return -1;
    return kl_wish_apply(&m->wish, out, err, err_len);
}

void kl_open_core(struct kl_match *m, bool final) {
    char err[KLW_TEXT_MAX], system_dir[4096] = "";
    kl_open_core_folder(m, RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY, system_dir, sizeof system_dir);
    /* a program that only asks for our name has no interface; the frontend that loads us may have one */
    bool lockable = m->state != KL_MATCH_NONE && may_lock(m);
    /* The frontend has told a system folder only now, and there is a configuration in it that nobody has
     * read. */
    char path[4096 + 16];
    snprintf(path, sizeof path, "%s/%s", system_dir, KL_CONFIG_FILE);
    bool news = (*system_dir && strcmp(system_dir, m->front.system_dir) != 0 && kl_file_readable(path)) ||
                m->wish.fresh || (m->state == KL_MATCH_BARE && lockable);
    bool stands = m->emu.core.initialised || !news;
    if (m->state != KL_MATCH_NONE && stands) return;
    if (m->state != KL_MATCH_NONE) kl_core_close(&m->emu.core);
    kl_match_on(m, KL_ON_CLOSED_CORE);
    strcpy(m->front.system_dir, system_dir);
    if (!*m->front.own_path) find_own_path(m);
    if (kl_open_core_settings(m, &m->config, err, sizeof err) != 0 || open_core(m, err, sizeof err) != 0) {
        if (final) kl_frontend_fail(&m->front, "%s", err);
        return;
    }
    m->emu.alone = !may_lock(m);
    kl_match_on(m, m->emu.alone ? KL_ON_BARE : KL_ON_LOCKABLE);
}

#include "core_wrapper/tool/setup/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/cfg_file.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/process.h"

int kl_settings_read(struct kl_settings *s, const char *path, char *err, size_t err_len) {
    void *text = NULL;
    size_t len;
    s->there = false;
    s->text = strdup("");
    int result = kl_file_read(path, KLT_SETTINGS_BYTES, 0, &text, &len, err, err_len);
    if (result == KL_FILE_ABSENT && s->text) return 0;
    if (!s->text) snprintf(err, err_len, "cannot read %s: out of memory", path);
    if (result != 0 || !s->text) {
        free(text);
        return -1;
    }
    free(s->text);
    s->text = text;
    s->there = true;
    return 0;
}

void kl_settings_free(struct kl_settings *s) {
    free(s->text);
    s->text = NULL;
}

bool kl_settings_get(const struct kl_settings *s, const char *key, char *out, size_t cap) {
    return kl_cfg_get(s->text, key, out, cap) > 0;
}

bool kl_settings_put(struct kl_settings *s, const char *key, const char *value) {
    char *text = kl_cfg_put(s->text, key, value);
    if (!text) return false;
    free(s->text);
    s->text = text;
    return true;
}

int kl_settings_write(const struct kl_settings *s, const char *path, char *err, size_t err_len) {
    return kl_file_write_whole(path, s->text, strlen(s->text), KL_FILE_PUBLIC, err, err_len);
}

bool kl_place_write(char out[KLT_PATH], const char *format, ...) {
    int n = KL_FORMAT(out, KLT_PATH, format);
    return n > 0 && n < KLT_PATH;
}

/* Without a home, a path that is not there. */
static const char *home(void) {
    static char path[KLT_PATH];
    return kl_dir_known(KL_DIR_HOME, NULL, path, sizeof path, NULL, 0) == 0 ? path : "/nowhere";
}

/* --- its folders --- */

/* "~" is the home, ":" the program's own folder (Steam's: that of its settings). "D:/" keeps its slash. */
static void expand(const struct kl_place *p, const char *value, char *out) {
    size_t n;
    if (value[0] == '~')
        kl_place_write(out, "%s%s", home(), value + 1);
    else if (value[0] == ':' && (value[1] == '/' || value[1] == '\\'))
        kl_place_write(out, "%s/%s", p->base, value + 2);
    else
        kl_place_write(out, "%s", value);
    kl_file_use_slashes(out);
    for (n = strlen(out); n > 1 && out[n - 1] == '/' && out[n - 2] != ':'; n--)
        out[n - 1] = 0;
}

static void folder(const struct kl_place *p, const char *key, const char *below, char *out) {
    char value[KLT_PATH];
    if (kl_settings_get(&p->values, key, value, sizeof value) && *value && strcmp(value, "default") != 0)
        expand(p, value, out);
    else
        kl_place_write(out, "%s/%s", p->base, below);
}

/* Unlike the others these have a "default" of their own: beside the content. */
static void save_folder(const struct kl_place *p, const char *key, const char *below, char *out) {
    char value[KLT_PATH];
    folder(p, key, below, out);
    if (kl_settings_get(&p->values, key, value, sizeof value) && !strcmp(value, "default")) *out = 0;
}

static bool is_on(const struct kl_place *p, const char *key) {
    char value[16];
    return kl_settings_get(&p->values, key, value, sizeof value) && !strcmp(value, "true");
}

/* Reads the settings again, after a change. */
static int read_place(struct kl_place *p, char *err, size_t err_len) {
    kl_settings_free(&p->values);
    if (kl_settings_read(&p->values, p->config, err, err_len) != 0) return -1;
    if (!p->values.there && *p->skeleton) {
        kl_settings_free(&p->values);
        if (kl_settings_read(&p->values, p->skeleton, err, err_len) != 0) return -1;
        p->values.there = false; /* of its own it has none */
    }
    folder(p, "libretro_directory", "cores", p->cores);
    folder(p, "libretro_info_path", p->info_below, p->info);
    folder(p, "system_directory", "system", p->system);
    folder(p, "rgui_config_directory", "config", p->options);
    folder(p, "input_remapping_directory", "config/remaps", p->remaps);
    folder(p, "playlist_directory", "playlists", p->playlists);
    folder(p, "core_assets_directory", "downloads", p->downloads);
    char value[KLT_PATH];
    p->content[0] = 0;
    if (kl_settings_get(&p->values, "rgui_browser_directory", value, sizeof value) && *value &&
        strcmp(value, "default") != 0)
        expand(p, value, p->content);
    save_folder(p, "savefile_directory", "saves", p->saves);
    save_folder(p, "savestate_directory", "states", p->states);
    p->sort_saves = is_on(p, "sort_savefiles_enable");
    p->sort_states = is_on(p, "sort_savestates_enable");
    return 0;
}

void kl_place_free(struct kl_place *p) {
    kl_settings_free(&p->values);
}

/* --- those that are here --- */

static bool look_in_library(struct kl_place *p, const char *library) {
    p->name = "RetroArch (Steam)";
    p->word = "steam";
    p->info_below = "info";
    return kl_place_write(p->base, "%s/steamapps/common/RetroArch", library) &&
           kl_place_write(p->config, "%s/retroarch.cfg", p->base) && kl_dir_exists(p->base);
}

/* A line of libraryfolders.vdf: "path" "D:\\Games", with backslashes written twice. The text behind it, or
 * NULL. */
static const char *next_library(const char *text, char out[KLT_PATH]) {
    size_t n = 0;
    const char *at = strstr(text, "\"path\"");
    if (at) at = strchr(at + strlen("\"path\""), '"');
    if (!at) return NULL;
    for (at++; *at && *at != '"' && n < KLT_PATH - 1; at++) {
        if (*at == '\\' && at[1]) at++;
        out[n++] = *at;
    }
    out[n] = 0;
    kl_file_use_slashes(out);
    return at;
}

bool kl_place_look_at_steam(struct kl_place *p, const char *steam) {
    struct kl_settings libraries = {0};
    char path[KLT_PATH], ignored[KLT_PATH + 64];
    bool found = look_in_library(p, steam);
    if (!found && kl_place_write(path, "%s/steamapps/libraryfolders.vdf", steam) &&
        kl_settings_read(&libraries, path, ignored, sizeof ignored) == 0)
        for (const char *at = libraries.text; !found && (at = next_library(at, path));)
            found = look_in_library(p, path);
    kl_settings_free(&libraries);
    return found;
}

int kl_place_find(struct kl_place out[KL_PLACES], char *err, size_t err_len) {
    int n = kl_place_look(out);
    for (int i = 0; i < n; i++)
        if (read_place(&out[i], err, err_len) != 0) {
            for (int k = 0; k < i; k++)
                kl_place_free(&out[k]);
            return -1;
        }
    return n;
}

int kl_place_at(struct kl_place *out, const char *folder, char *err, size_t err_len) {
    char real[KLT_PATH];
    memset(out, 0, sizeof *out);
    if (!kl_file_real(folder, real, sizeof real) || !kl_place_look_at(out, real)) return 0;
    return read_place(out, err, err_len) == 0 ? 1 : -1;
}

bool kl_place_core(const struct kl_place *place, int places, const char *name, char out[KLT_PATH]) {
    for (int i = 0; i < places; i++)
        if (place[i].kind != KL_PLACE_BOX &&
            kl_place_write(out, "%s/%s_libretro" KL_LIBRARY_ENDING, place[i].cores, name) &&
            kl_file_kind(out) == KL_FILE_IS_PLAIN)
            return true;
    return false;
}

bool kl_place_program(char *out, size_t cap) {
    static struct kl_place place[KL_PLACES];
    int n = kl_place_look(place);
    for (int i = 0; i < n; i++)
        if (*place[i].program && snprintf(out, cap, "%s", place[i].program) < (int)cap) return true;
    return false;
}

/* --- a change --- */

int kl_place_set(struct kl_place *p, const char *key, const char *value, char *err, size_t err_len) {
    char dir[KLT_PATH];
    snprintf(dir, sizeof dir, "%s", p->config);
    *strrchr(dir, '/') = 0;
    if (kl_dir_make(dir, false, err, err_len) != 0) return -1;
    if (!kl_settings_put(&p->values, key, value)) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    if (kl_settings_write(&p->values, p->config, err, err_len) != 0) return -1;
    return read_place(p, err, err_len);
}

bool kl_place_running(void) {
    char variable[KLT_PATH + 8];
    snprintf(variable, sizeof variable, "HOME=%s", home());
    return kl_process_runs("retroarch", variable);
}

#include "core_wrapper/tool/setup/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/environment.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"

#define SKELETON "/etc/retroarch.cfg"

static bool is_file(const char *path) {
    return kl_file_kind(path) == KL_FILE_IS_PLAIN;
}

__attribute__((format(__printf__, 3, 4))) static bool join(char *out, size_t cap, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out, cap, format, args);
    va_end(args);
    return n > 0 && (size_t)n < cap;
}

static const char *home(void) {
    const char *h = kl_environment_get("HOME");
    return h && *h == '/' ? h : "/nowhere";
}

bool kl_on_path(const char *name, char *out, size_t cap) {
    const char *path = kl_environment_get("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/usr/games"; *at;) {
        size_t len = strcspn(at, ":");
        if (len && join(out, cap, "%.*s/%s", (int)len, at, name) && kl_file_runnable(out)) return true;
        at += len + (at[len] == ':');
    }
    return false;
}

/* ---- its folders ---- */

/* "~" is the home, ":" the program's own folder (Steam's: that of its settings). */
static void expand(const struct kl_place *p, const char *value, char *out) {
    size_t n;
    if (value[0] == '~')
        join(out, KLT_PATH, "%s%s", home(), value + 1);
    else if (value[0] == ':' && (value[1] == '/' || value[1] == '\\'))
        join(out, KLT_PATH, "%s/%s", p->base, value + 2);
    else
        join(out, KLT_PATH, "%s", value);
    for (n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = 0;
}

static void folder(const struct kl_place *p, const char *key, const char *below, char *out) {
    char value[KLT_PATH];
    if (kl_settings_get(&p->values, key, value, sizeof value) && *value && strcmp(value, "default") != 0)
        expand(p, value, out);
    else
        join(out, KLT_PATH, "%s/%s", p->base, below);
}

/* Unlike the others these have a "default" of their own: beside the content. */
static void save_folder(const struct kl_place *p, const char *key, const char *below, char *out) {
    char value[KLT_PATH];
    folder(p, key, below, out);
    if (kl_settings_get(&p->values, key, value, sizeof value) && !strcmp(value, "default")) *out = 0;
}

static void content_folder(struct kl_place *p) {
    char value[KLT_PATH];
    p->content[0] = 0;
    if (kl_settings_get(&p->values, "rgui_browser_directory", value, sizeof value) && *value &&
        strcmp(value, "default") != 0)
        expand(p, value, p->content);
}

static bool is_on(const struct kl_place *p, const char *key) {
    char value[16];
    return kl_settings_get(&p->values, key, value, sizeof value) && !strcmp(value, "true");
}

int kl_place_read(struct kl_place *p, char *err, size_t err_len) {
    kl_settings_free(&p->values);
    if (kl_settings_read(&p->values, p->config, err, err_len) != 0) return -1;
    if (!p->values.there && *p->skeleton) {
        kl_settings_free(&p->values);
        if (kl_settings_read(&p->values, p->skeleton, err, err_len) != 0) return -1;
        p->values.there = false; /* of its own it has none */
    }
    folder(p, "libretro_directory", "cores", p->cores);
    folder(p, "libretro_info_path", p->kind == KL_PLACE_STEAM ? "info" : "cores", p->info);
    folder(p, "system_directory", "system", p->system);
    folder(p, "rgui_config_directory", "config", p->options);
    folder(p, "input_remapping_directory", "config/remaps", p->remaps);
    folder(p, "playlist_directory", "playlists", p->playlists);
    folder(p, "core_assets_directory", "downloads", p->downloads);
    content_folder(p);
    save_folder(p, "savefile_directory", "saves", p->saves);
    save_folder(p, "savestate_directory", "states", p->states);
    p->sort_saves = is_on(p, "sort_savefiles_enable");
    p->sort_states = is_on(p, "sort_savestates_enable");
    return 0;
}

void kl_place_free(struct kl_place *p) {
    kl_settings_free(&p->values);
}

/* ---- cores that are here ---- */

static bool find_native(struct kl_place *p) {
    char program[KLT_PATH], old[KLT_PATH];
    const char *xdg = kl_environment_get("XDG_CONFIG_HOME");
    p->kind = KL_PLACE_NATIVE;
    p->name = "RetroArch";
    p->word = "native";
    if (xdg && *xdg == '/')
        join(p->base, sizeof p->base, "%s/retroarch", xdg);
    else
        join(p->base, sizeof p->base, "%s/.config/retroarch", home());
    join(p->config, sizeof p->config, "%s/retroarch.cfg", p->base);
    join(old, sizeof old, "%s/.retroarch.cfg", home());
    if (!is_file(p->config) && is_file(old)) strcpy(p->config, old);
    if (is_file(SKELETON)) strcpy(p->skeleton, SKELETON);
    return is_file(p->config) || kl_on_path("retroarch", program, sizeof program);
}

static bool find_flatpak(struct kl_place *p) {
    p->kind = KL_PLACE_FLATPAK;
    p->name = "RetroArch (Flatpak)";
    p->word = "flatpak";
    join(p->base, sizeof p->base, "%s/.var/app/org.libretro.RetroArch/config/retroarch", home());
    join(p->config, sizeof p->config, "%s/retroarch.cfg", p->base);
    return kl_dir_exists(p->base);
}

static bool find_steam(struct kl_place *p) {
    static const char *const roots[] = {".local/share/Steam", ".steam/steam",
                                        ".var/app/com.valvesoftware.Steam/.local/share/Steam"};
    p->kind = KL_PLACE_STEAM;
    p->name = "RetroArch (Steam)";
    p->word = "steam";
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        join(p->base, sizeof p->base, "%s/%s/steamapps/common/RetroArch", home(), roots[i]);
        join(p->config, sizeof p->config, "%s/retroarch.cfg", p->base);
        if (kl_dir_exists(p->base)) return true;
    }
    return false;
}

int kl_place_find(struct kl_place out[KL_PLACES], char *err, size_t err_len) {
    static bool (*const find[KL_PLACES])(struct kl_place *) = {find_native, find_flatpak, find_steam};
    int n = 0;
    for (size_t i = 0; i < KL_PLACES; i++) {
        memset(&out[n], 0, sizeof out[n]);
        if (!find[i](&out[n])) continue;
        if (kl_place_read(&out[n], err, err_len) != 0) return -1;
        n++;
    }
    return n;
}

/* ---- a change ---- */

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
    return kl_place_read(p, err, err_len);
}

bool kl_place_running(void) {
    char variable[KLT_PATH + 8];
    snprintf(variable, sizeof variable, "HOME=%s", home());
    return kl_process_runs("retroarch", variable);
}

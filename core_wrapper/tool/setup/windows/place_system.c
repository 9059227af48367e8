/* Upstream's RetroArch keeps its settings and all folders beside its program, wherever the player has put it.
 */
#include "core_wrapper/tool/setup/place.h"

#include <string.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/desktop.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

const struct kl_place_words kl_place_words = {
    .looked = "retroarch.exe in the folder of keylock.exe or the one above it, in a folder of PATH, in "
              "C:\\RetroArch-Win64, or Steam's; --for FOLDER names another",
    .get_retroarch = "Install RetroArch, or put Keylock's folder into the folder of retroarch.exe.",
    .get_core = "in RetroArch Main Menu, Load Core, Download a Core",
    .get_wrapper = "Unpack Keylock's zip again: keylock_libretro.dll belongs beside keylock.exe.",
    .mend_wrapper = "Unpack Keylock's zip again, and see if a virus scanner has taken a file away.",
    .games = "games",
};

static bool is_file(const char *path) {
    return kl_file_kind(path) == KL_FILE_IS_PLAIN;
}

/* RetroArch looks beside its program first, then in the user's folder of settings. */
static void find_config(struct kl_place *p) {
    char users[KLT_PATH];
    if (is_file(p->config) || kl_dir_known(KL_DIR_CONFIG, "retroarch.cfg", users, sizeof users, NULL, 0) != 0)
        return;
    if (is_file(users)) strcpy(p->config, users);
}

bool kl_place_look_at(struct kl_place *p, const char *folder) {
    p->kind = KL_PLACE_COPIES;
    p->name = "RetroArch";
    p->word = "native";
    p->info_below = "info";
    if (!kl_place_write(p->base, "%s", folder) || !kl_place_write(p->config, "%s/retroarch.cfg", folder) ||
        !kl_place_write(p->program, "%s/retroarch.exe", folder))
        return false;
    if (!kl_file_runnable(p->program)) p->program[0] = 0;
    bool here = is_file(p->config) || *p->program;
    find_config(p);
    return here;
}

/* The folder of the path's file. */
static bool look_beside(struct kl_place *p, char path[KLT_PATH]) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return slash && kl_place_look_at(p, path);
}

static bool find_native(struct kl_place *p) {
    static const char *const usual[] = {"C:/RetroArch-Win64", "C:/RetroArch"};
    char path[KLT_PATH];
    if (tool_own_dir(path, sizeof path) == 0 && (kl_place_look_at(p, path) || look_beside(p, path)))
        return true;
    if (kl_process_find("retroarch", path, sizeof path) && look_beside(p, path)) return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (kl_place_look_at(p, usual[i])) return true;
    return kl_dir_known(KL_DIR_CONFIG, "RetroArch", path, sizeof path, NULL, 0) == 0 &&
           kl_place_look_at(p, path);
}

static bool find_steam(struct kl_place *p) {
    char steam[KLT_PATH];
    p->kind = KL_PLACE_COPIES;
    if (!kl_desktop_setting("Software/Valve/Steam", "SteamPath", steam, sizeof steam))
        strcpy(steam, "C:/Program Files (x86)/Steam");
    kl_file_use_slashes(steam);
    if (!kl_place_look_at_steam(p, steam)) return false;
    if (!kl_place_write(p->program, "%s/retroarch.exe", p->base) || !kl_file_runnable(p->program))
        p->program[0] = 0;
    return true;
}

/* One that lies in Steam's folder is found twice if keylock.exe lies there, too. */
int kl_place_look(struct kl_place out[KL_PLACES]) {
    int n = 0;
    memset(out, 0, KL_PLACES * sizeof *out);
    n += find_native(&out[n]);
    bool steam = find_steam(&out[n]);
    if (n && steam && !strcmp(out[0].base, out[1].base)) out[--n] = out[1];
    if (!steam) memset(&out[n], 0, sizeof out[n]);
    return n + steam;
}

#include "core_wrapper/tool/setup/place.h"

#include <string.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

#define SKELETON "/etc/retroarch.cfg"

const struct kl_place_words kl_place_words = {
    .looked = "retroarch on PATH or its settings in ~/.config/retroarch, Flatpak's in "
              "~/.var/app/org.libretro.RetroArch, or Steam's in steamapps/common/RetroArch",
    .get_retroarch = "Install RetroArch: apt-get install retroarch.",
    .get_core = "a package libretro-… of the distribution, or in RetroArch Main Menu, Load Core, Download a "
                "Core",
    .get_wrapper = "Run make install, or name the wrapper with --wrapper.",
    .mend_wrapper = "Install the library that this message names, or build Keylock here (make deps, make).",
    .games = "../share/keylock",
};

static bool is_file(const char *path) {
    return kl_file_kind(path) == KL_FILE_IS_PLAIN;
}

/* "HOME/BELOW"; without a home, a path that is not there. */
static bool in_home(char out[KLT_PATH], const char *below) {
    return kl_dir_known(KL_DIR_HOME, below, out, KLT_PATH, NULL, 0) == 0 ||
           kl_place_write(out, "/nowhere/%s", below);
}

static bool find_native(struct kl_place *p) {
    char old[KLT_PATH];
    p->kind = KL_PLACE_LINKS;
    p->name = "RetroArch";
    p->word = "native";
    p->info_below = "cores";
    if (kl_dir_known(KL_DIR_CONFIG, "retroarch", p->base, KLT_PATH, NULL, 0) != 0)
        in_home(p->base, ".config/retroarch");
    kl_place_write(p->config, "%s/retroarch.cfg", p->base);
    in_home(old, ".retroarch.cfg");
    if (!is_file(p->config) && is_file(old)) strcpy(p->config, old);
    if (is_file(SKELETON)) strcpy(p->skeleton, SKELETON);
    if (!kl_process_find("retroarch", p->program, KLT_PATH)) p->program[0] = 0;
    return is_file(p->config) || *p->program;
}

static bool find_flatpak(struct kl_place *p) {
    p->kind = KL_PLACE_BOX;
    p->name = "RetroArch (Flatpak)";
    p->word = "flatpak";
    p->info_below = "cores";
    in_home(p->base, ".var/app/org.libretro.RetroArch/config/retroarch");
    kl_place_write(p->config, "%s/retroarch.cfg", p->base);
    return kl_dir_exists(p->base);
}

static bool find_steam(struct kl_place *p) {
    static const char *const roots[] = {".local/share/Steam", ".steam/steam",
                                        ".var/app/com.valvesoftware.Steam/.local/share/Steam"};
    char root[KLT_PATH];
    p->kind = KL_PLACE_BOX;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (in_home(root, roots[i]) && kl_place_look_at_steam(p, root)) return true;
    return false;
}

int kl_place_look(struct kl_place out[KL_PLACES]) {
    static bool (*const find[KL_PLACES])(struct kl_place *) = {find_native, find_flatpak, find_steam};
    int n = 0;
    for (size_t i = 0; i < KL_PLACES; i++) {
        memset(&out[n], 0, sizeof out[n]);
        n += find[i](&out[n]);
    }
    return n;
}

bool kl_place_look_at(struct kl_place *p, const char *folder) {
    p->kind = KL_PLACE_LINKS;
    p->name = "RetroArch";
    p->word = "native";
    p->info_below = "cores";
    if (!kl_place_write(p->base, "%s", folder) || !kl_place_write(p->config, "%s/retroarch.cfg", folder))
        return false;
    if (!kl_place_write(p->program, "%s/retroarch", folder) || !kl_file_runnable(p->program))
        p->program[0] = 0;
    return is_file(p->config) || *p->program;
}

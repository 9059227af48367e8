/* Finding a core by its name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/core.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

/* RetroArch's folders of cores, by the ways to install it. */
static const struct {
    const char *path;
    bool whole; /* else it is a folder below this one */
    enum kl_dir_known below;
} usual[] = {
#ifdef _WIN32 /* the zip's default, the installer's, Steam's */
    {"RetroArch/cores", false, KL_DIR_CONFIG},
    {"C:/RetroArch-Win64/cores", true, 0},
    {"C:/RetroArch/cores", true, 0},
    {"C:/Program Files (x86)/Steam/steamapps/common/RetroArch/cores", true, 0},
#else
    {".config/retroarch/cores", false, KL_DIR_HOME},
#if defined(__x86_64__)
    {"/usr/lib/x86_64-linux-gnu/libretro", true, 0},
#elif defined(__aarch64__)
    {"/usr/lib/aarch64-linux-gnu/libretro", true, 0},
#endif
    {"/usr/lib/libretro", true, 0},
    {"/usr/lib64/libretro", true, 0},
    {"/usr/local/lib/libretro", true, 0},
    {".var/app/org.libretro.RetroArch/config/retroarch/cores", false, KL_DIR_HOME},
    {"snap/retroarch/current/.config/retroarch/cores", false, KL_DIR_HOME},
#endif
};

struct search {
    const char *name;
    char *out, *looked;
    size_t cap, looked_cap;
};

static bool try_file(struct search *s, const char *dir, const char *suffix) {
    int len = snprintf(s->out, s->cap, "%s/%s%s", dir, s->name, suffix);
    return len > 0 && (size_t)len < s->cap && kl_file_kind(s->out) == KL_FILE_IS_PLAIN;
}

static bool try_dir(struct search *s, const char *dir) {
    size_t used = strlen(s->looked);
    snprintf(s->looked + used, s->looked_cap - used, "%s%s", used ? ", " : "", dir);
    return try_file(s, dir, "") || try_file(s, dir, "_libretro" KL_LIBRARY_ENDING) ||
           try_file(s, dir, KL_LIBRARY_ENDING);
}

/* A folder below one of the user's. */
static bool try_known(struct search *s, enum kl_dir_known which, const char *below) {
    char dir[KL_FILE_PATH];
    return kl_dir_known(which, below, dir, sizeof(dir), NULL, 0) == 0 && try_dir(s, dir);
}

static bool try_all(struct search *s, const char *const *dirs) {
    for (; dirs && *dirs; dirs++)
        if (try_dir(s, *dirs)) return true;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (usual[i].whole ? try_dir(s, usual[i].path) : try_known(s, usual[i].below, usual[i].path))
            return true;
    return try_dir(s, ".");
}

int kl_core_find(const char *name_or_path, const char *const *dirs, char *out, size_t cap, char *err,
                 size_t err_len) {
    char looked[2048] = "";
    struct search s = {name_or_path, out, looked, cap, sizeof(looked)};
    if (strpbrk(name_or_path, "/\\")) {
        if (strlen(name_or_path) < cap && kl_file_kind(name_or_path) != KL_FILE_IS_NONE) {
            memcpy(out, name_or_path, strlen(name_or_path) + 1);
            return 0;
        }
        snprintf(err, err_len, "no core at %s: %s", name_or_path, strerror(errno));
        return -1;
    }
    if (*name_or_path && try_all(&s, dirs)) return 0;
    snprintf(err, err_len, "no core named \"%s\": looked for %s and %s_libretro" KL_LIBRARY_ENDING " in %s",
             name_or_path, name_or_path, name_or_path, looked);
    return -1;
}

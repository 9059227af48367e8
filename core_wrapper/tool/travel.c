#include "core_wrapper/tool/travel.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/settings.h"

#define LIBRARIES 32

struct luggage {
    char soname[LIBRARIES][128];
    unsigned count;
};

/* Those that every box has, of its own version: a second copy of them in one process is a crash. */
static bool stays(const char *soname) {
    static const char *const its[] = {"libc.so",  "libm.so",  "libdl.so",    "libpthread.so",
                                      "librt.so", "ld-linux", "libgcc_s.so", "libstdc++.so"};
    for (size_t i = 0; i < sizeof its / sizeof *its; i++)
        if (!strncmp(soname, its[i], strlen(its[i]))) return true;
    return false;
}

static void pack(struct luggage *l, const char *soname) {
    for (unsigned i = 0; i < l->count; i++)
        if (!strcmp(l->soname[i], soname)) return;
    if (!stays(soname) && l->count < LIBRARIES)
        snprintf(l->soname[l->count++], sizeof l->soname[0], "%s", soname);
}

/* What a loaded object names as needed (DT_NEEDED). The loader has made the string table's address absolute.
 */
static void pack_needed(struct luggage *l, const struct link_map *map) {
    const char *strings = NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED) pack(l, strings + d->d_un.d_val);
}

static struct link_map *map_of(void *handle) {
    struct link_map *map = NULL;
    return handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

static int carry(struct luggage *l, unsigned i, const char *folder, char *err, size_t err_len) {
    char to[KLT_PATH];
    void *handle = dlopen(l->soname[i], RTLD_LAZY | RTLD_LOCAL);
    const struct link_map *map = map_of(handle);
    int r = -1;
    if (!map) {
        snprintf(err, err_len, "the wrapper needs %s, which is not here: %s", l->soname[i], dlerror());
    } else {
        pack_needed(l, map);
        snprintf(to, sizeof to, "%.3900s/%s", folder, l->soname[i]);
        r = kl_file_copy(map->l_name, to, KL_FILE_PUBLIC | KL_FILE_NO_LINK, err, err_len);
    }
    if (handle) dlclose(handle);
    return r < 0 ? -1 : 0;
}

int kl_travel(const char *wrapper, const char *cores, char *said, size_t said_len, char *err,
              size_t err_len) {
    static struct luggage l;
    char folder[KLT_PATH];
    size_t used = 0;
    void *handle = dlopen(wrapper, RTLD_LAZY | RTLD_LOCAL);
    const struct link_map *map = map_of(handle);
    l.count = 0;
    said[0] = 0;
    if (map) pack_needed(&l, map);
    if (!map) snprintf(err, err_len, "cannot load the wrapper %s: %s", wrapper, dlerror());
    if (handle) dlclose(handle);
    snprintf(folder, sizeof folder, "%.4000s/%s", cores, KLT_TRAVEL_FOLDER);
    if (!map || kl_dir_make(folder, false, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < l.count; i++) {
        if (carry(&l, i, folder, err, err_len) != 0) return -1;
        if (used < said_len)
            used += (size_t)snprintf(said + used, said_len - used, "%s%s", i ? " " : "", l.soname[i]);
    }
    return 0;
}

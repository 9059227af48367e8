#include "core_wrapper/tool/setup/install.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/library.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/setup/place.h"

#define LIBRARIES 32

struct luggage {
    char soname[LIBRARIES][KL_LIBRARY_NAME];
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
        snprintf(l->soname[l->count++], sizeof l->soname[0], "%.127s", soname);
}

static void pack_needed(struct luggage *l, void *library) {
    char name[LIBRARIES][KL_LIBRARY_NAME];
    unsigned count = kl_library_needs(library, name, LIBRARIES);
    for (unsigned i = 0; i < count; i++)
        pack(l, name[i]);
}

static int carry(struct luggage *l, unsigned i, const char *folder, char *err, size_t err_len) {
    char from[KLT_PATH], to[KLT_PATH], why[1024];
    void *library = kl_library_open(l->soname[i], why, sizeof why);
    int r = -1;
    if (!library || !kl_library_file(library, from, sizeof from)) {
        snprintf(err, err_len, "the wrapper needs %s, which is not here: %s", l->soname[i],
                 library ? "its file is unknown" : why);
    } else {
        pack_needed(l, library);
        snprintf(to, sizeof to, "%.3900s/%s", folder, l->soname[i]);
        r = kl_file_copy(from, to, KL_FILE_PUBLIC | KL_FILE_NO_LINK, err, err_len);
    }
    kl_library_close(library);
    return r < 0 ? -1 : 0;
}

int kl_travel(const char *wrapper, const char *cores, char *said, size_t said_len, char *err,
              size_t err_len) {
    static struct luggage l;
    char folder[KLT_PATH];
    size_t used = 0;
    char why[1024];
    void *library = kl_library_open(wrapper, why, sizeof why);
    l.count = 0;
    said[0] = 0;
    if (!library) {
        snprintf(err, err_len, "cannot load the wrapper %s: %s", wrapper, why);
        return -1;
    }
    pack_needed(&l, library);
    kl_library_close(library);
    snprintf(folder, sizeof folder, "%.4000s/%s", cores, KLT_TRAVEL_FOLDER);
    if (kl_dir_make(folder, false, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < l.count; i++) {
        if (carry(&l, i, folder, err, err_len) != 0) return -1;
        if (used < said_len)
            used += (size_t)snprintf(said + used, said_len - used, "%s%s", i ? " " : "", l.soname[i]);
    }
    return 0;
}

#include "net/platform/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

void *kl_library_open(const char *path, char *err, size_t err_len) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(err, err_len, "%s", dlerror());
    return library;
}

void kl_library_move(const char *path) {
    (void)path;
}

void kl_library_close(void *library) {
    if (library) dlclose(library);
}

bool kl_library_loaded(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    kl_library_close(library);
    return library != NULL;
}

void *kl_library_find(void *library, const char *symbol) {
    return dlsym(library, symbol);
}

static const struct link_map *map_of(void *library) {
    struct link_map *map = NULL;
    return library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

const void *kl_library_record(void *library) {
    return map_of(library);
}

static bool give(const char *text, char *out, size_t cap) {
    return text && (size_t)snprintf(out, cap, "%s", text) < cap;
}

bool kl_library_file(void *library, char *out, size_t cap) {
    const struct link_map *map = map_of(library);
    return map && give(map->l_name, out, cap);
}

bool kl_library_file_of(const void *address, char *out, size_t cap) {
    Dl_info info;
    return dladdr(address, &info) && give(info.dli_fname, out, cap);
}

/* DT_NEEDED. The loader has made the string table's address absolute. */
unsigned kl_library_needs(void *library, char name[][KL_LIBRARY_NAME], unsigned max) {
    const struct link_map *map = map_of(library);
    const char *strings = NULL;
    unsigned count = 0;
    for (const ElfW(Dyn) *d = map ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    for (const ElfW(Dyn) *d = strings ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && count < max)
            snprintf(name[count++], KL_LIBRARY_NAME, "%s", strings + d->d_un.d_val);
    return count;
}

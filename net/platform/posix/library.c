#include "net/platform/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

bool kl_library_share(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
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

struct parts {
    const struct link_map *map;
    struct kl_library_part *at;
    unsigned count, max;
};

static void add_part(struct parts *p, uintptr_t from, uintptr_t to, bool local) {
    if (to > from && p->count < p->max)
        p->at[p->count] = (struct kl_library_part){(unsigned char *)from, to - from, local};
    p->count += to > from;
}

/* The pages that are read-only once the library is relocated are none. */
static int find_parts(struct dl_phdr_info *info, size_t size, void *user) {
    struct parts *p = user;
    uintptr_t rest = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, relocated = 0;
    (void)size;
    if (info->dlpi_addr != p->map->l_addr || strcmp(info->dlpi_name, p->map->l_name) != 0) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t local = (uintptr_t)info->dlpi_tls_data;
        if (h->p_type == PT_GNU_RELRO) relocated = (info->dlpi_addr + h->p_vaddr + h->p_memsz) & ~rest;
        if (h->p_type == PT_TLS && local) add_part(p, local, local + h->p_memsz, true);
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + h->p_vaddr) & ~rest;
        uintptr_t to = (info->dlpi_addr + h->p_vaddr + h->p_memsz + rest) & ~rest;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_W)) continue;
        add_part(p, relocated > from && relocated <= to ? relocated : from, to, false);
    }
    return 1;
}

unsigned kl_library_parts(void *library, struct kl_library_part *part, unsigned max) {
    struct parts p = {.map = map_of(library), .at = part, .max = max};
    if (p.map) dl_iterate_phdr(find_parts, &p);
    return p.count;
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

#include "core_wrapper/core/ctors.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "net/platform/library.h"

#define BLANK 0x6000f00d /* a tag of no meaning, in the range left to systems: the loader passes it over */

extern char **environ;

/* The dynamic section within the mapped file; NULL if the file is malformed. */
static ElfW(Dyn) * find_dynamic(uint8_t *file, size_t len, size_t *count) {
    const ElfW(Ehdr) *h = (const void *)file;
    bool elf = len >= sizeof *h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_type == ET_DYN &&
               h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
               h->e_phentsize == sizeof(ElfW(Phdr));
    if (!elf || h->e_phoff > len || (len - h->e_phoff) / sizeof(ElfW(Phdr)) < h->e_phnum) return NULL;
    const ElfW(Phdr) *p = (const void *)(file + h->e_phoff);
    for (unsigned i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type != PT_DYNAMIC) continue;
        if (p[i].p_offset > len || len - p[i].p_offset < p[i].p_filesz) return NULL;
        *count = p[i].p_filesz / sizeof(ElfW(Dyn));
        return (void *)(file + p[i].p_offset);
    }
    return NULL;
}

static void blank(ElfW(Dyn) * d, size_t count, struct kl_ctors *out) {
    for (size_t i = 0; i < count && d[i].d_tag != DT_NULL; i++) {
        switch (d[i].d_tag) {
        case DT_INIT:
            out->init = d[i].d_un.d_ptr;
            d[i].d_tag = BLANK;
            break;
        case DT_INIT_ARRAY: out->array = d[i].d_un.d_ptr; break;
        case DT_INIT_ARRAYSZ:
            out->count = d[i].d_un.d_val / sizeof(void *);
            d[i].d_un.d_val = 0;
            break;
        default: break;
        }
    }
}

int kl_ctors_take(void *file, size_t len, struct kl_ctors *out) {
    size_t count = 0;
    memset(out, 0, sizeof *out);
    ElfW(Dyn) *dynamic = find_dynamic(file, len, &count);
    if (dynamic) blank(dynamic, count, out);
    return dynamic ? 0 : -1;
}

void kl_ctors_run(struct kl_ctors *c, void *handle) {
    static char name[] = "keylock", *argv[] = {name, NULL};
    typedef void (*function)(int, char **, char **);
    const struct kl_ctors todo = *c;
    const struct link_map *map = kl_library_record(handle);
    memset(c, 0, sizeof *c);
    if (!map) return;
    if (todo.init) ((function)(map->l_addr + todo.init))(1, argv, environ);
    const ElfW(Addr) *array = (const void *)(map->l_addr + todo.array);
    for (uint64_t i = 0; i < todo.count; i++)
        if (array[i] != 0 && array[i] != (ElfW(Addr)) - 1) ((function)array[i])(1, argv, environ);
}

/* The imports of an ELF object: undefined symbols that its relocations refer to. */
#include "core_wrapper/world/world_private.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/platform/library.h"

const char kl_world_system[] = "Linux";

const struct kl_not_turned kl_world_not_turned[] = {
    {"times", "processor time"},
    {"getrusage", "processor time"},
    {"timer_create", "a timer of the host"},
    {"timer_settime", "a timer of the host"},
    {"timerfd_settime", "a timer of the host"},
    {"setitimer", "a timer of the host"},
    {"alarm", "a timer of the host"},
    {"syscall", "may ask for the time past the C library"},
    {"dlopen", KL_LOADED_REASON},
    {"dlmopen", KL_LOADED_REASON},
    {"random_r", "seeded by the core itself"},
    {"environ", KL_PLAYER_REASON},
    {"__environ", KL_PLAYER_REASON},
    {"getuid", KL_PLAYER_REASON},
    {"geteuid", KL_PLAYER_REASON},
    {"getgid", KL_PLAYER_REASON},
    {"getegid", KL_PLAYER_REASON},
    {"getpw*", KL_PLAYER_REASON},
    {"getlogin*", KL_PLAYER_REASON},
    {"cuserid", KL_PLAYER_REASON},
    {"statvfs*", "the room on the host's disk"},
    {"fstatvfs*", "the room on the host's disk"},
    {"statfs*", "the room on the host's disk"},
    {"fstatfs*", "the room on the host's disk"},
    {"getrlimit*", "the host's limits"},
    {"getifaddrs", "the host's network"},
    {"getaddrinfo", "the host's network"},
    {"gethostbyname*", "the host's network"},
    {"popen", "another program's answer"},
    {"system", "another program's answer"},
    {"GOMP_parallel*", "as many threads as the host has processors"},
    {"SDL_GetTicks*", "the clock of a library"},
    {"SDL_GetPerformanceCounter", "the clock of a library"},
    {"_ZNSt6chrono*", "a C++ clock"},
    {NULL, NULL},
};

/* None: dlopen() is listed. */
const struct kl_hook kl_world_import_hooks[] = {
    KL_HOOK_END,
};

#if defined(__x86_64__)
#define RELOC_SLOT R_X86_64_JUMP_SLOT
#define RELOC_DATA R_X86_64_GLOB_DAT
#define RELOC_WORD R_X86_64_64
#elif defined(__aarch64__)
#define RELOC_SLOT R_AARCH64_JUMP_SLOT
#define RELOC_DATA R_AARCH64_GLOB_DAT
#define RELOC_WORD R_AARCH64_ABS64
#endif

#ifndef RELOC_SLOT

int kl_world_imports(struct kl_world *w, void *handle, kl_replace replace, void *user, char *err,
                     size_t err_len) {
    (void)w, (void)handle, (void)replace, (void)user;
    snprintf(err, err_len,
             "cannot hook the core's imports: written for ELF on x86_64 and aarch64, not for this machine");
    return -1;
}
void kl_world_code(struct kl_world *w, void *handle) {
    (void)w, (void)handle;
}

#else

struct object {
    ElfW(Addr) base;
    const char *name;
    const ElfW(Phdr) * phdr;
    unsigned phdr_count;
    const ElfW(Sym) * symtab;
    const char *strtab;
    const ElfW(Rela) * rela, *jmprel;
    size_t rela_bytes, jmprel_bytes;
    int64_t pltrel;
};

/* glibc relocates the addresses in the dynamic section in place; others leave them relative. */
static const void *dyn_ptr(const struct object *o, ElfW(Addr) p) {
    return (const void *)(p < o->base ? p + o->base : p);
}

static void read_dynamic(struct object *o, const ElfW(Dyn) * d) {
    for (; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_SYMTAB: o->symtab = dyn_ptr(o, d->d_un.d_ptr); break;
        case DT_STRTAB: o->strtab = dyn_ptr(o, d->d_un.d_ptr); break;
        case DT_RELA: o->rela = dyn_ptr(o, d->d_un.d_ptr); break;
        case DT_RELASZ: o->rela_bytes = d->d_un.d_val; break;
        case DT_JMPREL: o->jmprel = dyn_ptr(o, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: o->jmprel_bytes = d->d_un.d_val; break;
        case DT_PLTREL: o->pltrel = (int64_t)d->d_un.d_val; break;
        default: break;
        }
    }
}

static int match_phdr(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    struct object *o = user;
    if (info->dlpi_addr != o->base || strcmp(info->dlpi_name, o->name) != 0) return 0;
    o->phdr = info->dlpi_phdr;
    o->phdr_count = info->dlpi_phnum;
    return 1;
}

static int read_object(struct object *o, void *handle, char *err, size_t err_len) {
    const struct link_map *map = kl_library_record(handle);
    memset(o, 0, sizeof(*o));
    if (!map) {
        snprintf(err, err_len, "cannot hook the core's imports: the loader has no record of it");
        return -1;
    }
    o->base = map->l_addr;
    o->name = map->l_name;
    o->pltrel = DT_RELA;
    read_dynamic(o, map->l_ld);
    dl_iterate_phdr(match_phdr, o);
    if (!o->symtab || !o->strtab || !o->phdr || o->pltrel != DT_RELA) {
        snprintf(err, err_len,
                 "cannot hook the core's imports: expected symbol table, program headers and RELA in %s",
                 map->l_name);
        return -1;
    }
    return 0;
}

/* How the page of `at` is protected once the object is loaded: its segment's flags, read-only in RELRO. */
static int page_protection(const struct object *o, ElfW(Addr) at, ElfW(Addr) page_bytes) {
    int prot = PROT_READ;
    for (unsigned i = 0; i < o->phdr_count; i++) {
        const ElfW(Phdr) *p = &o->phdr[i];
        ElfW(Addr) start = o->base + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_LOAD && at >= start && at < end)
            prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
                   (p->p_flags & PF_X ? PROT_EXEC : 0);
    }
    for (unsigned i = 0; i < o->phdr_count; i++) {
        const ElfW(Phdr) *p = &o->phdr[i];
        ElfW(Addr) start = (o->base + p->p_vaddr) & ~(page_bytes - 1);
        ElfW(Addr) end = (o->base + p->p_vaddr + p->p_memsz) & ~(page_bytes - 1);
        if (p->p_type == PT_GNU_RELRO && at >= start && at < end) prot &= ~PROT_WRITE;
    }
    return prot;
}

static int poke(const struct object *o, ElfW(Addr) at, ElfW(Addr) value, char *err, size_t err_len) {
    ElfW(Addr) page_bytes = (ElfW(Addr))sysconf(_SC_PAGESIZE), page = at & ~(page_bytes - 1);
    int prot = page_protection(o, at, page_bytes);
    bool locked = !(prot & PROT_WRITE);
    if (locked && mprotect((void *)page, page_bytes, prot | PROT_WRITE) != 0) {
        snprintf(err, err_len, "cannot hook the core's imports: its relocated table stays read-only (%s)",
                 strerror(errno));
        return -1;
    }
    __atomic_store_n((ElfW(Addr) *)at, value, __ATOMIC_RELEASE);
    if (locked) mprotect((void *)page, page_bytes, prot);
    return 0;
}

static int walk(const struct object *o, const ElfW(Rela) * r, size_t bytes, kl_replace replace, void *user,
                char *err, size_t err_len) {
    for (size_t i = 0; r && i < bytes / sizeof(*r); i++) {
        unsigned type = (unsigned)ELF64_R_TYPE(r[i].r_info);
        if (type != RELOC_SLOT && type != RELOC_DATA && type != RELOC_WORD) continue;
        const ElfW(Sym) *sym = &o->symtab[ELF64_R_SYM(r[i].r_info)];
        if (sym->st_shndx != SHN_UNDEF || sym->st_name == 0) continue;
        ElfW(Addr) at = o->base + r[i].r_offset, addend = type == RELOC_WORD ? (ElfW(Addr))r[i].r_addend : 0;
        void *fn =
            replace(user, KL_FROM_RUNTIME, o->strtab + sym->st_name, (void *)(*(ElfW(Addr) *)at - addend));
        if (!fn) continue;
        if (poke(o, at, (ElfW(Addr))fn + addend, err, err_len) != 0) return -1;
    }
    return 0;
}

int kl_world_imports(struct kl_world *w, void *handle, kl_replace replace, void *user, char *err,
                     size_t err_len) {
    (void)w;
    struct object o;
    if (read_object(&o, handle, err, err_len) != 0) return -1;
    if (walk(&o, o.rela, o.rela_bytes, replace, user, err, err_len) != 0) return -1;
    return walk(&o, o.jmprel, o.jmprel_bytes, replace, user, err, err_len);
}

void kl_world_code(struct kl_world *w, void *handle) {
    char err[256];
    struct object o;
    if (read_object(&o, handle, err, sizeof err) != 0) return;
    for (unsigned i = 0; i < o.phdr_count; i++)
        if (o.phdr[i].p_type == PT_LOAD && o.phdr[i].p_flags & PF_X && o.phdr[i].p_flags & PF_R)
            kl_world_scan(w, (const void *)(o.base + o.phdr[i].p_vaddr), o.phdr[i].p_filesz);
}

#endif

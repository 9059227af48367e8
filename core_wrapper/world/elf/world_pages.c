/* The memory of one core, by pages: see pages.h. */
#include "core_wrapper/world/pages.h"
#include "core_wrapper/world/elf/arena.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/platform/library.h"

#define AREAS_MAX   16
#define HOT_MAX     8192u /* pages; beyond it the core takes too much memory */
#define STACK_BYTES 65536

struct area {
    uint8_t *from;
    size_t bytes;
};
struct slot {
    uint8_t *bytes; /* of `hot` pages; cap of them are allocated */
    size_t hot, cap;
    uint8_t *tls;
    bool kept;
};
struct kl_pages {
    struct kl_world *world;
    void *handle;
    struct area heap, tls, areas[AREAS_MAX];
    unsigned area_count;
    size_t page_bytes;
    bool on, too_many;
    uint8_t *hot[HOT_MAX]; /* by the order of their first writes */
    uint8_t *first;        /* the bytes of each before it */
    size_t hot_count;
    atomic_flag busy;
    struct sigaction old;
    uint8_t *stack; /* of the signal, if the thread had none */
    struct slot slot[KL_PAGES_SLOTS];
};
static struct kl_pages *the_pages; /* of the core that has it; NULL: none */

/* --- the areas --- */

static void add_area(struct kl_pages *p, uintptr_t from, uintptr_t to) {
    if (to <= from) return;
    if (p->area_count < AREAS_MAX) p->areas[p->area_count] = (struct area){(uint8_t *)from, to - from};
    p->area_count++;
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *user) {
    struct kl_pages *p = user;
    const struct link_map *map = kl_library_record(p->handle);
    uintptr_t rest = p->page_bytes - 1, read_only = 0;
    (void)size;
    if (!map || info->dlpi_addr != map->l_addr || strcmp(info->dlpi_name, map->l_name) != 0) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_GNU_RELRO) read_only = (info->dlpi_addr + h->p_vaddr + h->p_memsz) & ~rest;
        if (h->p_type == PT_TLS && info->dlpi_tls_data)
            p->tls = (struct area){info->dlpi_tls_data, h->p_memsz};
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + h->p_vaddr) & ~rest;
        uintptr_t to = (info->dlpi_addr + h->p_vaddr + h->p_memsz + rest) & ~rest;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_W)) continue;
        add_area(p, read_only > from && read_only <= to ? read_only : from, to);
    }
    return 1;
}

static bool find_areas(struct kl_pages *p) {
    p->area_count = 0;
    p->tls = (struct area){0};
    dl_iterate_phdr(find_segments, p);
    add_area(p, (uintptr_t)p->heap.from, (uintptr_t)p->heap.from + p->heap.bytes);
    return p->area_count <= AREAS_MAX;
}

static bool protect(const struct kl_pages *p, int mode) {
    bool good = true;
    for (unsigned i = 0; i < p->area_count; i++)
        good = mprotect(p->areas[i].from, p->areas[i].bytes, mode) == 0 && good;
    return good;
}

/* --- the first write to a page --- */

/* False: the address is none of the core's. */
static bool open_page(struct kl_pages *p, uint8_t *at) {
    uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(p->page_bytes - 1));
    bool ours = false;
    for (unsigned i = 0; i < p->area_count && !ours; i++)
        ours = page >= p->areas[i].from && page < p->areas[i].from + p->areas[i].bytes;
    if (!ours || !p->on) return false;
    while (atomic_flag_test_and_set(&p->busy)) {
    }
    bool known = false; /* by another thread, since the fault */
    for (size_t i = p->hot_count; i > 0 && !known; i--)
        known = p->hot[i - 1] == page;
    bool fits = p->hot_count < HOT_MAX;
    if (!known && fits) {
        memcpy(p->first + p->hot_count * p->page_bytes, page, p->page_bytes);
        p->hot[p->hot_count] = page;
    }
    bool opened = mprotect(page, p->page_bytes, PROT_READ | PROT_WRITE) == 0;
    if (opened && !known && fits) p->hot_count++;
    p->too_many |= !fits;
    atomic_flag_clear(&p->busy);
    return opened;
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    struct kl_pages *p = the_pages;
    if (p && open_page(p, info->si_addr)) {
        errno = saved;
        return;
    }
    const struct sigaction *old = p ? &p->old : NULL;
    if (old && old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(sig, info, context);
    else if (old && old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
        old->sa_handler(sig);
    else
        signal(sig, SIG_DFL); /* the instruction comes again, and ends the process as ever */
}

/* A core may be on a stack that is protected itself (libco). */
static bool take_stack(struct kl_pages *p) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0) return false;
    if (!(now.ss_flags & SS_DISABLE)) return true;
    if (!p->stack) p->stack = malloc(STACK_BYTES);
    now = (stack_t){.ss_sp = p->stack, .ss_size = STACK_BYTES};
    return p->stack && sigaltstack(&now, NULL) == 0;
}

static void give_stack(struct kl_pages *p) {
    stack_t now;
    if (p->stack && sigaltstack(NULL, &now) == 0 && now.ss_sp == p->stack) {
        now = (stack_t){.ss_flags = SS_DISABLE};
        sigaltstack(&now, NULL);
    }
    free(p->stack);
    p->stack = NULL;
}

static bool has_signal(void) {
    struct sigaction now;
    return sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault;
}

/* --- the way up and down --- */

struct kl_pages *kl_pages_take(struct kl_world *w, void *handle, char *why, size_t why_len) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct kl_pages *p = the_pages ? NULL : calloc(1, sizeof *p);
    if (!p) {
        snprintf(why, why_len,
                 the_pages ? "another core of this process goes back by its pages" : "no memory");
        return NULL;
    }
    *p = (struct kl_pages){.world = w, .handle = handle, .page_bytes = page_bytes};
    atomic_flag_clear(&p->busy);
    void *first = mmap(NULL, HOT_MAX * page_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    p->first = first;
    if (first != MAP_FAILED) p->heap.from = kl_arena_open(w, handle, &p->heap.bytes, why, why_len);
    if (p->heap.from) return the_pages = p;
    if (first != MAP_FAILED) munmap(first, HOT_MAX * page_bytes);
    free(p);
    return NULL;
}

void kl_pages_release(struct kl_pages *p) {
    if (!p) return;
    kl_pages_end(p);
    for (unsigned i = 0; i < KL_PAGES_SLOTS; i++) {
        free(p->slot[i].bytes);
        free(p->slot[i].tls);
    }
    kl_arena_close();
    munmap(p->first, HOT_MAX * p->page_bytes);
    the_pages = NULL;
    free(p);
}

const char *kl_pages_unfit(struct kl_pages *p) {
    if (p->world->threads.count || atomic_load(&p->world->threads.starting))
        return "it has threads of its own";
    return kl_arena_strange();
}

static void drop_all(struct kl_pages *p) {
    for (unsigned i = 0; i < KL_PAGES_SLOTS; i++)
        p->slot[i].kept = false;
    p->hot_count = 0;
    p->too_many = false;
}

bool kl_pages_begin(struct kl_pages *p) {
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    kl_pages_end(p);
    if (*kl_pages_unfit(p) || !find_areas(p) || !take_stack(p)) return false;
    if (sigaction(SIGSEGV, &act, &p->old) != 0) return false;
    kl_arena_play();
    p->on = true;
    if (protect(p, PROT_READ)) return true;
    kl_pages_end(p);
    return false;
}

void kl_pages_end(struct kl_pages *p) {
    if (!p->on) return;
    (void)protect(p, PROT_READ | PROT_WRITE);
    if (has_signal()) sigaction(SIGSEGV, &p->old, NULL);
    p->on = false;
    give_stack(p);
    drop_all(p);
}

/* --- keeping and going back --- */

size_t kl_pages_bytes(const struct kl_pages *p) {
    return p->hot_count * p->page_bytes + p->tls.bytes;
}

static bool make_room(struct kl_pages *p, struct slot *s) {
    size_t cap = p->hot_count + p->hot_count / 4 + 16;
    if (p->tls.bytes && !s->tls) s->tls = malloc(p->tls.bytes);
    if (p->tls.bytes && !s->tls) return false;
    if (p->hot_count <= s->cap) return true;
    uint8_t *more = realloc(s->bytes, cap * p->page_bytes);
    if (!more) return false;
    s->bytes = more;
    s->cap = cap;
    return true;
}

bool kl_pages_keep(struct kl_pages *p, unsigned slot) {
    struct slot *s = &p->slot[slot];
    s->kept = false;
    if (!p->on || p->too_many || !has_signal() || *kl_pages_unfit(p) || !make_room(p, s)) return false;
    s->hot = p->hot_count;
    for (size_t i = 0; i < s->hot; i++)
        memcpy(s->bytes + i * p->page_bytes, p->hot[i], p->page_bytes);
    if (p->tls.bytes) memcpy(s->tls, p->tls.from, p->tls.bytes);
    return s->kept = true;
}

/* Pages that became hot later had the bytes of before their first write. */
bool kl_pages_back(struct kl_pages *p, unsigned slot) {
    const struct slot *s = &p->slot[slot];
    if (!p->on || p->too_many || !s->kept) return false;
    for (size_t i = 0; i < p->hot_count; i++)
        memcpy(p->hot[i], (i < s->hot ? s->bytes : p->first) + i * p->page_bytes, p->page_bytes);
    if (p->tls.bytes) memcpy(p->tls.from, s->tls, p->tls.bytes);
    return true;
}

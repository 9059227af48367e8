/* The memory of one core, by pages: see pages.h. */
#include "core_wrapper/world/pages.h"
#include "core_wrapper/world/elf/arena.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"
#include "net/platform/page.h"

#define AREAS_MAX 16
#define HOT_MAX   8192u /* pages; beyond it the core takes too much memory */

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
    struct area heap, tls, areas[AREAS_MAX + 1];
    unsigned area_count;
    size_t page_bytes;
    bool on, too_many;
    uint8_t *hot[HOT_MAX]; /* by the order of their first writes */
    uint8_t *first;        /* the bytes of each before it */
    size_t hot_count;
    atomic_flag busy;
    struct slot slot[KL_PAGES_SLOTS];
};
static struct kl_pages *the_pages; /* of the core that has it; NULL: none */

/* --- the areas --- */

static bool find_areas(struct kl_pages *p) {
    struct kl_library_part part[AREAS_MAX];
    unsigned parts = kl_library_parts(p->handle, part, AREAS_MAX);
    p->area_count = 0;
    p->tls = (struct area){0};
    if (!parts || parts > AREAS_MAX) return false;
    for (unsigned i = 0; i < parts; i++) {
        struct area *to = part[i].thread_local_block ? &p->tls : &p->areas[p->area_count++];
        *to = (struct area){part[i].from, part[i].bytes};
    }
    p->areas[p->area_count++] = p->heap;
    return true;
}

static bool protect(const struct kl_pages *p, bool writable) {
    bool good = true;
    for (unsigned i = 0; i < p->area_count; i++)
        good = kl_page_protect(p->areas[i].from, p->areas[i].bytes, writable) && good;
    return good;
}

/* --- the first write to a page --- */

/* False: the address is none of the core's. */
static bool open_page(uint8_t *at) {
    struct kl_pages *p = the_pages;
    if (!p || !p->on) return false;
    uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(p->page_bytes - 1));
    bool ours = false;
    for (unsigned i = 0; i < p->area_count && !ours; i++)
        ours = page >= p->areas[i].from && page < p->areas[i].from + p->areas[i].bytes;
    if (!ours) return false;
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
    bool opened = kl_page_protect(page, p->page_bytes, true);
    if (opened && !known && fits) p->hot_count++;
    p->too_many |= !fits;
    atomic_flag_clear(&p->busy);
    return opened;
}

/* --- the way up and down --- */

struct kl_pages *kl_pages_take(struct kl_world *w, void *handle, char *why, size_t why_len) {
    size_t page_bytes = kl_page_bytes();
    struct kl_pages *p = the_pages ? NULL : calloc(1, sizeof *p);
    if (!p) {
        snprintf(why, why_len,
                 the_pages ? "another core of this process goes back by its pages" : "no memory");
        return NULL;
    }
    *p = (struct kl_pages){.world = w, .handle = handle, .page_bytes = page_bytes};
    atomic_flag_clear(&p->busy);
    p->first = kl_page_reserve(HOT_MAX * page_bytes, why, why_len);
    if (p->first) p->heap.from = kl_arena_open(w, handle, &p->heap.bytes, why, why_len);
    if (p->heap.from) return the_pages = p;
    kl_page_release(p->first, HOT_MAX * page_bytes);
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
    kl_page_release(p->first, HOT_MAX * p->page_bytes);
    the_pages = NULL;
    free(p);
}

const char *kl_pages_unfit(struct kl_pages *p) {
    if (p->world->threads.count || atomic_load(&p->world->threads.starting))
        return "it has threads of its own";
    return kl_arena_strange();
}

bool kl_pages_begin(struct kl_pages *p) {
    kl_pages_end(p);
    if (*kl_pages_unfit(p) || !find_areas(p) || !kl_page_watch(open_page)) return false;
    kl_arena_play();
    p->on = true;
    if (protect(p, false)) return true;
    kl_pages_end(p);
    return false;
}

void kl_pages_end(struct kl_pages *p) {
    if (!p->on) return;
    (void)protect(p, true);
    kl_page_unwatch();
    p->on = false;
    for (unsigned i = 0; i < KL_PAGES_SLOTS; i++)
        p->slot[i].kept = false;
    p->hot_count = 0;
    p->too_many = false;
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
    if (!p->on || p->too_many || kl_page_unwatched() || *kl_pages_unfit(p) || !make_room(p, s)) return false;
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

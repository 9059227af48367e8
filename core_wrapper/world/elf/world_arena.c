/* The heap of one core as an arena of ours, which can be copied and put back. Blocks by size class, the freed
 * ones of each in a list. The lists stand in the arena, so that they go back with it. */
#include "core_wrapper/world/elf/arena.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"
#include "net/platform/page.h"

#define CXX_LIBRARY "libstdc++.so.6"
#define BYTES       ((size_t)1 << 30) /* of addresses */
#define ALIGN       ((size_t)16)
#define PAGE        ((size_t)4096)
#define CLASSES     160

struct block {
    uint32_t kind;
    uint32_t before; /* bytes of padding before it */
    union {
        size_t bytes;       /* as asked for */
        struct block *next; /* of the freed ones */
    };
};
struct arena {
    size_t top;
    struct block *freed[CLASSES];
};
static struct arena *arena; /* NULL: no core has it */
static bool plays;
static const char *strange;
static void *(*world_mmap)(void *, size_t, int, int, int, off_t); /* for all other mappings */
static int (*world_munmap)(void *, size_t);
static void *cxx; /* the C++ library, whose imports are turned; NULL: there is none */
static void (*cxx_free)(void *);
static void *(*cxx_realloc)(void *, size_t);

static bool is_ours(const void *p) {
    return (const uint8_t *)p >= (uint8_t *)arena && (const uint8_t *)p < (uint8_t *)arena + BYTES;
}

/* Four classes for each power of two, from 16 bytes on. */
static size_t class_bytes(unsigned kind) {
    return ((size_t)4 + kind % 4) << (kind / 4 + 2);
}
static unsigned class_of(size_t n) {
    unsigned kind = n > 16 ? 4 * (unsigned)(59 - __builtin_clzll(n)) : 0;
    while (class_bytes(kind) < n)
        kind++;
    return kind;
}

/* Memory comes as zeros, as from world_heap.c. */
static void *take(size_t n, size_t align) {
    size_t room = align > ALIGN ? n + align : n;
    if (room < n || room > BYTES / 4) return NULL;
    unsigned kind = class_of(room);
    struct block *b = arena->freed[kind];
    if (b) {
        arena->freed[kind] = b->next;
        memset(b + 1, 0, class_bytes(kind));
    } else {
        size_t bytes = (sizeof *b + class_bytes(kind) + ALIGN - 1) & ~(ALIGN - 1);
        if (arena->top + bytes > BYTES) return NULL;
        b = (struct block *)((uint8_t *)arena + arena->top);
        arena->top += bytes;
    }
    uintptr_t at = (uintptr_t)(b + 1), to = align > ALIGN ? (at + align - 1) & ~(uintptr_t)(align - 1) : at;
    *b = (struct block){kind, 0, {n}};
    ((struct block *)to)[-1] = (struct block){kind, (uint32_t)(to - at), {n}};
    return (void *)to;
}

static void give(void *p) {
    struct block *b = (struct block *)p - 1;
    b = (struct block *)((uint8_t *)b - b->before);
    b->next = arena->freed[b->kind];
    arena->freed[b->kind] = b;
}

static void *enlarge(void *p, size_t n) {
    size_t had = ((struct block *)p)[-1].bytes;
    void *q = take(n, ALIGN);
    if (!q) return NULL;
    memcpy(q, p, had < n ? had : n);
    give(p);
    return q;
}

/* --- the core's imports --- */

static void *a_malloc(size_t n) {
    return take(n, ALIGN);
}
static void *a_calloc(size_t n, size_t each) {
    size_t bytes;
    return __builtin_mul_overflow(n, each, &bytes) ? NULL : take(bytes, ALIGN);
}
static void *a_memalign(size_t align, size_t n) {
    return take(n, align);
}
static int a_posix_memalign(void **out, size_t align, size_t n) {
    *out = take(n, align);
    return *out ? 0 : ENOMEM;
}
static void *a_new(size_t n) {
    void *p = take(n, ALIGN);
    if (!p) abort(); /* a core that is out of memory at 1 GB */
    return p;
}
static void *a_new_aligned(size_t n, size_t align) {
    void *p = take(n, align);
    if (!p) abort();
    return p;
}
static void a_free(void *p) {
    if (p && is_ours(p))
        give(p);
    else if (!plays)
        free(p);
}
static void *a_realloc(void *p, size_t n) {
    if (!p) return take(n, ALIGN);
    if (is_ours(p)) return enlarge(p, n);
    void *q = take(n, ALIGN);
    size_t had = malloc_usable_size(p);
    if (q) memcpy(q, p, had < n ? had : n);
    if (q && !plays) free(p);
    return q;
}
static char *a_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *t = take(n, ALIGN);
    return t ? memcpy(t, s, n) : NULL;
}
static char *a_strndup(const char *s, size_t most) {
    size_t n = strnlen(s, most);
    char *t = take(n + 1, ALIGN);
    return t ? memcpy(t, s, n) : NULL;
}

static void *a_mmap(void *at, size_t n, int protect, int flags, int fd, off_t from) {
    if (!kl_page_is_plain(at, protect, flags)) {
        strange = "it maps memory or files itself";
        return world_mmap(at, n, protect, flags, fd, from);
    }
    void *p = take((n + PAGE - 1) & ~(PAGE - 1), PAGE);
    return p ? p : KL_PAGE_FAILED;
}
static int a_munmap(void *at, size_t n) {
    if (!is_ours(at)) return world_munmap(at, n);
    give(at);
    return 0;
}

static const struct turned {
    const char *name; /* one that ends in * is a prefix */
    void *fn;
} heap_hooks[] = {{"malloc", a_malloc},
                  {"calloc", a_calloc},
                  {"realloc", a_realloc},
                  {"free", a_free},
                  {"memalign", a_memalign},
                  {"aligned_alloc", a_memalign},
                  {"posix_memalign", a_posix_memalign},
                  {"strdup", a_strdup},
                  {"__strdup", a_strdup},
                  {"strndup", a_strndup},
                  {"__strndup", a_strndup},
                  {"mmap", a_mmap},
                  {"mmap64", a_mmap},
                  {"munmap", a_munmap},
                  {"_Znwm", a_new},
                  {"_Znam", a_new},
                  {"_ZnwmRKSt9nothrow_t", a_malloc},
                  {"_ZnamRKSt9nothrow_t", a_malloc},
                  {"_ZnwmSt11align_val_t", a_new_aligned},
                  {"_ZnamSt11align_val_t", a_new_aligned},
                  {"_ZdlPv*", a_free},
                  {"_ZdaPv*", a_free},
                  {NULL, NULL}};

static void *turn_heap(void *user, enum kl_from from, const char *name, void *now) {
    (void)user, (void)from;
    if (strncmp(name, "mmap", 4) == 0) *(void **)&world_mmap = now;
    if (strcmp(name, "munmap") == 0) *(void **)&world_munmap = now;
    for (const struct turned *t = heap_hooks; t->name; t++) {
        size_t len = strcspn(t->name, "*");
        if (strncmp(t->name, name, len) == 0 && (t->name[len] == '*' || name[len] == '\0')) return t->fn;
    }
    return NULL;
}

/* --- the C++ library's --- */

/* Its destructors free objects that the core has made. All other memory is passed on. */
static void c_free(void *p) {
    if (p && is_ours(p))
        give(p);
    else
        cxx_free(p);
}
static void *c_realloc(void *p, size_t n) {
    return p && is_ours(p) ? enlarge(p, n) : cxx_realloc(p, n);
}

static void *turn_cxx(void *user, enum kl_from from, const char *name, void *now) {
    bool is_free = strcmp(name, "free") == 0, is_realloc = strcmp(name, "realloc") == 0;
    (void)user, (void)from;
    if (is_free) *(void **)&cxx_free = now;
    if (is_realloc) *(void **)&cxx_realloc = now;
    return is_free ? (void *)c_free : is_realloc ? (void *)c_realloc : NULL;
}
static void *turn_back(void *user, enum kl_from from, const char *name, void *now) {
    (void)user, (void)from, (void)name;
    return now == (void *)c_free      ? *(void **)&cxx_free
           : now == (void *)c_realloc ? *(void **)&cxx_realloc
                                      : NULL;
}

static bool turn_library(struct kl_world *w, char *why, size_t why_len) {
    if (!kl_library_loaded(CXX_LIBRARY)) return true;
    cxx = kl_library_open(CXX_LIBRARY, why, why_len);
    return cxx && kl_world_imports(w, cxx, turn_cxx, NULL, why, why_len) == 0;
}

uint8_t *kl_arena_open(struct kl_world *w, void *handle, size_t *bytes, char *why, size_t why_len) {
    uint8_t *at = kl_page_reserve(BYTES, why, why_len);
    if (!at) return NULL;
    arena = (struct arena *)at;
    arena->top = (sizeof *arena + ALIGN - 1) & ~(ALIGN - 1);
    plays = false;
    strange = "";
    *bytes = BYTES;
    if (turn_library(w, why, why_len) && kl_world_imports(w, handle, turn_heap, NULL, why, why_len) == 0)
        return at;
    kl_arena_close();
    return NULL;
}

void kl_arena_close(void) {
    char ignored[256];
    if (cxx) (void)kl_world_imports(NULL, cxx, turn_back, NULL, ignored, sizeof ignored);
    kl_library_close(cxx);
    cxx = NULL;
    kl_page_release((uint8_t *)arena, BYTES);
    arena = NULL;
}

void kl_arena_play(void) {
    plays = true;
}

const uint8_t *kl_arena_used(size_t *bytes) {
    *bytes = (arena->top + PAGE - 1) & ~(PAGE - 1);
    return (const uint8_t *)arena;
}

const char *kl_arena_strange(void) {
    return strange;
}

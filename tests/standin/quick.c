/* quick.c - for a fuzz target with much state: what the sanitizer and the fuzzer would take most of the time
 * for. The linker leads the calls here (tests.mk: quick). */
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* --- large blocks ---
 *
 * ASan maps a large block for each malloc() and unmaps it later, which costs more than the rest of an input.
 * So large blocks are kept, poisoned while nobody has them. The one freed longest ago is taken first, so a
 * use after free is seen. */

#define LARGE 32768
#define KEPT  32

void *__real_malloc(size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *at);
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
__attribute__((weak)) void __asan_poison_memory_region(void const volatile *at, size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(void const volatile *at, size_t size);

/* Unpoisons by writing, not by new pages, and keeps less memory warm: an input frees all that it takes. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "clear_shadow_mmap_threshold=16777216:quarantine_size_mb=8";
}

static struct kept {
    void *at;         /* while nobody has it */
    uintptr_t hidden; /* ~at: a block that its owner has lost shall be a leak to ASan */
    size_t size;
    uint64_t freed; /* by order */
} kept[KEPT];
static uint64_t frees;

static struct kept *kept_of(const void *at) {
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].hidden == ~(uintptr_t)at) return &kept[i];
    return NULL;
}

/* The one freed longest ago; size 0: of any size. */
static struct kept *oldest_of(size_t size) {
    struct kept *k = NULL;
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].at && (!size || kept[i].size == size) && (!k || kept[i].freed < k->freed)) k = &kept[i];
    return k;
}

static struct kept *place(void) {
    for (unsigned i = 0; i < KEPT; i++)
        if (!kept[i].size) return &kept[i];
    struct kept *k = oldest_of(0);
    if (k) __real_free(k->at);
    return k;
}

static void *keep_new(size_t size) {
    void *at = __real_malloc(size);
    struct kept *k = at ? place() : NULL;
    if (k) *k = (struct kept){.hidden = ~(uintptr_t)at, .size = size};
    return at;
}

void *__wrap_malloc(size_t size) {
    struct kept *k = size < LARGE ? NULL : oldest_of(size);
    if (!k) return size < LARGE ? __real_malloc(size) : keep_new(size);
    void *at = k->at;
    k->at = NULL;
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(at, size);
    return at;
}
void *__wrap_calloc(size_t count, size_t size) {
    void *at = __wrap_malloc(count * size);
    if (at) memset(at, 0, count * size);
    return at;
}
void __wrap_free(void *at) {
    struct kept *k = at ? kept_of(at) : NULL;
    if (!k) {
        __real_free(at);
        return;
    }
    MUST(!k->at); /* else it is freed twice */
    k->at = at;
    k->freed = ++frees;
    if (__asan_poison_memory_region) __asan_poison_memory_region(at, k->size);
}
void *__wrap_realloc(void *at, size_t size) {
    const struct kept *k = at ? kept_of(at) : NULL;
    if (!k) return __real_realloc(at, size);
    void *moved = __wrap_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, at, size < k->size ? size : k->size);
    __wrap_free(at);
    return moved;
}

/* --- comparisons ---
 *
 * libFuzzer notes the operands of each, a quarter of all time, to guess values with. These targets put right
 * themselves what nobody guesses, and find more without. */

#define NOT_NOTED(name, type)                                                                                \
    void __wrap___sanitizer_cov_trace_##name(type a, type b);                                                \
    void __wrap___sanitizer_cov_trace_##name(type a, type b) {                                               \
        (void)a, (void)b;                                                                                    \
    }
NOT_NOTED(cmp1, uint8_t)
NOT_NOTED(cmp2, uint16_t)
NOT_NOTED(cmp4, uint32_t)
NOT_NOTED(cmp8, uint64_t)
NOT_NOTED(const_cmp1, uint8_t)
NOT_NOTED(const_cmp2, uint16_t)
NOT_NOTED(const_cmp4, uint32_t)
NOT_NOTED(const_cmp8, uint64_t)

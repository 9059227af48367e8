/* Memory from the heap comes as zeros. Otherwise chance bytes of the heap would end up in states (an
 * address, in a process that has loaded the core before): bsnes serializes fields that it never writes. */
#include "core_wrapper/world/world_private.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (64u << 10) /* the C library has pages of zeros for these */

static void *cleared(void *p) {
    if (p) memset(p, 0, malloc_usable_size(p));
    return p;
}

static void *v_malloc(size_t n) {
    return n >= LARGE ? calloc(1, n) : cleared(malloc(n));
}

static void *v_realloc(void *p, size_t n) {
    if (!p) return v_malloc(n);
    size_t had = malloc_usable_size(p);
    char *q = realloc(p, n);
    size_t has = q ? malloc_usable_size(q) : 0;
    if (has > had) memset(q + had, 0, has - had);
    return q;
}

static void *v_memalign(size_t align, size_t n) {
    return cleared(memalign(align, n));
}
static void *v_aligned_alloc(size_t align, size_t n) {
    return cleared(aligned_alloc(align, n));
}

static int v_posix_memalign(void **out, size_t align, size_t n) {
    int r = posix_memalign(out, align, n);
    if (r == 0) cleared(*out);
    return r;
}

/* operator new and new[], plain, nothrow and aligned: the original decides on failure. */
static void *v_new(struct kl_world *w, size_t n) {
    return cleared(w->real.new_plain(n));
}
KL_TURNED(void *, v_new, (size_t n), n)
static void *v_new_array(struct kl_world *w, size_t n) {
    return cleared(w->real.new_array(n));
}
KL_TURNED(void *, v_new_array, (size_t n), n)
static void *v_new_nothrow(struct kl_world *w, size_t n, const void *t) {
    return cleared(w->real.new_nothrow(n, t));
}
KL_TURNED(void *, v_new_nothrow, (size_t n, const void *t), n, t)
static void *v_new_array_nothrow(struct kl_world *w, size_t n, const void *t) {
    return cleared(w->real.new_array_nothrow(n, t));
}
KL_TURNED(void *, v_new_array_nothrow, (size_t n, const void *t), n, t)
static void *v_new_aligned(struct kl_world *w, size_t n, size_t align) {
    return cleared(w->real.new_aligned(n, align));
}
KL_TURNED(void *, v_new_aligned, (size_t n, size_t align), n, align)
static void *v_new_array_aligned(struct kl_world *w, size_t n, size_t align) {
    return cleared(w->real.new_array_aligned(n, align));
}
KL_TURNED(void *, v_new_array_aligned, (size_t n, size_t align), n, align)

const struct kl_hook kl_world_heap_hooks[] = {
    KL_HOOK_SAME("malloc", v_malloc),
    KL_HOOK_SAME("realloc", v_realloc),
    KL_HOOK_SAME("memalign", v_memalign),
    KL_HOOK_SAME("aligned_alloc", v_aligned_alloc),
    KL_HOOK_SAME("posix_memalign", v_posix_memalign),
    KL_HOOK_REAL("_Znwm", v_new, KL_REAL(new_plain)),
    KL_HOOK_REAL("_Znam", v_new_array, KL_REAL(new_array)),
    KL_HOOK_REAL("_ZnwmRKSt9nothrow_t", v_new_nothrow, KL_REAL(new_nothrow)),
    KL_HOOK_REAL("_ZnamRKSt9nothrow_t", v_new_array_nothrow, KL_REAL(new_array_nothrow)),
    KL_HOOK_REAL("_ZnwmSt11align_val_t", v_new_aligned, KL_REAL(new_aligned)),
    KL_HOOK_REAL("_ZnamSt11align_val_t", v_new_array_aligned, KL_REAL(new_array_aligned)),
    KL_HOOK_END,
};

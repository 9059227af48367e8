/* Memory from the heap comes as zeros. Otherwise chance bytes of the heap would end up in states (an
 * address, in a process that has loaded the core before): bsnes serializes fields that it never writes. */
#include <windows.h>

#include <string.h>

#include "core_wrapper/world/world_private.h"

#define LARGE (64u << 10) /* the system has pages of zeros for these */

static void *v_malloc(struct kl_world *w, size_t n) {
    void *p = n >= LARGE ? w->real.calloc(1, n) : w->real.malloc(n);
    if (p && n < LARGE) memset(p, 0, w->real.msize(p));
    return p;
}
KL_TURNED(void *, v_malloc, (size_t n), n)

static void *v_realloc(struct kl_world *w, void *p, size_t n) {
    if (!p) return v_malloc(w, n);
    size_t had = w->real.msize(p);
    char *q = w->real.realloc(p, n);
    size_t has = q ? w->real.msize(q) : 0;
    if (has > had) memset(q + had, 0, has - had);
    return q;
}
KL_TURNED(void *, v_realloc, (void *p, size_t n), p, n)

static void *v_aligned_malloc(struct kl_world *w, size_t n, size_t align) {
    void *p = w->real.aligned_malloc(n, align);
    return p ? memset(p, 0, n) : NULL;
}
KL_TURNED(void *, v_aligned_malloc, (size_t n, size_t align), n, align)

static void *v_aligned_realloc(struct kl_world *w, void *p, size_t n, size_t align) {
    size_t had = p && w->real.aligned_msize ? w->real.aligned_msize(p, align, 0) : 0;
    bool grows = n > had && (!p || w->real.aligned_msize);
    char *q = w->real.aligned_realloc(p, n, align);
    if (q && grows) memset(q + had, 0, n - had);
    return q;
}
KL_TURNED(void *, v_aligned_realloc, (void *p, size_t n, size_t align), p, n, align)

static void *v_HeapAlloc(HANDLE heap, DWORD flags, SIZE_T n) {
    return HeapAlloc(heap, flags | HEAP_ZERO_MEMORY, n);
}
static void *v_HeapReAlloc(HANDLE heap, DWORD flags, void *p, SIZE_T n) {
    return HeapReAlloc(heap, flags | HEAP_ZERO_MEMORY, p, n);
}
static HLOCAL v_LocalAlloc(UINT flags, SIZE_T n) {
    return LocalAlloc(flags | LMEM_ZEROINIT, n);
}
static HGLOBAL v_GlobalAlloc(UINT flags, SIZE_T n) {
    return GlobalAlloc(flags | GMEM_ZEROINIT, n);
}

/* "??2" and "??_U": operator new and new[] of msvcrt.dll. */
const struct kl_hook kl_world_heap_hooks[] = {
    KL_HOOK("malloc", v_malloc),
    KL_HOOK("realloc", v_realloc),
    KL_HOOK("_aligned_malloc", v_aligned_malloc),
    KL_HOOK("_aligned_realloc", v_aligned_realloc),
    KL_HOOK("?"
            "?2@YAPEAX_K@Z",
            v_malloc),
    KL_HOOK("?"
            "?_U@YAPEAX_K@Z",
            v_malloc),
    KL_SYSTEM_HOOK_SAME("HeapAlloc", v_HeapAlloc),
    KL_SYSTEM_HOOK_SAME("HeapReAlloc", v_HeapReAlloc),
    KL_SYSTEM_HOOK_SAME("LocalAlloc", v_LocalAlloc),
    KL_SYSTEM_HOOK_SAME("GlobalAlloc", v_GlobalAlloc),
    KL_HOOK_END,
};

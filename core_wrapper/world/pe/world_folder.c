/* The calls by which a core lists folders, of the C runtime and of the system: entries come sorted. Folders
 * without a list (no memory for it) come as the system gives them. */
#include <windows.h>

#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/world/world_folder.h"
#include "core_wrapper/world/world_private.h"
#include "net/platform/windows/disk.h"

#define ERROR_NO_ENTRY 2 /* ENOENT */

static int wide_order(const wchar_t *a, const wchar_t *b) {
    char x[4 * MAX_PATH], y[4 * MAX_PATH];
    kl_narrow_text(x, sizeof x, a);
    kl_narrow_text(y, sizeof y, b);
    return kl_folder_order(x, y);
}

/* --- the system's --- */

static int by_data(const void *a, const void *b) {
    const WIN32_FIND_DATAW *const *x = a, *const *y = b;
    return wide_order((*x)->cFileName, (*y)->cFileName);
}

/* The short name depends on what else the disk has had. */
static bool put_data(struct kl_folder *f, WIN32_FIND_DATAW *one) {
    one->cAlternateFileName[0] = 0;
    return kl_folder_put(f, one, sizeof *one);
}
static HANDLE first_data(HANDLE h, WIN32_FIND_DATAW *out) {
    DWORD error = GetLastError();
    WIN32_FIND_DATAW one = *out;
    struct kl_folder *f = h != INVALID_HANDLE_VALUE ? kl_folder_begin(h) : NULL;
    while (f && put_data(f, &one) && FindNextFileW(h, &one)) {
    }
    if (f && f->count) {
        qsort(f->entry, f->count, sizeof *f->entry, by_data);
        memcpy(out, f->entry[f->at++], sizeof *out);
    }
    SetLastError(error);
    return h;
}
static bool next_data(HANDLE h, WIN32_FIND_DATAW *out) {
    struct kl_folder *f = kl_folder_of(h);
    if (!f) return FindNextFileW(h, out);
    if (f->at < f->count) memcpy(out, f->entry[f->at], sizeof *out);
    if (f->at++ < f->count) return true;
    SetLastError(ERROR_NO_MORE_FILES);
    return false;
}
/* The narrow struct has the same members up to the name. */
static void narrow_data(WIN32_FIND_DATAA *out, const WIN32_FIND_DATAW *one) {
    memcpy(out, one, offsetof(WIN32_FIND_DATAA, cFileName));
    WideCharToMultiByte(CP_ACP, 0, one->cFileName, -1, out->cFileName, MAX_PATH, NULL, NULL);
    out->cAlternateFileName[0] = 0;
}

static HANDLE v_FindFirstFileExW(const wchar_t *path, FINDEX_INFO_LEVELS level, void *out,
                                 FINDEX_SEARCH_OPS how, void *filter, DWORD flags) {
    return first_data(FindFirstFileExW(path, level, out, how, filter, flags), out);
}
static HANDLE v_FindFirstFileExA(const char *path, FINDEX_INFO_LEVELS level, void *out, FINDEX_SEARCH_OPS how,
                                 void *filter, DWORD flags) {
    wchar_t wide[KL_WIDE_PATH];
    WIN32_FIND_DATAW one = {0};
    if (!MultiByteToWideChar(CP_ACP, 0, path, -1, wide, KL_WIDE_PATH)) return INVALID_HANDLE_VALUE;
    HANDLE h = v_FindFirstFileExW(wide, level, &one, how, filter, flags);
    if (h != INVALID_HANDLE_VALUE) narrow_data(out, &one);
    return h;
}
static HANDLE v_FindFirstFileW(const wchar_t *path, WIN32_FIND_DATAW *out) {
    return v_FindFirstFileExW(path, FindExInfoStandard, out, FindExSearchNameMatch, NULL, 0);
}
static HANDLE v_FindFirstFileA(const char *path, WIN32_FIND_DATAA *out) {
    return v_FindFirstFileExA(path, FindExInfoStandard, out, FindExSearchNameMatch, NULL, 0);
}
static BOOL v_FindNextFileW(HANDLE h, WIN32_FIND_DATAW *out) {
    return next_data(h, out);
}
static BOOL v_FindNextFileA(HANDLE h, WIN32_FIND_DATAA *out) {
    WIN32_FIND_DATAW one;
    bool more = next_data(h, &one);
    if (more) narrow_data(out, &one);
    return more;
}
static BOOL v_FindClose(HANDLE h) {
    kl_folder_end(kl_folder_of(h));
    return FindClose(h);
}

/* --- the runtime's: eight structs, which end with the name --- */

static int v_findclose(struct kl_world *w, intptr_t h) {
    kl_folder_end(kl_folder_of((void *)h));
    return w->real.findclose(h);
}
KL_TURNED(int, v_findclose, (intptr_t h), h)

#define FINDS(first, next, type, letter, order)                                                              \
    static int by_##first(const void *a, const void *b) {                                                    \
        const struct type *const *x = a, *const *y = b;                                                      \
        return order((*x)->name, (*y)->name);                                                                \
    }                                                                                                        \
    static intptr_t v_##first(struct kl_world *w, const letter *path, struct type *out) {                    \
        struct type one;                                                                                     \
        intptr_t h = w->real.first(path, out);                                                               \
        struct kl_folder *f = h != -1 && w->real.next ? kl_folder_begin((void *)h) : NULL;                   \
        if (f) one = *out;                                                                                   \
        while (f && kl_folder_put(f, &one, sizeof one) && w->real.next(h, &one) == 0) {                      \
        }                                                                                                    \
        if (f && f->count) {                                                                                 \
            qsort(f->entry, f->count, sizeof *f->entry, by_##first);                                         \
            memcpy(out, f->entry[f->at++], sizeof *out);                                                     \
        }                                                                                                    \
        return h;                                                                                            \
    }                                                                                                        \
    KL_TURNED(intptr_t, v_##first, (const letter *path, struct type *out), path, out)                        \
    static int v_##next(struct kl_world *w, intptr_t h, struct type *out) {                                  \
        struct kl_folder *f = kl_folder_of((void *)h);                                                       \
        if (!f) return w->real.next(h, out);                                                                 \
        if (f->at < f->count) memcpy(out, f->entry[f->at], sizeof *out);                                     \
        if (f->at++ < f->count) return 0;                                                                    \
        *w->real.errno_at() = ERROR_NO_ENTRY;                                                                \
        return -1;                                                                                           \
    }                                                                                                        \
    KL_TURNED(int, v_##next, (intptr_t h, struct type * out), h, out)
FINDS(findfirst32, findnext32, _finddata32_t, char, kl_folder_order)
FINDS(findfirst64, findnext64, __finddata64_t, char, kl_folder_order)
FINDS(findfirst32i64, findnext32i64, _finddata32i64_t, char, kl_folder_order)
FINDS(findfirst64i32, findnext64i32, _finddata64i32_t, char, kl_folder_order)
FINDS(wfindfirst32, wfindnext32, _wfinddata32_t, wchar_t, wide_order)
FINDS(wfindfirst64, wfindnext64, _wfinddata64_t, wchar_t, wide_order)
FINDS(wfindfirst32i64, wfindnext32i64, _wfinddata32i64_t, wchar_t, wide_order)
FINDS(wfindfirst64i32, wfindnext64i32, _wfinddata64i32_t, wchar_t, wide_order)

#define FIND_HOOKS(name, kind)                                                                               \
    KL_HOOK_REAL("_findfirst" name, v_findfirst##kind, KL_REAL(findfirst##kind)),                            \
        KL_HOOK_REAL("_findnext" name, v_findnext##kind, KL_REAL(findnext##kind)),                           \
        KL_HOOK_REAL("_wfindfirst" name, v_wfindfirst##kind, KL_REAL(wfindfirst##kind)),                     \
        KL_HOOK_REAL("_wfindnext" name, v_wfindnext##kind, KL_REAL(wfindnext##kind))

const struct kl_hook kl_world_folder_hooks[] = {
    KL_SYSTEM_HOOK_SAME("FindFirstFileA", v_FindFirstFileA),
    KL_SYSTEM_HOOK_SAME("FindFirstFileW", v_FindFirstFileW),
    KL_SYSTEM_HOOK_SAME("FindFirstFileExA", v_FindFirstFileExA),
    KL_SYSTEM_HOOK_SAME("FindFirstFileExW", v_FindFirstFileExW),
    KL_SYSTEM_HOOK_SAME("FindNextFileA", v_FindNextFileA),
    KL_SYSTEM_HOOK_SAME("FindNextFileW", v_FindNextFileW),
    KL_SYSTEM_HOOK_SAME("FindClose", v_FindClose),
    FIND_HOOKS("", 64i32), /* of msvcrt.dll for x86-64 */
    FIND_HOOKS("i64", 64),
    FIND_HOOKS("32", 32),
    FIND_HOOKS("64", 64),
    FIND_HOOKS("32i64", 32i64),
    FIND_HOOKS("64i32", 64i32),
    KL_HOOK("_findclose", v_findclose),
    KL_HOOK_END,
};

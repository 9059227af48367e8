/* The calls by which a core looks at files, and names, moves and removes them: of the session's view. Dates
 * are the room's: its epoch for files that were there, the virtual clock for those that the core has
 * written. */
#include <windows.h>

#include <wchar.h>

#include "core_wrapper/world/world_private.h"
#include "net/platform/windows/disk.h"

/* --- looking --- */

static void make_equal(struct kl_world *w, const char *name, void (*set)(void *out, int64_t s), void *out) {
    int64_t date_ns;
    uint64_t number;
    if (*name && kl_view_facts(w, name, &date_ns, &number)) set(out, date_ns / KL_NS_PER_S);
}

/* The name that the runtime exports, and the struct that it fills. */
#define LOOK(kind, type, moment)                                                                             \
    static void date_##kind(void *out, int64_t s) {                                                          \
        struct type *st = out;                                                                               \
        st->st_atime = st->st_mtime = st->st_ctime = (moment)s;                                              \
    }                                                                                                        \
    static int v_##kind(struct kl_world *w, const char *path, void *out) {                                   \
        struct kl_pe_path p;                                                                                 \
        int r = w->real.at_##kind(kl_pe_take_narrow(w, &p, path, KL_USE_LOOK)->open, out);                   \
        if (r == 0) make_equal(w, p.name, date_##kind, out);                                                 \
        return r;                                                                                            \
    }                                                                                                        \
    static int v_w##kind(struct kl_world *w, const wchar_t *path, void *out) {                               \
        struct kl_pe_path p;                                                                                 \
        int r = w->real.at_##kind(kl_pe_take(w, &p, path, KL_USE_LOOK)->open, out);                          \
        if (r == 0) make_equal(w, p.name, date_##kind, out);                                                 \
        return r;                                                                                            \
    }                                                                                                        \
    KL_TURNED(int, v_##kind, (const char *path, void *out), path, out)                                       \
    KL_TURNED(int, v_w##kind, (const wchar_t *path, void *out), path, out)
LOOK(stat, _stat64i32, __time64_t)
LOOK(stati64, _stat64, __time64_t)
LOOK(stat32, _stat32, __time32_t)
LOOK(stat32i64, _stat32i64, __time32_t)
LOOK(stat64, _stat64, __time64_t)
LOOK(stat64i32, _stat64i32, __time64_t)

static int v_access(struct kl_world *w, const char *path, int mode) {
    struct kl_pe_path p;
    return w->real.waccess(kl_pe_take_narrow(w, &p, path, KL_USE_LOOK)->open, mode);
}
KL_TURNED(int, v_access, (const char *path, int mode), path, mode)
static int v_waccess(struct kl_world *w, const wchar_t *path, int mode) {
    struct kl_pe_path p;
    return w->real.waccess(kl_pe_take(w, &p, path, KL_USE_LOOK)->open, mode);
}
KL_TURNED(int, v_waccess, (const wchar_t *path, int mode), path, mode)
static int v_access_s(struct kl_world *w, const char *path, int mode) {
    return v_access(w, path, mode) == 0 ? 0 : *w->real.errno_at();
}
KL_TURNED(int, v_access_s, (const char *path, int mode), path, mode)
static int v_waccess_s(struct kl_world *w, const wchar_t *path, int mode) {
    return v_waccess(w, path, mode) == 0 ? 0 : *w->real.errno_at();
}
KL_TURNED(int, v_waccess_s, (const wchar_t *path, int mode), path, mode)

static DWORD v_GetFileAttributesA(struct kl_world *w, const char *path) {
    struct kl_pe_path p;
    return GetFileAttributesW(kl_pe_take_narrow(w, &p, path, KL_USE_LOOK)->open);
}
KL_TURNED(DWORD, v_GetFileAttributesA, (const char *path), path)
static DWORD v_GetFileAttributesW(struct kl_world *w, const wchar_t *path) {
    struct kl_pe_path p;
    return GetFileAttributesW(kl_pe_take(w, &p, path, KL_USE_LOOK)->open);
}
KL_TURNED(DWORD, v_GetFileAttributesW, (const wchar_t *path), path)

/* Since 1601, in steps of 100 ns. */
static FILETIME filetime(int64_t s) {
    uint64_t steps = ((uint64_t)s + UINT64_C(11644473600)) * 10000000;
    return (FILETIME){(DWORD)steps, (DWORD)(steps >> 32)};
}
static void date_attributes(void *out, int64_t s) {
    WIN32_FILE_ATTRIBUTE_DATA *d = out;
    d->ftCreationTime = d->ftLastAccessTime = d->ftLastWriteTime = filetime(s);
}
static BOOL attributes(struct kl_world *w, const struct kl_pe_path *p, GET_FILEEX_INFO_LEVELS level,
                       void *out) {
    BOOL r = GetFileAttributesExW(p->open, level, out);
    if (r) make_equal(w, p->name, date_attributes, out);
    return r;
}
static BOOL v_GetFileAttributesExA(struct kl_world *w, const char *path, GET_FILEEX_INFO_LEVELS level,
                                   void *out) {
    struct kl_pe_path p;
    return attributes(w, kl_pe_take_narrow(w, &p, path, KL_USE_LOOK), level, out);
}
KL_TURNED(BOOL, v_GetFileAttributesExA, (const char *path, GET_FILEEX_INFO_LEVELS level, void *out), path,
          level, out)
static BOOL v_GetFileAttributesExW(struct kl_world *w, const wchar_t *path, GET_FILEEX_INFO_LEVELS level,
                                   void *out) {
    struct kl_pe_path p;
    return attributes(w, kl_pe_take(w, &p, path, KL_USE_LOOK), level, out);
}
KL_TURNED(BOOL, v_GetFileAttributesExW, (const wchar_t *path, GET_FILEEX_INFO_LEVELS level, void *out), path,
          level, out)

static BOOL v_GetFileTime(struct kl_world *w, HANDLE file, FILETIME *made, FILETIME *read,
                          FILETIME *written) {
    wchar_t wide[KL_WIDE_PATH];
    char name[KL_FILE_PATH];
    int64_t date_ns;
    uint64_t number;
    BOOL r = GetFileTime(file, made, read, written);
    DWORD n = r ? GetFinalPathNameByHandleW(file, wide, KL_WIDE_PATH, 0) : 0;
    bool known = n && n < KL_WIDE_PATH && kl_narrow_path(name, sizeof name, wide);
    if (!known || !kl_view_facts(w, name, &date_ns, &number)) return r;
    FILETIME t = filetime(date_ns / KL_NS_PER_S);
    if (made) *made = t;
    if (read) *read = t;
    if (written) *written = t;
    return r;
}
KL_TURNED(BOOL, v_GetFileTime, (HANDLE file, FILETIME *made, FILETIME *read, FILETIME *written), file, made,
          read, written)

/* --- names --- */

struct move {
    struct kl_pe_path from, to;
};
/* A file that is missing moves nothing, and empties nothing. */
static bool begin_move(struct kl_world *w, struct move *m, const wchar_t *from, const wchar_t *to) {
    kl_pe_take(w, &m->from, from, KL_USE_LOOK);
    kl_pe_take(w, &m->to, to, KL_USE_LOOK);
    if (!m->from.open || GetFileAttributesW(m->from.open) == INVALID_FILE_ATTRIBUTES) return false;
    kl_pe_take(w, &m->from, from, KL_USE_CHANGE);
    return true;
}
static int move(struct kl_world *w, struct move *m, const wchar_t *from, const wchar_t *to) {
    if (begin_move(w, m, from, to) && GetFileAttributesW(m->to.open) == INVALID_FILE_ATTRIBUTES)
        kl_pe_take(w, &m->to, to, KL_USE_NEW); /* the runtime replaces no file */
    int r = w->real.wrename(m->from.open, m->to.open);
    if (r == 0) kl_view_moved(w, m->from.used, m->to.used);
    return r;
}
static int v_wrename(struct kl_world *w, const wchar_t *from, const wchar_t *to) {
    struct move m;
    return move(w, &m, from, to);
}
KL_TURNED(int, v_wrename, (const wchar_t *from, const wchar_t *to), from, to)
static bool widen(wchar_t out[KL_WIDE_PATH], const char *path) {
    return path && MultiByteToWideChar(CP_ACP, 0, path, -1, out, KL_WIDE_PATH);
}
static int v_rename(struct kl_world *w, const char *from, const char *to) {
    wchar_t a[KL_WIDE_PATH], b[KL_WIDE_PATH];
    return widen(a, from) && widen(b, to) ? v_wrename(w, a, b) : -1;
}
KL_TURNED(int, v_rename, (const char *from, const char *to), from, to)

static BOOL v_MoveFileExW(struct kl_world *w, const wchar_t *from, const wchar_t *to, DWORD how) {
    struct move m;
    if (begin_move(w, &m, from, to) && to) {
        bool over = how & MOVEFILE_REPLACE_EXISTING;
        bool free_name = GetFileAttributesW(m.to.open) == INVALID_FILE_ATTRIBUTES;
        if (over || free_name) kl_pe_take(w, &m.to, to, over ? KL_USE_EMPTY : KL_USE_NEW);
    }
    BOOL r = MoveFileExW(m.from.open, m.to.open, how);
    if (r) kl_view_moved(w, m.from.used, m.to.used);
    return r;
}
KL_TURNED(BOOL, v_MoveFileExW, (const wchar_t *from, const wchar_t *to, DWORD how), from, to, how)
static BOOL v_MoveFileExA(struct kl_world *w, const char *from, const char *to, DWORD how) {
    wchar_t a[KL_WIDE_PATH], b[KL_WIDE_PATH];
    return widen(a, from) && widen(b, to) && v_MoveFileExW(w, a, b, how);
}
KL_TURNED(BOOL, v_MoveFileExA, (const char *from, const char *to, DWORD how), from, to, how)
static BOOL v_MoveFileW(struct kl_world *w, const wchar_t *from, const wchar_t *to) {
    return v_MoveFileExW(w, from, to, MOVEFILE_COPY_ALLOWED);
}
KL_TURNED(BOOL, v_MoveFileW, (const wchar_t *from, const wchar_t *to), from, to)
static BOOL v_MoveFileA(struct kl_world *w, const char *from, const char *to) {
    return v_MoveFileExA(w, from, to, MOVEFILE_COPY_ALLOWED);
}
KL_TURNED(BOOL, v_MoveFileA, (const char *from, const char *to), from, to)

static int v_remove(struct kl_world *w, const char *path) {
    struct kl_pe_path p;
    return w->real.wremove(kl_pe_take_narrow(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(int, v_remove, (const char *path), path)
static int v_wremove(struct kl_world *w, const wchar_t *path) {
    struct kl_pe_path p;
    return w->real.wremove(kl_pe_take(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(int, v_wremove, (const wchar_t *path), path)
static BOOL v_DeleteFileA(struct kl_world *w, const char *path) {
    struct kl_pe_path p;
    return DeleteFileW(kl_pe_take_narrow(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(BOOL, v_DeleteFileA, (const char *path), path)
static BOOL v_DeleteFileW(struct kl_world *w, const wchar_t *path) {
    struct kl_pe_path p;
    return DeleteFileW(kl_pe_take(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(BOOL, v_DeleteFileW, (const wchar_t *path), path)

static int v_mkdir(struct kl_world *w, const char *path) {
    struct kl_pe_path p;
    return w->real.wmkdir(kl_pe_take_narrow(w, &p, path, KL_USE_NEW)->open);
}
KL_TURNED(int, v_mkdir, (const char *path), path)
static int v_wmkdir(struct kl_world *w, const wchar_t *path) {
    struct kl_pe_path p;
    return w->real.wmkdir(kl_pe_take(w, &p, path, KL_USE_NEW)->open);
}
KL_TURNED(int, v_wmkdir, (const wchar_t *path), path)
static int v_rmdir(struct kl_world *w, const char *path) {
    struct kl_pe_path p;
    return w->real.wrmdir(kl_pe_take_narrow(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(int, v_rmdir, (const char *path), path)
static int v_wrmdir(struct kl_world *w, const wchar_t *path) {
    struct kl_pe_path p;
    return w->real.wrmdir(kl_pe_take(w, &p, path, KL_USE_REMOVE)->open);
}
KL_TURNED(int, v_wrmdir, (const wchar_t *path), path)
static BOOL v_CreateDirectoryA(struct kl_world *w, const char *path, SECURITY_ATTRIBUTES *rights) {
    struct kl_pe_path p;
    return CreateDirectoryW(kl_pe_take_narrow(w, &p, path, KL_USE_NEW)->open, rights);
}
KL_TURNED(BOOL, v_CreateDirectoryA, (const char *path, SECURITY_ATTRIBUTES *rights), path, rights)
static BOOL v_CreateDirectoryW(struct kl_world *w, const wchar_t *path, SECURITY_ATTRIBUTES *rights) {
    struct kl_pe_path p;
    return CreateDirectoryW(kl_pe_take(w, &p, path, KL_USE_NEW)->open, rights);
}
KL_TURNED(BOOL, v_CreateDirectoryW, (const wchar_t *path, SECURITY_ATTRIBUTES *rights), path, rights)

#define STATS(kind) KL_HOOK("_" #kind, v_##kind), KL_HOOK("_w" #kind, v_w##kind)

const struct kl_hook kl_world_name_hooks[] = {
    STATS(stat),
    STATS(stati64),
    STATS(stat32),
    STATS(stat32i64),
    STATS(stat64),
    STATS(stat64i32),
    KL_HOOK("access", v_access),
    KL_HOOK("_access", v_access),
    KL_HOOK("_waccess", v_waccess),
    KL_HOOK("_access_s", v_access_s),
    KL_HOOK("_waccess_s", v_waccess_s),
    KL_HOOK("rename", v_rename),
    KL_HOOK("_wrename", v_wrename),
    KL_HOOK("remove", v_remove),
    KL_HOOK("_wremove", v_wremove),
    KL_HOOK("unlink", v_remove),
    KL_HOOK("_unlink", v_remove),
    KL_HOOK("_wunlink", v_wremove),
    KL_HOOK("mkdir", v_mkdir),
    KL_HOOK("_mkdir", v_mkdir),
    KL_HOOK("_wmkdir", v_wmkdir),
    KL_HOOK("rmdir", v_rmdir),
    KL_HOOK("_rmdir", v_rmdir),
    KL_HOOK("_wrmdir", v_wrmdir),
    KL_SYSTEM_HOOK("GetFileAttributesA", v_GetFileAttributesA),
    KL_SYSTEM_HOOK("GetFileAttributesW", v_GetFileAttributesW),
    KL_SYSTEM_HOOK("GetFileAttributesExA", v_GetFileAttributesExA),
    KL_SYSTEM_HOOK("GetFileAttributesExW", v_GetFileAttributesExW),
    KL_SYSTEM_HOOK("GetFileTime", v_GetFileTime),
    KL_SYSTEM_HOOK("MoveFileA", v_MoveFileA),
    KL_SYSTEM_HOOK("MoveFileW", v_MoveFileW),
    KL_SYSTEM_HOOK("MoveFileExA", v_MoveFileExA),
    KL_SYSTEM_HOOK("MoveFileExW", v_MoveFileExW),
    KL_SYSTEM_HOOK("DeleteFileA", v_DeleteFileA),
    KL_SYSTEM_HOOK("DeleteFileW", v_DeleteFileW),
    KL_SYSTEM_HOOK("CreateDirectoryA", v_CreateDirectoryA),
    KL_SYSTEM_HOOK("CreateDirectoryW", v_CreateDirectoryW),
    KL_HOOK_END,
};

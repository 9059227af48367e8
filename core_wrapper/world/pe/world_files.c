/* The calls by which a core opens files, of the C runtime and of the system: passed through and noted. All
 * narrow ones become the wide ones. */
#include <windows.h>

#include <stdarg.h>
#include <string.h>

#include "core_wrapper/world/world_archive.h"
#include "net/platform/windows/wide.h"

#define OPEN_WRITES    0x0003 /* _O_WRONLY, _O_RDWR */
#define OPEN_CREATES   0x0100 /* _O_CREAT */
#define CREAT_FLAGS    0x0301 /* _O_CREAT, _O_TRUNC, _O_WRONLY */
#define SHARE_ALL      0x40   /* _SH_DENYNO */
#define SHARE_SECURE   0x80   /* _SH_SECURE */
#define ERROR_NO_ENTRY 2      /* ENOENT */
#define ERROR_VALUE    22     /* EINVAL */

/* A path that the core hands over. */
struct path {
    char name[KL_FILE_PATH];    /* in UTF-8, with slashes; "": not one that is noted */
    wchar_t wide[KL_WIDE_PATH]; /* room for a narrow path, or for the one that is opened instead */
    const wchar_t *open;        /* opened in its place; NULL: the path is longer than its room */
    bool there;
};

/* A device's name is no file's. */
static struct path *take(const struct kl_world *w, struct path *p, const wchar_t *path) {
    char other[KL_FILE_PATH];
    p->open = path;
    p->name[0] = 0;
    if (!path || wcsncmp(path, L"\\\\.\\", 4) == 0 || !kl_narrow_path(p->name, sizeof p->name, path))
        return p;
    const char *really = kl_world_really(w, p->name, other);
    if (really != p->name && kl_wide_path(p->wide, really)) p->open = p->wide;
    return p;
}

/* The runtimes read narrow paths by the system's code page. */
static struct path *take_narrow(const struct kl_world *w, struct path *p, const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    if (!path || !MultiByteToWideChar(CP_ACP, 0, path, -1, wide, KL_WIDE_PATH)) {
        p->open = NULL;
        p->name[0] = 0;
        return p;
    }
    take(w, p, wide);
    if (p->open == wide) p->open = wcscpy(p->wide, wide);
    return p;
}

/* A file that is looked for and not there is as much part of the world as one that is. The core may ask why
 * its file did not open. f: a stream whose reads can be seen, or NULL. */
static void note(struct kl_world *w, const struct path *p, bool opened, bool missing, bool write, void *f) {
    DWORD error = GetLastError();
    int number = w->real.errno_at ? *w->real.errno_at() : 0;
    bool seen = f && p->name[0] && kl_world_archive_watch(w, f, p->name);
    if (p->name[0] && (opened || missing)) kl_world_note_opened(w, p->name, write && opened, seen);
    if (w->real.errno_at) *w->real.errno_at() = number;
    SetLastError(error);
}
static void note_runtime(struct kl_world *w, const struct path *p, bool opened, bool write, void *watched) {
    note(w, p, opened, *w->real.errno_at() == ERROR_NO_ENTRY, write, watched);
}

/* --- streams of the runtime --- */

struct mode {
    wchar_t wide[32];
};
static const wchar_t *wide_mode(struct mode *m, const char *mode) {
    size_t n = 0;
    for (; mode && mode[n] && n < sizeof m->wide / sizeof *m->wide - 1; n++)
        m->wide[n] = (unsigned char)mode[n];
    m->wide[n] = 0;
    return m->wide;
}
static bool mode_writes(const wchar_t *mode) {
    return wcspbrk(mode, L"wa+") != NULL;
}

static void *stream(struct kl_world *w, const struct path *p, const wchar_t *mode, int share) {
    void *f = w->real.wfsopen(p->open, mode, share);
    bool bytes = f && !mode_writes(mode) && wcschr(mode, L'b');
    note_runtime(w, p, f != NULL, mode_writes(mode), bytes ? f : NULL);
    return f;
}

static void *v_fsopen(struct kl_world *w, const char *path, const char *mode, int share) {
    struct path p;
    struct mode m;
    return stream(w, take_narrow(w, &p, path), wide_mode(&m, mode), share);
}
KL_TURNED(void *, v_fsopen, (const char *path, const char *mode, int share), path, mode, share)
static void *v_wfsopen(struct kl_world *w, const wchar_t *path, const wchar_t *mode, int share) {
    struct path p;
    return stream(w, take(w, &p, path), mode, share);
}
KL_TURNED(void *, v_wfsopen, (const wchar_t *path, const wchar_t *mode, int share), path, mode, share)

static void *v_fopen(struct kl_world *w, const char *path, const char *mode) {
    return v_fsopen(w, path, mode, SHARE_ALL);
}
KL_TURNED(void *, v_fopen, (const char *path, const char *mode), path, mode)
static void *v_wfopen(struct kl_world *w, const wchar_t *path, const wchar_t *mode) {
    return v_wfsopen(w, path, mode, SHARE_ALL);
}
KL_TURNED(void *, v_wfopen, (const wchar_t *path, const wchar_t *mode), path, mode)

static int v_fopen_s(struct kl_world *w, void **out, const char *path, const char *mode) {
    if (!out) return ERROR_VALUE;
    *out = v_fsopen(w, path, mode, SHARE_SECURE);
    return *out ? 0 : *w->real.errno_at();
}
KL_TURNED(int, v_fopen_s, (void **out, const char *path, const char *mode), out, path, mode)
static int v_wfopen_s(struct kl_world *w, void **out, const wchar_t *path, const wchar_t *mode) {
    if (!out) return ERROR_VALUE;
    *out = v_wfsopen(w, path, mode, SHARE_SECURE);
    return *out ? 0 : *w->real.errno_at();
}
KL_TURNED(int, v_wfopen_s, (void **out, const wchar_t *path, const wchar_t *mode), out, path, mode)

static void *reopen(struct kl_world *w, const struct path *p, const wchar_t *mode, void *old) {
    kl_world_archive_leave(w, old);
    void *f = w->real.wfreopen(p->open, mode, old);
    note_runtime(w, p, f != NULL, mode_writes(mode), NULL);
    return f;
}
static void *v_freopen(struct kl_world *w, const char *path, const char *mode, void *old) {
    struct path p;
    struct mode m;
    return reopen(w, take_narrow(w, &p, path), wide_mode(&m, mode), old);
}
KL_TURNED(void *, v_freopen, (const char *path, const char *mode, void *old), path, mode, old)
static void *v_wfreopen(struct kl_world *w, const wchar_t *path, const wchar_t *mode, void *old) {
    struct path p;
    return reopen(w, take(w, &p, path), mode, old);
}
KL_TURNED(void *, v_wfreopen, (const wchar_t *path, const wchar_t *mode, void *old), path, mode, old)

/* --- descriptors of the runtime --- */

static int descriptor(struct kl_world *w, const struct path *p, int flags, int share, int mode) {
    int fd = w->real.wsopen(p->open, flags, share, mode);
    note_runtime(w, p, fd >= 0, (flags & OPEN_WRITES) != 0, NULL);
    return fd;
}

/* The mode is read behind the flags: these cannot be made by KL_TURNED. */
#define MODE(last)                                                                                           \
    va_list args;                                                                                            \
    va_start(args, last);                                                                                    \
    int mode = flags & OPEN_CREATES ? va_arg(args, int) : 0;                                                 \
    va_end(args);                                                                                            \
    struct path p;                                                                                           \
    struct kl_world *w
#define OPENS(world)                                                                                         \
    static int v_open##world(const char *path, int flags, ...) {                                             \
        MODE(flags) = &kl_world_at[world];                                                                   \
        return descriptor(w, take_narrow(w, &p, path), flags, SHARE_ALL, mode);                              \
    }                                                                                                        \
    static int v_wopen##world(const wchar_t *path, int flags, ...) {                                         \
        MODE(flags) = &kl_world_at[world];                                                                   \
        return descriptor(w, take(w, &p, path), flags, SHARE_ALL, mode);                                     \
    }                                                                                                        \
    static int v_sopen##world(const char *path, int flags, int share, ...) {                                 \
        MODE(share) = &kl_world_at[world];                                                                   \
        return descriptor(w, take_narrow(w, &p, path), flags, share, mode);                                  \
    }                                                                                                        \
    static int v_wsopen##world(const wchar_t *path, int flags, int share, ...) {                             \
        MODE(share) = &kl_world_at[world];                                                                   \
        return descriptor(w, take(w, &p, path), flags, share, mode);                                         \
    }
OPENS(0)
OPENS(1)
OPENS(2)
OPENS(3)

static int descriptor_into(struct kl_world *w, int *out, const struct path *p, int flags, int share,
                           int mode) {
    if (!out) return ERROR_VALUE;
    *out = descriptor(w, p, flags, share, mode);
    return *out >= 0 ? 0 : *w->real.errno_at();
}
static int v_sopen_s(struct kl_world *w, int *out, const char *path, int flags, int share, int mode) {
    struct path p;
    return descriptor_into(w, out, take_narrow(w, &p, path), flags, share, mode);
}
KL_TURNED(int, v_sopen_s, (int *out, const char *path, int flags, int share, int mode), out, path, flags,
          share, mode)
static int v_wsopen_s(struct kl_world *w, int *out, const wchar_t *path, int flags, int share, int mode) {
    struct path p;
    return descriptor_into(w, out, take(w, &p, path), flags, share, mode);
}
KL_TURNED(int, v_wsopen_s, (int *out, const wchar_t *path, int flags, int share, int mode), out, path, flags,
          share, mode)
static int v_creat(struct kl_world *w, const char *path, int mode) {
    struct path p;
    return descriptor(w, take_narrow(w, &p, path), CREAT_FLAGS, SHARE_ALL, mode);
}
KL_TURNED(int, v_creat, (const char *path, int mode), path, mode)
static int v_wcreat(struct kl_world *w, const wchar_t *path, int mode) {
    struct path p;
    return descriptor(w, take(w, &p, path), CREAT_FLAGS, SHARE_ALL, mode);
}
KL_TURNED(int, v_wcreat, (const wchar_t *path, int mode), path, mode)

/* --- looking --- */

#define LOOK(kind)                                                                                           \
    static int v_##kind(struct kl_world *w, const char *path, void *out) {                                   \
        struct path p;                                                                                       \
        return w->real.at_##kind(take_narrow(w, &p, path)->open, out);                                       \
    }                                                                                                        \
    static int v_w##kind(struct kl_world *w, const wchar_t *path, void *out) {                               \
        struct path p;                                                                                       \
        return w->real.at_##kind(take(w, &p, path)->open, out);                                              \
    }                                                                                                        \
    KL_TURNED(int, v_##kind, (const char *path, void *out), path, out)                                       \
    KL_TURNED(int, v_w##kind, (const wchar_t *path, void *out), path, out)
LOOK(stat)
LOOK(stati64)
LOOK(stat32)
LOOK(stat32i64)
LOOK(stat64)
LOOK(stat64i32)

static int v_access(struct kl_world *w, const char *path, int mode) {
    struct path p;
    return w->real.waccess(take_narrow(w, &p, path)->open, mode);
}
KL_TURNED(int, v_access, (const char *path, int mode), path, mode)
static int v_waccess(struct kl_world *w, const wchar_t *path, int mode) {
    struct path p;
    return w->real.waccess(take(w, &p, path)->open, mode);
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

/* --- the system --- */

#define WRITES (GENERIC_WRITE | GENERIC_ALL | FILE_WRITE_DATA | FILE_APPEND_DATA)

static void note_system(struct kl_world *w, const struct path *p, HANDLE h, DWORD access) {
    bool opened = h != INVALID_HANDLE_VALUE;
    bool missing =
        !opened && (GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND);
    note(w, p, opened, missing, (access & WRITES) != 0, NULL);
}

static HANDLE create(struct kl_world *w, const struct path *p, DWORD access, DWORD share,
                     SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    HANDLE h = CreateFileW(p->open, access, share, security, how, flags, like);
    note_system(w, p, h, access);
    return h;
}
static HANDLE v_CreateFileA(struct kl_world *w, const char *path, DWORD access, DWORD share,
                            SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    struct path p;
    return create(w, take_narrow(w, &p, path), access, share, security, how, flags, like);
}
KL_TURNED(HANDLE, v_CreateFileA,
          (const char *path, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags,
           HANDLE like),
          path, access, share, security, how, flags, like)
static HANDLE v_CreateFileW(struct kl_world *w, const wchar_t *path, DWORD access, DWORD share,
                            SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    struct path p;
    return create(w, take(w, &p, path), access, share, security, how, flags, like);
}
KL_TURNED(HANDLE, v_CreateFileW,
          (const wchar_t *path, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how,
           DWORD flags, HANDLE like),
          path, access, share, security, how, flags, like)
static HANDLE v_CreateFile2(struct kl_world *w, const wchar_t *path, DWORD access, DWORD share, DWORD how,
                            CREATEFILE2_EXTENDED_PARAMETERS *more) {
    struct path p;
    HANDLE h = CreateFile2(take(w, &p, path)->open, access, share, how, more);
    note_system(w, &p, h, access);
    return h;
}
KL_TURNED(HANDLE, v_CreateFile2,
          (const wchar_t *path, DWORD access, DWORD share, DWORD how, CREATEFILE2_EXTENDED_PARAMETERS *more),
          path, access, share, how, more)

static DWORD v_GetFileAttributesA(struct kl_world *w, const char *path) {
    struct path p;
    return GetFileAttributesW(take_narrow(w, &p, path)->open);
}
KL_TURNED(DWORD, v_GetFileAttributesA, (const char *path), path)
static DWORD v_GetFileAttributesW(struct kl_world *w, const wchar_t *path) {
    struct path p;
    return GetFileAttributesW(take(w, &p, path)->open);
}
KL_TURNED(DWORD, v_GetFileAttributesW, (const wchar_t *path), path)
static BOOL v_GetFileAttributesExA(struct kl_world *w, const char *path, GET_FILEEX_INFO_LEVELS level,
                                   void *out) {
    struct path p;
    return GetFileAttributesExW(take_narrow(w, &p, path)->open, level, out);
}
KL_TURNED(BOOL, v_GetFileAttributesExA, (const char *path, GET_FILEEX_INFO_LEVELS level, void *out), path,
          level, out)
static BOOL v_GetFileAttributesExW(struct kl_world *w, const wchar_t *path, GET_FILEEX_INFO_LEVELS level,
                                   void *out) {
    struct path p;
    return GetFileAttributesExW(take(w, &p, path)->open, level, out);
}
KL_TURNED(BOOL, v_GetFileAttributesExW, (const wchar_t *path, GET_FILEEX_INFO_LEVELS level, void *out), path,
          level, out)

#define STATS(kind) KL_HOOK("_" #kind, v_##kind), KL_HOOK("_w" #kind, v_w##kind)

const struct kl_hook kl_world_file_hooks[] = {
    KL_HOOK("fopen", v_fopen),
    KL_HOOK("_wfopen", v_wfopen),
    KL_HOOK("fopen_s", v_fopen_s),
    KL_HOOK("_wfopen_s", v_wfopen_s),
    KL_HOOK("_fsopen", v_fsopen),
    KL_HOOK("_wfsopen", v_wfsopen),
    KL_HOOK("freopen", v_freopen),
    KL_HOOK("_wfreopen", v_wfreopen),
    KL_HOOK("open", v_open),
    KL_HOOK("_open", v_open),
    KL_HOOK("_wopen", v_wopen),
    KL_HOOK("_sopen", v_sopen),
    KL_HOOK("_wsopen", v_wsopen),
    KL_HOOK("_sopen_s", v_sopen_s),
    KL_HOOK("_wsopen_s", v_wsopen_s),
    KL_HOOK("creat", v_creat),
    KL_HOOK("_creat", v_creat),
    KL_HOOK("_wcreat", v_wcreat),
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
    KL_SYSTEM_HOOK("CreateFileA", v_CreateFileA),
    KL_SYSTEM_HOOK("CreateFileW", v_CreateFileW),
    KL_SYSTEM_HOOK("CreateFile2", v_CreateFile2),
    KL_SYSTEM_HOOK("GetFileAttributesA", v_GetFileAttributesA),
    KL_SYSTEM_HOOK("GetFileAttributesW", v_GetFileAttributesW),
    KL_SYSTEM_HOOK("GetFileAttributesExA", v_GetFileAttributesExA),
    KL_SYSTEM_HOOK("GetFileAttributesExW", v_GetFileAttributesExW),
    KL_HOOK_END,
};

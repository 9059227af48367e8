/* The calls by which a core opens files, of the C runtime and of the system: noted, and opened as the
 * session's view has them. All narrow ones become the wide ones. */
#include <windows.h>

#include <stdarg.h>
#include <string.h>

#include "core_wrapper/world/world_archive.h"
#include "net/platform/windows/disk.h"

#define OPEN_WRITES    0x0003 /* _O_WRONLY, _O_RDWR */
#define OPEN_CREATES   0x0100 /* _O_CREAT */
#define OPEN_EMPTIES   0x0200 /* _O_TRUNC */
#define OPEN_NEW       0x0500 /* _O_CREAT, _O_EXCL */
#define CREAT_FLAGS    0x0301 /* _O_CREAT, _O_TRUNC, _O_WRONLY */
#define SHARE_ALL      0x40   /* _SH_DENYNO */
#define SHARE_SECURE   0x80   /* _SH_SECURE */
#define ERROR_NO_ENTRY 2      /* ENOENT */
#define ERROR_VALUE    22     /* EINVAL */

/* A device's name is no file's. */
struct kl_pe_path *kl_pe_take(struct kl_world *w, struct kl_pe_path *p, const wchar_t *path, unsigned use) {
    char other[KL_FILE_PATH];
    p->open = path;
    p->name[0] = p->used[0] = 0;
    if (!path || wcsncmp(path, L"\\\\.\\", 4) == 0 || !kl_narrow_path(p->name, sizeof p->name, path))
        return p;
    const char *really = kl_world_really(w, p->name, use, other);
    strcpy(p->used, really);
    if (really != p->name && kl_wide_path(p->wide, really)) p->open = p->wide;
    return p;
}

struct kl_pe_path *kl_pe_take_narrow(struct kl_world *w, struct kl_pe_path *p, const char *path,
                                     unsigned use) {
    wchar_t wide[KL_WIDE_PATH];
    if (!path || !MultiByteToWideChar(CP_ACP, 0, path, -1, wide, KL_WIDE_PATH)) {
        p->open = NULL;
        p->name[0] = p->used[0] = 0;
        return p;
    }
    kl_pe_take(w, p, wide, use);
    if (p->open == wide) p->open = wcscpy(p->wide, wide);
    return p;
}

/* A file that is looked for and not there is as much part of the world as one that is. The core may ask why
 * its file did not open. f: a stream whose reads can be seen, or NULL. */
static void note(struct kl_world *w, const struct kl_pe_path *p, bool opened, bool missing, bool write,
                 void *f) {
    DWORD error = GetLastError();
    int number = w->real.errno_at ? *w->real.errno_at() : 0;
    bool seen = f && p->name[0] && kl_world_archive_watch(w, f, p->name);
    if (p->name[0] && (opened || missing)) kl_world_note_opened(w, p->name, write && opened, seen);
    if (w->real.errno_at) *w->real.errno_at() = number;
    SetLastError(error);
}
static void note_runtime(struct kl_world *w, const struct kl_pe_path *p, bool opened, bool write,
                         void *watched) {
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
static enum kl_use use_by_mode(const wchar_t *mode) {
    bool plus = wcschr(mode, L'+') != NULL;
    if (wcschr(mode, L'x') && *mode != L'r') return KL_USE_NEW;
    return *mode == L'w' ? KL_USE_EMPTY : *mode == L'a' || plus ? KL_USE_CHANGE : KL_USE_LOOK;
}

static void *stream(struct kl_world *w, const struct kl_pe_path *p, const wchar_t *mode, int share) {
    void *f = w->real.wfsopen(p->open, mode, share);
    bool writes = use_by_mode(mode) != KL_USE_LOOK;
    bool bytes = f && !writes && wcschr(mode, L'b') && !strcmp(p->used, p->name);
    note_runtime(w, p, f != NULL, writes, bytes ? f : NULL);
    if (f && w->real.fflush) kl_view_opened(w, p->used, f, w->real.fileno(f));
    return f;
}

static void *v_fsopen(struct kl_world *w, const char *path, const char *mode, int share) {
    struct kl_pe_path p;
    struct mode m;
    const wchar_t *wide = wide_mode(&m, mode);
    return stream(w, kl_pe_take_narrow(w, &p, path, use_by_mode(wide)), wide, share);
}
KL_TURNED(void *, v_fsopen, (const char *path, const char *mode, int share), path, mode, share)
static void *v_wfsopen(struct kl_world *w, const wchar_t *path, const wchar_t *mode, int share) {
    struct kl_pe_path p;
    return stream(w, kl_pe_take(w, &p, path, use_by_mode(mode)), mode, share);
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

static void *reopen(struct kl_world *w, const struct kl_pe_path *p, const wchar_t *mode, void *old) {
    kl_world_archive_leave(w, old);
    kl_view_closes(w, old, -1);
    void *f = w->real.wfreopen(p->open, mode, old);
    note_runtime(w, p, f != NULL, use_by_mode(mode) != KL_USE_LOOK, NULL);
    if (f && w->real.fflush) kl_view_opened(w, p->used, f, w->real.fileno(f));
    return f;
}
static void *v_freopen(struct kl_world *w, const char *path, const char *mode, void *old) {
    struct kl_pe_path p;
    struct mode m;
    const wchar_t *wide = wide_mode(&m, mode);
    return reopen(w, kl_pe_take_narrow(w, &p, path, use_by_mode(wide)), wide, old);
}
KL_TURNED(void *, v_freopen, (const char *path, const char *mode, void *old), path, mode, old)
static void *v_wfreopen(struct kl_world *w, const wchar_t *path, const wchar_t *mode, void *old) {
    struct kl_pe_path p;
    return reopen(w, kl_pe_take(w, &p, path, use_by_mode(mode)), mode, old);
}
KL_TURNED(void *, v_wfreopen, (const wchar_t *path, const wchar_t *mode, void *old), path, mode, old)

/* --- descriptors of the runtime --- */

static enum kl_use use_by_flags(int flags) {
    if (!(flags & (OPEN_WRITES | OPEN_CREATES | OPEN_EMPTIES))) return KL_USE_LOOK;
    if ((flags & OPEN_NEW) == OPEN_NEW) return KL_USE_NEW;
    return flags & OPEN_EMPTIES ? KL_USE_EMPTY : KL_USE_CHANGE;
}

static int descriptor(struct kl_world *w, const struct kl_pe_path *p, int flags, int share, int mode) {
    int fd = w->real.wsopen(p->open, flags, share, mode);
    note_runtime(w, p, fd >= 0, (flags & OPEN_WRITES) != 0, NULL);
    if (fd >= 0 && w->real.lseeki64) kl_view_opened(w, p->used, NULL, fd);
    return fd;
}

/* The mode is read behind the flags: these cannot be made by KL_TURNED. */
#define MODE(last)                                                                                           \
    va_list args;                                                                                            \
    va_start(args, last);                                                                                    \
    int mode = flags & OPEN_CREATES ? va_arg(args, int) : 0;                                                 \
    va_end(args);                                                                                            \
    struct kl_pe_path p;                                                                                     \
    struct kl_world *w
#define OPENS(world)                                                                                         \
    static int v_open##world(const char *path, int flags, ...) {                                             \
        MODE(flags) = &kl_world_at[world];                                                                   \
        return descriptor(w, kl_pe_take_narrow(w, &p, path, use_by_flags(flags)), flags, SHARE_ALL, mode);   \
    }                                                                                                        \
    static int v_wopen##world(const wchar_t *path, int flags, ...) {                                         \
        MODE(flags) = &kl_world_at[world];                                                                   \
        return descriptor(w, kl_pe_take(w, &p, path, use_by_flags(flags)), flags, SHARE_ALL, mode);          \
    }                                                                                                        \
    static int v_sopen##world(const char *path, int flags, int share, ...) {                                 \
        MODE(share) = &kl_world_at[world];                                                                   \
        return descriptor(w, kl_pe_take_narrow(w, &p, path, use_by_flags(flags)), flags, share, mode);       \
    }                                                                                                        \
    static int v_wsopen##world(const wchar_t *path, int flags, int share, ...) {                             \
        MODE(share) = &kl_world_at[world];                                                                   \
        return descriptor(w, kl_pe_take(w, &p, path, use_by_flags(flags)), flags, share, mode);              \
    }
OPENS(0)
OPENS(1)
OPENS(2)
OPENS(3)

static int descriptor_into(struct kl_world *w, int *out, const struct kl_pe_path *p, int flags, int share,
                           int mode) {
    if (!out) return ERROR_VALUE;
    *out = descriptor(w, p, flags, share, mode);
    return *out >= 0 ? 0 : *w->real.errno_at();
}
static int v_sopen_s(struct kl_world *w, int *out, const char *path, int flags, int share, int mode) {
    struct kl_pe_path p;
    return descriptor_into(w, out, kl_pe_take_narrow(w, &p, path, use_by_flags(flags)), flags, share, mode);
}
KL_TURNED(int, v_sopen_s, (int *out, const char *path, int flags, int share, int mode), out, path, flags,
          share, mode)
static int v_wsopen_s(struct kl_world *w, int *out, const wchar_t *path, int flags, int share, int mode) {
    struct kl_pe_path p;
    return descriptor_into(w, out, kl_pe_take(w, &p, path, use_by_flags(flags)), flags, share, mode);
}
KL_TURNED(int, v_wsopen_s, (int *out, const wchar_t *path, int flags, int share, int mode), out, path, flags,
          share, mode)
static int v_creat(struct kl_world *w, const char *path, int mode) {
    struct kl_pe_path p;
    return descriptor(w, kl_pe_take_narrow(w, &p, path, KL_USE_EMPTY), CREAT_FLAGS, SHARE_ALL, mode);
}
KL_TURNED(int, v_creat, (const char *path, int mode), path, mode)
static int v_wcreat(struct kl_world *w, const wchar_t *path, int mode) {
    struct kl_pe_path p;
    return descriptor(w, kl_pe_take(w, &p, path, KL_USE_EMPTY), CREAT_FLAGS, SHARE_ALL, mode);
}
KL_TURNED(int, v_wcreat, (const wchar_t *path, int mode), path, mode)

static int v_close(struct kl_world *w, int fd) {
    kl_view_closes(w, NULL, fd);
    return w->real.close(fd);
}
KL_TURNED(int, v_close, (int fd), fd)
static int v_duplicate(struct kl_world *w, int fd) {
    int also = w->real.dup(fd);
    if (also >= 0) kl_view_shared(w, fd, NULL, also);
    return also;
}
KL_TURNED(int, v_duplicate, (int fd), fd)
static int v_duplicate_to(struct kl_world *w, int fd, int to) {
    if (fd != to) kl_view_closes(w, NULL, to);
    int r = w->real.dup2(fd, to);
    if (r == 0 && fd != to) kl_view_shared(w, fd, NULL, to);
    return r;
}
KL_TURNED(int, v_duplicate_to, (int fd, int to), fd, to)
static void *v_fdopen(struct kl_world *w, int fd, const char *mode) {
    void *f = w->real.fdopen(fd, mode);
    if (f) kl_view_shared(w, fd, f, -1);
    return f;
}
KL_TURNED(void *, v_fdopen, (int fd, const char *mode), fd, mode)

/* --- the system --- */

#define WRITES (GENERIC_WRITE | GENERIC_ALL | FILE_WRITE_DATA | FILE_APPEND_DATA)

static enum kl_use use_by_access(DWORD access, DWORD how) {
    if (how == CREATE_NEW) return KL_USE_NEW;
    if (how == CREATE_ALWAYS || how == TRUNCATE_EXISTING) return KL_USE_EMPTY;
    return access & WRITES || how == OPEN_ALWAYS ? KL_USE_CHANGE : KL_USE_LOOK;
}

/* The core's handles are not followed: while one is open, the file cannot be kept. */
static void note_system(struct kl_world *w, const struct kl_pe_path *p, HANDLE h, DWORD access) {
    bool opened = h != INVALID_HANDLE_VALUE;
    bool missing =
        !opened && (GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND);
    note(w, p, opened, missing, (access & WRITES) != 0, NULL);
    if (opened) kl_view_covert(w, p->used);
}

static HANDLE create(struct kl_world *w, const struct kl_pe_path *p, DWORD access, DWORD share,
                     SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    HANDLE h = CreateFileW(p->open, access, share, security, how, flags, like);
    note_system(w, p, h, access);
    return h;
}
static HANDLE v_CreateFileA(struct kl_world *w, const char *path, DWORD access, DWORD share,
                            SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    struct kl_pe_path p;
    return create(w, kl_pe_take_narrow(w, &p, path, use_by_access(access, how)), access, share, security, how,
                  flags, like);
}
KL_TURNED(HANDLE, v_CreateFileA,
          (const char *path, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags,
           HANDLE like),
          path, access, share, security, how, flags, like)
static HANDLE v_CreateFileW(struct kl_world *w, const wchar_t *path, DWORD access, DWORD share,
                            SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
    struct kl_pe_path p;
    return create(w, kl_pe_take(w, &p, path, use_by_access(access, how)), access, share, security, how, flags,
                  like);
}
KL_TURNED(HANDLE, v_CreateFileW,
          (const wchar_t *path, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how,
           DWORD flags, HANDLE like),
          path, access, share, security, how, flags, like)
static HANDLE v_CreateFile2(struct kl_world *w, const wchar_t *path, DWORD access, DWORD share, DWORD how,
                            CREATEFILE2_EXTENDED_PARAMETERS *more) {
    struct kl_pe_path p;
    HANDLE h =
        CreateFile2(kl_pe_take(w, &p, path, use_by_access(access, how))->open, access, share, how, more);
    note_system(w, &p, h, access);
    return h;
}
KL_TURNED(HANDLE, v_CreateFile2,
          (const wchar_t *path, DWORD access, DWORD share, DWORD how, CREATEFILE2_EXTENDED_PARAMETERS *more),
          path, access, share, how, more)

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
    KL_HOOK("close", v_close),
    KL_HOOK("_close", v_close),
    KL_HOOK("dup", v_duplicate),
    KL_HOOK("_dup", v_duplicate),
    KL_HOOK("dup2", v_duplicate_to),
    KL_HOOK("_dup2", v_duplicate_to),
    KL_HOOK("fdopen", v_fdopen),
    KL_HOOK("_fdopen", v_fdopen),
    KL_SYSTEM_HOOK("CreateFileA", v_CreateFileA),
    KL_SYSTEM_HOOK("CreateFileW", v_CreateFileW),
    KL_SYSTEM_HOOK("CreateFile2", v_CreateFile2),
    KL_HOOK_END,
};

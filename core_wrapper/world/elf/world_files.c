/* The calls by which a core opens files: passed through and noted. */
#include "core_wrapper/world/world_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is looked for and not there is as much part of the world as one that is. */
static void note_result(struct kl_world *w, const char *path, bool opened, bool write) {
    if (opened || errno == ENOENT) kl_world_note_file(w, path, write && opened);
}

/* --- C --- */

static bool mode_writes(const char *mode) {
    return strpbrk(mode, "wa+") != NULL;
}
static bool flags_write(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY;
}
/* The mode argument behind the flags, if they ask for one. */
static mode_t mode_behind(int flags, va_list *args) {
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? va_arg(*args, mode_t) : 0;
}

static FILE *v_fopen(struct kl_world *w, const char *path, const char *mode) {
    char other[KL_FILE_PATH];
    FILE *f = mode_writes(mode) ? NULL : kl_world_archive_open(w, path);
    if (f) {
        kl_world_note_opened(w, path, false, true);
        return f;
    }
    f = fopen(kl_world_really(w, path, other), mode);
    note_result(w, path, f != NULL, mode_writes(mode));
    return f;
}
KL_TURNED(FILE *, v_fopen, (const char *path, const char *mode), path, mode)

static FILE *v_freopen(struct kl_world *w, const char *path, const char *mode, FILE *old) {
    char other[KL_FILE_PATH];
    FILE *f = freopen(kl_world_really(w, path, other), mode, old);
    if (path) note_result(w, path, f != NULL, mode_writes(mode));
    return f;
}
KL_TURNED(FILE *, v_freopen, (const char *path, const char *mode, FILE *old), path, mode, old)

/* openat's path may be relative to a folder that only its descriptor names. */
static void note_at(struct kl_world *w, int dir, const char *path, bool opened, int flags) {
    char whole[KL_FILE_PATH], link[32];
    if (path[0] == '/' || dir == AT_FDCWD) {
        note_result(w, path, opened, flags_write(flags));
        return;
    }
    int saved = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, whole, sizeof(whole) - 1);
    errno = saved; /* the core may ask why its file did not open */
    if (n <= 0 || (size_t)n + 1 + strlen(path) >= sizeof(whole)) return;
    whole[n] = '/';
    memcpy(whole + n + 1, path, strlen(path) + 1);
    note_result(w, whole, opened, flags_write(flags));
}

static int open_and_note(struct kl_world *w, int dir, const char *path, int flags, mode_t mode) {
    char other[KL_FILE_PATH];
    int fd = openat(dir, kl_world_really(w, path, other), flags, mode);
    note_at(w, dir, path, fd >= 0, flags);
    return fd;
}

/* The mode is read behind the flags: these cannot be made by KL_TURNED. */
#define OPENS(world)                                                                                         \
    static int v_open##world(const char *path, int flags, ...) {                                             \
        va_list args;                                                                                        \
        va_start(args, flags);                                                                               \
        mode_t mode = mode_behind(flags, &args);                                                             \
        va_end(args);                                                                                        \
        return open_and_note(&kl_world_at[world], AT_FDCWD, path, flags, mode);                              \
    }                                                                                                        \
    static int v_openat##world(int dir, const char *path, int flags, ...) {                                  \
        va_list args;                                                                                        \
        va_start(args, flags);                                                                               \
        mode_t mode = mode_behind(flags, &args);                                                             \
        va_end(args);                                                                                        \
        return open_and_note(&kl_world_at[world], dir, path, flags, mode);                                   \
    }
OPENS(0)
OPENS(1)
OPENS(2)
OPENS(3)

static int v_open_2(struct kl_world *w, const char *path, int flags) {
    return open_and_note(w, AT_FDCWD, path, flags, 0);
}
KL_TURNED(int, v_open_2, (const char *path, int flags), path, flags)
static int v_openat_2(struct kl_world *w, int dir, const char *path, int flags) {
    return open_and_note(w, dir, path, flags, 0);
}
KL_TURNED(int, v_openat_2, (int dir, const char *path, int flags), dir, path, flags)
static int v_creat(struct kl_world *w, const char *path, mode_t mode) {
    return open_and_note(w, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
KL_TURNED(int, v_creat, (const char *path, mode_t mode), path, mode)

static int v_stat(struct kl_world *w, const char *path, void *out) {
    char other[KL_FILE_PATH];
    return w->real.stat(kl_world_really(w, path, other), out);
}
KL_TURNED(int, v_stat, (const char *path, void *out), path, out)
static int v_stat64(struct kl_world *w, const char *path, void *out) {
    char other[KL_FILE_PATH];
    return w->real.stat64(kl_world_really(w, path, other), out);
}
KL_TURNED(int, v_stat64, (const char *path, void *out), path, out)
static int v_xstat(struct kl_world *w, int version, const char *path, void *out) {
    char other[KL_FILE_PATH];
    return w->real.xstat(version, kl_world_really(w, path, other), out);
}
KL_TURNED(int, v_xstat, (int version, const char *path, void *out), version, path, out)
static int v_xstat64(struct kl_world *w, int version, const char *path, void *out) {
    char other[KL_FILE_PATH];
    return w->real.xstat64(version, kl_world_really(w, path, other), out);
}
KL_TURNED(int, v_xstat64, (int version, const char *path, void *out), version, path, out)
static int v_access(struct kl_world *w, const char *path, int mode) {
    char other[KL_FILE_PATH];
    return access(kl_world_really(w, path, other), mode);
}
KL_TURNED(int, v_access, (const char *path, int mode), path, mode)

/* --- zlib and libstdc++ ---
 *
 * Member functions take `this` first; a std::string begins with a pointer to its bytes. */

static void *v_gzopen(struct kl_world *w, const char *path, const char *mode) {
    char other[KL_FILE_PATH];
    void *f = w->real.gzopen(kl_world_really(w, path, other), mode);
    note_result(w, path, f != NULL, mode_writes(mode));
    return f;
}
KL_TURNED(void *, v_gzopen, (const char *path, const char *mode), path, mode)

#define CXX_OUT (1 << 4) /* std::ios_base::out; app and trunc come with it or imply it */
#define CXX_APP (1 << 0)
static bool cxx_writes(int mode) {
    return (mode & (CXX_OUT | CXX_APP)) != 0;
}

/* A std::string: pointer, length, a place for short ones. */
struct cxx_string {
    const char *at;
    size_t len;
    char path[KL_FILE_PATH];
};
static const char *const *really_string(const struct kl_world *w, const char *const *path,
                                        struct cxx_string *other) {
    other->at = kl_world_really(w, *path, other->path);
    other->len = strlen(other->at);
    return other->at == *path ? path : &other->at;
}

static void *v_filebuf_open(struct kl_world *w, void *self, const char *path, int mode) {
    char other[KL_FILE_PATH];
    void *done = w->real.filebuf_open(self, kl_world_really(w, path, other), mode);
    note_result(w, path, done != NULL, cxx_writes(mode));
    return done;
}
KL_TURNED(void *, v_filebuf_open, (void *self, const char *path, int mode), self, path, mode)

static void *v_filebuf_open_string(struct kl_world *w, void *self, const char *const *path, int mode) {
    struct cxx_string other;
    void *done = w->real.filebuf_open_string(self, really_string(w, path, &other), mode);
    note_result(w, *path, done != NULL, cxx_writes(mode));
    return done;
}
KL_TURNED(void *, v_filebuf_open_string, (void *self, const char *const *path, int mode), self, path, mode)

/* Constructors and open() of the three streams: whether it opened shows in the file's being there. */
#define STREAM(kind, forced)                                                                                 \
    static void v_##kind(struct kl_world *w, void *self, const char *path, int mode) {                       \
        char other[KL_FILE_PATH];                                                                            \
        w->real.kind(self, kl_world_really(w, path, other), mode);                                           \
        kl_world_note_file(w, path, cxx_writes(mode | (forced)));                                            \
    }                                                                                                        \
    static void v_##kind##_string(struct kl_world *w, void *self, const char *const *path, int mode) {       \
        struct cxx_string other;                                                                             \
        w->real.kind##_string(self, really_string(w, path, &other), mode);                                   \
        kl_world_note_file(w, *path, cxx_writes(mode | (forced)));                                           \
    }                                                                                                        \
    KL_TURNED(void, v_##kind, (void *self, const char *path, int mode), self, path, mode)                    \
    KL_TURNED(void, v_##kind##_string, (void *self, const char *const *path, int mode), self, path, mode)
STREAM(ifstream, 0)
STREAM(ofstream, CXX_OUT)
STREAM(fstream, 0)
STREAM(ifstream_open, 0)
STREAM(ofstream_open, CXX_OUT)
STREAM(fstream_open, 0)

#define CXX(before, after, kind)                                                                             \
    KL_HOOK_REAL(before "cSt11char_traitsIcEE" after "EPKcSt13_Ios_Openmode", v_##kind, KL_REAL(kind)),      \
        KL_HOOK_REAL(before "cSt11char_traitsIcEE" after                                                     \
                            "ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode",                     \
                     v_##kind##_string, KL_REAL(kind##_string))

const struct kl_hook kl_world_file_hooks[] = {
    KL_HOOK("fopen", v_fopen),
    KL_HOOK("fopen64", v_fopen),
    KL_HOOK("freopen", v_freopen),
    KL_HOOK("freopen64", v_freopen),
    KL_HOOK("open", v_open),
    KL_HOOK("open64", v_open),
    KL_HOOK("openat", v_openat),
    KL_HOOK("openat64", v_openat),
    KL_HOOK("__open_2", v_open_2),
    KL_HOOK("__open64_2", v_open_2),
    KL_HOOK("__openat_2", v_openat_2),
    KL_HOOK("__openat64_2", v_openat_2),
    KL_HOOK("creat", v_creat),
    KL_HOOK("creat64", v_creat),
    KL_HOOK_REAL("stat", v_stat, KL_REAL(stat)),
    KL_HOOK_REAL("stat64", v_stat64, KL_REAL(stat64)),
    KL_HOOK_REAL("__xstat", v_xstat, KL_REAL(xstat)),
    KL_HOOK_REAL("__xstat64", v_xstat64, KL_REAL(xstat64)),
    KL_HOOK("access", v_access),
    KL_HOOK_REAL("gzopen", v_gzopen, KL_REAL(gzopen)),
    KL_HOOK_REAL("gzopen64", v_gzopen, KL_REAL(gzopen)),
    CXX("_ZNSt13basic_filebufI", "4open", filebuf_open),
    CXX("_ZNSt14basic_ifstreamI", "C1", ifstream),
    CXX("_ZNSt14basic_ofstreamI", "C1", ofstream),
    CXX("_ZNSt13basic_fstreamI", "C1", fstream),
    CXX("_ZNSt14basic_ifstreamI", "4open", ifstream_open),
    CXX("_ZNSt14basic_ofstreamI", "4open", ofstream_open),
    CXX("_ZNSt13basic_fstreamI", "4open", fstream_open),
    KL_HOOK_END,
};

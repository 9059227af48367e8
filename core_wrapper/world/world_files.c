/* The files a core opens: passed through and noted, for the identity of a room. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/platform/thread.h"

void kl_world_files_clear(struct kl_world *w) {
    struct kl_world_files *files = &w->files;
    kl_mutex_lock(&files->lock);
    for (unsigned i = 0; i < files->count; i++)
        free(files->name[i]);
    files->count = 0;
    kl_mutex_unlock(&files->lock);
    kl_world_archives_clear(w);
}

void kl_world_files_redirect(struct kl_world *w, kl_world_redirect fn, void *ctx) {
    w->files.redirect = fn;
    w->files.redirect_ctx = ctx;
}

/* The path that is opened for this one. */
static const char *really(const struct kl_world *w, const char *path, char out[PATH_MAX]) {
    const struct kl_world_files *f = &w->files;
    return f->redirect && path && f->redirect(f->redirect_ctx, path, out, PATH_MAX) ? out : path;
}

unsigned kl_world_files(struct kl_world *w) {
    kl_mutex_lock(&w->files.lock);
    unsigned n = w->files.count;
    kl_mutex_unlock(&w->files.lock);
    return n;
}

const char *kl_world_file(struct kl_world *w, unsigned i, bool *wrote) {
    struct kl_world_files *files = &w->files;
    kl_mutex_lock(&files->lock);
    const char *name = i < files->count ? files->name[i] : NULL;
    if (wrote) *wrote = name && files->wrote[i];
    kl_mutex_unlock(&files->lock);
    return name;
}

static void note_name(struct kl_world_files *files, const char *name, bool write) {
    kl_mutex_lock(&files->lock);
    unsigned i = 0;
    while (i < files->count && strcmp(files->name[i], name) != 0)
        i++;
    if (i == files->count && i < KL_WORLD_FILES && (files->name[i] = strdup(name))) {
        files->wrote[i] = false;
        files->count++;
    }
    if (i < files->count && write) files->wrote[i] = true;
    kl_mutex_unlock(&files->lock);
}

/* For a missing file, the folder is made absolute, if that exists. */
static bool absolute(const char *path, char out[PATH_MAX]) {
    char dir[PATH_MAX];
    if (realpath(path, out)) return true;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int len = slash ? snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path)
                    : snprintf(dir, sizeof(dir), ".");
    if (len <= 0 || (size_t)len >= sizeof(dir) || !*base || !realpath(dir, out)) return false;
    size_t used = strlen(out);
    return (size_t)snprintf(out + used, PATH_MAX - used, "%s%s", used > 1 ? "/" : "", base) < PATH_MAX - used;
}

static void note(struct kl_world *w, const char *path, bool write, bool seen) {
    char whole[PATH_MAX];
    int saved = errno;
    if (path && absolute(path, whole)) {
        note_name(&w->files, whole, write);
        if (!seen && kl_archive_is(whole)) kl_world_archive_unseen(w, whole);
    }
    errno = saved;
}

void kl_world_note_file(struct kl_world *w, const char *path, bool write) {
    note(w, path, write, false);
}

/* A file that is looked for and not there is as much part of the world as one that is. */
static void note_result(struct kl_world *w, const char *path, bool opened, bool write) {
    if (opened || errno == ENOENT) kl_world_note_file(w, path, write && opened);
}

/* ---- C ---- */

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
    char other[PATH_MAX];
    FILE *f = mode_writes(mode) ? NULL : kl_world_archive_open(w, path);
    if (f) {
        note(w, path, false, true);
        return f;
    }
    f = fopen(really(w, path, other), mode);
    note_result(w, path, f != NULL, mode_writes(mode));
    return f;
}
KL_TURNED(FILE *, v_fopen, (const char *path, const char *mode), path, mode)

static size_t v_fread(struct kl_world *w, void *out, size_t size, size_t count, FILE *f) {
    size_t bytes = size && count <= SIZE_MAX / size ? size * count : 0;
    size_t got = bytes ? kl_world_archive_fread(w, out, bytes, f) : 0;
    if (!got) return fread(out, size, count, f);
    if (got < bytes) got += fread((char *)out + got, 1, bytes - got, f); /* marks the end */
    return got / size;
}
KL_TURNED(size_t, v_fread, (void *out, size_t size, size_t count, FILE *f), out, size, count, f)

/* A stream without buffer stays one. */
static int v_setvbuf(struct kl_world *w, FILE *f, char *buffer, int mode, size_t size) {
    return kl_world_archive_has(w, f) ? 0 : setvbuf(f, buffer, mode, size);
}
KL_TURNED(int, v_setvbuf, (FILE * f, char *buffer, int mode, size_t size), f, buffer, mode, size)
static void v_setbuf(struct kl_world *w, FILE *f, char *buffer) {
    if (!kl_world_archive_has(w, f)) setbuf(f, buffer);
}
KL_TURNED(void, v_setbuf, (FILE * f, char *buffer), f, buffer)
static int v_fileno(struct kl_world *w, FILE *f) {
    f = kl_world_archive_plain(w, f);
    return f ? fileno(f) : -1;
}
KL_TURNED(int, v_fileno, (FILE * f), f)

static FILE *v_freopen(struct kl_world *w, const char *path, const char *mode, FILE *old) {
    char other[PATH_MAX];
    FILE *f = freopen(really(w, path, other), mode, old);
    if (path) note_result(w, path, f != NULL, mode_writes(mode));
    return f;
}
KL_TURNED(FILE *, v_freopen, (const char *path, const char *mode, FILE *old), path, mode, old)

/* openat's path may be relative to a folder that only its descriptor names. */
static void note_at(struct kl_world *w, int dir, const char *path, bool opened, int flags) {
    char whole[PATH_MAX], link[32];
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
    char other[PATH_MAX];
    int fd = openat(dir, really(w, path, other), flags, mode);
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
    char other[PATH_MAX];
    return w->real.stat(really(w, path, other), out);
}
KL_TURNED(int, v_stat, (const char *path, void *out), path, out)
static int v_stat64(struct kl_world *w, const char *path, void *out) {
    char other[PATH_MAX];
    return w->real.stat64(really(w, path, other), out);
}
KL_TURNED(int, v_stat64, (const char *path, void *out), path, out)
static int v_xstat(struct kl_world *w, int version, const char *path, void *out) {
    char other[PATH_MAX];
    return w->real.xstat(version, really(w, path, other), out);
}
KL_TURNED(int, v_xstat, (int version, const char *path, void *out), version, path, out)
static int v_xstat64(struct kl_world *w, int version, const char *path, void *out) {
    char other[PATH_MAX];
    return w->real.xstat64(version, really(w, path, other), out);
}
KL_TURNED(int, v_xstat64, (int version, const char *path, void *out), version, path, out)
static int v_access(struct kl_world *w, const char *path, int mode) {
    char other[PATH_MAX];
    return access(really(w, path, other), mode);
}
KL_TURNED(int, v_access, (const char *path, int mode), path, mode)

/* ---- zlib, and libstdc++: member functions take `this` first; a std::string begins with a pointer to its
 * bytes ---- */

static void *v_gzopen(struct kl_world *w, const char *path, const char *mode) {
    char other[PATH_MAX];
    void *f = w->real.gzopen(really(w, path, other), mode);
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
    char path[PATH_MAX];
};
static const char *const *really_string(const struct kl_world *w, const char *const *path,
                                        struct cxx_string *other) {
    other->at = really(w, *path, other->path);
    other->len = strlen(other->at);
    return other->at == *path ? path : &other->at;
}

static void *v_filebuf_open(struct kl_world *w, void *self, const char *path, int mode) {
    char other[PATH_MAX];
    void *done = w->real.filebuf_open(self, really(w, path, other), mode);
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
        char other[PATH_MAX];                                                                                \
        w->real.kind(self, really(w, path, other), mode);                                                    \
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
    KL_HOOK("fread", v_fread),
    KL_HOOK("setvbuf", v_setvbuf),
    KL_HOOK("setbuf", v_setbuf),
    KL_HOOK("fileno", v_fileno),
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

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

#define FILES_MAX 512 /* names kept; a core that opens more has long told apart one machine from another */

static struct {
    struct kl_mutex lock;
    char *name[FILES_MAX];
    bool wrote[FILES_MAX];
    unsigned count;
} files;

void kl_world_files_clear(void) {
    kl_mutex_lock(&files.lock);
    for (unsigned i = 0; i < files.count; i++)
        free(files.name[i]);
    files.count = 0;
    kl_mutex_unlock(&files.lock);
    kl_world_archives_clear();
}

static kl_world_redirect redirect;

void kl_world_files_redirect(kl_world_redirect fn) {
    redirect = fn;
}

/* The path that is opened for this one. */
static const char *really(const char *path, char out[PATH_MAX]) {
    return redirect && path && redirect(path, out, PATH_MAX) ? out : path;
}

unsigned kl_world_files(void) {
    kl_mutex_lock(&files.lock);
    unsigned n = files.count;
    kl_mutex_unlock(&files.lock);
    return n;
}

const char *kl_world_file(unsigned i, bool *wrote) {
    kl_mutex_lock(&files.lock);
    const char *name = i < files.count ? files.name[i] : NULL;
    if (wrote) *wrote = name && files.wrote[i];
    kl_mutex_unlock(&files.lock);
    return name;
}

static void note_name(const char *name, bool write) {
    kl_mutex_lock(&files.lock);
    unsigned i = 0;
    while (i < files.count && strcmp(files.name[i], name) != 0)
        i++;
    if (i == files.count && i < FILES_MAX && (files.name[i] = strdup(name))) {
        files.wrote[i] = false;
        files.count++;
    }
    if (i < files.count && write) files.wrote[i] = true;
    kl_mutex_unlock(&files.lock);
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

static void note(const char *path, bool write, bool seen) {
    char whole[PATH_MAX];
    int saved = errno;
    if (path && absolute(path, whole)) {
        note_name(whole, write);
        if (!seen && kl_archive_is(whole)) kl_world_archive_unseen(whole);
    }
    errno = saved;
}

void kl_world_note_file(const char *path, bool write) {
    note(path, write, false);
}

/* A file that is looked for and not there is as much part of the world as one that is. */
static void note_result(const char *path, bool opened, bool write) {
    if (opened || errno == ENOENT) kl_world_note_file(path, write && opened);
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

static FILE *v_fopen(const char *path, const char *mode) {
    char other[PATH_MAX];
    FILE *f = mode_writes(mode) ? NULL : kl_world_archive_open(path);
    if (f) {
        note(path, false, true);
        return f;
    }
    f = fopen(really(path, other), mode);
    note_result(path, f != NULL, mode_writes(mode));
    return f;
}

static size_t v_fread(void *out, size_t size, size_t count, FILE *f) {
    size_t bytes = size && count <= SIZE_MAX / size ? size * count : 0;
    size_t got = bytes ? kl_world_archive_fread(out, bytes, f) : 0;
    if (!got) return fread(out, size, count, f);
    if (got < bytes) got += fread((char *)out + got, 1, bytes - got, f); /* marks the end */
    return got / size;
}

/* A stream without buffer stays one. */
static int v_setvbuf(FILE *f, char *buffer, int mode, size_t size) {
    return kl_world_archive_has(f) ? 0 : setvbuf(f, buffer, mode, size);
}
static void v_setbuf(FILE *f, char *buffer) {
    if (!kl_world_archive_has(f)) setbuf(f, buffer);
}
static int v_fileno(FILE *f) {
    f = kl_world_archive_plain(f);
    return f ? fileno(f) : -1;
}

static FILE *v_freopen(const char *path, const char *mode, FILE *old) {
    char other[PATH_MAX];
    FILE *f = freopen(really(path, other), mode, old);
    if (path) note_result(path, f != NULL, mode_writes(mode));
    return f;
}

/* openat's path may be relative to a folder that only its descriptor names. */
static void note_at(int dir, const char *path, bool opened, int flags) {
    char whole[PATH_MAX], link[32];
    if (path[0] == '/' || dir == AT_FDCWD) {
        note_result(path, opened, flags_write(flags));
        return;
    }
    int saved = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, whole, sizeof(whole) - 1);
    errno = saved; /* the core may ask why its file did not open */
    if (n <= 0 || (size_t)n + 1 + strlen(path) >= sizeof(whole)) return;
    whole[n] = '/';
    memcpy(whole + n + 1, path, strlen(path) + 1);
    note_result(whole, opened, flags_write(flags));
}

static int open_and_note(int dir, const char *path, int flags, mode_t mode) {
    char other[PATH_MAX];
    int fd = openat(dir, really(path, other), flags, mode);
    note_at(dir, path, fd >= 0, flags);
    return fd;
}

static int v_open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_behind(flags, &args);
    va_end(args);
    return open_and_note(AT_FDCWD, path, flags, mode);
}

static int v_openat(int dir, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_behind(flags, &args);
    va_end(args);
    return open_and_note(dir, path, flags, mode);
}

static int v_open_2(const char *path, int flags) {
    return open_and_note(AT_FDCWD, path, flags, 0);
}
static int v_openat_2(int dir, const char *path, int flags) {
    return open_and_note(dir, path, flags, 0);
}
static int v_creat(const char *path, mode_t mode) {
    return open_and_note(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int (*real_stat)(const char *, void *), (*real_stat64)(const char *, void *);
static int (*real_xstat)(int, const char *, void *), (*real_xstat64)(int, const char *, void *);
static int v_stat(const char *path, void *out) {
    char other[PATH_MAX];
    return real_stat(really(path, other), out);
}
static int v_stat64(const char *path, void *out) {
    char other[PATH_MAX];
    return real_stat64(really(path, other), out);
}
static int v_xstat(int version, const char *path, void *out) {
    char other[PATH_MAX];
    return real_xstat(version, really(path, other), out);
}
static int v_xstat64(int version, const char *path, void *out) {
    char other[PATH_MAX];
    return real_xstat64(version, really(path, other), out);
}
static int v_access(const char *path, int mode) {
    char other[PATH_MAX];
    return access(really(path, other), mode);
}

/* ---- zlib, and libstdc++: member functions take `this` first; a std::string begins with a pointer to its
 * bytes ---- */

static void *(*real_gzopen)(const char *, const char *);
static void *v_gzopen(const char *path, const char *mode) {
    char other[PATH_MAX];
    void *f = real_gzopen(really(path, other), mode);
    note_result(path, f != NULL, mode_writes(mode));
    return f;
}

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
static const char *const *really_string(const char *const *path, struct cxx_string *other) {
    other->at = really(*path, other->path);
    other->len = strlen(other->at);
    return other->at == *path ? path : &other->at;
}

static void *(*real_filebuf_open)(void *, const char *, int);
static void *v_filebuf_open(void *self, const char *path, int mode) {
    char other[PATH_MAX];
    void *done = real_filebuf_open(self, really(path, other), mode);
    note_result(path, done != NULL, cxx_writes(mode));
    return done;
}

static void *(*real_filebuf_open_string)(void *, const char *const *, int);
static void *v_filebuf_open_string(void *self, const char *const *path, int mode) {
    struct cxx_string other;
    void *done = real_filebuf_open_string(self, really_string(path, &other), mode);
    note_result(*path, done != NULL, cxx_writes(mode));
    return done;
}

/* Constructors and open() of the three streams: whether it opened shows in the file's being there. */
#define STREAM(kind, forced)                                                                                 \
    static void (*real_##kind)(void *, const char *, int);                                                   \
    static void v_##kind(void *self, const char *path, int mode) {                                           \
        char other[PATH_MAX];                                                                                \
        real_##kind(self, really(path, other), mode);                                                        \
        kl_world_note_file(path, cxx_writes(mode | (forced)));                                               \
    }                                                                                                        \
    static void (*real_##kind##_string)(void *, const char *const *, int);                                   \
    static void v_##kind##_string(void *self, const char *const *path, int mode) {                           \
        struct cxx_string other;                                                                             \
        real_##kind##_string(self, really_string(path, &other), mode);                                       \
        kl_world_note_file(*path, cxx_writes(mode | (forced)));                                              \
    }
STREAM(ifstream, 0)
STREAM(ofstream, CXX_OUT)
STREAM(fstream, 0)
STREAM(ifstream_open, 0)
STREAM(ofstream_open, CXX_OUT)
STREAM(fstream_open, 0)

#define CXX(before, after, kind)                                                                             \
    {before "cSt11char_traitsIcEE" after "EPKcSt13_Ios_Openmode", (void *)v_##kind, (void **)&real_##kind},  \
    {                                                                                                        \
        before "cSt11char_traitsIcEE" after "ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode",     \
            (void *)v_##kind##_string, (void **)&real_##kind##_string                                        \
    }

const struct kl_hook kl_world_file_hooks[] = {
    {"fopen", (void *)v_fopen, NULL},
    {"fopen64", (void *)v_fopen, NULL},
    {"freopen", (void *)v_freopen, NULL},
    {"freopen64", (void *)v_freopen, NULL},
    {"open", (void *)v_open, NULL},
    {"open64", (void *)v_open, NULL},
    {"openat", (void *)v_openat, NULL},
    {"openat64", (void *)v_openat, NULL},
    {"__open_2", (void *)v_open_2, NULL},
    {"__open64_2", (void *)v_open_2, NULL},
    {"__openat_2", (void *)v_openat_2, NULL},
    {"__openat64_2", (void *)v_openat_2, NULL},
    {"creat", (void *)v_creat, NULL},
    {"creat64", (void *)v_creat, NULL},
    {"fread", (void *)v_fread, NULL},
    {"setvbuf", (void *)v_setvbuf, NULL},
    {"setbuf", (void *)v_setbuf, NULL},
    {"fileno", (void *)v_fileno, NULL},
    {"stat", (void *)v_stat, (void **)&real_stat},
    {"stat64", (void *)v_stat64, (void **)&real_stat64},
    {"__xstat", (void *)v_xstat, (void **)&real_xstat},
    {"__xstat64", (void *)v_xstat64, (void **)&real_xstat64},
    {"access", (void *)v_access, NULL},
    {"gzopen", (void *)v_gzopen, (void **)&real_gzopen},
    {"gzopen64", (void *)v_gzopen, (void **)&real_gzopen},
    CXX("_ZNSt13basic_filebufI", "4open", filebuf_open),
    CXX("_ZNSt14basic_ifstreamI", "C1", ifstream),
    CXX("_ZNSt14basic_ofstreamI", "C1", ofstream),
    CXX("_ZNSt13basic_fstreamI", "C1", fstream),
    CXX("_ZNSt14basic_ifstreamI", "4open", ifstream_open),
    CXX("_ZNSt14basic_ofstreamI", "4open", ofstream_open),
    CXX("_ZNSt13basic_fstreamI", "4open", fstream_open),
    {NULL, NULL, NULL},
};

/* The calls by which a core opens files: noted, and opened as the session's view has them. */
#include "core_wrapper/world/world_archive.h"

#include <errno.h>
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

static enum kl_use use_by_mode(const char *mode) {
    bool plus = strchr(mode, '+') != NULL;
    if (strchr(mode, 'x') && *mode != 'r') return KL_USE_NEW;
    return *mode == 'w' ? KL_USE_EMPTY : *mode == 'a' || plus ? KL_USE_CHANGE : KL_USE_LOOK;
}
static enum kl_use use_by_flags(int flags) {
    bool looks = (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC));
    if (looks || flags & (O_DIRECTORY | O_PATH)) return KL_USE_LOOK;
    if ((flags & O_CREAT) && (flags & O_EXCL)) return KL_USE_NEW;
    return flags & O_TRUNC ? KL_USE_EMPTY : KL_USE_CHANGE;
}
/* The mode argument behind the flags, if they ask for one. */
static mode_t mode_behind(int flags, va_list *args) {
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? va_arg(*args, mode_t) : 0;
}

/* Done with an opening: `opened` is the path that was used for the core's. */
static FILE *opened_stream(struct kl_world *w, const char *path, const char *opened, enum kl_use use,
                           FILE *f) {
    note_result(w, path, f != NULL, use != KL_USE_LOOK);
    if (f) kl_view_opened(w, opened, f, fileno(f));
    return f;
}

static FILE *v_fopen(struct kl_world *w, const char *path, const char *mode) {
    char other[KL_FILE_PATH];
    enum kl_use use = use_by_mode(mode);
    const char *open = kl_world_really(w, path, use, other);
    FILE *f = use == KL_USE_LOOK && open == path ? kl_world_archive_open(w, path) : NULL;
    if (!f) return opened_stream(w, path, open, use, fopen(open, mode));
    kl_world_note_opened(w, path, false, true);
    kl_view_opened(w, open, f, -1);
    return f;
}
KL_TURNED(FILE *, v_fopen, (const char *path, const char *mode), path, mode)

static FILE *v_freopen(struct kl_world *w, const char *path, const char *mode, FILE *old) {
    char other[KL_FILE_PATH];
    enum kl_use use = use_by_mode(mode);
    kl_view_closes(w, old, -1);
    const char *open = path ? kl_world_really(w, path, use, other) : NULL;
    FILE *f = freopen(open, mode, old);
    return path ? opened_stream(w, path, open, use, f) : f;
}
KL_TURNED(FILE *, v_freopen, (const char *path, const char *mode, FILE *old), path, mode, old)

static FILE *v_fdopen(struct kl_world *w, int fd, const char *mode) {
    FILE *f = fdopen(fd, mode);
    if (f) kl_view_shared(w, fd, f, -1);
    return f;
}
KL_TURNED(FILE *, v_fdopen, (int fd, const char *mode), fd, mode)

static int v_fclose(struct kl_world *w, FILE *f) {
    kl_view_closes(w, f, -1);
    return fclose(f);
}
KL_TURNED(int, v_fclose, (FILE * f), f)

static int v_close(struct kl_world *w, int fd) {
    kl_view_closes(w, NULL, fd);
    return close(fd);
}
KL_TURNED(int, v_close, (int fd), fd)

static int v_duplicate(struct kl_world *w, int fd) {
    int also = dup(fd);
    if (also >= 0) kl_view_shared(w, fd, NULL, also);
    return also;
}
KL_TURNED(int, v_duplicate, (int fd), fd)
static int v_duplicate_to(struct kl_world *w, int fd, int to) {
    if (fd != to) kl_view_closes(w, NULL, to);
    int also = dup2(fd, to);
    if (also >= 0 && fd != to) kl_view_shared(w, fd, NULL, also);
    return also;
}
KL_TURNED(int, v_duplicate_to, (int fd, int to), fd, to)

const char *kl_world_whole(int dir, const char *path, char out[KL_FILE_PATH]) {
    char link[32];
    if (!path || path[0] == '/' || dir == AT_FDCWD) return path;
    int saved = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, out, KL_FILE_PATH - 1);
    errno = saved; /* the core may ask why its file did not open */
    if (n <= 0 || (size_t)n + 1 + strlen(path) >= KL_FILE_PATH) return NULL;
    out[n] = '/';
    memcpy(out + n + 1, path, strlen(path) + 1);
    return out;
}

int kl_world_open(struct kl_world *w, int dir, const char *path, int flags, unsigned mode) {
    char at[KL_FILE_PATH], other[KL_FILE_PATH];
    if ((flags & O_TMPFILE) == O_TMPFILE && w->view.on) {
        errno = EOPNOTSUPP; /* a file without a name, for which a core has another way */
        return -1;
    }
    const char *whole = kl_world_whole(dir, path, at);
    const char *open = whole ? kl_world_really(w, whole, use_by_flags(flags), other) : NULL;
    int fd =
        open == whole ? openat(dir, path, flags, mode) : openat(AT_FDCWD, open, flags & ~O_NOFOLLOW, mode);
    if (whole) note_result(w, whole, fd >= 0, (flags & O_ACCMODE) != O_RDONLY);
    if (whole && fd >= 0) kl_view_opened(w, open, NULL, fd);
    return fd;
}

int kl_world_make_new(const char *really, int flags) {
    return open(really, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
}

/* The mode is read behind the flags: these cannot be made by KL_TURNED. */
#define OPENS(world)                                                                                         \
    static int v_open##world(const char *path, int flags, ...) {                                             \
        va_list args;                                                                                        \
        va_start(args, flags);                                                                               \
        mode_t mode = mode_behind(flags, &args);                                                             \
        va_end(args);                                                                                        \
        return kl_world_open(&kl_world_at[world], AT_FDCWD, path, flags, mode);                              \
    }                                                                                                        \
    static int v_openat##world(int dir, const char *path, int flags, ...) {                                  \
        va_list args;                                                                                        \
        va_start(args, flags);                                                                               \
        mode_t mode = mode_behind(flags, &args);                                                             \
        va_end(args);                                                                                        \
        return kl_world_open(&kl_world_at[world], dir, path, flags, mode);                                   \
    }
OPENS(0)
OPENS(1)
OPENS(2)
OPENS(3)

static int v_open_2(struct kl_world *w, const char *path, int flags) {
    return kl_world_open(w, AT_FDCWD, path, flags, 0);
}
KL_TURNED(int, v_open_2, (const char *path, int flags), path, flags)
static int v_openat_2(struct kl_world *w, int dir, const char *path, int flags) {
    return kl_world_open(w, dir, path, flags, 0);
}
KL_TURNED(int, v_openat_2, (int dir, const char *path, int flags), dir, path, flags)
static int v_creat(struct kl_world *w, const char *path, mode_t mode) {
    return kl_world_open(w, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
KL_TURNED(int, v_creat, (const char *path, mode_t mode), path, mode)

/* A map changes a file without a write. MAP_SHARED is 1 on all of these systems. */
static void *v_mmap(struct kl_world *w, void *at, size_t len, int protect, int flags, int fd, off_t from) {
    if (flags & 1) kl_view_mapped(w, fd);
    return w->real.mmap(at, len, protect, flags, fd, from);
}
KL_TURNED(void *, v_mmap, (void *at, size_t len, int protect, int flags, int fd, off_t from), at, len,
          protect, flags, fd, from)

/* --- zlib and libstdc++ ---
 *
 * Member functions take `this` first; a std::string begins with a pointer to its bytes. */

static void opened_covert(struct kl_world *w, const char *path, const char *opened, enum kl_use use,
                          bool is) {
    note_result(w, path, is, use != KL_USE_LOOK);
    kl_view_covert(w, opened);
}

static void *v_gzopen(struct kl_world *w, const char *path, const char *mode) {
    char other[KL_FILE_PATH];
    enum kl_use use = use_by_mode(mode);
    const char *open = kl_world_really(w, path, use, other);
    void *f = w->real.gzopen(open, mode);
    opened_covert(w, path, open, use, f != NULL);
    return f;
}
KL_TURNED(void *, v_gzopen, (const char *path, const char *mode), path, mode)

/* Of std::ios_base. */
#define CXX_APP   (1 << 0)
#define CXX_IN    (1 << 3)
#define CXX_OUT   (1 << 4)
#define CXX_TRUNC (1 << 5)
#define CXX_NEW   (1 << 6)
static enum kl_use use_by_cxx(int mode) {
    if (!(mode & (CXX_OUT | CXX_APP))) return KL_USE_LOOK;
    if (mode & CXX_NEW) return KL_USE_NEW;
    return mode & CXX_TRUNC || !(mode & (CXX_IN | CXX_APP)) ? KL_USE_EMPTY : KL_USE_CHANGE;
}

/* A std::string: pointer, length, a place for short ones. */
struct cxx_string {
    const char *at;
    size_t len;
    char path[KL_FILE_PATH];
};
static const char *const *really_string(struct kl_world *w, const char *const *path, enum kl_use use,
                                        struct cxx_string *other) {
    other->at = kl_world_really(w, *path, use, other->path);
    other->len = strlen(other->at);
    return other->at == *path ? path : &other->at;
}

static void *v_filebuf_open(struct kl_world *w, void *self, const char *path, int mode) {
    char other[KL_FILE_PATH];
    enum kl_use use = use_by_cxx(mode);
    const char *open = kl_world_really(w, path, use, other);
    void *done = w->real.filebuf_open(self, open, mode);
    opened_covert(w, path, open, use, done != NULL);
    return done;
}
KL_TURNED(void *, v_filebuf_open, (void *self, const char *path, int mode), self, path, mode)

static void *v_filebuf_open_string(struct kl_world *w, void *self, const char *const *path, int mode) {
    struct cxx_string other;
    enum kl_use use = use_by_cxx(mode);
    const char *const *open = really_string(w, path, use, &other);
    void *done = w->real.filebuf_open_string(self, open, mode);
    opened_covert(w, *path, *open, use, done != NULL);
    return done;
}
KL_TURNED(void *, v_filebuf_open_string, (void *self, const char *const *path, int mode), self, path, mode)

/* Constructors and open() of the three streams: whether it opened shows in the file's being there. */
#define STREAM(kind, forced)                                                                                 \
    static void v_##kind(struct kl_world *w, void *self, const char *path, int mode) {                       \
        char other[KL_FILE_PATH];                                                                            \
        enum kl_use use = use_by_cxx(mode | (forced));                                                       \
        const char *open = kl_world_really(w, path, use, other);                                             \
        w->real.kind(self, open, mode);                                                                      \
        opened_covert(w, path, open, use, true);                                                             \
    }                                                                                                        \
    static void v_##kind##_string(struct kl_world *w, void *self, const char *const *path, int mode) {       \
        struct cxx_string other;                                                                             \
        enum kl_use use = use_by_cxx(mode | (forced));                                                       \
        const char *const *open = really_string(w, path, use, &other);                                       \
        w->real.kind##_string(self, open, mode);                                                             \
        opened_covert(w, *path, *open, use, true);                                                           \
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
    KL_HOOK("fdopen", v_fdopen),
    KL_HOOK("fclose", v_fclose),
    KL_HOOK("close", v_close),
    KL_HOOK("dup", v_duplicate),
    KL_HOOK("dup2", v_duplicate_to),
    KL_HOOK_REAL("mmap", v_mmap, KL_REAL(mmap)),
    KL_HOOK_REAL("mmap64", v_mmap, KL_REAL(mmap)),
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

/* The calls by which a core looks at files, and names, moves and removes them: of the session's view. Dates
 * are the room's: its epoch for files that were there, the virtual clock for those that the core has
 * written. */
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_wrapper/world/world_private.h"

/* Of <sys/stat.h>: the core's calls are passed on. */
int fstatat(int dir, const char *path, struct stat *st, int flags);
int statx(int dir, const char *path, int flags, unsigned mask, struct statx *out);
int utimensat(int dir, const char *path, const struct timespec t[2], int flags);
int mkdirat(int dir, const char *path, mode_t mode);
int chmod(const char *path, mode_t mode);

/* The path to be used in place of one that is relative to a folder: then `dir` has no say. */
static const char *really_at(struct kl_world *w, int dir, const char *path, enum kl_use use,
                             char other[KL_FILE_PATH]) {
    char at[KL_FILE_PATH];
    const char *whole = kl_world_whole(dir, path, at);
    const char *to = whole ? kl_world_really(w, whole, use, other) : path;
    return to == whole ? path : to;
}

/* --- looking --- */

/* The rest of what the system knows of a file is the machine's own, too. */
#define ANYBODY 1000

static void make_equal(struct kl_world *w, const char *path, struct stat *st) {
    int64_t date_ns;
    uint64_t number;
    bool file = (st->st_mode & S_IFMT) == S_IFREG || (st->st_mode & S_IFMT) == S_IFDIR;
    if (!file || !path || !kl_view_facts(w, path, &date_ns, &number)) return;
    st->st_dev = 1;
    st->st_ino = number;
    st->st_uid = st->st_gid = ANYBODY;
    st->st_nlink = 1;
    st->st_blksize = 4096;
    st->st_blocks = (st->st_size + 511) / 512;
    if ((st->st_mode & S_IFMT) == S_IFDIR) st->st_size = 4096;
    st->st_atim.tv_sec = st->st_mtim.tv_sec = st->st_ctim.tv_sec = date_ns / KL_NS_PER_S;
    st->st_atim.tv_nsec = st->st_mtim.tv_nsec = st->st_ctim.tv_nsec = date_ns % KL_NS_PER_S;
}

static int look_at(struct kl_world *w, int dir, const char *path, struct stat *st, int flags) {
    char other[KL_FILE_PATH], at[KL_FILE_PATH];
    int r = fstatat(dir, really_at(w, dir, path, KL_USE_LOOK, other), st, flags);
    if (r == 0) make_equal(w, kl_world_whole(dir, *path ? path : ".", at), st);
    return r;
}

static const char *path_of(int fd, char out[KL_FILE_PATH]) {
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, KL_FILE_PATH - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? out : NULL;
}

static int v_stat(struct kl_world *w, const char *path, struct stat *st) {
    return look_at(w, AT_FDCWD, path, st, 0);
}
KL_TURNED(int, v_stat, (const char *path, struct stat *st), path, st)
static int v_lstat(struct kl_world *w, const char *path, struct stat *st) {
    return look_at(w, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
KL_TURNED(int, v_lstat, (const char *path, struct stat *st), path, st)
static int v_fstat(struct kl_world *w, int fd, struct stat *st) {
    char path[KL_FILE_PATH];
    int r = fstatat(fd, "", st, AT_EMPTY_PATH);
    if (r == 0 && w->view.on) make_equal(w, path_of(fd, path), st);
    return r;
}
KL_TURNED(int, v_fstat, (int fd, struct stat *st), fd, st)
static int v_fstatat(struct kl_world *w, int dir, const char *path, struct stat *st, int flags) {
    return flags & AT_EMPTY_PATH && !*path ? v_fstat(w, dir, st) : look_at(w, dir, path, st, flags);
}
KL_TURNED(int, v_fstatat, (int dir, const char *path, struct stat *st, int flags), dir, path, st, flags)
/* As programs of an older C library call them. */
static int v_xstat(struct kl_world *w, int version, const char *path, struct stat *st) {
    (void)version;
    return v_stat(w, path, st);
}
KL_TURNED(int, v_xstat, (int version, const char *path, struct stat *st), version, path, st)
static int v_lxstat(struct kl_world *w, int version, const char *path, struct stat *st) {
    (void)version;
    return v_lstat(w, path, st);
}
KL_TURNED(int, v_lxstat, (int version, const char *path, struct stat *st), version, path, st)
static int v_fxstat(struct kl_world *w, int version, int fd, struct stat *st) {
    (void)version;
    return v_fstat(w, fd, st);
}
KL_TURNED(int, v_fxstat, (int version, int fd, struct stat *st), version, fd, st)
static int v_fxstatat(struct kl_world *w, int version, int dir, const char *path, struct stat *st,
                      int flags) {
    (void)version;
    return v_fstatat(w, dir, path, st, flags);
}
KL_TURNED(int, v_fxstatat, (int version, int dir, const char *path, struct stat *st, int flags), version, dir,
          path, st, flags)

static int v_statx(struct kl_world *w, int dir, const char *path, int flags, unsigned mask,
                   struct statx *out) {
    char other[KL_FILE_PATH], at[KL_FILE_PATH];
    int64_t date_ns;
    uint64_t number;
    bool fd = flags & AT_EMPTY_PATH && !*path;
    int r = statx(dir, fd ? path : really_at(w, dir, path, KL_USE_LOOK, other), flags, mask, out);
    const char *whole = fd ? path_of(dir, at) : kl_world_whole(dir, path, at);
    if (r != 0 || !whole || !kl_view_facts(w, whole, &date_ns, &number)) return r;
    struct statx_timestamp t = {.tv_sec = date_ns / KL_NS_PER_S,
                                .tv_nsec = (uint32_t)(date_ns % KL_NS_PER_S)};
    out->stx_atime = out->stx_btime = out->stx_ctime = out->stx_mtime = t;
    out->stx_ino = number;
    out->stx_dev_major = 0;
    out->stx_dev_minor = 1;
    out->stx_uid = out->stx_gid = ANYBODY;
    return r;
}
KL_TURNED(int, v_statx, (int dir, const char *path, int flags, unsigned mask, struct statx *out), dir, path,
          flags, mask, out)

static int v_access(struct kl_world *w, const char *path, int mode) {
    char other[KL_FILE_PATH];
    return access(kl_world_really(w, path, KL_USE_LOOK, other), mode);
}
KL_TURNED(int, v_access, (const char *path, int mode), path, mode)
static int v_faccessat(struct kl_world *w, int dir, const char *path, int mode, int flags) {
    char other[KL_FILE_PATH];
    return faccessat(dir, really_at(w, dir, path, KL_USE_LOOK, other), mode, flags);
}
KL_TURNED(int, v_faccessat, (int dir, const char *path, int mode, int flags), dir, path, mode, flags)

/* The core is not to learn where the session's files lie. */
static char *v_realpath(struct kl_world *w, const char *path, char *out) {
    char other[KL_FILE_PATH];
    const char *to = kl_world_really(w, path, KL_USE_LOOK, other);
    if (to == path) return realpath(path, out);
    if (access(to, F_OK) != 0 || *path != '/') return realpath(to, out);
    return out ? strcpy(out, path) : strdup(path);
}
KL_TURNED(char *, v_realpath, (const char *path, char *out), path, out)

/* --- dates --- */

/* t: two of them, of which the second counts; NULL: now. */
static int set_date(struct kl_world *w, int dir, const char *path, const struct timespec *t) {
    char other[KL_FILE_PATH];
    const char *to = really_at(w, dir, path, KL_USE_CHANGE, other);
    if (!w->view.on) return utimensat(dir, path, t, 0);
    if (access(to, F_OK) != 0) return -1;
    bool now = !t || t[1].tv_nsec == UTIME_NOW;
    if (!now && t[1].tv_nsec == UTIME_OMIT) return 0;
    kl_view_date(w, to, now ? kl_world_wall_ns(w) : t[1].tv_sec * KL_NS_PER_S + t[1].tv_nsec);
    return 0;
}
static int v_utimensat(struct kl_world *w, int dir, const char *path, const struct timespec *t, int flags) {
    (void)flags;
    return set_date(w, dir, path, t);
}
KL_TURNED(int, v_utimensat, (int dir, const char *path, const struct timespec *t, int flags), dir, path, t,
          flags)
static int v_futimens(struct kl_world *w, int fd, const struct timespec *t) {
    char path[KL_FILE_PATH];
    return path_of(fd, path) ? set_date(w, AT_FDCWD, path, t) : -1;
}
KL_TURNED(int, v_futimens, (int fd, const struct timespec *t), fd, t)
/* Seconds and microseconds, twice. */
static int v_utimes(struct kl_world *w, const char *path, const int64_t *t) {
    struct timespec both[2] = {{0, 0}, {t ? t[2] : 0, t ? t[3] * 1000 : 0}};
    return set_date(w, AT_FDCWD, path, t ? both : NULL);
}
KL_TURNED(int, v_utimes, (const char *path, const int64_t *t), path, t)
/* Seconds, twice. */
static int v_utime(struct kl_world *w, const char *path, const int64_t *t) {
    struct timespec both[2] = {{0, 0}, {t ? t[1] : 0, 0}};
    return set_date(w, AT_FDCWD, path, t ? both : NULL);
}
KL_TURNED(int, v_utime, (const char *path, const int64_t *t), path, t)

/* --- names --- */

static int move(struct kl_world *w, int from_dir, const char *from, int to_dir, const char *to) {
    char a[KL_FILE_PATH], b[KL_FILE_PATH];
    const char *old = really_at(w, from_dir, from, KL_USE_LOOK, a);
    if (faccessat(from_dir, old, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    old = really_at(w, from_dir, from, KL_USE_CHANGE, a);
    const char *new = really_at(w, to_dir, to, KL_USE_EMPTY, b);
    int r = renameat(from_dir, old, to_dir, new);
    if (r == 0) kl_view_moved(w, old, new);
    return r;
}
static int v_rename(struct kl_world *w, const char *from, const char *to) {
    return move(w, AT_FDCWD, from, AT_FDCWD, to);
}
KL_TURNED(int, v_rename, (const char *from, const char *to), from, to)
static int v_renameat(struct kl_world *w, int from_dir, const char *from, int to_dir, const char *to) {
    return move(w, from_dir, from, to_dir, to);
}
KL_TURNED(int, v_renameat, (int from_dir, const char *from, int to_dir, const char *to), from_dir, from,
          to_dir, to)

static int v_unlinkat(struct kl_world *w, int dir, const char *path, int flags) {
    char other[KL_FILE_PATH];
    return unlinkat(dir, really_at(w, dir, path, KL_USE_REMOVE, other), flags);
}
KL_TURNED(int, v_unlinkat, (int dir, const char *path, int flags), dir, path, flags)
static int v_unlink(struct kl_world *w, const char *path) {
    return v_unlinkat(w, AT_FDCWD, path, 0);
}
KL_TURNED(int, v_unlink, (const char *path), path)
static int v_rmdir(struct kl_world *w, const char *path) {
    return v_unlinkat(w, AT_FDCWD, path, AT_REMOVEDIR);
}
KL_TURNED(int, v_rmdir, (const char *path), path)
static int v_remove(struct kl_world *w, const char *path) {
    char other[KL_FILE_PATH];
    return remove(kl_world_really(w, path, KL_USE_REMOVE, other));
}
KL_TURNED(int, v_remove, (const char *path), path)

static int v_mkdirat(struct kl_world *w, int dir, const char *path, unsigned mode) {
    char other[KL_FILE_PATH];
    return mkdirat(dir, really_at(w, dir, path, KL_USE_NEW, other), mode);
}
KL_TURNED(int, v_mkdirat, (int dir, const char *path, unsigned mode), dir, path, mode)
static int v_mkdir(struct kl_world *w, const char *path, unsigned mode) {
    return v_mkdirat(w, AT_FDCWD, path, mode);
}
KL_TURNED(int, v_mkdir, (const char *path, unsigned mode), path, mode)

static int v_truncate(struct kl_world *w, const char *path, off_t len) {
    char other[KL_FILE_PATH];
    return truncate(kl_world_really(w, path, KL_USE_CHANGE, other), len);
}
KL_TURNED(int, v_truncate, (const char *path, off_t len), path, len)
/* The rights of a player's file stay. */
static int v_chmod(struct kl_world *w, const char *path, unsigned mode) {
    char other[KL_FILE_PATH];
    return chmod(kl_world_really(w, path, KL_USE_CHANGE, other), mode | S_IRUSR | S_IWUSR);
}
KL_TURNED(int, v_chmod, (const char *path, unsigned mode), path, mode)

/* --- temporary files --- */

static FILE *v_tmpfile(struct kl_world *w) {
    char name[KL_FILE_PATH], other[KL_FILE_PATH];
    if (!w->view.on) return tmpfile();
    int fd = kl_world_temporary(w, name);
    FILE *f = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (!f) return NULL;
    kl_view_shared(w, fd, f, -1);
    kl_view_passing(w, kl_world_really(w, name, KL_USE_LOOK, other));
    return f;
}
KL_TURNED(FILE *, v_tmpfile, (void))

const struct kl_hook kl_world_name_hooks[] = {
    KL_HOOK("stat", v_stat),           KL_HOOK("stat64", v_stat),
    KL_HOOK("lstat", v_lstat),         KL_HOOK("lstat64", v_lstat),
    KL_HOOK("fstat", v_fstat),         KL_HOOK("fstat64", v_fstat),
    KL_HOOK("fstatat", v_fstatat),     KL_HOOK("fstatat64", v_fstatat),
    KL_HOOK("__xstat", v_xstat),       KL_HOOK("__xstat64", v_xstat),
    KL_HOOK("__lxstat", v_lxstat),     KL_HOOK("__lxstat64", v_lxstat),
    KL_HOOK("__fxstat", v_fxstat),     KL_HOOK("__fxstat64", v_fxstat),
    KL_HOOK("__fxstatat", v_fxstatat), KL_HOOK("__fxstatat64", v_fxstatat),
    KL_HOOK("statx", v_statx),         KL_HOOK("access", v_access),
    KL_HOOK("euidaccess", v_access),   KL_HOOK("eaccess", v_access),
    KL_HOOK("faccessat", v_faccessat), KL_HOOK("realpath", v_realpath),
    KL_HOOK("utime", v_utime),         KL_HOOK("utimes", v_utimes),
    KL_HOOK("utimensat", v_utimensat), KL_HOOK("futimens", v_futimens),
    KL_HOOK("rename", v_rename),       KL_HOOK("renameat", v_renameat),
    KL_HOOK("unlink", v_unlink),       KL_HOOK("unlinkat", v_unlinkat),
    KL_HOOK("rmdir", v_rmdir),         KL_HOOK("remove", v_remove),
    KL_HOOK("mkdir", v_mkdir),         KL_HOOK("mkdirat", v_mkdirat),
    KL_HOOK("truncate", v_truncate),   KL_HOOK("truncate64", v_truncate),
    KL_HOOK("chmod", v_chmod),         KL_HOOK("tmpfile", v_tmpfile),
    KL_HOOK("tmpfile64", v_tmpfile),   KL_HOOK_END,
};

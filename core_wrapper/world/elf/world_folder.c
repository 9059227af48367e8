/* The calls by which a core lists folders, and those that find names for new files. Entries come sorted, with
 * numbers that follow from their names. Folders without a list (no memory for it) come as the system gives
 * them. */
#include "core_wrapper/world/world_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core_wrapper/world/world_private.h"
#include "net/platform/dir.h"
#include "net/platform/library.h"

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one struct for both names");

static int by_name(const void *a, const void *b) {
    const struct dirent *const *x = a, *const *y = b;
    return kl_folder_order((*x)->d_name, (*y)->d_name);
}

/* Some file systems do not tell the kind. */
static unsigned char kind(DIR *d, const struct dirent *e) {
    char path[32 + sizeof e->d_name];
    if (e->d_type != DT_UNKNOWN) return e->d_type;
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dirfd(d), e->d_name);
    switch (kl_file_kind_here(path)) {
    case KL_FILE_IS_PLAIN: return DT_REG;
    case KL_FILE_IS_DIR: return DT_DIR;
    case KL_FILE_IS_LINK: return DT_LNK;
    default: return DT_UNKNOWN;
    }
}

static bool is_listed(const struct kl_folder *f, const char *name) {
    for (size_t i = 0; i < f->count; i++)
        if (!strcmp(((const struct dirent *)f->entry[i])->d_name, name)) return true;
    return false;
}

/* Up to the end. beside: only what is not listed yet. */
static void add_entries(struct kl_folder *f, DIR *d, bool beside) {
    struct dirent one;
    for (const struct dirent *e; (e = readdir(d));) {
        if (beside ? is_listed(f, e->d_name) : f->path && !kl_view_shows(f->world, f->path, e->d_name))
            continue;
        memset(&one, 0, sizeof one);
        strcpy(one.d_name, e->d_name);
        one.d_ino = kl_folder_number(e->d_name);
        one.d_reclen = sizeof one;
        one.d_type = kind(d, e);
        if (!kl_folder_put(f, &one, sizeof one)) break;
    }
}

/* Of a player's folder, also the session's own files in it; sorted. */
static void fill(struct kl_folder *f, DIR *d) {
    char other[KL_FILE_PATH];
    DIR *session = f->path && kl_view_beside(f->world, f->path, other) ? opendir(other) : NULL;
    add_entries(f, d, false);
    if (session) add_entries(f, session, true);
    if (session) closedir(session);
    f->read = true;
    if (f->count) qsort(f->entry, f->count, sizeof *f->entry, by_name);
    for (size_t i = 0; i < f->count; i++)
        ((struct dirent *)f->entry[i])->d_off = (off_t)i + 1;
}

/* The list of an open folder, read now if it is the first time; NULL: no memory. */
static struct kl_folder *list_of(DIR *d) {
    struct kl_folder *f = kl_folder_of(d);
    int saved = errno; /* the end of a folder is no error */
    if (!f) f = kl_folder_begin(d);
    if (f && !f->read) fill(f, d);
    errno = saved;
    return f;
}

static DIR *v_opendir(struct kl_world *w, const char *path) {
    char other[KL_FILE_PATH];
    const char *to = kl_world_really(w, path, KL_USE_LOOK, other);
    DIR *d = opendir(to);
    kl_world_note_host(w, path);
    if (d) kl_folder_end(kl_folder_of(d)); /* of a handle at this address that was closed by a library */
    struct kl_folder *f = d && w->view.on && to == path ? kl_folder_begin(d) : NULL;
    if (f) f->path = strdup(path);
    if (f) f->world = w;
    return d;
}
KL_TURNED(DIR *, v_opendir, (const char *path), path)

static struct dirent *v_readdir(DIR *d) {
    struct kl_folder *f = list_of(d);
    if (!f) return readdir(d);
    return f->at < f->count ? f->entry[f->at++] : NULL;
}
static int v_readdir_r(DIR *d, struct dirent *out, struct dirent **result) {
    struct dirent *e = v_readdir(d);
    if (e) memcpy(out, e, sizeof *e);
    *result = e ? out : NULL;
    return 0;
}
static int v_closedir(DIR *d) {
    kl_folder_end(kl_folder_of(d));
    return closedir(d);
}
/* Newer files are seen then, as with the system's. */
static void v_rewinddir(DIR *d) {
    struct kl_folder *f = kl_folder_of(d);
    if (f) kl_folder_clear(f);
    rewinddir(d);
}
static long v_telldir(DIR *d) {
    struct kl_folder *f = list_of(d);
    return f ? (long)f->at : telldir(d);
}
static void v_seekdir(DIR *d, long to) {
    struct kl_folder *f = list_of(d);
    if (f && to >= 0 && (size_t)to <= f->count) f->at = (size_t)to;
}

/* --- whole folders --- */

typedef int (*chooser)(const struct dirent *);
typedef int (*comparer)(const void *, const void *);

static int v_alphasort(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The core frees the entries, and the list of them. */
static int choose(const struct kl_folder *f, struct dirent ***out, chooser wanted, comparer order) {
    struct dirent **list = malloc((f->count + 1) * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list && i < f->count; i++) {
        const struct dirent *e = f->entry[i];
        if (wanted && !wanted(e)) continue;
        if (!(list[n] = malloc(sizeof *e))) break;
        memcpy(list[n++], e, sizeof *e);
    }
    if (!list) return -1;
    if (order && n) qsort(list, n, sizeof *list, order);
    *out = list;
    return (int)n;
}

static int scan(DIR *d, struct dirent ***out, chooser wanted, comparer order) {
    struct kl_folder *f = d ? list_of(d) : NULL;
    int n = f ? choose(f, out, wanted, order) : -1;
    if (d) v_closedir(d);
    return n;
}
static int v_scandir(struct kl_world *w, const char *path, struct dirent ***out, chooser wanted,
                     comparer order) {
    return scan(v_opendir(w, path), out, wanted, order);
}
KL_TURNED(int, v_scandir, (const char *path, struct dirent ***out, chooser wanted, comparer order), path, out,
          wanted, order)
/* at: the descriptor of a folder; negative: the present one. */
static int v_scandirat(struct kl_world *w, int at, const char *path, struct dirent ***out, chooser wanted,
                       comparer order) {
    char below[KL_FILE_PATH];
    if (at < 0 || *path == '/') return v_scandir(w, path, out, wanted, order);
    snprintf(below, sizeof below, "/proc/self/fd/%d/%s", at, path);
    return scan(opendir(below), out, wanted, order);
}
KL_TURNED(int, v_scandirat, (int at, const char *path, struct dirent ***out, chooser wanted, comparer order),
          at, path, out, wanted, order)

/* --- trees --- */

typedef int (*fts_order)(const FTSENT **, const FTSENT **);

static int by_fts_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}
static FTS *v_fts_open(char *const *paths, int options, fts_order order) {
    return fts_open(paths, options, order ? order : by_fts_name);
}

/* As <ftw.h> has them. */
enum { WALK_FILE, WALK_FOLDER, WALK_SHUT, WALK_UNKNOWN, WALK_LINK, WALK_AFTER, WALK_BROKEN };
enum { NO_LINKS = 1, ONE_DISK = 2, GOES_THERE = 4, CHILDREN_FIRST = 8, OBEYS = 16 };
enum { GO_ON, STOP, SKIP_CHILDREN, SKIP_SIBLINGS };
struct place {
    int base, level;
};
struct stat;
typedef int (*tree_visitor)(const char *, const struct stat *, int, struct place *);
typedef int (*plain_visitor)(const char *, const struct stat *, int);

/* Negative: it is not shown. */
static int walk_kind(const FTSENT *e, int flags) {
    switch (e->fts_info) {
    case FTS_D: return flags & CHILDREN_FIRST ? -1 : WALK_FOLDER;
    case FTS_DP: return flags & CHILDREN_FIRST ? WALK_AFTER : -1;
    case FTS_DNR: return WALK_SHUT;
    case FTS_NS: return WALK_UNKNOWN;
    case FTS_SL: return WALK_LINK;
    case FTS_SLNONE: return WALK_BROKEN;
    case FTS_DC:
    case FTS_DOT:
    case FTS_ERR: return -1;
    default: return WALK_FILE;
    }
}

static int walk_tree(const char *path, tree_visitor visit, plain_visitor plain, int flags) {
    char *const paths[] = {(char *)path, NULL};
    int how = (flags & NO_LINKS ? FTS_PHYSICAL : FTS_LOGICAL) | (flags & ONE_DISK ? FTS_XDEV : 0) |
              (flags & GOES_THERE ? 0 : FTS_NOCHDIR);
    FTS *t = fts_open(paths, how, by_fts_name);
    const FTSENT *skipped = NULL; /* the rest of this folder */
    int result = t ? GO_ON : -1;
    for (FTSENT *e; t && result == GO_ON && (e = fts_read(t));) {
        if (e->fts_level == 0 && e->fts_info == FTS_NS) result = -1; /* it is not there */
        int seen = walk_kind(e, flags);
        if (result || seen < 0 || (skipped && e->fts_parent == skipped)) continue;
        struct place at = {e->fts_pathlen - e->fts_namelen, e->fts_level};
        const char *name = flags & GOES_THERE ? e->fts_accpath : e->fts_path;
        result = plain ? plain(name, e->fts_statp, seen) : visit(name, e->fts_statp, seen, &at);
        if (!(flags & OBEYS)) continue;
        if (result == SKIP_CHILDREN) fts_set(t, e, FTS_SKIP);
        if (result == SKIP_SIBLINGS) skipped = e->fts_parent;
        if (result != STOP) result = GO_ON;
    }
    if (t) fts_close(t);
    return result;
}
static int v_nftw(struct kl_world *w, const char *path, tree_visitor visit, int files, int flags) {
    char other[KL_FILE_PATH];
    (void)files;
    return walk_tree(kl_world_really(w, path, KL_USE_LOOK, other), visit, NULL, flags);
}
KL_TURNED(int, v_nftw, (const char *path, tree_visitor visit, int files, int flags), path, visit, files,
          flags)
static int v_ftw(struct kl_world *w, const char *path, plain_visitor visit, int files) {
    char other[KL_FILE_PATH];
    (void)files;
    return walk_tree(kl_world_really(w, path, KL_USE_LOOK, other), NULL, visit, 0);
}
KL_TURNED(int, v_ftw, (const char *path, plain_visitor visit, int files), path, visit, files)

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}
/* C's own goes by the locale. */
static int v_glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *out) {
    size_t had = flags & GLOB_APPEND ? out->gl_pathc : 0;
    int result = glob(pattern, flags | GLOB_NOSORT, failed, out);
    size_t before = had + (flags & GLOB_DOOFFS ? out->gl_offs : 0);
    if (result == 0 && out->gl_pathc > had)
        qsort(out->gl_pathv + before, out->gl_pathc - had, sizeof *out->gl_pathv, by_text);
    return result;
}

/* --- std::filesystem ---
 *
 * The iterators read inside libstdc++, so this library's own imports are turned when a core first makes one.
 * Other parts of the process that list folders by it find them sorted, too. It is kept loaded, and set right
 * again, until we are unloaded. */

static struct {
    struct kl_mutex lock;
    void *library;
} cxx;

static void *sorted(void *user, enum kl_from from, const char *name, void *now) {
    (void)user, (void)from, (void)now;
    return strcmp(name, "readdir") == 0    ? (void *)v_readdir
           : strcmp(name, "closedir") == 0 ? (void *)v_closedir
                                           : NULL;
}
static void *as_it_was(void *user, enum kl_from from, const char *name, void *now) {
    (void)user, (void)from, (void)name;
    return now == (void *)v_readdir ? (void *)readdir : now == (void *)v_closedir ? (void *)closedir : NULL;
}

static void turn_iterators(struct kl_world *w, const void *constructor) {
    char path[KL_FILE_PATH], err[256];
    kl_mutex_lock(&cxx.lock);
    if (!cxx.library && kl_library_file_of(constructor, path, sizeof path) &&
        (cxx.library = kl_library_open(path, err, sizeof err)) &&
        kl_world_imports(w, cxx.library, sorted, NULL, err, sizeof err) != 0)
        kl_world_leaves(w, "std::filesystem::directory_iterator", "a folder in the host's order");
    kl_mutex_unlock(&cxx.lock);
}
__attribute__((destructor)) static void set_right(void) {
    char err[256];
    if (!cxx.library) return;
    kl_world_imports(kl_world_at, cxx.library, as_it_was, NULL, err, sizeof err);
    kl_library_close(cxx.library);
}

#define ITERATOR(kind)                                                                                       \
    static void v_##kind(struct kl_world *w, void *self, const void *path, int how, void *error) {           \
        turn_iterators(w, (const void *)w->real.kind);                                                       \
        w->real.kind(self, path, how, error);                                                                \
    }                                                                                                        \
    KL_TURNED(void, v_##kind, (void *self, const void *path, int how, void *error), self, path, how, error)
ITERATOR(iterator)
ITERATOR(iterator_11)
ITERATOR(tree_iterator)
ITERATOR(tree_iterator_11)
#define ITERATOR_HOOKS(begins, path, kind)                                                                   \
    KL_HOOK_REAL(begins "C1ERKNS" path "4pathENS_17directory_optionsEPSt10error_code", v_##kind,             \
                 KL_REAL(kind)),                                                                             \
        KL_HOOK_REAL(begins "C2ERKNS" path "4pathENS_17directory_optionsEPSt10error_code", v_##kind,         \
                     KL_REAL(kind))

/* --- names for temporary files: by the virtual chance --- */

#define LETTERS 6

static int is_free(const char *really, int flags) {
    (void)flags;
    if (access(really, F_OK) != 0) return 0;
    errno = EEXIST;
    return -1;
}

/* Tries the names of a template one after the other, until one serves or fails for another reason than that
 * its file is there. ends: bytes behind the letters. */
typedef int (*try_name)(const char *really, int flags);
static int first_free(struct kl_world *w, char *name, size_t ends, try_name serves, int flags) {
    static const char letter[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strlen(name);
    char other[KL_FILE_PATH], *at = name + len - ends - LETTERS;
    if (len < ends + LETTERS || strncmp(at, "XXXXXX", LETTERS) != 0) {
        errno = EINVAL;
        return -1;
    }
    int result = -1;
    for (unsigned tries = 0; tries < TMP_MAX && result < 0; tries++) {
        uint64_t n = kl_world_draw(w);
        for (int i = 0; i < LETTERS; i++, n /= sizeof letter - 1)
            at[i] = letter[n % (sizeof letter - 1)];
        const char *to = kl_world_really(w, name, serves == is_free ? KL_USE_LOOK : KL_USE_NEW, other);
        result = serves(to, flags);
        if (result < 0 && errno != EEXIST) break;
        if (result >= 0) kl_world_note_file(w, name, serves != is_free);
        if (result >= 0 && serves == kl_world_make_new) kl_view_opened(w, to, NULL, result);
    }
    return result;
}
static int make_folder(const char *really, int flags) {
    (void)flags;
    if (!is_free(really, 0) && kl_dir_make(really, true, NULL, 0) == 0) return 0;
    return -1;
}

static int v_mkostemps(struct kl_world *w, char *name, int ends, int flags) {
    return first_free(w, name, (size_t)ends, kl_world_make_new, flags);
}
KL_TURNED(int, v_mkostemps, (char *name, int ends, int flags), name, ends, flags)
static int v_mkstemps(struct kl_world *w, char *name, int ends) {
    return v_mkostemps(w, name, ends, 0);
}
KL_TURNED(int, v_mkstemps, (char *name, int ends), name, ends)
static int v_mkostemp(struct kl_world *w, char *name, int flags) {
    return v_mkostemps(w, name, 0, flags);
}
KL_TURNED(int, v_mkostemp, (char *name, int flags), name, flags)
static int v_mkstemp(struct kl_world *w, char *name) {
    return v_mkostemps(w, name, 0, 0);
}
KL_TURNED(int, v_mkstemp, (char *name), name)
int kl_world_temporary(struct kl_world *w, char name[KL_FILE_PATH]) {
    strcpy(name, P_tmpdir "/fileXXXXXX");
    return v_mkstemp(w, name);
}
static char *v_mkdtemp(struct kl_world *w, char *name) {
    return first_free(w, name, 0, make_folder, 0) < 0 ? NULL : name;
}
KL_TURNED(char *, v_mkdtemp, (char *name), name)
static char *v_mktemp(struct kl_world *w, char *name) {
    if (first_free(w, name, 0, is_free, 0) < 0) *name = 0;
    return name;
}
KL_TURNED(char *, v_mktemp, (char *name), name)
/* With the process's number, so that another process's is another file. */
static char *name_below(struct kl_world *w, const char *folder, const char *begins) {
    char name[KL_FILE_PATH];
    snprintf(name, sizeof name, "%s/%.5s%dXXXXXX", folder, begins, KL_HOST_PID);
    return *v_mktemp(w, name) ? strdup(name) : NULL;
}
static char *v_tempnam(struct kl_world *w, const char *folder, const char *begins) {
    return name_below(w, folder ? folder : P_tmpdir, begins ? begins : "file");
}
KL_TURNED(char *, v_tempnam, (const char *folder, const char *begins), folder, begins)
static char *v_tmpnam(struct kl_world *w, char *out) {
    static char shared[L_tmpnam];
    char *name = name_below(w, P_tmpdir, "");
    bool fits = name && strlen(name) < L_tmpnam;
    if (!out) out = shared;
    if (fits) strcpy(out, name);
    free(name);
    return fits ? out : NULL;
}
KL_TURNED(char *, v_tmpnam, (char *out), out)

const struct kl_hook kl_world_folder_hooks[] = {
    KL_HOOK("opendir", v_opendir),
    KL_HOOK_SAME("readdir", v_readdir),
    KL_HOOK_SAME("readdir64", v_readdir),
    KL_HOOK_SAME("readdir_r", v_readdir_r),
    KL_HOOK_SAME("readdir64_r", v_readdir_r),
    KL_HOOK_SAME("closedir", v_closedir),
    KL_HOOK_SAME("rewinddir", v_rewinddir),
    KL_HOOK_SAME("telldir", v_telldir),
    KL_HOOK_SAME("seekdir", v_seekdir),
    KL_HOOK("scandir", v_scandir),
    KL_HOOK("scandir64", v_scandir),
    KL_HOOK("scandirat", v_scandirat),
    KL_HOOK("scandirat64", v_scandirat),
    KL_HOOK_SAME("alphasort", v_alphasort),
    KL_HOOK_SAME("alphasort64", v_alphasort),
    KL_HOOK_SAME("fts_open", v_fts_open),
    KL_HOOK_SAME("fts64_open", v_fts_open),
    KL_HOOK("ftw", v_ftw),
    KL_HOOK("ftw64", v_ftw),
    KL_HOOK("nftw", v_nftw),
    KL_HOOK("nftw64", v_nftw),
    KL_HOOK_SAME("glob", v_glob),
    KL_HOOK_SAME("glob64", v_glob),
    ITERATOR_HOOKS("_ZNSt10filesystem18directory_iterator", "_", iterator),
    ITERATOR_HOOKS("_ZNSt10filesystem7__cxx1118directory_iterator", "0_", iterator_11),
    ITERATOR_HOOKS("_ZNSt10filesystem28recursive_directory_iterator", "_", tree_iterator),
    ITERATOR_HOOKS("_ZNSt10filesystem7__cxx1128recursive_directory_iterator", "0_", tree_iterator_11),
    KL_HOOK("mkstemp", v_mkstemp),
    KL_HOOK("mkstemp64", v_mkstemp),
    KL_HOOK("mkostemp", v_mkostemp),
    KL_HOOK("mkostemp64", v_mkostemp),
    KL_HOOK("mkstemps", v_mkstemps),
    KL_HOOK("mkstemps64", v_mkstemps),
    KL_HOOK("mkostemps", v_mkostemps),
    KL_HOOK("mkostemps64", v_mkostemps),
    KL_HOOK("mkdtemp", v_mkdtemp),
    KL_HOOK("mktemp", v_mktemp),
    KL_HOOK("tempnam", v_tempnam),
    KL_HOOK("tmpnam", v_tmpnam),
    KL_HOOK("tmpnam_r", v_tmpnam),
    KL_HOOK_END,
};

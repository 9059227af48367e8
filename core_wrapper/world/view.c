/* The names of files, and the one place that decides which file is opened for a path. */
#include "core_wrapper/world/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core_wrapper/world/world_private.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

#ifdef _WIN32
#define same_text(a, b, n) (_strnicmp(a, b, n) == 0)
#define SYSTEMS(abs)       false
#define IS_HOSTS(path)     false
#define IS_DRIVE(part, n)  (part[n - 1] == ':')
#define TEMPORARY          ""
#else
#define same_text(a, b, n) (strncmp(a, b, n) == 0)
#define IS_DRIVE(part, n)  false
#define TEMPORARY          "/tmp" /* many programs write it down, whatever TMPDIR says */
#define IS_HOSTS(path)     (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
/* Files of the system's own make. */
#define SYSTEMS(abs)       (!strncmp(abs, "/proc/", 6) || !strncmp(abs, "/sys/", 5))
#endif

/* The file that a path leads to. */
struct place {
    char name[KL_FILE_PATH];
    char path[KL_FILE_PATH];    /* of the session's file */
    char player[KL_FILE_PATH];  /* of the player's file, which it covers; "": there can be none */
    bool in_save, local, moved; /* moved: path is another than the core's */
};

/* --- names --- */

static void add_part(char *out, size_t *n, const char *part, size_t len) {
    if (len == 2 && !memcmp(part, "..", 2)) {
        while (*n && out[*n - 1] != '/')
            --*n;
        if (*n) --*n;
    } else if (len && !(len == 1 && *part == '.') && *n + len + 2 < KL_FILE_PATH) {
        if (*n || !IS_DRIVE(part, len)) out[(*n)++] = '/';
        memcpy(out + *n, part, len);
        *n += len;
    }
}

static void add_parts(char *out, size_t *n, const char *path) {
    for (const char *at = path; *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        add_part(out, n, at, len);
        at += len;
    }
}

/* By its letters alone, so that a link's name stays what the core calls it. */
static bool make_absolute(const char *path, char out[KL_FILE_PATH]) {
    char here[KL_FILE_PATH];
    size_t n = 0;
    bool whole = kl_file_is_absolute(path);
    if (!whole && !kl_file_real(".", here, sizeof here)) return false;
#ifdef _WIN32
    if (!strncmp(whole ? path : here, "//", 2)) out[n++] = '/'; /* of another machine */
#endif
    if (!whole) add_parts(out, &n, here);
    add_parts(out, &n, path);
    out[n] = 0;
    return n > 0;
}

/* The rest of the path below dir; NULL: it is not below. */
static const char *below(const char *path, const char *dir) {
    size_t n = strlen(dir);
    return n && same_text(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static bool place_in(const struct kl_view *v, const struct kl_view_root *r, const char *rest,
                     struct place *p) {
    bool own = !*r->name;
    p->in_save = !strcmp(r->name, "save");
    p->local = !strcmp(r->name, "home") || !strncmp(rest, "home/", 5) || (own && !strncmp(rest, "disk/", 5));
    int n = snprintf(p->name, sizeof p->name, "%s%s%s", r->name, own ? "" : "/", rest);
    int m = p->in_save ? snprintf(p->path, sizeof p->path, "%s/%s", r->path, rest)
                       : snprintf(p->path, sizeof p->path, "%s/%s", v->own, p->name);
    int k = p->in_save || own ? 0 : snprintf(p->player, sizeof p->player, "%s/%s", r->path, rest);
    if (!k) p->player[0] = 0;
    return n < KL_FILE_PATH && m < KL_FILE_PATH && k < KL_FILE_PATH;
}

/* A file in no folder of the session's. */
static bool place_elsewhere(const struct kl_view *v, const char *abs, struct place *p) {
    p->local = true;
    p->in_save = false;
    int n = snprintf(p->name, sizeof p->name, "disk/%s", abs + strspn(abs, "/"));
    for (char *colon = p->name; (colon = strchr(colon, ':'));)
        *colon = '_';
    int m = snprintf(p->path, sizeof p->path, "%s/%s", v->own, p->name);
    int k = snprintf(p->player, sizeof p->player, "%s", abs);
    return n < KL_FILE_PATH && m < KL_FILE_PATH && k < KL_FILE_PATH;
}

/* Of the roots that hold it, the innermost. False: the path is a root, or leads nowhere. */
static bool find_place(const struct kl_view *v, const char *abs, struct place *p) {
    const struct kl_view_root *root = NULL;
    const char *rest = NULL;
    for (unsigned i = 0; i < v->roots; i++) {
        const char *r = below(abs, v->root[i].path);
        if (!r) r = below(abs, v->root[i].real);
        if (same_text(abs, v->root[i].path, KL_FILE_PATH)) return false;
        if (!r || (rest && strlen(r) >= strlen(rest))) continue;
        rest = r;
        root = &v->root[i];
    }
    return root ? place_in(v, root, rest, p) : !SYSTEMS(abs) && place_elsewhere(v, abs, p);
}

static bool locate(const struct kl_view *v, const char *path, struct place *p) {
    char abs[KL_FILE_PATH], given[KL_FILE_PATH];
    if (!make_absolute(path, abs)) return false;
    enum kl_sight sight = v->sight ? v->sight(v->ctx, abs, given, sizeof given) : KL_SIGHT_PLAIN;
    if (!find_place(v, sight == KL_SIGHT_GIVEN ? given : abs, p)) return false;
    p->moved = sight == KL_SIGHT_GIVEN || !p->in_save;
    if (sight == KL_SIGHT_HIDDEN) p->player[0] = 0;
    return true;
}

static bool locate_name(const struct kl_view *v, const char *name, struct place *p) {
    const char *slash = strchr(name, '/');
    for (unsigned i = 0; slash && i < v->roots; i++)
        if (strlen(v->root[i].name) == (size_t)(slash - name) &&
            !strncmp(v->root[i].name, name, (size_t)(slash - name)))
            return place_in(v, &v->root[i], slash + 1, p);
    return false;
}

/* --- files --- */

static struct kl_view_file *find(const struct kl_view *v, const char *name) {
    for (unsigned i = 0; i < v->count; i++)
        if (!strcmp(v->file[i]->name, name)) return v->file[i];
    return NULL;
}

static void free_file(struct kl_view_file *f) {
    kl_blob_drop(f->first);
    kl_blob_drop(f->now);
    free(f->name);
    free(f->path);
    free(f);
}

bool kl_view_is_open(const struct kl_view *v, const struct kl_view_file *f) {
    for (unsigned i = 0; i < v->handles; i++)
        if (v->handle[i].file == f) return true;
    return false;
}

void kl_view_forget_gone(struct kl_view *v) {
    for (unsigned i = v->count; i-- > 0;) {
        struct kl_view_file *f = v->file[i];
        if (f->number || f->now || f->first || f->large || kl_view_is_open(v, f)) continue;
        if (kl_file_kind_here(f->path) != KL_FILE_IS_NONE) continue;
        memmove(&v->file[i], &v->file[i + 1], (v->count - i - 1) * sizeof *v->file);
        v->count--;
        free_file(f);
    }
}

/* The folder of a file; "": none. */
static void folder_of(const char *path, char out[KL_FILE_PATH]) {
    const char *slash = strrchr(path, '/');
    snprintf(out, KL_FILE_PATH, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* A file can be made where the player has the folder, or the session. */
static void make_folder(const struct place *p) {
    char own[KL_FILE_PATH], players[KL_FILE_PATH];
    folder_of(p->path, own);
    folder_of(p->player, players);
    if (kl_dir_exists(own)) return;
    bool there = *p->player ? kl_dir_exists(*players ? players : "/") : p->moved;
    if (there) (void)kl_dir_make(own, true, NULL, 0);
}

/* Keeps the first bytes, as far as there is room for them. */
static void keep_first(struct kl_view *v, struct kl_view_file *f, const char *from) {
    void *bytes;
    size_t len;
    f->large = kl_file_read(from, KL_FILESET_BYTES - v->first_bytes, 0, &bytes, &len, NULL, 0) != 0;
    if (f->large) return;
    f->first = kl_blob_make(bytes, len);
    f->large = !f->first;
    if (f->first) v->first_bytes += len;
    free(bytes);
}

/* The session's copy of the player's file. */
static bool copy(const struct place *p, enum kl_use use) {
    if (use != KL_USE_CHANGE) return kl_file_put(p->path, "", 0) == 0;
    return kl_file_copy(p->player, p->path, KL_FILE_QUICK | KL_FILE_PRIVATE, NULL, 0) >= 0;
}

/* From now on the core's calls go to the session's file. NULL: it cannot be had. */
static struct kl_view_file *take(struct kl_view *v, const struct place *p, enum kl_use use) {
    const char *player = p->in_save ? p->path : p->player;
    bool there = *player && kl_file_kind(player) == KL_FILE_IS_PLAIN;
    if (v->count == KL_VIEW_FILES) kl_view_forget_gone(v);
    struct kl_view_file *f = v->count < KL_VIEW_FILES ? calloc(1, sizeof *f) : NULL;
    make_folder(p);
    if (!f || !(f->name = strdup(p->name)) || !(f->path = strdup(p->path))) {
        if (f) free_file(f);
        return NULL;
    }
    f->local = p->local;
    if (there) keep_first(v, f, player);
    if (there && !p->in_save && !copy(p, use)) {
        if (f->first) v->first_bytes -= f->first->len;
        free_file(f);
        return NULL;
    }
    f->copied = there && !p->in_save && use == KL_USE_CHANGE;
    if (f->large && f->copied) f->number = kl_file_mark(f->path); /* a copy that nobody writes */
    return v->file[v->count++] = f;
}

struct kl_view_file *kl_view_named(struct kl_view *v, const char *name) {
    struct kl_view_file *f = find(v, name);
    struct place p;
    if (f || !locate_name(v, name, &p)) return f;
    p.moved = true; /* its folder may be new */
    return take(v, &p, KL_USE_CHANGE);
}

struct kl_view_file *kl_view_at(struct kl_view *v, const char *path) {
    for (unsigned i = 0; path && i < v->count; i++)
        if (!strcmp(v->file[i]->path, path)) return v->file[i];
    return NULL;
}

static bool writes(enum kl_use use) {
    return use == KL_USE_CHANGE || use == KL_USE_EMPTY || use == KL_USE_NEW;
}

/* The path to be opened for one that the core writes or removes. Folders, devices and pipes are never the
 * session's: a call that would change them fails, or does no harm. */
static const char *choose(struct kl_world *w, const char *path, enum kl_use use, const struct place *p) {
    struct kl_view *v = &w->view;
    struct kl_view_file *f = find(v, p->name);
    if (!f) {
        const char *seen = p->in_save ? p->path : p->player;
        enum kl_file_kind kind = *seen ? kl_file_kind(seen) : KL_FILE_IS_NONE;
        if (kind == KL_FILE_IS_OTHER) return path;
        if (kind == KL_FILE_IS_DIR && use != KL_USE_REMOVE) return path;
        if (kind == KL_FILE_IS_DIR) return p->path;
        if (kind == KL_FILE_IS_PLAIN && use == KL_USE_NEW) return seen;
        f = take(v, p, use);
    }
    if (f && writes(use)) f->date_ns = w->clock.epoch_ns + kl_world_since_ns(w);
    return p->path;
}

static const char *map(struct kl_world *w, const char *path, enum kl_use use, char out[KL_FILE_PATH]) {
    struct kl_view *v = &w->view;
    struct place p;
    if (!locate(v, path, &p)) return path;
    bool own = p.in_save || !*p.player || find(v, p.name);
    const char *to = use != KL_USE_LOOK ? choose(w, path, use, &p) : own ? p.path : path;
    if (to == path || (p.in_save && !p.moved)) return path;
    return strcpy(out, to);
}

const char *kl_world_really(struct kl_world *w, const char *path, enum kl_use use, char out[KL_FILE_PATH]) {
    int saved = errno;
    if (!path || !*path) return path;
    if ((!w->view.on || IS_HOSTS(path)) && kl_world_host_path(w, path, out)) return out;
    if (!w->view.on) return path;
    kl_mutex_lock(&w->view.lock);
    const char *to = map(w, path, use, out);
    kl_mutex_unlock(&w->view.lock);
    errno = saved;
    return to;
}

bool kl_view_copied(struct kl_world *w, const char *path) {
    struct place p;
    bool copied = false;
    if (!w->view.on) return false;
    kl_mutex_lock(&w->view.lock);
    if (locate(&w->view, path, &p)) {
        const struct kl_view_file *f = find(&w->view, p.name);
        copied = f && f->copied;
    }
    kl_mutex_unlock(&w->view.lock);
    return copied;
}

bool kl_view_facts(struct kl_world *w, const char *path, int64_t *date_ns, uint64_t *number) {
    struct place p;
    if (!w->view.on) return false;
    kl_mutex_lock(&w->view.lock);
    bool is = locate(&w->view, path, &p);
    const struct kl_view_file *f = is ? find(&w->view, p.name) : NULL;
    *date_ns = f && f->date_ns ? f->date_ns : w->clock.epoch_ns;
    *number = is ? XXH3_64bits(p.name, strlen(p.name)) | 1 : 2;
    kl_mutex_unlock(&w->view.lock);
    return true;
}

bool kl_view_beside(struct kl_world *w, const char *path, char out[KL_FILE_PATH]) {
    struct kl_view *v = &w->view;
    char abs[KL_FILE_PATH];
    struct place p;
    bool is = false;
    *out = 0;
    kl_mutex_lock(&v->lock);
    if (v->on && make_absolute(path, abs)) {
        const struct kl_view_root *r = v->root;
        while (r < v->root + v->roots && !same_text(abs, r->path, KL_FILE_PATH) &&
               !same_text(abs, r->real, KL_FILE_PATH))
            r++;
        if (r == v->root + v->roots)
            is = find_place(v, abs, &p) && *p.player && strcpy(out, p.path);
        else if (*r->name && strcmp(r->name, "save") != 0)
            is = snprintf(out, KL_FILE_PATH, "%s/%s", v->own, r->name) < KL_FILE_PATH;
    }
    kl_mutex_unlock(&v->lock);
    return is && kl_dir_exists(out);
}

bool kl_view_shows(struct kl_world *w, const char *folder, const char *name) {
    char path[KL_FILE_PATH], other[KL_FILE_PATH];
    if (!strcmp(name, ".") || !strcmp(name, "..")) return true;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= KL_FILE_PATH) return true;
    const char *to = kl_world_really(w, path, KL_USE_LOOK, other);
    return to == path || kl_file_kind_here(to) != KL_FILE_IS_NONE;
}

void kl_view_date(struct kl_world *w, const char *path, int64_t date_ns) {
    kl_mutex_lock(&w->view.lock);
    struct kl_view_file *f = kl_view_at(&w->view, path);
    if (f) f->date_ns = date_ns;
    kl_mutex_unlock(&w->view.lock);
}

void kl_view_passing(struct kl_world *w, const char *path) {
    kl_mutex_lock(&w->view.lock);
    struct kl_view_file *f = kl_view_at(&w->view, path);
    if (f) f->passing = true;
    kl_mutex_unlock(&w->view.lock);
}

void kl_view_moved(struct kl_world *w, const char *from, const char *to) {
    struct kl_view *v = &w->view;
    kl_mutex_lock(&v->lock);
    struct kl_view_file *f = kl_view_at(v, from), *t = kl_view_at(v, to);
    for (unsigned i = 0; f && t && i < v->handles; i++)
        if (v->handle[i].file == f) v->handle[i].file = t;
    if (t) t->covert |= f && f->covert;
    kl_mutex_unlock(&v->lock);
}

bool kl_world_file_at(struct kl_world *w, const char *name, char out[KL_FILE_PATH]) {
    kl_mutex_lock(&w->view.lock);
    const struct kl_view_file *f = find(&w->view, name);
    if (f) snprintf(out, KL_FILE_PATH, "%s", f->path);
    kl_mutex_unlock(&w->view.lock);
    return f != NULL;
}

/* --- on and off --- */

static void add_root(struct kl_view *v, const char *name, const char *path) {
    struct kl_view_root *r = &v->root[v->roots];
    if (!path || !*path || !make_absolute(path, r->path)) return;
    r->name = name;
    if (!kl_file_real(r->path, r->real, sizeof r->real)) strcpy(r->real, r->path);
    v->roots++;
}

static void forget_files(struct kl_view *v) {
    while (v->count)
        free_file(v->file[--v->count]);
    v->first_bytes = 0;
    v->handles = v->roots = 0;
}

void kl_world_view(struct kl_world *w, const struct kl_view_folders *f) {
    struct kl_view *v = &w->view;
    char home[KL_FILE_PATH] = "", temp[KL_FILE_PATH] = "";
    kl_mutex_lock(&v->lock);
    forget_files(v);
    v->on = f && *f->save && *f->own;
    if (v->on) {
        (void)kl_dir_known(KL_DIR_HOME, NULL, home, sizeof home, NULL, 0);
        (void)kl_dir_known(KL_DIR_TEMPORARY, NULL, temp, sizeof temp, NULL, 0);
        kl_dir_remove_tree(f->own);
        add_root(v, "", f->own);
        snprintf(v->own, sizeof v->own, "%s", v->root[0].path);
        add_root(v, "save", f->save);
        add_root(v, "system", f->system);
        add_root(v, "content", f->content);
        add_root(v, "temp", temp);
        add_root(v, "temp", TEMPORARY);
        add_root(v, "home", home);
        v->sight = f->sight;
        v->ctx = f->ctx;
    }
    kl_mutex_unlock(&v->lock);
}

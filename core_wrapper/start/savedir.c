#include "core_wrapper/start/savedir.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

/* --- folders --- */

/* --- the folders --- */

static int usual_base(char *out, size_t cap, char *err, size_t err_len) {
    if (kl_dir_known(KL_DIR_STATE, "keylock/sessions", out, cap, err, err_len) == 0) return 0;
    return kl_dir_known(KL_DIR_FALLBACK, "sessions", out, cap, err, err_len);
}

/* True for NAME-PID of a process that is gone. */
static bool is_stale(const char *name) {
    const char *dash = strrchr(name, '-');
    if (!dash || !isdigit((unsigned char)dash[1])) return false;
    char *end;
    long pid = strtol(dash + 1, &end, 10);
    return !*end && pid > 1 && pid != kl_process_self() && !kl_process_alive(pid);
}

static void remove_stale(const char *base) {
    char path[KL_SAVEDIR_PATH];
    struct kl_dir_list list;
    if (kl_dir_list(&list, base, "", NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (is_stale(list.name[i]) && kl_file_join(path, sizeof path, base, list.name[i], NULL, 0) == 0)
            kl_dir_remove_tree(path);
    kl_dir_list_free(&list);
}

int kl_savedir_open(struct kl_savedir *d, const char *base, const char *room, char *err, size_t err_len) {
    char usual[KL_SAVEDIR_PATH - 64], name[64];
    d->root[0] = 0;
    if (base)
        snprintf(usual, sizeof usual, "%s", base);
    else if (usual_base(usual, sizeof usual, err, err_len) != 0)
        return -1;
    if (kl_dir_make(usual, true, err, err_len) != 0) return -1;
    remove_stale(usual);
    size_t n = 0;
    for (const char *p = room; *p && n < 32; p++)
        name[n++] = isalnum((unsigned char)*p) ? *p : '_';
    snprintf(name + n, sizeof name - n, "-%ld", kl_process_self());
    char root[KL_SAVEDIR_PATH];
    if (kl_file_join(root, sizeof root, usual, name, err, err_len) != 0) return -1;
    kl_dir_remove_tree(root);
    if (kl_dir_make_new(root, err, err_len) != 0) return -1;
    strcpy(d->root, root);
    return 0;
}

int kl_savedir_fresh(const struct kl_savedir *d, const char *name, char *out, size_t cap, char *err,
                     size_t err_len) {
    if (kl_file_join(out, cap, d->root, name, err, err_len) != 0) return -1;
    kl_dir_remove_tree(out);
    return kl_dir_make_new(out, err, err_len);
}

void kl_savedir_close(struct kl_savedir *d) {
    kl_dir_remove_tree(d->root);
    d->root[0] = 0;
}

/* --- the files --- */

static bool contains_nocase(const char *text, const char *part) {
    size_t len = strlen(part);
    while (*text && strncasecmp(text, part, len) != 0)
        text++;
    return *text != 0;
}

/* True for files that the frontend writes itself. */
static bool is_frontends(const char *path) {
    const char *base = kl_file_base(path), *dot = strrchr(base, '.');
    return (dot && (!strcasecmp(dot, ".srm") || !strcasecmp(dot, ".rtc"))) || contains_nocase(base, ".state");
}

bool kl_savefiles_add(struct kl_savefiles *s, const char *dir, const char *path) {
    char full[KL_SAVEDIR_PATH];
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, path)) return true;
    if (s->count == KL_START_FILES || !kl_start_path_ok(path) || !kl_start_text_ok(path, KL_START_PATH_MAX))
        return false;
    if (is_frontends(path) || kl_file_join(full, sizeof full, dir, path, NULL, 0) != 0) return false;
    size_t len = 0;
    void *bytes;
    if (kl_file_read(full, KL_SAVEDIR_BYTES - s->bytes, KL_FILE_NO_LINK, &bytes, &len, NULL, 0) != 0)
        return false;
    strcpy(s->file[s->count].path, path);
    s->file[s->count].bytes = bytes;
    s->file[s->count].len = len;
    s->count++;
    s->bytes += len;
    return true;
}

static bool has_stem(const char *name, const char *stem) {
    size_t n = strlen(stem);
    return n && !strncmp(name, stem, n) && !isalnum((unsigned char)name[n]);
}

/* rel "": dir itself. all: the folder's name matched, so everything in it counts. */
static void collect(struct kl_savefiles *s, const char *dir, const char *rel, const char *stem, bool all,
                    unsigned depth) {
    char full[KL_SAVEDIR_PATH], path[KL_SAVEDIR_PATH];
    struct kl_dir_list list;
    snprintf(full, sizeof full, "%s%s%s", dir, *rel ? "/" : "", rel);
    if (kl_dir_list(&list, full, "", NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++) {
        const char *name = list.name[i];
        bool match = all || has_stem(name, stem);
        int len = snprintf(path, sizeof path, "%s%s%s", rel, *rel ? "/" : "", name);
        if (len >= KL_START_PATH_MAX) continue;
        if (kl_file_join(full, sizeof full, dir, path, NULL, 0) != 0) continue;
        enum kl_file_kind kind = kl_file_kind_here(full);
        if (kind == KL_FILE_IS_PLAIN && match)
            kl_savefiles_add(s, dir, path);
        else if (kind == KL_FILE_IS_DIR && depth < KL_SAVEDIR_DEPTH)
            collect(s, dir, path, stem, match, depth + 1);
    }
    kl_dir_list_free(&list);
}

void kl_savefiles_collect(struct kl_savefiles *s, const char *dir, const char *stem) {
    collect(s, dir, "", stem, false, 0);
}

void kl_savefiles_free(struct kl_savefiles *s) {
    for (unsigned i = 0; i < s->count; i++)
        free(s->file[i].bytes);
    s->count = 0;
    s->bytes = 0;
}

/* --- writing files from other machines --- */

int kl_savedir_write(const char *dir, const char *path, const void *bytes, size_t len, char *err,
                     size_t err_len) {
    if (!kl_start_path_ok(path)) {
        snprintf(err, err_len, "the path of a save file is not allowed: \"%.200s\"", path);
        return -1;
    }
    return kl_file_write_below(dir, path, bytes, len, err, err_len);
}

/* --- small files of the host --- */

#define FOLDER ".keylock" /* in the session's save folder */

static const struct gift {
    const char *folder, *end; /* FOLDER/STEM END; folder NULL: END is the whole name, in any folder */
    const char *given;        /* its name in FOLDER */
} gifts[] = {
    {NULL, "hiscore.dat", FOLDER "/hiscore.dat"},
    {"cheats", ".ini", FOLDER "/cheats.ini"},
    {"blend", ".bld", FOLDER "/blend.bld"},
};
#define GIFTS (sizeof gifts / sizeof *gifts)

/* The last part of the path up to end, without slashes at its end. */
static const char *last_part(const char *path, const char *end, size_t *len) {
    while (end > path && end[-1] == '/')
        end--;
    const char *from = end;
    while (from > path && from[-1] != '/')
        from--;
    *len = (size_t)(end - from);
    return from;
}

/* stem: gets the file's name without the end, if the table has a folder for it. */
static const struct gift *find(const char *path, const char **stem, size_t *stem_len) {
    size_t len, folder_len;
    const char *base = last_part(path, path + strlen(path), &len);
    const char *folder = last_part(path, base, &folder_len);
    for (size_t i = 0; i < GIFTS; i++) {
        const struct gift *g = &gifts[i];
        size_t n = strlen(g->end);
        if (len < n || strncasecmp(base + len - n, g->end, n) != 0) continue;
        if (!g->folder && len != n) continue;
        if (g->folder &&
            (len == n || folder_len != strlen(g->folder) || strncasecmp(folder, g->folder, folder_len) != 0))
            continue;
        *stem = base;
        *stem_len = len - n;
        return g;
    }
    return NULL;
}

bool kl_gifts_is(const char *path) {
    const char *stem;
    size_t len;
    return find(path, &stem, &len) != NULL;
}

static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);
    while (n && dir[n - 1] == '/')
        n--;
    return n && !strncmp(path, dir, n) && path[n] == '/';
}

/* A file of another game is nobody's. */
static bool is_of(const struct gift *g, const char *stem, const char *found, size_t len) {
    return !g->folder || (strlen(stem) == len && !strncmp(stem, found, len));
}

/* --- the host's --- */

static void collect_gift(struct kl_savefiles *s, const struct gift *g, const char *path) {
    void *bytes;
    size_t len;
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, g->given)) return;
    if (s->count == KL_START_FILES || KL_SAVEDIR_BYTES - s->bytes < KL_GIFT_BYTES) return;
    if (kl_file_read(path, KL_GIFT_BYTES, 0, &bytes, &len, NULL, 0) != 0) return;
    strcpy(s->file[s->count].path, g->given);
    s->file[s->count].bytes = bytes;
    s->file[s->count++].len = len;
    s->bytes += len;
}

void kl_gifts_collect(struct kl_savefiles *s, struct kl_world *w, const char *system_dir, const char *stem) {
    char real[4096];
    if (!kl_file_real(system_dir, real, sizeof real)) return;
    for (unsigned i = 0; i < kl_world_files(w); i++) {
        const char *path = kl_world_file(w, i, NULL), *found;
        size_t len;
        const struct gift *g =
            is_below(path, real) || is_below(path, system_dir) ? find(path, &found, &len) : NULL;
        if (g && is_of(g, stem, found, len)) collect_gift(s, g, path);
    }
}

/* --- everybody's --- */

bool kl_gifts_may_write(const struct kl_start_file *f) {
    if (strncmp(f->path, FOLDER "/", sizeof FOLDER) != 0) return strcmp(f->path, FOLDER) != 0;
    for (size_t i = 0; i < GIFTS; i++)
        if (!strcmp(f->path, gifts[i].given)) return f->len <= KL_GIFT_BYTES;
    return false;
}

static enum kl_sight sight(void *ctx, const char *path, char *out, size_t cap) {
    const struct kl_gifts *to = ctx;
    const char *found;
    size_t len;
    const struct gift *g = is_below(path, to->system_dir) ? find(path, &found, &len) : NULL;
    if (!g) return KL_SIGHT_PLAIN;
    if (!is_of(g, to->stem, found, len)) return KL_SIGHT_HIDDEN;
    return (size_t)snprintf(out, cap, "%s/%s", to->save_dir, g->given) < cap ? KL_SIGHT_GIVEN
                                                                             : KL_SIGHT_HIDDEN;
}

void kl_gifts_view(struct kl_gifts *g, struct kl_world *w, const char *system_dir, const char *save_dir,
                   const char *stem, const char *content, bool given) {
    char own[KL_SAVEDIR_PATH], folder[KL_SAVEDIR_PATH];
    const char *slash = content ? strrchr(content, '/') : NULL;
    kl_world_view(w, NULL);
    snprintf(g->system_dir, sizeof g->system_dir, "%s", system_dir);
    snprintf(g->save_dir, sizeof g->save_dir, "%s", save_dir);
    snprintf(g->stem, sizeof g->stem, "%s", stem);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - content) : 0, content ? content : "");
    bool fits = snprintf(own, sizeof own, "%s.view", g->save_dir) < (int)sizeof own;
    const struct kl_view_folders f = {.save = g->save_dir,
                                      .own = own,
                                      .system = g->system_dir,
                                      .content = folder,
                                      .sight = given ? sight : NULL,
                                      .ctx = g};
    kl_world_view(w, fits ? &f : NULL);
}

#include "core_wrapper/start/gifts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/file.h"

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

static void collect(struct kl_savefiles *s, const struct gift *g, const char *path) {
    char ignored[KL_SAVEDIR_PATH + 64];
    void *bytes;
    size_t len;
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, g->given)) return;
    if (s->count == KL_START_FILES || KL_SAVEDIR_BYTES - s->bytes < KL_GIFT_BYTES) return;
    if (kl_file_read(path, KL_GIFT_BYTES, 0, &bytes, &len, ignored, sizeof ignored) != 0) return;
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
        if (g && is_of(g, stem, found, len)) collect(s, g, path);
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

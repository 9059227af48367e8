#include "core_wrapper/start/savedir.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"

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
    char path[KL_SAVEDIR_PATH], ignored[KL_SAVEDIR_PATH + 64];
    struct kl_dir_list list;
    if (kl_dir_list(&list, base, "", ignored, sizeof ignored) != 0) return;
    for (unsigned i = 0; i < list.count; i++)
        if (is_stale(list.name[i]) &&
            kl_file_join(path, sizeof path, base, list.name[i], ignored, sizeof ignored) == 0)
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
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return (dot && (!strcasecmp(dot, ".srm") || !strcasecmp(dot, ".rtc"))) || contains_nocase(base, ".state");
}

bool kl_savefiles_add(struct kl_savefiles *s, const char *dir, const char *path) {
    char full[KL_SAVEDIR_PATH], ignored[KL_SAVEDIR_PATH + 64];
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, path)) return true;
    if (s->count == KL_START_FILES || !kl_start_path_ok(path) || !kl_start_text_ok(path, KL_START_PATH_MAX))
        return false;
    if (is_frontends(path) || kl_file_join(full, sizeof full, dir, path, ignored, sizeof ignored) != 0)
        return false;
    size_t len = 0;
    void *bytes;
    if (kl_file_read(full, KL_SAVEDIR_BYTES - s->bytes, KL_FILE_NO_LINK, &bytes, &len, ignored,
                     sizeof ignored) != 0)
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
    char full[KL_SAVEDIR_PATH], path[KL_SAVEDIR_PATH], ignored[KL_SAVEDIR_PATH + 64];
    struct kl_dir_list list;
    snprintf(full, sizeof full, "%s%s%s", dir, *rel ? "/" : "", rel);
    if (kl_dir_list(&list, full, "", ignored, sizeof ignored) != 0) return;
    for (unsigned i = 0; i < list.count; i++) {
        const char *name = list.name[i];
        bool match = all || has_stem(name, stem);
        int len = snprintf(path, sizeof path, "%s%s%s", rel, *rel ? "/" : "", name);
        if (len >= KL_START_PATH_MAX) continue;
        if (kl_file_join(full, sizeof full, dir, path, ignored, sizeof ignored) != 0) continue;
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

#include "core_wrapper/tool/own_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_wrapper/tool/files.h"

#define MARK "made-by-keylock.txt" /* in a folder that we made: what the setting was */

static const struct kind {
    const char *key, *below, *ending, *what;
} kinds[] = {{"libretro_directory", "cores", "_libretro.so", "cores"},
             {"libretro_info_path", "info", ".info", "info files"}};

static char *field(struct kl_place *p, enum kl_folder_kind kind) {
    return kind == KL_FOLDER_CORES ? p->cores : p->info;
}

/* ---- links ---- */

struct links {
    const char *from, *to;
    unsigned made;
    bool failed;
};

static void link_one(void *ctx, const char *name) {
    struct links *l = ctx;
    char from[KLT_PATH], to[KLT_PATH];
    struct stat st;
    snprintf(from, sizeof from, "%.3000s/%.500s", l->from, name);
    snprintf(to, sizeof to, "%.3000s/%.500s", l->to, name);
    if (lstat(to, &st) == 0) return;
    if (symlink(from, to) == 0)
        l->made++;
    else
        l->failed = true;
}

/* Is it a link of ours: to the same name in the folder that it stands for? */
static bool is_ours(const struct links *l, const char *name, char *path) {
    char from[KLT_PATH], to[KLT_PATH];
    snprintf(path, KLT_PATH, "%.3000s/%.500s", l->to, name);
    snprintf(from, sizeof from, "%.3000s/%.500s", l->from, name);
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n < 0) return false;
    to[n] = 0;
    return !strcmp(from, to);
}

static void unlink_dead(void *ctx, const char *name) {
    char path[KLT_PATH];
    struct stat st;
    if (is_ours(ctx, name, path) && stat(path, &st) != 0) unlink(path);
}

static void unlink_one(void *ctx, const char *name) {
    char path[KLT_PATH];
    if (is_ours(ctx, name, path)) unlink(path);
}

static int make_links(const char *from, const char *to, const struct kind *k, unsigned *made, char *err,
                      size_t err_len) {
    struct links l = {from, to, 0, false};
    kl_folder_each(to, k->ending, unlink_dead, &l);
    kl_folder_each(from, k->ending, link_one, &l);
    *made = l.made;
    if (!l.failed) return 0;
    snprintf(err, err_len, "cannot make links to the files of %.1500s in %.1500s", from, to);
    return -1;
}

/* ---- the mark ---- */

static bool read_mark(const char *folder, const struct kind *k, char *was, size_t cap) {
    char path[KLT_PATH + 32], ignored[KLT_PATH + 64];
    struct kl_settings mark;
    snprintf(path, sizeof path, "%s/%s", folder, MARK);
    bool found = kl_settings_read(&mark, path, ignored, sizeof ignored) == 0 &&
                 kl_settings_get(&mark, k->key, was, cap);
    kl_settings_free(&mark);
    return found;
}

static int write_mark(const char *folder, const struct kind *k, const char *was, char *err, size_t err_len) {
    char path[KLT_PATH + 32], text[KLT_PATH + 256];
    int n = snprintf(
        text, sizeof text,
        "# Links to the %s of the folder below, made by keylock install, which may not write there.\n"
        "%s = \"%s\"\n",
        k->what, k->key, was);
    snprintf(path, sizeof path, "%s/%s", folder, MARK);
    return kl_file_write(path, text, (size_t)n, 0644, err, err_len);
}

/* ---- doing ---- */

static int set(struct kl_place *p, const struct kind *k, const char *value, char *err, size_t err_len) {
    if (!kl_place_running()) return kl_place_set(p, k->key, value, err, err_len);
    snprintf(err, err_len,
             "%s must be set in %.3000s, but RetroArch is running and would write its own over it at its "
             "end: end it first",
             k->key, p->config);
    return -1;
}

static int make(struct kl_place *p, const struct kind *k, const char *was, char *err, size_t err_len) {
    char fresh[KLT_PATH];
    unsigned made = 0;
    snprintf(fresh, sizeof fresh, "%.4000s/%s", p->base, k->below);
    if (p->kind != KL_PLACE_NATIVE || !strcmp(fresh, was)) {
        snprintf(err, err_len, "cannot write to %s: %s", was, strerror(EACCES));
        return -1;
    }
    if (kl_folder_make(fresh, err, err_len) != 0 || make_links(was, fresh, k, &made, err, err_len) != 0 ||
        write_mark(fresh, k, was, err, err_len) != 0 || set(p, k, fresh, err, err_len) != 0)
        return -1;
    printf("  %s is not yours (as root, keylock install puts cores there for all users):\n"
           "    made %s with %u link%s to its %s,\n    set %s = \"%s\" in %s\n",
           was, fresh, made, made == 1 ? "" : "s", k->what, k->key, fresh, p->config);
    return 0;
}

int kl_own_folder(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len) {
    const struct kind *k = &kinds[kind];
    char was[KLT_PATH], here[KLT_PATH], ignored[KLT_PATH + 64];
    unsigned made = 0;
    strcpy(here, field(p, kind));
    if (!kl_folder_there(here)) (void)kl_folder_make(here, ignored, sizeof ignored);
    if (!kl_folder_writable(here)) return make(p, k, here, err, err_len);
    if (!read_mark(here, k, was, sizeof was)) return 0;
    if (make_links(was, here, k, &made, err, err_len) != 0) return -1;
    if (made) printf("  %u new links from %s to %s\n", made, here, was);
    return 0;
}

int kl_own_folder_undo(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len) {
    const struct kind *k = &kinds[kind];
    char was[KLT_PATH], here[KLT_PATH], path[KLT_PATH + 32];
    strcpy(here, field(p, kind));
    if (!read_mark(here, k, was, sizeof was)) return 0;
    struct links l = {was, here, 0, false};
    if (set(p, k, was, err, err_len) != 0) return -1;
    kl_folder_each(here, k->ending, unlink_one, &l);
    static const char *const left[] = {MARK, "core_info.refresh", "core_info.cache"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", here, left[i]);
        unlink(path);
    }
    rmdir(here); /* where nothing of the user's is in it */
    printf("  set %s = \"%s\" again in %s\n", k->key, was, p->config);
    return 0;
}

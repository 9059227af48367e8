#include "core_wrapper/tool/setup/install.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "net/platform/library.h"

#define MARK "made-by-keylock.txt" /* in a folder that we made: the earlier value of the setting */

static const struct kind {
    const char *key, *below, *ending, *what;
} kinds[] = {{"libretro_directory", "cores", "_libretro" KL_LIBRARY_ENDING, "cores"},
             {"libretro_info_path", "info", ".info", "info files"}};

static char *field(struct kl_place *p, enum kl_folder_kind kind) {
    return kind == KL_FOLDER_CORES ? p->cores : p->info;
}

/* --- links --- */

/* NAME in the folder that was and in ours. */
static void name_both(const char *was, const char *ours, const char *name, char from[KLT_PATH],
                      char to[KLT_PATH]) {
    snprintf(from, KLT_PATH, "%.3000s/%.500s", was, name);
    snprintf(to, KLT_PATH, "%.3000s/%.500s", ours, name);
}

/* Removes our links in `ours` to files of the same name in `was`; only_dead: only if the file is gone. */
static int remove_links(const char *was, const char *ours, const struct kind *k, bool only_dead, char *err,
                        size_t err_len) {
    char from[KLT_PATH], to[KLT_PATH];
    struct kl_dir_list list;
    if (kl_dir_list(&list, ours, k->ending, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < list.count; i++) {
        name_both(was, ours, list.name[i], from, to);
        bool dead = kl_file_kind(to) == KL_FILE_IS_NONE;
        if (kl_file_links_to(to, from) && (dead || !only_dead)) (void)kl_file_remove(to, err, err_len);
    }
    kl_dir_list_free(&list);
    return 0;
}

static int make_links(const char *was, const char *ours, const struct kind *k, unsigned *made, char *err,
                      size_t err_len) {
    char from[KLT_PATH], to[KLT_PATH];
    struct kl_dir_list list;
    int result = remove_links(was, ours, k, true, err, err_len);
    if (result == 0) result = kl_dir_list(&list, was, k->ending, err, err_len);
    if (result != 0) return -1;
    for (unsigned i = 0; i < list.count && result == 0; i++) {
        name_both(was, ours, list.name[i], from, to);
        if (kl_file_kind_here(to) != KL_FILE_IS_NONE) continue;
        result = kl_file_link(from, to, err, err_len);
        if (result == 0) ++*made;
    }
    kl_dir_list_free(&list);
    return result;
}

/* --- the mark --- */

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
    return kl_file_write_whole(path, text, (size_t)n, KL_FILE_PUBLIC, err, err_len);
}

/* --- doing --- */

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
    if (p->kind != KL_PLACE_LINKS || !strcmp(fresh, was)) {
        snprintf(err, err_len, "cannot write to %s: %s", was, strerror(EACCES));
        return -1;
    }
    if (kl_dir_make(fresh, false, err, err_len) != 0 || make_links(was, fresh, k, &made, err, err_len) != 0 ||
        write_mark(fresh, k, was, err, err_len) != 0 || set(p, k, fresh, err, err_len) != 0)
        return -1;
    printf("  %s belongs to another user (as root, keylock install puts cores there for all users):\n"
           "    made %s with %u link%s to its %s,\n    set %s = \"%s\" in %s\n",
           was, fresh, made, made == 1 ? "" : "s", k->what, k->key, fresh, p->config);
    return 0;
}

int kl_own_folder(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len) {
    const struct kind *k = &kinds[kind];
    char was[KLT_PATH], here[KLT_PATH];
    unsigned made = 0;
    strcpy(here, field(p, kind));
    if (!kl_dir_exists(here)) (void)kl_dir_make(here, false, NULL, 0);
    if (!kl_dir_writable(here)) return make(p, k, here, err, err_len);
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
    if (set(p, k, was, err, err_len) != 0) return -1;
    (void)remove_links(was, here, k, false, err, err_len);
    static const char *const left[] = {MARK, "core_info.refresh", "core_info.cache"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", here, left[i]);
        (void)kl_file_remove(path, err, err_len);
    }
    kl_dir_remove_empty(here);
    printf("  set %s = \"%s\" again in %s\n", k->key, was, p->config);
    return 0;
}

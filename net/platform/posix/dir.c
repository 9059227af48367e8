#include "net/platform/dir.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/platform/file.h"

#define OPEN_AT_ONCE 16 /* folders held open while a tree is removed */

static int fail(char *err, size_t err_len, const char *what, const char *path) {
    snprintf(err, err_len, "cannot %s %s: %s", what, path, strerror(errno));
    return -1;
}

/* --- making --- */

int kl_dir_make(const char *path, bool only_ours, char *err, size_t err_len) {
    char copy[KL_FILE_PATH];
    errno = *path ? ENAMETOOLONG : ENOENT;
    if (!*path || (size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return fail(err, err_len, "make the folder", path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p) continue;
        char was = *p;
        *p = 0;
        int why = mkdir(copy, only_ours ? 0700 : 0777) == 0 ? 0 : errno;
        if (why && !kl_dir_exists(copy)) { /* some systems refuse before they check if the folder exists */
            errno = why == EEXIST ? ENOTDIR : why;
            return fail(err, err_len, "make the folder", copy);
        }
        *p = was;
        if (!was) break;
    }
    return 0;
}

int kl_dir_make_new(const char *path, char *err, size_t err_len) {
    return mkdir(path, 0700) == 0 ? 0 : fail(err, err_len, "make the folder", path);
}

int kl_dir_make_temporary(char *out, size_t cap, const char *prefix, char *err, size_t err_len) {
    char name[128];
    snprintf(name, sizeof name, "%.100s-XXXXXX", prefix);
    if (kl_dir_known(KL_DIR_TEMPORARY, name, out, cap, err, err_len) == 0) {
        if (mkdtemp(out)) return 0;
        fail(err, err_len, "make the temporary folder", out);
    }
    out[0] = 0;
    return -1;
}

/* --- looking --- */

bool kl_dir_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool kl_dir_writable(const char *path) {
    return kl_dir_exists(path) && access(path, W_OK | X_OK) == 0;
}

bool kl_dir_others_write(const char *path) {
    struct stat st;
    return stat(path, &st) != 0 || st.st_mode & 022;
}

int kl_dir_list(struct kl_dir_list *list, const char *path, const char *ending, char *err, size_t err_len) {
    *list = (struct kl_dir_list){NULL, 0};
    DIR *d = opendir(path);
    if (!d) return fail(err, err_len, "read the folder", path);
    int result = 0;
    errno = 0;
    for (const struct dirent *e; result == 0 && (e = readdir(d));) {
        result = kl_dir_list_add(list, e->d_name, ending);
        if (result == 0) errno = 0;
    }
    if (errno) result = fail(err, err_len, "read the folder", path);
    closedir(d);
    if (result != 0)
        kl_dir_list_free(list);
    else
        kl_dir_list_sort(list);
    return result;
}

/* --- removing --- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st, (void)kind, (void)ftw;
    (void)remove(path);
    return 0;
}

void kl_dir_remove_tree(const char *path) {
    if (*path) nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void kl_dir_remove_empty(const char *path) {
    (void)rmdir(path);
}

/* --- standard folders --- */

/* By the XDG specification, a relative path counts as unset. */
static const char *absolute(const char *variable) {
    const char *value = getenv(variable);
    return value && kl_file_is_absolute(value) ? value : NULL;
}

int kl_dir_known(enum kl_dir_known which, const char *sub, char *out, size_t cap, char *err, size_t err_len) {
    static const struct {
        const char *variable, *below_home;
    } table[] = {[KL_DIR_HOME] = {NULL, ""},
                 [KL_DIR_STATE] = {"XDG_STATE_HOME", "/.local/state"},
                 [KL_DIR_CONFIG] = {"XDG_CONFIG_HOME", "/.config"}};
    char base[KL_FILE_PATH];
    const char *home = absolute("HOME"), *tmp = getenv("TMPDIR"), *set = NULL;
    if (which == KL_DIR_TEMPORARY) {
        snprintf(base, sizeof base, "%s", tmp && *tmp ? tmp : "/tmp");
    } else if (which == KL_DIR_RUN && (getuid() == 0 || absolute("XDG_RUNTIME_DIR"))) {
        snprintf(base, sizeof base, "%s", getuid() == 0 ? "/run" : absolute("XDG_RUNTIME_DIR"));
    } else if (which == KL_DIR_FALLBACK || which == KL_DIR_RUN) {
        snprintf(base, sizeof base, "/tmp/keylock-%u", (unsigned)getuid());
    } else if (table[which].variable && (set = absolute(table[which].variable))) {
        snprintf(base, sizeof base, "%s", set);
    } else if (home) {
        snprintf(base, sizeof base, "%.4000s%s", home, table[which].below_home);
    } else {
        snprintf(err, err_len, "the user has no such folder: neither %s nor HOME is set",
                 table[which].variable ? table[which].variable : "a home");
        return -1;
    }
    int n = snprintf(out, cap, "%s%s%s", base, sub ? "/" : "", sub ? sub : "");
    if (n > 0 && (size_t)n < cap) return 0;
    snprintf(err, err_len, "the path %.200s is longer than %zu bytes", base, cap - 1);
    return -1;
}

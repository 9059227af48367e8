#include "core_wrapper/savedir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(char *err, size_t err_len, const char *what, const char *path) {
    snprintf(err, err_len, "cannot %s %s: %s", what, path, strerror(errno));
    return -1;
}

static int join(char *out, size_t cap, const char *a, const char *b) {
    int n = snprintf(out, cap, "%s/%s", a, b);
    if (n > 0 && (size_t)n < cap) return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* ---- the folders ---- */

static int usual_base(char *out, size_t cap) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (state && *state == '/')
        n = snprintf(out, cap, "%s/keylock/sessions", state);
    else if (home && *home == '/')
        n = snprintf(out, cap, "%s/.local/state/keylock/sessions", home);
    else
        n = snprintf(out, cap, "/tmp/keylock-%u/sessions", (unsigned)getuid());
    return n > 0 && (size_t)n < cap ? 0 : -1;
}

static int make_folders(char *path) {
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p) continue;
        char was = *p;
        *p = 0;
        int r = mkdir(path, 0700);
        *p = was;
        if (r != 0 && errno != EEXIST) return -1;
        if (!was) return 0;
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st, (void)kind, (void)ftw;
    (void)remove(path);
    return 0;
}

static void remove_tree(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* NAME-PID where the process is gone. */
static bool is_stale(const char *name) {
    const char *dash = strrchr(name, '-');
    if (!dash || !isdigit((unsigned char)dash[1])) return false;
    char *end;
    long pid = strtol(dash + 1, &end, 10);
    return !*end && pid > 1 && pid != getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void remove_stale(const char *base) {
    char path[KL_SAVEDIR_PATH];
    DIR *d = opendir(base);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (is_stale(e->d_name) && join(path, sizeof path, base, e->d_name) == 0) remove_tree(path);
    closedir(d);
}

int kl_savedir_open(struct kl_savedir *d, const char *base, const char *room, char *err, size_t err_len) {
    char usual[KL_SAVEDIR_PATH - 64], name[64];
    d->root[0] = 0;
    if (base)
        snprintf(usual, sizeof usual, "%s", base);
    else if (usual_base(usual, sizeof usual) != 0)
        return fail(err, err_len, "find", "the state folder");
    if (make_folders(usual) != 0) return fail(err, err_len, "make", usual);
    remove_stale(usual);
    size_t n = 0;
    for (const char *p = room; *p && n < 32; p++)
        name[n++] = isalnum((unsigned char)*p) ? *p : '_';
    snprintf(name + n, sizeof name - n, "-%ld", (long)getpid());
    char root[KL_SAVEDIR_PATH];
    join(root, sizeof root, usual, name);
    remove_tree(root);
    if (mkdir(root, 0700) != 0) return fail(err, err_len, "make", root);
    strcpy(d->root, root);
    return 0;
}

int kl_savedir_fresh(const struct kl_savedir *d, const char *name, char *out, size_t cap, char *err,
                     size_t err_len) {
    if (join(out, cap, d->root, name) != 0) return fail(err, err_len, "make", name);
    remove_tree(out);
    if (mkdir(out, 0700) != 0) return fail(err, err_len, "make", out);
    return 0;
}

void kl_savedir_close(struct kl_savedir *d) {
    if (d->root[0]) remove_tree(d->root);
    d->root[0] = 0;
}

/* ---- the files ---- */

/* What the frontend keeps itself: it is not the core's. */
static bool is_frontends(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return (dot && (!strcasecmp(dot, ".srm") || !strcasecmp(dot, ".rtc"))) || strcasestr(base, ".state");
}

static uint8_t *read_whole(const char *path, size_t max, size_t *len) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    uint8_t *bytes = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= max) {
        *len = (size_t)st.st_size;
        bytes = malloc(*len + 1);
        size_t got = 0;
        for (ssize_t n; bytes && got < *len && (n = read(fd, bytes + got, *len - got)) > 0;)
            got += (size_t)n;
        if (bytes && got != *len) {
            free(bytes);
            bytes = NULL;
        }
    }
    close(fd);
    return bytes;
}

bool kl_savefiles_add(struct kl_savefiles *s, const char *dir, const char *path) {
    char full[KL_SAVEDIR_PATH];
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, path)) return true;
    if (s->count == KL_START_FILES || !kl_start_path_ok(path) || !kl_start_text_ok(path, KL_START_PATH_MAX))
        return false;
    if (is_frontends(path) || join(full, sizeof full, dir, path) != 0) return false;
    size_t len = 0;
    uint8_t *bytes = read_whole(full, KL_SAVEDIR_BYTES - s->bytes, &len);
    if (!bytes) return false;
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
    struct dirent **list;
    snprintf(full, sizeof full, "%s%s%s", dir, *rel ? "/" : "", rel);
    int n = scandir(full, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        bool match = all || has_stem(name, stem);
        int len = snprintf(path, sizeof path, "%s%s%s", rel, *rel ? "/" : "", name);
        struct stat st;
        bool ok = strcmp(name, ".") && strcmp(name, "..") && len > 0 && len < KL_START_PATH_MAX;
        if (ok && join(full, sizeof full, dir, path) == 0 && lstat(full, &st) == 0) {
            if (S_ISREG(st.st_mode) && match)
                kl_savefiles_add(s, dir, path);
            else if (S_ISDIR(st.st_mode) && depth < KL_SAVEDIR_DEPTH)
                collect(s, dir, path, stem, match, depth + 1);
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
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

/* ---- writing what came from elsewhere ---- */

/* The folder that holds the last component, opened step by step so that a link cannot lead out. Its name is
 * left in *base. */
static int open_parent(const char *dir, char *path, const char **base) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *at = path;
    for (char *slash; fd >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
        *slash = 0;
        mkdirat(fd, at, 0700);
        int next = openat(fd, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    *base = at;
    return fd;
}

int kl_savedir_write(const char *dir, const char *path, const void *bytes, size_t len, char *err,
                     size_t err_len) {
    if (!kl_start_path_ok(path)) {
        snprintf(err, err_len, "the path of a save file is not allowed: \"%.200s\"", path);
        return -1;
    }
    char copy[KL_START_PATH_MAX];
    const char *base;
    strcpy(copy, path);
    int parent = open_parent(dir, copy, &base);
    if (parent < 0) return fail(err, err_len, "make a folder for", path);
    int fd = openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(parent);
    if (fd < 0) return fail(err, err_len, "write", path);
    size_t done = 0;
    for (ssize_t n; done < len && (n = write(fd, (const uint8_t *)bytes + done, len - done)) > 0;)
        done += (size_t)n;
    if (done < len) fail(err, err_len, "write", path);
    return close(fd) == 0 && done == len ? 0 : -1;
}

#include "core_wrapper/tool/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH     4096
#define COPY_MAX ((size_t)512 << 20) /* no core, save or state that we copy is larger */

static int fail(char *err, size_t err_len, const char *what, const char *path) {
    snprintf(err, err_len, "cannot %s %s: %s", what, path, strerror(errno));
    return -1;
}

static bool read_all(int fd, char *out, size_t len) {
    for (size_t got = 0; got < len;) {
        ssize_t n = read(fd, out + got, len - got);
        if (n == 0) errno = EIO; /* it became shorter */
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

char *kl_file_read(const char *path, size_t max, size_t *len) {
    struct stat st;
    char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0) {
        *len = (size_t)st.st_size;
        errno = !S_ISREG(st.st_mode) ? EINVAL : (size_t)st.st_size > max ? EFBIG : 0;
        if (!errno) bytes = malloc(*len + 1);
        if (bytes && !read_all(fd, bytes, *len)) {
            free(bytes);
            bytes = NULL;
        }
        if (bytes) bytes[*len] = 0;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return bytes;
}

static bool write_all(int fd, const char *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

int kl_file_write(const char *path, const void *bytes, size_t len, mode_t mode, char *err, size_t err_len) {
    char beside[PATH];
    struct stat st;
    if (stat(path, &st) == 0) mode = st.st_mode & 07777;
    int n = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof beside) {
        errno = ENAMETOOLONG;
        return fail(err, err_len, "write", path);
    }
    int fd = mkstemp(beside);
    if (fd < 0) return fail(err, err_len, "write", path);
    bool good = write_all(fd, bytes, len) && fchmod(fd, mode) == 0;
    if (close(fd) != 0) good = false;
    if (good && rename(beside, path) == 0) return 0;
    fail(err, err_len, "write", path);
    unlink(beside);
    return -1;
}

bool kl_file_equal(const char *a, const char *b) {
    size_t a_len, b_len;
    char *x = kl_file_read(a, COPY_MAX, &a_len), *y = kl_file_read(b, COPY_MAX, &b_len);
    bool equal = x && y && a_len == b_len && memcmp(x, y, a_len) == 0;
    free(x);
    free(y);
    return equal;
}

int kl_file_copy(const char *from, const char *to, mode_t mode, char *err, size_t err_len) {
    size_t len;
    if (kl_file_equal(from, to)) return 1;
    char *bytes = kl_file_read(from, COPY_MAX, &len);
    if (!bytes) return fail(err, err_len, "read", from);
    int r = kl_file_write(to, bytes, len, mode, err, err_len);
    free(bytes);
    return r;
}

int kl_folder_make(const char *path, char *err, size_t err_len) {
    char copy[PATH];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p) continue;
        char was = *p;
        *p = 0;
        if (mkdir(copy, 0755) != 0 && errno != EEXIST) return fail(err, err_len, "make the folder", copy);
        *p = was;
        if (!was) break;
    }
    if (kl_folder_there(path)) return 0;
    errno = ENOTDIR;
    return fail(err, err_len, "make the folder", path);
}

bool kl_folder_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool kl_folder_writable(const char *path) {
    return kl_folder_there(path) && access(path, W_OK | X_OK) == 0;
}

bool kl_ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

void kl_folder_each(const char *path, const char *ending, void (*each)(void *ctx, const char *name),
                    void *ctx) {
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (strcmp(name, ".") && strcmp(name, "..") && kl_ends_with(name, ending)) each(ctx, name);
        free(list[i]);
    }
    if (n >= 0) free(list);
}

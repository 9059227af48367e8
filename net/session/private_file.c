#include "net/session/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(char *err, size_t err_len, const char *what, const char *path) {
    snprintf(err, err_len, "cannot %s %s: %s", what, path, strerror(errno));
    return -1;
}

int kl_private_path(char out[KL_PRIVATE_PATH], const char *dir, const char *name, char *err, size_t err_len) {
    int n = snprintf(out, KL_PRIVATE_PATH, "%s/%s", dir, name);
    if (*dir && n > 0 && n < KL_PRIVATE_PATH) return 0;
    errno = *dir ? ENAMETOOLONG : ENOENT;
    return fail(err, err_len, "use the folder", dir);
}

int kl_private_folder(const char *dir, char *err, size_t err_len) {
    char path[KL_PRIVATE_PATH];
    if (kl_private_path(path, dir, "", err, err_len) != 0) return -1; /* ends with a slash */
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return fail(err, err_len, "make", path);
        *p = '/';
    }
    return 0;
}

static ssize_t read_all(int fd, uint8_t *buf, size_t cap) {
    size_t done = 0;
    while (done < cap) {
        ssize_t n = read(fd, buf + done, cap - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* What an open file is, before a byte of it is believed. */
static int inspect(int fd, const char *path, size_t cap, char *err, size_t err_len) {
    struct stat st;
    if (fstat(fd, &st) != 0) return fail(err, err_len, "read", path);
    if (!S_ISREG(st.st_mode)) {
        snprintf(err, err_len, "cannot read %s: a plain file was expected", path);
    } else if (st.st_mode & 077) {
        snprintf(err, err_len, "%s may be read by others: expected mode 600, found %o", path,
                 (unsigned)st.st_mode & 0777);
    } else if (st.st_uid != geteuid() && geteuid() != 0) {
        snprintf(err, err_len, "%s is another user's: expected uid %u, found %u", path, (unsigned)geteuid(),
                 (unsigned)st.st_uid);
    } else if ((uint64_t)st.st_size > cap) {
        snprintf(err, err_len, "%s is too long: expected at most %zu bytes, found %lld", path, cap,
                 (long long)st.st_size);
    } else {
        return 0;
    }
    return -1;
}

int kl_private_read(const char *path, void *buf, size_t cap, size_t *len, char *err, size_t err_len) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? 1 : fail(err, err_len, "read", path);
    int result = inspect(fd, path, cap, err, err_len);
    ssize_t n = result == 0 ? read_all(fd, buf, cap) : 0;
    if (n < 0) result = fail(err, err_len, "read", path);
    close(fd);
    if (result == 0) *len = (size_t)n;
    return result;
}

static int write_all(int fd, const uint8_t *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        done += (size_t)n;
    }
    return fsync(fd);
}

/* Where the file system cannot, nothing is lost but a promise that nobody made. */
static void sync_folder(const char *dir) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* rename() replaces what is there, link() never does. */
static int give_name(const char *temporary, const char *path, bool replace) {
    if (replace) return rename(temporary, path);
    return link(temporary, path) != 0 && errno != EEXIST ? -1 : 0;
}

int kl_private_write(const char *dir, const char *name, const void *bytes, size_t len, bool replace,
                     char *err, size_t err_len) {
    char temporary_name[300], temporary[KL_PRIVATE_PATH], path[KL_PRIVATE_PATH];
    snprintf(temporary_name, sizeof temporary_name, ".%.200s.%ld", name, (long)getpid());
    if (kl_private_path(temporary, dir, temporary_name, err, err_len) != 0) return -1;
    if (kl_private_path(path, dir, name, err, err_len) != 0) return -1;
    (void)unlink(temporary); /* left by a dead process of this number */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return fail(err, err_len, "make", temporary);
    int result = write_all(fd, bytes, len) == 0 ? 0 : fail(err, err_len, "write", temporary);
    if (close(fd) != 0 && result == 0) result = fail(err, err_len, "write", temporary);
    if (result == 0 && give_name(temporary, path, replace) != 0) result = fail(err, err_len, "make", path);
    (void)unlink(temporary);
    if (result == 0) sync_folder(dir);
    return result;
}

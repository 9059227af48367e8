#include "net/platform/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t kl_file_mark(const char *path) {
    static const struct timespec epoch[2];
    struct stat st;
    bool plain = lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    return plain && utimensat(AT_FDCWD, path, epoch, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_ino : 0;
}

bool kl_file_touched(const char *path, uint64_t number) {
    struct stat st;
    return lstat(path, &st) != 0 || (uint64_t)st.st_ino != number || st.st_mtim.tv_sec != 0 ||
           st.st_mtim.tv_nsec != 0;
}

static bool write_all(int fd, const char *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, bytes + done, len - done, (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return ftruncate(fd, (off_t)len) == 0;
}

int kl_file_put(const char *path, const void *bytes, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    bool good = write_all(fd, bytes, len);
    close(fd);
    return good ? 0 : -1;
}

unsigned kl_file_holders(const char *path) {
    struct stat of, st;
    unsigned count = 0;
    DIR *all = stat(path, &of) == 0 ? opendir("/proc/self/fd") : NULL;
    for (const struct dirent *e; all && (e = readdir(all));)
        count += fstat((int)strtol(e->d_name, NULL, 10), &st) == 0 && st.st_dev == of.st_dev &&
                 st.st_ino == of.st_ino;
    if (all) closedir(all);
    return count;
}

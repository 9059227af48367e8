#include "net/platform/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 4096

/* 0, or the reason. */
static int write_zeros(int fd, off_t from, size_t len) {
    static const uint8_t zeros[CHUNK];
    while ((size_t)from < len) {
        size_t n = len - (size_t)from < CHUNK ? len - (size_t)from : CHUNK;
        ssize_t done = pwrite(fd, zeros, n, from);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : ENOSPC;
        from += done;
    }
    return 0;
}

/* Its place on the disk, also behind holes. A file system that cannot be asked for it gets zeros. */
static int take_place(int fd, size_t len) {
    struct stat st;
    int result = posix_fallocate(fd, 0, (off_t)len);
    if (result != EINVAL && result != EOPNOTSUPP) return result;
    return fstat(fd, &st) == 0 ? write_zeros(fd, st.st_size, len) : errno;
}

/* Its bytes: mapped, or a copy. */
static int give_bytes(struct kl_slab *s, char *why, size_t why_len) {
    void *at = mmap(NULL, s->len, PROT_READ | PROT_WRITE, MAP_SHARED, s->file.handle, 0);
    uint64_t cap = 0, len;
    s->mapped = at != MAP_FAILED;
    if (!s->mapped) return kl_file_read_open(&s->file, &s->bytes, &cap, &len, why, why_len);
    s->bytes = at;
    return 0;
}

int kl_slab_take(struct kl_slab *s, const struct kl_file *file, size_t len, char *why, size_t why_len) {
    int no_place = take_place(file->handle, len);
    *s = (struct kl_slab){.len = len, .file = *file};
    if (no_place) snprintf(why, why_len, "%s", strerror(no_place));
    if (!no_place && give_bytes(s, why, why_len) == 0) return 0;
    free(s->bytes);
    *s = (struct kl_slab){.file.handle = -1};
    return -1;
}

bool kl_slab_put(struct kl_slab *s, size_t at, const void *from, size_t len) {
    if (len) memcpy(s->bytes + at, from, len);
    return s->mapped || pwrite(s->file.handle, from, len, (off_t)at) == (ssize_t)len;
}

void kl_slab_close(struct kl_slab *s) {
    if (!s->bytes) return;
    if (s->mapped)
        munmap(s->bytes, s->len);
    else
        free(s->bytes);
    kl_file_close(&s->file);
    *s = (struct kl_slab){.file.handle = -1};
}

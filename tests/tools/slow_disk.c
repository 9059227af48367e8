/* slow_disk.c - a library that is preloaded into RetroArch: the disk below a folder takes its time, and each
 * call of retro_run that waited long is told.
 *
 * SLOW_DISK is the folder, SLOW_DISK_MS the time that each access below it takes: opening or making a file
 * to write, writing, fsync, renaming, removing. Lines on standard error:
 *     slow_disk: retro_run N slept MS ms      from SLOW_DISK_MS * 3 / 4 on
 *     slow_disk: PATH (CALL, thread NAME)     each access, first of its kind
 * A call's sleep is its time less the thread's time on a processor, and less its time in the queue for one:
 * so a busy machine makes no call slow. It includes the wait for a mutex that another thread holds over an
 * access. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE    __attribute__((visibility("default")))
#define SEEN_LINES 256

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long slow_ms(void) {
    const char *ms = getenv("SLOW_DISK_MS");
    return ms ? atol(ms) : 0;
}

static void *next(const char *name) {
    static void *(*real)(void *, const char *);
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(RTLD_NEXT, name);
}
/* The C library's function of this name. */
#define REAL(R, name, ...)                                                                                   \
    static R (*real)(__VA_ARGS__);                                                                           \
    if (!real) *(void **)&real = next(#name)

/* --- accesses --- */

static void tell(const char *path, const char *call) {
    static char seen[SEEN_LINES][192];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned count;
    char line[192], thread[16] = "?";
    pthread_getname_np(pthread_self(), thread, sizeof thread);
    snprintf(line, sizeof line, "slow_disk: %.120s (%s, thread %s)\n", path, call, thread);
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < count && strcmp(seen[i], line) != 0)
        i++;
    if (i == count && count < SEEN_LINES) {
        strcpy(seen[count++], line);
        dprintf(2, "%s", line);
    }
    pthread_mutex_unlock(&lock);
}

static void slow(const char *path, const char *call) {
    const char *dir = getenv("SLOW_DISK");
    long ms = slow_ms();
    if (!dir || !path || strncmp(path, dir, strlen(dir)) != 0 || !ms) return;
    tell(path, call);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void slow_fd(int fd, const char *call) {
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len > 0 ? len : 0] = 0;
    slow(path, call);
}

static bool writes(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
}

#define OPENS(name)                                                                                          \
    VISIBLE int name(const char *path, int flags, ...) {                                                     \
        REAL(int, name, const char *, int, ...);                                                             \
        va_list args;                                                                                        \
        va_start(args, flags);                                                                               \
        unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;                          \
        va_end(args);                                                                                        \
        if (writes(flags)) slow(path, "open");                                                               \
        return real(path, flags, mode);                                                                      \
    }
OPENS(open)
OPENS(open64)

VISIBLE FILE *fopen(const char *restrict path, const char *restrict mode) {
    REAL(FILE *, fopen, const char *, const char *);
    if (*mode != 'r' || strchr(mode, '+')) slow(path, "open");
    return real(path, mode);
}
VISIBLE FILE *fopen64(const char *restrict path, const char *restrict mode) {
    return fopen(path, mode);
}
VISIBLE ssize_t write(int fd, const void *bytes, size_t len) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (fd > 2) slow_fd(fd, "write");
    return real(fd, bytes, len);
}
VISIBLE int fsync(int fd) {
    REAL(int, fsync, int);
    slow_fd(fd, "fsync");
    return real(fd);
}
VISIBLE int fdatasync(int fd) {
    REAL(int, fdatasync, int);
    slow_fd(fd, "fsync");
    return real(fd);
}
VISIBLE int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    slow(to, "rename");
    return real(from, to);
}
VISIBLE int unlink(const char *path) {
    REAL(int, unlink, const char *);
    slow(path, "unlink");
    return real(path);
}

/* Streams: every call may write, if their buffer is full or ends with a line. */
VISIBLE size_t fwrite(const void *restrict bytes, size_t size, size_t n, FILE *restrict f) {
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
    if (fileno(f) > 2) slow_fd(fileno(f), "write");
    return real(bytes, size, n, f);
}
VISIBLE int vfprintf(FILE *restrict f, const char *restrict format, va_list args) {
    REAL(int, vfprintf, FILE *, const char *, va_list);
    if (fileno(f) > 2) slow_fd(fileno(f), "write");
    return real(f, format, args);
}
VISIBLE int fprintf(FILE *restrict f, const char *restrict format, ...) {
    va_list args;
    va_start(args, format);
    int n = vfprintf(f, format, args);
    va_end(args);
    return n;
}
VISIBLE int fputs(const char *restrict text, FILE *restrict f) {
    return fwrite(text, 1, strlen(text), f) == strlen(text) ? 0 : EOF;
}
VISIBLE int fflush(FILE *f) {
    REAL(int, fflush, FILE *);
    if (f && fileno(f) > 2) slow_fd(fileno(f), "write");
    return real(f);
}
VISIBLE int fclose(FILE *f) {
    REAL(int, fclose, FILE *);
    if (fileno(f) > 2 && writes(fcntl(fileno(f), F_GETFL))) slow_fd(fileno(f), "write");
    return real(f);
}

/* --- the frontend's call --- */

/* This thread's time on a processor and in the queue for one. */
static uint64_t busy_ns(void) {
    char text[64];
    REAL(int, open, const char *, int, ...);
    int fd = real("/proc/thread-self/schedstat", O_RDONLY);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[len > 0 ? len : 0] = 0;
    char *end;
    uint64_t ran = strtoull(text, &end, 10);
    return ran + strtoull(end, NULL, 10);
}

static void (*real_run)(void); /* the wrapper's, which is looked up first */

static void timed_run(void) {
    static unsigned count;
    uint64_t begun = now_ns(), busy = busy_ns();
    real_run();
    uint64_t all_ms = (now_ns() - begun) / 1000000, busy_ms = (busy_ns() - busy) / 1000000;
    count++;
    if (all_ms > busy_ms && (long)(all_ms - busy_ms) >= slow_ms() * 3 / 4)
        dprintf(2, "slow_disk: retro_run %u slept %lu ms\n", count, (unsigned long)(all_ms - busy_ms));
}

VISIBLE void *dlsym(void *restrict handle, const char *restrict name) {
    static void *(*real)(void *, const char *);
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *there = real(handle, name);
    if (strcmp(name, "retro_run") != 0 || !there || (real_run && there != (void *)real_run)) return there;
    *(void **)&real_run = there;
    return (void *)timed_run;
}

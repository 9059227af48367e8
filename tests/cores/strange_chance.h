/* strange_chance.h - the sources from which the strange core takes chance. A value is equal on all
 * machines of a room if the wrapper does its part. */
#ifndef TEST_STRANGE_CHANCE_H
#define TEST_STRANGE_CHANCE_H

#include <dirent.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#endif

static uint64_t fold(uint64_t hash, const void *bytes, size_t len) {
    for (const uint8_t *b = bytes; len--; b++)
        hash = (hash ^ *b) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

static uint64_t fold_text(uint64_t hash, const char *text) {
    return fold(hash, text, text ? strlen(text) : 0);
}

/* Names in the order in which the system gives them. */
static uint64_t folder_order(const char *path) {
    uint64_t hash = 1;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.') hash = fold_text(hash, e->d_name);
    if (d) closedir(d);
    return hash;
}

static uint64_t file_date(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_mtime : 7;
}

#ifdef _WIN32
static uint64_t processors(uint32_t way) {
    SYSTEM_INFO info;
    (void)way;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors;
}
static uint64_t entropy(bool device, uint32_t way) {
    return (void)device, (void)way, 0;
}
#else
static uint64_t processors(uint32_t way) {
    cpu_set_t set;
    if (way == 0) return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (way == 1) return (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint64_t)CPU_COUNT(&set) : 0;
}

static uint64_t entropy(bool device, uint32_t way) {
    static const char *const path[] = {"/dev/urandom", "/dev/random"};
    uint64_t value = 0;
    if (!device && way == 0) return getentropy(&value, sizeof value) == 0 ? value : 1;
    if (!device) return getrandom(&value, sizeof value, 0) == sizeof value ? value : 1;
    if (way & 1) {
        FILE *f = fopen(path[way / 2 % 2], "rb");
        if (!f) return 2;
        size_t n = fread(&value, sizeof value, 1, f);
        fclose(f);
        return n ? value : 3;
    }
    int fd = open(path[way / 2 % 2], O_RDONLY);
    if (fd < 0) return 2;
    ssize_t n = read(fd, &value, sizeof value);
    close(fd);
    return n == sizeof value ? value : 3;
}
#endif

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* way: drawn, which of several calls. folder: with files that all machines have. file: one of these. */
static uint64_t take_chance(enum strange_kind k, uint32_t way, const char *folder, const char *file) {
    time_t now;
    switch (k) {
    case C_RAND: return (uint64_t)rand();
#ifndef _WIN32
    case C_RANDOM: return (uint64_t)(way & 1 ? random() : lrand48());
#endif
    case C_TIME: now = time(NULL); return (uint64_t)now * 24 + (uint64_t)localtime(&now)->tm_hour;
    case C_CLOCK: return clock_ns(way & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    case C_GETRANDOM: return entropy(false, way);
    case C_URANDOM: return entropy(true, way);
    case C_PID: return (uint64_t)getpid();
    case C_CPUS: return processors(way % 3);
    case C_FOLDER: return folder_order(folder);
    case C_DATES: return file_date(file);
    case C_LOCALE: return fold_text(3, way & 1 ? setlocale(LC_ALL, "") : localeconv()->decimal_point);
    default: return 0;
    }
}

#endif

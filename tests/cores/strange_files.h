/* strange_files.h - the strange core's files: written, and read back into its RAM. With the right wrapper
 * all machines of a room read the same, whatever way they came into the match. */
#ifndef TEST_STRANGE_FILES_H
#define TEST_STRANGE_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef _WIN32
#define mkdir(path, mode) mkdir(path)
#else
#define O_BINARY 0
#endif

#define PATH_BYTES 4300

struct files {
    const struct plan *plan;
    const char *folder[3]; /* save, system, content */
    const char *stem;      /* of the content */
    FILE *held, *late;
};

/* The file of a kind, in a drawn folder. */
static const char *path_of(const struct files *f, enum strange_kind k, const char *ending) {
    static char path[2][PATH_BYTES];
    static unsigned turn;
    char *to = path[turn++ % 2];
    snprintf(to, PATH_BYTES, "%s/%s-%s%s", f->folder[pick(f->plan, k, 1, 3)], f->stem, kind_name[k], ending);
    return to;
}

static uint64_t read_back(const char *path) {
    uint8_t bytes[4096];
    FILE *file = fopen(path, "rb");
    if (!file) return (uint64_t)errno;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return fold(n, bytes, n);
}

static uint64_t write_by(FILE *file, const void *bytes, size_t len) {
    if (!file) return (uint64_t)errno + 1000;
    size_t n = fwrite(bytes, 1, len, file);
    return n + (uint64_t)(fclose(file) != 0) * 100;
}

static uint64_t write_fd(int fd, const void *bytes, size_t len) {
    if (fd < 0) return (uint64_t)errno + 2000;
    ssize_t n = write(fd, bytes, len);
    close(fd);
    return (uint64_t)n;
}

#ifdef _WIN32
static int open_at(const char *folder, const char *path) {
    return (void)folder, open(path, O_WRONLY | O_CREAT | O_TRUNC | O_BINARY, 0600);
}
#else
static int open_at(const char *folder, const char *path) {
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    if (at < 0) return -1;
    int fd = openat(at, strrchr(path, '/') + 1, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    close(at);
    return fd;
}
#endif

/* The whole file anew, by a drawn way of opening. */
static uint64_t write_whole(const struct files *f, const char *path, const void *bytes, size_t len) {
    const int create = O_CREAT | O_BINARY;
    switch (pick(f->plan, F_WHOLE, 2, 7)) {
    case 0: return write_by(fopen(path, "wb"), bytes, len);
    case 1: return write_by(fopen(path, "w+b"), bytes, len);
    case 2: return write_fd(open(path, O_WRONLY | create | O_TRUNC, 0600), bytes, len);
    case 3: return write_fd(creat(path, 0600), bytes, len);
    case 4: return write_fd(open_at(f->folder[pick(f->plan, F_WHOLE, 1, 3)], path), bytes, len);
    case 5: return remove(path), write_fd(open(path, O_WRONLY | create | O_EXCL, 0600), bytes, len);
    default: return remove(path), write_by(fopen(path, "wbx"), bytes, len);
    }
}

static uint64_t patch_file(const char *path, uint64_t value) {
    static const uint8_t zeros[256];
    FILE *file = fopen(path, "r+b");
    if (!file) return write_by(fopen(path, "wb"), zeros, sizeof zeros);
    if (fseek(file, (long)(value % 248), SEEK_SET) != 0) value = 0;
    return write_by(file, &value, sizeof value);
}

/* A file that was there before and is written on: the host's own for all. */
static uint64_t use_save(const struct files *f, uint64_t value) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.card", f->folder[0], f->stem);
    uint64_t was = read_back(path);
    return was ^ patch_file(path, value) << 32;
}

/* MAME's high scores: read where they are, made where they are not. NULL after both was a crash. */
static uint64_t use_hidden(const struct files *f, uint64_t value) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/hiscore.dat", f->folder[1]);
    FILE *file = fopen(path, "rb");
    if (!file) return 5 + write_by(fopen(path, "wb"), &value, sizeof value);
    fclose(file);
    return read_back(path);
}

static uint64_t rename_and_remove(const struct files *f, uint64_t value, uint32_t turn) {
    const char *one = path_of(f, F_REMOVE, ".one"), *two = path_of(f, F_REMOVE, ".two");
    struct stat st;
    switch (turn % 4) {
    case 0: return write_by(fopen(one, "wb"), &value, turn % 8 + 1);
    case 1: return (uint64_t)(rename(one, two) != 0) + 10;
    case 2: return stat(two, &st) == 0 ? (uint64_t)st.st_size + 20 : 30;
    default: return (uint64_t)(remove(two) != 0) + 40 + (uint64_t)(access(one, F_OK) == 0) * 7;
    }
}

static uint64_t fill_folder(const struct files *f, uint64_t value) {
    char path[PATH_BYTES], folder[PATH_BYTES - 24];
    snprintf(folder, sizeof folder, "%s", path_of(f, F_LIST, ""));
    uint64_t made = (uint64_t)(mkdir(folder, 0700) != 0);
    snprintf(path, sizeof path, "%s/%02x", folder, (unsigned)(value % 32));
    made += write_by(fopen(path, "wb"), &value, sizeof value);
    return made ^ folder_order(folder);
}

static uint64_t use_temporary(const struct files *f, uint64_t value, uint32_t turn) {
    char path[64];
    uint64_t back = 0;
#ifdef _WIN32
    snprintf(path, sizeof path, "strange-%d.tmp", (int)getpid());
#else
    snprintf(path, sizeof path, "/tmp/strange-%d", (int)getpid());
#endif
    if (pick(f->plan, F_TEMP, 2, 2))
        return turn % 2 ? read_back(path) : write_by(fopen(path, "wb"), &value, 8);
    FILE *file = tmpfile();
    if (!file) return 9;
    bool good = fwrite(&value, sizeof value, 1, file) == 1 && fseek(file, 0, SEEK_SET) == 0 &&
                fread(&back, sizeof back, 1, file) == 1;
    fclose(file);
    return good && back == value;
}

/* A file that stays open: written at its end, read from its beginning. */
static uint64_t use_held(FILE *file, uint64_t value, bool flush) {
    uint8_t bytes[1024];
    if (!file) return 11;
    if (fseek(file, 0, SEEK_END) != 0 || fwrite(&value, sizeof value, 1, file) != 1) return 12;
    if (!flush) return 13; /* the bytes wait in the stream's buffer */
    fflush(file);
    if (fseek(file, 0, SEEK_SET) != 0) return 14;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    return fseek(file, 0, SEEK_END) == 0 ? fold(n, bytes, n) : 15;
}

static void open_at_load(struct files *f) {
    if (has(f->plan, F_HELD)) f->held = fopen(path_of(f, F_HELD, ""), "w+b");
}

static void close_files(struct files *f) {
    if (f->held) fclose(f->held);
    if (f->late) fclose(f->late);
    f->held = f->late = NULL;
}

/* turn: counts up, from 0. value: of the game. */
static uint64_t use_file(struct files *f, enum strange_kind k, uint64_t value, uint32_t turn) {
    const char *path = path_of(f, k, "");
    uint8_t bytes[64];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> i % 57);
    switch (k) {
    case F_WHOLE: return turn % 2 ? read_back(path) : write_whole(f, path, bytes, value % 64);
    case F_APPEND: return turn % 4 == 3 ? read_back(path) : write_by(fopen(path, "ab"), bytes, value % 16);
    case F_PATCH: return turn % 2 ? read_back(path) : patch_file(path, value);
    case F_HELD: return use_held(f->held, value, true);
    case F_LATE:
        if (!f->late && turn >= 4) f->late = fopen(path, turn == 4 ? "w+b" : "r+b");
        return turn < 4 ? 0 : use_held(f->late, value, turn % 3 == 0);
    case F_REMOVE: return rename_and_remove(f, value, turn);
    case F_LIST: return fill_folder(f, value);
    case F_TEMP: return use_temporary(f, value, turn);
    case F_SAVES: return use_save(f, value);
    case F_HIDDEN: return use_hidden(f, value);
    default: return 0;
    }
}

#endif

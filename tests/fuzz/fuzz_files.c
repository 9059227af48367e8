/* Files on a player's disk, as somebody else's program may have left them: a seat, the relays that were
 * met, a list of a game's files. The first byte says which; the rest is the file. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core_wrapper/start/sums.h"
#include "core_wrapper/start/seat_file.h"
#include "net/session/keys.h"

static char folder[40];
static const uint8_t id[KL_SEAT_FILE_ID] = {1};

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *seat_name(void) {
    static char name[2 * KL_SEAT_FILE_ID + 3];
    sodium_bin2hex(name, sizeof name, id, sizeof id);
    return strcat(name, "-0");
}

static void clean_up(void) {
    unlink(path_of("relays"));
    unlink(path_of("relays.lock"));
    unlink(path_of(seat_name()));
    rmdir(folder);
}

static void put(const char *name, const uint8_t *bytes, size_t len) {
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0);
}

static bool printable(const char *line, size_t cap) {
    const char *end = memchr(line, 0, cap);
    return end && end != line;
}

/* A file that is no seat gives none; a new one takes its place. */
static void seat(const uint8_t *bytes, size_t len) {
    static const uint8_t token[KL_SEAT_TOKEN] = {7};
    struct kl_seat_file f;
    char err[300] = "";
    put(seat_name(), bytes, len);
    MUST(kl_seat_file_open(&f, folder, id, err, sizeof err) == 0 && f.lock.handle >= 0);
    MUST(!sodium_is_zero(f.key.pub, sizeof f.key.pub));
    MUST(kl_seat_file_keep(&f, token, id, err, sizeof err) == 0);
    kl_seat_file_close(&f, false);
    MUST(kl_seat_file_open(&f, folder, id, err, sizeof err) == 0 && f.left);
    MUST(memcmp(f.token, token, sizeof token) == 0);
    MUST(memcmp(f.room, id, sizeof f.room) == 0);
    kl_seat_file_close(&f, true);
}

/* Whatever was there, nothing is taken for pinned that is not; what is pinned stays. */
static void relays(const uint8_t *bytes, size_t len) {
    uint8_t one[32] = {1}, other[32] = {2};
    char err[400] = "";
    put("relays", bytes, len);
    enum kl_known_result first = kl_known_check(folder, "example.org", 55435, one, err, sizeof err);
    if (first == KL_KNOWN_CHANGED || first == KL_KNOWN_FAILED) {
        MUST(printable(err, sizeof err));
        return;
    }
    MUST(kl_known_check(folder, "Example.org", 55435, one, err, sizeof err) == KL_KNOWN_SAME);
    MUST(kl_known_check(folder, "example.org", 55435, other, err, sizeof err) == KL_KNOWN_CHANGED);
}

static const char *const sets[] = {"set.m3u", "set.cue", "set.gdi", "set.toc",
                                   "set.chd", "set.ccd", "set.mds", "set"};

static bool names_something(void *ctx, unsigned index, const char *name) {
    (void)ctx;
    MUST(index < KL_FILELIST_FILES && *name);
    return true;
}

/* Whatever a list says, what it names is bounded, and nothing is named twice. It may name itself. */
static void list(unsigned kind, const uint8_t *bytes, size_t len) {
    struct kl_filelist l = {0};
    char path[KL_FILE_PATH];
    put(sets[kind], bytes, len);
    kl_filelist_parse(strchr(sets[kind], '.') ? strchr(sets[kind], '.') + 1 : "", (const char *)bytes, len,
                      names_something, NULL);
    kl_filelist_add(&l, path_of(sets[kind]));
    for (unsigned i = 0; i < l.count; i++)
        for (unsigned k = 0; k < i; k++)
            MUST(strcmp(l.path[i], l.path[k]) != 0);
    kl_filelist_free(&l);
    (void)kl_filelist_disk(path_of(sets[kind]), 1, path, sizeof path);
    unlink(path_of(sets[kind]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready;
    if (!ready) {
        MUST(sodium_init() >= 0 && fuzz_folder(folder));
        atexit(clean_up);
        ready = true;
    }
    if (size < 1) return 0;
    if (data[0] & 2)
        list(data[0] >> 2 & 7, data + 1, size - 1);
    else
        (data[0] & 1 ? relays : seat)(data + 1, size - 1);
    return 0;
}

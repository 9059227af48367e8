#include "core_wrapper/seat_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

/* "keylock seat 1", a line for the key's seed, one for the token; hexadecimal */
#define HEAD      "keylock seat 1\n"
#define FILE_MAX  (sizeof HEAD - 1 + 2 * KL_SEAT_SEED + 1 + 2 * KL_SEAT_TOKEN + 1)
#define LOCK_TAIL ".lock"

int kl_state_folder(const char *sub, char out[KL_PRIVATE_PATH], char *err, size_t err_len) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool xdg = state && *state == '/'; /* the specification: a relative path is no path */
    if (!xdg && (!home || *home != '/')) {
        snprintf(err, err_len, "no folder for Keylock's state: neither XDG_STATE_HOME nor HOME is set");
        return -1;
    }
    int n = snprintf(out, KL_PRIVATE_PATH, "%s%s/keylock%s%s", xdg ? state : home, xdg ? "" : "/.local/state",
                     sub ? "/" : "", sub ? sub : "");
    if (n > 0 && n < KL_PRIVATE_PATH) return 0;
    snprintf(err, err_len, "the path of Keylock's state is longer than %d bytes", KL_PRIVATE_PATH - 1);
    return -1;
}

static void hash_text(crypto_generichash_state *h, const char *text) {
    crypto_generichash_update(h, (const uint8_t *)text, strlen(text) + 1);
}

void kl_seat_file_id(uint8_t id[KL_SEAT_FILE_ID], const char *host, uint16_t port,
                     const struct kl_hello *hello) {
    crypto_generichash_state h;
    uint8_t port_bytes[2] = {(uint8_t)port, (uint8_t)(port >> 8)};
    crypto_generichash_init(&h, NULL, 0, KL_SEAT_FILE_ID);
    hash_text(&h, host);
    crypto_generichash_update(&h, port_bytes, sizeof port_bytes);
    hash_text(&h, hello->room);
    hash_text(&h, hello->name);
    for (unsigned i = 0; i < hello->facts.count; i++) {
        hash_text(&h, hello->facts.fact[i].key);
        const char *value = hello->facts.fact[i].value;
        crypto_generichash_update(&h, (const uint8_t *)value, kl_fact_length(value));
    }
    crypto_generichash_final(&h, id, KL_SEAT_FILE_ID);
}

/* ---- locks ---- */

static bool is_still_there(int fd, const char *path) {
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 && open_one.st_ino == named.st_ino &&
           open_one.st_dev == named.st_dev;
}

static int lock_path(const struct kl_seat_file *f, char path[KL_PRIVATE_PATH], char *err, size_t err_len) {
    char name[sizeof f->name + sizeof LOCK_TAIL];
    snprintf(name, sizeof name, "%s" LOCK_TAIL, f->name);
    return kl_private_path(path, f->dir, name, err, err_len);
}

/* The descriptor that holds the lock of f->name; -1: another process has it; -2 with a line in err. Who lets
 * go of a seat for good takes the lock's file away: what was locked may be no file any more. */
static int take_lock(const struct kl_seat_file *f, char *err, size_t err_len) {
    char path[KL_PRIVATE_PATH];
    if (lock_path(f, path, err, err_len) != 0) return -2;
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        int failed = fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB);
        if (fd < 0 || (failed && errno != EWOULDBLOCK)) {
            snprintf(err, err_len, "cannot lock %s: %s", path, strerror(errno));
            if (fd >= 0) close(fd);
            return -2;
        }
        if (!failed && is_still_there(fd, path)) return fd;
        close(fd);
        if (failed) return -1;
    }
}

static void drop_lock(const struct kl_seat_file *f, int fd) {
    char path[KL_PRIVATE_PATH], err[64];
    if (lock_path(f, path, err, sizeof err) == 0) (void)unlink(path);
    close(fd);
}

/* ---- files ---- */

static bool from_hex(uint8_t *out, size_t len, const char *hex) {
    size_t got;
    return sodium_hex2bin(out, len, hex, 2 * len, NULL, &got, NULL) == 0 && got == len;
}

/* False where there is none, or what is there is none of ours: it is replaced then. */
static bool read_seat(struct kl_seat_file *f) {
    char text[FILE_MAX + 1], path[KL_PRIVATE_PATH], err[256];
    uint8_t seed[KL_SEAT_SEED];
    size_t len = 0, head = sizeof HEAD - 1, token_at = head + 2 * KL_SEAT_SEED + 1;
    if (kl_private_path(path, f->dir, f->name, err, sizeof err) != 0) return false;
    if (kl_private_read(path, text, FILE_MAX, &len, err, sizeof err) != 0) return false;
    text[len] = 0;
    bool good = len == FILE_MAX && memcmp(text, HEAD, head) == 0 &&
                from_hex(seed, sizeof seed, text + head) &&
                from_hex(f->token, sizeof f->token, text + token_at);
    if (good) kl_seat_from_seed(&f->key, seed);
    sodium_memzero(text, sizeof text);
    sodium_memzero(seed, sizeof seed);
    return good;
}

static void name_it(struct kl_seat_file *f, const uint8_t id[KL_SEAT_FILE_ID], unsigned n) {
    char hex[2 * KL_SEAT_FILE_ID + 1];
    sodium_bin2hex(hex, sizeof hex, id, KL_SEAT_FILE_ID);
    snprintf(f->name, sizeof f->name, "%s-%u", hex, n);
}

static bool exists(const struct kl_seat_file *f) {
    char path[KL_PRIVATE_PATH], err[64];
    return kl_private_path(path, f->dir, f->name, err, sizeof err) == 0 && access(path, F_OK) == 0;
}

/* The lowest that nobody holds; with only_left, of those that were left. 1: there is none. */
static int take_lowest(struct kl_seat_file *f, const uint8_t id[KL_SEAT_FILE_ID], bool only_left, char *err,
                       size_t err_len) {
    for (unsigned n = 0; n < KL_SEAT_FILES; n++) {
        name_it(f, id, n);
        if (only_left && !exists(f)) continue;
        int fd = take_lock(f, err, err_len);
        if (fd == -2) return -1;
        if (fd < 0) continue;
        f->left = read_seat(f);
        if (f->left || !only_left) {
            f->lock = fd;
            return 0;
        }
        drop_lock(f, fd); /* damaged: taken as a free one, later */
    }
    return 1;
}

int kl_seat_file_open(struct kl_seat_file *f, const char *dir, const uint8_t id[KL_SEAT_FILE_ID], char *err,
                      size_t err_len) {
    memset(f, 0, sizeof *f);
    f->lock = -1;
    kl_seat_make(&f->key);
    snprintf(f->dir, sizeof f->dir, "%s", dir);
    if (kl_private_folder(dir, err, err_len) != 0) return -1;
    int result = take_lowest(f, id, true, err, err_len);
    if (result == 1) result = take_lowest(f, id, false, err, err_len);
    if (result == 1) snprintf(err, err_len, "%d processes of this user play the same already", KL_SEAT_FILES);
    return result ? -1 : 0;
}

static void take_away(const struct kl_seat_file *f) {
    char path[KL_PRIVATE_PATH], err[64];
    if (kl_private_path(path, f->dir, f->name, err, sizeof err) == 0) (void)unlink(path);
}

void kl_seat_file_renew(struct kl_seat_file *f) {
    kl_seat_make(&f->key);
    f->left = false;
    if (f->lock >= 0) take_away(f);
}

int kl_seat_file_keep(struct kl_seat_file *f, const uint8_t token[KL_SEAT_TOKEN], char *err, size_t err_len) {
    char text[FILE_MAX + 1], seed[2 * KL_SEAT_SEED + 1], hex[2 * KL_SEAT_TOKEN + 1];
    if (f->lock < 0) return 0;
    sodium_bin2hex(seed, sizeof seed, f->key.secret, KL_SEAT_SEED);
    sodium_bin2hex(hex, sizeof hex, token, KL_SEAT_TOKEN);
    int len = snprintf(text, sizeof text, HEAD "%s\n%s\n", seed, hex);
    int result = kl_private_write(f->dir, f->name, text, (size_t)len, true, err, err_len);
    sodium_memzero(text, sizeof text);
    sodium_memzero(seed, sizeof seed);
    return result;
}

void kl_seat_file_close(struct kl_seat_file *f, bool forget) {
    if (f->lock >= 0 && (forget || !exists(f))) {
        take_away(f);
        drop_lock(f, f->lock);
    } else if (f->lock >= 0) {
        close(f->lock);
    }
    sodium_memzero(&f->key, sizeof f->key);
    f->lock = -1;
    f->left = false;
}

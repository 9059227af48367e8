#include "core_wrapper/start/seat_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"

/* "keylock seat 1", a line for the key's seed, one for the token; hexadecimal */
#define HEAD      "keylock seat 1\n"
#define FILE_MAX  (sizeof HEAD - 1 + 2 * KL_SEAT_SEED + 1 + 2 * KL_SEAT_TOKEN + 1)
#define LOCK_TAIL ".lock"

int kl_state_folder(const char *sub, char out[KL_FILE_PATH], char *err, size_t err_len) {
    char below[256];
    snprintf(below, sizeof below, "keylock%s%s", sub ? "/" : "", sub ? sub : "");
    return kl_dir_known(KL_DIR_STATE, below, out, KL_FILE_PATH, err, err_len);
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

/* --- locks --- */

static int lock_path(const struct kl_seat_file *f, char path[KL_FILE_PATH], char *err, size_t err_len) {
    char name[sizeof f->name + sizeof LOCK_TAIL];
    snprintf(name, sizeof name, "%s" LOCK_TAIL, f->name);
    return kl_file_join(path, KL_FILE_PATH, f->dir, name, err, err_len);
}

/* Locks f->name. 0; KL_FILE_KEPT: another process has it; -1 with a line in err. */
static int take_lock(const struct kl_seat_file *f, struct kl_file *lock, char *err, size_t err_len) {
    char path[KL_FILE_PATH];
    if (lock_path(f, path, err, err_len) != 0) return -1;
    return kl_file_lock(lock, path, false, err, err_len);
}

static void drop_lock(const struct kl_seat_file *f, struct kl_file *lock) {
    char path[KL_FILE_PATH], err[64];
    kl_file_unlock(lock, lock_path(f, path, err, sizeof err) == 0 ? path : NULL);
}

/* --- files --- */

static bool from_hex(uint8_t *out, size_t len, const char *hex) {
    size_t got;
    return sodium_hex2bin(out, len, hex, 2 * len, NULL, &got, NULL) == 0 && got == len;
}

/* False if there is no file, or if it is not ours; it is then replaced. */
static bool read_seat(struct kl_seat_file *f) {
    char path[KL_FILE_PATH], err[256];
    uint8_t seed[KL_SEAT_SEED];
    void *bytes;
    size_t len = 0, head = sizeof HEAD - 1, token_at = head + 2 * KL_SEAT_SEED + 1;
    if (kl_file_join(path, sizeof path, f->dir, f->name, err, sizeof err) != 0) return false;
    if (kl_file_read(path, FILE_MAX, KL_FILE_PRIVATE, &bytes, &len, err, sizeof err) != 0) return false;
    const char *text = bytes;
    bool good = len == FILE_MAX && memcmp(text, HEAD, head) == 0 &&
                from_hex(seed, sizeof seed, text + head) &&
                from_hex(f->token, sizeof f->token, text + token_at);
    if (good) kl_seat_from_seed(&f->key, seed);
    sodium_memzero(bytes, len);
    free(bytes);
    sodium_memzero(seed, sizeof seed);
    return good;
}

static void name_it(struct kl_seat_file *f, const uint8_t id[KL_SEAT_FILE_ID], unsigned n) {
    char hex[2 * KL_SEAT_FILE_ID + 1];
    sodium_bin2hex(hex, sizeof hex, id, KL_SEAT_FILE_ID);
    snprintf(f->name, sizeof f->name, "%s-%u", hex, n);
}

static bool exists(const struct kl_seat_file *f) {
    char path[KL_FILE_PATH], err[64];
    return kl_file_join(path, sizeof path, f->dir, f->name, err, sizeof err) == 0 &&
           kl_file_kind(path) != KL_FILE_IS_NONE;
}

/* The lowest that nobody holds; with only_left, of those that were left. 1: there is none. */
static int take_lowest(struct kl_seat_file *f, const uint8_t id[KL_SEAT_FILE_ID], bool only_left, char *err,
                       size_t err_len) {
    for (unsigned n = 0; n < KL_SEAT_FILES; n++) {
        name_it(f, id, n);
        if (only_left && !exists(f)) continue;
        struct kl_file lock;
        int result = take_lock(f, &lock, err, err_len);
        if (result < 0) return -1;
        if (result == KL_FILE_KEPT) continue;
        f->left = read_seat(f);
        if (f->left || !only_left) {
            f->lock = lock;
            return 0;
        }
        drop_lock(f, &lock); /* damaged: taken as a free one, later */
    }
    return 1;
}

int kl_seat_file_open(struct kl_seat_file *f, const char *dir, const uint8_t id[KL_SEAT_FILE_ID], char *err,
                      size_t err_len) {
    memset(f, 0, sizeof *f);
    f->lock.handle = -1;
    kl_seat_make(&f->key);
    snprintf(f->dir, sizeof f->dir, "%s", dir);
    if (kl_dir_make(dir, true, err, err_len) != 0) return -1;
    int result = take_lowest(f, id, true, err, err_len);
    if (result == 1) result = take_lowest(f, id, false, err, err_len);
    if (result == 1)
        snprintf(err, err_len, "%d programs of this user already play in this room", KL_SEAT_FILES);
    return result ? -1 : 0;
}

static void take_away(const struct kl_seat_file *f) {
    char path[KL_FILE_PATH], err[64];
    if (kl_file_join(path, sizeof path, f->dir, f->name, err, sizeof err) == 0)
        (void)kl_file_remove(path, err, sizeof err);
}

void kl_seat_file_renew(struct kl_seat_file *f) {
    kl_seat_make(&f->key);
    f->left = false;
    if (f->lock.handle >= 0) take_away(f);
}

int kl_seat_file_keep(struct kl_seat_file *f, const uint8_t token[KL_SEAT_TOKEN], char *err, size_t err_len) {
    char text[FILE_MAX + 1], seed[2 * KL_SEAT_SEED + 1], hex[2 * KL_SEAT_TOKEN + 1], path[KL_FILE_PATH];
    if (f->lock.handle < 0) return 0;
    sodium_bin2hex(seed, sizeof seed, f->key.secret, KL_SEAT_SEED);
    sodium_bin2hex(hex, sizeof hex, token, KL_SEAT_TOKEN);
    int len = snprintf(text, sizeof text, HEAD "%s\n%s\n", seed, hex);
    int result = kl_file_join(path, sizeof path, f->dir, f->name, err, err_len);
    if (result == 0) result = kl_file_write_whole(path, text, (size_t)len, KL_FILE_PRIVATE, err, err_len);
    sodium_memzero(text, sizeof text);
    sodium_memzero(seed, sizeof seed);
    return result;
}

void kl_seat_file_close(struct kl_seat_file *f, bool forget) {
    if (f->lock.handle >= 0 && (forget || !exists(f))) {
        take_away(f);
        drop_lock(f, &f->lock);
    } else {
        kl_file_close(&f->lock);
    }
    sodium_memzero(&f->key, sizeof f->key);
    f->left = false;
}

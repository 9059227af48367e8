#include "core_wrapper/start/seat_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"

/* "keylock seat 2", a line for the key's seed, the token, the room's id, each hexadecimal; for people; one
 * with the relays, if any */
#define HEAD      "keylock seat 2\n"
#define TOKEN_AT  (sizeof HEAD - 1 + 2 * KL_SEAT_SEED + 1)
#define ROOM_AT   (TOKEN_AT + 2 * KL_SEAT_TOKEN + 1)
#define WHERE_AT  (ROOM_AT + 2 * KL_SEAT_ROOM + 1)
#define FILE_MAX  (WHERE_AT + KL_SEAT_WHERE + KL_SEAT_RELAYS)
#define LOCK_TAIL ".lock"
#define KEPT      "kept-"
#define DAY_S     86400

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

static bool parse(struct kl_seat_file *f, const char *text, size_t len) {
    uint8_t seed[KL_SEAT_SEED];
    bool good = len > WHERE_AT && text[len - 1] == '\n' && memcmp(text, HEAD, sizeof HEAD - 1) == 0 &&
                from_hex(seed, sizeof seed, text + sizeof HEAD - 1) &&
                from_hex(f->token, sizeof f->token, text + TOKEN_AT) &&
                from_hex(f->room, sizeof f->room, text + ROOM_AT);
    if (good) kl_seat_from_seed(&f->key, seed);
    if (good) {
        const char *where = text + WHERE_AT, *end = text + len - 1,
                   *line = memchr(where, '\n', len - WHERE_AT);
        snprintf(f->where, sizeof f->where, "%.*s", (int)(line - where), where);
        snprintf(f->relays, sizeof f->relays, "%.*s", line < end ? (int)(end - line - 1) : 0, line + 1);
    }
    sodium_memzero(seed, sizeof seed);
    return good;
}

/* False if there is no file, or if it is not ours; it is then replaced. */
static bool read_seat(struct kl_seat_file *f) {
    char path[KL_FILE_PATH];
    void *bytes;
    size_t len = 0;
    if (kl_file_join(path, sizeof path, f->dir, f->name, NULL, 0) != 0) return false;
    if (kl_file_read(path, FILE_MAX, KL_FILE_PRIVATE, &bytes, &len, NULL, 0) != 0) return false;
    bool good = parse(f, bytes, len);
    sodium_memzero(bytes, len);
    free(bytes);
    return good;
}

static bool exists(const struct kl_seat_file *f) {
    char path[KL_FILE_PATH];
    return kl_file_join(path, sizeof path, f->dir, f->name, NULL, 0) == 0 &&
           kl_file_kind(path) != KL_FILE_IS_NONE;
}

/* The lowest that nobody holds; with only_left, of those that were left. 1: there is none. */
static int take_lowest(struct kl_seat_file *f, const uint8_t id[KL_SEAT_FILE_ID], bool only_left, char *err,
                       size_t err_len) {
    for (unsigned n = 0; n < KL_SEAT_FILES; n++) {
        char hex[2 * KL_SEAT_FILE_ID + 1];
        sodium_bin2hex(hex, sizeof hex, id, KL_SEAT_FILE_ID);
        snprintf(f->name, sizeof f->name, "%s-%u", hex, n);
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
    char path[KL_FILE_PATH];
    if (kl_file_join(path, sizeof path, f->dir, f->name, NULL, 0) == 0) (void)kl_file_remove(path, NULL, 0);
}

/* --- keys of seats that were given up --- */

bool kl_seat_file_is_kept(const struct kl_seat_file *f) {
    return strncmp(f->name, KEPT, sizeof KEPT - 1) == 0;
}

/* Too many, or too old; the folder lists the oldest first. */
static void tidy(const char *dir) {
    struct kl_dir_list list;
    char path[KL_FILE_PATH];
    uint64_t now_s = kl_wall_us() / 1000000, old_s = now_s - (uint64_t)KL_SEAT_KEPT_DAYS * DAY_S;
    unsigned kept = 0;
    if (kl_dir_list(&list, dir, "", NULL, 0) != 0) return;
    for (unsigned i = list.count; i-- > 0;) {
        const char *name = list.name[i];
        if (strncmp(name, KEPT, sizeof KEPT - 1) != 0) continue;
        bool old = strtoull(name + sizeof KEPT - 1, NULL, 10) < old_s;
        if ((old || ++kept > KL_SEAT_KEPT) && kl_file_join(path, sizeof path, dir, name, NULL, 0) == 0)
            (void)kl_file_remove(path, NULL, 0);
    }
    kl_dir_list_free(&list);
}

void kl_seat_file_retire(struct kl_seat_file *f) {
    char from[KL_FILE_PATH], to[KL_FILE_PATH], name[sizeof f->name], key[17];
    if (f->lock.handle < 0 || sodium_is_zero(f->room, sizeof f->room)) return;
    snprintf(name, sizeof name, KEPT "%010llu-%s", (unsigned long long)(kl_wall_us() / 1000000),
             sodium_bin2hex(key, sizeof key, f->key.pub, 8));
    if (kl_file_join(from, sizeof from, f->dir, f->name, NULL, 0) == 0 &&
        kl_file_join(to, sizeof to, f->dir, name, NULL, 0) == 0 && kl_file_rename(from, to))
        tidy(f->dir);
}

int kl_seat_file_each(const char *dir, bool (*each)(void *ctx, const struct kl_seat_file *f), void *ctx,
                      char *err, size_t err_len) {
    struct kl_dir_list list;
    static struct kl_seat_file f;
    bool goes_on = true;
    if (!kl_dir_exists(dir)) return 0;
    if (kl_dir_list(&list, dir, "", err, err_len) != 0) return -1;
    for (unsigned i = 0; i < list.count && goes_on; i++) {
        f = (struct kl_seat_file){.lock.handle = -1};
        snprintf(f.dir, sizeof f.dir, "%s", dir);
        if (strlen(list.name[i]) >= sizeof f.name) continue;
        strcpy(f.name, list.name[i]);
        if (read_seat(&f)) goes_on = each(ctx, &f);
    }
    sodium_memzero(&f, sizeof f);
    kl_dir_list_free(&list);
    return 0;
}

/* --- the seat --- */

void kl_seat_file_renew(struct kl_seat_file *f) {
    if (f->left) kl_seat_file_retire(f);
    kl_seat_make(&f->key);
    memset(f->room, 0, sizeof f->room);
    f->left = false;
    if (f->lock.handle >= 0) take_away(f);
}

int kl_seat_file_keep(struct kl_seat_file *f, const uint8_t token[KL_SEAT_TOKEN],
                      const uint8_t room[KL_SEAT_ROOM], char *err, size_t err_len) {
    char text[FILE_MAX + 1], seed[2 * KL_SEAT_SEED + 1], hex[2 * KL_SEAT_TOKEN + 1], id[2 * KL_SEAT_ROOM + 1],
        path[KL_FILE_PATH];
    memcpy(f->room, room, sizeof f->room);
    if (f->lock.handle < 0) return 0;
    sodium_bin2hex(seed, sizeof seed, f->key.secret, KL_SEAT_SEED);
    sodium_bin2hex(hex, sizeof hex, token, KL_SEAT_TOKEN);
    sodium_bin2hex(id, sizeof id, room, KL_SEAT_ROOM);
    int len = snprintf(text, sizeof text, HEAD "%s\n%s\n%s\n%s\n%s%s", seed, hex, id, f->where, f->relays,
                       *f->relays ? "\n" : "");
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

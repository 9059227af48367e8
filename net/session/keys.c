#include "net/session/keys.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/address.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

/* --- keys --- */

void kl_keypair_make(struct kl_keypair *k) {
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    randombytes_buf(k->secret, sizeof k->secret);
    kl_keypair_complete(k);
}

void kl_keypair_complete(struct kl_keypair *k) {
    crypto_scalarmult_base(k->pub, k->secret);
}

/* --- fingerprint --- */

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

void kl_fingerprint(const uint8_t pub[32], char out[KL_FINGERPRINT_CHARS + 1]) {
    uint8_t hash[20];
    crypto_generichash(hash, sizeof hash, pub, 32, NULL, 0);
    for (unsigned i = 0; i < KL_FINGERPRINT_CHARS; i++) {
        unsigned bit = 5 * i,
                 two = (unsigned)hash[bit / 8] << 8 | (bit / 8 + 1 < sizeof hash ? hash[bit / 8 + 1] : 0);
        out[i] = alphabet[two >> (11 - bit % 8) & 31];
    }
    out[KL_FINGERPRINT_CHARS] = 0;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool kl_fingerprint_valid(const char *text) {
    if (strlen(text) != KL_FINGERPRINT_CHARS) return false;
    for (; *text; text++)
        if (!strchr(alphabet, lower(*text))) return false;
    return true;
}

bool kl_fingerprint_is(const char *text, const uint8_t pub[32]) {
    char own[KL_FINGERPRINT_CHARS + 1];
    if (!kl_fingerprint_valid(text)) return false;
    kl_fingerprint(pub, own);
    for (unsigned i = 0; i < KL_FINGERPRINT_CHARS; i++)
        if (lower(text[i]) != own[i]) return false;
    return true;
}

/* --- a relay's --- */

void kl_relay_key_from_seed(struct kl_relay_key *k, const uint8_t seed[KL_RELAY_SEED]) {
    k->signs = true;
    crypto_sign_seed_keypair(k->sign_pub, k->sign_secret, seed);
    crypto_sign_ed25519_sk_to_curve25519(k->exchange.secret, k->sign_secret);
    kl_keypair_complete(&k->exchange);
}

bool kl_relay_key_is(const uint8_t sign_pub[32], const uint8_t exchange_pub[32]) {
    uint8_t converted[32];
    return crypto_sign_ed25519_pk_to_curve25519(converted, sign_pub) == 0 &&
           memcmp(converted, exchange_pub, sizeof converted) == 0;
}

/* --- the file --- */

static const uint8_t mark[8] = {'k', 'e', 'y', 'l', 'o', 'c', 'k', '2'};
#define OF_BEFORE sizeof((struct kl_keypair *)0)->secret

struct key_file {
    uint8_t mark[sizeof mark], seed[KL_RELAY_SEED];
};

static bool decode(struct kl_relay_key *out, const void *bytes, size_t len) {
    const struct key_file *f = bytes;
    memset(out, 0, sizeof *out);
    if (len == sizeof *f && !memcmp(f->mark, mark, sizeof mark)) {
        kl_relay_key_from_seed(out, f->seed);
        return true;
    }
    if (len != OF_BEFORE) return false;
    memcpy(out->exchange.secret, bytes, len);
    kl_keypair_complete(&out->exchange);
    return true;
}

/* KL_FILE_ABSENT: there is none. */
static int read_key(const char *path, struct kl_relay_key *out, char *err, size_t err_len) {
    void *bytes;
    size_t len = 0;
    int result = kl_file_read(path, sizeof(struct key_file) + 1, KL_FILE_PRIVATE, &bytes, &len, err, err_len);
    if (result == 0 && !decode(out, bytes, len)) {
        snprintf(
            err, err_len,
            "%s is no relay's key: expected \"keylock2\" and 32 bytes, or 32 bytes alone, found %zu bytes",
            path, len);
        result = -1;
    }
    if (bytes) sodium_memzero(bytes, len);
    free(bytes);
    return result;
}

/* Never replaces one: the key of a running relay is safe from a second one that starts. */
static int write_key(const char *path, char *err, size_t err_len) {
    struct key_file f;
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    memcpy(f.mark, mark, sizeof mark);
    randombytes_buf(f.seed, sizeof f.seed);
    int result = kl_file_write_whole(path, &f, sizeof f, KL_FILE_PRIVATE | KL_FILE_KEEP, err, err_len);
    sodium_memzero(&f, sizeof f);
    return result < 0 ? -1 : 0;
}

int kl_keys_open(const char *dir, struct kl_relay_key *out, char *err, size_t err_len) {
    char path[KL_FILE_PATH];
    if (kl_dir_make(dir, true, err, err_len) != 0) return -1;
    if (kl_file_join(path, sizeof path, dir, "relay.key", err, err_len) != 0) return -1;
    int result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    if (write_key(path, err, err_len) != 0) return -1;
    result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    snprintf(err, err_len, "%s vanished as soon as it was made", path);
    return -1;
}

/* --- known relays --- */

#define NAME           "relays"
#define RELAY_LINE_MAX (253 + 1 + 5 + 1 + KL_FINGERPRINT_CHARS + 1)
#define FILE_MAX       (KL_KNOWN_MAX * RELAY_LINE_MAX)

struct known {
    char path[KL_FILE_PATH];
    char *text; /* the file's, with room for one line more */
    size_t len;
};

static int read_known(struct known *k, char *err, size_t err_len) {
    void *bytes;
    size_t len = 0;
    k->len = 0;
    int result = kl_file_read(k->path, FILE_MAX, KL_FILE_PRIVATE, &bytes, &len, err, err_len);
    if (result < 0) return -1;
    k->text = realloc(bytes, len + RELAY_LINE_MAX + 2);
    if (!k->text) {
        free(bytes);
        snprintf(err, err_len, "no memory to read %s", k->path);
        return -1;
    }
    k->len = len;
    k->text[k->len] = 0;
    if (strlen(k->text) == k->len) return 0;
    snprintf(err, err_len, "%s: expected text, found a zero byte", k->path);
    return -1;
}

/* A line without its end, NUL-terminated by the caller: the fingerprint, or NULL if the line is not of our
 * form. */
static char *fingerprint_of(char *line) {
    char *space = strchr(line, ' ');
    if (!space || space == line || !kl_fingerprint_valid(space + 1)) return NULL;
    *space = 0;
    return space + 1;
}

/* Looks key up in the file's text; KL_KNOWN_PINNED: not there yet. *lines: number of lines. */
static int look_up(struct known *k, const char *key, const uint8_t pub[32], unsigned *lines, char *err,
                   size_t err_len) {
    char line[RELAY_LINE_MAX + 1], own[KL_FINGERPRINT_CHARS + 1];
    *lines = 0;
    for (const char *at = k->text; *at;) {
        size_t len = strcspn(at, "\n");
        ++*lines;
        snprintf(line, sizeof line, "%.*s", (int)(len < RELAY_LINE_MAX ? len : RELAY_LINE_MAX), at);
        const char *pinned = len < RELAY_LINE_MAX && at[len] == '\n' ? fingerprint_of(line) : NULL;
        if (!pinned) {
            snprintf(err, err_len, "%s, line %u: expected HOST:PORT FINGERPRINT, found \"%.40s\"", k->path,
                     *lines, line);
            return KL_KNOWN_FAILED;
        }
        at += len + 1;
        if (strcasecmp(line, key) != 0) continue;
        if (kl_fingerprint_is(pinned, pub)) return KL_KNOWN_SAME;
        kl_fingerprint(pub, own);
        snprintf(err, err_len,
                 "relay %s has another key than before: expected %s, found %s. If that is right, take its "
                 "line out "
                 "of %s",
                 key, pinned, own, k->path);
        return KL_KNOWN_CHANGED;
    }
    return KL_KNOWN_PINNED;
}

static int pin(struct known *k, const char *key, const uint8_t pub[32], unsigned lines, char *err,
               size_t err_len) {
    char own[KL_FINGERPRINT_CHARS + 1];
    if (lines >= KL_KNOWN_MAX) {
        snprintf(err, err_len, "%s is full: expected less than %d relays, found %u", k->path, KL_KNOWN_MAX,
                 lines);
        return KL_KNOWN_FAILED;
    }
    kl_fingerprint(pub, own);
    k->len += (size_t)snprintf(k->text + k->len, RELAY_LINE_MAX + 1, "%s %s\n", key, own);
    int failed = kl_file_write_whole(k->path, k->text, k->len, KL_FILE_PRIVATE, err, err_len);
    return failed ? KL_KNOWN_FAILED : KL_KNOWN_PINNED;
}

enum kl_known_result kl_known_check(const char *dir, const char *host, uint16_t port, const uint8_t pub[32],
                                    char *err, size_t err_len) {
    struct known k = {.text = NULL};
    struct kl_file lock;
    char lock_path[KL_FILE_PATH];
    unsigned lines;
    const struct kl_host_port place = kl_host_port(host, port);
    const char *key = place.text;
    if (strlen(host) > 253 || strpbrk(host, " \n") || !*host) {
        snprintf(err, err_len, "expected a host of 1 to 253 characters without blanks, found \"%.40s\"",
                 host);
        return KL_KNOWN_FAILED;
    }
    if (kl_dir_make(dir, true, err, err_len) != 0 ||
        kl_file_join(k.path, sizeof k.path, dir, NAME, err, err_len) != 0 ||
        kl_file_join(lock_path, sizeof lock_path, dir, NAME ".lock", err, err_len) != 0 ||
        kl_file_lock(&lock, lock_path, true, err, err_len) != 0)
        return KL_KNOWN_FAILED;
    int result =
        read_known(&k, err, err_len) == 0 ? look_up(&k, key, pub, &lines, err, err_len) : KL_KNOWN_FAILED;
    if (result == KL_KNOWN_PINNED) result = pin(&k, key, pub, lines, err, err_len);
    free(k.text);
    kl_file_unlock(&lock, NULL);
    return (enum kl_known_result)result;
}

bool kl_known_has(const char *dir, const char *host, uint16_t port) {
    struct known k = {.text = NULL};
    char ignored[KL_FILE_PATH + 64];
    bool found = false;
    const struct kl_host_port key = kl_host_port(host, port);
    size_t n = strlen(key.text);
    if (strlen(host) > 253 || kl_file_join(k.path, sizeof k.path, dir, NAME, NULL, 0) != 0) return false;
    if (read_known(&k, ignored, sizeof ignored) == 0)
        for (const char *at = k.text; !found && *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0))
            found = strncasecmp(at, key.text, n) == 0 && at[n] == ' ';
    free(k.text);
    return found;
}

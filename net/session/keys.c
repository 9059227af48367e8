#include "net/session/keys.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

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

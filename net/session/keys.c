#include "net/session/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/session/private_file.h"

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

/* --- the file --- */

/* 1: there is none. */
static int read_key(const char *path, struct kl_keypair *out, char *err, size_t err_len) {
    uint8_t bytes[33];
    size_t len = 0;
    int result = kl_private_read(path, bytes, sizeof bytes, &len, err, err_len);
    if (result == 0 && len != sizeof out->secret) {
        snprintf(err, err_len, "%s is no relay's key: expected 32 bytes, found %zu", path, len);
        result = -1;
    } else if (result == 0) {
        memcpy(out->secret, bytes, sizeof out->secret);
        kl_keypair_complete(out);
    }
    sodium_memzero(bytes, sizeof bytes);
    return result;
}

/* Never replaces one: the key of a running relay is safe from a second one that starts. */
static int write_key(const char *dir, char *err, size_t err_len) {
    struct kl_keypair k;
    kl_keypair_make(&k);
    int result = kl_private_write(dir, "relay.key", k.secret, sizeof k.secret, false, err, err_len);
    sodium_memzero(&k, sizeof k);
    return result;
}

int kl_keys_open(const char *dir, struct kl_keypair *out, char *err, size_t err_len) {
    char path[KL_PRIVATE_PATH];
    if (kl_private_folder(dir, err, err_len) != 0) return -1;
    if (kl_private_path(path, dir, "relay.key", err, err_len) != 0) return -1;
    int result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    if (write_key(dir, err, err_len) != 0) return -1;
    result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    snprintf(err, err_len, "%s vanished as soon as it was made", path);
    return -1;
}

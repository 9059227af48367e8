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

/* --- the file --- */

/* KL_FILE_ABSENT: there is none. */
static int read_key(const char *path, struct kl_keypair *out, char *err, size_t err_len) {
    void *bytes;
    size_t len = 0;
    int result = kl_file_read(path, sizeof out->secret + 1, KL_FILE_PRIVATE, &bytes, &len, err, err_len);
    if (result == 0 && len != sizeof out->secret) {
        snprintf(err, err_len, "%s is no relay's key: expected 32 bytes, found %zu", path, len);
        result = -1;
    } else if (result == 0) {
        memcpy(out->secret, bytes, sizeof out->secret);
        kl_keypair_complete(out);
    }
    if (bytes) sodium_memzero(bytes, len);
    free(bytes);
    return result;
}

/* Never replaces one: the key of a running relay is safe from a second one that starts. */
static int write_key(const char *path, char *err, size_t err_len) {
    struct kl_keypair k;
    kl_keypair_make(&k);
    int result =
        kl_file_write_whole(path, k.secret, sizeof k.secret, KL_FILE_PRIVATE | KL_FILE_KEEP, err, err_len);
    sodium_memzero(&k, sizeof k);
    return result < 0 ? -1 : 0;
}

int kl_keys_open(const char *dir, struct kl_keypair *out, char *err, size_t err_len) {
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

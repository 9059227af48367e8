#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define PATH_CAP 1024

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

static int fail(char *err, size_t err_len, const char *what, const char *path) {
    snprintf(err, err_len, "cannot %s %s: %s", what, path, strerror(errno));
    return -1;
}

static int make_folders(const char *dir) {
    char path[PATH_CAP];
    int n = snprintf(path, sizeof path, "%s", dir);
    if (n <= 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p) continue;
        char was = *p;
        *p = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
        *p = was;
        if (!was) return 0;
    }
}

/* 1: there is none. */
static int read_key(const char *path, struct kl_keypair *out, char *err, size_t err_len) {
    uint8_t bytes[33];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? 1 : fail(err, err_len, "read", path);
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, bytes, sizeof bytes) : -1;
    close(fd);
    int result = -1;
    if (n < 0)
        snprintf(err, err_len, "cannot read %s: a plain file was expected", path);
    else if (st.st_mode & 077 || (st.st_uid != geteuid() && geteuid() != 0))
        snprintf(err, err_len, "%s may be read by others (mode %o): expected 0600, and a file of one's own",
                 path, (unsigned)st.st_mode & 0777);
    else if (n != 32)
        snprintf(err, err_len, "%s is no relay's key: expected 32 bytes, found %lld", path,
                 (long long)st.st_size);
    else
        result = 0;
    if (result == 0) {
        memcpy(out->secret, bytes, 32);
        kl_keypair_complete(out);
    }
    sodium_memzero(bytes, sizeof bytes);
    return result;
}

static int write_all(int fd, const uint8_t *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        done += (size_t)n;
    }
    return fsync(fd);
}

/* A new file under another name is given its own by link(), which never replaces one: the key of a running
 * relay is safe from a second one that starts. */
static int write_key(const char *dir, const char *path, char *err, size_t err_len) {
    char temporary[PATH_CAP + 64];
    struct kl_keypair k;
    snprintf(temporary, sizeof temporary, "%s/.relay.key.%ld", dir, (long)getpid());
    (void)unlink(temporary); /* left by a dead process of this number */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return fail(err, err_len, "make", temporary);
    kl_keypair_make(&k);
    int result = write_all(fd, k.secret, sizeof k.secret);
    sodium_memzero(&k, sizeof k);
    if (close(fd) != 0 || result != 0)
        result = fail(err, err_len, "write", temporary);
    else if (link(temporary, path) != 0 && errno != EEXIST)
        result = fail(err, err_len, "make", path);
    (void)unlink(temporary);
    int folder = result == 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0) {
        (void)fsync(
            folder); /* where the file system cannot, nothing is lost but the promise against power cuts */
        close(folder);
    }
    return result;
}

int kl_keys_open(const char *dir, struct kl_keypair *out, char *err, size_t err_len) {
    char path[PATH_CAP + 16];
    if (make_folders(dir) != 0) return fail(err, err_len, "make", dir);
    snprintf(path, sizeof path, "%s/relay.key", dir);
    int result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    if (write_key(dir, path, err, err_len) != 0) return -1;
    result = read_key(path, out, err, err_len);
    if (result <= 0) return result;
    snprintf(err, err_len, "%s vanished as soon as it was made", path);
    return -1;
}

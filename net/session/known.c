#include "net/session/known.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "net/session/keys.h"
#include "net/session/private_file.h"

#define NAME     "relays"
#define LINE_MAX (253 + 1 + 5 + 1 + KL_FINGERPRINT_CHARS + 1)
#define FILE_MAX (KL_KNOWN_MAX * LINE_MAX)

struct known {
    char path[KL_PRIVATE_PATH];
    char *text; /* the file's, with room for one line more */
    size_t len;
};

/* Held while the file is read and written anew; the kernel lets go of it when the process dies. -1: no lock.
 */
static int take_lock(const char *dir, char *err, size_t err_len) {
    char path[KL_PRIVATE_PATH];
    if (kl_private_path(path, dir, NAME ".lock", err, err_len) != 0) return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), failed = -1;
    while (fd >= 0 && (failed = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
        continue;
    if (fd >= 0 && failed == 0) return fd;
    snprintf(err, err_len, "cannot lock %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

static int read_known(struct known *k, char *err, size_t err_len) {
    k->len = 0;
    k->text = malloc(FILE_MAX + LINE_MAX + 1);
    if (!k->text) {
        snprintf(err, err_len, "no memory to read %s", k->path);
        return -1;
    }
    if (kl_private_read(k->path, k->text, FILE_MAX, &k->len, err, err_len) < 0) return -1;
    k->text[k->len] = 0;
    if (strlen(k->text) == k->len) return 0;
    snprintf(err, err_len, "%s: expected text, found a zero byte", k->path);
    return -1;
}

/* A line without its end, NUL-terminated by the caller: the fingerprint, or NULL where it is none of ours. */
static char *fingerprint_of(char *line) {
    char *space = strchr(line, ' ');
    if (!space || space == line || !kl_fingerprint_valid(space + 1)) return NULL;
    *space = 0;
    return space + 1;
}

/* Looks key up in what was read; KL_KNOWN_PINNED: not there yet. lines: that were read. */
static int look_up(struct known *k, const char *key, const uint8_t pub[32], unsigned *lines, char *err,
                   size_t err_len) {
    char line[LINE_MAX + 1], own[KL_FINGERPRINT_CHARS + 1];
    *lines = 0;
    for (const char *at = k->text; *at;) {
        size_t len = strcspn(at, "\n");
        ++*lines;
        snprintf(line, sizeof line, "%.*s", (int)(len < LINE_MAX ? len : LINE_MAX), at);
        const char *pinned = len < LINE_MAX && at[len] == '\n' ? fingerprint_of(line) : NULL;
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

static int pin(struct known *k, const char *dir, const char *key, const uint8_t pub[32], unsigned lines,
               char *err, size_t err_len) {
    char own[KL_FINGERPRINT_CHARS + 1];
    if (lines >= KL_KNOWN_MAX) {
        snprintf(err, err_len, "%s is full: expected less than %d relays, found %u", k->path, KL_KNOWN_MAX,
                 lines);
        return KL_KNOWN_FAILED;
    }
    kl_fingerprint(pub, own);
    k->len += (size_t)snprintf(k->text + k->len, LINE_MAX + 1, "%s %s\n", key, own);
    int failed = kl_private_write(dir, NAME, k->text, k->len, true, err, err_len);
    return failed ? KL_KNOWN_FAILED : KL_KNOWN_PINNED;
}

enum kl_known_result kl_known_check(const char *dir, const char *host, uint16_t port, const uint8_t pub[32],
                                    char *err, size_t err_len) {
    struct known k = {.text = NULL};
    char key[253 + 7];
    unsigned lines;
    int n = snprintf(key, sizeof key, "%s:%u", host, port);
    if (n >= (int)sizeof key || strpbrk(host, " \n") || !*host) {
        snprintf(err, err_len, "expected a host of 1 to 253 characters without blanks, found \"%.40s\"",
                 host);
        return KL_KNOWN_FAILED;
    }
    if (kl_private_folder(dir, err, err_len) != 0) return KL_KNOWN_FAILED;
    if (kl_private_path(k.path, dir, NAME, err, err_len) != 0) return KL_KNOWN_FAILED;
    int lock = take_lock(dir, err, err_len);
    if (lock < 0) return KL_KNOWN_FAILED;
    int result =
        read_known(&k, err, err_len) == 0 ? look_up(&k, key, pub, &lines, err, err_len) : KL_KNOWN_FAILED;
    if (result == KL_KNOWN_PINNED) result = pin(&k, dir, key, pub, lines, err, err_len);
    free(k.text);
    close(lock);
    return (enum kl_known_result)result;
}

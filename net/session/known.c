#include "net/session/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/session/keys.h"
#include "net/platform/address.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

#define NAME     "relays"
#define LINE_MAX (253 + 1 + 5 + 1 + KL_FINGERPRINT_CHARS + 1)
#define FILE_MAX (KL_KNOWN_MAX * LINE_MAX)

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
    k->text = realloc(bytes, len + LINE_MAX + 2);
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

static int pin(struct known *k, const char *key, const uint8_t pub[32], unsigned lines, char *err,
               size_t err_len) {
    char own[KL_FINGERPRINT_CHARS + 1];
    if (lines >= KL_KNOWN_MAX) {
        snprintf(err, err_len, "%s is full: expected less than %d relays, found %u", k->path, KL_KNOWN_MAX,
                 lines);
        return KL_KNOWN_FAILED;
    }
    kl_fingerprint(pub, own);
    k->len += (size_t)snprintf(k->text + k->len, LINE_MAX + 1, "%s %s\n", key, own);
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
    if (strlen(host) > 253 || kl_file_join(k.path, sizeof k.path, dir, NAME, ignored, sizeof ignored) != 0)
        return false;
    if (read_known(&k, ignored, sizeof ignored) == 0)
        for (const char *at = k.text; !found && *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0))
            found = strncasecmp(at, key.text, n) == 0 && at[n] == ' ';
    free(k.text);
    return found;
}

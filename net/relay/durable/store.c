#include "net/relay/durable/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

struct kl_store {
    char dir[768];
    struct kl_file lock; /* DIR/.lock */
};

static const char *const ending[] = {
    [KL_STORE_RECORDING] = KL_ENDING_RECORDING, [KL_STORE_TAIL] = KL_ENDING_TAIL};

/* --- the folder --- */

static void lock_path(const struct kl_store *s, char *out, size_t cap) {
    snprintf(out, cap, "%s/.lock", s->dir);
}

static int fail(struct kl_store *s, char *err, size_t err_len, const char *what) {
    snprintf(err, err_len, "cannot use the journal's folder %s: %s", s->dir, what);
    kl_store_close(s);
    return -1;
}

int kl_store_open(struct kl_store **out, const char *dir, bool held, char *err, size_t err_len) {
    char lock[sizeof((struct kl_store *)0)->dir + 16], why[sizeof lock + 64];
    if (kl_dir_make(dir, true, err, err_len) != 0) return -1;
    struct kl_store *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(err, err_len, "no memory for the journal");
        return -1;
    }
    s->lock.handle = -1;
    if ((size_t)snprintf(s->dir, sizeof s->dir, "%s", dir) >= sizeof s->dir)
        return fail(s, err, err_len, "its name is too long");
    if (kl_dir_others_write(dir)) return fail(s, err, err_len, "others may write there");
    lock_path(s, lock, sizeof lock);
    int result = held ? 0 : kl_file_lock(&s->lock, lock, false, why, sizeof why);
    if (result < 0) return fail(s, err, err_len, why);
    if (result == KL_FILE_KEPT) {
        fail(s, err, err_len, "another relay keeps its journal there");
        errno = EBUSY;
        return -1;
    }
    *out = s;
    return 0;
}

void kl_store_close(struct kl_store *s) {
    char lock[sizeof s->dir + 16];
    if (!s) return;
    lock_path(s, lock, sizeof lock);
    if (s->lock.handle >= 0) kl_file_unlock(&s->lock, lock);
    free(s);
}

/* --- names --- */

static void path_of(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                    char out[KL_FILE_PATH]) {
    char name[KL_STORE_NAME];
    sodium_bin2hex(name, sizeof name, id, KL_STORE_ID);
    snprintf(out, KL_FILE_PATH, "%s/%s.%s", s->dir, name, ending[kind]);
}

enum kl_store_kind kl_store_kind_of(const char *name, uint8_t id[KL_STORE_ID]) {
    size_t digits = KL_STORE_NAME - 1;
    if (strspn(name, "0123456789abcdef") != digits || name[digits] != '.') return KL_STORE_OTHER;
    sodium_hex2bin(id, KL_STORE_ID, name, digits, NULL, NULL, NULL);
    for (enum kl_store_kind kind = KL_STORE_RECORDING; kind <= KL_STORE_TAIL; kind++)
        if (strcmp(name + digits + 1, ending[kind]) == 0) return kind;
    return KL_STORE_OTHER;
}

int kl_store_list(const struct kl_store *s, struct kl_dir_list *names, char *err, size_t err_len) {
    return kl_dir_list(names, s->dir, "", err, err_len);
}

uint64_t kl_store_size(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind) {
    char path[KL_FILE_PATH];
    uint64_t bytes, changed;
    path_of(s, id, kind, path);
    bool plain = kl_file_kind_here(path) == KL_FILE_IS_PLAIN;
    return plain && kl_file_stamp(path, &bytes, &changed) ? bytes : 0;
}

/* --- the files --- */

bool kl_store_make(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                   struct kl_file *file, char *why, size_t why_len) {
    char path[KL_FILE_PATH];
    path_of(s, id, kind, path);
    return kl_file_open(file, path, true, why, why_len) == 0;
}

bool kl_store_append(const struct kl_file *file, uint64_t at, const struct kl_file_part *part, unsigned parts,
                     char *why, size_t why_len) {
    return kl_file_append(file, at, part, parts, why, why_len) == 0;
}

int kl_store_load(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                  struct kl_store_found *to, char *why, size_t why_len) {
    char path[KL_FILE_PATH];
    path_of(s, id, kind, path);
    int result = kl_file_open(&to->file, path, false, why, why_len);
    if (result == 0) result = kl_file_read_open(&to->file, &to->bytes, &to->cap, &to->len, why, why_len);
    return result;
}

bool kl_store_look(const struct kl_store *s, const uint8_t id[KL_STORE_ID], enum kl_store_kind kind,
                   const void **bytes, size_t *len) {
    char path[KL_FILE_PATH], why[128];
    struct kl_file own;
    path_of(s, id, kind, path);
    if (kl_file_open(&own, path, false, why, sizeof why) != 0) return false;
    kl_file_close(&own);
    return kl_file_map(path, bytes, len) == 0;
}

void kl_store_look_away(const void *bytes, size_t len) {
    kl_file_unmap(bytes, len);
}

/* A recording without its tail is not loaded, but a tail without its recording is known to be of a room that
 * nobody has played: so the tail comes first and goes last. */
bool kl_store_remove(const struct kl_store *s, const uint8_t id[KL_STORE_ID], bool tail_alone, char *err,
                     size_t err_len) {
    char path[KL_FILE_PATH];
    path_of(s, id, KL_STORE_RECORDING, path);
    if (!tail_alone && kl_file_remove(path, err, err_len) < 0) return false;
    path_of(s, id, KL_STORE_TAIL, path);
    return kl_file_remove(path, err, err_len) >= 0;
}

/* --- files that leave --- */

static int give(const char *from, const char *to, char *why, size_t why_len) {
    if (kl_file_rename(from, to)) return 0;
    int reason = errno;
    snprintf(why, why_len, "%s", strerror(reason));
    return reason == ENOENT && kl_file_kind_here(from) == KL_FILE_IS_NONE ? KL_FILE_ABSENT : -1;
}

bool kl_store_copy(const struct kl_store *s, const uint8_t id[KL_STORE_ID], uint64_t bytes, const char *to,
                   char *err, size_t err_len) {
    char path[KL_FILE_PATH];
    void *all;
    size_t len;
    path_of(s, id, KL_STORE_RECORDING, path);
    if (kl_file_read(path, SIZE_MAX, KL_FILE_NO_LINK, &all, &len, err, err_len) != 0) return false;
    bool whole = len >= bytes;
    if (!whole) snprintf(err, err_len, "cannot read %s: it became shorter", path);
    bool good = whole && kl_file_write_whole(to, all, (size_t)bytes, KL_FILE_PRIVATE | KL_FILE_QUICK, err,
                                             err_len) == 0;
    free(all);
    return good;
}

int kl_store_give(const struct kl_store *s, const uint8_t id[KL_STORE_ID], const char *to, char *why,
                  size_t why_len) {
    char path[KL_FILE_PATH];
    path_of(s, id, KL_STORE_RECORDING, path);
    return give(path, to, why, why_len);
}

int kl_store_can_give(const struct kl_store *s, const char *dir, char *err, size_t err_len) {
    char from[KL_FILE_PATH], to[KL_FILE_PATH], why[128];
    snprintf(from, sizeof from, "%s/.given", s->dir);
    snprintf(to, sizeof to, "%s/.given", dir);
    if (kl_file_write_whole(from, "", 0, KL_FILE_PRIVATE | KL_FILE_QUICK, err, err_len) < 0) return -1;
    int given = give(from, to, why, sizeof why);
    (void)kl_file_remove(given == 0 ? to : from, err, err_len);
    if (given != 0)
        snprintf(err, err_len, "cannot move a file from the journal's folder %s to %s: %s", s->dir, dir, why);
    return given;
}

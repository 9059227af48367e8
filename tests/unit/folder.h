/* folder.h - a new folder for each test of files, and what those tests do in it. */
#ifndef TEST_UNIT_FOLDER_H
#define TEST_UNIT_FOLDER_H

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "tests/unit/disk.h"
#include "tests/unit/limit.h"

static char dir[256], err[5000];

static inline int make_folder(void **state) {
    (void)state;
    char made[128];
    limit_s(60);
    if (kl_dir_make_temporary(made, sizeof made, "keylock-test-file", err, sizeof err) != 0) return -1;
    return kl_file_real(made, dir, sizeof dir)
               ? 0
               : -1; /* Windows's temporary folder may have a short name, too */
}
static inline int remove_folder(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return kl_dir_exists(dir);
}

/* A path in the folder; good until the fourth call after this. */
static inline const char *at(const char *name) {
    static char path[4][1024];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", dir, name);
    return out;
}

/* A file of this user alone, by the C library. */
static inline void put(const char *name, const char *text) {
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
#ifndef _WIN32
    assert_int_equal(chmod(at(name), 0600), 0);
#endif
}

static inline void open_to_others(const char *name) {
    assert_true(disk_open_to_others(at(name)));
}

static inline void has(const char *name, const char *text) {
    void *bytes;
    size_t len;
    assert_int_equal(kl_file_read(at(name), 1 << 20, 0, &bytes, &len, err, sizeof err), 0);
    assert_string_equal(bytes, text);
    assert_int_equal(len, strlen(text));
    free(bytes);
}

static inline void has_names(unsigned count) {
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, dir, "", err, sizeof err), 0);
    assert_int_equal(list.count, count);
    kl_dir_list_free(&list);
}

static inline int save(const char *name, const char *text, unsigned how) {
    err[0] = 0;
    return kl_file_write_whole(at(name), text, strlen(text), how, err, sizeof err);
}

static inline void says(const char *what, const char *path) {
    if (!strstr(err, what) || !strstr(err, path))
        fail_msg("\"%s\" and %s were expected, \"%s\" came", what, path, err);
}

static inline void refuses(const char *name, size_t max, unsigned how, int result, const char *why) {
    void *bytes = &bytes;
    size_t len;
    assert_int_equal(kl_file_read(at(name), max, how, &bytes, &len, err, sizeof err), result);
    assert_null(bytes);
    says(why, at(name));
}

static inline bool is_private(const char *name) {
    void *bytes;
    size_t len;
    int result = kl_file_read(at(name), 1000, KL_FILE_PRIVATE, &bytes, &len, err, sizeof err);
    free(bytes);
    return result == 0;
}

static inline int below(const char *path) {
    err[0] = 0;
    return kl_file_write_below(dir, path, "x", 1, err, sizeof err);
}

#endif

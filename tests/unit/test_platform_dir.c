/* Folders: made, listed in order, removed without leaving by a link; the places that every user has. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"

static char dir[256], err[1024];

static int make_folder(void **state) {
    (void)state;
    return kl_dir_make_temporary(dir, sizeof dir, "keylock-test-dir", err, sizeof err);
}
static int remove_folder(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return kl_dir_exists(dir);
}

static const char *at(const char *name) {
    static char path[4][512];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", dir, name);
    return out;
}

static void put(const char *name) {
    assert_int_equal(kl_file_write_whole(at(name), "x", 1, 0, err, sizeof err), 0);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void making(void **state) {
    (void)state;
    mode_t old = umask(022);
    assert_int_equal(kl_dir_make(at("a/b//c/"), false, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("p/q"), true, err, sizeof err), 0);
    umask(old);
    assert_int_equal(mode_of(at("a/b/c")), 0755);
    assert_int_equal(mode_of(at("p")), 0700);
    assert_int_equal(mode_of(at("p/q")), 0700);
    assert_int_equal(kl_dir_make(at("a/b"), true, err, sizeof err), 0); /* is there */
    assert_int_equal(kl_dir_make("", true, err, sizeof err), -1);
    put("file");
    assert_int_equal(kl_dir_make(at("file"), true, err, sizeof err), -1);
    assert_non_null(strstr(err, at("file")));
    assert_int_equal(kl_dir_make(at("file/x"), true, err, sizeof err), -1);
    assert_non_null(strstr(err, at("file")));
    char long_name[8000];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    assert_int_equal(kl_dir_make(long_name, true, err, sizeof err), -1);
    assert_int_equal(kl_dir_make_new(at("new"), err, sizeof err), 0);
    assert_int_equal(mode_of(at("new")), 0700);
    assert_int_equal(kl_dir_make_new(at("new"), err, sizeof err), -1);
    assert_non_null(strstr(err, at("new")));
    assert_int_equal(mode_of(dir), 0700);
}

static void looking(void **state) {
    (void)state;
    put("file");
    assert_true(kl_dir_exists(dir) && kl_dir_writable(dir));
    assert_false(kl_dir_exists(at("file")) || kl_dir_exists(at("none")) || kl_dir_writable(at("none")));
    assert_false(kl_dir_others_write(dir));
    assert_int_equal(chmod(dir, 0720), 0);
    assert_true(kl_dir_others_write(dir));
    assert_true(kl_dir_others_write(at("none")));
}

static void lists(const char *ending, const char *expected) {
    struct kl_dir_list list;
    char all[256] = "";
    assert_int_equal(kl_dir_list(&list, dir, ending, err, sizeof err), 0);
    for (unsigned i = 0; i < list.count; i++) {
        strcat(all, list.name[i]);
        strcat(all, " ");
    }
    assert_string_equal(all, expected);
    kl_dir_list_free(&list);
    assert_null(list.name);
}

static void listing(void **state) {
    (void)state;
    struct kl_dir_list list;
    lists("", "");
    put("c.so");
    put("a.so");
    put(".hidden");
    put("b.txt");
    assert_int_equal(kl_dir_make(at("d.so"), true, err, sizeof err), 0);
    lists("", ".hidden a.so b.txt c.so d.so ");
    lists(".so", "a.so c.so d.so ");
    lists("a long ending that nothing has", "");
    assert_int_equal(kl_dir_list(&list, at("none"), "", err, sizeof err), -1);
    assert_non_null(strstr(err, at("none")));
    assert_int_equal(list.count, 0);
    assert_int_equal(kl_dir_list(&list, at("b.txt"), "", err, sizeof err), -1);
}

static void removing(void **state) {
    (void)state;
    assert_int_equal(kl_dir_make(at("t/a/b"), true, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("outside"), true, err, sizeof err), 0);
    put("t/a/b/f");
    put("outside/f");
    assert_int_equal(symlink(at("outside"), at("t/a/link")), 0);
    kl_dir_remove_empty(at("t"));
    assert_true(kl_dir_exists(at("t/a/b")));
    kl_dir_remove_tree(at("t"));
    assert_false(kl_dir_exists(at("t")));
    assert_true(kl_file_readable(at("outside/f"))); /* the link was removed, not followed */
    assert_int_equal(symlink(at("outside"), at("direct")), 0);
    kl_dir_remove_tree(at("direct"));
    assert_int_equal(kl_file_kind_here(at("direct")), KL_FILE_IS_NONE);
    assert_true(kl_file_readable(at("outside/f")));
    kl_dir_remove_tree(at("outside/f"));
    kl_dir_remove_empty(at("outside"));
    assert_false(kl_dir_exists(at("outside")));
    kl_dir_remove_tree("");
    kl_dir_remove_tree(at("none"));
}

static void known(enum kl_dir_known which, const char *sub, const char *expected) {
    char out[256];
    assert_int_equal(kl_dir_known(which, sub, out, sizeof out, err, sizeof err), 0);
    assert_string_equal(out, expected);
}

static void known_places(void **state) {
    (void)state;
    char out[256], text[64];
    setenv("HOME", "/home/ann", 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("TMPDIR");
    known(KL_DIR_HOME, NULL, "/home/ann");
    known(KL_DIR_HOME, "x", "/home/ann/x");
    known(KL_DIR_STATE, "keylock", "/home/ann/.local/state/keylock");
    known(KL_DIR_CONFIG, NULL, "/home/ann/.config");
    known(KL_DIR_TEMPORARY, "x", "/tmp/x");
    setenv("XDG_STATE_HOME", "/state", 1);
    setenv("XDG_CONFIG_HOME", "relative", 1); /* counts as none */
    setenv("TMPDIR", "/var/tmp", 1);
    known(KL_DIR_STATE, "keylock", "/state/keylock");
    known(KL_DIR_CONFIG, NULL, "/home/ann/.config");
    known(KL_DIR_TEMPORARY, NULL, "/var/tmp");
    assert_int_equal(kl_dir_known(KL_DIR_STATE, "keylock", out, 10, err, sizeof err), -1);
    assert_non_null(strstr(err, "longer than 9 bytes"));
    unsetenv("HOME");
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(kl_dir_known(KL_DIR_STATE, "keylock", out, sizeof out, err, sizeof err), -1);
    assert_non_null(strstr(err, "XDG_STATE_HOME"));
    assert_int_equal(kl_dir_known(KL_DIR_HOME, NULL, out, sizeof out, err, sizeof err), -1);
    snprintf(text, sizeof text, "/tmp/keylock-%u/s", (unsigned)getuid());
    known(KL_DIR_FALLBACK, "s", text);
    setenv("TMPDIR", "/no/such", 1);
    assert_int_equal(kl_dir_make_temporary(out, sizeof out, "x", err, sizeof err), -1);
    assert_non_null(strstr(err, "/no/such"));
    assert_string_equal(out, "");
    unsetenv("TMPDIR");
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
int main(void) {
    const struct CMUnitTest tests[] = {
        T(making), T(looking), T(listing), T(removing), T(known_places),
    };
    return cmocka_run_group_tests_name("platform_dir", tests, NULL, NULL);
}

/* Folders: made, listed in order, removed without leaving by a link; the places that every user has. */
#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/dir.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "tests/unit/disk.h"

TEST_WITH(making, make_folder, remove_folder) {
    assert_int_equal(kl_dir_make(at("a/b//c/"), false, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("p/q"), true, err, sizeof err), 0);
    assert_true(kl_dir_exists(at("a/b/c")) && kl_dir_exists(at("p/q")));
    assert_int_equal(kl_dir_make(at("a/b"), true, err, sizeof err), 0); /* is there */
    assert_int_equal(kl_dir_make("", true, err, sizeof err), -1);
    put("file", "x");
    assert_int_equal(kl_dir_make(at("file"), true, err, sizeof err), -1);
    assert_non_null(strstr(err, at("file")));
    assert_int_equal(kl_dir_make(at("file/x"), true, err, sizeof err), -1);
    assert_non_null(strstr(err, at("file")));
    char long_name[8000];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    assert_int_equal(kl_dir_make(long_name, true, err, sizeof err), -1);
    assert_int_equal(kl_dir_make_new(at("new"), err, sizeof err), 0);
    assert_int_equal(kl_dir_make_new(at("new"), err, sizeof err), -1);
    assert_non_null(strstr(err, at("new")));
}

#ifndef _WIN32
static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

TEST_WITH(making_gives_permissions, make_folder, remove_folder) {
    mode_t old = umask(022);
    assert_int_equal(kl_dir_make(at("a/b/c"), false, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("p/q"), true, err, sizeof err), 0);
    umask(old);
    assert_int_equal(mode_of(at("a/b/c")), 0755);
    assert_int_equal(mode_of(at("p")), 0700);
    assert_int_equal(mode_of(at("p/q")), 0700);
    assert_int_equal(kl_dir_make_new(at("new"), err, sizeof err), 0);
    assert_int_equal(mode_of(at("new")), 0700);
    assert_int_equal(mode_of(dir), 0700);
}
#endif

TEST_WITH(looking, make_folder, remove_folder) {
    put("file", "x");
    assert_true(kl_dir_exists(dir) && kl_dir_writable(dir));
    assert_false(kl_dir_exists(at("file")) || kl_dir_exists(at("none")) || kl_dir_writable(at("none")));
    assert_int_equal(kl_dir_make(at("ours"), true, err, sizeof err), 0);
    assert_false(kl_dir_others_write(dir) || kl_dir_others_write(at("ours")));
    assert_true(disk_open_to_others(at("ours")));
    assert_true(kl_dir_others_write(at("ours")));
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
    if (list.count) assert_true(kl_dir_list_has(&list, list.name[list.count - 1]));
    assert_false(kl_dir_list_has(&list, "no such name"));
    kl_dir_list_free(&list);
    assert_null(list.name);
}

TEST_WITH(listing, make_folder, remove_folder) {
    struct kl_dir_list list;
    lists("", "");
    put("c.so", "x");
    put("a.so", "x");
    put(".hidden", "x");
    put("b.txt", "x");
    assert_int_equal(save("\u30b2\u30fc\u30e0 \u0130\u011f", "x", 0),
                     0); /* the C library of Windows knows no such name */
    assert_int_equal(kl_dir_make(at("d.so"), true, err, sizeof err), 0);
    lists("", ".hidden a.so b.txt c.so d.so \u30b2\u30fc\u30e0 \u0130\u011f ");
    lists(".so", "a.so c.so d.so ");
    lists("a long ending that nothing has", "");
    assert_int_equal(kl_dir_list(&list, at("none"), "", err, sizeof err), -1);
    assert_non_null(strstr(err, at("none")));
    assert_int_equal(list.count, 0);
    assert_int_equal(kl_dir_list(&list, at("b.txt"), "", err, sizeof err), -1);
}

TEST_WITH(removing, make_folder, remove_folder) {
    assert_int_equal(kl_dir_make(at("t/a/b"), true, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(at("outside"), true, err, sizeof err), 0);
    put("t/a/b/f", "x");
    put("outside/f", "x");
    put("t/a/b/protected", "x");
    disk_forbid_writing(at("t/a/b/protected"), true);
    assert_true(disk_link_folder(at("outside"), at("t/a"), "link"));
    kl_dir_remove_empty(at("t"));
    assert_true(kl_dir_exists(at("t/a/b")));
    kl_dir_remove_tree(at("t"));
    assert_false(kl_dir_exists(at("t/a/b")));
    assert_true(kl_file_readable(at("outside/f"))); /* the link was removed, not followed */
    disk_unlink_folder(at("t/a"), "link");
    kl_dir_remove_tree(at("t"));
    assert_false(kl_dir_exists(at("t")));
    assert_true(disk_link_folder(at("outside"), dir, "direct"));
    kl_dir_remove_tree(at("direct"));
    assert_true(kl_file_readable(at("outside/f")));
    disk_unlink_folder(dir, "direct");
    assert_int_equal(kl_file_kind_here(at("direct")), KL_FILE_IS_NONE);
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

TEST_WITH(known_places, make_folder, remove_folder) {
    char out[256];
    kl_environment_set("HOME", DISK_DRIVE "/home/ann");
    kl_environment_set("XDG_STATE_HOME", DISK_DRIVE "/state");
    kl_environment_set("XDG_CONFIG_HOME", DISK_DRIVE "/\u30b2\u30fc\u30e0");
    kl_environment_set("TMPDIR", DISK_DRIVE "/var/tmp");
    known(KL_DIR_HOME, NULL, DISK_DRIVE "/home/ann");
    known(KL_DIR_HOME, "x", DISK_DRIVE "/home/ann/x");
    known(KL_DIR_STATE, "keylock", DISK_DRIVE "/state/keylock");
    known(KL_DIR_CONFIG, NULL, DISK_DRIVE "/\u30b2\u30fc\u30e0");
    known(KL_DIR_TEMPORARY, NULL, DISK_DRIVE "/var/tmp");
    assert_int_equal(kl_dir_known(KL_DIR_STATE, "keylock", out, 10, err, sizeof err), -1);
    assert_non_null(strstr(err, "longer than 9 bytes"));
    kl_environment_set("TMPDIR", DISK_DRIVE "/no/such");
    assert_int_equal(kl_dir_make_temporary(out, sizeof out, "x", err, sizeof err), -1);
    assert_non_null(strstr(err, DISK_DRIVE "/no/such"));
    assert_string_equal(out, "");
    kl_environment_set("TMPDIR", NULL);
    kl_environment_set("XDG_STATE_HOME", NULL);
    kl_environment_set("XDG_CONFIG_HOME", "relative"); /* counts as none */
#ifdef _WIN32
    kl_environment_set("LOCALAPPDATA", "C:\\Users\\ann\\Local");
    kl_environment_set("APPDATA", "C:\\Users\\ann\\Roaming\\");
    kl_environment_set("TMP", "C:\\tmp");
    known(KL_DIR_STATE, "keylock", "C:/Users/ann/Local/keylock");
    known(KL_DIR_CONFIG, NULL, "C:/Users/ann/Roaming");
    known(KL_DIR_TEMPORARY, "x", "C:/tmp/x");
    known(KL_DIR_FALLBACK, "s", "C:/tmp/keylock/s");
    known(KL_DIR_RUN, "s", "C:/tmp/keylock/s");
    kl_environment_set("HOME", "/c/Users/ann"); /* of another kind of program: no drive */
    kl_environment_set("USERPROFILE", "C:\\Users\\ann");
    known(KL_DIR_HOME, NULL, "C:/Users/ann");
    kl_environment_set("LOCALAPPDATA", NULL);
    assert_int_equal(kl_dir_known(KL_DIR_STATE, "keylock", out, sizeof out, err, sizeof err), 0);
    assert_non_null(strstr(out, "/AppData/Local/keylock")); /* the system is asked */
#else
    char text[64];
    known(KL_DIR_STATE, "keylock", "/home/ann/.local/state/keylock");
    known(KL_DIR_CONFIG, NULL, "/home/ann/.config");
    known(KL_DIR_TEMPORARY, "x", "/tmp/x");
    kl_environment_set("HOME", NULL);
    assert_int_equal(kl_dir_known(KL_DIR_STATE, "keylock", out, sizeof out, err, sizeof err), -1);
    assert_non_null(strstr(err, "XDG_STATE_HOME"));
    assert_int_equal(kl_dir_known(KL_DIR_HOME, NULL, out, sizeof out, err, sizeof err), -1);
    snprintf(text, sizeof text, "/tmp/keylock-%u/s", (unsigned)getuid());
    known(KL_DIR_FALLBACK, "s", text);
    kl_environment_set("XDG_RUNTIME_DIR", "/run/user/7");
    known(KL_DIR_RUN, "s", getuid() == 0 ? "/run/s" : "/run/user/7/s");
    kl_environment_set("XDG_RUNTIME_DIR", NULL);
    known(KL_DIR_RUN, "s", getuid() == 0 ? "/run/s" : text);
#endif
}

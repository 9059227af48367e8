/* Loading, unloading and finding cores. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/start/identity.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/process.h"
#include "tests/lib/probe_core.h"

static char err[4096];

TEST(opens_and_closes) {
    struct kl_core c;
    if (kl_core_open(&c, probe_core_path(), err, sizeof(err)) != 0) fail_msg("%s", err);
    assert_int_equal(c.api_version(), RETRO_API_VERSION);
    assert_string_equal(c.copy_path, "");
    assert_true(probe_core_start(&c));
    kl_core_close(&c);
    assert_null(c.handle);
    kl_core_close(&c); /* an empty one may be closed again */
}

TEST(a_reopened_core_starts_from_nothing) {
    struct kl_core c;
    assert_int_equal(kl_core_open(&c, probe_core_path(), err, sizeof(err)), 0);
    assert_true(probe_core_start(&c));
    for (int i = 0; i < 5; i++)
        c.run();
    assert_int_equal(probe_core_seen(&c)->frame, 5);
    assert_int_equal(kl_core_reopen(&c, err, sizeof(err)), 0);
    assert_true(probe_core_start(&c));
    assert_int_equal(probe_core_seen(&c)->frame, 0);
    kl_core_close(&c);
}

TEST(a_second_one_is_a_copy) {
    struct kl_core a, b;
    static char copy[sizeof b.copy_path];
    assert_int_equal(kl_core_open(&a, probe_core_path(), err, sizeof(err)), 0);
    assert_int_equal(kl_core_open(&b, probe_core_path(), err, sizeof(err)), 0);
    assert_string_not_equal(b.copy_path, "");
#ifndef _WIN32                                          /* it keeps a loaded library's file */
    assert_int_not_equal(access(b.copy_path, F_OK), 0); /* nothing is left behind */
#endif
    strcpy(copy, b.copy_path);
    assert_string_equal(a.path, b.path);
    assert_true(probe_core_start(&a));
    assert_true(probe_core_start(&b));
    a.run();
    assert_int_equal(probe_core_seen(&a)->frame, 1);
    assert_int_equal(probe_core_seen(&b)->frame, 0);
    kl_core_close(&b);
    assert_int_not_equal(access(copy, F_OK), 0);
    kl_core_close(&a);
}

#ifdef _WIN32
/* A process that was killed could not remove its copy. */
TEST(copies_of_killed_processes_go) {
    struct kl_core c;
    char killed[KL_FILE_PATH], ours[KL_FILE_PATH], name[64];
    snprintf(name, sizeof name, "keylock-core-%ld-test", kl_process_self());
    assert_int_equal(
        kl_dir_known(KL_DIR_TEMPORARY, "keylock-core-99999996-test", killed, sizeof killed, err, sizeof err),
        0);
    assert_int_equal(kl_dir_known(KL_DIR_TEMPORARY, name, ours, sizeof ours, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(killed, true, err, sizeof err), 0);
    assert_int_equal(kl_dir_make(ours, true, err, sizeof err), 0);
    assert_int_equal(kl_core_open_late(&c, probe_core_path(), err, sizeof err), 0);
    assert_false(kl_dir_exists(killed));
    assert_true(kl_dir_exists(ours));
    kl_core_close(&c);
    kl_dir_remove_tree(ours);
}
#endif

TEST(files_that_are_no_core_are_named) {
    struct kl_core c;
    assert_int_equal(kl_core_open(&c, "/nonexistent/x.so", err, sizeof(err)), -1);
    assert_non_null(strstr(err, "/nonexistent/x.so"));
    assert_int_equal(kl_core_open(&c, "/etc/passwd", err, sizeof(err)), -1);
    assert_non_null(strstr(err, "/etc/passwd"));
    assert_int_equal(kl_core_open(&c, "/tmp", err, sizeof(err)), -1);
    assert_non_null(strstr(err, "regular file"));
    assert_int_equal(kl_core_open(&c, "/lib/x86_64-linux-gnu/libm.so.6", err, sizeof(err)), -1);
    assert_null(c.handle);
}

TEST(finds_by_name) {
    char dir[4096], out[4096];
    snprintf(dir, sizeof(dir), "%s", probe_core_path());
    *strrchr(dir, '/') = '\0';
    const char *dirs[] = {"/nonexistent", dir, NULL};
    assert_int_equal(kl_core_find("probe_core", dirs, out, sizeof(out), err, sizeof(err)), 0);
    assert_string_equal(out, probe_core_path());
    assert_int_equal(
        kl_core_find("probe_core_libretro" KL_LIBRARY_ENDING, dirs, out, sizeof(out), err, sizeof(err)), 0);
    assert_int_equal(kl_core_find(probe_core_path(), NULL, out, sizeof(out), err, sizeof(err)), 0);
    assert_int_equal(kl_core_find("no_such_core", dirs, out, sizeof(out), err, sizeof(err)), -1);
    assert_non_null(strstr(err, "no_such_core"));
    assert_non_null(strstr(err, dir));
    assert_int_equal(kl_core_find("./no/such", dirs, out, sizeof(out), err, sizeof(err)), -1);
    assert_int_equal(kl_core_find("", dirs, out, sizeof(out), err, sizeof(err)), -1);
}

/* Nestopia's version ends in a blank. */
TEST(strings_are_shown_without_blanks_at_the_end) {
    struct retro_system_info info = {.library_name = "Nestopia ", .library_version = "1.52.0 "};
    struct kl_facts facts = {0};
    assert_int_equal(kl_core_text_len("1.52.0 ", 80), 6);
    assert_int_equal(kl_core_text_len("1.52.0 ", 3), 3);
    assert_int_equal(kl_core_text_len(" \t", 80), 0);
    assert_int_equal(kl_core_text_len(NULL, 80), 0);
    kl_identity_core(&facts, &info);
    assert_string_equal(facts.fact[0].value, "Nestopia 1.52.0");
    kl_identity_any_version(&facts, &info);
    assert_string_equal(facts.fact[1].value, "Nestopia, any version (1.52.0)");
}

int main(void) {
    int failed = run_all_tests(NULL, NULL);
    kl_options_free(&probe_options);
    return failed;
}

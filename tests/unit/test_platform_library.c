/* Libraries: a test core is loaded, asked, and really goes. Its path: $KL_BUILD/cores. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/process.h"

static char core[512], err[1024];

static int find_core(void **state) {
    (void)state;
    char own[300], relative[400];
    if (kl_process_own_path(own, sizeof own) != 0) return -1;
    *strrchr(own, '/') = 0;
    snprintf(relative, sizeof relative, "%s/../cores/tone_core_libretro.so", own);
    return kl_file_real(relative, core, sizeof core) ? 0 : -1;
}

static void loaded_and_gone(void **state) {
    (void)state;
    char file[512];
    assert_false(kl_library_loaded(core));
    void *library = kl_library_open(core, err, sizeof err);
    assert_non_null(library);
    assert_true(kl_library_loaded(core));
    void *symbol = kl_library_find(library, "retro_run");
    assert_non_null(symbol);
    assert_null(kl_library_find(library, "retro_walk"));
    assert_true(kl_library_file(library, file, sizeof file));
    assert_string_equal(file, core);
    assert_false(kl_library_file(library, file, strlen(core))); /* no place for the NUL */
    assert_true(kl_library_file_of(symbol, file, sizeof file));
    assert_string_equal(file, core);
    assert_false(kl_library_file_of((const void *)16, file, sizeof file));
    assert_non_null(kl_library_record(library));
    kl_library_close(library);
    assert_false(kl_library_loaded(core));
    kl_library_close(NULL);
}

static void names_what_it_needs(void **state) {
    (void)state;
    char name[8][KL_LIBRARY_NAME];
    void *library = kl_library_open(core, err, sizeof err);
    assert_non_null(library);
    unsigned count = kl_library_needs(library, name, 8), found = 0;
    assert_in_range(count, 1, 8);
    for (unsigned i = 0; i < count; i++)
        found += strcmp(name[i], "libc.so.6") == 0;
    assert_int_equal(found, 1);
    assert_int_equal(kl_library_needs(library, name, 0), 0);
    kl_library_close(library);
}

static void says_why_not(void **state) {
    (void)state;
    assert_null(kl_library_open("/no/such/core.so", err, sizeof err));
    assert_non_null(strstr(err, "/no/such/core.so"));
    assert_null(kl_library_open("/etc/passwd", err, sizeof err)); /* is none */
    assert_non_null(strstr(err, "/etc/passwd"));
    assert_null(kl_library_record(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loaded_and_gone, find_core),
        cmocka_unit_test_setup(names_what_it_needs, find_core),
        cmocka_unit_test(says_why_not),
    };
    return cmocka_run_group_tests_name("platform_library", tests, NULL, NULL);
}

/* Libraries: a test core is loaded, asked, and really goes. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "tests/unit/built.h"

#ifdef _WIN32
#define C_LIBRARY "msvcrt.dll"
#else
#define C_LIBRARY "libc.so.6"
#endif

static char core[512], err[1024];

static int find_core(void **state) {
    (void)state;
    return built_file(core, sizeof core, "cores/tone_core_libretro" KL_LIBRARY_ENDING) ? 0 : -1;
}

TEST_WITH(loaded_and_gone, find_core, NULL) {
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

/* Two libraries of one name are two, if their folders are. */
TEST_WITH(a_copy_is_another_one, find_core, NULL) {
    char copy[400];
    void *first = kl_library_open(core, err, sizeof err);
    assert_int_equal(kl_dir_make_temporary(copy, 300, "keylock-test-library", err, sizeof err), 0);
    strcat(copy, strrchr(core, '/'));
    assert_int_equal(kl_file_copy(core, copy, 0, err, sizeof err), 0);
    assert_false(kl_library_loaded(copy));
    void *second = kl_library_open(copy, err, sizeof err);
    assert_non_null(second);
    assert_ptr_not_equal(kl_library_find(first, "retro_run"), kl_library_find(second, "retro_run"));
    kl_library_close(second);
    assert_false(kl_library_loaded(copy));
    assert_true(kl_library_loaded(core));
    kl_library_close(first);
    *strrchr(copy, '/') = 0;
    kl_dir_remove_tree(copy);
    assert_false(kl_dir_exists(copy));
}

TEST_WITH(names_what_it_needs, find_core, NULL) {
    char name[8][KL_LIBRARY_NAME];
    void *library = kl_library_open(core, err, sizeof err);
    assert_non_null(library);
    unsigned count = kl_library_needs(library, name, 8), found = 0;
    assert_in_range(count, 1, COUNT(name));
    for (unsigned i = 0; i < count; i++)
        found += strcmp(name[i], C_LIBRARY) == 0;
    assert_int_equal(found, 1);
    assert_int_equal(kl_library_needs(library, name, 0), 0);
    kl_library_close(library);
}

TEST(says_why_not) {
    assert_null(kl_library_open("/no/such/core.so", err, sizeof err));
    assert_non_null(strstr(err, "/no/such/core.so"));
    char text[300];
    assert_int_equal(kl_dir_make_temporary(text, sizeof text - 10, "keylock-test-library", err, sizeof err),
                     0);
    strcat(text, "/a" KL_LIBRARY_ENDING);
    assert_int_equal(kl_file_write_whole(text, "text", 4, 0, err, sizeof err), 0);
    assert_null(kl_library_open(text, err, sizeof err)); /* is none */
    assert_non_null(strstr(err, text));
    assert_false(kl_library_loaded(text));
    *strrchr(text, '/') = 0;
    kl_dir_remove_tree(text);
    assert_null(kl_library_record(NULL));
}

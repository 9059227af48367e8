/* Files that a thread writes: all bytes in order, no call that waits, and failures that are told. */
#include "tests/unit/folder.h"

#include <errno.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "core_wrapper/record/spool.h"

TEST_WITH(all_bytes_are_in_the_file_in_order, make_folder, remove_folder) {
    struct kl_spool s;
    assert_int_equal(kl_spool_open(&s, at("lines")), 0);
    assert_int_equal(kl_spool_opened(&s), 0);
    for (unsigned i = 0; i < 20000; i++)
        kl_spool_print(&s, "line %u\n", i);
    kl_spool_finish(&s);
    assert_int_equal(kl_spool_close(&s), 0);
    assert_int_equal(kl_spool_close(&s), 0);
    kl_spool_print(&s, "closed");
    FILE *f = fopen(at("lines"), "r");
    assert_non_null(f);
    for (unsigned i = 0, n; i < 20000; i++)
        assert_true(fscanf(f, "line %u\n", &n) == 1 && n == i);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
}

TEST_WITH(a_file_that_cannot_be_made_is_told, make_folder, remove_folder) {
    struct kl_spool s;
    assert_int_equal(kl_spool_open(&s, at("none/lines")), 0);
    assert_int_equal(kl_spool_opened(&s), -1);
    assert_int_equal(errno, ENOENT);
    assert_true(kl_spool_failed(&s));
    kl_spool_print(&s, "line\n");
    assert_int_equal(kl_spool_close(&s), -1);
    assert_false(kl_spool_failed(&s));
}

/* A disk that does not come back: a pipe without a reader. */
TEST_WITH(no_call_waits_and_memory_is_bounded, make_folder, remove_folder) {
#ifndef _WIN32
    static char much[1 << 20];
    struct kl_spool s;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_int_equal(kl_spool_open(&s, at("pipe")), 0);
    for (unsigned i = 0; i < KL_SPOOL_BYTES / sizeof much; i++) {
        kl_spool_put(&s, much, sizeof much);
        assert_false(kl_spool_failed(&s));
    }
    kl_spool_put(&s, much, sizeof much);
    assert_true(kl_spool_failed(&s));
    kl_spool_finish(&s);
    int reader = open(at("pipe"), O_RDONLY); /* the disk is back */
    assert_true(reader >= 0);
    while (read(reader, much, sizeof much) > 0)
        ;
    close(reader);
    assert_int_equal(kl_spool_close(&s), -1);
#endif
}

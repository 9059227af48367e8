/* Sockets between a user's programs: one for each name, found by it, and who sent a line.
 * runs: working, test, 1 s */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#endif

#include "net/platform/clock.h"
#include "net/platform/local.h"
#include "net/platform/wait.h"

#define BEGINS "keylock-test-local-"

static char name[KL_LOCAL_NAME_MAX];
static int here;

static int open_named(void **state) {
    (void)state;
    snprintf(name, sizeof name, BEGINS "%ld", (long)getpid());
    here = kl_local_open(name);
    return here < 0 ? -1 : 0;
}
static int close_named(void **state) {
    (void)state;
    kl_local_close(here);
    return 0;
}

/* A message may need a moment. */
static int receive(int s, void *bytes, size_t cap, struct kl_local_peer *from, bool *trusted) {
    if (!kl_wait_for(&s, 1, kl_now_us() + 5000000)) return -1;
    return kl_local_receive(s, bytes, cap, from, trusted);
}

TEST_WITH(a_name_is_taken_once_and_found_while_it_is, open_named, close_named) {
    long number[8];
    assert_int_equal(kl_local_open(name), KL_LOCAL_TAKEN);
    assert_int_equal(kl_local_find(BEGINS, number, 8), 1);
    assert_int_equal(number[0], getpid());
    assert_int_equal(kl_local_find(BEGINS, number, 0), 0);
    kl_local_close(here);
    assert_int_equal(kl_local_find(BEGINS, number, 8), 0);
    here = kl_local_open(name);
    assert_true(here >= 0);
}

TEST_WITH(a_line_comes_with_its_sender_and_is_answered, open_named, close_named) {
    struct kl_local_peer from;
    char line[8];
    bool trusted = false;
    int other = kl_local_open(NULL);
    assert_true(other >= 0);
    assert_true(kl_local_receive(here, line, sizeof line, &from, &trusted) < 0);
    assert_int_equal(kl_local_send(other, name, "hello", 5), 0);
    assert_int_equal(receive(here, line, sizeof line, &from, &trusted), 5);
    assert_memory_equal(line, "hello", 5);
    assert_true(trusted);
    kl_local_answer(here, &from, "ok", 2);
    trusted = false;
    assert_int_equal(receive(other, line, sizeof line, &from, &trusted), 2);
    assert_true(trusted);
    assert_memory_equal(line, "ok", 2);
    kl_local_close(other);
    kl_local_answer(here, &from, "ok", 2); /* nobody is there any more */
}

#ifndef _WIN32
TEST(a_private_name_is_a_file_of_its_user_alone) {
    char folder[] = "/tmp/test_local.XXXXXX", path[KL_LOCAL_NAME_MAX], other_path[KL_LOCAL_NAME_MAX];
    char too_long[KL_LOCAL_NAME_MAX];
    struct kl_local_peer from;
    struct stat st;
    bool trusted = false;
    char line[8];
    assert_non_null(mkdtemp(folder));
    assert_true(kl_local_private(path, folder, "a"));
    assert_false(kl_local_private(other_path, "relative", "a"));
    memset(too_long, '/', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = 0;
    assert_false(kl_local_private(other_path, too_long, "a"));
    int first = kl_local_open(path), other = kl_local_open(NULL);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(kl_local_open(path), KL_LOCAL_TAKEN);
    close(first); /* as a process that is killed: the file stays */
    assert_int_equal(kl_local_send(other, path, "x", 1), ECONNREFUSED);
    int second = kl_local_open(path);
    assert_true(second >= 0);
    assert_int_equal(kl_local_send(other, path, "y", 1), 0);
    assert_int_equal(receive(second, line, sizeof line, &from, &trusted), 1);
    assert_true(trusted);
    kl_local_close(second);
    assert_int_equal(kl_local_send(other, path, "z", 1), ENOENT);
    kl_local_close(other);
    close(creat(path, 0600)); /* a file that is no socket stays */
    assert_true(kl_local_open(path) < 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(kl_local_open(path), KL_LOCAL_NONE); /* no such folder */
}

TEST(only_root_is_root) {
    const bool root = geteuid() == 0;
    assert_int_equal(kl_local_is_root(), root);
    if (root) {
        assert_int_equal(seteuid(65534), 0);
        assert_false(kl_local_is_root());
        assert_int_equal(seteuid(0), 0);
    }
}
#endif

TEST_WITH(a_line_outlasts_its_sender, open_named, close_named) {
    struct kl_local_peer from;
    char line[8];
    bool trusted = false;
    int other = kl_local_open(NULL);
    assert_int_equal(kl_local_send(other, name, "hello", 5), 0);
    kl_local_close(other);
    assert_int_equal(receive(here, line, sizeof line, &from, &trusted), 5);
    assert_true(trusted);
}

TEST_WITH(a_line_that_does_not_fit_says_how_long_it_was, open_named, close_named) {
    struct kl_local_peer from;
    char line[4] = "....";
    bool trusted;
    assert_int_equal(kl_local_send(here, name, "hello", 5), 0);
    assert_int_equal(receive(here, line, 3, &from, &trusted), 5);
    assert_memory_equal(line, "hel.", 4);
}

TEST_WITH(a_sender_learns_that_nobody_is_there_or_reads, open_named, close_named) {
    struct kl_local_peer from;
    unsigned sent = 0, received = 0;
    int failed = 0;
    bool trusted;
    char line[4];
    assert_int_equal(kl_local_send(here, BEGINS "nobody", "x", 1), ECONNREFUSED);
    int other = kl_local_open(NULL);
    while (!failed && sent < 100000) {
        failed = kl_local_send(other, name, "x", 1);
        sent += !failed;
    }
    assert_int_equal(failed, EAGAIN);
    while (received < sent && receive(here, line, sizeof line, &from, &trusted) == 1)
        received++;
    assert_int_equal(received, sent);
    assert_int_equal(kl_wait_for(&here, 1, kl_now_us() + 20000), 0);
    assert_int_equal(kl_local_send(other, name, "y", 1), 0);
    assert_int_equal(receive(here, line, sizeof line, &from, &trusted), 1);
    assert_int_equal(line[0], 'y');
    kl_local_close(other);
}

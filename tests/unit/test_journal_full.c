/* test_journal_full.c - disks that are full, files that may not grow. journal.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* --- a disk that is full --- */

static void limit_files(rlim_t size) {
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static unsigned lines_with(FILE *log, const char *what) {
    char line[1000];
    unsigned count = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        count += strstr(line, what) != NULL;
    return count;
}

static void a_full_disk_stops_no_room(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    read_only_file();
    FILE *log = tmpfile();
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    uint32_t before = canon_end;
    limit_files(bytes_len + 150); /* half a record fits */
    play(5 * SECOND);
    be_quiet();
    limit_files(RLIM_INFINITY);
    assert_true(canon_end > before + 4 * 60);
    expect_all_at_the_end();
    assert_int_equal(lines_with(log, "event=journal_fails"), 1);
    assert_in_range(kl_lobby_stats(lobby).journal.failures, 4, 7); /* once a second */
    fclose(log);
    read_only_file();
    uint64_t end;
    assert_true(whole_frames(bytes_len, &end) < canon_end - 200);
    assert_int_equal(end, bytes_len); /* no half record stays */
    play(2 * SECOND);                 /* there is room again */
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

static void no_room_for_a_new_file(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    limit_files(10);
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    assert_true(canon_end > 60);
    read_only_file();
    assert_int_equal(bytes_len, 0);
    limit_files(RLIM_INFINITY);
    play(2 * SECOND);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* A real one, with other things in it: half a piece fits or none, whatever the kernel does. When there is
 * place again, all that was played in between is written. */
static void a_full_tmpfs(void **state) {
    (void)state;
    static const uint8_t ballast[180 * 1024];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    die();
    assert_int_equal(mount("none", folder, "tmpfs", 0, "size=200k,mode=700"), 0);
    begin_life(now_us);
    put_file(".ballast", ballast, sizeof ballast, 0600);
    FILE *log = tmpfile();
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    expect_all_at_the_end();
    assert_true(canon_end > 19 * 60);
    assert_int_equal(lines_with(log, "event=journal_fails"), 1);
    assert_true(the_room()->journal.frames < canon_end - 100);
    assert_in_range(kl_lobby_stats(lobby).journal.failures, 4, 20);
    assert_int_equal(unlink(path_of(".ballast")), 0);
    play(3 * SECOND);
    assert_int_equal(lines_with(log, "event=journal_goes_on"), 1);
    assert_int_equal(lines_with(log, "event=journal_over"), 0);
    be_quiet();
    fclose(log);
    uint32_t closed = written();
    assert_true(closed >= canon_end);
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
    die();
    umount(folder);
    begin_life(now_us);
}

/* Above the limit the file stays as it is; what it has can be loaded, and it goes with the room. */
static void no_more_than_the_limit(void **state) {
    (void)state;
    die();
    limit = 12000;
    begin_life(100 * SECOND);
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    assert_true(canon_end > 18 * 60);
    read_only_file();
    assert_in_range(bytes_len, 10000, limit);
    assert_int_equal(kl_lobby_stats(lobby).journal.over, 1);
    uint64_t end;
    uint32_t has = whole_frames(bytes_len, &end);
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), has);
    struct kl_msg m = prepare_return(1, 11); /* a client with more begins anew */
    say(11, &m);
    assert_non_null(heard(11, KL_MSG_PREPARE));
    lose(11);
    pass(120 * SECOND);
    assert_null(only_file());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_full_disk_stops_no_room),
        T(no_room_for_a_new_file),
        T(a_full_tmpfs),
        T(no_more_than_the_limit),
    };
    return cmocka_run_group_tests_name("journal_full", tests, NULL, NULL);
}

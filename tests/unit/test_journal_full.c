/* test_journal_full.c - disks that are full, files that may not grow. journal.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include <sched.h>
#include <sys/mount.h>

/* --- a disk that is full --- */

/* The tail holds what the recording cannot take. */
TEST_WITH(a_full_disk_stops_no_room, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    read_files();
    FILE *log = tmpfile();
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    limit_files(bytes_len + 150); /* half a block fits */
    play(25 * SECOND);
    expect_all_at_the_end();
    assert_int_equal(lines_with(log, "event=journal_fails"), 1);
    assert_in_range(kl_lobby_stats(lobby).journal.failures, 4, 10); /* once a second */
    size_t before = bytes_len;
    read_files();
    assert_int_equal(bytes_len, before); /* no half block stays */
    assert_true(whole_frames(bytes_len, tail_len, NULL) >= canon_end);
    limit_files(RLIM_INFINITY);
    play(2 * SECOND); /* there is room again */
    assert_int_equal(lines_with(log, "event=journal_goes_on"), 1);
    be_quiet();
    fclose(log);
    read_files();
    assert_true(bytes_len > before + 1000);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

TEST_WITH(no_room_for_new_files, make_folder, remove_folder) {
    limit_files(10);
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    assert_true(canon_end > 60);
    assert_null(only_room());
    limit_files(KL_TAIL_BYTES - 1);
    play(2 * SECOND);
    assert_null(only_room());
    limit_files(RLIM_INFINITY);
    play(2 * SECOND);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), closed);
}

/* A real one, with other things in it: it has place for the tail, and for some of the recording. Frames that
 * have no place even in the tail are written when there is place again. */
TEST_WITH(a_full_tmpfs, make_folder, remove_folder) {
    static const uint8_t ballast[92 * 1024];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    die();
    assert_int_equal(mount("none", folder, "tmpfs", 0, "size=500k,mode=700"), 0);
    begin_life(now_us);
    put_file(".ballast", ballast, sizeof ballast, 0600);
    FILE *log = tmpfile();
    kl_log_set_level(KL_LOG_INFO);
    kl_log_to(log);
    begin_game(KL_POLICY_BOUNDED);
    play(170 * SECOND);
    expect_all_at_the_end();
    assert_int_equal(lines_with(log, "event=journal_fails"), 1);
    assert_true(the_room()->journal.frames < canon_end - 100);
    assert_in_range(kl_lobby_stats(lobby).journal.failures, 4, 400);
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

/* Above the limit the files stay as they are; what they have can be loaded, and they go with the room. */
TEST_WITH(no_more_than_the_limit, make_folder, remove_folder) {
    die();
    journal_limits.room_bytes = 12000;
    begin_life(100 * SECOND);
    begin_game(KL_POLICY_BOUNDED);
    play(60 * SECOND);
    assert_true(canon_end > 55 * 60);
    read_files();
    assert_in_range(bytes_len, 5000, journal_limits.room_bytes);
    assert_int_equal(kl_lobby_stats(lobby).journal.over, 1);
    uint32_t has = whole_frames(bytes_len, tail_len, NULL);
    assert_in_range(has, 1024, canon_end - 60);
    die_and_begin_again();
    assert_int_equal(frames_in(the_room()), has);
    struct kl_msg m = prepare_return(&player[1], 11); /* a client with more begins anew */
    say(11, &m);
    assert_non_null(heard(11, KL_MSG_PREPARE));
    lose(11);
    pass(120 * SECOND);
    assert_null(only_room());
}

/* The room with the most gives way, here the only one: its files go, and it plays on. */
TEST_WITH(no_more_than_all_may_have, make_folder, remove_folder) {
    FILE *log = tmpfile();
    die();
    journal_limits.all_bytes = KL_TAIL_BYTES + 12000;
    begin_life(100 * SECOND);
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    read_files();
    assert_in_range(bytes_len, 2000, 12000);
    kl_log_to(log);
    play(60 * SECOND);
    assert_int_equal(lines_with(log, "event=journal_over"), 1);
    be_quiet();
    fclose(log);
    assert_null(only_room());
    assert_int_equal(kl_lobby_stats(lobby).journal.over, 1);
    expect_all_at_the_end();
    die();
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

TEST_WITH(another_room_has_more, make_folder, remove_folder) {
    static struct kl_lobby_room other;
    die();
    journal_limits.all_bytes = UINT64_C(1) << 30;
    begin_life(100 * SECOND);
    begin_game(KL_POLICY_BOUNDED);
    play(10 * SECOND);
    other = (struct kl_lobby_room){.lobby = lobby, .name = "other"};
    other.journal = (struct kl_journal_room){
        .state = KL_JOURNAL_OVER, .file.handle = -1, .base.klr.at = journal_limits.all_bytes};
    lobby->room[1] = &other;
    kl_journal_roll(the_room(), now_us);
    lobby->room[1] = NULL;
    assert_int_equal(other.journal.base.klr.at, 0);
    assert_int_equal(the_room()->journal.state, KL_JOURNAL_OPEN);
    assert_true(the_room()->journal.base.chain.end > 500);
}

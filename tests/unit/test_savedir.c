/* The session's folders: which files of a player go along, and that nothing that comes from elsewhere is
 * written outside. */
#include "tests/unit/folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_wrapper/start/savedir.h"

static struct kl_savedir session;

static int setup(void **state) {
    return make_folder(state) == 0 ? kl_savedir_open(&session, dir, "a room", err, sizeof err) : -1;
}

static int teardown(void **state) {
    kl_savedir_close(&session);
    return remove_folder(state);
}

static bool collected(const struct kl_savefiles *s, const char *path) {
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->file[i].path, path)) return true;
    return false;
}

TEST_WITH(the_players_files_of_this_game, setup, teardown) {
    static struct kl_savefiles s;
    mkdir(at("fbneo"), 0700);
    mkdir(at("kof98"), 0700);
    put("kof98.sav", "1");
    put("kof98.srm", "frontend's");
    put("kof98.rtc", "frontend's");
    put("kof98.state", "frontend's");
    put("kof98.state1.png", "frontend's");
    put("kof98-2.mcd", "2");
    put("kof98umh.nv", "another game");
    put("kof97.nv", "another game");
    put("fbneo/kof98.nv", "3");
    put("kof98/anything", "4");
    assert_int_equal(symlink("/etc/passwd", at("kof98.lnk")), 0);
    assert_int_equal(mkfifo(at("kof98.fifo"), 0600), 0);
    kl_savefiles_collect(&s, dir, "kof98");
    assert_true(collected(&s, "kof98.sav"));
    assert_true(collected(&s, "kof98-2.mcd"));
    assert_true(collected(&s, "fbneo/kof98.nv"));
    assert_true(collected(&s, "kof98/anything"));
    assert_int_equal(s.count, 4);
    assert_true(kl_savefiles_add(&s, dir, "kof97.nv"));
    assert_true(kl_savefiles_add(&s, dir, "kof97.nv")); /* once */
    assert_int_equal(s.count, 5);
    assert_false(kl_savefiles_add(&s, dir, "kof98.lnk"));
    assert_false(kl_savefiles_add(&s, dir, "kof98.fifo"));
    assert_false(kl_savefiles_add(&s, dir, "nothing"));
    assert_false(kl_savefiles_add(&s, dir, "../etc/passwd"));
    kl_savefiles_free(&s);
    kl_savefiles_collect(&s, dir, "");
    assert_int_equal(s.count, 0); /* a game without a name has no files */
}

TEST_WITH(too_much_is_left_out, setup, teardown) {
    static struct kl_savefiles s;
    put("big.sav", "");
    assert_int_equal(truncate(at("big.sav"), KL_SAVEDIR_BYTES + 1), 0);
    put("big.ok", "x");
    kl_savefiles_collect(&s, dir, "big");
    assert_int_equal(s.count, 1);
    assert_true(collected(&s, "big.ok"));
    kl_savefiles_free(&s);
}

TEST_WITH(written_below_and_nowhere_else, setup, teardown) {
    char save[4096], out[4096];
    assert_int_equal(kl_savedir_fresh(&session, "save", save, sizeof save, err, sizeof err), 0);
    assert_int_equal(kl_savedir_write(save, "a/b/c.nv", "xyz", 3, err, sizeof err), 0);
    snprintf(out, sizeof out, "%.4000s/a/b/c.nv", save);
    struct stat st;
    assert_int_equal(stat(out, &st), 0);
    assert_int_equal(st.st_size, 3);
    static const char *const bad[] = {"../x", "/tmp/keylock-test-escaped", "a/../../x", "", "a/b/c.nv"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err[0] = 0;
        assert_int_equal(kl_savedir_write(save, bad[i], "x", 1, err, sizeof err), -1);
        assert_true(err[0]);
    }
    snprintf(out, sizeof out, "%.4000s/out", save);
    assert_int_equal(symlink(dir, out), 0);
    assert_int_equal(kl_savedir_write(save, "out/x", "x", 1, err, sizeof err), -1);
    assert_int_not_equal(access(at("x"), F_OK), 0);
    snprintf(out, sizeof out, "%.4000s/link", save);
    assert_int_equal(symlink(at("y"), out), 0);
    assert_int_equal(kl_savedir_write(save, "link", "x", 1, err, sizeof err), -1);
    assert_int_not_equal(access(at("y"), F_OK), 0);
    /* and it is all gone in a fresh one; what links pointed to is not */
    assert_int_equal(kl_savedir_fresh(&session, "save", save, sizeof save, err, sizeof err), 0);
    assert_int_equal(access(dir, F_OK), 0);
    assert_int_equal(kl_savedir_write(save, "a/b/c.nv", "xyz", 3, err, sizeof err), 0);
}

TEST_WITH(sessions_of_the_dead_are_swept, setup, teardown) {
    char gone[64], other[64];
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, NULL, 0);
    snprintf(gone, sizeof gone, "room-%d", (int)pid);
    snprintf(other, sizeof other, "room-%d", (int)getppid());
    mkdir(at(gone), 0700);
    mkdir(at(other), 0700);
    mkdir(at("not-a-session"), 0700);
    struct kl_savedir second;
    assert_int_equal(kl_savedir_open(&second, dir, "../b", err, sizeof err), 0);
    assert_null(strstr(second.root, "/../"));
    assert_int_not_equal(access(at(gone), F_OK), 0);
    assert_int_equal(access(at(other), F_OK), 0);
    assert_int_equal(access(at("not-a-session"), F_OK), 0);
    assert_int_equal(access(session.root, F_OK), 0); /* our own process's */
    kl_savedir_close(&second);
}

/* The session's folders: which files of a player go along, and that nothing that comes from elsewhere is
 * written outside. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "core_wrapper/start/savedir.h"

static char base[64], err[512];
static struct kl_savedir dir;

static int setup(void **state) {
    (void)state;
    strcpy(base, "/tmp/keylock-test-saves-XXXXXX");
    return mkdtemp(base) && kl_savedir_open(&dir, base, "a room", err, sizeof err) == 0 ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    kl_savedir_close(&dir);
    struct kl_savedir all;
    strcpy(all.root, base);
    kl_savedir_close(&all);
    return access(base, F_OK) == 0 ? -1 : 0;
}

static const char *at(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(at(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool has(const struct kl_savefiles *s, const char *path) {
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
    kl_savefiles_collect(&s, base, "kof98");
    assert_true(has(&s, "kof98.sav"));
    assert_true(has(&s, "kof98-2.mcd"));
    assert_true(has(&s, "fbneo/kof98.nv"));
    assert_true(has(&s, "kof98/anything"));
    assert_int_equal(s.count, 4);
    assert_true(kl_savefiles_add(&s, base, "kof97.nv"));
    assert_true(kl_savefiles_add(&s, base, "kof97.nv")); /* once */
    assert_int_equal(s.count, 5);
    assert_false(kl_savefiles_add(&s, base, "kof98.lnk"));
    assert_false(kl_savefiles_add(&s, base, "kof98.fifo"));
    assert_false(kl_savefiles_add(&s, base, "nothing"));
    assert_false(kl_savefiles_add(&s, base, "../etc/passwd"));
    kl_savefiles_free(&s);
    kl_savefiles_collect(&s, base, "");
    assert_int_equal(s.count, 0); /* a game without a name has no files */
}

TEST_WITH(too_much_is_left_out, setup, teardown) {
    static struct kl_savefiles s;
    put("big.sav", "");
    assert_int_equal(truncate(at("big.sav"), KL_SAVEDIR_BYTES + 1), 0);
    put("big.ok", "x");
    kl_savefiles_collect(&s, base, "big");
    assert_int_equal(s.count, 1);
    assert_true(has(&s, "big.ok"));
    kl_savefiles_free(&s);
}

TEST_WITH(written_below_and_nowhere_else, setup, teardown) {
    char save[4096], out[4096];
    assert_int_equal(kl_savedir_fresh(&dir, "save", save, sizeof save, err, sizeof err), 0);
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
    assert_int_equal(symlink(base, out), 0);
    assert_int_equal(kl_savedir_write(save, "out/x", "x", 1, err, sizeof err), -1);
    assert_int_not_equal(access(at("x"), F_OK), 0);
    snprintf(out, sizeof out, "%.4000s/link", save);
    assert_int_equal(symlink(at("y"), out), 0);
    assert_int_equal(kl_savedir_write(save, "link", "x", 1, err, sizeof err), -1);
    assert_int_not_equal(access(at("y"), F_OK), 0);
    /* and it is all gone in a fresh one; what links pointed to is not */
    assert_int_equal(kl_savedir_fresh(&dir, "save", save, sizeof save, err, sizeof err), 0);
    assert_int_equal(access(base, F_OK), 0);
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
    assert_int_equal(kl_savedir_open(&second, base, "../b", err, sizeof err), 0);
    assert_null(strstr(second.root, "/../"));
    assert_int_not_equal(access(at(gone), F_OK), 0);
    assert_int_equal(access(at(other), F_OK), 0);
    assert_int_equal(access(at("not-a-session"), F_OK), 0);
    assert_int_equal(access(dir.root, F_OK), 0); /* our own process's */
    kl_savedir_close(&second);
}

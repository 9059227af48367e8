/* Files on real disks: full ones, missing folders, links, places that may not be written. Each error names
 * the path, and the file that was there is there still. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"

static char dir[64], err[1024];

static int make_folder(void **state) {
    (void)state;
    strcpy(dir, "/tmp/keylock-test-file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}
static int remove_folder(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return access(dir, F_OK) == 0;
}

/* A path in the folder; good until the fourth call after this. */
static const char *at(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", dir, name);
    return out;
}

static void put(const char *name, const char *text, mode_t mode) {
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && fchmod(fd, mode) == 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void has(const char *name, const char *text) {
    void *bytes;
    size_t len;
    assert_int_equal(kl_file_read(at(name), 1 << 20, 0, &bytes, &len, err, sizeof err), 0);
    assert_string_equal(bytes, text);
    assert_int_equal(len, strlen(text));
    free(bytes);
}

static void has_names(unsigned count) {
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, dir, "", err, sizeof err), 0);
    assert_int_equal(list.count, count);
    kl_dir_list_free(&list);
}

static mode_t mode_of(const char *name) {
    struct stat st;
    assert_int_equal(stat(at(name), &st), 0);
    return st.st_mode & 07777;
}

static int save(const char *name, const char *text, unsigned how) {
    err[0] = 0;
    return kl_file_write_whole(at(name), text, strlen(text), how, err, sizeof err);
}

static void says(const char *what, const char *path) {
    if (!strstr(err, what) || !strstr(err, path))
        fail_msg("\"%s\" and %s were expected, \"%s\" came", what, path, err);
}

static void refuses(const char *name, size_t max, unsigned how, int result, const char *why) {
    void *bytes = &bytes;
    size_t len;
    assert_int_equal(kl_file_read(at(name), max, how, &bytes, &len, err, sizeof err), result);
    assert_null(bytes);
    says(why, at(name));
}

static void reading(void **state) {
    (void)state;
    put("a", "abc", 0644);
    put("empty", "", 0600);
    has("a", "abc");
    has("empty", "");
    refuses("none", 10, 0, KL_FILE_ABSENT, "No such file");
    refuses("no/such", 10, 0, KL_FILE_ABSENT, "No such file");
    refuses("a", 2, 0, -1, "expected at most 2 bytes, found 3");
    refuses("a", 10, KL_FILE_PRIVATE, -1, "expected mode 600, found 644");
    assert_int_equal(symlink("a", at("link")), 0);
    has("link", "abc");
    refuses("link", 10, KL_FILE_NO_LINK, -1, "it is a link");
    refuses("link", 10, KL_FILE_PRIVATE, -1, "it is a link");
    refuses("", 10, 0, -1, "a plain file was expected");
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    refuses("pipe", 10, 0, -1, "a plain file was expected"); /* and does not wait for a writer */
    assert_int_equal(symlink("/dev/zero", at("zero")), 0);
    refuses("zero", 10, 0, -1, "a plain file was expected");
}

static void mapping(void **state) {
    (void)state;
    const void *bytes;
    size_t len;
    put("a", "abc", 0644);
    put("empty", "", 0644);
    assert_int_equal(kl_file_map(at("a"), &bytes, &len), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "abc", 3);
    kl_file_unmap(bytes, len);
    assert_int_equal(kl_file_map(at("empty"), &bytes, &len), 0);
    assert_int_equal(len, 0);
    kl_file_unmap(bytes, len);
    assert_int_equal(kl_file_map(at("none"), &bytes, &len), -1);
    assert_int_equal(kl_file_map(dir, &bytes, &len), -1);
}

static void writing_gives_permissions(void **state) {
    (void)state;
    mode_t old = umask(027);
    assert_int_equal(save("usual", "1", 0), 0);
    assert_int_equal(save("public", "1", KL_FILE_PUBLIC), 0);
    assert_int_equal(save("program", "1", KL_FILE_PROGRAM), 0);
    assert_int_equal(save("private", "1", KL_FILE_PRIVATE), 0);
    umask(old);
    assert_int_equal(mode_of("usual"), 0640);
    assert_int_equal(mode_of("public"), 0644);
    assert_int_equal(mode_of("program"), 0755);
    assert_int_equal(mode_of("private"), 0600);
    assert_int_equal(chmod(at("public"), 0664), 0);
    assert_int_equal(save("public", "22", KL_FILE_PUBLIC), 0);
    assert_int_equal(mode_of("public"), 0664); /* one that is there keeps them */
    has("public", "22");
    assert_int_equal(chmod(at("private"), 0644), 0);
    assert_int_equal(save("private", "22", KL_FILE_PRIVATE), 0);
    assert_int_equal(mode_of("private"), 0600); /* but for a private one */
    assert_int_equal(save("private", "333", KL_FILE_PRIVATE | KL_FILE_KEEP), KL_FILE_KEPT);
    has("private", "22");
    assert_int_equal(save("fresh", "4", KL_FILE_PRIVATE | KL_FILE_KEEP), 0);
    has("fresh", "4");
    has_names(5);
}

static void links_stay_or_give_way(void **state) {
    (void)state;
    put("a", "abc", 0644);
    assert_int_equal(symlink("a", at("link")), 0);
    assert_int_equal(save("link", "new", 0), 0);
    has("a", "new");
    assert_int_equal(kl_file_kind_here(at("link")), KL_FILE_IS_LINK);
    assert_int_equal(save("link", "own", KL_FILE_NO_LINK), 0);
    has("a", "new");
    has("link", "own");
    assert_int_equal(kl_file_kind_here(at("link")), KL_FILE_IS_PLAIN);
    assert_int_equal(symlink("a", at("secret")), 0); /* a secret goes into no file that somebody prepared */
    assert_int_equal(save("secret", "s", KL_FILE_PRIVATE), 0);
    has("a", "new");
    assert_int_equal(kl_file_kind_here(at("secret")), KL_FILE_IS_PLAIN);
    assert_int_equal(symlink("nowhere/b", at("dead")), 0);
    assert_int_equal(save("dead", "x", 0), -1);
    says("cannot write through the link", at("dead"));
    assert_int_equal(kl_file_kind_here(at("dead")), KL_FILE_IS_LINK);
}

static void a_missing_folder_is_named(void **state) {
    (void)state;
    assert_int_equal(save("no/such", "x", 0), -1);
    says("cannot write", at("no/such"));
    put("file", "abc", 0600);
    assert_int_equal(save("file/below", "x", 0), -1);
    says("Not a directory", at("file/below"));
    assert_int_equal(mkdir(at("dir"), 0700), 0);
    assert_int_equal(save("dir", "x", 0), -1); /* a folder is not replaced */
    says("cannot write", at("dir"));
    has("file", "abc");
    has_names(2);
}

/* All ways of writing, none of which gets its bytes onto the disk: the old files stay, no half file appears.
 */
static void nothing_fits(const char *why) {
    static char large[300000];
    struct kl_file f;
    struct kl_file_part part[2] = {{"head", 4}, {large, sizeof large}};
    char reason[128] = "", text[64];
    memset(large, 'x', sizeof large);
    assert_int_equal(kl_file_write_whole(at("old"), large, sizeof large, 0, err, sizeof err), -1);
    says(why, at("old"));
    assert_int_equal(kl_file_write_whole(at("new"), large, sizeof large, KL_FILE_PRIVATE, err, sizeof err),
                     -1);
    says(why, at("new"));
    assert_int_equal(kl_file_write_below(dir, "below", large, sizeof large, err, sizeof err), -1);
    says(why, "below");
    has("old", "old");
    assert_int_equal(kl_file_kind_here(at("new")), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_kind_here(at("below")), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_open(&f, at("journal"), false, reason, sizeof reason), 0);
    assert_int_equal(kl_file_append(&f, 3, part, 2, reason, sizeof reason), -1);
    assert_true(*reason);
    kl_file_close(&f);
    snprintf(text, sizeof text, "jou"); /* no half record stays */
    has("journal", text);
    has_names(2);
}

static void limit_files(rlim_t size) {
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void files_may_not_grow(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    put("old", "old", 0644);
    put("journal", "jou", 0600);
    limit_files(1000);
    nothing_fits("File too large");
    limit_files(RLIM_INFINITY);
    has_names(2);
}

static void a_full_disk(void **state) {
    (void)state;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    assert_int_equal(mount("none", dir, "tmpfs", 0, "size=100k,mode=700"), 0);
    put("old", "old", 0644);
    put("journal", "jou", 0600);
    nothing_fits("No space left on device");
    assert_int_equal(umount(dir), 0);
}

static void a_disk_that_may_only_be_read(void **state) {
    (void)state;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    assert_int_equal(mount("none", dir, "tmpfs", 0, "size=100k,mode=700"), 0);
    put("old", "old", 0644);
    assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=100k,mode=700"), 0);
    struct kl_file lock;
    assert_int_equal(save("old", "new", 0), -1);
    says("Read-only file system", at("old"));
    assert_int_equal(save("new", "new", KL_FILE_PRIVATE), -1);
    says("Read-only file system", at("new"));
    assert_int_equal(kl_file_write_below(dir, "a/b", "x", 1, err, sizeof err), -1);
    says("cannot", "a/b");
    assert_int_equal(kl_file_lock(&lock, at("lock"), false, err, sizeof err), -1);
    says("Read-only file system", at("lock"));
    assert_int_equal(kl_file_remove(at("old"), err, sizeof err), -1);
    says("Read-only file system", at("old"));
    assert_int_equal(kl_dir_make(at("x/y"), true, err, sizeof err), -1);
    says("Read-only file system", at("x"));
    has("old", "old");
    assert_int_equal(umount(dir), 0);
}

/* A reader at any moment finds the old text or the new one; a writer that is killed leaves the old one. */
static void a_killed_writer_leaves_the_file_whole(void **state) {
    (void)state;
    static char text[2][200000];
    memset(text[0], 'a', sizeof text[0]);
    memset(text[1], 'b', sizeof text[1]);
    for (unsigned round = 0; round < 20; round++) {
        int ready[2];
        char c;
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (unsigned i = 0;; i++) {
                if (kl_file_write_whole(at("a"), text[i & 1], sizeof text[0], KL_FILE_QUICK, err,
                                        sizeof err) != 0)
                    _exit(1);
                if (i == round && write(ready[1], "x", 1) != 1) _exit(1);
            }
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &c, 1), 1);
        close(ready[0]);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        void *bytes;
        size_t len;
        assert_int_equal(kl_file_read(at("a"), 1 << 20, 0, &bytes, &len, err, sizeof err), 0);
        assert_int_equal(len, sizeof text[0]);
        assert_memory_equal(bytes, text[((const char *)bytes)[0] == 'b'], len);
        free(bytes);
    }
}

static void copies(void **state) {
    (void)state;
    put("a", "abc", 0640);
    assert_int_equal(kl_file_copy(at("a"), at("b"), 0, err, sizeof err), 0);
    has("b", "abc");
    assert_int_equal(mode_of("b"), 0640);
    assert_int_equal(kl_file_copy(at("a"), at("b"), 0, err, sizeof err), KL_FILE_KEPT);
    assert_int_equal(kl_file_copy(at("a"), at("c"), KL_FILE_PROGRAM, err, sizeof err), 0);
    assert_int_equal(mode_of("c"), 0755);
    assert_true(kl_file_equal(at("a"), at("c")));
    put("c", "abd", 0755);
    assert_false(kl_file_equal(at("a"), at("c")));
    assert_false(kl_file_equal(at("a"), at("none")));
    assert_int_equal(kl_file_copy(at("none"), at("c"), 0, err, sizeof err), -1);
    says("cannot read", at("none"));
    has("c", "abd");
}

static int below(const char *path) {
    err[0] = 0;
    return kl_file_write_below(dir, path, "x", 1, err, sizeof err);
}

static void no_link_leads_out(void **state) {
    (void)state;
    char outside[80];
    snprintf(outside, sizeof outside, "%s.out", dir);
    assert_int_equal(mkdir(outside, 0700), 0);
    assert_int_equal(below("one"), 0);
    assert_int_equal(below("a/b/c"), 0);
    has("a/b/c", "x");
    assert_int_equal(below("one"), -1); /* nothing is overwritten */
    says("File exists", "one");
    assert_int_equal(symlink(outside, at("l")), 0);
    assert_int_equal(below("l/c"), -1);
    says("cannot", "l/c");
    snprintf(outside, sizeof outside, "%s.out/f", dir);
    assert_int_equal(symlink(outside, at("m")), 0);
    assert_int_equal(below("m"), -1);
    assert_int_equal(access(outside, F_OK), -1);
    *strrchr(outside, '/') = 0;
    assert_int_equal(rmdir(outside), 0);
}

static void looking(void **state) {
    (void)state;
    char real[300], joined[20];
    put("a", "abc", 0600);
    put("program", "#!", 0700);
    assert_int_equal(symlink("a", at("link")), 0);
    assert_int_equal(kl_file_kind(at("none")), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_kind(at("link")), KL_FILE_IS_PLAIN);
    assert_int_equal(kl_file_kind_here(at("link")), KL_FILE_IS_LINK);
    assert_int_equal(kl_file_kind(dir), KL_FILE_IS_DIR);
    assert_int_equal(kl_file_kind("/dev/null"), KL_FILE_IS_OTHER);
    assert_true(kl_file_readable(at("a")) && !kl_file_readable(at("none")));
    assert_true(kl_file_runnable(at("program")) && !kl_file_runnable(at("a")) && !kl_file_runnable(dir));
    assert_true(kl_file_is_ours(at("a")) && !kl_file_is_ours(at("none")));
    assert_true(kl_file_real(at("link"), real, sizeof real));
    assert_string_equal(real, at("a"));
    assert_false(kl_file_real(at("link"), real, strlen(at("a"))));
    assert_false(kl_file_real(at("none"), real, sizeof real));
    assert_int_equal(kl_file_join(joined, sizeof joined, "/a", "b", err, sizeof err), 0);
    assert_string_equal(joined, "/a/b");
    assert_int_equal(kl_file_join(joined, 4, "/a", "b", err, sizeof err), -1);
    says("too long", "/a");
    assert_int_equal(kl_file_join(joined, sizeof joined, "", "b", err, sizeof err), -1);
    assert_int_equal(kl_file_link("a", at("second"), err, sizeof err), 0);
    assert_true(kl_file_links_to(at("second"), "a"));
    assert_false(kl_file_links_to(at("second"), "ab"));
    assert_false(kl_file_links_to(at("a"), "a"));
    assert_int_equal(kl_file_link("a", at("second"), err, sizeof err), -1);
    says("File exists", at("second"));
    assert_int_equal(kl_file_remove(at("second"), err, sizeof err), 0);
    assert_int_equal(kl_file_remove(at("second"), err, sizeof err), KL_FILE_ABSENT);
    assert_int_equal(kl_file_remove(dir, err, sizeof err), -1);
    says("cannot remove", dir);
}

static void appending(void **state) {
    (void)state;
    struct kl_file f, second;
    const struct kl_file_part part[3] = {{"ab", 2}, {"", 0}, {"cd", 2}};
    char why[128] = "";
    uint8_t *bytes = NULL;
    uint64_t cap = 0, len;
    assert_int_equal(kl_file_open(&f, at("j"), false, why, sizeof why), KL_FILE_ABSENT);
    assert_int_equal(kl_file_open(&f, at("j"), true, why, sizeof why), 0);
    assert_int_equal(kl_file_open(&second, at("j"), true, why, sizeof why), -1);
    assert_string_equal(why, "File exists");
    assert_int_equal(second.handle, -1);
    assert_int_equal(kl_file_append(&f, 0, part, 3, why, sizeof why), 0);
    assert_int_equal(kl_file_append(&f, 4, part, 3, why, sizeof why), 0);
    has("j", "abcdabcd");
    assert_int_equal(kl_file_cut(&f, 5, why, sizeof why), 0);
    assert_int_equal(kl_file_read_open(&f, &bytes, &cap, &len, why, sizeof why), 0);
    assert_int_equal(len, 5);
    assert_memory_equal(bytes, "abcda", 5);
    free(bytes);
    kl_file_close(&f);
    kl_file_close(&f); /* harmless */
    assert_int_equal(chmod(at("j"), 0644), 0);
    assert_int_equal(kl_file_open(&f, at("j"), false, why, sizeof why), -1);
    assert_non_null(strstr(why, "others"));
    assert_int_equal(symlink("j", at("l")), 0);
    assert_int_equal(kl_file_open(&f, at("l"), false, why, sizeof why), -1);
}

/* One process has it; it is free as soon as that process is killed. */
static void locking(void **state) {
    (void)state;
    struct kl_file lock;
    int done[2];
    char c;
    assert_int_equal(pipe(done), 0);
    pid_t child = fork();
    if (child == 0) {
        if (kl_file_lock(&lock, at("lock"), false, err, sizeof err) != 0 || write(done[1], "x", 1) != 1)
            _exit(1);
        alarm(20);
        for (;;)
            pause();
    }
    assert_int_equal(read(done[0], &c, 1), 1);
    assert_int_equal(kl_file_lock(&lock, at("lock"), false, err, sizeof err), KL_FILE_KEPT);
    assert_int_equal(lock.handle, -1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(kl_file_lock(&lock, at("lock"), true, err, sizeof err), 0);
    assert_int_equal(mode_of("lock"), 0600);
    kl_file_unlock(&lock, at("lock"));
    has_names(0);
    assert_int_equal(kl_file_lock(&lock, at("no/lock"), true, err, sizeof err), -1);
    says("cannot lock", at("no/lock"));
    close(done[0]);
    close(done[1]);
}

/* As --json /dev/stdout is one, or /dev/null: the device stays, and gets the bytes. */
static void a_pipe_stays_a_pipe(void **state) {
    (void)state;
    int ends[2];
    char got[8] = "", path[64];
    struct stat st;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(kl_file_write_whole(path, "abc", 3, 0, err, sizeof err), 0);
    assert_int_equal(read(ends[0], got, sizeof got), 3);
    assert_string_equal(got, "abc");
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    int reader = open(at("fifo"), O_RDONLY | O_NONBLOCK);
    assert_int_equal(kl_file_write_whole(at("fifo"), "abc", 3, 0, err, sizeof err), 0);
    assert_true(stat(at("fifo"), &st) == 0 && S_ISFIFO(st.st_mode));
    close(reader);
    close(ends[0]);
    close(ends[1]);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
int main(void) {
    const struct CMUnitTest tests[] = {
        T(reading),
        T(mapping),
        T(writing_gives_permissions),
        T(links_stay_or_give_way),
        T(a_missing_folder_is_named),
        T(files_may_not_grow),
        T(a_full_disk),
        T(a_disk_that_may_only_be_read),
        T(a_killed_writer_leaves_the_file_whole),
        T(a_pipe_stays_a_pipe),
        T(copies),
        T(no_link_leads_out),
        T(looking),
        T(appending),
        T(locking),
    };
    return cmocka_run_group_tests_name("platform_file", tests, NULL, NULL);
}

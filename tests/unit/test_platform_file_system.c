/* Files where a system is like no other. Linux: permissions, full disks, links, places that may not be
 * written, pipes. Windows: what another program holds open, and what is protected from writing. */
#include "tests/unit/folder.h"

#ifdef _WIN32
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/thread.h"
#include "net/platform/windows/disk.h"
#else
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#ifdef _WIN32

static HANDLE keep_open(const char *name, DWORD share) {
    wchar_t wide[KL_WIDE_PATH];
    assert_true(kl_wide_path(wide, at(name)));
    HANDLE file = CreateFileW(wide, GENERIC_READ, share, NULL, OPEN_EXISTING, 0, NULL);
    assert_true(file != INVALID_HANDLE_VALUE);
    return file;
}

static void close_soon(void *file) {
    kl_sleep_us(150000);
    CloseHandle(file);
}

/* A virus scanner, say, or RetroArch. */
TEST_WITH(another_program_has_the_file_open, make_folder, remove_folder) {
    struct kl_thread t;
    put("a", "old");
    HANDLE file = keep_open("a", FILE_SHARE_READ);
    uint64_t from_us = kl_now_us();
    assert_int_equal(save("a", "new", 0), -1); /* it keeps it: the old file stays, and no other */
    assert_in_range(kl_now_us() - from_us, 400000, 5000000);
    says("cannot write", at("a"));
    has("a", "old");
    has_names(1);
    assert_int_equal(kl_thread_start(&t, "close_soon", close_soon, file), 0);
    assert_int_equal(save("a", "new", 0), 0); /* it lets it go */
    kl_thread_join(&t);
    has("a", "new");
    file = keep_open("a", 0);
    assert_int_equal(kl_thread_start(&t, "close_soon", close_soon, file), 0);
    has("a", "new"); /* nobody may read it meanwhile */
    kl_thread_join(&t);
    file = keep_open("a", 0);
    assert_int_equal(kl_thread_start(&t, "close_soon", close_soon, file), 0);
    assert_int_equal(kl_file_remove(at("a"), err, sizeof err), 0);
    kl_thread_join(&t);
    has_names(0);
}

TEST_WITH(a_file_protected_from_writing_stays, make_folder, remove_folder) {
    put("a", "old");
    disk_forbid_writing(at("a"), true);
    uint64_t from_us = kl_now_us();
    assert_int_equal(save("a", "new", 0), -1);
    assert_true(kl_now_us() - from_us < 400000); /* waiting would not help */
    says("Permission denied", at("a"));
    has("a", "old");
    has_names(1);
}
#else

static mode_t mode_of(const char *name) {
    struct stat st;
    assert_int_equal(stat(at(name), &st), 0);
    return st.st_mode & 07777;
}

TEST_WITH(links_and_pipes_are_told, make_folder, remove_folder) {
    char real[300];
    put("a", "abc");
    assert_int_equal(symlink("a", at("link")), 0);
    has("link", "abc");
    refuses("link", 10, KL_FILE_NO_LINK, -1, "it is a link");
    refuses("link", 10, KL_FILE_PRIVATE, -1, "it is a link");
    open_to_others("a");
    refuses("a", 10, KL_FILE_PRIVATE, -1, "expected mode 600, found 644");
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    refuses("pipe", 10, 0, -1, "a plain file was expected"); /* and does not wait for a writer */
    assert_int_equal(symlink("/dev/zero", at("zero")), 0);
    refuses("zero", 10, 0, -1, "a plain file was expected");
    assert_int_equal(kl_file_kind(at("link")), KL_FILE_IS_PLAIN);
    assert_int_equal(kl_file_kind_here(at("link")), KL_FILE_IS_LINK);
    assert_true(kl_file_real(at("link"), real, sizeof real));
    assert_string_equal(real, at("a"));
    struct kl_file f;
    assert_int_equal(kl_file_open(&f, at("link"), false, err, sizeof err), -1);
    assert_int_equal(symlink(at("out"), at("m")), 0);
    assert_int_equal(below("m"), -1);
    assert_int_equal(access(at("out"), F_OK), -1);
}

TEST_WITH(writing_gives_permissions, make_folder, remove_folder) {
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
    put("a", "abc");
    assert_int_equal(chmod(at("a"), 0640), 0);
    assert_int_equal(kl_file_copy(at("a"), at("b"), 0, err, sizeof err), 0);
    assert_int_equal(mode_of("b"), 0640);
    assert_int_equal(kl_file_copy(at("a"), at("c"), KL_FILE_PROGRAM, err, sizeof err), 0);
    assert_int_equal(mode_of("c"), 0755);
}

TEST_WITH(links_stay_or_give_way, make_folder, remove_folder) {
    put("a", "abc");
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

/* All ways of writing, none of which gets its bytes onto the disk: the old files stay, no half file appears.
 */
static void nothing_fits(const char *why) {
    static char large[300000];
    struct kl_file f;
    struct kl_file_part part[2] = {{"head", 4}, {large, sizeof large}};
    char reason[128] = "";
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
    has("journal", "jou"); /* no half record stays */
    has_names(2);
}

static void limit_files(rlim_t size) {
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

TEST_WITH(files_may_not_grow, make_folder, remove_folder) {
    signal(SIGXFSZ, SIG_IGN);
    put("old", "old");
    put("journal", "jou");
    limit_files(1000);
    nothing_fits("File too large");
    limit_files(RLIM_INFINITY);
    has_names(2);
}

TEST_WITH(a_disk_that_may_only_be_read, make_folder, remove_folder) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    assert_int_equal(mount("none", dir, "tmpfs", 0, "size=100k,mode=700"), 0);
    put("old", "old");
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

/* As --json /dev/stdout is one, or /dev/null: the device stays, and gets the bytes. */
TEST_WITH(a_pipe_stays_a_pipe, make_folder, remove_folder) {
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

#endif

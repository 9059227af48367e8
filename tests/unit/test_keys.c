/* A relay's long-term key: its file, and its fingerprint. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/session/keys.h"
#include "tests/lib/files.h"

static char folder[64], dir[128], file[160];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/keylock-keys-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(dir, sizeof dir, "%s/state/relay", folder);
    snprintf(file, sizeof file, "%s/relay.key", dir);
    return 0;
}
static int remove_folder(void **state) {
    (void)state;
    char parent[128];
    (void)unlink(file);
    (void)rmdir(file);
    (void)rmdir(dir); /* fails where something was left behind: then the next fails too */
    snprintf(parent, sizeof parent, "%s/state", folder);
    (void)rmdir(parent);
    return rmdir(folder);
}

TEST(fingerprints) {
    uint8_t pub[32];
    char text[KL_FINGERPRINT_CHARS + 1], upper[KL_FINGERPRINT_CHARS + 1];
    for (unsigned i = 0; i < 32; i++)
        pub[i] = (uint8_t)i;
    kl_fingerprint(pub, text);
    assert_string_equal(text, "wgythom7kfxgzawo3kes55npkd5ewttr"); /* by Python's hashlib and base64 */
    assert_true(kl_fingerprint_valid(text));
    assert_true(kl_fingerprint_is(text, pub));
    for (unsigned i = 0; i <= KL_FINGERPRINT_CHARS; i++)
        upper[i] = text[i] >= 'a' ? (char)(text[i] - 32) : text[i];
    assert_true(kl_fingerprint_is(upper, pub));
    for (unsigned i = 0; i < KL_FINGERPRINT_CHARS; i++) {
        char other[KL_FINGERPRINT_CHARS + 1];
        strcpy(other, text);
        other[i] = other[i] == 'a' ? 'b' : 'a';
        assert_true(kl_fingerprint_valid(other));
        assert_false(kl_fingerprint_is(other, pub));
    }
    assert_false(kl_fingerprint_valid(""));
    assert_false(kl_fingerprint_valid("wgythom7kfxgzawo3kes55npkd5ewtt"));
    assert_false(kl_fingerprint_valid("wgythom7kfxgzawo3kes55npkd5ewttrr"));
    assert_false(kl_fingerprint_valid("wgythom7kfxgzawo3kes55npkd5ewtt1")); /* not of the alphabet */
    assert_false(kl_fingerprint_valid("wgythom7kfxgzawo3kes55npkd5ewtt "));
    assert_false(kl_fingerprint_is("", pub));
}

TEST_WITH(made_once_and_read_again, make_folder, remove_folder) {
    struct kl_keypair one, two;
    char err[256] = "";
    struct stat st;
    assert_int_equal(kl_keys_open(dir, &one, err, sizeof err), 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 32);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(kl_keys_open(dir, &two, err, sizeof err), 0);
    assert_memory_equal(&one, &two, sizeof one);
    struct kl_keypair again = two;
    memset(again.pub, 0, 32);
    kl_keypair_complete(&again);
    assert_memory_equal(&again, &two, sizeof two);
}

static void refuses_and_leaves(const char *text) {
    struct kl_keypair k;
    char err[256] = "";
    struct stat before, after;
    assert_int_equal(lstat(file, &before), 0);
    assert_int_equal(kl_keys_open(dir, &k, err, sizeof err), -1);
    if (!strstr(err, text)) fail_msg("\"%s\" was expected, \"%s\" came", text, err);
    assert_int_equal(lstat(file, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mode, after.st_mode);
    assert_true(before.st_ino == after.st_ino);
}

TEST_WITH(files_that_are_no_key_are_left_alone, make_folder, remove_folder) {
    struct kl_keypair k;
    uint8_t bytes[33] = {1};
    char err[256] = "";
    assert_int_equal(kl_keys_open(dir, &k, err, sizeof err), 0);
    file_write(file, bytes, 31, 0600);
    refuses_and_leaves("expected 32 bytes, found 31");
    file_write(file, bytes, 33, 0600);
    refuses_and_leaves("expected 32 bytes, found 33");
    file_write(file, bytes, 0, 0600);
    refuses_and_leaves("expected 32 bytes, found 0");
    file_write(file, bytes, 32, 0640);
    refuses_and_leaves("may be read by others: expected mode 600, found 640");
    file_write(file, bytes, 32, 0604);
    refuses_and_leaves("may be read by others: expected mode 600, found 604");
    (void)unlink(file);
    assert_int_equal(symlink("/dev/zero", file), 0);
    refuses_and_leaves("cannot read");
    (void)unlink(file); /* nor is a key that somebody else may exchange */
    char elsewhere[sizeof file + 8];
    snprintf(elsewhere, sizeof elsewhere, "%s.moved", file);
    file_write(file, bytes, 32, 0600);
    assert_int_equal(rename(file, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, file), 0);
    refuses_and_leaves("cannot read");
    (void)unlink(elsewhere);
    (void)unlink(file);
    assert_int_equal(mkfifo(file, 0600), 0);
    refuses_and_leaves("a plain file was expected");
    (void)unlink(file);
    assert_int_equal(mkdir(file, 0700), 0);
    refuses_and_leaves("a plain file was expected");
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(kl_keys_open("", &k, err, sizeof err), -1);
    assert_int_equal(kl_keys_open("/dev/null/x", &k, err, sizeof err), -1);
}

/* Two relays that start at the same moment in one folder: one key. */
TEST_WITH(two_at_once_agree, make_folder, remove_folder) {
    for (unsigned round = 0; round < 20; round++) {
        int ends[2];
        uint8_t keys[4][32];
        assert_int_equal(pipe(ends), 0);
        for (unsigned i = 0; i < COUNT(keys); i++) {
            if (fork() != 0) continue;
            struct kl_keypair k;
            char err[256];
            if (kl_keys_open(dir, &k, err, sizeof err) != 0) _exit(1);
            _exit(write(ends[1], k.secret, 32) != 32);
        }
        for (unsigned i = 0; i < COUNT(keys); i++) {
            int status;
            assert_true(wait(&status) > 0);
            assert_int_equal(status, 0);
            assert_int_equal(read(ends[0], keys[i], 32), 32);
            assert_memory_equal(keys[i], keys[0], 32);
        }
        close(ends[0]), close(ends[1]);
        assert_int_equal(unlink(file), 0);
    }
}

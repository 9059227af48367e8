/* A relay's long-term key: its file, and its fingerprint. net/PROTOCOL.md §9. */
#include "tests/unit/folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "net/session/keys.h"
#include "tests/lib/files.h"

static char relay[300], file[320];

static int begin(void **state) {
    int failed = make_folder(state);
    snprintf(relay, sizeof relay, "%s/state/relay", dir);
    snprintf(file, sizeof file, "%s/relay.key", relay);
    return failed;
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

TEST_WITH(made_once_and_read_again, begin, remove_folder) {
    struct kl_relay_key one, two;
    struct stat st;
    assert_int_equal(kl_keys_open(relay, &one, err, sizeof err), 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 40);
    assert_int_equal(stat(relay, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(kl_keys_open(relay, &two, err, sizeof err), 0);
    assert_memory_equal(&one, &two, sizeof one);
    assert_true(one.signs);
    assert_true(kl_relay_key_is(one.sign_pub, one.exchange.pub));
}

/* The form of before: an X25519 secret alone. It stays as it is, and signs nothing. */
TEST_WITH(a_key_of_before_is_read, begin, remove_folder) {
    struct kl_relay_key k;
    struct kl_keypair plain;
    struct stat st;
    kl_keypair_make(&plain);
    assert_int_equal(kl_keys_open(relay, &k, err, sizeof err), 0);
    file_write(file, plain.secret, sizeof plain.secret, 0600);
    assert_int_equal(kl_keys_open(relay, &k, err, sizeof err), 0);
    assert_memory_equal(&k.exchange, &plain, sizeof plain);
    assert_false(k.signs);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_size, 32);
}

static void hex(uint8_t out[32], const char *text) {
    size_t len;
    assert_int_equal(sodium_hex2bin(out, 32, text, strlen(text), NULL, &len, NULL), 0);
    assert_int_equal(len, 32);
}

/* The seed of RFC 8032's first test vector; the X25519 keys by Python: SHA-512's first half, clamped, and
 * (1 + y) / (1 - y) modulo 2^255 - 19. */
TEST(a_seed_gives_both_keys) {
    uint8_t seed[KL_RELAY_SEED], wanted[32], none[32] = {0};
    struct kl_relay_key k, other;
    hex(seed, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    kl_relay_key_from_seed(&k, seed);
    hex(wanted, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_memory_equal(k.sign_pub, wanted, 32);
    hex(wanted, "307c83864f2833cb427a2ef1c00a013cfdff2768d980c0a3a520f006904de94f");
    assert_memory_equal(k.exchange.secret, wanted, 32);
    hex(wanted, "d85e07ec22b0ad881537c2f44d662d1a143cf830c57aca4305d85c7a90f6b62e");
    assert_memory_equal(k.exchange.pub, wanted, 32);
    seed[0] ^= 1;
    kl_relay_key_from_seed(&other, seed);
    assert_true(kl_relay_key_is(k.sign_pub, k.exchange.pub));
    assert_false(kl_relay_key_is(other.sign_pub, k.exchange.pub));
    assert_false(kl_relay_key_is(none, k.exchange.pub));
}

static void refuses_and_leaves(const char *text) {
    struct kl_relay_key k;
    struct stat before, after;
    assert_int_equal(lstat(file, &before), 0);
    assert_int_equal(kl_keys_open(relay, &k, err, sizeof err), -1);
    if (!strstr(err, text)) fail_msg("\"%s\" was expected, \"%s\" came", text, err);
    assert_int_equal(lstat(file, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mode, after.st_mode);
    assert_true(before.st_ino == after.st_ino);
}

TEST_WITH(files_that_are_no_key_are_left_alone, begin, remove_folder) {
    struct kl_relay_key k;
    uint8_t bytes[41] = {1};
    assert_int_equal(kl_keys_open(relay, &k, err, sizeof err), 0);
    static const unsigned wrong[] = {0, 31, 33, 40, 41};
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        char found[64];
        snprintf(found, sizeof found, "or 32 bytes alone, found %u bytes", wrong[i]);
        file_write(file, bytes, wrong[i], 0600);
        refuses_and_leaves(found);
    }
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
TEST_WITH(two_at_once_agree, begin, remove_folder) {
    for (unsigned round = 0; round < 20; round++) {
        int ends[2];
        uint8_t keys[4][32];
        assert_int_equal(pipe(ends), 0);
        for (unsigned i = 0; i < COUNT(keys); i++) {
            if (fork() != 0) continue;
            struct kl_relay_key k;
            if (kl_keys_open(relay, &k, err, sizeof err) != 0) _exit(1);
            _exit(write(ends[1], k.sign_pub, 32) != 32);
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

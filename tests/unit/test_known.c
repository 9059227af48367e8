/* Relays met by name, and the private files they stand in. net/PROTOCOL.md §9. */
#include "tests/unit/folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/session/keys.h"
#include "tests/lib/files.h"

static char file[300];
static const uint8_t one[32] = {1}, two[32] = {2};

static int make_file(void **state) {
    int failed = make_folder(state);
    snprintf(file, sizeof file, "%s/relays", dir);
    return failed;
}

static int check(const char *host, unsigned port, const uint8_t *pub) {
    err[0] = 0;
    return kl_known_check(dir, host, (uint16_t)port, pub, err, sizeof err);
}

TEST_WITH(pinned_at_first_use, make_file, remove_folder) {
    struct stat st;
    assert_int_equal(check("example.org", 55435, one), KL_KNOWN_PINNED);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(check("example.org", 55435, one), KL_KNOWN_SAME);
    assert_int_equal(check("EXAMPLE.org", 55435, one), KL_KNOWN_SAME);
    assert_int_equal(check("example.org", 55436, two), KL_KNOWN_PINNED); /* another port is another relay */
    assert_int_equal(check("example.or", 55435, two), KL_KNOWN_PINNED);
    assert_int_equal(check("example.org.", 55435, two), KL_KNOWN_PINNED);
    assert_int_equal(check("example.org", 55435, one), KL_KNOWN_SAME);
    has_names(2); /* and the lock */
}

TEST_WITH(a_change_shows_both, make_file, remove_folder) {
    char a[KL_FINGERPRINT_CHARS + 1], b[KL_FINGERPRINT_CHARS + 1];
    kl_fingerprint(one, a), kl_fingerprint(two, b);
    assert_int_equal(check("h", 1, one), KL_KNOWN_PINNED);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(check("h", 1, two), KL_KNOWN_CHANGED);
        assert_non_null(strstr(err, a));
        assert_non_null(strstr(err, b));
        assert_non_null(strstr(err, "relay h:1 "));
        assert_non_null(strstr(err, file));
    }
    assert_int_equal(check("h", 1, one), KL_KNOWN_SAME); /* and nothing was written over */
}

TEST_WITH(a_file_that_is_not_ours_is_left_alone, make_file, remove_folder) {
    static const char *wrong[] = {"h:1\n",
                                  "h:1 short\n",
                                  " wgythom7kfxgzawo3kes55npkd5ewttr\n",
                                  "\n",
                                  "# h:1 x\n",
                                  "h:1 wgythom7kfxgzawo3kes55npkd5ewttr", /* cut */
                                  "h:1 wgythom7kfxgzawo3kes55npkd5ewttr\r\n"};
    struct stat st;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        file_write(file, wrong[i], strlen(wrong[i]), 0600);
        assert_int_equal(check("other", 1, one), KL_KNOWN_FAILED);
        assert_non_null(strstr(err, "line 1: expected HOST:PORT FINGERPRINT"));
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_size, strlen(wrong[i]));
    }
    static const char cut_short[] = "h:1 wgythom7kfxgzawo3kes55npkd5ewttr\n\0more\n";
    file_write(file, cut_short, sizeof cut_short - 1, 0600);
    assert_int_equal(check("other", 1, one), KL_KNOWN_FAILED);
    assert_non_null(strstr(err, "a zero byte"));
    file_write(file, "", 0, 0644);
    assert_int_equal(check("h", 1, one), KL_KNOWN_FAILED);
    assert_non_null(strstr(err, "expected mode 600, found 644"));
    static char huge[400000];
    memset(huge, 'x', sizeof huge);
    file_write(file, huge, sizeof huge, 0600);
    assert_int_equal(check("h", 1, one), KL_KNOWN_FAILED);
    assert_non_null(strstr(err, "is too long"));
    file_write(file, "", 0, 0600);
    assert_int_equal(check("h", 1, one), KL_KNOWN_PINNED);
    assert_int_equal(check("", 1, one), KL_KNOWN_FAILED);
    assert_int_equal(check("a b", 1, one), KL_KNOWN_FAILED);
    assert_int_equal(check("a\nb", 1, one), KL_KNOWN_FAILED);
    memset(huge, 'h', 253);
    huge[253] = 0;
    assert_int_equal(check(huge, 65535, one), KL_KNOWN_PINNED);
    assert_int_equal(check(huge, 65535, one), KL_KNOWN_SAME);
    huge[253] = 'h', huge[254] = 0;
    assert_int_equal(check(huge, 65535, one), KL_KNOWN_FAILED);
}

TEST_WITH(it_does_not_grow_for_ever, make_file, remove_folder) {
    static char text[KL_KNOWN_MAX * 64];
    size_t len = 0;
    for (unsigned i = 0; i < KL_KNOWN_MAX - 1; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "h:%u wgythom7kfxgzawo3kes55npkd5ewttr\n", i + 1);
    file_write(file, text, len, 0600);
    assert_int_equal(check("last", 1, one), KL_KNOWN_PINNED);
    assert_int_equal(check("more", 1, one), KL_KNOWN_FAILED);
    assert_non_null(strstr(err, "is full"));
    assert_int_equal(check("last", 1, one), KL_KNOWN_SAME);
}

/* Eight players start at once on one machine, each with a relay of his own: none of the eight is lost. */
TEST_WITH(all_at_once, make_file, remove_folder) {
    enum { N = 8 };
    for (unsigned i = 0; i < N; i++)
        if (fork() == 0) _exit(check("h", 100 + i, one) != KL_KNOWN_PINNED);
    for (unsigned i = 0; i < N; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(check("h", 100 + i, one), KL_KNOWN_SAME);
}

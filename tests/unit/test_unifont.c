/* The font's file: its letters, and files that are missing, cut off or hostile. */
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "core_wrapper/draw/font.h"
#include "net/platform/file.h"
#include "tests/lib/own_font.h"

static char err[512];

static int read_bytes(const void *bytes, size_t len) {
    const char *path = own_file(bytes, len);
    int r = kl_unifont_read(path, err, sizeof err);
    unlink(path);
    return r;
}

static int drop(void **state) {
    (void)state;
    kl_unifont_drop();
    return 0;
}

TEST_WITH(letters_are_found, NULL, drop) {
    struct kl_glyph g;
    assert_int_equal(read_bytes(OWN_FONT, strlen(OWN_FONT)), 0);
    assert_true(kl_unifont_find(0xf6, &g));
    assert_int_equal(g.halves, 1);
    static const uint16_t rows[] = {0,      0,      0x2400, 0x2400, 0,      0,      0x3c00, 0x4200,
                                    0x4200, 0x4200, 0x4200, 0x4200, 0x4200, 0x3c00, 0,      0};
    assert_memory_equal(g.row, rows, sizeof rows);
    assert_true(kl_unifont_find(0x0444, &g));
    assert_int_equal(g.row[1], 0x2300);
    assert_int_equal(g.row[7], 0xef00);
    assert_true(kl_unifont_find(0x5bfe, &g));
    assert_int_equal(g.halves, 2);
    assert_int_equal(g.row[15], 0xffff);
    static const unsigned there[] = {0x20, 0x3a, 0x61, 0x6f, 0x7f, 0x430, 0x200e, 0x1f3ae};
    for (size_t i = 0; i < COUNT(there); i++)
        assert_true(kl_unifont_find(there[i], &g));
    static const unsigned absent[] = {0, 0x1f, 0x21, 0x62, 0x5bfd, 0x5bff, 0x1f3ad, 0x1f3af, 0x10ffff, ~0u};
    for (size_t i = 0; i < COUNT(absent); i++)
        assert_false(kl_unifont_find(absent[i], &g));
}

TEST_WITH(without_a_file_there_is_no_letter, NULL, drop) {
    struct kl_glyph g;
    assert_int_equal(read_bytes(OWN_FONT, strlen(OWN_FONT)), 0);
    assert_int_equal(kl_unifont_read("/tmp/keylock-there-is-no-such-font", err, sizeof err), KL_FILE_ABSENT);
    assert_non_null(strstr(err, "/tmp/keylock-there-is-no-such-font"));
    assert_false(kl_unifont_find('a', &g));
    assert_int_equal(kl_unifont_read("/tmp", err, sizeof err), -1);
    assert_int_equal(kl_unifont_read("/dev/zero", err, sizeof err), -1);
    assert_false(kl_unifont_find('a', &g));
}

/* Cut off anywhere but behind a line, the file is refused, and no letter of it is there. */
TEST_WITH(a_file_that_is_cut_off_is_refused, NULL, drop) {
    struct kl_glyph g;
    for (size_t len = 0; len < strlen(OWN_FONT); len++) {
        bool whole = len && OWN_FONT[len - 1] == '\n';
        assert_int_equal(read_bytes(OWN_FONT, len), whole ? 0 : -1);
        assert_int_equal(kl_unifont_find(0x20, &g), whole);
    }
}

TEST_WITH(a_hostile_file_is_refused_in_one_line, NULL, drop) {
    static const struct {
        const char *text;
        unsigned line;
    } cases[] = {
        {"", 1},
        {"\n", 1},
        {"0041", 1},
        {"41:" OWN_NARROW "\n", 1},
        {"0000041:" OWN_NARROW "\n", 1},
        {"0041:\n", 1},
        {"0041:" OWN_NARROW "0\n", 1},
        {"0041:" OWN_WIDE "00\n", 1},
        {"0041:" OWN_NARROW "\r\n", 1},
        {"004G:" OWN_NARROW "\n", 1},
        {"-041:" OWN_NARROW "\n", 1},
        {"0041:" OWN_NARROW "\n0041:" OWN_NARROW "\n", 2},
        {"0041:" OWN_NARROW "\n0040:" OWN_NARROW "\n", 2},
        {"0041:" OWN_NARROW "\n\x1b[2J\xe2\x80\xae:" OWN_NARROW "\n", 2},
        {"0041:" OWN_NARROW "\n# a comment\n", 2},
    };
    struct kl_glyph g;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char want[32];
        assert_int_equal(read_bytes(cases[i].text, strlen(cases[i].text)), -1);
        snprintf(want, sizeof want, " line %u: ", cases[i].line);
        assert_non_null(strstr(err, want));
        assert_null(strchr(err, '\n'));
        assert_null(strchr(err, '\x1b'));
        assert_false(kl_unifont_find(0x41, &g));
    }
    static const char zeros[] = "0041:" OWN_NARROW "\n\0\0\0\0\0\0\0\0";
    assert_int_equal(read_bytes(zeros, sizeof zeros), -1);
}

/* Any bytes: the file is refused, or every letter of it can be had. */
TEST_WITH(random_bytes_do_no_harm, NULL, drop) {
    static const char some[] = "0123456789ABCDEF:\n\0x";
    static char bytes[sizeof OWN_FONT];
    srand(7);
    for (unsigned round = 0; round < 2000; round++) {
        struct kl_glyph g;
        memcpy(bytes, OWN_FONT, sizeof bytes);
        for (int n = rand() % 4; n >= 0; n--)
            bytes[(size_t)rand() % sizeof bytes] = some[(size_t)rand() % (sizeof some - 1)];
        read_bytes(bytes, (size_t)rand() % sizeof bytes);
        for (unsigned code = 0; code < 0x500; code += 7)
            if (kl_unifont_find(code, &g)) assert_in_range(g.halves, 1, 2);
    }
}

TEST_WITH(a_file_of_more_than_the_bound_is_not_read, NULL, drop) {
    const char *path = own_file(OWN_FONT, strlen(OWN_FONT));
    assert_int_equal(truncate(path, KL_UNIFONT_BYTES + 1), 0);
    assert_int_equal(kl_unifont_read(path, err, sizeof err), -1);
    assert_null(strstr(err, "line"));
    unlink(path);
}

/* The package's own files, if it is installed. */
TEST_WITH(the_package_has_what_is_expected, NULL, drop) {
    struct kl_glyph g;
    int r = kl_unifont_read("", err, sizeof err);
    if (r == KL_FILE_ABSENT) skip();
    assert_int_equal(r, 0);
    static const unsigned there[] = {'A', 0xf6, 0x442, 0x44b, 0x5bfe, 0x6226, 0xac00, 0xfffd};
    for (size_t i = 0; i < COUNT(there); i++)
        assert_true(kl_unifont_find(there[i], &g));
}

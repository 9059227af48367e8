/* Letters: the small font; the file of GNU Unifont, which may be missing, cut off or hostile; and a line of
 * text with both: small without other scripts, tall with them. Names stay plain. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core_wrapper/draw/canvas.h"
#include "core_wrapper/draw/font.h"
#include "net/platform/file.h"
#include "tests/lib/own_font.h"

static struct kl_letters l;
static char err[512];

static int with_font(void **state) {
    (void)state;
    const char *path = own_file(OWN_FONT, strlen(OWN_FONT));
    int r = kl_unifont_read(path, err, sizeof err);
    unlink(path);
    return r;
}
static int drop(void **state) {
    (void)state;
    kl_unifont_drop();
    return 0;
}

/* The letters of head and words, drawn as one line. */
static void set(const char *head, const char *words) {
    char line[600];
    snprintf(line, sizeof line, "%s%s", head, words);
    kl_letters_set(&l, line, strlen(head));
}

#define CHECK_CODES(...)                                                                                     \
    do {                                                                                                     \
        static const unsigned want[] = {__VA_ARGS__};                                                        \
        assert_int_equal(l.count, COUNT(want));                                                              \
        for (unsigned i_ = 0; i_ < l.count; i_++)                                                            \
            assert_int_equal(l.at[i_].code, want[i_]);                                                       \
    } while (0)

TEST_WITH(ascii_is_small, with_font, drop) {
    set("a: ", "ao \xc2\xb7 \xe2\x80\xa6");
    assert_false(l.tall);
    CHECK_CODES('a', ':', ' ', 'a', 'o', ' ', KL_FONT_DOT, ' ', '.');
    assert_int_equal(kl_letters_width(&l), KL_FONT_WIDTH);
    assert_int_equal(kl_letters_height(&l), KL_FONT_HEIGHT + 1);
}

TEST_WITH(another_script_is_tall_and_a_wide_letter_takes_two_cells, with_font, drop) {
    set("a: ", "o\xd0\xb0\xe5\xaf\xbe\xf0\x9f\x8e\xae");
    assert_true(l.tall);
    CHECK_CODES('a', ':', ' ', 'o', 0x430, 0x5bfe, 0x1f3ae);
    static const unsigned char cells[] = {1, 1, 1, 1, 1, 2, 2};
    for (unsigned i = 0; i < l.count; i++)
        assert_int_equal(l.at[i].cells, cells[i]);
    assert_int_equal(kl_letters_width(&l), 8);
    assert_int_equal(kl_letters_height(&l), 17);
}

TEST_WITH(a_letter_that_no_font_has_is_a_box, with_font, drop) {
    set("", "\xd0\xb0\xe6\x88\xa6");
    assert_false(l.tall); /* no words */
    set("a ", "\xe6\x88\xa6");
    assert_false(l.tall);
    CHECK_CODES('a', ' ', KL_FONT_BOX);
    set("a ", "\xd0\xb0\xe6\x88\xa6");
    assert_true(l.tall);
    CHECK_CODES('a', ' ', 0x430, KL_LETTERS_BOX);
}

/* In a name a letter of another script is a box: Cyrillic a is none of Latin. */
TEST_WITH(names_stay_plain, with_font, drop) {
    set("\xd0\xb0\xc3\xb6: ", "\xd0\xb0");
    assert_true(l.tall);
    CHECK_CODES(KL_LETTERS_BOX, 0xf6, ':', ' ', 0x430);
    set("\xd0\xb0\xc3\xb6: ", "a");
    assert_false(l.tall);
    CHECK_CODES(KL_FONT_BOX, 0xf6, ':', ' ', 'a');
    kl_letters_set(&l, "\xd0\xb0", 0);
    assert_false(l.tall);
    CHECK_CODES(KL_FONT_BOX);
    kl_letters_set(&l, "\xd0\xb0", 99);
    CHECK_CODES(KL_FONT_BOX);
}

/* Control characters, turns of direction and bad bytes are boxes, though the font has a picture; marks that
 * stand over other letters, and characters without width, are left out, however many. */
TEST_WITH(nothing_leaves_its_cell, with_font, drop) {
    set("a ", "\xd0\xb0\xe2\x80\x8e\x01\xc2\x85\xff\xee\x80\x80");
    CHECK_CODES('a', ' ', 0x430, 0, 0, 0, 0, 0);
    set("a ", "\xd0\xb0\xcc\x81\xcc\x81\xe2\x80\x8b\xef\xb8\x8f\xef\xbb\xbfo");
    CHECK_CODES('a', ' ', 0x430, 'o');
    set("a ", "o\xcc\x88\xe2\x80\x8d"
              "a");
    assert_false(l.tall);
    CHECK_CODES('a', ' ', 'o', 'a');
    set("\xcc\x88 ", "");
    CHECK_CODES(KL_FONT_BOX, ' ');
    char many[2 * 250 + 1];
    for (size_t i = 0; i < 250; i++)
        memcpy(many + 2 * i, "\xcc\x88", 3);
    set("a ", many);
    CHECK_CODES('a', ' ');
    memset(many, 'a', sizeof many - 1);
    set("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", many);
    assert_int_equal(l.count, KL_LETTERS_MAX);
}

TEST(without_unifont_all_is_small) {
    set("a: ", "h\xc3\xb6her \xe5\xaf\xbe");
    assert_false(l.tall);
    CHECK_CODES('a', ':', ' ', 'h', 0xf6, 'h', 'e', 'r', ' ', KL_FONT_BOX);
}

TEST(unifont_is_read_when_words_need_it) {
    assert_true(kl_letters_need_unifont("a: \xe5\xaf\xbe", 3));
    assert_true(kl_letters_need_unifont("a: \xc3\x90", 3));
    assert_false(kl_letters_need_unifont("a: \xc3\xb6\xc3\x9f", 3));
    assert_false(kl_letters_need_unifont("a: ok \xe2\x80\xa6\xc2\xb1\xcc\x81", 3));
    assert_false(kl_letters_need_unifont("\xe5\xaf\xbe: ok", 5));
    assert_false(kl_letters_need_unifont("\xe5\xaf\xbe", 0));
    assert_false(kl_letters_need_unifont("a", 9));
    assert_false(kl_letters_need_unifont("a: \x01\xff\xe2\x80\x8e", 3));
}

static uint64_t shape(unsigned code) {
    uint64_t bits = 0;
    for (unsigned y = 0; y < KL_FONT_HEIGHT; y++)
        for (unsigned x = 0; x < KL_FONT_WIDTH; x++)
            bits = bits << 1 | kl_font_dot(code, x, y);
    return bits;
}

/* All but the letters of U+00C0 to U+00FF that are shown as another. */
static bool is_there(unsigned code) {
    return code <= KL_FONT_LAST || (code >= 0xc0 && code <= 0xff &&
                                    !strchr("\xc6\xd0\xd7\xd8\xde\xdf\xe6\xf0\xf7\xf8\xfe", (char)code));
}

TEST(every_character_has_a_shape_of_its_own) {
    assert_int_equal(shape(' '), 0);
    for (unsigned a = 0x21; a <= 0xff; a++) {
        if (!is_there(a)) continue;
        if (shape(a) == 0) fail_msg("character 0x%02x is empty", a);
        for (unsigned b = 0x20; b < a; b++)
            if (is_there(b) && shape(a) == shape(b)) fail_msg("0x%02x and 0x%02x look the same", a, b);
    }
}

TEST(cells_keep_a_gap_and_nothing_lies_outside) {
    for (unsigned code = 0; code < 0x180; code++) {
        for (unsigned i = 0; i < 16; i++) {
            assert_false(kl_font_dot(code, KL_FONT_WIDTH - 1, i));
            assert_false(kl_font_dot(code, KL_FONT_WIDTH + i, 0));
            assert_false(kl_font_dot(code, 0, KL_FONT_HEIGHT + i));
        }
        if (code < 0x20 || !is_there(code)) assert_int_equal(shape(code), shape(KL_FONT_BOX));
    }
}

TEST(letters_stand_where_they_are_looked_for) {
    static const char stem[] = "#....#....#....#....#....#....#####.....";
    for (unsigned y = 0; y < KL_FONT_HEIGHT; y++)
        for (unsigned x = 0; x < 5; x++)
            assert_int_equal(kl_font_dot('L', x, y), stem[y * 5 + x] == '#');
    assert_true(kl_font_dot('g', 2, 7)); /* a descender */
    assert_false(kl_font_dot('E', 2, 7));
    assert_true(kl_font_dot(0xc7, 2, 7)); /* a cedilla, and two dots */
    assert_true(kl_font_dot(0xdc, 1, 0) && kl_font_dot(0xdc, 3, 0) && !kl_font_dot(0xdc, 2, 0));
}

/* text, as the font shows it ('\x7f': a box) */
TEST(text_is_utf8_and_anything_else_is_a_box) {
    static const char *const pairs[][2] = {
        {"", ""},
        {"a~ z", "a~ z"},
        {"24 \xc2\xb1"
         "5 \xc2\xb7",
         "24 \x80"
         "5 \x81"},
        {"Fr\xc3\xa9"
         "d\xc3\xa9ric",
         "Fr\xe9"
         "d\xe9ric"},
        {"\xc3\x84\xc3\x96\xc3\xbc\xc3\x9f", "\xc4\xd6\xfc\x82"},
        {"\xc3\x90\xc3\x97\xc3\xbe", "Dxp"},
        {"\xc2\xa1\xc2\xbf\xc3\xa6\xc3\x86\xc3\xb8\xc3\x98", "\x83\x84\x85\x86\x87\x88"},
        {"don\xe2\x80\x99t \xe2\x80\x93 wait\xe2\x80\xa6", "don't - wait."},
        {"\xe6\x97\xa5\xe6\x9c\xac", "\x7f\x7f"},
        {"\xf0\x9f\x8e\xae!", "\x7f!"},
        {"\xd3\xa9", "\x7f"},
        {"\t\x01\x7f", "\x7f\x7f\x7f"},
        {"\xff\x80z", "\x7f\x7fz"},
        {"cut\xe2\x80", "cut\x7f\x7f"},
        {"cut\xf0", "cut\x7f"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const char *at = pairs[i][0];
        char got[32];
        size_t n = 0;
        for (unsigned code; n < sizeof got - 1 && (code = kl_font_next(&at)) != 0;)
            got[n++] = (char)code;
        got[n] = 0;
        assert_string_equal(got, pairs[i][1]);
        assert_ptr_equal(at, pairs[i][0] + strlen(pairs[i][0]));
    }
}

TEST(each_code_is_a_character_of_unicode) {
    for (unsigned code = 0x20; code <= 0xff; code++) {
        char utf8[3] = {(char)(0xc0 | kl_font_unicode(code) >> 6),
                        (char)(0x80 | (kl_font_unicode(code) & 0x3f)), 0};
        const char *at = kl_font_unicode(code) < 0x80 ? utf8 + 1 : utf8;
        if (at != utf8) utf8[1] = (char)code;
        if (is_there(code)) assert_int_equal(kl_font_next(&at), code);
    }
}

TEST(a_text_is_told_as_it_is_shown) {
    static const struct {
        const char *text, *shown;
    } t[] = {{"ada", "ada"},
             {"Zo\xc3\xab", "Zo\xc3\xab"},
             {"\xc5\xbd"
              "ana",
              "\xe2\x96\xa1"
              "ana"}, /* of eastern Europe */
             {"\xd0\x90"
              "da",
              "\xe2\x96\xa1"
              "da"},
             {"\xf0\x9f\x8e\xae!", "\xe2\x96\xa1!"}};
    char out[64], small[4];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        bool same = kl_font_shown(t[i].text, out, sizeof out);
        assert_string_equal(out, t[i].shown);
        assert_int_equal(same, strcmp(t[i].text, t[i].shown) == 0);
    }
    assert_false(kl_font_shown("\xd0\x90\xd0\x90", small, sizeof small));
    assert_string_equal(small, "\xe2\x96\xa1"); /* whole letters */
}

static int read_bytes(const void *bytes, size_t len) {
    const char *path = own_file(bytes, len);
    int r = kl_unifont_read(path, err, sizeof err);
    unlink(path);
    return r;
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

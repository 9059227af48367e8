/* A line as letters: small without other scripts, tall with them; names stay plain. */
#include "tests/unit/unit.h"

#include "core_wrapper/draw/font.h"
#include "core_wrapper/draw/canvas.h"
#include "tests/lib/own_font.h"

static struct kl_letters l;

static int with_font(void **state) {
    (void)state;
    char err[512];
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

/* The font: every character is there, no two are alike, and any bytes are text. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core_wrapper/draw/font.h"

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
    static const char l[] = "#....#....#....#....#....#....#####.....";
    for (unsigned y = 0; y < KL_FONT_HEIGHT; y++)
        for (unsigned x = 0; x < 5; x++)
            assert_int_equal(kl_font_dot('L', x, y), l[y * 5 + x] == '#');
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

#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/engine/plain.h"
#include "net/relay/log/relay_log.h"

/* UTF-8 of one character, at most U+ffff. */
static const char *utf8(uint32_t c) {
    static char out[4];
    memset(out, 0, sizeof out);
    if (c < 0x80) {
        out[0] = (char)c;
    } else if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
    } else {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

static int is_unfit(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

TEST(only_plain_characters_pass) {
    for (uint32_t c = 1; c < 0x10000; c++) {
        if (c >= 0xd800 && c < 0xe000) continue; /* no characters */
        const char *s = utf8(c);
        assert_int_equal(kl_plain_unfit(s), is_unfit(c) ? strlen(s) : 0);
    }
    assert_int_equal(kl_plain_unfit(""), 0);
    assert_int_equal(kl_plain_unfit("\xf0\x9f\x8e\xae"), 0);
}

/* The rest of a character is not taken for the begin of one, whatever character stands behind it. */
TEST(every_letter_of_two_bytes_stays) {
    for (uint32_t a = 0xa0; a < 0x800; a++) {
        char text[8], kept[8];
        snprintf(text, sizeof text, "%s", utf8(a));
        strcat(text, "\xd1\x8b");
        strcpy(kept, text);
        if (!is_unfit(a)) assert_string_equal(kl_plain(text), kept);
    }
}

TEST(characters_have_their_numbers) {
    const char *text = "a\xc3\xb6\xe5\xaf\xbe\xf0\x9f\x8e\xae";
    static const unsigned codes[] = {'a', 0xf6, 0x5bfe, 0x1f3ae, 0};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_int_equal(kl_plain_code(&text), codes[i]);
    static const char *const bad[] = {"\x80",         "\xc0\x80",     "\xc1\xa1",
                                      "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xf8\x80\x80", "\xff",         "\xf0\x9f\x8e"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text = bad[i];
        assert_int_equal(kl_plain_code(&text), KL_PLAIN_BAD);
        assert_in_range(text - bad[i], 1, strlen(bad[i]));
    }
}

TEST(escapes_and_controls_are_taken_out) {
    char clears[] = "a\xc2\x9b"
                    "2Jb";
    char turns[] = "ann\xe2\x80\xae=tsoh\xe2\x80\xac!";
    char ends[] = "x\xe2\x80\xa8y\x1b[0m\x7f";
    assert_string_equal(kl_plain(clears), "a?2Jb");
    assert_string_equal(kl_plain(turns), "ann?=tsoh?!");
    assert_string_equal(kl_plain(ends), "x?y?[0m?");
}

/* No byte behind the end is looked at, wherever a character is cut off. */
TEST(cut_off) {
    static const char *const ends[] = {"\xc2", "\xe2", "\xe2\x80", "\xf0", "\xf0\x9f\x8e"};
    assert_int_equal(kl_plain_unfit("\xc2\\"), 0); /* the next is a character of its own */
    assert_int_equal(kl_plain_unfit("\xe2\x80\""), 0);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[8];
        strcpy(text, ends[i]);
        memset(text + strlen(text) + 1, 0x9b, sizeof text - strlen(text) - 1);
        assert_string_equal(kl_plain(text), ends[i]);
    }
}

TEST(a_log_line_reads_from_left_to_right) {
    char out[64];
    assert_string_equal(kl_log_quote(out, sizeof out, "ann\xe2\x80\xae\" 0=edoc\xe2\x81\xa9\xe2\x80\xa9"),
                        "\"ann\\xe2\\x80\\xae\\\" 0=edoc\\xe2\\x81\\xa9\\xe2\\x80\\xa9\"");
    for (size_t cap = 3; cap < 20; cap++) { /* cut, and still in quotes */
        kl_log_quote(out, cap, "a\xc2\x9b\"b\\c");
        assert_in_range(strlen(out), 2, cap - 1);
        assert_int_equal(out[strlen(out) - 1], '"');
    }
}

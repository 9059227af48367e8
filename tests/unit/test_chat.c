/* A line of chat: each key is the line's while it is open, whatever it does in RetroArch or in the game. */
#include "tests/unit/unit.h"

#include <libretro.h>

#include "core_wrapper/screen/chat.h"

static struct kl_chat c;

static enum kl_chat_key press(unsigned code, uint32_t character) {
    enum kl_chat_key key = kl_chat_key(&c, true, code, character);
    kl_chat_key(&c, false, code, 0);
    return key;
}

static void type(const char *ascii) {
    for (; *ascii; ascii++)
        assert_int_equal(press((unsigned)*ascii, (uint32_t)*ascii), KL_CHAT_TAKEN);
}

static int set_up(void **state) {
    (void)state;
    c = (struct kl_chat){0};
    return 0;
}

TEST_WITH(a_closed_line_takes_no_key, set_up, NULL) {
    assert_int_equal(press('p', 'p'), KL_CHAT_PASSED);
    assert_string_equal(c.text, "");
}

TEST_WITH(an_open_line_takes_every_key, set_up, NULL) {
    kl_chat_open(&c);
    type("phf");
    assert_int_equal(press(RETROK_F1, 0), KL_CHAT_TAKEN);
    assert_int_equal(kl_chat_key(&c, false, 'p', 0), KL_CHAT_TAKEN);
    assert_string_equal(c.text, "phf");
    assert_int_equal(press(RETROK_RETURN, '\r'), KL_CHAT_SAID);
    assert_string_equal(c.text, "phf");
    assert_int_equal(press('p', 'p'), KL_CHAT_PASSED);
}

TEST_WITH(escape_and_an_empty_line_say_nothing, set_up, NULL) {
    kl_chat_open(&c);
    type("x");
    assert_int_equal(press(RETROK_ESCAPE, 27), KL_CHAT_TAKEN);
    assert_false(c.open);
    kl_chat_open(&c);
    assert_string_equal(c.text, "");
    assert_int_equal(press(RETROK_KP_ENTER, 0), KL_CHAT_TAKEN);
    assert_false(c.open);
}

/* Any script; a whole character goes at once, also by Backspace and at the end of the place. */
TEST_WITH(characters_stay_whole, set_up, NULL) {
    kl_chat_open(&c);
    static const uint32_t codes[] = {'a', 0xe9, 0x65e5, 0x1f3ae};
    for (size_t i = 0; i < COUNT(codes); i++)
        press(RETROK_UNKNOWN, codes[i]);
    assert_string_equal(c.text, "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8e\xae");
    press(RETROK_BACKSPACE, 8);
    assert_string_equal(c.text, "a\xc3\xa9\xe6\x97\xa5");
    press(RETROK_BACKSPACE, 8);
    press(RETROK_BACKSPACE, 8);
    assert_string_equal(c.text, "a");
    press(RETROK_UNKNOWN, 0xd800); /* no character */
    press(RETROK_UNKNOWN, 0x110000);
    press(RETROK_TAB, '\t');
    assert_string_equal(c.text, "a");
    for (int i = 0; i < 200; i++)
        press(RETROK_UNKNOWN, 0x65e5);
    assert_int_equal(strlen(c.text), 1 + 3 * ((KL_CHAT_BYTES - 2) / 3));
    for (int i = 0; i < 200; i++)
        press(RETROK_BACKSPACE, 8);
    assert_string_equal(c.text, "");
}

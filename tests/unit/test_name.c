/* Players' names: folded, the relay's own, shown with the player's number, and meant by a command. */
#include "tests/unit/unit.h"

#include <string.h>

#include "net/session/name.h"

TEST(the_numbers_of_seats) {
    static const struct {
        uint8_t seats;
        const char *shown;
    } t[] = {{0, "ada (watches)"}, {1, "ada (1)"},   {2, "ada (2)"},     {5, "ada (1+3)"},
             {15, "ada (1-4)"},    {128, "ada (8)"}, {255, "ada (1-8)"}, {0x55, "ada (1+3+5+7)"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        assert_string_equal(kl_name_shown("ada", t[i].seats).text, t[i].shown);
    assert_string_equal(kl_name_shown("a name of 23 bytes here", 0xdb).text,
                        "a name of 23 bytes here (1-2+4-5+7-8)");
    char wide[KL_NAME_MAX + 8] = ""; /* 23 characters of four bytes each, and half a one */
    wide_name(wide, KL_NAME_CHARS);
    strcat(wide, "\xf0\x9f");
    const char *shown = kl_name_shown(wide, 1).text;
    assert_int_equal(strlen(shown), 4 * KL_NAME_CHARS + 4);
    assert_string_equal(shown + 4 * KL_NAME_CHARS, " (1)");
}

TEST(equal_names) {
    static const char *const same[][2] = {
        {"ada", "ada"},
        {"ada", "Ada"},
        {"ada", " ADA  "},
        {"a b", "A \xc2\xa0  b"},
        {"ada", "\xef\xbd\x81\xef\xbd\x84\xef\xbd\x81"}, /* full-width letters */
        {"\xc3\xa9va", "E\xcc\x81VA"},                   /* composed; decomposed */
        {"stra\xc3\x9f"
         "e",
         "STRASSE"},
        {"ada", "a\xe2\x80\x8b"
                "d\xc2\xad"
                "a\xef\xbb\xbf"}, /* zero width space, soft hyphen, byte order mark */
        {"ada", "\xe2\x80\xae"
                "ada"},           /* turned round */
        {"fi", "\xef\xac\x81"},   /* ligature */
        {"\xff\xfe", "\xff\xfe"}, /* no UTF-8 */
    };
    static const char *const differ[][2] = {
        {"ada", "adah"},
        {"ada", ""},
        {"ada", "\xd0\xb0"
                "da"}, /* the Cyrillic letter: the number tells them apart */
        {"eva", "\xc3\xa9va"},
        {"ab", "a b"},
        {"\xff", "\xfe"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(kl_name_same(same[i][0], same[i][1]));
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++)
        assert_false(kl_name_same(differ[i][0], differ[i][1]));
    char longest[2][KL_NAME_MAX] = {"", "\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba"}; /* 18 each */
    for (unsigned i = 0; i < 7; i++)
        strcat(longest[0], "\xef\xb7\xba");
    assert_true(kl_name_same(longest[0], longest[0]));
    assert_false(kl_name_same(longest[0], longest[1]));
}

TEST(reserved_names) {
    static const char *const reserved[] = {
        "relay",
        " \xc2\xa0R\xc3\xa9L\xc3\x82y  ",
        "re\xe2\x80\x8blay",
        "\xef\xbd\x92"
        "elay",
        "The Relay",
        "SERVER",
        "keylock",
        "server",
        "operator",
        "",
        " ",
        "\xe2\x80\x8b",
        "\xe3\x85\xa4", /* nothing to see */
        "ada (2)",
        "ada (1+3)",
        "x(1-4)",
        "\xe2\x91\xb5",
        "bob (watches)",
        "bob (WATCHES)",
        "\xff",
    };
    static const char *const others[] = {"ada",       "relays", "r elay", "relay x", "rel\xd0\xb0y",
                                         "ada (two)", "(ada)",  "ada ()", "2",       ")",
                                         "ada 2",     "2) ada", "Host",   "hosting", "serverin"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_true(kl_name_reserved(reserved[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(kl_name_reserved(others[i]));
}

/* Lines begin with a name and a colon: no name brings its own. */
TEST(no_name_reads_as_a_line) {
    static const char *const lines[] = {"relay: paused",
                                        "ann: hi",
                                        ":",
                                        "a\xef\xbc\x9a"
                                        "b",
                                        "a\xef\xb9\x95"
                                        "b",
                                        "a\xe2\x88\xb6 b",
                                        "a\xea\x9e\x89 b",
                                        "a\xd6\x89",
                                        "a\xcb\x90",
                                        "\xff:"};
    static const char *const names[] = {"ann", "a.b", "a;b", "room-2", "J\xc3\xb6rg", "", "\xff"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_true(kl_name_speaks(lines[i]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(kl_name_speaks(names[i]));
}

TEST(whom_a_command_means) {
    static const struct kl_name_entry room[] = {{"ada", 1},
                                                {"Ada", 4},
                                                {"\xd0\xb0"
                                                 "da",
                                                 2},
                                                {"3", 8},
                                                {"bob", 16},
                                                {"bob", 0},
                                                {"cat", 0},
                                                {"cat", 0}};
    static const struct {
        const char *who;
        int found;
        const char *err;
    } t[] = {
        {"1", 0, ""},
        {"2", 2, ""},
        {"3", 1, ""}, /* not the one that is called so */
        {"4", 3, ""},
        {"8", -1, "nobody plays as player 8"},
        {"9", -1, "nobody in this room is called \"9\""},
        {"dan", -1, "nobody in this room is called \"dan\""},
        {"ada", -1, "ada (1) and Ada (3): give the number"},
        {"ADA (3)", 1, ""},
        {"\xd0\xb0"
         "da",
         2, ""},
        {"bob", -1, "bob (5) and bob (watches): give the number"},
        {"bob (watches)", 5, ""},
        {"cat", 6, ""},
        {"", -1, "nobody in this room is called \"\""},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char err[200] = "";
        assert_int_equal(kl_name_find(room, sizeof room / sizeof *room, t[i].who, err, sizeof err),
                         t[i].found);
        assert_string_equal(err, t[i].err);
    }
}

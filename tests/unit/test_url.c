/* Links: what they may say, and nothing else. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/session/url.h"

#define FP "wgythom7kfxgzawo3kes55npkd5ewttr"

TEST(good_links) {
    static const struct {
        const char *text, *host;
        unsigned port;
        const char *room, *fingerprint;
    } table[] = {
        {"keylock://example.org/arcade", "example.org", 0, "arcade", ""},
        {"keylock://example.org:55435/arcade#" FP, "example.org", 55435, "arcade", FP},
        {"KEYLOCK://Example.ORG:1/Arcade#WGYTHOM7KFXGZAWO3KES55NPKD5EWTTR", "example.org", 1, "Arcade", FP},
        {"keylock://192.0.2.7:65535/a", "192.0.2.7", 65535, "a", ""},
        {"keylock://[2001:DB8:0::1]:7000/a#" FP, "2001:db8::1", 7000, "a", FP},
        {"keylock://[::1]/a", "::1", 0, "a", ""},
        {"keylock://[::ffff:192.0.2.7]/a", "192.0.2.7", 0, "a", ""},
        {"keylock://a-b.c/caf%C3%A9", "a-b.c", 0, "caf\xc3\xa9", ""},
        {"keylock://h/a%20b%2fc%25%23%3f", "h", 0, "a b/c%#?", ""},
        {"keylock://h/-._~09azAZ", "h", 0, "-._~09azAZ", ""},
        {"keylock://h/12345678901234567890123", "h", 0, "12345678901234567890123", ""},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct kl_url u;
        char err[256] = "";
        if (kl_url_parse(table[i].text, &u, err, sizeof err) != 0) fail_msg("%s: %s", table[i].text, err);
        assert_string_equal(u.host, table[i].host);
        assert_int_equal(u.port, table[i].port);
        assert_string_equal(u.room, table[i].room);
        assert_string_equal(u.fingerprint, table[i].fingerprint);
    }
}

struct refusal {
    const char *text, *says;
};

/* Each is refused with these words, and nothing is written. */
static void expect_refused(const struct refusal *table, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct kl_url u, before;
        char err[256] = "";
        memset(&u, 0x5a, sizeof u);
        before = u;
        if (kl_url_parse(table[i].text, &u, err, sizeof err) == 0) fail_msg("taken: %s", table[i].text);
        if (!strstr(err, table[i].says))
            fail_msg("%s: \"%s\" was expected, \"%s\" came", table[i].text, table[i].says, err);
        assert_memory_equal(&u, &before, sizeof u);
        for (const char *c = err; *c; c++)
            assert_true(*c >= 0x20 && *c < 0x7f);
    }
}

TEST(a_link_without_scheme_host_or_room_is_refused) {
    static const struct refusal table[] = {
        {"", "expected keylock://HOST"},
        {"keylock:/h/r", "expected keylock://HOST"},
        {"http://h/r", "found \"http://h/r\""},
        {" keylock://h/r", "expected keylock://HOST"},
        {"keylock:///r", "a host of 1 to 253"},
        {"keylock://h", "'/' and a room's name"},
        {"keylock://h:5", "'/' and a room's name"},
        {"keylock://h?x=1", "'/' and a room's name"},
        {"keylock://h#" FP, "'/' and a room's name"},
        {"keylock://h/", "a room's name of 1 to 23"},
        {"keylock://h/#" FP, "a room's name of 1 to 23"},
    };
    expect_refused(table, COUNT(table));
}

TEST(a_host_or_port_in_another_form_is_refused) {
    static const struct refusal table[] = {
        {"keylock://u@h/r", "without a user"},
        {"keylock://u:p@h/r", "without a user"},
        {"keylock://h:55435@evil/r", "without a user"},
        {"keylock://[::1/r", "an IPv6 address between '[' and ']'"},
        {"keylock://[]/r", "an IPv6 address between"},
        {"keylock://[::g]:5/r", "an IPv6 address between"},
        {"keylock://[192.0.2.7]/r", "an IPv6 address between"},
        {"keylock://[fe80::1%25eth0]/r", "an IPv6 address between"},
        {"keylock://[example.org]/r", "an IPv6 address between"},
        {"keylock://[0000:0000:0000:0000:0000:0000:0000:0000:0000]/r", "an IPv6 address between"},
        {"keylock://[::1]x/r", "'/' and a room's name"},
        {"keylock://[::1]:/r", "a port from 1 to 65535"},
        {"keylock://::1/r", "a host of 1 to 253"},
        {"keylock://-oProxy=x/r", "letters, digits"},
        {"keylock://a..b/r", "letters, digits"},
        {"keylock://.a/r", "letters, digits"},
        {"keylock://a.-b/r", "letters, digits"},
        {"keylock://a_b/r", "letters, digits"},
        {"keylock://a%41/r", "letters, digits"},
        {"keylock://a b/r", "letters, digits"},
        {"keylock://caf\xc3\xa9/r", "letters, digits"},
        {"keylock://h:/r", "a port from 1 to 65535"},
        {"keylock://h:0/r", "a port from 1 to 65535"},
        {"keylock://h:01/r", "a port from 1 to 65535"},
        {"keylock://h:65536/r", "a port from 1 to 65535"},
        {"keylock://h:4294967297/r", "a port from 1 to 65535"},
        {"keylock://h:-1/r", "a port from 1 to 65535"},
        {"keylock://h:5x/r", "a port from 1 to 65535"},
        {"keylock://h:5:5/r", "a port from 1 to 65535"},
    };
    expect_refused(table, COUNT(table));
}

TEST(another_form_behind_the_room_is_refused) {
    static const struct refusal table[] = {
        {"keylock://h/r/s", "nothing but #FINGERPRINT"},
        {"keylock://h/r/", "nothing but #FINGERPRINT"},
        {"keylock://h/r?#" FP, "core=NAME after '?'"},
        {"keylock://h/r?game=x.nes", "core=NAME after '?'"},
        {"keylock://h/r?core=", "a core of small letters"},
        {"keylock://h/r?core=Nestopia", "a core of small letters"},
        {"keylock://h/r?core=../x", "a core of small letters"},
        {"keylock://h/r?core=a%62", "a core of small letters"},
        {"keylock://h/r?core=--wrapper", "a core of small letters"},
        {"keylock://h/r?core=x&content=/etc/passwd", "nothing but #FINGERPRINT"},
        {"keylock://h/r?core=x&core=y", "nothing but #FINGERPRINT"},
        {"keylock://h/r?core=x&name=ben", "nothing but #FINGERPRINT"},
        {"keylock://h/r?core=x&game=", "a game's name of 1 to 63"},
        {"keylock://h/r?core=x&game=a b", "letters, digits"},
        {"keylock://h/r?core=x&game=a\"b", "letters, digits"},
        {"keylock://h/r?core=x&game=..", "without folders"},
        {"keylock://h/r?core=x&game=.", "without folders"},
        {"keylock://h/r?core=x&game=..%2fa.nes", "without folders"},
        {"keylock://h/r?core=x&game=..%5ca.nes", "without folders"},
        {"keylock://h/r?core=x&game=a%0ab", "without control characters"},
        {"keylock://h/r?core=x&game=a.nes&crc=1234567&size=5", "8 hexadecimal digits"},
        {"keylock://h/r?core=x&game=a.nes&crc=1234567g&size=5", "8 hexadecimal digits"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678", "&size=BYTES"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678&size=", "a number of bytes"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678&size=0", "a number of bytes"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678&size=-1", "a number of bytes"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678&size=12345678901", "a number of bytes"},
        {"keylock://h/r?core=x&game=a.nes&crc=12345678&size=5&seats=8", "nothing but #FINGERPRINT"},
        {"keylock://h/r?core=x&game=a.nes&size=5", "nothing but #FINGERPRINT"},
    };
    expect_refused(table, COUNT(table));
}

TEST(a_room_in_another_form_is_refused) {
    static const struct refusal table[] = {
        {"keylock://h//r", "a room's name of 1 to 23"},
        {"keylock://h/a b", "letters, digits"},
        {"keylock://h/a&b", "letters, digits"},
        {"keylock://h/a;b", "letters, digits"},
        {"keylock://h/a\nb", "found \"a?b\""},
        {"keylock://h/caf\xc3\xa9", "letters, digits"}, /* has to be percent-encoded */
        {"keylock://h/a%", "two hexadecimal digits"},
        {"keylock://h/a%4", "two hexadecimal digits"},
        {"keylock://h/a%4g", "two hexadecimal digits"},
        {"keylock://h/a%00b", "without control characters"},
        {"keylock://h/a%0ab", "without control characters"},
        {"keylock://h/a%1b%5b2J", "without control characters"},
        {"keylock://h/a%7f", "without control characters"},
        {"keylock://h/%c3", "in UTF-8"},
        {"keylock://h/%ff", "in UTF-8"},
        {"keylock://h/%c0%af", "in UTF-8"},
        {"keylock://h/123456789012345678901234", "1 to 23 characters"},
        {"keylock://h/%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41",
         "1 to 23 characters"},
    };
    expect_refused(table, COUNT(table));
}

TEST(a_fingerprint_in_another_form_is_refused) {
    static const struct refusal table[] = {
        {"keylock://h/r#", "a fingerprint of 32"}, /* cut off on the way */
        {"keylock://h/r#wgythom7", "a fingerprint of 32"},
        {"keylock://h/r#" FP "a", "a fingerprint of 32"},
        {"keylock://h/r#wgythom7kfxgzawo3kes55npkd5ewtt1", "a fingerprint of 32"},
        {"keylock://h/r#" FP "#", "a fingerprint of 32"},
        {"keylock://h/r#" FP " ", "a fingerprint of 32"},
    };
    expect_refused(table, COUNT(table));
}

/* An invitation: core and game, and nothing that could be an option or a path. */
TEST(invitations) {
    struct kl_url u;
    char err[256] = "", out[KL_URL_MAX + 1];
    static const char full[] =
        "keylock://h:5/"
        "r%20s?core=genesis_plus_gx&game=My%20%22Game%22%20%28v1%29.md&crc=00ab12EF&size=524288#" FP;
    if (kl_url_parse(full, &u, err, sizeof err) != 0) fail_msg("%s", err);
    assert_string_equal(u.room, "r s");
    assert_string_equal(u.core, "genesis_plus_gx");
    assert_string_equal(u.game, "My \"Game\" (v1).md");
    assert_true(u.crc == 0xab12ef && u.size == 524288);
    assert_string_equal(u.fingerprint, FP);
    assert_int_equal(kl_url_write(&u, out, sizeof out), 0);
    assert_int_equal(strcasecmp(out, full), 0);
    assert_int_equal(kl_url_parse("keylock://h/r?core=2048", &u, err, sizeof err), 0);
    assert_true(!strcmp(u.core, "2048") && !u.game[0] && !u.size);
    assert_int_equal(kl_url_parse("keylock://h/r?core=fbneo&game=kof98.zip#" FP, &u, err, sizeof err), 0);
    assert_true(!strcmp(u.game, "kof98.zip") && !u.size && *u.fingerprint);
    snprintf(u.game, sizeof u.game, "a/b");
    assert_int_equal(kl_url_write(&u, out, sizeof out), -1);
    snprintf(u.core, sizeof u.core, "Core");
    assert_int_equal(kl_url_write(&u, out, sizeof out), -1);
}

/* 64 KiB, and bytes that mean something to a shell. */
TEST(links_of_any_size) {
    static char text[65536 + 64];
    struct kl_url u;
    char err[256];
    const char *const parts[] = {"keylock://h/r?core=", "keylock://h/r?core=x&game=", "keylock://",
                                 "keylock://h/"};
    for (size_t i = 0; i < COUNT(parts); i++) {
        memset(text, 'a', sizeof text - 1);
        memcpy(text, parts[i], strlen(parts[i]));
        assert_int_equal(kl_url_parse(text, &u, err, sizeof err), -1);
        assert_non_null(strstr(err, "a shorter link"));
    }
}

TEST(names_too_long) {
    char text[2000], host[300], core[KL_URL_CORE_MAX + 1] = "", game[3 * KL_URL_GAME_MAX + 1], err[256];
    char room[3 * KL_URL_ROOM_MAX + 1] = "";
    struct kl_url u;
    memset(core, 'c', sizeof core - 1);
    for (size_t i = 0; i < KL_URL_GAME_MAX; i++)
        strcpy(game + 3 * i, "%41");
    for (size_t i = 0; i < KL_NAME_CHARS; i++)
        strcat(room, "%F0%9F%8E%AE");
    memset(host, 'h', sizeof host);
    host[253] = 0;
    snprintf(text, sizeof text, "keylock://%s:65535/%s?core=%s&game=%s&crc=12345678&size=1234567890#" FP,
             host, room, core, game);
    assert_int_equal(strlen(text), KL_URL_MAX);
    assert_int_equal(kl_url_parse(text, &u, err, sizeof err), 0);
    host[253] = 'h', host[254] = 0;
    snprintf(text, sizeof text, "keylock://%s/r", host);
    assert_int_equal(kl_url_parse(text, &u, err, sizeof err), -1);
    assert_non_null(strstr(err, "1 to 253"));
}

TEST(written_values_are_read_back) {
    static const struct {
        struct kl_url u;
        const char *text;
    } table[] = {
        {{.host = "example.org", .port = 0, .room = "arcade", .fingerprint = ""},
         "keylock://example.org/arcade"},
        {{.host = "h", .port = 55435, .room = "a b/c", .fingerprint = FP}, "keylock://h:55435/a%20b%2Fc#" FP},
        {{.host = "h", .port = 0, .room = "caf\xc3\xa9#?", .fingerprint = ""}, "keylock://h/caf%C3%A9%23%3F"},
    };
    char out[KL_URL_MAX + 1], err[256];
    struct kl_url back;
    for (size_t i = 0; i < COUNT(table); i++) {
        assert_int_equal(kl_url_write(&table[i].u, out, sizeof out), 0);
        assert_string_equal(out, table[i].text);
        assert_int_equal(kl_url_parse(out, &back, err, sizeof err), 0);
        assert_string_equal(back.room, table[i].u.room);
        size_t len = strlen(out);
        for (size_t cap = 0; cap <= len; cap++)
            assert_int_equal(kl_url_write(&table[i].u, out, cap), -1);
        assert_int_equal(kl_url_write(&table[i].u, out, len + 1), 0);
    }
}

TEST(names_that_no_link_can_have_are_not_written) {
    static const struct kl_url table[] = {
        {.host = "", .room = "r", .fingerprint = ""},     {.host = "h", .room = "", .fingerprint = ""},
        {.host = "h:5", .room = "r", .fingerprint = ""},  {.host = "h/x", .room = "r", .fingerprint = ""},
        {.host = "u@h", .room = "r", .fingerprint = ""},  {.host = "h", .room = "a\nb", .fingerprint = ""},
        {.host = "h", .room = "\xff", .fingerprint = ""}, {.host = "h", .room = "r", .fingerprint = "short"},
        {.host = "-h", .room = "r", .fingerprint = ""},   {.host = "h#", .room = "r", .fingerprint = ""},
    };
    char out[KL_URL_MAX + 1];
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(kl_url_write(&table[i], out, sizeof out), -1);
}

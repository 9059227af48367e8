/* Links: what they may say, and nothing else. net/PROTOCOL.md §9. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/session/url.h"

#define FP "wgythom7kfxgzawo3kes55npkd5ewttr"

static void good_links(void **state) {
    (void)state;
    static const struct {
        const char *text, *host;
        unsigned port;
        const char *room, *fingerprint;
    } table[] = {
        {"keylock://example.org/arcade", "example.org", 0, "arcade", ""},
        {"keylock://example.org:55435/arcade#" FP, "example.org", 55435, "arcade", FP},
        {"KEYLOCK://Example.ORG:1/Arcade#WGYTHOM7KFXGZAWO3KES55NPKD5EWTTR", "example.org", 1, "Arcade", FP},
        {"keylock://192.0.2.7:65535/a", "192.0.2.7", 65535, "a", ""},
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

static void everything_else_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } table[] = {
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
        {"keylock://u@h/r", "without a user"},
        {"keylock://u:p@h/r", "without a user"},
        {"keylock://h:55435@evil/r", "without a user"},
        {"keylock://[::1]/r", "IPv6"},
        {"keylock://[::1]:5/r", "IPv6"},
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
        {"keylock://h/r/s", "nothing but #FINGERPRINT"},
        {"keylock://h/r/", "nothing but #FINGERPRINT"},
        {"keylock://h/r?core=x", "nothing but #FINGERPRINT"},
        {"keylock://h/r?#" FP, "nothing but #FINGERPRINT"},
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
        {"keylock://h/123456789012345678901234", "1 to 23 bytes"},
        {"keylock://h/%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41%41",
         "1 to 23 bytes"},
        {"keylock://h/r#", "a fingerprint of 32"}, /* cut off on the way */
        {"keylock://h/r#wgythom7", "a fingerprint of 32"},
        {"keylock://h/r#" FP "a", "a fingerprint of 32"},
        {"keylock://h/r#wgythom7kfxgzawo3kes55npkd5ewtt1", "a fingerprint of 32"},
        {"keylock://h/r#" FP "#", "a fingerprint of 32"},
        {"keylock://h/r#" FP " ", "a fingerprint of 32"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
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

static void names_too_long(void **state) {
    (void)state;
    char text[2000], host[300], err[256];
    struct kl_url u;
    memset(host, 'h', sizeof host);
    host[253] = 0;
    snprintf(text, sizeof text,
             "keylock://%s:65535/%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41%%41"
             "%%41%%41%%41%%41%%41%%41%%41#" FP,
             host);
    assert_int_equal(strlen(text), KL_URL_MAX);
    assert_int_equal(kl_url_parse(text, &u, err, sizeof err), 0);
    host[253] = 'h', host[254] = 0;
    snprintf(text, sizeof text, "keylock://%s/r", host);
    assert_int_equal(kl_url_parse(text, &u, err, sizeof err), -1);
    assert_non_null(strstr(err, "1 to 253"));
    memset(text + 10, 'h', sizeof text - 11);
    text[sizeof text - 1] = 0;
    assert_int_equal(kl_url_parse(text, &u, err, sizeof err), -1);
    assert_non_null(strstr(err, "a shorter link"));
}

static void what_is_written_is_read(void **state) {
    (void)state;
    static const struct {
        struct kl_url u;
        const char *text;
    } table[] = {
        {{"example.org", 0, "arcade", ""}, "keylock://example.org/arcade"},
        {{"h", 55435, "a b/c", FP}, "keylock://h:55435/a%20b%2Fc#" FP},
        {{"h", 0, "caf\xc3\xa9#?", ""}, "keylock://h/caf%C3%A9%23%3F"},
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

static void what_no_link_can_name_is_not_written(void **state) {
    (void)state;
    static const struct kl_url table[] = {
        {"", 0, "r", ""},    {"h", 0, "", ""},     {"h:5", 0, "r", ""},  {"h/x", 0, "r", ""},
        {"u@h", 0, "r", ""}, {"h", 0, "a\nb", ""}, {"h", 0, "\xff", ""}, {"h", 0, "r", "short"},
        {"-h", 0, "r", ""},  {"h#", 0, "r", ""},
    };
    char out[KL_URL_MAX + 1];
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(kl_url_write(&table[i], out, sizeof out), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_links),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(names_too_long),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_no_link_can_name_is_not_written),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}

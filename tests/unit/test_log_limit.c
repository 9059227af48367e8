/* test_log_limit.c - log lines without end become a count. */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/relay/log/lobby_limit.h"

#define SECOND UINT64_C(1000000)

static struct kl_log_limit limit;
static uint64_t now_us, left_out;

static int begin(void **state) {
    (void)state;
    limit = (struct kl_log_limit){.per_min = 60};
    now_us = 5 * SECOND;
    return 0;
}

static unsigned written(const char *key, unsigned lines) {
    unsigned n = 0;
    for (unsigned i = 0; i < lines; i++)
        n += kl_log_take(&limit, key, now_us, &left_out);
    return n;
}

static void is_key(const char *event, const char *rest, const char *expected) {
    char key[KL_LOG_KEY];
    kl_log_key(key, event, rest);
    assert_string_equal(key, expected);
}

TEST_WITH(a_key_is_the_event_and_who, begin, NULL) {
    is_key("desync", "room=\"a b\" frame=3 first=1", "desync room=\"a b\"");
    is_key("back", "room=\"a \\\" b\" client=2 name=\"x\"", "back room=\"a \\\" b\" client=2");
    is_key("refused", "address=192.0.2.1:77 code=3", "refused address=192.0.2.1");
    is_key("refused", "address=[2001:db8::7]:77 code=3", "refused address=2001:db8::");
    is_key("moved", "session=00000001 address=192.0.2.1:77", "moved session=00000001");
    is_key("stopped", "", "stopped");
    is_key("odd", "room=\"never ends client=1", "odd room=\"never ends client=1");
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    char key[KL_LOG_KEY];
    kl_log_key(key, "e", longest);
    assert_int_equal(strlen(key), KL_LOG_KEY - 1);
}

TEST_WITH(so_many_a_minute, begin, NULL) {
    assert_int_equal(written("desync room=\"x\"", 1000), 60);
    assert_int_equal(written("put_out room=\"x\"", 1), 1); /* a rare event has its own measure */
    assert_int_equal(written("desync room=\"y\"", 1), 1);  /* and so have others */
    now_us += 2 * SECOND;
    assert_true(kl_log_take(&limit, "desync room=\"x\"", now_us, &left_out));
    assert_int_equal(left_out, 940); /* told before the next that is written */
    assert_true(kl_log_take(&limit, "desync room=\"x\"", now_us, &left_out));
    assert_int_equal(left_out, 0);
}

TEST_WITH(missing_lines_are_told_in_any_case, begin, NULL) {
    written("desync room=\"x\"", 100);
    assert_null(kl_log_untold(&limit, now_us + 9 * SECOND, false, &left_out));
    const struct kl_log_cell *c = kl_log_untold(&limit, now_us + 10 * SECOND, false, &left_out);
    assert_non_null(c);
    assert_string_equal(c->key, "desync room=\"x\"");
    assert_int_equal(left_out, 40);
    assert_null(kl_log_untold(&limit, now_us + 100 * SECOND, false, &left_out));
    now_us += SECOND / 2;
    written("desync room=\"x\"", 3);
    assert_non_null(kl_log_untold(&limit, now_us, true, &left_out)); /* at the end */
    assert_int_equal(left_out, 3);
}

TEST_WITH(the_longest_unused_makes_way, begin, NULL) {
    char key[KL_LOG_KEY];
    for (unsigned i = 0; i < KL_LOG_CELLS; i++) {
        snprintf(key, sizeof key, "event room=\"%u\"", i);
        now_us += 1;
        assert_int_equal(written(key, 61), 60);
    }
    assert_int_equal(written("event room=\"0\"", 1), 0); /* all are known */
    assert_int_equal(written("event room=\"new\"", 1), 1);
    assert_int_equal(written("event room=\"1\"", 1), 0);
    assert_int_equal(written("event room=\"0\"", 1), 1); /* forgotten */
}

TEST_WITH(none_where_there_is_no_limit, begin, NULL) {
    limit.per_min = 0;
    assert_int_equal(written("desync room=\"x\"", 1000), 1000);
}

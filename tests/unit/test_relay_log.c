/* The relay's log: lines without end become a count, writing never waits for a reader, and addresses may be
 * hashed. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "net/relay/log/lobby_limit.h"
#include "net/relay/log/relay_log.h"

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

#define LINES 20000u

static int ends[2];

static int set_up(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    alarm(20); /* if it waits, it waits for ever */
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    alarm(0);
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return 0;
}

static void say(struct kl_outlet *o, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kl_outlet_put(o, text, strlen(text));
}

TEST_WITH(all_comes_out_in_order, set_up, tear_down) {
    char got[64] = "";
    struct kl_outlet *o = kl_outlet_open(ends[1]);
    assert_non_null(o);
    say(o, "one %d\ntwo\n", 1);
    say(o, "three, without an end");
    kl_outlet_close(o, 5000);
    assert_int_equal(read(ends[0], got, sizeof got - 1), 31);
    assert_string_equal(got, "one 1\ntwo\nthree, without an end");
}

/* Each line has its number; a notice stands where some are missing. */
static void read_line(FILE *from, unsigned *next, uint64_t *missing) {
    char line[128];
    unsigned long n;
    assert_non_null(fgets(line, sizeof line, from));
    assert_non_null(strchr(line, '\n'));
    if (sscanf(line, "dropped=%lu lines", &n) == 1) {
        *missing += n;
        *next += (unsigned)n;
        return;
    }
    assert_int_equal(sscanf(line, "line %lu", &n), 1);
    assert_int_equal(n, *next);
    ++*next;
}

TEST_WITH(nobody_reads_and_nobody_waits, set_up, tear_down) {
    struct kl_outlet *o = kl_outlet_open(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    unsigned next = 0;
    uint64_t missing = 0;
    for (unsigned i = 0; i < LINES; i++)
        say(o, "line %u of very many of them\n", i);
    uint64_t dropped = kl_outlet_dropped(o);
    assert_in_range(dropped, LINES / 2, LINES - 1);
    while (next + (dropped - missing) < LINES) /* all that was kept; then there is room again */
        read_line(from, &next, &missing);
    say(o, "line %u\n", LINES);
    while (next <= LINES)
        read_line(from, &next, &missing);
    assert_int_equal(missing, dropped);
    kl_outlet_close(o, 5000);
    fclose(from);
    ends[0] = -1;
}

TEST_WITH(the_end_does_not_wait_for_ever, set_up, tear_down) {
    struct kl_outlet *o = kl_outlet_open(ends[1]);
    struct timespec from, to;
    for (unsigned i = 0; i < LINES; i++)
        say(o, "line %u\n", i);
    clock_gettime(CLOCK_MONOTONIC, &from);
    kl_outlet_close(o, 100);
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_in_range((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000, 90, 5000);
    char piece[4096]; /* the thread ends with its reader */
    ssize_t n = read(ends[0], piece, sizeof piece);
    assert_true(n > 0);
    close(ends[0]);
    ends[0] = -1;
    ends[1] = -1; /* its own until it ends */
}

TEST_WITH(a_reader_that_has_gone_is_no_trouble, set_up, tear_down) {
    struct kl_outlet *o = kl_outlet_open(ends[1]);
    close(ends[0]);
    ends[0] = -1;
    for (unsigned i = 0; i < LINES; i++)
        say(o, "line %u\n", i);
    kl_outlet_close(o, 5000);
}

TEST(an_address_is_shown_as_it_is) {
    assert_string_equal(kl_log_address("192.0.2.7:4000"), "192.0.2.7:4000");
}

/* The last test: hashing stays on. */
TEST(a_hash_tells_equal_addresses_and_nothing_else) {
    char first[32], other[32];
    kl_log_hash_addresses();
    snprintf(first, sizeof first, "%s", kl_log_address("192.0.2.7:4000"));
    assert_int_equal(strlen(first), 16);
    assert_int_equal(strspn(first, "0123456789abcdef"), 16);
    assert_string_equal(kl_log_address("192.0.2.7:4001"), first);
    assert_string_equal(kl_log_address("[::ffff:192.0.2.7]:4001"), first);
    snprintf(other, sizeof other, "%s", kl_log_address("[2001:db8:0:1::7]:4000"));
    assert_string_equal(kl_log_address("[2001:db8:0:1::8]:4000"), other);
    assert_string_not_equal(kl_log_address("[2001:db8:0:2::7]:4000"), other);
    snprintf(other, sizeof other, "%s", kl_log_address("192.0.2.8:4000"));
    assert_string_not_equal(other, first);
    kl_log_hash_addresses(); /* another run has another key */
    assert_string_not_equal(kl_log_address("192.0.2.7:4000"), first);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}

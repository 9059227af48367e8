/* The relay's lines to somebody who does not read them: writing never waits, and what is missing is counted.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "net/relay/log/relay_log.h"

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

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/relay/relay_options.h"

#define ARGS_MAX 8

static struct kl_relay_options options;
static char err[256];

static enum kl_relay_action parse(const char *const args[]) {
    char *argv[ARGS_MAX + 2] = {(char *)"keylock-relay"};
    int argc = 1;
    for (; args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    err[0] = 0;
    return kl_relay_options_parse(&options, argc, argv, err, sizeof err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void defaults(void **state) {
    (void)state;
    assert_int_equal(PARSE(), KL_RELAY_RUN);
    assert_string_equal(options.bind, "0.0.0.0");
    assert_int_equal(options.port, 55435);
    assert_int_equal(options.rooms, 256);
    assert_int_equal(options.seats, 8);
    assert_int_equal(options.log, KL_LOG_INFO);
}

static void values(void **state) {
    (void)state;
    assert_int_equal(PARSE("--bind", "127.0.0.1", "--port=0", "--rooms", "3", "--max-seats=2"), KL_RELAY_RUN);
    assert_string_equal(options.bind, "127.0.0.1");
    assert_int_equal(options.port, 0);
    assert_int_equal(options.rooms, 3);
    assert_int_equal(options.seats, 2);
    assert_false(options.console);
    assert_int_equal(PARSE("--console"), KL_RELAY_RUN);
    assert_true(options.console);
    assert_int_equal(PARSE("--log", "debug"), KL_RELAY_RUN);
    assert_int_equal(options.log, KL_LOG_DEBUG);
    assert_int_equal(PARSE("--help"), KL_RELAY_HELP);
    assert_int_equal(PARSE("--version"), KL_RELAY_VERSION);
}

static void bad(const char *option, const char *value, const char *text) {
    assert_int_equal(PARSE(option, value), KL_RELAY_BAD);
    if (!strstr(err, text)) print_error("error: %s\nwanted: %s\n", err, text);
    assert_non_null(strstr(err, text));
}

static void errors_name_the_option_and_what_came(void **state) {
    (void)state;
    bad("--port", "65536", "--port takes a number from 0 to 65535, not '65536'");
    bad("--port", "12x", "not '12x'");
    bad("--port", "", "not ''");
    bad("--rooms", "0", "--rooms takes a number from 1");
    bad("--max-seats", "9", "--max-seats takes a number from 1 to 8");
    bad("--log", "loud", "--log takes error, info or debug, not 'loud'");
    bad("--nope", NULL, "there is no option '--nope'");
    bad("--port", NULL, "a value is missing after '--port'");
    bad("more", NULL, "'more' is not an option");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(values),
        cmocka_unit_test(errors_name_the_option_and_what_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

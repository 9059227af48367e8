#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/relay/program/relay_options.h"

#define ARGS_MAX 16

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

TEST(values_with_rules_of_their_own) {
    assert_int_equal(PARSE(), KL_RELAY_RUN);
    assert_int_equal(options.http.port, 0);
    static const char *const places[][2] = {
        {"9435", "127.0.0.1:9435"}, {"192.0.2.1:80", "192.0.2.1:80"}, {"[::1]:80", "[::1]:80"}};
    for (unsigned i = 0; i < 3; i++) {
        char place[KL_PLACE_TEXT];
        assert_int_equal(PARSE("--http", places[i][0]), KL_RELAY_RUN);
        assert_string_equal(kl_address_place(place, &options.http), places[i][1]);
    }
    assert_int_equal(PARSE("--http", "80", "--http=off"), KL_RELAY_RUN);
    assert_int_equal(options.http.port, 0);
    assert_int_equal(PARSE("--help"), KL_RELAY_HELP);
    assert_int_equal(PARSE("-h"), KL_RELAY_HELP);
    assert_int_equal(PARSE("help"), KL_RELAY_HELP);
    assert_int_equal(PARSE("--version"), KL_RELAY_VERSION);
    assert_int_equal(PARSE("-V"), KL_RELAY_VERSION);
    assert_int_equal(PARSE("--check", "--rooms", "7"), KL_RELAY_CHECK);
    assert_int_equal(options.server.rooms, 7);
    assert_int_equal(PARSE("--check", "--rooms", "none"), KL_RELAY_BAD);
}

/* Sets the row's number, and reads it where the relay does. */
static void number(const struct kl_row *row, uint64_t n, enum kl_relay_action expected) {
    struct kl_row field = {.kind = row->kind, .field = row->field, .size = row->size};
    char word[64], shown[KL_ROW_TEXT];
    snprintf(word, sizeof word, "--%s=%llu", row->name, (unsigned long long)n);
    if (PARSE(word) != expected) print_error("%s: %s\n", word, err);
    assert_int_equal(PARSE(word), expected);
    kl_row_shown(&field, &options, shown);
    if (expected == KL_RELAY_RUN) assert_string_equal(shown, strchr(word, '=') + 1);
}

/* Each default is one that its own row takes, as the ends of its range, and --help has each row. */
TEST(rows_take_their_own_defaults) {
    char *help = NULL, flag[KL_ROW_TEXT], text[KL_ROW_TEXT], shown[KL_ROW_TEXT];
    size_t len, i;
    FILE *f = open_memstream(&help, &len);
    assert_non_null(f);
    kl_relay_help(f);
    assert_int_equal(fclose(f), 0);
    for (i = 0; kl_row_is(&kl_relay_rows[i]); i++) {
        const struct kl_row *row = &kl_relay_rows[i];
        kl_row_flag(row, flag);
        kl_row_help(row, text);
        kl_row_shown(row, kl_relay_usual(), shown);
        assert_non_null(strstr(help, flag));
        assert_null(strchr(text, '{'));
        assert_true(*shown && strlen(text) < sizeof text - 1);
        if (row->kind != KL_KIND_NUMBER) continue;
        number(row, strtoull(shown, NULL, 10), KL_RELAY_RUN);
        number(row, row->min, KL_RELAY_RUN);
        number(row, row->max, KL_RELAY_RUN);
        number(row, row->max + 1, KL_RELAY_BAD);
        if (row->min) number(row, row->min - 1, KL_RELAY_BAD);
    }
    assert_true(i > 30);
    free(help);
}

static void bad(const char *option, const char *value, const char *text) {
    assert_int_equal(PARSE(option, value), KL_RELAY_BAD);
    if (!strstr(err, text)) print_error("error: %s\nwanted: %s\n", err, text);
    assert_non_null(strstr(err, text));
}

TEST(errors_name_the_option_and_what_came) {
    bad("--port", "65536", "--port: expected a number from 0 to 65535, got \"65536\"");
    bad("--http", "0", "--http: expected off, a port, or an address with its port, got \"0\"");
    bad("--http", "127.0.0.1", "got \"127.0.0.1\"");
    bad("--http", "localhost:80", "got \"localhost:80\"");
    bad("--nope", NULL, "expected one of its options, got \"--nope\"");
    bad("more", NULL, "expected options only, got \"more\"");
    bad("help", "--port", "--port: expected a value");
}

static enum kl_relay_action parse_with_file(const char *text, const char *option) {
    char path[256], why[256];
    assert_int_equal(
        kl_dir_known(KL_DIR_TEMPORARY, "test_relay_options.conf", path, sizeof path, why, sizeof why), 0);
    assert_int_equal(kl_file_write_whole(path, text, strlen(text), 0, why, sizeof why), 0);
    enum kl_relay_action action = option ? PARSE(option, "--config", path) : PARSE("--config", path);
    kl_file_remove(path, why, sizeof why);
    return action;
}

TEST(a_file_has_the_same_options_and_the_command_line_wins) {
    static const char text[] = "# ours\n\nport = 6000 # UDP\nrooms = 3\n"
                               "journal = \"/var/lib/keylock relay\"\nwatchers=0\n"
                               "insecure-lan = on\nconsole = off\nlog = debug\n";
    assert_int_equal(parse_with_file(text, "--port=7000"), KL_RELAY_RUN);
    assert_int_equal(options.server.port, 7000);
    assert_int_equal(options.server.rooms, 3);
    assert_string_equal(options.server.journal, "/var/lib/keylock relay");
    assert_int_equal(options.server.lobby.watchers, 0);
    assert_true(options.server.insecure_lan);
    assert_false(options.console);
    assert_int_equal(options.log, KL_LOG_DEBUG);
    assert_int_equal(options.server.seats, 8);
    assert_int_equal(parse_with_file("console = off\n", "--console"), KL_RELAY_RUN);
    assert_true(options.console);
    assert_int_equal(parse_with_file("", "--help"), KL_RELAY_HELP);
    assert_int_equal(PARSE("--config", "/nonexistent/relay.conf"), KL_RELAY_BAD);
    assert_non_null(strstr(err, "/nonexistent/relay.conf"));
}

static void bad_line(const char *text, const char *wanted) {
    assert_int_equal(parse_with_file(text, NULL), KL_RELAY_BAD);
    if (!strstr(err, wanted)) print_error("error: %s\nwanted: %s\n", err, wanted);
    assert_non_null(strstr(err, wanted));
}

TEST(a_bad_line_is_named) {
    bad_line("rooms = 3\nport = 70000\n",
             "relay_options.conf line 2: port: expected a number from 0 to 65535, got "
             "\"70000\"");
    bad_line("--port = 6000\n", "line 1: expected an option without its --, got \"--port\"");
    bad_line("config = /etc/x\n", "line 1: expected an option without its --, got \"config\"");
    bad_line("rooms = 3\n\nrooms = 4\nport = x\n", "line 3: expected rooms once, got it in line 1, too");
}

TEST(the_key_has_its_place) {
    char dir[64];
    setenv("XDG_STATE_HOME", "/s", 1);
    assert_int_equal(kl_server_state(dir, sizeof dir), 0);
    assert_string_equal(dir, "/s/keylock-relay");
    assert_int_equal(kl_server_state(dir, 5), -1);
}

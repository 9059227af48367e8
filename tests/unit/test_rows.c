/* The engine of options: one table, read from a file, the environment and a command line. */
#include <getopt.h>
#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/platform/process.h"
#include "net/platform/options.h"

#define WORDS_MAX 2

struct values {
    char text[8];
    const char *string, *path;
    uint8_t byte;
    uint16_t port;
    unsigned frames;
    uint64_t bytes;
    uint8_t word;
    const char *list[WORDS_MAX];
    unsigned listed;
    bool on, fast, has_port;
};

#define KL_ROWS_OF        struct values
#define NUMBER(f, lo, hi) .kind = KL_KIND_NUMBER, KL_ROW_FIELD(f), .min = lo, .max = hi
#define KEY(word)         .name = word, .key = word, .value = "V"
#define VARIABLE(upper)   .variable = "TEST_ROWS_" upper

static bool take_even(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    uint64_t n;
    if (!kl_number(value, 0, 255, &n)) return false;
    if (n % 2) snprintf(why, KL_ROW_TEXT, "expected an even number, got %s", value);
    if (!*why && row->size == 1) *(uint8_t *)field = (uint8_t)n;
    return !*why;
}

enum { BY_SOME = 1 };

static const struct kl_row rows[] = {
    {KEY("text"), .kind = KL_KIND_TEXT, KL_ROW_FIELD(text), .min = 2, .standard = "usual",
     .help = "some text"},
    KL_ROW_STRING("string", "V", string, "a string"),
    KL_ROW_PATH("path", "V", path, NULL),
    {KEY("port"), VARIABLE("PORT"), NUMBER(port, 1, 65535), KL_ROW_SAID(has_port), .standard = "7",
     .by = BY_SOME, .help = "the port, {range}"},
    {KEY("frames"), NUMBER(frames, 0, 90), .unit = "frames", .zero = "none", .help = "frames"},
    {KEY("bytes"), NUMBER(bytes, 0, UINT64_MAX), .letter = 'b'},
    {KEY("even"), .take = take_even, KL_ROW_FIELD(byte), .want = "an even number"},
    {KEY("word"), .kind = KL_KIND_WORD, KL_ROW_FIELD(word), .min = 3, .words = "off on auto"},
    {KEY("list"), .kind = KL_KIND_LIST, KL_ROW_FIELD(list), .count = offsetof(struct values, listed),
     .max = WORDS_MAX, .words = "=", .want = "K=V"},
    {.name = "switch", .key = "switch", VARIABLE("SWITCH"), .kind = KL_KIND_SWITCH, KL_ROW_FIELD(on)},
    {KEY("speed"), .kind = KL_KIND_SWITCH, KL_ROW_FIELD(fast), .words = "slow fast"},
    {.name = "secret", .value = "V", .kind = KL_KIND_STRING, KL_ROW_FIELD(string), .secret = true},
    {.name = NULL},
};

static struct values v;
static char err[KL_ROW_TEXT];

static bool set(const char *key, const char *value) {
    const struct kl_row *row = kl_row_of_key(rows, key);
    assert_non_null(row);
    return kl_row_set(row, &v, value, err);
}

static void bad(const char *key, const char *value, const char *expected) {
    struct values before = v;
    assert_false(set(key, value));
    assert_string_equal(err, expected);
    assert_memory_equal(&v, &before, sizeof v);
}

static enum kl_line parse(unsigned by, bool in_order, char *const words[]) {
    const struct kl_table tables[] = {{.rows = rows, .by = by}, {.rows = NULL}};
    char *argv[12] = {(char *)"program"};
    int argc = 1;
    while ((argv[argc] = words[argc - 1]))
        argc++;
    return kl_tables_parse(tables, &v, argc, argv, in_order, "a known option", err);
}
#define PARSE(...) parse(0, false, (char *[]){__VA_ARGS__, NULL})

TEST(each_kind_takes_its_values) {
    memset(&v, 0, sizeof v);
    kl_rows_standard(rows, &v);
    assert_string_equal(v.text, "usual");
    assert_int_equal(v.port, 7);
    assert_false(v.has_port);
    assert_true(set("text", "1234567") && set("port", "65535") && set("frames", "0"));
    assert_true(set("bytes", "18446744073709551615") && set("even", "8") && set("list", "a=1"));
    assert_string_equal(v.text, "1234567");
    assert_int_equal(v.port, 65535);
    assert_true(v.has_port);
    assert_true(v.bytes == UINT64_MAX);
    assert_int_equal(v.byte, 8);
    assert_int_equal(v.listed, 1);
    assert_string_equal(v.list[0], "a=1");
    static const char *const words[] = {"off", "on", "auto", "0", "true"};
    for (unsigned i = 0; i < COUNT(words); i++) {
        assert_true(set("word", words[i]));
        assert_int_equal(v.word, 3 + i % 3);
    }
    assert_true(set("switch", "1") && v.on && set("switch", "false") && !v.on && set("switch", "on") && v.on);
    assert_true(set("speed", "fast") && v.fast && set("speed", "slow") && !v.fast);
}

TEST(a_bad_value_sets_nothing_and_is_named_with_the_expected_one) {
    memset(&v, 0, sizeof v);
    bad("text", "1", "expected 2 to 7 bytes, got \"1\"");
    bad("text", "12345678", "expected 2 to 7 bytes, got \"12345678\"");
    static const char *const numbers[] = {"0", "65536", "-1", " 1", "1 ", "1x", "", "99999999999999999999"};
    for (unsigned i = 0; i < COUNT(numbers); i++) {
        char expected[KL_ROW_TEXT];
        snprintf(expected, sizeof expected, "expected a number from 1 to 65535, got \"%s\"", numbers[i]);
        bad("port", numbers[i], expected);
    }
    bad("frames", "91", "expected 0 (none) to 90 frames, got \"91\"");
    bad("bytes", "18446744073709551616",
        "expected a number from 0 to 18446744073709551615, got \"18446744073709551616\"");
    bad("even", "x", "expected an even number, got \"x\"");
    bad("even", "3", "expected an even number, got 3");
    bad("word", "of", "expected off, on or auto, got \"of\"");
    bad("switch", "yes", "expected on or off, got \"yes\"");
    bad("speed", "on", "expected fast or slow, got \"on\"");
    bad("list", "=1", "expected K=V, got \"=1\"");
    assert_true(set("list", "a=1") && set("list", "b=2"));
    bad("list", "c=3", "expected at most 2 of them, got one more");
    char longer[2 * KL_ROW_TEXT];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_false(set("port", longer)); /* the error is cut */
    assert_true(strlen(err) < KL_ROW_TEXT);
}

static bool read_file(const char *text, const char *unknown) {
    return kl_rows_read(rows, &v, text, "a.conf", unknown, err, sizeof err);
}

TEST(the_command_line_counts_before_the_environment_before_the_file_before_the_default) {
    memset(&v, 0, sizeof v);
    kl_rows_standard(rows, &v);
    assert_true(read_file("# ours\nport = 8\nswitch = on\ntext = \"a # b\"\nframes = 4 # four\n", NULL));
    assert_int_equal(v.port, 8);
    assert_int_equal(v.frames, 4);
    assert_string_equal(v.text, "a # b");
    kl_environment_set("TEST_ROWS_PORT", "9");
    kl_environment_set("TEST_ROWS_SWITCH", "");
    assert_true(kl_rows_environment(rows, &v, err, sizeof err));
    assert_int_equal(v.port, 9);
    assert_true(v.on); /* a variable without a value says nothing */
    assert_int_equal(PARSE("--port=10", "--port", "11"), KL_LINE_DONE);
    assert_int_equal(v.port, 11);
    kl_environment_set("TEST_ROWS_PORT", "none");
    assert_false(kl_rows_environment(rows, &v, err, sizeof err));
    assert_string_equal(err, "TEST_ROWS_PORT: expected a number from 1 to 65535, got \"none\"");
    assert_int_equal(v.port, 11);
    kl_environment_set("TEST_ROWS_PORT", "");
}

static void bad_file(const char *text, const char *unknown, const char *expected) {
    assert_false(read_file(text, unknown));
    assert_string_equal(err, expected);
}

TEST(a_bad_line_of_a_file_is_named) {
    bad_file("port = 1\n\nframes = x\n", NULL,
             "a.conf line 3: frames: expected 0 (none) to 90 frames, got \"x\"");
    bad_file("port = 0\n", NULL,
             "a.conf line 1: TEST_ROWS_PORT: expected a number from 1 to 65535, got \"0\"");
    bad_file("prt = 1\n", NULL, "a.conf line 1: there is no key \"prt\"");
    bad_file("prt = 1\n", "a key", "a.conf line 1: expected a key, got \"prt\"");
    bad_file("string = x\n", "a key", "a.conf line 1: expected a key, got \"string\""); /* a flag alone */
    bad_file("port\n", NULL, "a.conf line 1: expected key = value, got \"port\"");
    bad_file("frames = 1\nframes = 2\n", "a key",
             "a.conf line 2: expected frames once, got it in line 1, too");
    assert_true(read_file("frames = 1\nframes = 2\n", NULL)); /* the first counts */
    assert_int_equal(v.frames, 1);
    char text[8000] = "text = ";
    memset(text + strlen(text), 'x', sizeof text - strlen(text) - 1);
    text[sizeof text - 1] = 0;
    assert_false(read_file(text, NULL));
    assert_non_null(strstr(err, "a.conf line 1: text: expected 2 to 7 bytes, got \"xxx"));
}

TEST(the_words_of_a_command_line) {
    memset(&v, 0, sizeof v);
    char secret[] = "hidden";
    assert_int_equal(PARSE("-b", "5", "--switch", "--list", "a=1", "--secret", secret, "word", "--frames=2"),
                     KL_LINE_DONE);
    assert_int_equal(v.bytes, 5);
    assert_true(v.on);
    assert_int_equal(v.frames, 2);
    assert_string_equal(v.string, "hidden");
    assert_string_equal(secret, "******");
    assert_int_equal(parse(0, true, (char *[]){"--frames=3", "word", "--frames=4", NULL}), KL_LINE_DONE);
    assert_int_equal(v.frames, 3); /* options end at the first word */
    assert_int_equal(optind, 2);
    assert_int_equal(PARSE("--help", "--nope"), KL_LINE_HELP);
    assert_int_equal(PARSE("-V"), KL_LINE_VERSION);
    static const struct {
        const char *word, *expected;
    } wrong[] = {{"--port=0", "--port: expected a number from 1 to 65535, got \"0\""},
                 {"--port", "--port: expected a value, got none"},
                 {"--nope", "expected a known option, got \"--nope\""},
                 {"-x", "expected a known option, got \"-x\""},
                 {"--switch=on", "--switch: expected no value, got \"on\""}};
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(PARSE((char *)wrong[i].word), KL_LINE_BAD);
        assert_string_equal(err, wrong[i].expected);
    }
    assert_int_equal(parse(BY_SOME, false, (char *[]){"--port=3", NULL}), KL_LINE_DONE);
    assert_int_equal(parse(BY_SOME, false, (char *[]){"--frames=3", NULL}), KL_LINE_BAD); /* of others */
}

TEST(text_for_people) {
    char text[KL_ROW_TEXT];
    const struct kl_row *port = kl_row_of_key(rows, "port"), *frames = kl_row_of_key(rows, "frames");
    kl_row_help(port, text);
    assert_string_equal(text, "the port, 1 to 65535");
    kl_row_help(frames, text);
    assert_string_equal(text, "frames");
    kl_row_shown(port, NULL, text);
    assert_string_equal(text, "7");
    kl_row_shown(frames, &(struct values){.frames = 30}, text);
    assert_string_equal(text, "30");
    kl_row_flag(kl_row_of_key(rows, "bytes"), text);
    assert_string_equal(text, "--bytes V, -b V");
}

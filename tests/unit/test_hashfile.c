/* Hash files and their comparison (keylock diff). */
#include "tests/unit/folder.h"

#include "core_wrapper/tool/common/hashfile.h"
#include "core_wrapper/tool/run/run.h"
#include "core_wrapper/tool/common/tool.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

#include <stdlib.h>
#include <unistd.h>

#define H1 "0123456789abcdef"
#define H2 "fedcba9876543210"
#define H3 "00000000000000ff"

static struct kl_hashdiff diff(const char *a, const char *b) {
    struct kl_hashdiff d;
    put("a", a);
    put("b", b);
    if (kl_hashdiff(&d, at("a"), at("b"), err, sizeof(err)) != 0) fail_msg("%s", err);
    return d;
}

static int exit_code(const char *a, const char *b) {
    put("a", a);
    put("b", b);
    char *args[] = {(char *)"diff", (char *)at("a"), (char *)at("b"), NULL};
    return cmd_diff(3, args);
}

TEST(equal_over_what_both_have) {
    struct kl_hashdiff d = diff("59 " H1 " " H2 "\n119 " H2 " " H3 "\n179 " H1 " " H1 "\n",
                                "29 " H3 " " H3 "\n59 " H1 " " H2 "\n149 " H1 " " H1 "\n179 " H1 " " H1 "\n");
    assert_int_equal(d.shared, 2);
    assert_int_equal(d.first, 59);
    assert_int_equal(d.last, 179);
    assert_int_equal(d.hard + d.soft, 0);
}

TEST(first_frame_where_ram_differs) {
    struct kl_hashdiff d = diff("59 " H1 " " H1 "\n119 " H1 " " H1 "\n179 " H2 " " H2 "\n",
                                "59 " H1 " " H2 "\n119 " H2 " " H1 "\n179 " H3 " " H2 "\n");
    assert_int_equal(d.hard, 2);
    assert_int_equal(d.hard_first, 119);
    assert_false(d.hard_in_state);
    assert_int_equal(d.soft, 1);
}

TEST(without_ram_state_counts) {
    struct kl_hashdiff d = diff("59 - " H1 "\n119 - " H2 "\n", "59 - " H1 "\n119 - " H1 "\n");
    assert_int_equal(d.hard_first, 119);
    assert_true(d.hard_in_state);
}

TEST(only_states_differ) {
    struct kl_hashdiff d = diff("59 " H1 " " H1 "\n119 " H1 " " H1 "\n", "59 " H1 " " H2 "\n119 " H1 " -\n");
    assert_int_equal(d.hard, 0);
    assert_int_equal(d.soft, 2);
    assert_int_equal(d.soft_first, 59);
}

TEST(exit_codes) {
    static const struct {
        const char *a, *b;
        int code;
    } of[] = {
        {"59 " H1 " " H2 "\n", "59 " H1 " " H2 "\n", 0},
        {"59 " H1 " " H1 "\n", "59 " H2 " " H1 "\n", 1},
        {"59 - " H1 "\n", "59 - " H2 "\n", 1},
        {"59 " H1 " " H1 "\n", "59 - " H1 "\n", 1},      /* RAM on one side only */
        {"59 " H1 " " H1 "\n59 " H1 " " H1 "\n", "", 2}, /* frames go up */
        {"59 " H1 " " H1 "\n58 " H1 " " H1 "\n", "", 2},
        {"59 " H1 " " H1 "\n", "60 " H1 " " H1 "\n", 3},
        {"", "60 " H1 " " H1 "\n", 3},
        {"59 - -\n", "59 - -\n", 3}, /* no hash in common either */
        {"59 " H1 " " H1 "\n", "59 " H1 " " H2 "\n", 4},
    };
    for (size_t i = 0; i < COUNT(of); i++) {
        int code = exit_code(of[i].a, of[i].b);
        if (code != of[i].code) fail_msg("%sand %sgive %d", of[i].a, of[i].b, code);
    }
}

TEST(malformed_lines_are_named) {
    const char *const bad[] = {"59 " H1 "\n",
                               "59 " H1 " " H2 " " H3 "\n",
                               "x " H1 " " H2 "\n",
                               "-1 " H1 " " H2 "\n",
                               "4294967296 " H1 " " H2 "\n",
                               "59 0123 " H2 "\n",
                               "59 " H1 "0 " H2 "\n",
                               "59 0x23456789abcdef " H2 "\n",
                               "59 -- " H2 "\n",
                               "\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        struct kl_hashdiff d;
        snprintf(text, sizeof(text), "1 " H1 " " H2 "\n%s", bad[i]);
        put("a", text);
        put("b", "1 " H1 " " H2 "\n");
        assert_int_equal(kl_hashdiff(&d, at("a"), at("b"), err, sizeof(err)), -1);
        assert_non_null(strstr(err, "/a:2: expected"));
        assert_int_equal(kl_hashdiff(&d, at("b"), at("a"), err, sizeof(err)),
                         -1); /* also past what is shared */
        assert_int_equal(exit_code("1 " H1 " " H2 "\n", text), 2);
    }
}

TEST(a_long_line_is_malformed) {
    char text[1000];
    memset(text, '1', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(exit_code(text, "1 " H1 " " H2 "\n"), 2);
}

TEST(a_missing_file_is_named) {
    struct kl_hashdiff d;
    assert_int_equal(kl_hashdiff(&d, "/nonexistent/h", at("b"), err, sizeof(err)), -1);
    assert_non_null(strstr(err, "/nonexistent/h"));
}

TEST(written_values_are_read_back) {
    struct kl_hashline line = {.frame = 4294967295u, .has_ram = true, .ram = 0xff}, back;
    struct kl_hashreader r;
    FILE *f = fopen(at("a"), "w");
    assert_int_equal(kl_hashline_write(f, &line), 0);
    fclose(f);
    assert_int_equal(kl_hashreader_open(&r, at("a"), err, sizeof(err)), 0);
    assert_int_equal(kl_hashreader_next(&r, &back, err, sizeof(err)), 1);
    assert_int_equal(back.frame, line.frame);
    assert_true(back.has_ram && !back.has_state && back.ram == 0xff);
    assert_int_equal(kl_hashreader_next(&r, &back, err, sizeof(err)), 0);
    kl_hashreader_close(&r);
}

TEST(a_full_disk_shows_at_once) {
    struct kl_hashline line = {.frame = 1, .has_ram = true, .has_state = true, .ram = 1, .state = 2};
    FILE *f = fopen("/dev/full", "w");
    if (!f) skip();
    assert_int_equal(kl_hashline_write(f, &line), -1);
    fclose(f);
}

/* A player who has begun anew, once and once more, runs the same frames again. */
TEST(a_file_that_begins_anew_is_written_once) {
    static const uint32_t frames[] = {59, 119, 179, 59, 119, 239, 299, 119, 179, 299, 359};
    struct kl_run_output o;
    struct kl_hashdiff d;
    assert_int_equal(kl_run_output_open(&o, at("a"), NULL), 0);
    for (unsigned i = 0; i < sizeof frames / sizeof *frames; i++)
        kl_run_output_hash(&o, &(struct kl_hashline){.frame = frames[i], .has_ram = true, .ram = frames[i]});
    assert_int_equal(o.hash_count, 6);
    assert_int_equal(o.last.frame, 359);
    assert_int_equal(kl_run_output_close(&o), 0);
    assert_int_equal(kl_hashdiff(&d, at("a"), at("a"), err, sizeof err), 0);
    assert_int_equal(d.shared, 6);
}

int main(void) {
    return run_all_tests(make_folder, remove_folder);
}

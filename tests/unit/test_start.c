/* The start data comes from another player's machine: the values that the decoder takes, and those that it
 * must not. Any bytes at all: fuzz_start. */
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/start/start.h"

static const uint8_t save_ram[5] = {1, 2, 3, 4, 5};

static struct kl_start *sample(void) {
    struct kl_start *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->profile.load_own = true;
    s->profile.mask = (struct kl_mask){.state_bytes = 1000, .count = 2, .range = {{0, 3}, {990, 993}}};
    s->option_count = 1;
    strcpy(s->option[0].key, "core_region");
    strcpy(s->option[0].value, "pal");
    s->device_count = 2;
    s->device[0] = (struct kl_start_device){0, 1};
    s->device[1] = (struct kl_start_device){3, 0x101};
    s->memory_count = 1;
    s->memory[0] = (struct kl_start_memory){0, save_ram, sizeof save_ram};
    s->file_count = 2;
    strcpy(s->file[0].path, "fbneo/kof98.nv");
    s->file[0].bytes = save_ram;
    s->file[0].len = 3;
    strcpy(s->file[1].path, "kof98.hi");
    return s;
}

/* Encodes and decodes s into a fresh object; gives what decode says. */
static int through(const struct kl_start *s, struct kl_start *out) {
    static uint8_t buf[8192];
    assert_true(kl_start_bound(s) <= sizeof buf);
    int len = kl_start_encode(s, buf, sizeof buf);
    assert_true(len > 0);
    return kl_start_decode(out, buf, (size_t)len);
}

static void put_state(struct kl_start *s) {
    s->state = (struct kl_start_state){.frame = 600,
                                       .room_id = {0x1a, 0x2b},
                                       .match = "cup-3",
                                       .players = "ann (1), bob (2)",
                                       .chance = 77,
                                       .bytes = 9,
                                       .hash = {5},
                                       .packed = save_ram,
                                       .packed_len = sizeof save_ram};
}

TEST(a_state_in_words) {
    char out[KL_START_WORDS];
    struct kl_start *s = sample();
    put_state(s);
    kl_start_state_words(&s->state, out);
    assert_string_equal(out, "frame 600 of match cup-3: ann (1), bob (2)");
    strcpy(s->state.match, "");
    strcpy(s->state.players, "a\xe2\x80\xae"
                             "b"); /* turns the text around */
    kl_start_state_words(&s->state, out);
    assert_string_equal(out, "frame 600 of room 1a2b00000000: a?b");
    memset(s->state.room_id, 0, sizeof s->state.room_id);
    s->state.players[0] = 0;
    kl_start_state_words(&s->state, out);
    assert_string_equal(out, "frame 600 of a recording");
    free(s);
}

/* Among the options, so that a client that knows nothing of it can read the data. */
TEST(the_host_s_system_comes_along) {
    struct kl_start *s = sample(), *t = sample();
    assert_string_equal(kl_start_system(s), "Linux");
    kl_start_put_system(s, "Linux");
    assert_int_equal(s->option_count, 1);
    kl_start_put_system(s, "Windows");
    memset(t, 0, sizeof *t);
    assert_int_equal(through(s, t), 0);
    assert_string_equal(kl_start_system(t), "Windows");
    assert_string_equal(t->option[0].value, "pal");
    s->option_count = KL_START_OPTIONS;
    kl_start_put_system(s, "Windows");
    assert_int_equal(s->option_count, KL_START_OPTIONS);
    free(s);
    free(t);
}

TEST(paths_that_lead_elsewhere) {
    static const char *const bad[] = {"",         "/etc/passwd", "..",    "../x", "a/../b",
                                      "a/..",     ".",           "./a",   "a//b", "a/",
                                      "a\\..\\b", "a\nb",        "a/./b", "/",    "\x7f"};
    static const char *const good[] = {"a",           "a.b",  "..a", "a..", "...", "fbneo/kof98.nv",
                                       "a b (c).sav", "é.sav"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(kl_start_path_ok(bad[i]));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(kl_start_path_ok(good[i]));
    char longest[KL_START_PATH_MAX + 1];
    memset(longest, 'a', sizeof longest);
    longest[KL_START_PATH_MAX - 1] = 0;
    assert_true(kl_start_path_ok(longest));
    longest[KL_START_PATH_MAX - 1] = 'a';
    longest[KL_START_PATH_MAX] = 0;
    assert_false(kl_start_path_ok(longest));
}

TEST(lengths_are_exact) {
    static uint8_t buf[8192];
    struct kl_start *s = sample(), *t = sample();
    int len = kl_start_encode(s, buf, sizeof buf);
    for (int cap = 0; cap < len; cap++)
        assert_int_equal(kl_start_encode(s, buf, (size_t)cap), KL_E_SPACE);
    assert_int_equal(kl_start_encode(s, buf, (size_t)len), len);
    assert_int_equal(kl_start_decode(t, buf, (size_t)len - 1), KL_E_MALFORMED);
    assert_int_equal(kl_start_decode(t, buf, (size_t)len + 1), KL_E_MALFORMED);
    free(t);
    free(s);
}

TEST(text) {
    assert_true(kl_start_text_ok("enabled", 256));
    assert_true(kl_start_text_ok("", 256));
    assert_false(kl_start_text_ok("a\tb", 256));
    assert_false(kl_start_text_ok("\xff", 256));
    assert_true(kl_start_text_ok("abc", 4));
    assert_false(kl_start_text_ok("abcd", 4));
}

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

TEST(all_comes_back) {
    struct kl_start *s = sample(), *t = sample();
    put_state(s);
    memset(t, 0xee, sizeof *t);
    assert_int_equal(through(s, t), 0);
    assert_int_equal(t->state.frame, 600);
    assert_int_equal(t->state.room_id[1], 0x2b);
    assert_string_equal(t->state.match, "cup-3");
    assert_string_equal(t->state.players, "ann (1), bob (2)");
    assert_int_equal(t->state.chance, 77);
    assert_int_equal(t->state.bytes, 9);
    assert_int_equal(t->state.hash[0], 5);
    assert_int_equal(t->state.packed_len, sizeof save_ram);
    assert_memory_equal(t->state.packed, save_ram, sizeof save_ram);
    assert_memory_equal(&t->profile, &s->profile, sizeof s->profile);
    assert_string_equal(t->option[0].value, "pal");
    assert_int_equal(t->device[1].port, 3);
    assert_int_equal(t->device[1].device, 0x101);
    assert_memory_equal(t->memory[0].bytes, save_ram, sizeof save_ram);
    assert_int_equal(t->file_count, 2);
    assert_string_equal(t->file[0].path, "fbneo/kof98.nv");
    assert_int_equal(t->file[0].len, 3);
    assert_int_equal(t->file[1].len, 0);
    s->state.bytes = KL_SNAPSHOT_MAX + 1;
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    s->state.bytes = 9;
    s->state.packed_len = 0;
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    s->state.bytes = 0; /* none */
    assert_int_equal(through(s, t), 0);
    assert_int_equal(t->state.bytes, 0);
    free(s);
    free(t);
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

TEST(contradictions_are_refused) {
    struct kl_start *s = sample(), *t = sample();
    strcpy(s->file[1].path, s->file[0].path);
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    free(s);
    s = sample();
    strcpy(s->file[1].path, "../.bashrc");
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    free(s);
    s = sample();
    s->device[1].port = 0;
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    s->device[1].port = KL_MAX_SEATS;
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    free(s);
    s = sample();
    s->memory[1] = s->memory[0];
    s->memory_count = 2;
    assert_int_equal(through(s, t), KL_E_MALFORMED);
    free(s);
    free(t);
}

/* Decodes a start whose profile section is these bytes, and nothing else in it. */
static int profile_of(const uint8_t *section, size_t len, struct kl_start *out) {
    uint8_t buf[64] = "KLS2";
    memcpy(buf + 4, section, len);
    memset(buf + 4 + len, 0, 4); /* no options, devices, memories, files */
    return kl_start_decode(out, buf, len + 8);
}

TEST(a_mask_from_outside) {
    struct kl_start *t = calloc(1, sizeof *t);
    static const struct {
        uint8_t bytes[16];
        size_t len;
        bool good;
    } of[] = {
        {{0, 0, 0}, 3, true},                             /* no profile */
        {{15, 0, 0}, 3, true},                            /* all that there is */
        {{16, 0, 0}, 3, false},                           /* a state, and none follows */
        {{32, 0, 0}, 3, false},                           /* a flag that nobody knows */
        {{0, 0xe8, 0x07, 1, 0, 10}, 6, true},             /* 10 of 1000 bytes */
        {{0, 0xe8, 0x07, 1, 0, 11}, 6, false},            /* more than 1 % */
        {{4, 0xe8, 0x07, 1, 0, 10}, 6, false},            /* equal states, and a mask */
        {{0, 0, 1, 0, 1}, 5, false},                      /* of a state of any size */
        {{0, 0xe8, 0x07, 1, 0xe7, 0x07, 1}, 7, true},     /* the last byte */
        {{0, 0xe8, 0x07, 1, 0xe8, 0x07, 1}, 7, false},    /* the one behind it */
        {{0, 0xe8, 0x07, 1, 5, 0}, 6, false},             /* a range of nothing */
        {{0, 0xe8, 0x07, 2, 5, 2, 0, 2}, 8, false},       /* two that touch */
        {{0, 0xe8, 0x07, 2, 5, 2, 1, 2}, 8, true},        /* two that do not */
        {{0, 0x81, 0x80, 0x80, 0x80, 0x04, 0}, 7, false}, /* a state of 2^30 + 1 bytes */
        {{0, 0xe8, 0x07, 0x81, 0x08, 0, 1}, 7, false},    /* 1025 ranges */
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_int_equal(profile_of(of[i].bytes, of[i].len, t), of[i].good ? 0 : KL_E_MALFORMED);
    free(t);
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

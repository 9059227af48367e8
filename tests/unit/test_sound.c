/* The first system of sound that opens is taken; one that is there and does not answer is the last one tried.
 *
 * runs: working, check, 1 s */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "core_wrapper/voice/sound.h"

static char err[100];
static bool is_absent;
static unsigned tried;
static int device;

static void *open_first(const char *in, const char *out, bool *absent, char *why, size_t len) {
    (void)in, (void)out;
    tried++;
    *absent = is_absent;
    snprintf(why, len, "first: no");
    return NULL;
}

static void *open_second(const char *in, const char *out, bool *absent, char *why, size_t len) {
    (void)absent;
    tried++;
    assert_string_equal(in, "in");
    assert_string_equal(out, "out");
    snprintf(why, len, "second: no");
    return is_absent ? &device : NULL;
}

static void *open_third(const char *in, const char *out, bool *absent, char *why, size_t len) {
    (void)in, (void)out;
    tried++;
    *absent = true;
    snprintf(why, len, "third: no");
    return NULL;
}

static const struct kl_sound second = {.name = "second", .open = open_second},
                             first = {.name = "first", .open = open_first, .next = &second},
                             third = {.name = "third", .open = open_third, .next = &first};

TEST(the_next_is_taken_if_the_first_is_absent) {
    const struct kl_sound *sound = &third;
    is_absent = true;
    tried = 0;
    assert_ptr_equal(kl_sound_open(&sound, "in", "out", err, sizeof err), &device);
    assert_ptr_equal(sound, &second);
    assert_int_equal(tried, 3);
}

TEST(one_that_does_not_answer_is_the_last_one_tried) {
    const struct kl_sound *sound = &third;
    is_absent = false;
    tried = 0;
    assert_null(kl_sound_open(&sound, "in", "out", err, sizeof err));
    assert_int_equal(tried, 2);
    assert_string_equal(err, "third: no; first: no");
}

TEST(long_reasons_are_cut) {
    const struct kl_sound *sound = &third;
    char cut[12];
    is_absent = false;
    assert_null(kl_sound_open(&sound, "in", "out", cut, sizeof cut));
    assert_string_equal(cut, "third: no; ");
    assert_null(kl_sound_open(&sound, "in", "out", cut, 5));
    assert_string_equal(cut, "thir");
}

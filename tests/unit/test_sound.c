/* The first system of sound that is there is taken; one that is there and fails is the last one tried.
 *
 * runs: working, check, 1 s */
#include <stdio.h>

#include "tests/unit/unit.h"

#include "core_wrapper/voice/sound.h"

static char err[100];
static unsigned tried;
static int here; /* a device */

static int open_absent(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)device, (void)in, (void)out;
    tried++;
    snprintf(why, len, "absent");
    return KL_SOUND_ABSENT;
}

static int open_failing(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)device, (void)in, (void)out;
    tried++;
    snprintf(why, len, "failed");
    return KL_SOUND_FAILED;
}

static int open_good(void **device, const char *in, const char *out, char *why, size_t len) {
    (void)why, (void)len;
    tried++;
    assert_string_equal(in, "in");
    assert_string_equal(out, "out");
    *device = &here;
    return 0;
}

static const struct kl_sound good = {.open = open_good}, failing = {.open = open_failing, .next = &good},
                             before_good = {.open = open_absent, .next = &good},
                             before_failing = {.open = open_absent, .next = &failing},
                             alone = {.open = open_absent};

static int open_from(const struct kl_sound **sound, void **device) {
    tried = 0;
    return kl_sound_open(sound, device, "in", "out", err, sizeof err);
}

TEST(the_next_is_taken_if_the_first_is_absent) {
    const struct kl_sound *sound = &before_good;
    void *device = NULL;
    assert_int_equal(open_from(&sound, &device), 0);
    assert_ptr_equal(device, &here);
    assert_ptr_equal(sound, &good);
    assert_int_equal(tried, 2);
}

TEST(one_that_fails_is_the_last_one_tried) {
    const struct kl_sound *sound = &before_failing;
    void *device = NULL;
    assert_int_equal(open_from(&sound, &device), KL_SOUND_FAILED);
    assert_null(device);
    assert_int_equal(tried, 2);
    assert_string_equal(err, "absent; failed");
    sound = &alone;
    assert_int_equal(open_from(&sound, &device), KL_SOUND_ABSENT);
}

TEST(long_reasons_are_cut) {
    const struct kl_sound *sound = &before_failing;
    void *device;
    char cut[9];
    assert_int_equal(kl_sound_open(&sound, &device, "in", "out", cut, sizeof cut), KL_SOUND_FAILED);
    assert_string_equal(cut, "absent; ");
    assert_int_equal(kl_sound_open(&sound, &device, "in", "out", cut, 4), KL_SOUND_FAILED);
    assert_string_equal(cut, "abs");
}

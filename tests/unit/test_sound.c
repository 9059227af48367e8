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

TEST(samples_of_any_number_become_pieces_and_the_newest_stay) {
    static struct kl_sound_inlet inlet;
    int16_t sample[700], piece[KL_SOUND_PIECE];
    unsigned put = 0, took = 0;
    for (; put < 700 * 3; put += 700) {
        for (unsigned i = 0; i < 700; i++)
            sample[i] = (int16_t)(put + i);
        kl_sound_put(&inlet, sample, 700);
    }
    for (; kl_sound_take(&inlet, piece); took++)
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
            assert_int_equal(piece[i], took * KL_SOUND_PIECE + i);
    assert_int_equal(took, 4); /* 180 samples stay */
    kl_sound_put(&inlet, NULL, KL_SOUND_PIECE - 180);
    assert_int_equal(kl_sound_take(&inlet, piece), 1);
    assert_int_equal(piece[179], 2099);
    assert_int_equal(piece[180], 0);
    for (unsigned n = 0; n < KL_SOUND_WAITS; n++)
        kl_sound_put(&inlet, sample, KL_SOUND_PIECE);
    kl_sound_put(&inlet, sample + 100, 100);
    for (took = 0; kl_sound_take(&inlet, piece); took++)
        assert_int_equal(piece[0], sample[100]);
    assert_int_equal(took, KL_SOUND_WAITS);
    assert_int_equal(piece[KL_SOUND_PIECE - 1], sample[199]);
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

/* A crossfade: a step in the sound becomes a slope, in pieces of any size. */
#include "tests/unit/unit.h"

#include "core_wrapper/ahead/fade.h"

#define LONG  64
#define SOUND 200

static struct kl_fade f;
static int16_t heard[2 * SOUND];

static void high_before(void) {
    int16_t one[2] = {10000, -10000};
    memset(&f, 0, sizeof f);
    for (unsigned i = 0; i < 2 * KL_FADE_MAX; i++) /* more than is kept */
        kl_fade_keep(&f, one, 1);
}

/* The sound is low from here on; it comes in pieces of `piece` samples. */
static void low_after(size_t piece) {
    for (size_t at = 0; at < SOUND; at += piece) {
        for (size_t i = 0; i < piece; i++) {
            heard[2 * (at + i)] = -10000;
            heard[2 * (at + i) + 1] = 10000;
        }
        size_t n = kl_fade_left(&f) < piece ? kl_fade_left(&f) : piece;
        kl_fade_mix(&f, heard + 2 * at, n);
    }
}

TEST(a_step_becomes_a_slope) {
    high_before();
    kl_fade_begin(&f, LONG);
    low_after(SOUND);
    assert_true(heard[0] > 9000 && heard[1] < -9000);
    for (unsigned i = 1; i < SOUND; i++)
        assert_true(heard[2 * i] <= heard[2 * i - 2] && heard[2 * i - 2] - heard[2 * i] <= 20000 / LONG + 1);
    assert_int_equal(heard[2 * LONG], -10000);
    assert_int_equal(heard[2 * LONG + 1], 10000);
}

TEST(pieces_of_any_size_sound_the_same) {
    static int16_t whole[2 * SOUND];
    high_before();
    kl_fade_begin(&f, LONG);
    low_after(SOUND);
    memcpy(whole, heard, sizeof whole);
    for (size_t piece = 1; piece <= 100; piece *= 10) {
        high_before();
        kl_fade_begin(&f, LONG);
        low_after(piece);
        assert_memory_equal(heard, whole, sizeof whole);
    }
}

TEST(without_sound_before_nothing_fades) {
    memset(&f, 0, sizeof f);
    kl_fade_begin(&f, LONG);
    assert_int_equal(kl_fade_left(&f), 0);
}

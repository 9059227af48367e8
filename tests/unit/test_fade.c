/* A crossfade: a step in the sound becomes a slope, in pieces of any size, and no slope is steeper than the
 * sound itself. */
#include <math.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/ahead/shown.h"

#define LONG  64
#define SOUND 400

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
        kl_fade_mix(&f, heard + 2 * at, piece);
    }
}

TEST(a_step_becomes_a_slope) {
    high_before();
    kl_fade_begin(&f, LONG);
    low_after(SOUND);
    assert_true(heard[0] > 9000 && heard[1] < -9000);
    for (unsigned i = 1; i < SOUND; i++)
        assert_true(heard[2 * i] <= heard[2 * i - 2] && heard[2 * i - 2] - heard[2 * i] <= KL_FADE_STEP);
    assert_int_equal(heard[2 * SOUND - 2], -10000);
    assert_int_equal(heard[2 * SOUND - 1], 10000);
    assert_false(f.on);
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
    assert_false(f.on);
}

#define RATE 48000
#define TALL 12000.0

static int16_t tone(double hz, double second) {
    return (int16_t)lrint(TALL * sin(2 * M_PI * hz * second));
}

/* One guess of two tones after the other, each of another time than the one before, in pieces. Some end while
 * the fade into them is under way. */
static void fade_tones(size_t piece) {
    static const double hz[2] = {500, 100};
    static int16_t s[2 * 1100];
    int largest[2], last[2] = {0, 0};
    for (unsigned c = 0; c < 2; c++)
        largest[c] = (int)ceil(TALL * 2 * M_PI * hz[c] / RATE) + 1;
    memset(&f, 0, sizeof f);
    for (unsigned guess = 0; guess < 2000; guess++) {
        kl_fade_begin(&f, RATE * 4 / 1000);
        for (size_t at = 0, n = 100 + guess * 37 % 1000; at < n; at += piece) {
            size_t len = n - at < piece ? n - at : piece;
            for (size_t i = 0; i < 2 * len; i++)
                s[i] = tone(hz[i % 2], (double)(guess * 7919 % RATE + at + i / 2) / RATE);
            kl_fade_mix(&f, s, len);
            kl_fade_keep(&f, s, len);
            for (size_t i = 0; i < 2 * len; i++) {
                if (guess || at || i > 1) assert_in_range(abs(s[i] - last[i % 2]), 0, largest[i % 2]);
                last[i % 2] = s[i];
            }
        }
    }
}

TEST(no_step_is_larger_than_the_largest_of_the_tones) {
    fade_tones(1);
    fade_tones(7);
    fade_tones(1100); /* more than is kept */
}

/* test_clean.c - the microphone's sound without an echo and without noise; with the real speexdsp.
 * runs: working, test, 2 s */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "core_wrapper/voice/clean.h"
#include "core_wrapper/voice/codec.h"

#define UNIT        KL_CODEC_UNIT
#define UNITS       600 /* 12 s */
#define LEARNS      400 /* the echo's way is learned by then */
#define ECHO        960 /* samples: 60 ms */
#define GAME_RATE   32000
#define GAME_FRAMES (GAME_RATE / 50)

static struct kl_clean *clean;
static uint32_t chance = 1;

static int16_t noise(int32_t loud) {
    chance = chance * 1664525 + 1013904223;
    return (int16_t)((int32_t)(chance >> 16) % (2 * loud) - loud);
}

/* Speech of a kind: a buzz of 150 Hz that comes and goes four times a second. */
static int16_t speech(unsigned at, unsigned rate) {
    double t = at / (double)rate, s = 0;
    for (unsigned k = 1; k < 12; k++)
        s += sin(2 * M_PI * 150 * k * t) / k;
    return (int16_t)(5000 * s * fmax(0, sin(2 * M_PI * 2 * t)));
}

static double power(const int16_t *s, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)s[i] * s[i];
    return sum / (double)n;
}

/* Three ways from the loudspeaker to the microphone. */
static int16_t echo_of(const int16_t *played, unsigned at) {
    double v = at >= ECHO ? 0.4 * played[at - ECHO] : 0;
    if (at >= ECHO + 150) v += 0.2 * played[at - ECHO - 150];
    if (at >= ECHO + 400) v -= 0.1 * played[at - ECHO - 400];
    return (int16_t)v;
}

static int set_up(void **state) {
    char err[200];
    (void)state;
    clean = kl_clean_new(err, sizeof err);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    kl_clean_free(clean);
    return 0;
}

static void clean_unit(int16_t near[UNIT]) {
    for (unsigned at = 0; at < UNIT; at += KL_CODEC_PIECE)
        kl_clean_sound(clean, near + at);
}

/* The decibels that an echo loses in the last seconds; the sound played is the room's voices, or the game. */
static double echo_falls_db(bool is_game) {
    int16_t *played = calloc(UNITS * UNIT, sizeof *played), near[UNIT], stereo[2 * GAME_FRAMES];
    double before = 0, after = 0;
    assert_non_null(played);
    for (unsigned i = 0; i < UNITS * UNIT; i++)
        played[i] = speech(i, KL_CODEC_RATE);
    kl_clean_begin(clean);
    for (unsigned u = 0; u < UNITS; u++) {
        const int16_t *now = played + u * UNIT;
        if (!is_game)
            for (unsigned p = 0; p < 2; p++)
                kl_clean_voices(clean, now + p * KL_CODEC_PIECE);
        for (unsigned i = 0; i < GAME_FRAMES; i++)
            stereo[2 * i] = stereo[2 * i + 1] = speech(u * GAME_FRAMES + i, GAME_RATE);
        if (is_game) kl_clean_game(clean, stereo, GAME_FRAMES, GAME_RATE);
        for (unsigned i = 0; i < UNIT; i++)
            near[i] = echo_of(played, u * UNIT + i);
        before += u >= LEARNS ? power(near, UNIT) : 0;
        clean_unit(near);
        after += u >= LEARNS ? power(near, UNIT) : 0;
    }
    free(played);
    return 10 * log10(before / after);
}

TEST_WITH(an_echo_of_the_voices_and_one_of_the_game_go, set_up, tear_down) {
    if (!clean) skip();
    for (int is_game = 0; is_game < 2; is_game++) {
        double db = echo_falls_db(is_game);
        print_message("the echo of the %s is %.1f dB softer\n", is_game ? "game" : "voices", db);
        assert_true(db >= 15);
    }
}

/* Speech stays, and the noise behind it becomes softer. */
TEST_WITH(speech_stays_and_noise_goes, set_up, tear_down) {
    if (!clean) skip();
    double said = 0, came = 0, hiss = 0, left = 0;
    kl_clean_begin(clean);
    for (unsigned u = 0; u < UNITS; u++) {
        bool speaks = u / 50 % 2;
        int16_t near[UNIT];
        for (unsigned i = 0; i < UNIT; i++)
            near[i] = (int16_t)((speaks ? speech(u * UNIT + i, KL_CODEC_RATE) : 0) + noise(150));
        double in = power(near, UNIT);
        clean_unit(near);
        double out = power(near, UNIT);
        if (u < LEARNS) continue;
        said += speaks ? in : 0, came += speaks ? out : 0;
        hiss += u % 100 >= 25 && u % 100 < 50 ? in : 0, left += u % 100 >= 25 && u % 100 < 50 ? out : 0;
    }
    print_message("speech %+.1f dB, noise %+.1f dB\n", 10 * log10(came / said), 10 * log10(left / hiss));
    assert_true(fabs(10 * log10(came / said)) <= 9);
    assert_true(10 * log10(left / hiss) <= -8);
}

/* A loudspeaker that plays while nobody listens, or a game that nobody fetches, fills nothing up. */
TEST_WITH(sound_that_nobody_fetches_is_dropped, set_up, tear_down) {
    if (!clean) skip();
    int16_t stereo[2 * 800] = {0}, piece[KL_CODEC_PIECE] = {0}, near[UNIT] = {0};
    for (unsigned i = 0; i < 1000; i++) {
        kl_clean_game(clean, stereo, 800, 48000);
        kl_clean_voices(clean, piece);
    }
    kl_clean_game(clean, stereo, 800, 0.0 / 1.0);
    clean_unit(near);
    assert_true(power(near, UNIT) < 1);
}

/* Voices in the game's own sound: added exactly at any rate, nothing changed where nobody speaks, no click
 * where the ring runs dry, and no sound that is older than the ring.
 * runs: waiting, check, 2 s */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/voice/sound_game.h"
#include "net/platform/clock.h"

#define LOUD  8000
#define TONE  500 /* Hz */
#define MOST  200000
#define GAMES 2

static struct kl_game_sound *voices[GAMES];
static const double rates[] = {8000, 32040.5, 44100, 48000, 96000, 384000};
static int16_t out[2 * MOST], silence[2 * MOST];
static unsigned said; /* samples of the tone */
static uint32_t chance = 1;

static int set_up(void **state) {
    (void)state;
    said = 0;
    memset(silence, 0, sizeof silence);
    for (unsigned i = 0; i < GAMES; i++) {
        voices[i] = kl_game_sound_new();
        kl_game_sound_open(voices[i]);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (unsigned i = 0; i < GAMES; i++)
        kl_game_sound_free(voices[i]);
    return 0;
}

/* The frontend's side: what it gets of so many frames. */
static void give(struct kl_game_sound *g, const int16_t *game, size_t frames, double rate, int16_t *to) {
    for (size_t done = 0, n; done < frames; done += n) {
        n = frames - done;
        const int16_t *sound = kl_game_sound_mix(g, game + 2 * done, &n, rate);
        assert_in_range(n, 1, frames - done);
        memcpy(to + 2 * done, sound, n * 2 * sizeof *to);
    }
}

/* The game plays, so it takes voices. */
static void begin(struct kl_game_sound *g, size_t frames, double rate) {
    static int16_t unheard[2 * 900];
    give(g, silence, frames, rate, unheard);
    kl_sound_game.room(g);
}

static void say(struct kl_game_sound *g, bool loud) {
    int16_t piece[KL_SOUND_PIECE] = {0};
    for (unsigned i = 0; loud && i < KL_SOUND_PIECE; i++)
        piece[i] = (int16_t)lrint(LOUD * sin(2 * M_PI * TONE * said++ / 48000.0));
    kl_sound_game.write(g, piece);
}

static int16_t noise(void) {
    chance = chance * 1664525 + 1013904223;
    return (int16_t)(chance >> 16);
}

static int16_t within(int v) {
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

static int loudest(const int16_t *stereo, size_t frames) {
    int most = 0;
    for (size_t i = 0; i < 2 * frames; i++)
        if (abs(stereo[i]) > most) most = abs(stereo[i]);
    return most;
}

static double worst_step(const int16_t *stereo, size_t frames) {
    int most = 0;
    for (size_t i = 2; i < 2 * frames; i++)
        if (abs(stereo[i] - stereo[i - 2]) > most) most = abs(stereo[i] - stereo[i - 2]);
    return most;
}

TEST_WITH(where_nobody_speaks_the_game_passes, set_up, tear_down) {
    int16_t game[2 * 900];
    for (unsigned i = 0; i < 2 * 900; i++)
        game[i] = noise();
    size_t n = 900;
    assert_ptr_equal(kl_game_sound_mix(voices[0], game, &n, 48000), game); /* a device has the voices */
    assert_int_equal(n, 900);
    begin(voices[0], 900, 48000);
    for (unsigned i = 0; i < 5; i++) {
        say(voices[0], false);
        say(voices[0], false);
        n = 900;
        assert_ptr_equal(kl_game_sound_mix(voices[0], game, &n, 48000), game);
        assert_int_equal(n, 900);
    }
}

TEST_WITH(voices_are_added_exactly, set_up, tear_down) {
    static int16_t game[2 * MOST], voice[2 * MOST];
    for (unsigned i = 0; i < 2 * MOST; i++)
        game[i] = noise();
    for (unsigned r = 0; r < sizeof rates / sizeof *rates; r++) {
        size_t frames = (size_t)(rates[r] / 60), all = 0;
        for (unsigned turn = 0; turn < 20; turn++, all += frames) {
            for (unsigned k = 0; k < GAMES; k++) {
                unsigned before = said;
                begin(voices[k], 1, rates[r]);
                for (unsigned i = 0; i < 2; i++)
                    say(voices[k], true);
                said = k + 1 < GAMES ? before : said;
            }
            give(voices[0], game + 2 * all, frames, rates[r], out + 2 * all);
            give(voices[1], silence, frames, rates[r], voice + 2 * all);
        }
        for (size_t i = 0; i < 2 * all; i++)
            if (out[i] != within(game[i] + voice[i])) fail_msg("rate %g, sample %zu", rates[r], i);
        if (loudest(voice, all) < LOUD * 0.98 || loudest(voice, all) > LOUD * 1.02)
            fail_msg("rate %g: %d", rates[r], loudest(voice, all));
        unsigned turns = 0;
        size_t from = all / 2;
        double expected = (double)(all - from) * TONE / rates[r];
        for (size_t i = from + 1; i < all; i++)
            turns += voice[2 * i] >= 0 && voice[2 * i - 2] < 0;
        if (fabs(turns - expected) > 2) fail_msg("rate %g: %u turns", rates[r], turns);
    }
}

TEST_WITH(odd_rates_have_no_voices, set_up, tear_down) {
    static const double odd[] = {0, -1, 3999, 384001, 1e9, NAN, INFINITY};
    size_t n = 4;
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_ptr_equal(kl_game_sound_mix(voices[0], silence, &n, odd[i]), silence);
    n = 0;
    assert_ptr_equal(kl_game_sound_mix(voices[0], silence, &n, 48000), silence);
}

TEST_WITH(a_ring_that_runs_dry_does_not_click, set_up, tear_down) {
    double step = 2 * M_PI * TONE / 44100 * LOUD + LOUD / (double)KL_GAME_FADE + 2;
    size_t all = 0;
    begin(voices[0], 735, 44100);
    for (unsigned turn = 0; turn < 60; turn++, all += 735) {
        if (turn % 4) say(voices[0], true);
        if (turn % 7 == 6)
            for (unsigned i = 0; i < 3; i++)
                say(voices[0], true);
        give(voices[0], silence, 735, 44100, out + 2 * all);
    }
    assert_true(loudest(out, all) > LOUD * 0.98);
    if (worst_step(out, all) > step) fail_msg("a step of %g, and %g at most", worst_step(out, all), step);
}

/* Longer than a game that stands still is known to. */
static unsigned stand_still(struct kl_game_sound *g) {
    unsigned pieces = 0;
    for (unsigned i = 0; i < 30; i++) {
        kl_sleep_us(10000);
        for (int n = kl_sound_game.room(g); n > 0; n--, pieces++)
            say(g, true);
    }
    return pieces;
}

TEST_WITH(a_pause_builds_no_delay_up, set_up, tear_down) {
    begin(voices[0], 800, 48000);
    for (unsigned i = 0; i < 4; i++)
        say(voices[0], true);
    give(voices[0], silence, 800, 48000, out);
    assert_true(loudest(out, 800) > LOUD * 0.98);
    unsigned pieces = stand_still(voices[0]);
    assert_true(pieces >= 15); /* they are spoken all the same, to nobody */
    give(voices[0], silence, 8000, 48000, out + 2 * 800);
    assert_true(worst_step(out, 8800) < 1000);
    assert_int_equal(loudest(out + 2 * (800 + KL_GAME_FADE), 8000 - KL_GAME_FADE), 0);
    kl_sleep_us(20000);
    assert_in_range(kl_sound_game.room(voices[0]), 1, 6);
}

/* A device has opened: old voices do not come when it goes. */
TEST_WITH(what_is_closed_is_silent, set_up, tear_down) {
    begin(voices[0], 800, 48000);
    for (unsigned i = 0; i < 4; i++)
        say(voices[0], true);
    kl_sound_game.close(voices[0]);
    give(voices[0], silence, 8000, 48000, out);
    assert_int_equal(loudest(out + 2 * KL_GAME_FADE, 8000 - KL_GAME_FADE), 0);
    kl_game_sound_open(voices[0]);
    begin(voices[0], 800, 48000);
    say(voices[0], true);
    give(voices[0], silence, 800, 48000, out);
    assert_true(loudest(out, 800) > LOUD * 0.9);
}

/* Runs a game of 60 frames a second against the voice thread's turns, so many times as fast as usual. */
static size_t frames_until_heard(unsigned speed) {
    struct kl_game_sound *g = voices[0];
    uint64_t begin_us = kl_now_us(), frame = 0, turn = 0;
    size_t after = 0;
    for (uint64_t us; (us = kl_now_us() - begin_us) < 1000000; kl_sleep_us(1000)) {
        bool speaks = us > 500000;
        for (; turn < us / 10000; turn++)
            for (int n = kl_sound_game.room(g); n > 0; n--)
                say(g, speaks);
        for (; frame < us * 60 * speed / 1000000; frame++) {
            give(g, silence, 800, 48000, out);
            if (speaks && loudest(out, 800) > LOUD / 2) return after;
            after += speaks ? 800 : 0;
        }
    }
    return SIZE_MAX;
}

TEST_WITH(the_ring_holds_a_frame_and_30_ms, set_up, tear_down) {
    size_t frames = frames_until_heard(1);
    print_message("heard after %zu frames\n", frames);
    assert_true(frames <= 800 + 48 * KL_GAME_AHEAD_MS + 2 * 800); /* and up to a frame, before and after */
}

TEST_WITH(a_fast_forward_builds_no_delay_up, set_up, tear_down) {
    assert_true(frames_until_heard(4) <= 4 * (800 + 48 * KL_GAME_AHEAD_MS + 2 * 800));
}

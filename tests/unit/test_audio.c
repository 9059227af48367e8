/* The audio bridge: bit for bit at the usual pace, unbroken and in tune at every other. A sine goes in, frame
 * by frame, under frontends of many rhythms; what comes out is judged by its steps, its pauses and its pitch.
 * runs: working, check, 5 s */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "core_wrapper/frame/audio.h"

#define RATE   48000
#define FPS    60
#define FRAME  (RATE / FPS)
#define CALL   16667 /* µs */
#define TONE   500.0 /* Hz */
#define TURN   96    /* samples of a turn of it */
#define LOUD   12000.0
#define STEP   (LOUD * 2 * M_PI * TONE / RATE) /* the largest step of the tone itself */
#define WINDOW 480                             /* samples in which the pitch is taken: 10 ms */

static int16_t heard[8 << 20];
static size_t heard_frames;

/* Takes what it is given in bites, as a blocking driver may. */
static size_t front(const int16_t *stereo, size_t frames) {
    size_t n = frames > 100 ? 100 : frames;
    if (heard_frames + n > sizeof heard / 4) return frames;
    memcpy(heard + heard_frames * 2, stereo, n * 4);
    heard_frames += n;
    return n;
}

static struct kl_audio audio;
static uint64_t played; /* samples of the tone */
static uint64_t now_us;

static double sine[TURN];

static int setup(void **state) {
    (void)state;
    for (unsigned i = 0; i < TURN; i++)
        sine[i] = sin(2 * M_PI * i / TURN);
    memset(&audio, 0, sizeof audio);
    kl_audio_init(&audio, RATE, FPS);
    heard_frames = 0;
    played = 0;
    now_us = 1000000;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    kl_audio_free(&audio);
    return 0;
}

static int16_t tone(uint64_t at) {
    return (int16_t)lrint(LOUD * sine[at % TURN]);
}

static void play_frame(unsigned samples) {
    int16_t s[4 * FRAME * 2];
    for (unsigned i = 0; i < samples; i++)
        s[i * 2] = s[i * 2 + 1] = tone(played++);
    kl_audio_add(&audio, s, samples);
}

static void call_at(unsigned runs, double interval_us) {
    for (unsigned i = 0; i < runs; i++)
        play_frame(FRAME);
    kl_audio_call(&audio, runs, now_us, interval_us, front);
}

static void call(unsigned runs) {
    now_us += CALL;
    call_at(runs, CALL);
}

static void calls(unsigned count) {
    while (count--)
        call(1);
}

/* --- judges --- */

static double worst_step(size_t from, size_t to) {
    int worst = 0;
    for (size_t i = from ? from : 1; i < to; i++) {
        int d = abs(heard[i * 2] - heard[i * 2 - 2]);
        if (d > worst) worst = d;
    }
    return worst;
}

static void no_click(size_t from) {
    double step = worst_step(from, heard_frames);
    size_t at = from;
    while (at < heard_frames && abs(heard[at * 2] - heard[at * 2 - 2]) < step)
        at++;
    if (step > STEP + 2) fail_msg("a click: step %g of at most %g, at sample %zu", step, STEP, at);
}

/* How far it is off what the two samples before let a pure tone go to: a kink, though it is no step. */
static double worst_kink(size_t from, size_t to) {
    double worst = 0, turn = 2 * cos(2 * M_PI * TONE / RATE);
    for (size_t i = from < 2 ? 2 : from; i < to; i++)
        worst = fmax(worst, fabs(heard[i * 2] - turn * heard[i * 2 - 2] + heard[i * 2 - 4]));
    return worst;
}

/* The longest pause, in ms: everything below a hundredth. */
static double worst_gap(size_t from, size_t to) {
    size_t run = 0, worst = 0;
    for (size_t i = from; i < to; i++) {
        run = abs(heard[i * 2]) < LOUD / 100 ? run + 1 : 0;
        if (run > worst) worst = run;
    }
    return (double)worst * 1000 / RATE;
}

static double phase_of(size_t from, double *size) {
    double re = 0, im = 0;
    for (size_t i = 0; i < WINDOW; i++) {
        re += heard[(from + i) * 2] * sine[(from + i + TURN / 4) % TURN];
        im -= heard[(from + i) * 2] * sine[(from + i) % TURN];
    }
    *size = hypot(re, im) * 2 / WINDOW;
    return atan2(im, re);
}

/* The largest deviation of the pitch over 20 ms, as a share; soft places are left out. */
static double worst_pitch(size_t from, size_t to) {
    double worst = 0, size, before = phase_of(from, &size);
    bool was_loud = false;
    for (size_t at = from; at + 2 * WINDOW < to; at += WINDOW) {
        double turn = phase_of(at, &size) - before;
        before += turn;
        turn = remainder(turn, 2 * M_PI) / (2 * M_PI) / (TONE * WINDOW / RATE);
        bool loud = size > LOUD * 0.7;
        if (loud && was_loud && fabs(turn) > worst) worst = fabs(turn);
        was_loud = loud;
    }
    return worst;
}

static void is_clean(size_t from) {
    no_click(from ? from : 1);
    if (worst_gap(from, heard_frames) > 1) fail_msg("a gap of %g ms", worst_gap(from, heard_frames));
    if (worst_pitch(from, heard_frames) > 0.005) fail_msg("pitch off by %g", worst_pitch(from, heard_frames));
}

static uint32_t chance = 1;
static double any(void) {
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) / 16777216.0;
}

/* --- bit for bit --- */

TEST_WITH(usual_pace_is_exact, setup, teardown) {
    calls(1000);
    assert_int_equal(heard_frames, 1000 * FRAME);
    for (size_t i = 0; i < heard_frames; i++)
        assert_int_equal(heard[i * 2], tone(i));
}

TEST_WITH(it_is_exact_again, setup, teardown) {
    calls(100);
    call(2);
    calls(60 * 40); /* emptied and left by then */
    assert_false(audio.elastic);
    is_clean(0);
    size_t from = heard_frames;
    uint64_t at = played;
    calls(10);
    assert_int_equal(heard_frames, from + 10 * FRAME);
    for (size_t i = from; i < heard_frames; i++)
        assert_int_equal(heard[i * 2], tone(at + i - from));
    assert_in_range(played - heard_frames, 0,
                    FRAME + 200); /* the missing samples are the time that was gained */
}

TEST_WITH(alone_it_goes_through, setup, teardown) {
    for (int i = 0; i < 5; i++)
        play_frame(FRAME);
    kl_audio_pass(&audio, front);
    assert_int_equal(heard_frames, 5 * FRAME);
    play_frame(FRAME);
    kl_audio_drop(&audio);
    kl_audio_pass(&audio, front);
    assert_int_equal(heard_frames, 5 * FRAME);
    play_frame(3000);
    kl_audio_pass(&audio, NULL);
}

/* --- steady play --- */

/* A frontend of `hz`, a core of FPS, a machine whose timer wobbles by `wobble_us`, for seconds. late: now and
 * then a frame is late by one call. */
static void drift(double hz, double seconds, double wobble_us, bool late) {
    double interval = 1e6 / hz, begin = (double)now_us;
    uint64_t ran = 0;
    int owed = 0;
    for (uint64_t n = 1; n < seconds * hz; n++) {
        now_us = (uint64_t)(begin + (double)n * interval + (any() - 0.5) * 2 * wobble_us);
        uint64_t due = (uint64_t)((double)n * interval * FPS / 1e6);
        unsigned runs = due > ran ? (unsigned)(due - ran) : 0;
        if (runs > 2) runs = 2;
        if (late && owed == 0 && n % 200 == 77 && runs) owed = 1;
        if (late && owed) {
            runs = owed == 1 ? 0 : runs ? 1 : 0; /* not there; then one behind for a while */
            owed = owed < 20 ? owed + 1 : 0;
        }
        ran += runs;
        call_at(runs, interval);
    }
}

TEST_WITH(neither_drift_nor_late_frames_are_heard, setup, teardown) {
    static const struct {
        double hz, seconds, wobble_us;
        bool late;
    } of[] = {{59.94, 20, 2000, false}, {60.0988, 20, 2000, false}, {59.1856, 20, 2000, false},
              {120, 20, 2000, false},   {144, 20, 2000, false},     {50, 20, 2000, false},
              {60, 30, 3000, true},     {59.94, 30, 3000, true},    {120, 30, 3000, true}};
    for (size_t i = 0; i < COUNT(of); i++) {
        const char *late = of[i].late ? " with late frames" : "";
        teardown(NULL);
        setup(NULL);
        kl_audio_begin(&audio, 1e6 / of[i].hz);
        drift(of[i].hz, of[i].seconds, of[i].wobble_us, of[i].late);
        size_t from = RATE / 10;
        if (worst_step(from, heard_frames) > STEP + 2 || worst_gap(from, heard_frames) > 1 ||
            worst_pitch(from, heard_frames) > 0.005)
            fail_msg("%g Hz%s: step %g (%g), gap %g ms, pitch %g", of[i].hz, late,
                     worst_step(from, heard_frames), STEP, worst_gap(from, heard_frames),
                     worst_pitch(from, heard_frames));
        double off = (double)heard_frames / RATE - of[i].seconds;
        if (fabs(off) > 0.1) fail_msg("%g Hz%s: %g s too much given", of[i].hz, late, off);
        double wait_ms = (double)(audio.end - (uint64_t)audio.pos) * 1000 / RATE;
        if (wait_ms > (of[i].late ? 70 : 50)) fail_msg("%g Hz%s: %g ms late", of[i].hz, late, wait_ms);
    }
}

TEST_WITH(the_first_late_frame_is_bridged, setup, teardown) {
    calls(100);
    call(0);
    calls(20);
    call(2);
    calls(300);
    is_clean(0);
    assert_in_range(320 * FRAME + 101 * FRAME - heard_frames, 0,
                    2 * FRAME); /* at most BRIDGE_S was left out */
}

/* A core that plays 0.4 % less than it states, and in uneven lumps. */
TEST_WITH(a_core_that_states_nonsense, setup, teardown) {
    call(2);
    for (int i = 0; i < 60 * 60; i++) {
        now_us += CALL;
        play_frame(i % 2 ? FRAME - 7 : FRAME);
        kl_audio_call(&audio, 1 + (i % 600 == 0), now_us, CALL, front);
        if (i % 600 == 0) play_frame(FRAME);
    }
    is_clean(heard_frames / 2);
    kl_audio_init(&audio, 0, 1e9);
    call(2);
    call(0);
    kl_audio_call(&audio, 0, now_us, 0, NULL);
    kl_audio_call(&audio, 0, now_us - 5000000, 1e9, NULL);
}

/* --- stalls, fast-forward --- */

/* In parts of 100 frames, 1 louder. */
static const int16_t *make_louder(void *ctx, const int16_t *stereo, size_t *frames, double rate) {
    static int16_t louder[200];
    size_t *count = ctx;
    assert_true(rate == RATE);
    if (*frames > 100) *frames = 100;
    for (size_t i = 0; i < 2 * *frames; i++)
        louder[i] = (int16_t)(stereo[i] + 1);
    *count += *frames;
    return louder;
}

TEST_WITH(all_that_the_frontend_gets_goes_through_the_filter, setup, teardown) {
    size_t count = 0;
    calls(2);
    size_t from = heard_frames;
    audio.filter = make_louder;
    audio.filter_ctx = &count;
    calls(20);
    assert_true(count > 0);
    assert_int_equal(count, heard_frames - from);
    for (size_t i = from; i < heard_frames; i++)
        assert_int_equal(heard[i * 2], tone(i) + 1);
}

TEST_WITH(a_stall_fades_and_comes_back, setup, teardown) {
    drift(60, 5, 1000, true);
    size_t from = heard_frames;
    for (int i = 0; i < 30; i++)
        call(0);
    assert_in_range(heard_frames - from, 26 * FRAME, 31 * FRAME); /* it went on flowing */
    assert_int_equal(heard[heard_frames * 2 - 1], 0);
    size_t quiet = heard_frames;
    calls(60);
    no_click(1);
    double kink = worst_kink(from, heard_frames);
    if (kink > LOUD / 100) fail_msg("a kink of %g of %d", kink, LOUD);
    double gap = worst_gap(quiet, heard_frames);
    assert_true(gap > 1 && gap < 50); /* it is back within three calls */
    is_clean(heard_frames - 40 * FRAME);
    size_t before = heard_frames;
    now_us += 3600u * UINT64_C(1000000); /* a menu of an hour makes no hour of quiet */
    call(0);
    assert_true(heard_frames - before <= 2 * FRAME);
}

TEST_WITH(catching_up_is_compressed, setup, teardown) {
    drift(60, 5, 1000, true);
    size_t from = heard_frames;
    for (int i = 0; i < 12; i++)
        call(2 + i % 2);
    calls(60);
    no_click(1); /* as much softer as it is faster */
    assert_true(worst_gap(from, heard_frames) < 2);
    assert_true(worst_pitch(from, heard_frames) > 0.02);
    is_clean(heard_frames - 20 * FRAME);
    assert_in_range(heard_frames - from, 71 * FRAME, 73 * FRAME);
}

TEST_WITH(heavy_fast_forward_is_muted, setup, teardown) {
    calls(60);
    kl_audio_mute(&audio, true);
    size_t from = heard_frames;
    for (int i = 0; i < 10; i++)
        call(40);
    assert_int_equal(heard[heard_frames * 2 - 1], 0);
    assert_in_range(heard_frames - from, 9 * FRAME, 11 * FRAME);
    kl_audio_mute(&audio, false);
    from = heard_frames;
    calls(120);
    no_click(1);
    assert_true(worst_gap(from, heard_frames) < 17); /* it has something to begin with */
    is_clean(heard_frames - 90 * FRAME);
}

TEST_WITH(too_much_is_let_go, setup, teardown) {
    calls(10);
    call(0);
    play_frame(4 * FRAME);
    for (int i = 0; i < 60; i++)
        play_frame(4 * FRAME);
    call(2);
    for (int i = 0; i < 40; i++)
        play_frame(4 * FRAME);
    call(1);
    calls(60);
    no_click(1);
    assert_true(audio.end - (uint64_t)audio.pos < 4 * FRAME);
    static int16_t flood[300000 * 2];
    kl_audio_add(&audio, flood, 300000);
    call(1);
    call(1);
}

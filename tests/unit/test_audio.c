/* The audio bridge: bit for bit at the usual pace, unbroken at every other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_wrapper/audio.h"

#define RATE  48000
#define FPS   60
#define FRAME (RATE / FPS)

static int16_t heard[2 << 20];
static size_t heard_frames;

/* Takes what it is given in bites, as a blocking driver may. */
static size_t front(const int16_t *stereo, size_t frames) {
    size_t n = frames > 100 ? 100 : frames;
    memcpy(heard + heard_frames * 2, stereo, n * 4);
    heard_frames += n;
    return n;
}

static struct kl_audio audio;
static int wave; /* phase of a triangle that never steps by more than STEP */
#define STEP  40
#define START 300 /* loud where frames begin: a frame is one turn of it */

static int setup(void **state) {
    (void)state;
    memset(&audio, 0, sizeof audio);
    kl_audio_init(&audio, RATE, FPS);
    heard_frames = 0;
    wave = START;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    kl_audio_free(&audio);
    return 0;
}

static int16_t next_sample(void) {
    int at = wave++ % 800;
    return (int16_t)((at < 400 ? at : 800 - at) * STEP - 200 * STEP + 8000);
}

static void play_frame(void) {
    int16_t s[FRAME * 2];
    for (size_t i = 0; i < FRAME; i++)
        s[i * 2] = s[i * 2 + 1] = next_sample();
    kl_audio_add(&audio, s, FRAME);
}

static int worst_step(size_t from) {
    int worst = 0;
    for (size_t i = from; i < heard_frames; i++)
        if (i) {
            int step = abs(heard[i * 2] - heard[i * 2 - 2]);
            if (step > worst) worst = step;
        }
    return worst;
}

static unsigned steps_over(int limit) {
    unsigned n = 0;
    for (size_t i = 1; i < heard_frames; i++)
        n += abs(heard[i * 2] - heard[i * 2 - 2]) > limit;
    return n;
}

static void usual_pace_is_exact(void **state) {
    (void)state;
    for (uint64_t t = 1; t <= 100; t++) {
        play_frame();
        kl_audio_give(&audio, 1, t * 16667, front);
    }
    assert_int_equal(heard_frames, 100 * FRAME);
    wave = START;
    for (size_t i = 0; i < heard_frames; i++)
        assert_int_equal(heard[i * 2], next_sample());
}

static void a_second_frame_is_kept_and_worked_off(void **state) {
    (void)state;
    for (uint64_t t = 1; t <= 300; t++) {
        play_frame();
        if (t == 50) play_frame();
        kl_audio_give(&audio, t == 50 ? 2 : 1, t * 16667, front);
    }
    assert_false(audio.stretching); /* worked off: 1 % of 250 frames is more than one */
    assert_int_equal(audio.frames, 0);
    assert_in_range(heard_frames, 300 * FRAME - 2 * FRAME, 300 * FRAME + FRAME / 2);
    assert_in_range(worst_step(0), 1, 2 * STEP + 2); /* no click, no gap: at most a sample passed over … */
    assert_in_range(steps_over(STEP + 2), 0, 2);     /* … where the converter is left */
    /* and exact again */
    size_t from = heard_frames;
    int phase = wave;
    play_frame();
    kl_audio_give(&audio, 1, 301 * 16667, front);
    wave = phase;
    for (size_t i = from; i < heard_frames; i++)
        assert_int_equal(heard[i * 2], next_sample());
}

static void a_stall_fades_and_comes_back(void **state) {
    (void)state;
    uint64_t now_us = 1000000;
    play_frame();
    kl_audio_give(&audio, 1, now_us, front);
    for (int i = 0; i < 20; i++)
        kl_audio_quiet(&audio, now_us += 16667, front);
    assert_in_range(heard_frames, 20 * FRAME, 22 * FRAME); /* it went on flowing */
    assert_int_equal(heard[heard_frames * 2 - 1], 0);
    play_frame();
    kl_audio_give(&audio, 1, now_us += 16667, front);
    assert_in_range(worst_step(0), 1, 120); /* 8000 in 5 ms, and the wave's own */
    size_t before = heard_frames;
    kl_audio_quiet(&audio, now_us + 3600u * 1000000, front); /* a menu of an hour makes no hour of quiet */
    assert_true(heard_frames - before <= 2 * FRAME);
}

static void fast_forward_plays_the_last(void **state) {
    (void)state;
    play_frame();
    kl_audio_give(&audio, 1, 1000, front);
    for (int i = 0; i < 5; i++) {
        kl_audio_drop(&audio);
        play_frame();
    }
    kl_audio_give(&audio, 5, 2000, front);
    assert_int_equal(heard_frames, 2 * FRAME);
    assert_in_range(worst_step(0), 1, 120);
}

static void too_much_is_let_go(void **state) {
    (void)state;
    for (int i = 0; i < 12; i++)
        play_frame();
    kl_audio_give(&audio, 2, 1000, front);
    assert_int_equal(heard_frames, 12 * FRAME);
    kl_audio_give(&audio, 1, 2000, front); /* a frame without sound */
    assert_int_equal(heard_frames, 12 * FRAME);
    kl_audio_init(&audio, 0, 1e9); /* a core that states nonsense */
    play_frame();
    kl_audio_give(&audio, 2, 3000, front);
    kl_audio_quiet(&audio, 4000, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(usual_pace_is_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_frame_is_kept_and_worked_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stall_fades_and_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(fast_forward_plays_the_last, setup, teardown),
        cmocka_unit_test_setup_teardown(too_much_is_let_go, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

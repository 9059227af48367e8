/* Sound goes from 48 kHz to 16 kHz and back: low tones as they are, high tones not at all.
 * runs: working, check, 1 s */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "core_wrapper/voice/rate.h"

#define PIECES 50
#define DEVICE (KL_CODEC_RATE * KL_RATE_TIMES)

/* The decibels by which a tone is louder on the other side. */
static double down_db(double hertz) {
    struct kl_rate r;
    double in_sum = 0, out_sum = 0;
    kl_rate_begin(&r);
    for (unsigned p = 0; p < PIECES; p++) {
        int16_t in[KL_SOUND_PIECE], out[KL_CODEC_PIECE];
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++) {
            double v = 10000 * sin(2 * M_PI * hertz * (p * KL_SOUND_PIECE + i) / DEVICE);
            in[i] = (int16_t)lrint(v);
            in_sum += p ? v * v / KL_SOUND_PIECE : 0;
        }
        kl_rate_down(&r, in, out);
        for (unsigned i = 0; i < KL_CODEC_PIECE; i++)
            out_sum += p ? (double)out[i] * out[i] / KL_CODEC_PIECE : 0;
    }
    return 10 * log10((out_sum + 1e-6) / in_sum);
}

TEST(low_tones_stay) {
    for (double hertz = 100; hertz <= 6000; hertz += 740)
        assert_true(fabs(down_db(hertz)) < 0.1);
    assert_true(down_db(7000) > -3);
}

TEST(tones_that_16_khz_cannot_hold_go) {
    for (double hertz = 9000; hertz < 24000; hertz += 790)
        assert_true(down_db(hertz) < -50);
}

/* 47.5 samples of 48 kHz each way. */
TEST(there_and_back_a_tone_is_the_same_2_ms_later) {
    struct kl_rate down, up;
    double wrong = 0;
    kl_rate_begin(&down);
    kl_rate_begin(&up);
    for (unsigned p = 0; p < PIECES; p++) {
        int16_t in[KL_SOUND_PIECE], middle[KL_CODEC_PIECE], out[KL_SOUND_PIECE];
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
            in[i] = (int16_t)lrint(10000 * sin(2 * M_PI * 1234 * (p * KL_SOUND_PIECE + i) / DEVICE));
        kl_rate_down(&down, in, middle);
        kl_rate_up(&up, middle, out);
        for (unsigned i = 0; p && i < KL_SOUND_PIECE; i++) {
            double at =
                p * KL_SOUND_PIECE + i - 93.0; /* the low pass twice, less the two samples before a third */
            wrong = fmax(wrong, fabs(out[i] - 10000 * sin(2 * M_PI * 1234 * at / DEVICE)));
        }
    }
    assert_true(wrong < 30);
}

TEST(the_loudest_sound_stays_within_its_range) {
    struct kl_rate down, up;
    int16_t in[KL_SOUND_PIECE], middle[KL_CODEC_PIECE], out[KL_SOUND_PIECE];
    kl_rate_begin(&down);
    kl_rate_begin(&up);
    for (unsigned p = 0; p < PIECES; p++) {
        for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
            in[i] = i / 40 % 2 ? INT16_MAX : INT16_MIN;
        kl_rate_down(&down, in, middle);
        kl_rate_up(&up, middle, out);
    }
    for (unsigned i = 45; i < KL_SOUND_PIECE; i++)
        assert_true((out[i] > 0) == ((i + KL_SOUND_PIECE - 93) / 40 % 2) || abs(out[i]) < 32767);
}

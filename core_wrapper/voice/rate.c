#include "core_wrapper/voice/rate.h"

#include <math.h>
#include <string.h>

#define CUT_HZ 7500.0 /* 6 dB less; half of 16 kHz is 40 dB down */
#define STEEP  5.0    /* of Kaiser's window */
#define LANES  4
#define PHASE  (KL_RATE_TAPS / KL_RATE_TIMES)

/* The modified Bessel function of order 0. */
static double bessel(double x) {
    double sum = 1, term = 1;
    for (unsigned k = 1; k < 30; k++) {
        term *= x / 2 / k * (x / 2 / k);
        sum += term;
    }
    return sum;
}

void kl_rate_begin(struct kl_rate *r) {
    const double middle = (KL_RATE_TAPS - 1) / 2.0,
                 turn = 2 * M_PI * CUT_HZ / (KL_CODEC_RATE * KL_RATE_TIMES);
    double sum = 0;
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < KL_RATE_TAPS; i++) {
        double at = i - middle, side = at / middle;
        double v = sin(turn * at) / at * bessel(STEEP * sqrt(1 - side * side));
        r->tap[i] = (float)v;
        sum += v;
    }
    for (unsigned i = 0; i < KL_RATE_TAPS; i++)
        r->tap[i] /= (float)sum;
}

/* count is a multiple of LANES. */
static float dot(const float *a, const float *b, unsigned count) {
    float sum[LANES] = {0};
    for (unsigned i = 0; i < count; i += LANES)
        for (unsigned k = 0; k < LANES; k++)
            sum[k] += a[i + k] * b[i + k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static int16_t within(float v) {
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : lrintf(v));
}

/* x: the samples kept of before, then the piece's. */
static void prepare(struct kl_rate *r, unsigned kept, const int16_t *in, unsigned count, float *x) {
    memcpy(x, r->before, kept * sizeof *x);
    for (unsigned i = 0; i < count; i++)
        x[kept + i] = in[i];
    memcpy(r->before, x + count, kept * sizeof *x);
}

void kl_rate_down(struct kl_rate *r, const int16_t in[KL_SOUND_PIECE], int16_t out[KL_CODEC_PIECE]) {
    float x[KL_RATE_TAPS + KL_SOUND_PIECE];
    prepare(r, KL_RATE_TAPS - KL_RATE_TIMES, in, KL_SOUND_PIECE, x);
    for (unsigned i = 0; i < KL_CODEC_PIECE; i++)
        out[i] = within(dot(r->tap, x + i * KL_RATE_TIMES, KL_RATE_TAPS));
}

void kl_rate_up(struct kl_rate *r, const int16_t in[KL_CODEC_PIECE], int16_t out[KL_SOUND_PIECE]) {
    float x[PHASE + KL_CODEC_PIECE], tap[KL_RATE_TIMES][PHASE];
    for (unsigned i = 0; i < KL_RATE_TAPS; i++)
        tap[KL_RATE_TIMES - 1 - i % KL_RATE_TIMES][i / KL_RATE_TIMES] = r->tap[i] * KL_RATE_TIMES;
    prepare(r, PHASE - 1, in, KL_CODEC_PIECE, x);
    for (unsigned i = 0; i < KL_CODEC_PIECE; i++)
        for (unsigned k = 0; k < KL_RATE_TIMES; k++)
            out[i * KL_RATE_TIMES + k] = within(dot(tap[k], x + i, PHASE));
}

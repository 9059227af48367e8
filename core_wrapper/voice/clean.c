#include "core_wrapper/voice/clean.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"

#if __has_include(<speex/speex_echo.h>)
#include <speex/speex_echo.h>
#include <speex/speex_preprocess.h>
#include <speex/speex_resampler.h>

#define LIBRARY "libspeexdsp.so.1"
#define RATE    KL_CODEC_RATE
#define PIECE   KL_CODEC_PIECE /* noise costs as long a delay */
#define TAIL    (RATE / 5)     /* an echo comes within 200 ms */
#define WAITS   (6 * PIECE)    /* loudspeaker sound that waits for the microphone's; older sound goes */
#define QUALITY 3              /* of the game's resampler */
#define GAME    16384          /* frames of the game that wait for the voice thread; a power of two */
#define BATCH   256            /* of them at a time */
#define NOISE   (-20)          /* dB by which noise becomes softer */
#define GAIN_DB 9              /* by which soft speech becomes louder, at most */
#define LEVEL   8000           /* of speech */

/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(echo_state_init) CALL(echo_state_destroy) CALL(echo_state_reset) CALL(echo_ctl)                     \
    CALL(echo_cancellation) CALL(preprocess_state_init) CALL(preprocess_state_destroy) CALL(preprocess_ctl)  \
    CALL(preprocess_run) CALL(resampler_init) CALL(resampler_destroy) CALL(resampler_process_int)            \
    CALL(resampler_set_rate)
/* clang-format on */
#define FIELD(name) __typeof__(speex_##name) *name;
static struct calls { CALLS(FIELD) } dsp;

#ifdef _WIN32
/* It is linked into the programs. */
static bool load(char *err, size_t err_len) {
    (void)err, (void)err_len;
#define LINKED(name) speex_##name,
    dsp = (struct calls){CALLS(LINKED)};
    return true;
}
#else
static bool load(char *err, size_t err_len) {
#define WANT(name) {"speex_" #name, (void **)&dsp.name},
    static const struct kl_library_symbol want[] = {CALLS(WANT)};
    return dsp.resampler_set_rate || kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len);
}
#endif

/* One kind of sound on its way to the loudspeaker. */
struct far {
    int16_t sample[WAITS];
    size_t count;
};

struct kl_clean {
    SpeexEchoState *echo;
    SpeexPreprocessState *noise;
    struct far voices, game;
    SpeexResamplerState *game_to;
    unsigned game_rate; /* that game_to has */
    /* From the game's thread, one channel: `put` is its own, `got` is ours. */
    int16_t ring[GAME];
    _Atomic size_t put, got;
    _Atomic unsigned rate;
};

void kl_clean_free(struct kl_clean *c) {
    if (!c) return;
    if (c->echo) dsp.echo_state_destroy(c->echo);
    if (c->noise) dsp.preprocess_state_destroy(c->noise);
    if (c->game_to) dsp.resampler_destroy(c->game_to);
    free(c);
}

static void set_up(struct kl_clean *c) {
    int rate = RATE, on = 1, softer = NOISE, most = GAIN_DB;
    float level = LEVEL;
    dsp.echo_ctl(c->echo, SPEEX_ECHO_SET_SAMPLING_RATE, &rate);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_ECHO_STATE, c->echo);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_DENOISE, &on);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_NOISE_SUPPRESS, &softer);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_AGC, &on);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_AGC_LEVEL, &level);
    dsp.preprocess_ctl(c->noise, SPEEX_PREPROCESS_SET_AGC_MAX_GAIN, &most);
}

struct kl_clean *kl_clean_new(char *err, size_t err_len) {
    if (!load(err, err_len)) return NULL;
    struct kl_clean *c = calloc(1, sizeof *c);
    if (c) {
        c->echo = dsp.echo_state_init(PIECE, TAIL);
        c->noise = dsp.preprocess_state_init(PIECE, RATE);
        c->game_rate = 48000;
        c->game_to = dsp.resampler_init(1, c->game_rate, RATE, QUALITY, NULL);
    }
    if (c && c->echo && c->noise && c->game_to) {
        set_up(c);
        return c;
    }
    snprintf(err, err_len, "no memory");
    kl_clean_free(c);
    return NULL;
}

/* --- the loudspeaker's sound --- */

/* count: at most WAITS. */
static void add(struct far *f, const int16_t *sample, size_t count) {
    if (f->count + count > WAITS) {
        size_t old = f->count + count - WAITS;
        memmove(f->sample, f->sample + old, (f->count - old) * sizeof *f->sample);
        f->count -= old;
    }
    memcpy(f->sample + f->count, sample, count * sizeof *sample);
    f->count += count;
}

/* The oldest piece is added to out; one that is not there is silence. */
static void take(struct far *f, int32_t out[PIECE]) {
    size_t n = f->count < PIECE ? f->count : PIECE;
    for (size_t i = 0; i < n; i++)
        out[i] += f->sample[i];
    f->count -= n;
    memmove(f->sample, f->sample + n, f->count * sizeof *f->sample);
}

void kl_clean_voices(struct kl_clean *c, const int16_t piece[PIECE]) {
    add(&c->voices, piece, PIECE);
}

void kl_clean_game(struct kl_clean *c, const int16_t *stereo, size_t frames, double rate) {
    size_t put = atomic_load_explicit(&c->put, memory_order_relaxed), got = atomic_load(&c->got);
    if (!(rate >= 4000 && rate <= 384000) || put - got + frames > GAME) return;
    for (size_t i = 0; i < frames; i++)
        c->ring[(put + i) % GAME] = (int16_t)((stereo[2 * i] + stereo[2 * i + 1]) / 2);
    atomic_store(&c->rate, (unsigned)(rate + 0.5));
    atomic_store(&c->put, put + frames);
}

static void add_game(struct kl_clean *c, const int16_t *sample, size_t count) {
    spx_uint32_t in = (spx_uint32_t)count, out = WAITS;
    int16_t piece[WAITS];
    dsp.resampler_process_int(c->game_to, 0, sample, &in, piece, &out);
    add(&c->game, piece, out);
}

static void fetch_game(struct kl_clean *c) {
    size_t got = atomic_load_explicit(&c->got, memory_order_relaxed), put = atomic_load(&c->put);
    unsigned rate = atomic_load(&c->rate);
    int16_t batch[BATCH];
    if (put == got) return;
    if (rate != c->game_rate) dsp.resampler_set_rate(c->game_to, rate, RATE);
    c->game_rate = rate;
    while (got != put) {
        size_t n = put - got < BATCH ? put - got : BATCH;
        for (size_t i = 0; i < n; i++)
            batch[i] = c->ring[(got + i) % GAME];
        add_game(c, batch, n);
        got += n;
    }
    atomic_store(&c->got, got);
}

/* --- the microphone's --- */

void kl_clean_begin(struct kl_clean *c) {
    fetch_game(c);
    c->voices.count = c->game.count = 0;
    dsp.echo_state_reset(c->echo);
}

void kl_clean_sound(struct kl_clean *c, int16_t piece[PIECE]) {
    int32_t sum[PIECE] = {0};
    int16_t near[PIECE], far[PIECE];
    memcpy(near, piece, sizeof near);
    fetch_game(c);
    take(&c->voices, sum);
    take(&c->game, sum);
    for (unsigned i = 0; i < PIECE; i++)
        far[i] = kl_sample(sum[i]);
    dsp.echo_cancellation(c->echo, near, far, piece);
    dsp.preprocess_run(c->noise, piece);
}

#else

struct kl_clean *kl_clean_new(char *err, size_t err_len) {
    snprintf(err, err_len, "this wrapper was built without speexdsp (libspeexdsp-dev)");
    return NULL;
}
void kl_clean_free(struct kl_clean *c) {
    (void)c;
}
void kl_clean_begin(struct kl_clean *c) {
    (void)c;
}
void kl_clean_voices(struct kl_clean *c, const int16_t piece[KL_CODEC_PIECE]) {
    (void)c, (void)piece;
}
void kl_clean_game(struct kl_clean *c, const int16_t *stereo, size_t frames, double rate) {
    (void)c, (void)stereo, (void)frames, (void)rate;
}
void kl_clean_sound(struct kl_clean *c, int16_t piece[KL_CODEC_PIECE]) {
    (void)c, (void)piece;
}

#endif

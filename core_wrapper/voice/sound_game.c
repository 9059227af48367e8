#include "core_wrapper/voice/sound_game.h"

#include <samplerate.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/voice/codec.h"
#include "net/platform/clock.h"

#define DEVICE_RATE 48000
#define RATE_MIN    4000
#define RATE_MAX    384000
#define RING        32768 /* samples; a power of two */
#define BATCH       2048  /* frames that are mixed at a time */
#define BATCH_MOST  8192  /* a longer batch of the game is not waited for */
#define MADE        4096  /* samples of a piece at RATE_MAX, and some */
#define SLOWER      16    /* batches that make the expected one as short as they are, by and by */
#define FASTER      20    /* the game's clock is faster than this machine's by one part of so many, at most */
#define CREDIT_US   60000 /* pieces that a late turn makes up for */

struct kl_game_sound {
    int16_t ring[RING];       /* one channel, by number */
    _Atomic size_t put, from; /* the voice thread's. from: sound before is old, and not to be heard */
    _Atomic size_t got;       /* the game's thread's, as the next line */
    _Atomic unsigned rate, batch, batches; /* batch: frames of the longest since the voice thread looked */

    /* The game's thread's own. */
    unsigned gain; /* of the last sample: 0 to KL_GAME_FADE */
    int16_t mixed[2 * BATCH];

    /* The voice thread's own. */
    SRC_STATE *to_game;
    unsigned to_rate, longest, batches_seen;
    bool still; /* the game's sound */
    uint64_t moved_us, turn_us, credit_us;
};

struct kl_game_sound *kl_game_sound_new(void) {
    int error;
    struct kl_game_sound *g = calloc(1, sizeof *g);
    if (g) g->to_game = src_new(SRC_SINC_FASTEST, 1, &error);
    if (g && g->to_game) return g;
    free(g);
    return NULL;
}

void kl_game_sound_free(struct kl_game_sound *g) {
    if (!g) return;
    src_delete(g->to_game);
    free(g);
}

/* --- the game's thread --- */

static bool is_before(size_t number, size_t other) {
    return other - number - 1 < RING;
}

/* Takes n samples out of the ring, silence where it has none. Loudness changes by one step a sample, so
 * nothing clicks: it falls towards the ring's end, and where old sound is to be left out. False: all of them
 * are silence. */
static bool take_voices(struct kl_game_sound *g, int16_t *out, size_t n) {
    size_t got = atomic_load_explicit(&g->got, memory_order_relaxed), put = atomic_load(&g->put),
           from = atomic_load(&g->from);
    bool loud = false;
    for (size_t i = 0; i < n; i++) {
        if (is_before(got, from) && !g->gain) got = from;
        bool old = is_before(got, from);
        size_t left = old ? from - got : put - got;
        unsigned gain = !old ? g->gain + 1 : g->gain ? g->gain - 1 : 0;
        if (gain > KL_GAME_FADE) gain = KL_GAME_FADE;
        g->gain = gain < left ? gain : (unsigned)left;
        out[i] = (int16_t)(left ? g->ring[got % RING] * (int)g->gain / KL_GAME_FADE : 0);
        if (left) got++;
        loud |= out[i] != 0;
    }
    atomic_store(&g->got, got);
    return loud;
}

const int16_t *kl_game_sound_mix(struct kl_game_sound *g, const int16_t *stereo, size_t *frames,
                                 double rate) {
    int16_t voices[BATCH];
    if (!*frames || !(rate >= RATE_MIN && rate <= RATE_MAX)) return stereo;
    atomic_store(&g->rate, (unsigned)(rate + 0.5));
    if (*frames > atomic_load(&g->batch)) atomic_store(&g->batch, (unsigned)*frames);
    atomic_fetch_add(&g->batches, 1);
    if (atomic_load(&g->put) == atomic_load_explicit(&g->got, memory_order_relaxed)) {
        g->gain = 0;
        return stereo;
    }
    size_t n = *frames < BATCH ? *frames : BATCH;
    *frames = n;
    if (!take_voices(g, voices, n)) return stereo;
    for (size_t i = 0; i < 2 * n; i++)
        g->mixed[i] = kl_sample(stereo[i] + voices[i / 2]);
    return g->mixed;
}

/* --- the voice thread --- */

/* Sound that waits is not heard any more. */
static void let_go(struct kl_game_sound *g) {
    atomic_store(&g->from, atomic_load_explicit(&g->put, memory_order_relaxed));
    src_reset(g->to_game);
}

void kl_game_sound_open(struct kl_game_sound *g) {
    g->still = true;
    g->turn_us = kl_now_us();
    g->credit_us = 0;
    g->batches_seen = atomic_load(&g->batches);
    let_go(g);
}

static void close_game(void *s) {
    let_go(s);
}

static void wait_game(void *s, uint64_t until_us) {
    (void)s;
    kl_sleep_until(until_us);
}

/* Looks at the game's sound since the turn before. */
static void look(struct kl_game_sound *g, uint64_t now_us) {
    unsigned batches = atomic_load(&g->batches), batch = atomic_exchange(&g->batch, 0);
    if (batch > BATCH_MOST) batch = BATCH_MOST;
    if (batch >= g->longest)
        g->longest = batch;
    else if (batch)
        g->longest -= (g->longest - batch) / SLOWER;
    bool stood = g->still;
    if (batches != g->batches_seen) {
        g->moved_us = now_us;
        g->still = false;
    } else if (now_us > g->moved_us + KL_GAME_STILL_MS * 1000)
        g->still = true;
    g->batches_seen = batches;
    if (g->still && !stood) let_go(g);
}

/* In time with the game's own sound, which has another clock than this machine. Voices of a game that stands
 * still go by this machine's clock, to nowhere; so do they in a fast-forward: the ring runs dry then. */
static int room_game(void *s) {
    struct kl_game_sound *g = s;
    uint64_t now_us = kl_now_us(), passed_us = now_us - g->turn_us;
    look(g, now_us);
    g->turn_us = now_us;
    g->credit_us += g->still ? passed_us : passed_us + passed_us / FASTER;
    if (g->credit_us > CREDIT_US) g->credit_us = CREDIT_US;
    size_t most = g->credit_us / KL_SOUND_PIECE_US;
    if (g->still) return (int)most;
    unsigned rate = atomic_load(&g->rate);
    size_t put = atomic_load_explicit(&g->put, memory_order_relaxed), has = put - atomic_load(&g->got),
           piece = rate / 100, want = g->longest + piece * KL_GAME_AHEAD_MS / 10;
    size_t pieces = want > has ? (want - has) / piece : 0;
    return (int)(pieces < most ? pieces : most);
}

static void put_samples(struct kl_game_sound *g, const int16_t *sample, size_t n) {
    size_t put = atomic_load_explicit(&g->put, memory_order_relaxed);
    if (put - atomic_load(&g->got) + n > RING) return;
    for (size_t i = 0; i < n; i++)
        g->ring[(put + i) % RING] = sample[i];
    atomic_store(&g->put, put + n);
}

static void write_game(void *s, const int16_t piece[KL_SOUND_PIECE]) {
    struct kl_game_sound *g = s;
    float in[KL_SOUND_PIECE], out[MADE];
    int16_t made[MADE];
    g->credit_us -= g->credit_us < KL_SOUND_PIECE_US ? g->credit_us : KL_SOUND_PIECE_US;
    if (g->still) return;
    unsigned rate = atomic_load(&g->rate);
    SRC_DATA d = {.data_in = in, .input_frames = KL_SOUND_PIECE, .data_out = out, .output_frames = MADE};
    d.src_ratio = (double)rate / DEVICE_RATE;
    if (rate != g->to_rate) src_set_ratio(g->to_game, d.src_ratio);
    g->to_rate = rate;
    src_short_to_float_array(piece, in, KL_SOUND_PIECE);
    if (src_process(g->to_game, &d) != 0) return;
    src_float_to_short_array(out, made, (int)d.output_frames_gen);
    put_samples(g, made, (size_t)d.output_frames_gen);
}

const struct kl_sound kl_sound_game = {.name = "the game's sound",
                                       .close = close_game,
                                       .wait = wait_game,
                                       .room = room_game,
                                       .write = write_game};

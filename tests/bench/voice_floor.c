/* voice_floor.c - the least that losses can do to speech: each packet is encoded with its copy, some are
 * lost, and the one after a lost packet gives its copy in time. Neither a link nor a clock has a part in it.
 *
 *   voice_floor SAYS.wav LOSS_PERCENT SEED CLEAN.wav LOSSY.wav
 *
 * CLEAN has the same packets without a loss. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/voice/rate.h"
#include "core_wrapper/voice/wav.h"
#include "tests/lib/rng.h"

#define PIECES (KL_CODEC_UNIT / KL_CODEC_PIECE)

struct packet {
    uint8_t bytes[200];
    size_t len;
    bool lost;
};

static struct packet *encode(const int16_t *sample, size_t units, double loss, uint64_t seed) {
    struct packet *p = calloc(units + 1, sizeof *p);
    struct kl_encoder *e = kl_encoder_new();
    struct kl_rate down;
    struct rng rng = {seed};

    kl_rate_begin(&down);
    if (!p || !e) exit(1);
    kl_encoder_copies(e, true);
    for (size_t u = 0; u < units; u++) {
        int16_t unit[KL_CODEC_UNIT];
        for (unsigned i = 0; i < PIECES; i++)
            kl_rate_down(&down, sample + (u * PIECES + i) * KL_SOUND_PIECE, unit + i * KL_CODEC_PIECE);
        p[u].len = kl_encoder_packet(e, unit, KL_CODEC_UNIT, p[u].bytes, sizeof p[u].bytes);
        p[u].lost = rng_unit(&rng) < loss;
    }
    kl_encoder_free(e);
    return p;
}

static void decode(const struct packet *p, size_t units, bool losses, const char *path) {
    struct kl_decoder *d = kl_decoder_new();
    struct kl_rate up;
    struct kl_wav w;
    kl_rate_begin(&up);
    if (!d || kl_wav_open(&w, path, 1) != 0) exit(1);
    for (size_t u = 0; u < units; u++) {
        int16_t unit[KL_CODEC_MOST] = {0}, piece[KL_SOUND_PIECE];
        const struct packet *next = &p[u + 1]; /* the last one has no bytes */
        bool copy = next->len && !next->lost;
        if (!losses || !p[u].lost)
            kl_decoder_packet(d, p[u].bytes, p[u].len, unit);
        else
            kl_decoder_lost(d, copy ? next->bytes : NULL, copy ? next->len : 0, KL_CODEC_UNIT, unit);
        for (unsigned i = 0; i < PIECES; i++) {
            kl_rate_up(&up, unit + i * KL_CODEC_PIECE, piece);
            kl_wav_add(&w, piece, KL_SOUND_PIECE);
        }
    }
    kl_decoder_free(d);
    if (kl_wav_close(&w) != 0) exit(1);
}

int main(int argc, char **argv) {
    char err[300] = "usage: voice_floor SAYS.wav LOSS_PERCENT SEED CLEAN.wav LOSSY.wav";
    int16_t *sample;
    size_t count;
    if (argc != 6 || kl_codec_load(err, sizeof err) != 0 ||
        kl_wav_read(argv[1], KL_CODEC_RATE * KL_RATE_TIMES, &sample, &count, err, sizeof err) != 0) {
        fprintf(stderr, "voice_floor: %s\n", err);
        return 1;
    }
    size_t units = count / (PIECES * KL_SOUND_PIECE);
    struct packet *p = encode(sample, units, atof(argv[2]) / 100, strtoull(argv[3], NULL, 10));
    decode(p, units, false, argv[4]);
    decode(p, units, true, argv[5]);
    free(p);
    free(sample);
    return 0;
}

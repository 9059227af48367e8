#include "core_wrapper/voice/speakers.h"

#include <string.h>

#define EXCESS_US 15000 /* from which on a piece is left out, if it is: */
#define QUIET     200   /* the loudest sample of a quiet one */
#define STEP      40    /* samples: a spurt begins to 2.5 ms */

void kl_speakers_free(struct kl_speakers *s) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_decoder_free(s->of[i].decoder);
    memset(s, 0, sizeof *s);
}

void kl_speakers_packet(struct kl_speakers *s, const struct kl_voice *v, uint64_t now_us) {
    if (v->client >= KL_MAX_CLIENTS) return;
    struct kl_heard *of = &s->of[v->client];
    if (!of->decoder) of->decoder = kl_decoder_new();
    if (of->decoder) kl_jitter_put(&of->jitter, v, now_us);
}

static bool is_quiet(const int16_t *sample) {
    for (unsigned i = 0; i < KL_CODEC_PIECE; i++)
        if (sample[i] > QUIET || sample[i] < -QUIET) return false;
    return true;
}

static size_t conceal(struct kl_heard *of) {
    return kl_decoder_lost(of->decoder, NULL, 0, KL_CODEC_UNIT, of->sample);
}

/* A packet that is no Opus sounds as if it was lost. */
static size_t play_packet(struct kl_heard *of, const struct kl_voice *v, int64_t excess_us) {
    size_t n = kl_decoder_packet(of->decoder, v->bytes, v->len, of->sample);
    if (n < KL_CODEC_PIECE) return conceal(of);
    kl_jitter_longer(&of->jitter, n > KL_CODEC_UNIT ? (unsigned)(n / KL_CODEC_UNIT) - 1 : 0);
    if (excess_us > EXCESS_US && n >= KL_CODEC_UNIT && is_quiet(of->sample)) of->at = KL_CODEC_PIECE;
    return n;
}

/* The speaker's next samples. False: silence. */
static bool fill(struct kl_heard *of, uint64_t now_us) {
    struct kl_voice v;
    int64_t excess_us = kl_jitter_excess_us(&of->jitter, now_us);
    of->at = of->count = 0;
    switch (kl_jitter_take(&of->jitter, now_us, &v)) {
    case KL_JITTER_SILENCE: break;
    case KL_JITTER_PACKET: of->count = play_packet(of, &v, excess_us); break;
    case KL_JITTER_LOST:
        of->count =
            kl_decoder_lost(of->decoder, v.bytes, v.len, (1 + of->jitter.longer) * KL_CODEC_UNIT, of->sample);
        if (!of->count) of->count = conceal(of);
        break;
    case KL_JITTER_GAP: of->count = conceal(of); break;
    }
    return of->count;
}

/* Adds the speaker's sound of a piece. False: there is none. */
static bool add(struct kl_heard *of, int louder, uint64_t now_us, int32_t sum[KL_CODEC_PIECE]) {
    bool heard = false;
    for (unsigned at = 0; at < KL_CODEC_PIECE; at += STEP) {
        uint64_t at_us = now_us + at * UINT64_C(1000000) / KL_CODEC_RATE;
        if (of->at + STEP > of->count && !fill(of, at_us)) continue;
        for (unsigned k = 0; k < STEP; k++)
            sum[at + k] += of->sample[of->at + k] * (100 + louder) / 100;
        of->at += STEP;
        heard = true;
    }
    return heard;
}

uint16_t kl_speakers_mix(struct kl_speakers *s, uint64_t now_us, int16_t out[KL_CODEC_PIECE]) {
    uint16_t heard = 0;
    int32_t sum[KL_CODEC_PIECE] = {0};
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->of[i].decoder && add(&s->of[i], s->louder[i], now_us, sum)) heard |= (uint16_t)(1u << i);
    for (unsigned k = 0; k < KL_CODEC_PIECE; k++)
        out[k] = kl_sample(sum[k]);
    return heard;
}

bool kl_speakers_miss(const struct kl_speakers *s) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->of[i].jitter.lossy) return true;
    return false;
}

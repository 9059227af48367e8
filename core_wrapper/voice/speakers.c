#include "core_wrapper/voice/speakers.h"

#include <string.h>

#define EXCESS_US 15000 /* from which on a piece is left out, if it is: */
#define QUIET     200   /* the loudest sample of a quiet one */

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
    for (unsigned i = 0; i < KL_SOUND_PIECE; i++)
        if (sample[i] > QUIET || sample[i] < -QUIET) return false;
    return true;
}

static size_t conceal(struct kl_heard *of) {
    return kl_decoder_lost(of->decoder, NULL, 0, of->sample);
}

/* A packet that is no Opus sounds as if it was lost. */
static size_t play_packet(struct kl_heard *of, const struct kl_voice *v, int64_t excess_us) {
    size_t n = kl_decoder_packet(of->decoder, v->bytes, v->len, of->sample);
    if (n < KL_SOUND_PIECE) return conceal(of);
    if (n > KL_CODEC_UNIT) kl_jitter_longer(&of->jitter, (unsigned)(n / KL_CODEC_UNIT) - 1);
    if (excess_us > EXCESS_US && n >= KL_CODEC_UNIT && is_quiet(of->sample)) of->at = KL_SOUND_PIECE;
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
        of->count = kl_decoder_lost(of->decoder, v.bytes, v.len, of->sample);
        if (!of->count) of->count = conceal(of);
        break;
    case KL_JITTER_GAP: of->count = conceal(of); break;
    }
    return of->count;
}

static int16_t within(int32_t v) {
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

uint16_t kl_speakers_mix(struct kl_speakers *s, uint64_t now_us, int16_t out[KL_SOUND_PIECE]) {
    uint16_t heard = 0;
    int32_t sum[KL_SOUND_PIECE] = {0};
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_heard *of = &s->of[i];
        if (!of->decoder || (of->at + KL_SOUND_PIECE > of->count && !fill(of, now_us))) continue;
        for (unsigned k = 0; k < KL_SOUND_PIECE; k++)
            sum[k] += of->sample[of->at + k] * (100 + s->louder[i]) / 100;
        of->at += KL_SOUND_PIECE;
        heard |= (uint16_t)(1u << i);
    }
    for (unsigned k = 0; k < KL_SOUND_PIECE; k++)
        out[k] = within(sum[k]);
    return heard;
}

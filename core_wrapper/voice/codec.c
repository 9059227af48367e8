#include "core_wrapper/voice/codec.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/library.h"

#if __has_include(<opus/opus.h>)
#include <opus/opus.h>

#define LIBRARY       "libopus.so.0"
#define BITS_A_SECOND 16000
#define COPIES_BITS   21500 /* a second, with copies. libopus makes none of wide speech below 21,300 */
#define COPIES_LOSS   25    /* percent */
#define COMPLEXITY    5

/* clang-format off */
#define CALLS(CALL)                                                                                          \
    CALL(encoder_create) CALL(encode) CALL(encoder_ctl) CALL(encoder_destroy) CALL(decoder_create)           \
    CALL(decode) CALL(decoder_destroy)
/* clang-format on */
#define FIELD(name) __typeof__(opus_##name) *name;
static struct calls { CALLS(FIELD) } opus;

#ifdef _WIN32
/* It is linked into the programs. */
int kl_codec_load(char *err, size_t err_len) {
    (void)err, (void)err_len;
#define LINKED(name) opus_##name,
    opus = (struct calls){CALLS(LINKED)};
    return 0;
}
#else
/* The voice thread alone loads it; a wrapper that is loaded anew has forgotten. */
int kl_codec_load(char *err, size_t err_len) {
#define WANT(name) {"opus_" #name, (void **)&opus.name},
    static const struct kl_library_symbol want[] = {CALLS(WANT)};
    if (opus.decoder_destroy) return 0;
    return kl_library_load(LIBRARY, want, sizeof want / sizeof *want, err, err_len) ? 0 : -1;
}
#endif

struct kl_encoder {
    OpusEncoder *opus;
};
struct kl_decoder {
    OpusDecoder *opus;
};

struct kl_encoder *kl_encoder_new(void) {
    struct kl_encoder *e = calloc(1, sizeof *e);
    if (e) e->opus = opus.encoder_create(KL_CODEC_RATE, 1, OPUS_APPLICATION_VOIP, NULL);
    if (!e || !e->opus) {
        kl_encoder_free(e);
        return NULL;
    }
    opus.encoder_ctl(e->opus, OPUS_SET_COMPLEXITY(COMPLEXITY));
    kl_encoder_copies(e, false);
    return e;
}

void kl_encoder_free(struct kl_encoder *e) {
    if (e && e->opus) opus.encoder_destroy(e->opus);
    free(e);
}

void kl_encoder_reset(struct kl_encoder *e) {
    opus.encoder_ctl(e->opus, OPUS_RESET_STATE);
}

void kl_encoder_copies(struct kl_encoder *e, bool on) {
    opus.encoder_ctl(e->opus, OPUS_SET_BITRATE(on ? COPIES_BITS : BITS_A_SECOND));
    opus.encoder_ctl(e->opus, OPUS_SET_INBAND_FEC(on));
    opus.encoder_ctl(e->opus, OPUS_SET_PACKET_LOSS_PERC(on ? COPIES_LOSS : 0));
}

size_t kl_encoder_packet(struct kl_encoder *e, const int16_t *sample, size_t count, uint8_t *out,
                         size_t cap) {
    opus_int32 len = opus.encode(e->opus, sample, (int)count, out, (opus_int32)cap);
    return len > 0 ? (size_t)len : 0;
}

struct kl_decoder *kl_decoder_new(void) {
    struct kl_decoder *d = calloc(1, sizeof *d);
    if (d) d->opus = opus.decoder_create(KL_CODEC_RATE, 1, NULL);
    if (d && d->opus) return d;
    kl_decoder_free(d);
    return NULL;
}

void kl_decoder_free(struct kl_decoder *d) {
    if (d && d->opus) opus.decoder_destroy(d->opus);
    free(d);
}

size_t kl_decoder_packet(struct kl_decoder *d, const uint8_t *bytes, size_t len, int16_t out[KL_CODEC_MOST]) {
    int n = opus.decode(d->opus, bytes, (opus_int32)len, out, KL_CODEC_MOST, 0);
    return n > 0 ? (size_t)n : 0;
}

size_t kl_decoder_lost(struct kl_decoder *d, const uint8_t *bytes, size_t len, size_t count,
                       int16_t out[KL_CODEC_MOST]) {
    int n = opus.decode(d->opus, bytes, bytes ? (opus_int32)len : 0, out, (int)count, bytes != NULL);
    return n > 0 ? (size_t)n : 0;
}

#else

int kl_codec_load(char *err, size_t err_len) {
    snprintf(err, err_len, "this wrapper was built without Opus (libopus-dev)");
    return -1;
}
struct kl_encoder *kl_encoder_new(void) {
    return NULL;
}
void kl_encoder_free(struct kl_encoder *e) {
    (void)e;
}
void kl_encoder_reset(struct kl_encoder *e) {
    (void)e;
}
void kl_encoder_copies(struct kl_encoder *e, bool on) {
    (void)e, (void)on;
}
size_t kl_encoder_packet(struct kl_encoder *e, const int16_t *sample, size_t count, uint8_t *out,
                         size_t cap) {
    (void)e, (void)sample, (void)count, (void)out, (void)cap;
    return 0;
}
struct kl_decoder *kl_decoder_new(void) {
    return NULL;
}
void kl_decoder_free(struct kl_decoder *d) {
    (void)d;
}
size_t kl_decoder_packet(struct kl_decoder *d, const uint8_t *bytes, size_t len, int16_t out[KL_CODEC_MOST]) {
    (void)d, (void)bytes, (void)len, (void)out;
    return 0;
}
size_t kl_decoder_lost(struct kl_decoder *d, const uint8_t *bytes, size_t len, size_t count,
                       int16_t out[KL_CODEC_MOST]) {
    (void)d, (void)bytes, (void)len, (void)count, (void)out;
    return 0;
}

#endif

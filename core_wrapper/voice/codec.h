/* codec.h - Opus: one channel at 16 kHz, since Opus keeps no higher tones of speech at this bitrate.
 * The system's libopus is loaded when it is first needed, so that a machine without one plays as usual;
 * on Windows it is linked into the programs.
 *
 * Encoders and decoders are of the heap, each for one thread. The packets that a decoder gets may be
 * anything. */
#ifndef KLW_CODEC_H
#define KLW_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_CODEC_RATE  16000
#define KL_CODEC_PIECE 160 /* samples of 10 ms */
#define KL_CODEC_UNIT  320 /* of 20 ms */
#define KL_CODEC_MOST  960 /* samples that one packet can have: 60 ms */

/* A sum of samples as a sample: what is too loud is cut off. */
static inline int16_t kl_sample(int32_t v) {
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

struct kl_encoder;
struct kl_decoder;

/* Loads the library, once in the process's life. 0, or -1 with a line in err. Before all others. */
int kl_codec_load(char *err, size_t err_len);

/* NULL: no memory. */
struct kl_encoder *kl_encoder_new(void);
void kl_encoder_free(struct kl_encoder *e); /* NULL is allowed */
/* The sound before is forgotten. */
void kl_encoder_reset(struct kl_encoder *e);
/* Whether each packet has a rough copy of the one before, at 5 kbit/s more. Not at first. */
void kl_encoder_copies(struct kl_encoder *e, bool on);
/* Encodes 20 or 40 ms: count is KL_CODEC_UNIT or twice that. Returns the packet's bytes, at most cap; 0: it
 * cannot be encoded. */
size_t kl_encoder_packet(struct kl_encoder *e, const int16_t *sample, size_t count, uint8_t *out, size_t cap);

struct kl_decoder *kl_decoder_new(void);
void kl_decoder_free(struct kl_decoder *d); /* NULL is allowed */
/* Decodes a packet. Returns the samples; 0: it is no Opus. */
size_t kl_decoder_packet(struct kl_decoder *d, const uint8_t *bytes, size_t len, int16_t out[KL_CODEC_MOST]);
/* `count` samples before this packet, from the rough copy in it; bytes NULL: a guess from the sound before.
 * count: of as many units as the packet has. Returns count, or 0. */
size_t kl_decoder_lost(struct kl_decoder *d, const uint8_t *bytes, size_t len, size_t count,
                       int16_t out[KL_CODEC_MOST]);

#endif

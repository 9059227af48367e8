/* speakers.h - those who are heard: a jitter buffer and a decoder for each, and their sum.
 *
 * One thread. A speaker's decoder is of the heap, made with the first packet. Times are kl_now_us(). */
#ifndef KLW_SPEAKERS_H
#define KLW_SPEAKERS_H

#include "core_wrapper/voice/codec.h"
#include "core_wrapper/voice/jitter.h"

/* All zero: nobody. kl_codec_load() comes before. */
struct kl_speakers {
    struct kl_heard {
        struct kl_jitter jitter;
        struct kl_decoder *decoder;
        int16_t sample[KL_CODEC_MOST]; /* decoded, not all of it played */
        size_t count, at;
    } of[KL_MAX_CLIENTS];
    int8_t louder[KL_MAX_CLIENTS]; /* percent by which each is heard: -100 to 100; 0: as it comes */
};

void kl_speakers_free(struct kl_speakers *s);
void kl_speakers_packet(struct kl_speakers *s, const struct kl_voice *v, uint64_t now_us);
/* The piece that is to be played now: the sum of all that speak. Returns a bit for each client that does. */
uint16_t kl_speakers_mix(struct kl_speakers *s, uint64_t now_us, int16_t out[KL_CODEC_PIECE]);
/* Packets of somebody are lost again and again. */
bool kl_speakers_miss(const struct kl_speakers *s);

#endif

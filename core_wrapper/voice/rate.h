/* rate.h - sound at the devices' 48 kHz and at the codec's 16 kHz. Pure. Either way costs 1 ms of delay.
 *
 * libsamplerate is not used here, because its quickest low pass (SRC_SINC_FASTEST) takes 1.25 million more
 * instructions for each piece down and up, 1.1 % of a processor in place of 0.2 %, for 1.2 ms of delay. */
#ifndef KLW_RATE_H
#define KLW_RATE_H

#include "core_wrapper/voice/codec.h"
#include "core_wrapper/voice/sound.h"

#define KL_RATE_TIMES (KL_SOUND_PIECE / KL_CODEC_PIECE)
#define KL_RATE_TAPS  96 /* of the low pass, at 48 kHz */

/* One stream of sound, down or up. */
struct kl_rate {
    float tap[KL_RATE_TAPS];
    float before[KL_RATE_TAPS]; /* the newest samples of the piece before */
};

/* The sound before is silence. */
void kl_rate_begin(struct kl_rate *r);
void kl_rate_down(struct kl_rate *r, const int16_t in[KL_SOUND_PIECE], int16_t out[KL_CODEC_PIECE]);
void kl_rate_up(struct kl_rate *r, const int16_t in[KL_CODEC_PIECE], int16_t out[KL_SOUND_PIECE]);

#endif

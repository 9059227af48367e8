/* clean.h - the microphone's sound without that of the loudspeakers and without noise, at an even loudness.
 * README.md "Echo".
 *
 * speexdsp, at the codec's rate; loaded when it is first needed, on Windows linked into the programs. Not
 * thread-safe, but for kl_clean_game(). */
#ifndef KLW_CLEAN_H
#define KLW_CLEAN_H

#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/voice/codec.h"

struct kl_clean;

/* NULL with a line in err: no library, no memory. The microphone's sound stays as it is then. */
struct kl_clean *kl_clean_new(char *err, size_t err_len);
void kl_clean_free(struct kl_clean *c);
/* The microphone has just been opened: sound of before is no echo. */
void kl_clean_begin(struct kl_clean *c);
/* A piece goes to the loudspeaker. */
void kl_clean_voices(struct kl_clean *c, const int16_t piece[KL_CODEC_PIECE]);
/* Sound of the game goes to the loudspeaker: `frames` of two channels at `rate`. By one other thread; never
 * waits. Sound that does not fit is dropped. */
void kl_clean_game(struct kl_clean *c, const int16_t *stereo, size_t frames, double rate);
/* A piece of the microphone's sound is replaced. */
void kl_clean_sound(struct kl_clean *c, int16_t piece[KL_CODEC_PIECE]);

#endif

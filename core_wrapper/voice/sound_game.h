/* sound_game.h - the game's own sound as the loudspeaker of a machine without a sound device. It has no
 * microphone. README.md "Devices".
 *
 * The voice thread puts pieces into a ring at the game's rate, by kl_sound_game. The game's thread adds them
 * to the sound that goes to the frontend, and waits for nothing. */
#ifndef KLW_SOUND_GAME_H
#define KLW_SOUND_GAME_H

#include "core_wrapper/voice/sound.h"

#define KL_GAME_AHEAD_MS 30  /* sound in the ring, at most, beside that of one batch of the game */
#define KL_GAME_STILL_MS 100 /* the game gives no sound for so long: it stands still */
#define KL_GAME_FADE     128 /* samples in which voices begin and end, where the ring runs dry */

struct kl_game_sound;

/* NULL: no memory. */
struct kl_game_sound *kl_game_sound_new(void);
void kl_game_sound_free(struct kl_game_sound *g);

/* The voice thread's: it becomes the loudspeaker, a device of kl_sound_game. close() ends that, and frees
 * nothing. */
void kl_game_sound_open(struct kl_game_sound *g);
extern const struct kl_sound kl_sound_game;

/* The game's thread's: `*frames` of two channels go to the frontend at `rate`. Returns stereo if there is
 * nothing to add; else the sum, in memory that the next call writes again. *frames: as many as are
 * returned. */
const int16_t *kl_game_sound_mix(struct kl_game_sound *g, const int16_t *stereo, size_t *frames, double rate);

#endif

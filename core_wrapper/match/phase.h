/* phase.h - whose the core is: the room's, or the player's own. Changes of kl_w.emu.phase that a choice or
 * the session makes, and leaving a room. */
#ifndef KLW_PHASE_H
#define KLW_PHASE_H

#include <stdbool.h>

/* The core runs as the player's own: before a room, while a room waits, and after leaving one. */
void kl_phase_free(void);
/* The core is about to be loaded for the room. */
void kl_phase_loads(void);
/* True if the core stands still, loaded for the room, and ran as the player's own before. */
bool kl_phase_ran_free(void);
/* The room is gone, and its game goes on alone. */
void kl_phase_local(void);
/* The player's fast-forward and slow motion would only make the machine stall and stutter: they rest. */
void kl_phase_hold_pace(bool hold);
/* Leaves the room; the core is not touched. Waits at most linger_ms for the goodbye. Harmless without a
 * room. */
void kl_phase_leave(unsigned linger_ms);

#endif

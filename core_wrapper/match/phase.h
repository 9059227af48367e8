/* phase.h - the core's owner: the room, or the player alone. Changes of m->emu.phase that a choice or
 * the session makes, and leaving a room. */
#ifndef KLW_PHASE_H
#define KLW_PHASE_H

#include <stdbool.h>

struct kl_match;

/* The core runs as the player's own: before a room, while a room waits, and after leaving one. */
void kl_phase_free(struct kl_match *m);
/* The core is about to be loaded for the room. */
void kl_phase_loads(struct kl_match *m);
/* True if the core stands still, loaded for the room, and ran as the player's own before. */
bool kl_phase_ran_free(struct kl_match *m);
/* The room is gone, and its game goes on alone. */
void kl_phase_local(struct kl_match *m);
/* The player's fast-forward and slow motion would only make the machine stall and stutter: they rest. */
void kl_phase_hold_pace(struct kl_match *m, bool hold);
/* Leaves the room; the core is not touched. Waits at most linger_ms for the goodbye. Harmless without a
 * room. */
void kl_phase_leave(struct kl_match *m, unsigned linger_ms);

#endif

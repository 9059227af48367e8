/* choice.h - what the player wants to play: alone, a quick match, a named room, or to watch one; and his
 * changing his mind, in the frontend's core options, while the core runs.
 *
 * Said by the frontend's own menu (wish.h), KEYLOCK_MODE or keylock.cfg, else by the core options; what is
 * turned in these while the game runs counts before all of that. Where nothing is said the named room as soon
 * as a relay is known, else alone. Without a relay kl_w.mode is KL_MODE_ALONE, and all of this only says so.
 */
#ifndef KLW_CHOICE_H
#define KLW_CHOICE_H

#include "core_wrapper/config.h"

/* Before the first load of a core that may come into a room: is it to be the player's own, in his own
 * folders? */
bool kl_choice_alone(void);
/* After it: joins, looks for a match, or lets the core run. False after kl_wrapper_fail(). */
bool kl_choice_open(void);
/* One call of retro_run in a room, or alone without a relay. */
void kl_choice_turn(uint64_t now_us);
/* The link has ended, and it was not in play. True where something else is under way in its place. */
bool kl_choice_ended(void);
/* Into a room that RetroArch's netplay led to (netplay.h), unlisted and with a door for one at a time where
 * it is ours to make; out of any other first. fingerprint: of the relay, or "". False where that cannot
 * begin. */
bool kl_choice_netplay(const char *host, uint16_t port, const char *fingerprint, const char *room);
/* That session is over: out of its room again, if no match has begun in it. */
void kl_choice_netplay_over(void);
/* For a match, and no room yet. */
bool kl_choice_looking(void);
/* Out of the room, or of looking for one, whatever the options say now: the game goes on alone until they are
 * turned. Harmless in no room. */
void kl_choice_leave(void);
/* The core's game becomes the room's. */
void kl_choice_begun(void);
/* The session is over. Harmless where there was none. */
void kl_choice_close(void);

#endif

/* choice.h - the player's choice: alone, a quick match, a named room, or watching one; and changes of it in
 * the frontend's core options while the core runs.
 *
 * The choice comes from the frontend's own menu (wish.h), from KEYLOCK_MODE or keylock.cfg, else from the
 * core options. A core option that changes while the game runs counts before all of these. Without a choice:
 * the named room as soon as a relay is known, else alone. Without a name it is the room of this game
 * (room_name.h), or the next one of this game if that is full. A quick match in the core options is for this
 * once: if the frontend has kept it from the last time, the game begins alone. Without a relay kl_w.mode is
 * KL_MODE_ALONE, and this module only says so. */
#ifndef KLW_CHOICE_H
#define KLW_CHOICE_H

#include "core_wrapper/match/advice.h"
#include "core_wrapper/words/config.h"

/* Before the first load of a core: true if the game is to be the player's own, in the player's own
 * folders. */
bool kl_choice_alone(void);
/* After the first load: joins, looks for a match, or lets the core run. False after kl_wrapper_fail(). */
bool kl_choice_open(void);
/* Once in each retro_run, in a room or alone without a relay. */
void kl_choice_turn(uint64_t now_us);
/* The link has ended before play. True if another room or match is under way instead. */
bool kl_choice_ended(void);
/* Enters the room of RetroArch's netplay (netplay.h), after leaving any other room. A room made here is
 * unlisted and lets in one player at a time. fingerprint: of the relay, or "". False if joining cannot
 * begin. */
bool kl_choice_netplay(const char *host, uint16_t port, const char *fingerprint, const char *room);
/* RetroArch's netplay is over: leaves its room, if no match has begun in it. */
void kl_choice_netplay_over(void);
/* True while a match is looked for and no room is found yet. */
bool kl_choice_looking(void);
/* True while a match is looked for, in a room of our own or in none. */
bool kl_choice_quick(void);
/* True while the relay does not answer and is asked again in a moment. */
bool kl_choice_retries(void);
/* True if the core is to stand still now: a room waits, the first picture is there, and the player does not
 * want to practise. */
bool kl_choice_still(void);

/* Tries the same way again, with the settings of keylock.cfg as they are now. False if there is nothing to
 * try: in a room, on the way to one, or none was wanted. */
bool kl_choice_again(void);
/* Leaves the room or stops looking, whatever the options say. The game goes on alone until the options
 * change. Harmless in no room. */
void kl_choice_leave(void);
/* The core's game becomes the room's. */
void kl_choice_begun(void);
/* The session is over. Harmless without a session. */
void kl_choice_close(void);

#endif

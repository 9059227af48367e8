/* choice.h - the player's choice: alone, a quick match, a named room, or watching one; and changes of it in
 * the frontend's core options while the core runs.
 *
 * The choice comes from the frontend's own menu (wanted_room.h), from KEYLOCK_MODE or keylock.cfg, else from
 * the core options. A core option that changes while the game runs counts before all of these. Without a
 * choice: the named room as soon as a relay is known, else alone. Without a name it is the room of this game
 * (wanted_room.h), or the next one of this game if that is full. A quick match in the core options is for
 * this once: if the frontend has kept it from the last time, the game begins alone. Without a relay the core
 * is bare, and this module only says so. */
#ifndef KLW_CHOICE_H
#define KLW_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

struct kl_match;

/* Before the first load of a core: true if the game is to be the player's own, in the player's own
 * folders. */
bool kl_choice_alone(struct kl_match *m);
/* After the first load: joins, looks for a match, or lets the core run. False after kl_frontend_fail(). */
bool kl_choice_open(struct kl_match *m);
/* Once in each retro_run, in a room or alone without a relay. */
void kl_choice_turn(struct kl_match *m, uint64_t now_us);
/* The link has ended before play. True if another room or match is under way instead. */
bool kl_choice_ended(struct kl_match *m);
/* Enters the room of RetroArch's netplay (netplay.h), after leaving any other room. A room made here is
 * unlisted and lets in one player at a time. fingerprint: of the relay, or "". False if joining cannot
 * begin. */
bool kl_choice_netplay(struct kl_match *m, const char *host, uint16_t port, const char *fingerprint,
                       const char *room);
/* RetroArch's netplay is over: leaves its room, if no match has begun in it. */
void kl_choice_netplay_over(struct kl_match *m);
/* True if the core is to stand still now: a room waits, the first picture is there, and the player does not
 * want to practise. */
bool kl_choice_still(struct kl_match *m);

/* Tries the same way again, with the settings of keylock.cfg as they are now. False if there is nothing to
 * try: in a room, on the way to one, or none was wanted. */
bool kl_choice_again(struct kl_match *m);
/* The core's game becomes the room's. */
void kl_choice_begun(struct kl_match *m);
/* Leaves the room or stops looking, whatever the options say. The game goes on alone until the options
 * change. Harmless in no room. */
void kl_choice_leave(struct kl_match *m);
/* The session is over. Harmless without a session. */
void kl_choice_close(struct kl_match *m);

#endif

/* room_profile.h - the profile of a room, and the findings of this machine about the core that become one. */
#ifndef KLW_ROOM_PROFILE_H
#define KLW_ROOM_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core_wrapper/profile/profile.h"
#include "net/engine/msg.h"

struct kl_match;

/* --- the profile of a room --- */

/* The profile (profile.h) that a room of ours is made with, and the one that the room we are in goes by: the
 * host's, from the start data. */

/* Looks for a profile of the loaded core and the content of these facts in KEYLOCK_PROFILE, a file or a
 * folder of profiles, else in the folder "profiles" beside the seats. Ignores, with a line, a profile that
 * does not fit and a bad file that the player has not named. False if the file that the player named is
 * missing or bad; kl_frontend_fail() has told the reason. */
bool kl_room_profile_find(struct kl_match *m, const struct kl_facts *facts);

/* Looks in the same folder for a profile of all games of the loaded core with states of size_bytes. */
bool kl_room_profile_find_any(struct kl_match *m);
/* True if there is a profile of this core and content. */
bool kl_room_profile_known(struct kl_match *m);

/* The reason why no second copy of the core may run beside it, by the findings on this machine; "": none is
 * known. Reads the file anew. */
const char *kl_room_profile_no_ahead(struct kl_match *m);
/* Whether it may go back by the pages of its memory. */
bool kl_room_profile_pages(struct kl_match *m);

/* Fills in the frames between hashes, unless the player has set them. */
void kl_room_profile_wish(struct kl_match *m, struct kl_params *p);

/* Writes our profile, else the one of the core, and the player's settings into the start data, or takes the
 * room's out of it. system: the host's. */
void kl_room_profile_put(struct kl_match *m, struct kl_profile_room *out);
void kl_room_profile_take(struct kl_match *m, const struct kl_profile_room *in, const char *system);

/* A piece of the mask that the host's machine has found in play. The last one puts the mask
 * in force: from the next label on. Nothing if the piece is not the next one, if the mask is not good, or if
 * the room goes by a mask already. frame: for the log. */
void kl_room_profile_said(struct kl_match *m, const struct kl_command *c, uint32_t frame);

/* The hash of a state for verdicts, without masked bytes. Sets in h how an unequal hash counts. */
uint64_t kl_room_profile_hash(struct kl_match *m, const uint8_t *state, size_t len, struct kl_hash *h);

/* --- findings of this machine --- */

/* Finds out which bytes of a core's states a load changes, or differ between two copies of the core on this
 * machine, the first time that the player comes into a room with a core and size of state: `keylock probe
 * --learn`, a program of its own, in the background, of the least priority, for three minutes at most. It
 * keeps its findings for all games of the core (profile.h), and the next room that is made here has them. In
 * the room that is played meanwhile, the host's machine gives its mask to all (net/PROTOCOL.md §5, Commands).
 * The core of the match is never asked, and nothing comes from other players. */

/* After kl_room_profile_find(). Does nothing if the findings are there, or a measurement is under way. */
void kl_learn_begin(struct kl_match *m);
/* True while a measurement is under way. Once it is over, its findings are read. */
bool kl_learn_busy(struct kl_match *m);
/* With each call of the frontend, in a room: gives the room our findings, if we are its host and it has
 * no mask. */
void kl_learn_turn(struct kl_match *m, uint64_t now_us);
/* A game begins: its mask is not given yet. */
void kl_learn_game(struct kl_match *m);
/* Ends a measurement that is under way. */
void kl_learn_end(struct kl_match *m);

#endif

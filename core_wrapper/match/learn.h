/* learn.h - finds out which bytes of a core's states a load changes, or differ between two copies of the core
 * on this machine, the first time that the player comes into a room with a core and size of state: `keylock
 * probe --learn`, a program of its own, in the background, of the least priority, for three minutes at most.
 * It keeps its findings for all games of the core (profile.h), and the next room that is made here has them.
 * In the room that is played meanwhile, the host's machine gives its mask to all (net/PROTOCOL.md §5,
 * Commands). The core of the match is never asked, and nothing comes from other players. */
#ifndef KLW_LEARN_H
#define KLW_LEARN_H

#include <stdbool.h>
#include <stdint.h>

struct kl_match;

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

/* shown.h - running ahead in the simulated rooms: two of three players have a shown core
 * (net/engine/ahead.h). It only reads the lock, so the room is the same with it and without. */
#ifndef SIM_SHOWN_H
#define SIM_SHOWN_H

#include "tests/sim/world.h"

/* A new world: nobody has a shown core yet. */
void shown_set_up(void);
/* A client's turn, after its samples and before its frames. Fails the world if a frame stays wrong although
 * its news has come, if a confirmed frame is not the room's, if a guess goes beyond its bound, or if an own
 * pad is guessed wrong though no spacing changed. */
void shown_turn(struct world *w, unsigned client);
#endif

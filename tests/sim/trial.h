/* trial.h - directed trials: one thing happens to a room, and what it cost is measured and judged. */
#ifndef SIM_TRIAL_H
#define SIM_TRIAL_H

#include "tests/sim/world.h"

/* RTT 50 -> 150 ms and back, so many rooms a row, of the seeds from `first` on: how soon the spacing follows,
 * and what the change costs. */
int trial_step(const struct cell *like, uint64_t first, uint64_t seeds);

/* Frontends and cores of unlike rates for ten minutes: calls with no frame or two beyond what the drift asks
 * for, and the rate at which the room plays: at least the slowest display's, at most the core's. Cores that
 * change their rate, too. */
int trial_pace(const struct cell *like);

/* Machines stand still, some or all of them, the relay's among them, once or again and again: how soon the
 * lead is what it was. */
int trial_hitch(const struct cell *like);

/* Timed waits end only with a tick of 15.6 ms, on some machines or on all: the rate, the late frames, the
 * lead. */
int trial_coarse(const struct cell *like);

/* One of two or three lies, as spec has it (attack.h), or in all the ways that are known: what the honest
 * have of it, and whether it is found. */
int trial_liar(const struct cell *like, const char *spec);

/* So many attacks: first those that it once found, one half drawn from the seed, the other half made of the
 * worst so far. Says each that breaks a bound, and the worst. */
int trial_search(const struct cell *like, uint64_t seed, uint64_t rooms);

/* Rooms of 2, 4 and 8 for an hour on links that change, under each policy. */
int trial_hour(const struct cell *like, uint64_t seed);

/* Two players of unlike links: the spacing follows the largest up + down over all pairs. */
int trial_unequal(const struct cell *like);

/* --- for all of them --- */

/* One way of a link of this RTT and jitter (the cell's, of both ways) and loss a hop. */
struct link_quality trial_hop_of(double rtt_ms, double jitter_ms, double loss);

/* Passed over where there is no place. */
void trial_add_happening(struct scenario *s, struct happening h);

/* All clients' links become this, at_s seconds after the room's start. */
void trial_change_links(struct scenario *s, double at_s, const struct link_quality *hop);

/* world_run(), and says what failed. */
bool trial_play(struct world *w, const struct scenario *s, world_probe *probe, void *ctx);

#endif

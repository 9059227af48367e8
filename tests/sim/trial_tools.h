/* trial_tools.h - functions that directed trials share. */
#ifndef SIM_TRIAL_TOOLS_H
#define SIM_TRIAL_TOOLS_H

#include "tests/sim/world.h"

/* One way of a link of this RTT and jitter (the cell's, of both ways) and loss a hop. */
struct link_quality trial_hop_of(double rtt_ms, double jitter_ms, double loss);

/* Passed over where there is no place. */
void trial_add_happening(struct scenario *s, struct happening h);

/* All clients' links become this, at_s seconds after the room's start. */
void trial_change_links(struct scenario *s, double at_s, const struct link_quality *hop);

/* world_run(), and says what failed. */
bool trial_play(struct world *w, const struct scenario *s, world_probe *probe, void *ctx);

#endif

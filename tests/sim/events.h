/* events.h - the next events: a binary heap by time, then by order of making; and a pool of packets. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include "tests/sim/world.h"

void events_push(struct world *w, struct event e);
bool events_due(const struct world *w, uint64_t *at_us);
struct event events_pop(struct world *w);
struct packet *packet_new(struct world *w);
void packet_free(struct world *w, struct packet *p);
void events_clear(struct world *w);

#endif

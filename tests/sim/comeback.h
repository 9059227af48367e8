/* comeback.h - sessions that end and begin anew, and a relay that dies and comes back. */
#ifndef SIM_COMEBACK_H
#define SIM_COMEBACK_H

#include "tests/sim/world.h"

void comeback_room(struct world *w); /* begins the lock, with its memory */
void comeback_set_up(struct world *w);
void comeback_clear(struct world *w);
void comeback_collect(struct world *w, uint32_t from); /* frames [from, truth.next) have closed */
void comeback_serve(struct world *w);                  /* the relay's history to those who want it */
void comeback_feed(
    struct world *w,
    unsigned client); /* the part of it that has arrived at the client, as far as it has place */

void comeback_happen(struct world *w, const struct happening *h);
void comeback_handle(struct world *w, const struct event *e);

/* Until when a client may be slow that has `frames` to run. */
uint64_t comeback_excuse_us(const struct world *w, unsigned client, uint32_t frames);

#endif

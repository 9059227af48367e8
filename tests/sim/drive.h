/* drive.h - the parts of a world that act at one moment: a client's turn, a datagram's arrival, sending. */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

#include "tests/sim/world.h"

/* Each clock's time at the world's now_us. */
uint64_t drive_client_clock(const struct world *w, const struct sim_client *c);
uint64_t drive_relay_clock(const struct world *w);
/* The end of a wait until at_us, on a machine whose waits end on a grid (0: on time). */
uint64_t drive_wakes_us(const struct world *w, uint64_t at_us, uint32_t grid_us, uint32_t phase_us);

uint32_t drive_turn(struct world *w, unsigned client);  /* one retro_run of its frontend */
void drive_to_relay(struct world *w, struct packet *p); /* a CTRL arrives */
void drive_to_client(struct world *w, struct packet *p);
bool drive_outdated(const struct world *w, const struct packet *p); /* of a dead relay that has a successor */
void drive_before(struct world *w);                                 /* before the room is told anything */
void drive_collect(struct world *w); /* after it: frames that the relay closed */
void drive_tick(struct world *w);    /* the relay's work that is due by time alone */
void drive_order(struct world *w, unsigned client, const struct kl_command *c); /* a command arrives */
void drive_send_client(struct world *w, unsigned client);
void drive_send_relay(struct world *w);

__attribute__((format(__printf__, 2, 3))) void world_fail(struct world *w, const char *format, ...);
__attribute__((format(__printf__, 2, 3))) void world_log(struct world *w, const char *format, ...);

#endif

/* net_fleet.h - relays that share a Redis. */
#ifndef NET_FLEET_H
#define NET_FLEET_H

#include "tests/net/net_player.h"

#define RELAYS 3

extern struct program redis_program, relay[RELAYS];
extern char url[64]; /* of Redis */

/* Redis takes no port 0. */
uint16_t free_port(void);
/* Lines with this text, in the logs of all relays that run. */
unsigned all_lines(const char *text);
/* To the relay and all its processes. */
void signal_all(unsigned at, int how);
/* As the power goes: nobody says good bye. */
void lose_power(unsigned at);

#endif

/* fleet.h - a fleet in virtual time: several relays, each with its lobby, its journal and its directory
 * (net/relay/fleet), and one Redis. docs/design.md §8, Fleet.
 *
 * Lobbies, journals, the directory and the copies are the real ones: a directory runs as a fiber, which gives
 * way where it would wait for Redis or for its next turn. The link to Redis and Redis itself are models
 * (redis_model.c): its commands and the meaning of our Lua scripts are written in C there, and
 * `rooms --redis PORT` compares them with a real server.
 *
 * redis_model.c, redis.c, redis_compare.c   Redis; the link to it; beside a real one
 * relays.c  processes: directories as fibers, lobbies, their folders
 * fleet.c   the players' ways, faults, and the judge */
#ifndef TEST_ROOMS_FLEET_H
#define TEST_ROOMS_FLEET_H

#include "net/relay/fleet/redis.h"
#include "tests/rooms/rooms.h"

#define FLEET_STEP_US 2000
#define FLEET_PORT    5000

extern bool unfenced; /* scripts do not look at owner and number */

/* --- redis.c --- */
void redis_begin(uint64_t seed);
void redis_step(void);          /* commands that have arrived are done */
void redis_end(unsigned relay); /* its process is gone, and its connections */
void redis_flush(void);         /* it forgets all */
void redis_keep(void);          /* all that it has now, */
void redis_go_back(void);       /* is what it has again, as another process */
extern bool redis_cut[RELAYS];  /* nothing gets through between the two */
extern bool redis_stands;       /* it stands still */
extern int64_t redis_clock_us;  /* its wall clock is ahead by so much */
/* Plays so many commands there and at a real one; 0: the answers are the same. */
int redis_compare(uint16_t port, unsigned commands, uint64_t seed);

/* --- relays.c --- */
int fiber_now(void); /* the relay whose directory runs; -1: none */
void fiber_yield(void);
unsigned fleet_relay_now(void);          /* the relay whose process runs; RELAYS: none */
void fleet_relay_begins(unsigned relay); /* its lobby is new */
void fleet_turn(void);
void fleet_folders(void);
void fleet_folders_end(void);
void fleet_relay_dies(unsigned relay, uint64_t up_us);
/* Until then the directory, the rooms' process, or both stand still. */
void fleet_stop(unsigned relay, uint64_t directory_us, uint64_t rooms_us);
bool fleet_runs(unsigned relay);   /* it is there, and its rooms' process does not stand still */
bool fleet_stands(unsigned relay); /* it is there, and does */
unsigned fleet_life(unsigned relay);
extern int64_t fleet_clock_us[RELAYS]; /* its wall clock is ahead by so much */

/* --- fleet.c: a client's way --- */
void fleet_enters(struct client *c);
void fleet_dials(struct client *c); /* another session: by these addresses */
void fleet_init(struct client *c, const uint8_t init[KL_INIT_BYTES]);
void fleet_answers(struct client *c, unsigned relay, const uint8_t *bytes, size_t len);
bool fleet_connects(const struct client *c);
unsigned fleet_relay(const struct client *c);
bool fleet_way(unsigned relay, unsigned client); /* it is not cut */
/* --- and what it plays --- */
void fleet_ran(struct client *c, const struct kl_frame *f);
const struct kl_frame *fleet_frame(const struct client *c, uint32_t number);
bool fleet_may_end(const struct client *c);

void fleet_choose(uint64_t seed);
void fleet_begin(void);
void fleet_step(void);
bool fleet_is_over(void);
void fleet_judge_end(void);

#endif

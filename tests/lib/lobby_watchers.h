/* lobby_watchers.h - people who watch the room of lobby_players.h from outside the game, the engine the real
 * one on their side as well. */
#ifndef TEST_LOBBY_WATCHERS_H
#define TEST_LOBBY_WATCHERS_H

#include "tests/lib/lobby_players.h"

#define WATCHERS 6
#define AT_PEER  20 /* the first of them */

extern struct player watcher[WATCHERS];
extern char served[4096]; /* the receivers of datagrams, in order: 'p' plays, 'w' watches */
extern unsigned served_count;

struct player *watcher_at(unsigned peer);

void begin_watcher(struct player *w, const struct kl_welcome *m);

/* The newest message of this kind; NULL: none has come, or it was forgotten. */

const struct kl_msg *got(unsigned peer, uint8_t kind);
void forget(unsigned peer, uint8_t kind);

void hear_message(unsigned peer, const struct kl_msg *m);

void hear_update(unsigned peer, const uint8_t *body, size_t len);

extern void (*on_step)(void);

void go(uint64_t us);

/* A watcher's word that it has loaded, where it has been asked to. */
void says_loaded(unsigned i);

void comes(unsigned i, unsigned seats);

void watches(unsigned i);

void goes(unsigned i);

/* As before the first of them. */
void forget_watchers(void);
/* Three play, nobody watches yet. */
void begin_watched(void);

int set_up_watched(void **state);

uint32_t behind(unsigned i);

#endif

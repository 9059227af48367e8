/* net_gap.h - for tests of the relay: the longest time in which a game stood still for a player. */
#ifndef NET_GAP_H
#define NET_GAP_H

#include "tests/net/net_player.h"

/* After hitch_watch(): what the machine stood still is taken off. */
struct gap {
    uint64_t longest_us; /* without a new frame of the slowest player */
    uint32_t frames;     /* that all have */
    uint64_t last_us, still_us;
};

/* One turn of `count` players; the gap is that of the first `watched` of them. */
void gap_turn(struct gap *g, struct player *p, unsigned count, unsigned watched);
/* Turns for so long. */
void gap_turns(struct gap *g, struct player *p, unsigned count, unsigned watched, unsigned ms);

#endif

/* net_state.h - for tests of the relay: what a synthetic player's machine is, as a state that it gives to
 * others, and loads. The first bytes are the machine, the rest is made of them and hard to pack. */
#ifndef NET_STATE_H
#define NET_STATE_H

#include "tests/net/net_player.h"

struct state {
    uint32_t bytes, frame; /* it was taken before this frame */
    uint8_t *own, *before; /* before: NULL, or the one that it took before that */
    uint32_t before_frame;
    unsigned asked, based, loads, rewinds; /* times that it was to give it, against one before; that it has
                                              loaded one, or gone back to its own */
    /* NULL, or packs what is given in its place, by malloc(); NULL of it: nothing is given. */
    uint8_t *(*forge)(const struct state *s, uint32_t *len);
};

/* This player has states, of so many bytes. After player_open(); s is the caller's. */
void state_begin(struct player *p, struct state *s, uint32_t bytes);
void state_end(struct player *p);
/* Packs as a snapshot is packed; malloc(). */
uint8_t *state_pack(const uint8_t *bytes, size_t len, uint32_t *packed_len);

#endif

/* lobby_states.h - a peer of the lobby says its machine's state, and gives a snapshot. */
#ifndef TEST_LOBBY_STATES_H
#define TEST_LOBBY_STATES_H

#include "tests/lib/lobby_players.h"

/* The keyframe of the snapshot that this frame's commands order; UINT32_MAX: they order none. */
uint32_t snapshot_ordered(struct player *p, const struct kl_frame *f);

/* Fills a state that zstd packs to less than a third. */
void fill_state(uint8_t *state, size_t len);

/* STATE of these bytes; NULL: the core has none. */
struct kl_msg a_state(uint32_t keyframe, const uint8_t *state, size_t len);

/* The size; fails if `cap` is too small. */
uint32_t pack_state(const uint8_t *state, size_t len, uint8_t *packed, size_t cap);
/* GIVE, in pieces from `from` to `end` of `total` packed bytes, until the relay hangs up. */
void give_packed(unsigned peer, struct kl_snapshot_piece head, const uint8_t *packed, uint32_t from,
                 uint32_t end, uint32_t total);

#endif

/* replay.h - a recording is played in place of a room: its frames come from the file, and the core begins as
 * in a room, with the file's start data. KEYLOCK_REPLAY=FILE, as `keylock replay` sets it.
 *
 * The frontend's own pause, fast-forward and steps work. The first pad goes to no game: it pauses, steps, and
 * seeks on a bar. States to seek by are this machine's own (own_states.h): a recording that begins with a
 * state of another machine is refused. */
#ifndef KLW_REPLAY_H
#define KLW_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct kl_match;

/* The content is loaded. False: it cannot be replayed, and the frontend knows why. */
bool kl_replay_open(struct kl_match *m);
/* A recording is open. */
bool kl_replay_on(const struct kl_match *m);
/* The core stands at the match's beginning, as in a room. False: it cannot, and the player knows why. */
bool kl_replay_begin(struct kl_match *m);
/* In place of the room's turn. Once a room was to begin there, nothing is open any more, and the
 * configuration is that room's. */
void kl_replay_turn(struct kl_match *m, uint64_t now_us);
void kl_replay_close(struct kl_match *m);

#endif

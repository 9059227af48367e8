/* challenge.h - a challenge is played, alone and without a link: KEYLOCK_REPLAY is a token's file, and
 * `record` the run's, which `keylock play --challenge` hands in. docs/design.md §7.
 *
 * The core begins as the token says and runs one frame a call, with the first pad. The frontend's own states,
 * cheats and fast-forward do not work, as in a room. */
#ifndef KLW_CHALLENGE_H
#define KLW_CHALLENGE_H

#include <stdint.h>

struct kl_match;

/* In place of a replay's turn, with replay.token. */
void kl_challenge_turn(struct kl_match *m, uint64_t now_us);
/* The core is about to be unloaded: takes the run's last hash, if there is a challenge. */
void kl_challenge_end(struct kl_match *m);

#endif

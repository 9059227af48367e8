/* session.h - one room, from joining to leaving: the actions at each change of the link's phase, and the
 * messages to the player. state.h has the states, play.h the frames. */
#ifndef KLW_SESSION_H
#define KLW_SESSION_H

#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/client/participant.h"

struct kl_match;

/* After the first load: joins. False after kl_frontend_fail(). */
bool kl_session_open(struct kl_match *m);
/* Takes the link's news and acts on them; m->link must be there, and may be gone afterwards. */
void kl_session_update(struct kl_match *m);
/* Once in each retro_run. */
void kl_session_run(struct kl_match *m);
/* Leaves, and forgets the session: folders, claim, messages said. */
void kl_session_close(struct kl_match *m);

/* A challenge is played, alone and without a link: KEYLOCK_REPLAY is a token's file, and
 * `record` the run's, which `keylock play --challenge` hands in. docs/design.md §7.
 *
 * The core begins as the token says and runs one frame a call, with the first pad. The frontend's own states,
 * cheats and fast-forward do not work, as in a room. */

/* In place of a replay's turn, with replay.token. */
void kl_challenge_turn(struct kl_match *m, uint64_t now_us);
/* The core is about to be unloaded: takes the run's last hash, if there is a challenge. */
void kl_challenge_end(struct kl_match *m);

/* The news in the link's newest status: lines for the player, words for the run's report and for the
 * recording. */

/* m->status is the newest; was: the one before. */
void kl_news_tell(struct kl_match *m, const struct kl_participant_status *was);

#endif

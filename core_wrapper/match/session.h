/* session.h - one room, from joining to leaving: the actions at each change of the link's phase, and the
 * messages to the player. state.h has the states, play.h the frames. */
#ifndef KLW_SESSION_H
#define KLW_SESSION_H

#include <libretro.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_match;

/* Marks this process as being in a room. False if it is in one: a second instance (run-ahead's) must not
 * join. */
bool kl_session_claim(struct kl_match *m);
/* After the first load: joins. False after kl_frontend_fail(). */
bool kl_session_open(struct kl_match *m);
/* Takes the link's news and acts on them; m->link must be there, and may be gone afterwards. */
void kl_session_update(struct kl_match *m);
/* Once in each retro_run. */
void kl_session_run(struct kl_match *m);
/* Leaves, and forgets the session: folders, claim, messages said. */
void kl_session_close(struct kl_match *m);

#endif

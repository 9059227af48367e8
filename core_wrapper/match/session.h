/* session.h - one room, from joining to leaving: the actions at each change of the link's phase, and the
 * messages to the player. The phases are kl_w.emu.phase; play.h has the frames. */
#ifndef KLW_SESSION_H
#define KLW_SESSION_H

#include "core_wrapper/context/wrapper.h"

/* Marks this process as being in a room. False if it is in one: a second instance (run-ahead's) must not
 * join. */
bool kl_session_claim(void);
/* After the first load: joins. False after kl_wrapper_fail(). */
bool kl_session_open(void);
/* Takes the link's news and acts on them; kl_w.link must be there, and may be gone afterwards. */
void kl_session_update(void);
/* Once in each retro_run. */
void kl_session_run(void);
/* Leaves, and forgets the session: folders, claim, messages said. */
void kl_session_close(void);

#endif

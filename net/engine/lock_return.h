/* lock_return.h - the return of a client: by a new session after a lost link, or as a new process.
 * net/PROTOCOL.md §5 and §7. lock_client.h is the client itself.
 *
 * Lost link: kl_client_return() when the new session stands, then RETURN with have = kl_client_have(); the
 * client goes on after the frames that it has run. New process: kl_client_init(), kl_client_return(), RETURN
 * with have 0; then everything comes by HISTORY and kl_client_plan() runs it as fast as its caller lets it.
 * By a snapshot: kl_client_begin_at(), the state is loaded, kl_client_go(); HISTORY brings the frames from
 * there on. */
#ifndef KL_LOCK_RETURN_H
#define KL_LOCK_RETURN_H

#include "net/engine/lock_client.h"

/* A new session begins: nothing of the old one counts any more. Samples that were not acknowledged are
 * dropped, our seats are out until we have caught up, the relay's clock is learnt anew (the old round trips
 * stay as a guess). */
void kl_client_return(struct kl_client *c, uint64_t now_us);
/* Drops the frames that have come but were not run; to be called before kl_client_return() if the session was
 * lost. A relay that was started anew may not know them, and may close others in their place. */
void kl_client_drop(struct kl_client *c);

/* Begins anew at this keyframe, of that interval, from a state that is to be loaded: held frames are dropped,
 * frames from the keyframe on are kept, and none is run before kl_client_go(). To be called after
 * kl_client_return(). */
void kl_client_begin_at(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us);
/* The same after a relay has lost the frames from there on: it has not closed what the relay before said that
 * it had. */
void kl_client_lose(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us);
/* The state is loaded. Without effect if none was awaited. */
void kl_client_go(struct kl_client *c);

/* The relay has given this client other seats during the game (0: it watches). They count once the client has
 * caught up and reported so, as after an absence. */
void kl_client_reseat(struct kl_client *c, uint8_t seats);

/* The next closed frame that this client needs. */
static inline uint32_t kl_client_have(const struct kl_client *c) {
    return c->stats.next_closed;
}

/* Feeds the body of a HISTORY message (a piece, frames.h). Returns the number of its wanted frames that found
 * no place: 0, done with it; else feed the same again after the next turn. KL_E_MALFORMED; KL_E_WINDOW if it
 * begins past our next frame (c is unchanged then). */
int kl_client_history(struct kl_client *c, const uint8_t *piece, size_t len, uint64_t now_us);

/* The room's next frame, by its last word, less our next frame: for a progress bar. */
uint32_t kl_client_behind(const struct kl_client *c);

#endif

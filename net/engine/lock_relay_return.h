/* lock_relay_return.h - clients that lose their session and return, and rooms that continue after a restart
 * of the relay. net/PROTOCOL.md §5 and §7. lock_relay.h is the room itself.
 *
 * A client's session ends: kl_lock_cut(). It comes back by a new one: kl_lock_return(). From then on the
 * client gets UPDATEs again, and is absent until it reports that it has caught up (CTRL with resume). If it
 * lies further back than UPDATEs reach, its frames come from the history:
 *
 *     while (kl_lock_wants_history(r, client, &from) && (there is room on its bulk channel)) {
 *         len = kl_history_read(history, from, piece, sizeof piece, &end);
 *         send it; kl_lock_gave_history(r, client, end);
 *     }
 *
 * A relay that was killed: kl_lock_init(), kl_lock_add() for every member, kl_lock_adopt() for every frame
 * (which the caller appends to the history) since frame 0 (journal), kl_lock_reopen(); then everybody comes
 * back as above. */
#ifndef KL_LOCK_RELAY_RETURN_H
#define KL_LOCK_RELAY_RETURN_H

#include "net/engine/frames.h"
#include "net/engine/lock_relay.h"

#define KL_HISTORY_AHEAD 8192 /* frames that the history may bring a client ahead of the frame it runs */

/* The client's session is over; it keeps its seats. No datagrams are made for it. In bounded and optimistic
 * rooms its seats are absent at once; a strict room closes nothing until the client is back. A cut client is
 * not lost (kl_lock_lost()), and holds nobody up in a room without a clock. Without effect on an unknown
 * client. */
void kl_lock_cut(struct kl_lock_relay *r, unsigned client, uint64_t now_us);

/* The client has a new session, and every closed frame below `have` (0: a new process without frames). The
 * old session need not have been cut before. The room forgets the client's samples; they go on when it
 * resumes. KL_E_STATE if the room does not know it or has not started; KL_E_WINDOW if have > next_close: the
 * client has run frames that this room does not know (it begins anew). */
int kl_lock_return(struct kl_lock_relay *r, unsigned client, uint32_t have, uint64_t now_us);

/* For a client that kl_lock_lost(), instead of putting it out: the history brings the missed frames. */
void kl_lock_fetch(struct kl_lock_relay *r, unsigned client);

/* True if this client now wants the piece of history that holds frame *from. */
bool kl_lock_wants_history(const struct kl_lock_relay *r, unsigned client, uint32_t *from);
/* Frames below `end` were sent to the client (reliably). */
void kl_lock_gave_history(struct kl_lock_relay *r, unsigned client, uint32_t end);
/* True if the client is so far behind that its frames come by history, not by UPDATE. */
bool kl_lock_fetching(const struct kl_lock_relay *r, unsigned client);

/* Pads whose owners are cut, or back and not yet caught up, and those of hold_for. Without those of joining
 * clients. */
uint8_t kl_lock_out(const struct kl_lock_relay *r);

/* Takes a frame that was closed in an earlier life, before kl_lock_reopen(): in order, from frame 0 on, with
 * the commands before it (NULL: it has none), which count again (policy, swap, rate, pause). kl_lock_take()
 * does not hand it out again. KL_E_WINDOW (not the next frame), KL_E_MALFORMED (its interval is not one),
 * KL_E_STATE (started). */
int kl_lock_adopt(struct kl_lock_relay *r, const struct kl_frame *f, const struct kl_commands *commands);

/* The same for all frames of an interval at once, by its keyframe, whose inputs do not matter: for frames
 * that no client can get by UPDATE any more. At least KL_KEPT_FRAMES frames must follow one by one. */
int kl_lock_adopt_interval(struct kl_lock_relay *r, const struct kl_frame *key,
                           const struct kl_commands *commands);

/* Goes on at the frame after the last adopted one. All clients are cut. Nothing closes before the first is
 * back, nor, for hold_us at most, before all with seats are. A strict room waits for all of them without
 * limit; the caller removes those whose time is up. The next frame is due soon. KL_E_STATE if the room has
 * started, or has no seats or no frames. */
int kl_lock_reopen(struct kl_lock_relay *r, uint64_t hold_us, uint64_t now_us);

/* The commands before this keyframe, in `out`, while the room keeps them; NULL: none. */
const struct kl_commands *kl_lock_commands(const struct kl_lock_relay *r, uint32_t keyframe,
                                           struct kl_commands *out);

#endif

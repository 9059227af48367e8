/* room_return.h - clients that lose their session and come back, and rooms that go on after the relay died.
 * net/PROTOCOL.md §5 and §7. The room itself: room.h.
 *
 * A client's session ends: kl_room_cut(). It comes back by a new one: kl_room_return(), and from then on it
 * gets UPDATEs again, is absent until it has caught up and says so (CTRL with resume), and where it lies
 * further back than UPDATEs reach, its frames come from the history:
 *
 *     while (kl_room_wants_history(r, client, &from) && (there is room on its bulk channel)) {
 *         len = kl_history_read(history, from, piece, sizeof piece, &end);
 *         send it; kl_room_gave_history(r, client, end);
 *     }
 *
 * A relay that was killed: kl_room_init(), kl_room_add() for every member, kl_room_adopt() for every frame
 * since frame 0 (journal, histories of clients), kl_room_reopen(); then everybody comes back as above. */
#ifndef KL_ROOM_RETURN_H
#define KL_ROOM_RETURN_H

#include "net/engine/frames.h"
#include "net/engine/room.h"

#define KL_HISTORY_AHEAD 8192 /* frames past what a client has run that the history may bring it */

/* The client's session is over, its seats are still its own. No datagrams are made for it. In bounded and
 * optimistic rooms its seats are absent at once; a strict room closes nothing until it is back. It is neither
 * lost nor does it hold others in a room without a clock. Nothing happens to one that is not there. */
void kl_room_cut(struct kl_room *r, unsigned client, uint64_t now_us);

/* It has a new session, and every closed frame below `have` (0: a new process, that has nothing). Also where
 * the old session was not known to be over. Its samples are forgotten: they go on where it resumes.
 * KL_E_STATE where the room does not know it or has not started; KL_E_WINDOW where have > next_close: it has
 * run frames that this room does not know (adopt them before reopening, or let it begin anew). */
int kl_room_return(struct kl_room *r, unsigned client, uint32_t have, uint64_t now_us);

/* Instead of putting out a client that kl_room_lost(): the history brings what it missed. */
void kl_room_fetch(struct kl_room *r, unsigned client);

/* True where this client now wants the piece of history that holds frame *from. */
bool kl_room_wants_history(const struct kl_room *r, unsigned client, uint32_t *from);
/* Frames below `end` are on their way to it (reliably). */
void kl_room_gave_history(struct kl_room *r, unsigned client, uint32_t end);
/* It gets its frames by history, not by UPDATE: so far behind. */
bool kl_room_fetching(const struct kl_room *r, unsigned client);

/* Pads whose owners are cut, or back and not yet caught up, who joins the game left out. */
uint8_t kl_room_out(const struct kl_room *r);

/* Takes a frame that was closed in an earlier life, before kl_room_reopen(): in order, from frame 0 on, with
 * the commands before it (NULL where it has none), which count again (policy, swap, rate, pause). It is not
 * handed out by kl_room_take() again. KL_E_WINDOW (not the next frame), KL_E_MALFORMED (its interval is not
 * one), KL_E_STATE (started). */
int kl_room_adopt(struct kl_room *r, const struct kl_frame *f, const struct kl_commands *commands);

/* The same for all frames of an interval at once, by its keyframe, whose inputs do not matter: for those that
 * nobody can get by UPDATE any more. At least KL_KEPT_FRAMES are to follow one by one. */
int kl_room_adopt_interval(struct kl_room *r, const struct kl_frame *key, const struct kl_commands *commands);

/* Goes on at the frame after the last adopted one. All clients are cut; nothing closes before the first is
 * back, nor, for hold_us at most, before all with seats are (in a strict room: however long that takes;
 * remove whose time is up). The next frame is due soon. KL_E_STATE where it has started, or has no seats or
 * no frames. */
int kl_room_reopen(struct kl_room *r, uint64_t hold_us, uint64_t now_us);

/* The commands that stand before this keyframe, while the room keeps them; NULL: none. */
const struct kl_commands *kl_room_commands(const struct kl_room *r, uint32_t keyframe);

#endif

/* room_return.h - clients that lose their session and return, and rooms that continue after a restart of the
 * relay. net/PROTOCOL.md §5 and §7. room.h is the room itself.
 *
 * A client's session ends: kl_room_cut(). It comes back by a new one: kl_room_return(). From then on the
 * client gets UPDATEs again, and is absent until it reports that it has caught up (CTRL with resume). If it
 * lies further back than UPDATEs reach, its frames come from the history:
 *
 *     while (kl_room_wants_history(r, client, &from) && (there is room on its bulk channel)) {
 *         len = kl_history_read(history, from, piece, sizeof piece, &end);
 *         send it; kl_room_gave_history(r, client, end);
 *     }
 *
 * A relay that was killed: kl_room_init(), kl_room_add() for every member, kl_room_adopt() for every frame
 * since frame 0 or that of kl_room_begin_at() (journal, histories of clients), kl_room_reopen(); then
 * everybody comes back as above. */
#ifndef KL_ROOM_RETURN_H
#define KL_ROOM_RETURN_H

#include "net/engine/frames.h"
#include "net/engine/room.h"

#define KL_HISTORY_AHEAD 8192 /* frames that the history may bring a client ahead of the frame it runs */

/* The client's session is over; it keeps its seats. No datagrams are made for it. In bounded and optimistic
 * rooms its seats are absent at once; a strict room closes nothing until the client is back. A cut client is
 * not lost (kl_room_lost()), and holds nobody up in a room without a clock. Without effect on an unknown
 * client. */
void kl_room_cut(struct kl_room *r, unsigned client, uint64_t now_us);

/* The client has a new session, and every closed frame below `have` (0: a new process without frames). The
 * old session need not have been cut before. The room forgets the client's samples; they go on when it
 * resumes. KL_E_STATE if the room does not know it or has not started; KL_E_WINDOW if have > next_close: the
 * client has run frames that this room does not know (adopt them before reopening, or let it begin anew). */
int kl_room_return(struct kl_room *r, unsigned client, uint32_t have, uint64_t now_us);

/* For a client that kl_room_lost(), instead of putting it out: the history brings the missed frames. */
void kl_room_fetch(struct kl_room *r, unsigned client);

/* True if this client now wants the piece of history that holds frame *from. */
bool kl_room_wants_history(const struct kl_room *r, unsigned client, uint32_t *from);
/* Frames below `end` were sent to the client (reliably). */
void kl_room_gave_history(struct kl_room *r, unsigned client, uint32_t end);
/* True if the client is so far behind that its frames come by history, not by UPDATE. */
bool kl_room_fetching(const struct kl_room *r, unsigned client);

/* Pads whose owners are cut, or back and not yet caught up. Without those of joining clients. */
uint8_t kl_room_out(const struct kl_room *r);

/* After kl_room_init(): the frames to be adopted begin with this keyframe, of that interval. rules: as they
 * were before its commands (r->rules while its interval was being closed). No client gets frames below. */
void kl_room_begin_at(struct kl_room *r, uint32_t keyframe, uint32_t interval,
                      const struct kl_room_rules *rules);

/* Takes a frame that was closed in an earlier life, before kl_room_reopen(): in order, from frame 0 on, with
 * the commands before it (NULL: it has none), which count again (policy, swap, rate, pause). kl_room_take()
 * does not hand it out again. KL_E_WINDOW (not the next frame), KL_E_MALFORMED (its interval is not one),
 * KL_E_STATE (started). */
int kl_room_adopt(struct kl_room *r, const struct kl_frame *f, const struct kl_commands *commands);

/* The same for all frames of an interval at once, by its keyframe, whose inputs do not matter: for frames
 * that no client can get by UPDATE any more. At least KL_KEPT_FRAMES frames must follow one by one. */
int kl_room_adopt_interval(struct kl_room *r, const struct kl_frame *key, const struct kl_commands *commands);

/* Goes on at the frame after the last adopted one. All clients are cut. Nothing closes before the first is
 * back, nor, for hold_us at most, before all with seats are. A strict room waits for all of them without
 * limit; the caller removes those whose time is up. The next frame is due soon. KL_E_STATE if the room has
 * started, or has no seats or no frames. */
int kl_room_reopen(struct kl_room *r, uint64_t hold_us, uint64_t now_us);

/* The commands before this keyframe while the room keeps them; NULL: none. */
const struct kl_commands *kl_room_commands(const struct kl_room *r, uint32_t keyframe);

#endif

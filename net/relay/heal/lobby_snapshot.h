/* lobby_snapshot.h - snapshots of a room: ordered, agreed on, given, kept, sent on. net/PROTOCOL.md §7,
 * Snapshots. Only inside net/relay. */
#ifndef KL_LOBBY_SNAPSHOT_H
#define KL_LOBBY_SNAPSHOT_H

#include "net/engine/msg.h"
#include "net/relay/room/lobby_room.h"

/* Orders a snapshot: all clients serialize at a keyframe to come. trusted: the clients whose hashes count; 0:
 * all players. In the end shot.kept is newer, or shot.failures has grown. False: not now (a snapshot or a
 * healing is under way), or never (shot.unfit). */
bool kl_lobby_snapshot_order(struct kl_lobby_room *r, uint16_t trusted, uint64_t now_us);
/* A keyframe with commands has closed. */
void kl_lobby_snapshot_closed(struct kl_lobby_room *r, uint32_t keyframe, uint64_t now_us);
/* STATE. Ignored unless it is of the ordered keyframe. */
void kl_lobby_snapshot_said(struct kl_lobby_room *r, unsigned member, const struct kl_state_said *w);
/* GIVE. False: it breaks the protocol. */
bool kl_lobby_snapshot_given(struct kl_lobby_room *r, unsigned member, const struct kl_shot_piece *p,
                             uint64_t now_us);
/* HEALED. False: of frames that this relay does not know; it is ignored. */
bool kl_lobby_snapshot_healed(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                              uint64_t now_us);
/* A client goes back to its own state, or to frame 0: it has no word on the snapshot that is under way. */
void kl_lobby_snapshot_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The member has left or lost its link. */
void kl_lobby_snapshot_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_snapshot_run(struct kl_lobby_room *r, uint64_t now_us);
/* Unpacks and checks received bytes, room by room, within the relay's time for it. NULL: no more now. A room:
 * its giver's bytes (shot.giver) do not match the giver's hash; put the giver out, and call again. */
struct kl_lobby_room *kl_lobby_snapshot_unpack(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_snapshot_due_us(const struct kl_lobby *l);
void kl_lobby_snapshot_free(struct kl_lobby_room *r);
#endif

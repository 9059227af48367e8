/* visitor_way.h - drives the way of a visitor, member or watcher, to the present of a game under way: from
 * the beginning, by history, by a snapshot, or back to an own state. room/way.h decides which.
 * net/PROTOCOL.md §7. Only inside net/relay.
 *
 * A function that returns a text puts nobody out: the caller puts the visitor out with that code and text,
 * which are valid until the next call. NULL: the visitor stays. */
#ifndef KL_VISITOR_WAY_H
#define KL_VISITOR_WAY_H

#include "net/relay/room/lobby_room.h"

/* The visitor gets the start data, and the snapshot is ordered that it may need once it has loaded. False:
 * there is no way to the present, and nothing has changed. */
bool kl_visitor_begin(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);
/* READY during the game: the visitor sets out. */
const struct kl_text *kl_visitor_ready(struct kl_lobby_room *r, struct kl_visitor *v,
                                       const struct kl_facts *f, uint64_t now_us);
/* A visitor that is loaded and has every frame below `have` sets out, now or when its way is known. */
const struct kl_text *kl_visitor_set_out(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t have,
                                         uint64_t now_us);
/* A member goes back to its own newest state up to this keyframe, and sets out from the keyframe. */
void kl_visitor_back(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t keyframe, uint64_t now_us);
/* A watcher that is out of sync gets the room's snapshot, otherwise the whole history. */
const struct kl_text *kl_visitor_heal(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);
/* HEALED. */
const struct kl_text *kl_visitor_loaded(struct kl_lobby_room *r, struct kl_visitor *v,
                                        const struct kl_healed *h, uint64_t now_us);
/* The game's beginning is kept (kl_lobby_way_has_beginning()), and a member runs it from frame 0. apart: the
 * member began with a snapshot, and was never in sync since. */
void kl_visitor_anew(struct kl_lobby_room *r, struct kl_visitor *v, bool apart, uint64_t now_us);
/* With each run of the game: looks again for the way of a visitor that waits, and at its progress. */
const struct kl_text *kl_visitor_way_run(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);

/* Finds the snapshots that watchers may see; to be called when their visible frames change. */
void kl_lobby_watch_shots(struct kl_lobby_room *r);
/* Drops the snapshots that are held for watchers. */
void kl_lobby_watch_drop_shots(struct kl_lobby_room *r);

#endif

/* lobby_heal.h - a machine comes to the game's state: snapshots, catching up, healing.
 * net/PROTOCOL.md §7. Only inside net/relay.
 *
 * lobby_snapshot.c   snapshots of a room: ordered, agreed on, given, kept, sent on
 * visitor_catchup.c  a visitor, member or watcher, catches up: room/catchup.h decides how
 * lobby_heal.c       members that are out of sync: by the others' state if a majority has one, by their own
 *                    states on a tie
 * heal_deed.c        what these members are ordered to do, and its end; what a tie is about, until a verifier
 *                    decides it
 * lobby_play_on.c    playing on though machines differ; the members that vote, and the hashes that count */
#ifndef KL_LOBBY_HEAL_H
#define KL_LOBBY_HEAL_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/record/klr_body.h"
#include "net/relay/room/lobby_room.h"

/* --- lobby_snapshot.c --- */

/* Orders a snapshot: all clients serialize at a keyframe to come. trusted: the clients whose hashes count; 0:
 * all players. In the end snapshot.kept is newer, or snapshot.failures has grown. False: not now (a snapshot
 * or a healing is under way), or never (snapshot.unfit). */
bool kl_lobby_snapshot_order(struct kl_lobby_room *r, uint16_t trusted, uint64_t now_us);
/* A keyframe with commands has closed. */
void kl_lobby_snapshot_closed(struct kl_lobby_room *r, uint32_t keyframe, uint64_t now_us);
/* STATE. Ignored unless it is of the ordered keyframe. */
void kl_lobby_snapshot_said(struct kl_lobby_room *r, unsigned member, const struct kl_state_said *w);
/* GIVE. False: it breaks the protocol. */
bool kl_lobby_snapshot_given(struct kl_lobby_room *r, unsigned member, const struct kl_snapshot_piece *p,
                             uint64_t now_us);
/* A client goes back to its own state, or to frame 0: it has no word on the snapshot that is under way. */
void kl_lobby_snapshot_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The member has left or lost its link. */
void kl_lobby_snapshot_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_snapshot_run(struct kl_lobby_room *r, uint64_t now_us);
/* Unpacks and checks received bytes, room by room, within the relay's time for it. NULL: no more now. A room:
 * its giver's bytes (snapshot.giver) do not match the giver's hash; put the giver out, and call again. */
struct kl_lobby_room *kl_lobby_snapshot_unpack(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_snapshot_due_us(const struct kl_lobby *l);
void kl_lobby_snapshot_free(struct kl_lobby_room *r);

/* --- visitor_catchup.c ---
 *
 * A function that returns a text puts nobody out: the caller puts the visitor out with that code and text,
 * which are valid until the next call. NULL: the visitor stays. */

/* The visitor gets the start data, and the snapshot is ordered that it may need once it has loaded. False:
 * the client cannot catch up, and nothing has changed. */
bool kl_visitor_begin(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);
/* READY during the game: the visitor sets out. */
const struct kl_text *kl_visitor_ready(struct kl_lobby_room *r, struct kl_visitor *v,
                                       const struct kl_facts *f, uint64_t now_us);
/* A visitor that is loaded and has every frame below `have` sets out, now or when it is known by what. */
const struct kl_text *kl_visitor_set_out(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t have,
                                         uint64_t now_us);
/* A member goes back to its own newest state up to this keyframe, and sets out from the keyframe. */
void kl_visitor_back(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t keyframe, uint64_t now_us);
/* A watcher that is out of sync gets the room's snapshot, otherwise the whole history. */
const struct kl_text *kl_visitor_heal(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);
/* HEALED. */
const struct kl_text *kl_visitor_loaded(struct kl_lobby_room *r, struct kl_visitor *v,
                                        const struct kl_healed *h, uint64_t now_us);
/* The game's beginning is kept (kl_lobby_catchup_has_beginning()), and a member runs it from frame 0. apart:
 * the member began with a snapshot, and was never in sync since. */
void kl_visitor_anew(struct kl_lobby_room *r, struct kl_visitor *v, bool apart, uint64_t now_us);
/* With each run of the game: looks again for a visitor that waits to catch up, and at its progress. */
const struct kl_text *kl_visitor_catchup_run(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);

/* Finds the snapshots that watchers may see; to be called when their visible frames change. */
void kl_lobby_watch_snapshots(struct kl_lobby_room *r);
/* Drops the snapshots that are held for watchers. */
void kl_lobby_watch_drop_snapshots(struct kl_lobby_room *r);

/* --- lobby_heal.c --- */

/* To be called before a verdict is sent: begins to heal, and fills in v->healed. */
void kl_lobby_heal_found(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us);
/* With each run of a room that plays. The caller carries the deeds out. */
struct kl_heal_deeds kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us);
/* policy: KL_DESYNC_*. who: the giver of the order, for the screens. False: the policy is the same, and what
 * has failed is not tried again: a minute has not passed since the last time. */
bool kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who, uint64_t now_us);

/* The verifier's hashes of the tie's label (r->heal.tie): if they differ still, those that said the same are
 * right, and the others get their state. Then r->heal.tie is NULL. Nothing while somebody is being healed. */
void kl_lobby_heal_answered(struct kl_lobby_room *r, const struct kl_klr_hash *found, uint64_t now_us);

/* --- heal_deed.c --- */

/* The tie that is decided by no verifier. */
void kl_heal_tie_end(struct kl_lobby_room *r);
/* For lobby_heal.c. A tie at r->heal.label: what each client said of it, in the place of the one before. */
void kl_heal_tie_keep(struct kl_lobby_room *r, uint64_t now_us);
/* The clients that said what the verifier found, in all parts that differ; and those that did not. Both
 * none if it found no such part. Of those that are still here. */
uint16_t kl_heal_tie_sides(const struct kl_lobby_room *r, const struct kl_klr_hash *found, uint16_t *wrong);
/* apart: their machines differ still. */
void kl_heal_tie_tell(struct kl_lobby_room *r, uint16_t right, uint16_t wrong, bool apart);

/* --- heal_deed.c --- */

/* HEALED: a member has loaded a state, or not. False: of frames that this relay does not know; it is
 * ignored. */
bool kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us);
void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us); /* or lost its link */

/* For lobby_heal.c. Those in the wrong are r->heal.wrong. */
/* They are offered the room's snapshot. */
void kl_heal_offer(struct kl_lobby_room *r, uint64_t now_us);
/* These members go back to their own states of the agreed keyframe. */
void kl_heal_go_back(struct kl_lobby_room *r, uint16_t members, uint64_t now_us);
/* True: these members' healings by own states have cost too much time. */
bool kl_heal_parts_often(const struct kl_lobby_room *r, uint16_t members, uint64_t now_us);
/* The member runs the game from frame 0. False: that is not kept, or has been tried too often. */
bool kl_heal_one_anew(struct kl_lobby_room *r, unsigned member);
/* All in the wrong do, since states do not help. False: not all of them can. */
bool kl_heal_all_anew(struct kl_lobby_room *r, const char *why);
/* Gives up members that did not load in time. */
void kl_heal_loading_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_heal_count(struct kl_lobby_room *r); /* a healing: the difference is over */
void kl_heal_stop(struct kl_lobby_room *r);  /* until the next hashes differ */
/* No state could be had: stops. After KL_STRIKES failures in a row the room rests. */
void kl_heal_failed(struct kl_lobby_room *r, const char *why, uint64_t now_us);
/* Stops for good, until the host says `desync heal' again or all are equal: the players decide. */
void kl_heal_no_more(struct kl_lobby_room *r, const char *why, uint64_t now_us);

/* --- playing on though machines differ: lobby_play_on.c --- */

/* After the last way of healing: the room pauses and asks its players, or plays on if they were asked lately.
 */
void kl_lobby_play_on_ask(struct kl_lobby_room *r, uint64_t now_us);
/* Tells a member that comes or is back what differs, and asks it if the room asks. */
void kl_lobby_play_on_tell(struct kl_lobby_room *r, unsigned member);
/* A member resumes the game: it agrees. The operator (KL_RELAY_CLIENT) decides alone. False: the room does
 * not ask. */
bool kl_lobby_play_on_agree(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The host has decided; why: for the log. Nothing happens if the room does not ask. */
void kl_lobby_play_on_end(struct kl_lobby_room *r, const char *why, uint64_t now_us);
void kl_lobby_play_on_left(struct kl_lobby_room *r, unsigned member); /* or lost its link */
void kl_lobby_play_on_run(struct kl_lobby_room *r, uint64_t now_us);
/* A difference is not healed: the verdict says so, and the log now and then. */
void kl_lobby_play_on_note(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us);

/* --- the members that vote, and the hashes that count: lobby_play_on.c --- */

/* kl_verdict_carries() in this room: members at one address share a home. host: the host's voice may
 * decide. */
bool kl_lobby_carries(const struct kl_lobby_room *r, bool host, uint16_t voters, uint16_t camp);
/* The members for the room's verdicts. */
struct kl_verdict_members kl_lobby_heal_members(const struct kl_lobby_room *r);
/* True while the member is out of sync. */
bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member);
/* True if the member has loaded a state. Its core may hold more than the state did, so its unequal states are
 * no desync. */
bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member);
/* False while this member's hash of that label is known to be wrong. */
bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label);

#endif

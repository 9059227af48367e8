/* lobby_heal.h - heals members that are out of sync: by the others' state if a majority has one, by their own
 * states on a tie. net/PROTOCOL.md §7, Healing. Only inside net/relay. */
#ifndef KL_LOBBY_HEAL_H
#define KL_LOBBY_HEAL_H

#include "net/engine/msg.h"
#include "net/relay/room/lobby_room.h"

/* To be called before a verdict is sent: begins to heal, and fills in v->healed. */
void kl_lobby_heal_found(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us);
/* With each run of a room that plays. The caller carries the deeds out. */
struct kl_heal_deeds kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us);
/* A member has loaded the state, or not. */
void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us);
void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us); /* or lost its link */
/* who: the giver of the order, for the screens. False: the policy is the same, and what has failed is not
 * tried again: a minute has not passed since the last time. */
bool kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who, uint64_t now_us);
const char *kl_lobby_desync_name(uint8_t policy);

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
/* The kind of a difference in plain words: of struct kl_verdict. */
const char *kl_lobby_heal_what(uint8_t parts);

/* --- the members that vote, and the hashes that count: lobby_play_on.c --- */

/* For kl_verdict_carries(): the same number for members at one address. */
void kl_lobby_heal_homes(const struct kl_lobby_room *r, uint8_t home[KL_MAX_CLIENTS]);
uint16_t kl_lobby_heal_host(const struct kl_lobby_room *r); /* its bit; 0: nobody */
/* The court for the room's verdicts. */
struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r);
/* True while the member is out of sync. */
bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member);
/* True if the member has loaded a state. Its core may hold more than the state did, so its unequal states are
 * no desync. */
bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member);
/* False while this member's hash of that label is known to be wrong. */
bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label);

#endif

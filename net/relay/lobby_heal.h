/* lobby_heal.h - who is out of sync, and what is done about it. net/PROTOCOL.md §7, Healing. Only inside
 * net/relay. */
#ifndef KL_LOBBY_HEAL_H
#define KL_LOBBY_HEAL_H

#include "../engine/msg.h"
#include "verdict.h"

#define KL_STRIKES 3 /* out of sync so often within a minute is too often */

struct kl_lobby_room;

/* Out of sync, and back. */
struct kl_lobby_heal {
    enum { KL_HEAL_NONE, KL_HEAL_FOUND, KL_HEAL_ORDERING, KL_HEAL_WAITING, KL_HEAL_LOADING } phase;
    uint64_t found_us, since_us;            /* the difference; the phase */
    uint32_t label;                         /* of the hashes that differ */
    uint16_t right, wrong, loading, healed; /* clients; wrong: their hashes do not count now */
    uint32_t failures, keyframe, bytes;     /* of snapshots, when ours was ordered; of ours */
    uint16_t count;                         /* times that it went well */
    bool hopeless,
        states_hopeless; /* it does not help: nothing is done any more; where states alone differ */
    bool paused;         /* for this difference, by the room's policy */
    bool judged;         /* the host has appointed one: */
    unsigned judge;
};

/* A verdict has been told. */
void kl_lobby_heal_found(struct kl_lobby_room *r, const struct kl_verdict *v, uint64_t now_us);
void kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us);
/* A member has loaded the snapshot, or not. */
void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m);
void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member); /* or its link is gone */
/* Who judges; reporting: bit per client whose hashes are expected. */
struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r, uint16_t reporting);
/* Whether this member's hash of that label is worth looking at: not while it is known to be wrong. */
bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label);
/* who: for the words on the screens. */
void kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who);
void kl_lobby_heal_judge(struct kl_lobby_room *r, unsigned member,
                         const char *who); /* KL_MAX_CLIENTS: nobody */
const char *kl_lobby_desync_name(uint8_t policy);

#endif

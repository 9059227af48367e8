/* lobby_heal.h - who is out of sync, and what is done about it. net/PROTOCOL.md §7, Healing. Only inside
 * net/relay. */
#ifndef KL_LOBBY_HEAL_H
#define KL_LOBBY_HEAL_H

#include "net/engine/msg.h"
#include "net/relay/verdict.h"

#define KL_STRIKES 3 /* out of sync so often within a minute is too often */
#define KL_SPARED  6 /* times in a row that it may lose its link before it is healed */

struct kl_lobby_room;

/* Out of sync, and back: from a difference to the snapshot that is offered. */
struct kl_lobby_heal {
    enum { KL_HEAL_NONE, KL_HEAL_FOUND, KL_HEAL_ORDERING, KL_HEAL_WAITING } phase;
    uint64_t found_us, since_us; /* the difference; the phase */
    uint32_t label;              /* of the hashes that differ */
    bool ram;                    /* … in more than states */
    uint16_t right, wrong;       /* clients; wrong: their hashes do not count now */
    uint32_t failures;           /* of snapshots, when ours was ordered */
    uint16_t count;              /* times that it went well */
    bool hopeless,
        states_hopeless; /* it does not help: nothing is done any more; where states alone differ */
    bool paused;         /* for this difference, by the room's policy */
    unsigned vain;       /* times in a row that there was no state to be had … */
    uint64_t again_us;   /* … and after some of them nothing is tried before then */
    bool any_apart;      /* others than newcomers were out of sync, last at this label: */
    uint32_t apart;
    bool left;   /* somebody has, since something differed */
    bool judged; /* the host has appointed one: */
    unsigned judge;
};

/* A member's part of it: from the offer on it holds nobody else's up. */
struct kl_lobby_healing {
    bool loads;        /* it has been offered the snapshot of this frame, and its hashes do not count … */
    uint32_t keyframe; /* … before it says that it is loaded, or */
    uint64_t by_us;    /* … it is given up */
    bool loaded;
    bool has_loaded;                    /* a state, since it last ran the game from the beginning */
    uint64_t found_us, since_us;        /* the difference; the offer */
    uint32_t label;                     /* of the hashes that differed */
    uint32_t from;                      /* hashes of before this frame are of before it was healed */
    uint8_t anew;                       /* times that it was sent through the whole game again instead */
    uint64_t strike_us[KL_STRIKES - 1]; /* when it was out of sync, newest first; 0: never */
    uint8_t spared;                     /* times that one was taken back, since it last was healed */
};

/* A verdict is about to be told; says in it how often the room was healed. */
void kl_lobby_heal_found(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us);
void kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us);
/* A member has loaded the snapshot, or not. */
void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us);
void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us); /* or its link is gone */
/* Who judges, and whose hashes are expected. */
struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r);
/* It is out of sync, and not back yet. */
bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member);
/* The member's core may keep more than the states from which it began or was healed: its unequal states are
 * no desync. */
bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member);
/* Whether this member's hash of that label is worth looking at: not while it is known to be wrong. */
bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label);
/* who: for the words on the screens. */
void kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who);
void kl_lobby_heal_judge(struct kl_lobby_room *r, unsigned member,
                         const char *who); /* KL_MAX_CLIENTS: nobody */
const char *kl_lobby_desync_name(uint8_t policy);

#endif

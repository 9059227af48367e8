/* lobby_heal.h - heals members that are out of sync: by the others' state if a majority has one, by their own
 * states on a tie. net/PROTOCOL.md §7, Healing. Only inside net/relay. */
#ifndef KL_LOBBY_HEAL_H
#define KL_LOBBY_HEAL_H

#include "net/engine/msg.h"
#include "net/relay/heal/verdict.h"

#define KL_STRIKES 3 /* desyncs within a minute that put a member out */
#define KL_SPARED  6 /* strikes in a row taken back because the link was lost before the healing */

struct kl_lobby_room;

/* The room's healing: from a difference to the offered snapshot, or to the order to go back. */
struct kl_lobby_heal {
    enum { KL_HEAL_NONE, KL_HEAL_FOUND, KL_HEAL_ORDERING, KL_HEAL_WAITING } phase;
    uint64_t found_us, since_us;    /* the difference; the phase */
    uint32_t label;                 /* of the hashes that differ */
    bool ram;                       /* not only their states differ */
    uint16_t right, wrong;          /* clients; hashes of `wrong` do not count now */
    uint32_t failures;              /* shot.failures when our snapshot was ordered */
    uint16_t count;                 /* successful healings */
    bool hopeless, states_hopeless; /* healing has proved useless: no more attempts; states_hopeless: if
                                       states alone differ */
    bool paused;                    /* for this difference, by the room's policy */
    unsigned vain;                  /* failed attempts in a row to get a state */
    uint64_t again_us;              /* no attempt before then; set after some failures */
    bool any_apart;                 /* members other than newcomers were out of sync, last at label `apart` */
    uint32_t apart;
    bool left;                       /* a member has left since the difference */
    uint32_t agreed;                 /* keyframe before which all machines were last equal; 0: none */
    uint16_t agreed_by;              /* clients: those machines; they have a state of it */
    uint32_t rewound;                /* keyframe to which machines went back last; 0: none did */
    bool began_anew;                 /* all in a tie have run the game from the beginning */
    uint64_t renewed_us;             /* the host last had all tried again; 0: never */
    uint64_t tie_us[KL_STRIKES - 1]; /* times of ties, newest first; 0: none */
};

/* A member's healing. From the offer or the order on it delays no other member's. */
struct kl_lobby_healing {
    bool loads;        /* it is to load a state; its hashes do not count until it has */
    bool own;          /* its own state; else an offered snapshot */
    uint32_t keyframe; /* of that state */
    uint64_t by_us;    /* deadline for loading it */
    bool loaded;
    bool has_loaded;                    /* it has loaded a state since it last ran the game from frame 0 */
    uint64_t found_us, since_us;        /* time of the difference; of the offer */
    uint32_t label;                     /* of the hashes that differed */
    uint32_t from;                      /* hashes of frames below are older than the healing */
    uint8_t anew;                       /* times that it replayed the whole game instead */
    uint64_t strike_us[KL_STRIKES - 1]; /* times of desyncs, newest first; 0: none */
    uint8_t spared;                     /* strikes taken back since the last healing */
};

/* To be called before a verdict is sent: begins to heal, and fills in v->healed. */
void kl_lobby_heal_found(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us);
void kl_lobby_heal_run(struct kl_lobby_room *r, uint64_t now_us);
/* A member has loaded the state, or not. */
void kl_lobby_heal_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *m,
                          uint64_t now_us);
void kl_lobby_heal_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us); /* or lost its link */
/* For kl_verdict_votes(): the same number for members at one address. */
void kl_lobby_heal_homes(const struct kl_lobby_room *r, uint8_t home[KL_MAX_CLIENTS]);
/* The court for the room's verdicts. */
struct kl_verdict_court kl_lobby_heal_court(const struct kl_lobby_room *r);
/* True while the member is out of sync. */
bool kl_lobby_heal_busy(const struct kl_lobby_room *r, unsigned member);
/* True if the member has loaded a state. Its core may hold more than the state did, so its unequal states are
 * no desync. */
bool kl_lobby_heal_has_loaded(const struct kl_lobby_room *r, unsigned member);
/* False while this member's hash of that label is known to be wrong. */
bool kl_lobby_heal_counts(const struct kl_lobby_room *r, unsigned member, uint32_t label);
/* who: the giver of the order, for the screens. False: the policy is the same, and what has failed is not
 * tried again: a minute has not passed since the last time. */
bool kl_lobby_heal_policy(struct kl_lobby_room *r, uint8_t policy, const char *who, uint64_t now_us);
const char *kl_lobby_desync_name(uint8_t policy);

#endif

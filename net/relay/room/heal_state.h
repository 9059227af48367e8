/* heal_state.h - how far the healing of a room and of each member is (net/relay/heal/lobby_heal.h). */
#ifndef KL_HEAL_STATE_H
#define KL_HEAL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/relay/room/verdict.h"

#define KL_STRIKES 3 /* desyncs within a minute that put a member out */
#define KL_SPARED  6 /* strikes in a row taken back because the link was lost before the healing */

/* The room's healing: from a difference between hashes to the offered snapshot, or to the order to go back.
 */
struct kl_lobby_heal {
    struct kl_verdict_table verdicts;
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

#endif

/* heal_state.h - the snapshots that a room holds (net/relay/heal/lobby_snapshot.c has them made), and how far
 * the healing of the room and of each member is (net/relay/heal/lobby_heal.h). */
#ifndef KL_HEAL_STATE_H
#define KL_HEAL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/relay/room/verdict.h"

#define KL_SNAPSHOT_BYTES_TOTAL (512U * 1024 * 1024) /* of all rooms together */

struct kl_lobby_room;
struct kl_unpack;

/* A snapshot, packed by zstd. It lives until its last user drops it. */
struct kl_lobby_packed {
    unsigned refs;
    uint32_t len, have; /* have: bytes received */
    bool good, failed;  /* good: hash verified. failed: upload abandoned; fetchers must restart */
    uint32_t keyframe, interval, bytes; /* the frame that runs next; its interval; length unpacked */
    uint8_t hash[KL_SNAPSHOT_HASH];
    uint8_t digest[KL_DIGEST_BYTES]; /* of the frames before (net/session/digest.h) */
    uint8_t packed[];
};

/* A snapshot on its way to a member or watcher; all zero: none. */
struct kl_lobby_fetch {
    struct kl_lobby_packed *snapshot;
    uint32_t sent;
};

/* The room's newest snapshot, and the one under way. */
struct kl_lobby_snapshot {
    enum { KL_SNAPSHOT_NONE, KL_SNAPSHOT_ORDERED, KL_SNAPSHOT_HASHING, KL_SNAPSHOT_GIVING } phase;
    uint64_t since_us, heard_us; /* begin of this phase; last piece of the giver */
    uint64_t wish_us;
    uint16_t trusted; /* clients whose hashes count, for healing; 0: all players */
    uint32_t keyframe, interval;
    uint8_t digest[KL_DIGEST_BYTES];
    uint16_t said, has, agreed, failed,
        too_large; /* clients; failed: could not give it; too_large: by their own report */
    uint16_t anew; /* clients that run the keyframe again, and may then have another state than they said */
    struct kl_state_said word[KL_MAX_CLIENTS], wanted;
    unsigned giver;
    uint32_t have;                         /* bytes received of the upload */
    struct kl_lobby_packed *coming, *kept; /* NULL: none */
    uint64_t bytes;                        /* of all this room's snapshots */
    struct kl_unpack *unpack;              /* of coming */
    bool packed_waits;                     /* `coming` waits for its turn to be unpacked */
    bool whole;                            /* ask for no difference: one has failed */
    struct kl_lobby_packed *made;          /* of slices in `coming` against `kept`; NULL: `coming` is whole */
    uint32_t failures;                     /* failed orders */
    unsigned in_a_row;                     /* failed orders in a row */
    unsigned begins_apart;                 /* newcomers that began with a snapshot and were not in sync */
    const char *failed_why;                /* the newest failure's, for people */
    uint64_t failed_us;
    bool apart;      /* the newest order failed because the asked clients' states differ */
    bool unfit;      /* the core gives no state, or one too large: no more orders */
    bool told_apart; /* the room was told that the states differ */
};

#define KL_STRIKES 3 /* desyncs within a minute that put a member out */
#define KL_SPARED  6 /* strikes in a row taken back because the link was lost before the healing */

/* Playing on though machines differ, after the last way of healing (net/relay/heal/lobby_play_on.c). */
struct kl_lobby_play_on {
    uint64_t until_us; /* the room pauses, and asks its players, until then; 0: it does not ask */
    uint64_t asked_us; /* of the last question; 0: never */
    uint64_t noted_us; /* last log line of a difference that is not healed */
    uint16_t agreed;   /* clients that have said so, to this question */
    uint16_t between;  /* clients whose machines differ: from each other, or from all others */
    bool tied;         /* their machines differ from each other */
};

/* A tie that a verifier beside the relay may decide (net/relay/heal/heal_deed.c). */
struct kl_lobby_tie {
    uint32_t label;                  /* of the hashes that differ */
    uint8_t parts;                   /* KL_HASH_…: those that do */
    uint16_t reported;               /* clients */
    uint32_t joined[KL_MAX_CLIENTS]; /* theirs then: another may come to a place */
    struct kl_hash said[KL_MAX_CLIENTS];
    uint64_t until_us; /* for an answer */
    bool asked;        /* the verifier is, or was */
    bool told;         /* the players know that */
};

/* The lobby's part in a healing. Each member stands in at most one of the masks. */
struct kl_heal_deeds {
    uint16_t put_out; /* clients to be put out, with KL_REFUSE_DESYNC and the text */
    uint16_t apart;   /* clients to run the game from frame 0, since states of this core are incomplete */
    uint16_t anew;    /* clients to run the game from frame 0 */
    const char *text;
};

/* The room's healing: from a difference between hashes to the offered snapshot, or to the order to go back.
 */
struct kl_lobby_heal {
    struct kl_verdict_table verdicts;
    enum { KL_HEAL_NONE, KL_HEAL_FOUND, KL_HEAL_ORDERING, KL_HEAL_WAITING } phase;
    uint64_t found_us, since_us; /* the difference; the phase */
    uint32_t label;              /* of the hashes that differ */
    bool ram;                    /* as in struct kl_verdict_camps */
    uint16_t right, wrong;       /* clients; hashes of `wrong` do not count now */
    uint32_t failures;           /* snapshot.failures when our snapshot was ordered */
    uint16_t count;              /* successful healings */
    bool hopeless;               /* healing has proved useless: no more attempts */
    bool paused;                 /* for this difference, by the room's policy */
    unsigned vain;               /* failed attempts in a row to get a state */
    uint64_t again_us;           /* no attempt before then; set after some failures */
    bool any_apart;              /* members other than newcomers were out of sync, last at label `apart` */
    uint32_t apart;
    uint32_t agreed;          /* keyframe before which all machines were last equal; 0: none */
    uint16_t agreed_by;       /* clients: those machines; they have a state of it */
    uint32_t rewound;         /* keyframe to which machines went back last; 0: none did */
    bool began_anew;          /* all in a tie have run the game from the beginning */
    uint64_t renewed_us;      /* the host last had all tried again; 0: never */
    uint8_t parts;            /* of the verdict on `label` */
    struct kl_lobby_tie *tie; /* heap; NULL: none is open */
    struct kl_lobby_play_on play_on;
    struct kl_heal_deeds deeds; /* not handed to the lobby yet */
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

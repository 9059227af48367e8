/* engine.h - constants, errors and units of the whole lock engine.
 *
 * The engine is pure: no clock, socket, thread, file or heap. Time comes in as an argument, packets go out as
 * bytes. `make purity` checks it with nm. net/PROTOCOL.md describes bytes and states.
 *
 * Units: *_us are microseconds of the caller's monotonic clock; frames, samples and keyframes count from 0;
 * *_uhz are millionths of a hertz. */
#ifndef KL_ENGINE_H
#define KL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_VERSION "0.1" /* of all programs */

#define KL_PROTOCOL_VERSION 6
#define KL_PROTOCOL_FIRST   5 /* nobody serves an earlier one */
/* A relay serves its own version and the one before it, from the first one's on. net/PROTOCOL.md §9,
 * Versions, says where the differences of a version go. */
static inline bool kl_protocol_serves(unsigned relay, unsigned client) {
    return client == relay || (client + 1 == relay && client >= KL_PROTOCOL_FIRST);
}
/* The end of a refusal: the remedy of a client of that version. */
static inline const char *kl_protocol_remedy(unsigned clients, unsigned relays) {
    return clients < relays ? "update Keylock" : "the relay must be updated";
}

#define KL_MAX_SEATS         8  /* player slots of a room */
#define KL_MAX_CLIENTS       16 /* clients of a room's game */
#define KL_WATCH_DELAY_MAX_S 300
#define KL_WATCHER           0xff     /* in place of a client's number: it watches from outside the game */
#define KL_FPS_MIN           1000000u /* millionths of a hertz */
#define KL_FPS_MAX           1000000000u
#define KL_SPACING_MIN       1   /* frames */
#define KL_SPACING_MAX       30  /* frames */
#define KL_LEAD_MAX_USUAL    12  /* frames: what links of RTT 150 ms with jitter need at 60 fps */
#define KL_WINDOW_FRAMES     256 /* limit of samples under way and of frames in one datagram */
#define KL_KEPT_FRAMES                                                                                       \
    1024 /* closed frames a room keeps for a client that has not acknowledged them: 17 s at 60 fps */
#define KL_DATAGRAM_MAX                                                                                      \
    1200               /* bytes of a datagram's body; with all headers below the IPv6 minimum MTU of 1280 */
#define KL_BURST_MAX 4 /* datagrams in a row for one receiver, if one cannot hold all that is due */

/* Results: 0 or more is success; a negative value leaves the object unchanged. */
enum {
    KL_OK = 0,
    KL_E_MALFORMED = -1, /* PROTOCOL.md does not allow these bytes */
    KL_E_VERSION = -2,   /* the peer speaks another protocol version */
    KL_E_WINDOW = -3,    /* the peer is further ahead or behind than KL_WINDOW_FRAMES */
    KL_E_FULL = -4,      /* a bounded table is full */
    KL_E_STATE = -5,     /* not possible in this state */
    KL_E_SPACE = -6,     /* the caller's buffer is too small */
};

/* The policy decides when a frame closes, and the input of a seat without samples (docs/design.md §3).
 * strict: when every seat's samples are in, however long that takes. bounded: the same, but a seat becomes
 * absent (neutral, not waited for) after the wait budget, until its client reports that it has caught up.
 * optimistic: by the clock alone; a seat without news keeps its last input, and becomes absent after the wait
 * budget. */
enum kl_policy { KL_POLICY_STRICT = 0, KL_POLICY_BOUNDED = 1, KL_POLICY_OPTIMISTIC = 2 };

/* The relay's action after a desync: heal (clients in the wrong get the state of those in the right), pause
 * the room, or only report it. */
enum kl_desync_policy { KL_DESYNC_HEAL = 0, KL_DESYNC_PAUSE = 1, KL_DESYNC_IGNORE = 2 };

/* The room's parameters, chosen by the client that makes the room. */
struct kl_params {
    uint8_t policy;        /* enum kl_policy */
    bool subframes;        /* true: one sample a frame; false: one sample a keyframe, held for the interval */
    bool clocked;          /* false: no schedule, as fast as the clients run (--speed max) */
    uint8_t players;       /* the lock starts when this many seats are filled, 1..KL_MAX_SEATS */
    uint8_t spacing_fixed; /* frames; 0: the spacing follows the link */
    uint8_t lead_max; /* frames, up to KL_SPACING_MAX: a spacing that follows the link is no longer, but in
                         strict rooms, which wait for everybody; 0: no limit */
    uint16_t wait_budget_ms; /* the wait budget; unused in strict rooms */
    uint16_t hash_every;     /* frames between marked keyframes, rounded up to keyframes; 0: never */
    uint32_t fps_uhz;        /* the core's frame rate, 1,000,000..1,000,000,000 */
    bool half_steps;         /* unacknowledged data is repeated half a frame later, too */
    bool economy;            /* fewer datagrams for a longer lead: kl_group_frames() */
    uint8_t desync;          /* enum kl_desync_policy */
};

/* Samples, and closed frames, that go in one datagram: one; in an economy room as many as make no more than
 * KL_ECONOMY_RATE groups a second. A group ends with a number before a multiple of this, so all clients send
 * at the same time of the schedule, and frames close in groups too. Without a clock, or a sample a frame,
 * there are no groups. */
#define KL_ECONOMY_RATE 40 /* a second */
#define KL_GROUP_MAX    4  /* frames: what the lead may grow by is limited */
static inline unsigned kl_group_frames(const struct kl_params *p) {
    if (!p->economy || !p->clocked || !p->subframes) return 1;
    unsigned rate_uhz = KL_ECONOMY_RATE * 1000000u;
    unsigned frames = (unsigned)((p->fps_uhz + (uint64_t)rate_uhz - 1) / rate_uhz);
    return frames < KL_GROUP_MAX ? frames : KL_GROUP_MAX;
}

/* --- sets of clients --- */

/* A set of a room's clients: a bit for each. */

static inline uint16_t kl_only(unsigned client) {
    return (uint16_t)(1U << client);
}
static inline bool kl_has(uint16_t set, unsigned client) {
    return set >> client & 1;
}
static inline unsigned kl_size(uint16_t set) {
    return (unsigned)__builtin_popcount(set);
}
static inline unsigned kl_first(uint16_t set) { /* KL_MAX_CLIENTS: it is empty */
    return set ? (unsigned)__builtin_ctz(set) : KL_MAX_CLIENTS;
}

/* for (KL_EACH(i, set)): its clients in their order. The set is looked at anew for each. */
#define KL_EACH(i, set) KL_EACH_FROM(i, (unsigned)(set))
#define KL_EACH_FROM(i, set)                                                                                 \
    unsigned i = kl_first((uint16_t)(set));                                                                  \
    i < KL_MAX_CLIENTS;                                                                                      \
    i = kl_first((uint16_t)((set) >> (i + 1) << (i + 1)))

#endif

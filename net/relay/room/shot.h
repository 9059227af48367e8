/* shot.h - the snapshots that a room holds, and their way to clients. net/relay/heal/lobby_snapshot.h has
 * them made. */
#ifndef KL_SHOT_H
#define KL_SHOT_H

#include "net/engine/msg.h"

#define KL_SNAPSHOT_BYTES_TOTAL (512U * 1024 * 1024) /* of all rooms together */

struct kl_lobby_room;
struct kl_rebase;
struct kl_unpack;

/* A snapshot, packed by zstd. It lives until its last user drops it. */
struct kl_lobby_packed {
    unsigned refs;
    uint32_t len, have; /* have: bytes received */
    bool good, failed;  /* good: hash verified. failed: upload abandoned; fetchers must restart */
    uint32_t keyframe, interval, bytes; /* the frame that runs next; its interval; length unpacked */
    uint8_t hash[KL_SNAPSHOT_HASH];
    uint8_t packed[];
};

/* A snapshot on its way to a member or watcher; all zero: none. */
struct kl_lobby_fetch {
    struct kl_lobby_packed *shot;
    uint32_t sent;
};

/* The room's newest snapshot, and the one under way. */
struct kl_lobby_shot {
    enum { KL_SHOT_NONE, KL_SHOT_ORDERED, KL_SHOT_HASHING, KL_SHOT_GIVING } phase;
    uint64_t since_us, heard_us; /* begin of this phase; last piece of the giver */
    uint64_t wish_us;
    uint16_t trusted; /* clients whose hashes count, for healing; 0: all players */
    uint32_t keyframe, interval;
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
    bool whole;                            /* ask for no difference: rebasing has failed */
    struct kl_lobby_packed *slices, *made; /* the uploaded slices against `kept`; the rebased snapshot */
    struct kl_rebase *rebase;              /* the rebasing; NULL: `coming` is whole, or nothing comes */
    uint32_t failures;                     /* failed orders */
    unsigned in_a_row;                     /* failed orders in a row */
    unsigned begins_apart;                 /* newcomers that began with a snapshot and were not in sync */
    uint64_t failed_us;
    bool apart;      /* the newest order failed because the asked clients' states differ */
    bool unfit;      /* the core gives no state, or one too large: no more orders */
    bool told_apart; /* the room was told that the states differ */
};

/* --- lobby_fetch.c --- */
/* Drops one reference and sets *at to NULL. */
void kl_lobby_packed_drop(struct kl_lobby_room *r, struct kl_lobby_packed **at);
/* Offers the kept snapshot to this member, which reruns its frames from there on. False: there is no snapshot
 * or no such member. */
bool kl_lobby_snapshot_offer(struct kl_lobby_room *r, unsigned member);
/* Offers the kept or the coming snapshot to any peer; its last bytes go out once its hash is verified. begin:
 * the peer begins there, and the caller sends history from its keyframe on (as bulk). Replaces the snapshot
 * on its way to the peer. */
bool kl_lobby_fetch_begin(struct kl_lobby_room *r, struct kl_lobby_fetch *f, struct kl_lobby_packed *k,
                          unsigned peer, bool begin);
/* Sends as many pieces as may go now; true if there are more. */
bool kl_lobby_fetch_run(struct kl_lobby_room *r, struct kl_lobby_fetch *f, unsigned peer);
void kl_lobby_fetch_end(struct kl_lobby_room *r, struct kl_lobby_fetch *f); /* harmless twice */
/* Drops the snapshots that are held for watchers. */
void kl_lobby_watch_drop_shots(struct kl_lobby_room *r);

#endif

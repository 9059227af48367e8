/* lobby_snapshot.h - snapshots of a room: ordered, agreed on, given, kept, sent on. net/PROTOCOL.md §7,
 * Snapshots. Only inside net/relay. */
#ifndef KL_LOBBY_SNAPSHOT_H
#define KL_LOBBY_SNAPSHOT_H

#include "net/engine/msg.h"
#include "net/relay/heal/rebase.h"
#include "net/relay/heal/unpack.h"

#define KL_SNAPSHOT_BYTES_TOTAL (512U * 1024 * 1024) /* of all rooms together */

struct kl_lobby;
struct kl_lobby_room;

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

/* Orders a snapshot: all clients serialize at a keyframe to come. trusted: the clients whose hashes count; 0:
 * all players. In the end shot.kept is newer, or shot.failures has grown. False: not now (a snapshot or a
 * healing is under way), or never (shot.unfit). */
bool kl_lobby_snapshot_order(struct kl_lobby_room *r, uint16_t trusted, uint64_t now_us);
/* A keyframe with commands has closed. */
void kl_lobby_snapshot_closed(struct kl_lobby_room *r, uint32_t keyframe, uint64_t now_us);
/* STATE. Ignored unless it is of the ordered keyframe. */
void kl_lobby_snapshot_said(struct kl_lobby_room *r, unsigned member, const struct kl_state_said *w);
/* GIVE. False: it breaks the protocol. */
bool kl_lobby_snapshot_given(struct kl_lobby_room *r, unsigned member, const struct kl_shot_piece *p,
                             uint64_t now_us);
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
/* HEALED. Ignored for frames that this relay does not know. */
void kl_lobby_snapshot_healed(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                              uint64_t now_us);
/* The member has left or lost its link. */
/* A client goes back to its own state, or to frame 0: it has no word on the snapshot that is under way. */
void kl_lobby_snapshot_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_snapshot_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_snapshot_run(struct kl_lobby_room *r, uint64_t now_us);
/* Unpacks and checks received bytes, room by room, within the relay's time for it. */
void kl_lobby_snapshot_unpack(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_snapshot_due_us(const struct kl_lobby *l);
void kl_lobby_snapshot_free(struct kl_lobby_room *r);
/* True if a snapshot and all frames since are kept. */
bool kl_lobby_snapshot_reaches(const struct kl_lobby_room *r);
/* True if the member has a seat and frames wait for its samples. */
bool kl_lobby_plays_now(const struct kl_lobby_room *r, unsigned member);

#endif

/* lobby_snapshot.h - states that a room has agreed on: ordered, said, given, kept, sent on. net/PROTOCOL.md
 * §7, Snapshots. Only inside net/relay. */
#ifndef KL_LOBBY_SNAPSHOT_H
#define KL_LOBBY_SNAPSHOT_H

#include "net/engine/msg.h"
#include "net/relay/rebase.h"
#include "net/relay/unpack.h"

#define KL_SNAPSHOT_BYTES_TOTAL (512U * 1024 * 1024) /* of all rooms together */

struct kl_lobby;
struct kl_lobby_room;

/* A snapshot as it travels, packed by zstd; it lives as long as somebody fetches it. */
struct kl_lobby_packed {
    unsigned refs;
    uint32_t len, have; /* have: bytes of it that are here */
    bool good, failed;  /* it is what the room agreed on; it will never be: who fetches it needs another */
    uint32_t keyframe, interval, bytes; /* before which frame, of which interval; unpacked */
    uint8_t hash[KL_SNAPSHOT_HASH];
    uint8_t packed[];
};

/* One of them on its way to somebody, member or not; all zero: none. */
struct kl_lobby_fetch {
    struct kl_lobby_packed *shot;
    uint32_t sent;
};

/* The newest one that was agreed on, and the one under way. */
struct kl_lobby_shot {
    enum { KL_SHOT_NONE, KL_SHOT_ORDERED, KL_SHOT_HASHING, KL_SHOT_GIVING } phase;
    uint64_t since_us, heard_us; /* in this phase; of the giver */
    uint64_t wish_us;
    uint16_t trusted; /* clients whose word counts, to heal others; 0: all who play */
    uint32_t keyframe, interval;
    uint16_t said, has, agreed, failed, too_large; /* clients; failed: to give it; too large as they say */
    struct kl_state_said word[KL_MAX_CLIENTS], wanted;
    unsigned giver;
    uint32_t have;                         /* bytes of what is coming */
    struct kl_lobby_packed *coming, *kept; /* NULL: none */
    uint64_t bytes;                        /* of all that live */
    struct kl_unpack *unpack;              /* of coming */
    bool packed_waits;                     /* for its turn to be unpacked */
    bool whole;                            /* nothing against a base: it did not go well */
    struct kl_lobby_packed *slices, *made; /* what is given against the one kept; what comes of it */
    struct kl_rebase *rebase;              /* … and how; NULL: coming is whole, or nothing comes */
    uint32_t failures;                     /* orders that came to nothing … */
    unsigned in_a_row;                     /* … since one did not */
    unsigned untrue;                       /* newcomers who began with one and were not in sync */
    uint64_t failed_us;
    bool apart;      /* the newest one did not, for those who were asked have different states */
    bool unfit;      /* this core gives no state, or one too large: none is ordered any more */
    bool told_apart; /* that the machines' states are not the same */
};

/* Has everybody serialize at a keyframe to come. trusted: the clients who say what is right; 0: all who play.
 * What comes of it: shot.kept is newer, or shot.failures has grown. False: not now (one is under way, or
 * somebody is being healed, which goes first), or never (shot.unfit). */
bool kl_lobby_snapshot_order(struct kl_lobby_room *r, uint16_t trusted, uint64_t now_us);
/* A keyframe with commands has closed. */
void kl_lobby_snapshot_closed(struct kl_lobby_room *r, uint32_t keyframe, uint64_t now_us);
/* STATE. What is of another frame than the one that is asked for says nothing: nor does one of a frame that
 * this relay does not know, and another before it did. */
void kl_lobby_snapshot_said(struct kl_lobby_room *r, unsigned member, const struct kl_state_said *w);
/* GIVE. False: it breaks the protocol. */
bool kl_lobby_snapshot_given(struct kl_lobby_room *r, unsigned member, const struct kl_shot_piece *p,
                             uint64_t now_us);
/* One less who needs it; *at is NULL then. */
void kl_lobby_packed_drop(struct kl_lobby_room *r, struct kl_lobby_packed **at);
/* Sends the one that is kept to this member, who runs again what he has run since. False: there is none, or
 * nobody. */
bool kl_lobby_snapshot_offer(struct kl_lobby_room *r, unsigned member);
/* The same to any peer, of the one that is kept, or still coming: its last bytes go when it has proved good.
 * begin: he begins there, and needs history from its keyframe on, which is to be sent
 * from now on (as bulk). What was on its way to him is no more. */
bool kl_lobby_fetch_begin(struct kl_lobby_room *r, struct kl_lobby_fetch *f, struct kl_lobby_packed *k,
                          unsigned peer, bool begin);
/* Sends as much of it as may go now; true where there is more. */
bool kl_lobby_fetch_run(struct kl_lobby_room *r, struct kl_lobby_fetch *f, unsigned peer);
void kl_lobby_fetch_end(struct kl_lobby_room *r, struct kl_lobby_fetch *f); /* harmless twice */
/* HEALED. The same of a frame that this relay does not know. */
void kl_lobby_snapshot_healed(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                              uint64_t now_us);
/* Its link is gone, or it is. */
void kl_lobby_snapshot_left(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_snapshot_run(struct kl_lobby_room *r, uint64_t now_us);
/* What has come is looked at, room by room, as far as the relay's time for it goes. */
void kl_lobby_snapshot_unpack(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_snapshot_due_us(const struct kl_lobby *l);
void kl_lobby_snapshot_free(struct kl_lobby_room *r);
/* There is one, and all frames since are kept. */
bool kl_lobby_snapshot_reaches(const struct kl_lobby_room *r);
/* It has a seat, and frames wait for its samples. */
bool kl_lobby_plays_now(const struct kl_lobby_room *r, unsigned member);

#endif

/* catchup.h - how a client catches up with a game under way. net/ROOMS.md §7, Catching up.
 *
 * The decision is pure: facts come in as plain numbers, the decision goes out. heal/visitor_catchup.c carries
 * it out. Members and watchers use the same decision and the same steps. They differ in their facts:
 *
 *     present   members: the newest closed frame; watchers: the newest that the delay allows
 *     snapshot  members: the one that the room keeps, or the one that is coming up; watchers: the newest
 *               that the delay allows
 *
 *     set out -> WAITS -> by history                     -> GOES
 *                      -> by a snapshot -> LOADS, HEALED -> GOES
 *     BACK (to an own state that the record covers), HEALED -> set out
 *
 * Frames count from 0; *_us are the relay's monotonic microseconds. */
#ifndef KL_CATCHUP_H
#define KL_CATCHUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"

enum kl_catchup_by {
    KL_CATCHUP_NONE,     /* it cannot catch up */
    KL_CATCHUP_HISTORY,  /* all frames from `have` on */
    KL_CATCHUP_SNAPSHOT, /* the snapshot at hand, and the frames from its keyframe on */
    KL_CATCHUP_COMING,   /* the snapshot that is coming up, and the frames from its keyframe on */
    KL_CATCHUP_ORDER     /* a snapshot must be ordered, or waited for; ask again later */
};

struct kl_catchup_facts {
    uint32_t end;   /* the present: the client may see all frames below */
    uint32_t have;  /* the client has all frames below; 0: not even the start data */
    uint32_t limit; /* frames that a client may always replay */
    uint32_t made;  /* a snapshot of this frame or later was made for this client; 0: none was */
    bool start;     /* the relay keeps the start data */
    bool history;   /* the relay keeps all frames from `have` on, and they can help */
    bool snapshot;  /* a snapshot is at hand, of `keyframe` <= end */
    uint32_t keyframe;
    bool coming;          /* a newer snapshot is coming up, and may be sent on at once */
    bool another;         /* a newer snapshot is coming up or can be ordered */
    uint32_t another_end; /* the `end` at which that one may be seen; at least end */
    bool stuck;           /* the client has waited for long, and no snapshot comes */
};

/* A past that can be replayed within the limit is replayed, since that avoids every trap of loading a state.
 * The next best is a recent snapshot, then a newer one, if it comes sooner than the frames are replayed. */
enum kl_catchup_by kl_catchup_choose(const struct kl_catchup_facts *f);

/* Frames that a client replays in `seconds`. fps: as measured, or 0: unknown; room_uhz: the room's, in
 * microhertz. */
uint32_t kl_catchup_limit(double fps, uint32_t room_uhz, unsigned seconds);

/* One client that catches up. All zero: it does not. */
struct kl_catchup {
    enum { KL_CATCHUP_GOES, KL_CATCHUP_WAITS, KL_CATCHUP_LOADS, KL_CATCHUP_BACK } step;
    bool watches;        /* the client is a watcher */
    bool no_states;      /* the client cannot use snapshots */
    bool heals;          /* the client was in the game and is out of sync; it keeps its frames */
    bool unproved;       /* the client loaded a snapshot, and was not found in sync since */
    bool offered;        /* a snapshot was offered since the start data: older frames are gone */
    uint32_t have;       /* the client has all frames below */
    uint32_t made;       /* the room's frame when the client set out or came */
    uint32_t begins;     /* keyframe at which the client's frames begin; 0: at frame 0 */
    uint32_t keyframe;   /* of the snapshot that the client loads, or the frame it goes back to */
    uint32_t failures;   /* of the room's snapshots, when the client set out */
    double fps;          /* that the client replays; 0: unknown */
    uint64_t since_us;   /* the client waits since then */
    uint64_t load_by_us; /* the client must have loaded, or be back, by then */
};

/* From now on the client waits to catch up. */
void kl_catchup_set_out(struct kl_catchup *t, uint64_t now_us);
/* True: the client has waited for long. comes: a snapshot comes, so waiting goes on. */
bool kl_catchup_is_stuck(const struct kl_catchup *t, bool comes, uint64_t now_us);
/* The client goes on by history. */
void kl_catchup_go(struct kl_catchup *t);
/* The client is offered a snapshot of so many packed bytes. */
void kl_catchup_load(struct kl_catchup *t, uint32_t keyframe, uint32_t packed, uint64_t now_us);
/* The client goes back to its own newest state up to this keyframe. It runs the frames from there again. */
void kl_catchup_back(struct kl_catchup *t, uint32_t keyframe, uint64_t now_us);
/* True: the snapshot was not loaded, or the client is not back, in time. A client that heals has its frames,
 * and is not timed. */
bool kl_catchup_is_late(const struct kl_catchup *t, uint64_t now_us);
/* HEALED. */
enum kl_catchup_loaded {
    KL_CATCHUP_LOADED_NOTHING, /* not a snapshot that this client was offered: nothing has changed */
    KL_CATCHUP_LOADED,         /* the client goes on */
    KL_CATCHUP_NOT_LOADED,     /* the client could not load it, and can use no snapshots */
    KL_CATCHUP_IS_BACK,        /* the client has all frames below `keyframe` */
    KL_CATCHUP_NOT_BACK        /* the client has no such state */
} kl_catchup_loaded(struct kl_catchup *t, const struct kl_healed *h);

/* --- of a room that plays --- */

struct kl_lobby_room;
struct kl_lobby_packed;

/* The facts of the client of `t`, but for `stuck`. */
struct kl_catchup_facts kl_lobby_catchup_facts(const struct kl_lobby_room *r, const struct kl_catchup *t);
/* The decision by these facts. KL_CATCHUP_ORDER: ask again once snapshot.kept is newer, or snapshot.failures
 * has grown. */
enum kl_catchup_by kl_lobby_catchup_by(const struct kl_lobby_room *r, const struct kl_catchup *t);
/* The snapshot of KL_CATCHUP_SNAPSHOT or KL_CATCHUP_COMING. */
struct kl_lobby_packed *kl_lobby_catchup_snapshot(const struct kl_lobby_room *r, const struct kl_catchup *t,
                                                  enum kl_catchup_by by);
/* True if snapshots of this room are possible. */
bool kl_lobby_catchup_has_states(const struct kl_lobby_room *r);
/* True if the game can be run from frame 0: start data and all frames are kept. */
bool kl_lobby_catchup_has_beginning(const struct kl_lobby_room *r);
/* True: a member without history cannot be brought up to date. consents: it loads others' states. why: the
 * text for such a member, in any case. */
bool kl_lobby_catchup_closed(const struct kl_lobby_room *r, bool consents, char *why, size_t cap);

#endif

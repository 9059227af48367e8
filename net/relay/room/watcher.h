/* watcher.h - a room's watchers (net/relay/watch/lobby_watch.h). */
#ifndef KL_WATCHER_H
#define KL_WATCHER_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/relay/log/lobby_limit.h"
#include "net/relay/room/shot.h"
#include "net/relay/room/way.h"

/* Places that a room has for cuts, at most eleven a second, and for the labels of the delay and two minutes.
 */
#define KL_WATCH_CUTS(delay_s) (11 * (delay_s) + 4)
#define KL_WATCH_TRUTHS_LEAST  64
#define KL_WATCH_TRUTHS_MOST   512
#define KL_WATCH_TRUTHS_S      120
#define KL_WATCH_NOTICES       8
#define KL_WATCH_HASHES        4 /* of one watcher, waiting for the game's */

/* The wait for a seat of a watcher, or of a client without seats. */
struct kl_lobby_turn {
    uint32_t number;   /* of its place in the queue, the lowest is first; 0: it does not wait */
    uint64_t until_us; /* a seat is offered to it until then; 0: none is */
};

struct kl_lobby_watcher {
    unsigned peer, place; /* at[place] of its room */
    char name[KL_NAME_MAX];
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    uint8_t state;        /* enum kl_member_state, but for GONE and AWAY; READY: its way is undecided */
    uint64_t since_us;    /* it came, or began anew */
    uint32_t sent;        /* bytes of start data sent */
    bool fetched;         /* all start data is sent and acknowledged */
    uint64_t deadline_us; /* for more acknowledged start data, or for loading */
    uint32_t next;        /* frames below are sent */
    uint32_t acked, ran;  /* as it reported */
    bool caught_up;
    bool heard;
    uint32_t stamp; /* its newest time stamp */
    uint64_t heard_at_us;
    uint64_t update_us;       /* time of its last UPDATE */
    uint32_t batch;           /* batch of its last UPDATE */
    uint32_t roster, notices; /* rosters and notices below are sent */
    unsigned malformed;
    struct kl_lobby_turn turn;
    uint64_t owed; /* bytes (lobby_cost.h) */
    struct kl_bucket chat, commands, dropped;
    struct kl_hash hash[KL_WATCH_HASHES];
    unsigned hashes, strikes;
    uint64_t strike_us, verdict_us; /* the last ones */
    bool equal;                     /* its hashes are equal, and its verdict is not sent yet */
    uint32_t equal_frame;           /* newest equal label */
    uint64_t equal_us;              /* time of that comparison */
    bool parted;                    /* it differs, in a room that does not heal */
    uint32_t parted_frame;          /* first label that differs */
    uint16_t healed;                /* times that it was healed */
    uint32_t healed_from;           /* hashes of frames below are older than the healing */
    struct kl_lobby_fetch fetch;
    struct kl_way_trip way;
};

/* Messages and frames for all watchers. */
struct kl_lobby_watch_desk {
    struct kl_roster now;
    struct kl_text notice[KL_WATCH_NOTICES];
    /* The piece of history that most watchers need next. */
    uint32_t piece_from, piece_most, piece_end;
    struct kl_past piece;
};

struct kl_lobby_watch {
    struct kl_lobby_watcher **at; /* `count` of them, room for the relay's limit */
    unsigned count;
    unsigned turn;    /* the watcher whose turn is next */
    uint16_t told;    /* count, as the clients know it */
    uint64_t told_us; /* time at which they were told */
    uint32_t turns;   /* the last number of the queue for seats; 0: nobody has waited yet */
    uint16_t delay_s;
    uint16_t spacing; /* the longest interval so far, frames */
    uint32_t end;     /* frames below are visible to watchers */
    uint32_t batch;   /* counts the changes of `end` */
    int64_t line_us;  /* time at which `end` is due for the players */
    uint64_t left_us; /* time at which the last member left */
    uint64_t due_us;
    /* Past positions of the game: [cut_first, cut_next) */
    uint32_t cut_first, cut_next;
    uint64_t cut_base_us;
    struct kl_watch_cut {
        uint32_t end, at_ms; /* since cut_base_us */
        int32_t line_us;     /* of `end`, since then */
    } * cut;
    uint32_t cuts; /* places of them */
    /* The clients' hashes of the newest labels. */
    uint32_t truths, truth_places; /* noted so far; places */
    struct kl_watch_truth {
        uint64_t ram, state, av, first_us;
        uint32_t frame;
        uint8_t flags; /* kl_verdict_flags() */
        uint8_t count; /* 0: a free place */
        bool contested;
    } * truth;
    uint32_t roster, notices;         /* numbers of the next */
    struct kl_lobby_watch_desk *desk; /* NULL: no watcher has come */
    /* Of the room's snapshots: the newest visible one; the first one after it. */
    struct kl_lobby_fetch seen, next;
    uint32_t noted; /* snapshots of keyframes below are noted */
    uint64_t order_us;
};

#endif

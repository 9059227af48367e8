/* visitor.h - a client in a room: what members and watchers share, and the room's watchers
 * (net/relay/watch/lobby_watch.h). visitor.c sends either of them what it needs. */
#ifndef KL_VISITOR_H
#define KL_VISITOR_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/relay/log/lobby_limit.h"
#include "net/relay/room/lobby_bounds.h"
#include "net/relay/room/heal_state.h"
#include "net/relay/room/catchup.h"
#include "net/session/name.h"

/* Places that a room has for cuts, at most eleven a second, and for the labels of the delay and two minutes.
 */
#define KL_WATCH_CUTS(delay_s) (11 * (delay_s) + 4)
#define KL_WATCH_TRUTHS_LEAST  64
#define KL_WATCH_TRUTHS_MOST   512
#define KL_WATCH_TRUTHS_S      120
#define KL_WATCH_NOTICES       8
#define KL_WATCH_HASHES        4 /* of one watcher, waiting for the game's */

/* Limits of a client by the minute. DROPPED: the excess of chat and commands. */
enum kl_spends {
    KL_SPENDS_CHAT,
    KL_SPENDS_COMMANDS,
    KL_SPENDS_PAUSES,
    KL_SPENDS_DISKS,
    KL_SPENDS_REPORTS,
    KL_SPENDS_DROPPED,
    KL_SPENDS_COUNT
};

/* A client's use of its limits; whoever leaves and comes again has it again (lobby_end.c). */
struct kl_lobby_spent {
    struct kl_bucket of[KL_SPENDS_COUNT];
    uint64_t paused_us; /* its pauses in all */
    uint64_t wish_us;   /* no wish of its own before then */
    uint64_t healed_us; /* its healings by own states are made up for then; 0: it had none */
};

/* The wait for a seat of a watcher, or of a client without seats. */
struct kl_lobby_turn {
    uint32_t number;   /* of its place in the queue, the lowest is first; 0: it does not wait */
    uint64_t until_us; /* a seat is offered to it until then; 0: none is */
};

/* A client in a room: the part that a member and a watcher have in common. */
struct kl_visitor {
    unsigned peer;
    char name[KL_NAME_MAX];
    union {
        struct kl_lobby_person who;
        struct {
            uint8_t seat_key[KL_SEAT_KEY_BYTES];
            char host[KL_NET_TEXT]; /* kl_address_host() */
        };
    };
    uint8_t state; /* enum kl_member_state, but for GONE and AWAY; READY: how it catches up is undecided */
    uint32_t sent; /* bytes of start data sent */
    bool fetched;  /* all start data is sent and acknowledged: it loads */
    uint64_t deadline_us; /* for its next message that we wait for; 0: none */
    uint64_t waited_us;   /* begin of that wait, moved by the time it was away */
    uint32_t furthest;    /* the most bytes of start data transferred */
    bool again;           /* its link was cut during that wait */
    unsigned malformed;   /* datagrams in a row */
    uint64_t owed;        /* bytes (lobby_bounds.h) */
    struct kl_lobby_turn turn;
    struct kl_lobby_spent spent;
    struct kl_catchup catchup;
    struct kl_lobby_fetch fetch; /* a snapshot on its way to the client */
    uint32_t sealed;             /* end of the newest SEAL that its session got; 0: none */
};

/* A piece of the history as a client may see it; all zero: none. */
struct kl_visitor_piece {
    uint32_t from, may_see, end; /* frames [from, end), the end at most may_see */
    struct kl_past past;
};

struct kl_lobby_watcher {
    struct kl_visitor v;
    unsigned place;      /* at[place] of its room */
    uint32_t next;       /* frames below are sent */
    uint32_t acked, ran; /* as it reported */
    bool caught_up;
    bool heard;
    uint32_t stamp; /* its newest time stamp */
    uint64_t heard_at_us;
    uint64_t update_us;       /* time of its last UPDATE */
    uint32_t batch;           /* batch of its last UPDATE */
    uint32_t roster, notices; /* rosters and notices below are sent */
    struct kl_hash hash[KL_WATCH_HASHES];
    unsigned hashes, strikes;
    uint64_t strike_us, verdict_us; /* the last ones */
    bool equal;                     /* its hashes are equal, and its verdict is not sent yet */
    uint32_t equal_frame;           /* newest equal label */
    uint64_t equal_us;              /* time of that comparison */
    bool parted;                    /* it differs, in a room that does not heal */
    uint32_t parted_frame;          /* first label that differs, or did the last time */
    bool mended;                    /* it was in sync behind that label since its last strike */
    uint16_t healed;                /* times that it was healed */
    uint32_t healed_from;           /* hashes of frames below are older than the healing */
};

/* Messages and frames for all watchers. */
struct kl_lobby_watch_desk {
    struct kl_roster now;
    struct kl_text notice[KL_WATCH_NOTICES];
    struct kl_visitor_piece piece; /* of the history: most watchers need it next */
};

struct kl_lobby_watch {
    struct kl_lobby_watcher **at; /* `count` of them, room for the relay's limit */
    unsigned count;
    unsigned turn;    /* the watcher whose turn is next */
    uint16_t told;    /* count, as the clients know it */
    uint64_t told_us; /* time at which they were told */
    uint32_t turns;   /* the last number of the queue for seats; 0: nobody has waited yet */
    uint16_t delay_s;
    uint8_t voice;    /* listeners that the host allows: enum kl_voice_allowed */
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
        struct kl_hash hash; /* of the first of them */
        uint64_t first_us;
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

/* --- visitor.c --- */

struct kl_lobby_room;
struct kl_lobby_client;
struct kl_lobby;

/* NULL: the connection is in no room. */
struct kl_visitor *kl_visitor_of(struct kl_lobby_client *c);
/* A member's number, and the watcher that a watcher's part is of. */
unsigned kl_visitor_member(const struct kl_visitor *v);
struct kl_lobby_watcher *kl_visitor_watcher(struct kl_visitor *v);
/* It is linked: messages reach it. */
bool kl_visitor_reaches(const struct kl_visitor *v);
/* Sends WELCOME; w: without the room's part. */
void kl_visitor_welcome(struct kl_lobby_room *r, struct kl_visitor *v, struct kl_welcome w);
/* Tells it the relays that may go on with the room. In a fleet. */
void kl_visitor_relays(struct kl_lobby_room *r, unsigned peer);
/* Sends the newest seal of frames below `have`, unless the client has got it. */
void kl_visitor_send_seal(struct kl_lobby_room *r, struct kl_visitor *v, uint32_t have);
/* A line for its screen, with a code of NOTICE (0: none); not sent if it has no link, or one far behind. */
void kl_visitor_tell(struct kl_lobby_room *r, const struct kl_visitor *v, uint8_t code, const char *format,
                     ...) __attribute__((format(__printf__, 4, 5)));
#define kl_lobby_tell(r, member_, ...) kl_visitor_tell(r, &(r)->member[member_]->v, __VA_ARGS__)
/* Says why, and hangs up. */
void kl_lobby_refuse(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text);
/* Counts a command or a line. */
enum kl_visitor_order {
    KL_ORDER_TAKEN,
    KL_ORDER_DROPPED,  /* above the limit: drop it; the client is told */
    KL_ORDER_TOO_MANY, /* the client goes on: put it out */
} kl_visitor_orders(struct kl_lobby_room *r, struct kl_visitor *v, uint8_t kind, uint64_t now_us);

/* A wait for start data begins. */
void kl_visitor_wait(struct kl_visitor *v, uint64_t now_us);
/* A client that loads begins anew: its wait goes on. */
void kl_visitor_wait_anew(struct kl_visitor *v, uint64_t now_us);
/* The end of that wait after so many transferred bytes. */
uint64_t kl_visitor_waits_until_us(struct kl_visitor *v, uint32_t bytes);
/* Sends PREPARE: the client is to load. has_start: it has the start data. */
void kl_visitor_prepare(struct kl_lobby_room *r, struct kl_visitor *v, bool has_start, uint64_t now_us);
/* Sends as much of the start data as may go now. True: there is more, or not all of it is acknowledged. */
bool kl_visitor_send_start(struct kl_lobby_room *r, struct kl_visitor *v, uint64_t now_us);
/* The reason to put a client out that has used up its time, or takes no messages; NULL: none. */
const char *kl_visitor_is_late(const struct kl_lobby_room *r, const struct kl_visitor *v,
                               enum kl_refuse *code, uint64_t now_us);

/* Sends the piece of history with the frame `from`, without frames from may_see on; p holds it then. False:
 * there is none. The caller has asked kl_lobby_bulk_room(). */
bool kl_visitor_send_history(struct kl_lobby_room *r, const struct kl_visitor *v, struct kl_visitor_piece *p,
                             uint32_t from, uint32_t may_see);

/* Drops one reference and sets *at to NULL. */
void kl_lobby_packed_drop(struct kl_lobby_room *r, struct kl_lobby_packed **at);
void kl_lobby_fetch_end(struct kl_lobby_room *r, struct kl_lobby_fetch *f); /* harmless twice */
/* Offers the kept or the coming snapshot; its last bytes go out once its hash is verified. begin: the client
 * begins there, and the caller sends history from its keyframe on (as bulk). Replaces the snapshot on its way
 * to the client. False: k is NULL. */
bool kl_visitor_offer(struct kl_lobby_room *r, struct kl_visitor *v, struct kl_lobby_packed *k, bool begin);
/* Sends as many pieces of the offered snapshot as may go now; true if there are more. */
bool kl_visitor_send_snapshot(struct kl_lobby_room *r, struct kl_visitor *v);

#endif

/* lobby_watch.h - the watchers of a room. net/PROTOCOL.md §7, Watching. Only inside net/relay.
 *
 * A watcher is no client of the engine: it sends no samples and nothing waits for it. Its data goes out after
 * the clients', to a few watchers at a time. Its frames come by HISTORY, some intervals at once, with the
 * host's delay. Its hashes are compared with the game's but have no vote. It keeps no seat: after a lost link
 * it watches anew.
 *
 * lobby_watch.c          coming, going, requests
 * lobby_watch_way.c      a watcher's way to the visible frames, and its healing
 * lobby_watch_frames.c   a watcher's frames and their time
 * lobby_watch_hash.c     comparison with the players' hashes */
#ifndef KL_LOBBY_WATCH_H
#define KL_LOBBY_WATCH_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/relay/log/lobby_limit.h"
#include "net/relay/heal/lobby_snapshot.h"
#include "net/relay/lobby/way.h"

#define KL_WATCH_CUTS    4096 /* of one room: enough for KL_WATCH_DELAY_MAX_S */
#define KL_WATCH_TRUTHS  512  /* labels */
#define KL_WATCH_NOTICES 8
#define KL_WATCH_HASHES  4 /* of one watcher, waiting for the game's */

struct kl_lobby_room;

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
    } cut[KL_WATCH_CUTS];
    /* The clients' hashes of the newest labels. */
    uint32_t truths;
    struct kl_watch_truth {
        struct kl_hash hash;
        uint64_t first_us;
        uint8_t count; /* 0: a free place */
        bool contested;
    } truth[KL_WATCH_TRUTHS];
    uint32_t roster, notices; /* numbers of the next */
    struct kl_roster now;
    struct kl_text notice[KL_WATCH_NOTICES];
    /* Of the room's snapshots: the newest visible one; the first one after it. */
    struct kl_lobby_fetch seen, next;
    uint32_t noted; /* snapshots of keyframes below are noted */
    uint64_t order_us;
    /* The piece of history that most watchers need next. */
    uint32_t piece_from, piece_most, piece_end;
    struct kl_past piece;
};

/* --- lobby_watch.c --- */
/* True if this HELLO comes to watch: it wants no seat of an existing room, or finds no free one. */
bool kl_lobby_watch_wanted(const struct kl_lobby_room *r, const struct kl_hello *h);
/* False: there is no place for another watcher; text says so. */
bool kl_lobby_watch_open(const struct kl_lobby_room *r, char *text, size_t cap);
void kl_lobby_watch_join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h, uint64_t now_us);
void kl_lobby_watch_lost(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *why);
/* Says why and hangs up. */
void kl_lobby_watch_put_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, enum kl_refuse code,
                            const char *text);
/* result: of decoding the message. */
void kl_lobby_watch_message(struct kl_lobby_room *r, struct kl_lobby_watcher *w, int result,
                            const struct kl_msg *m, size_t len, uint64_t now_us);
/* The watcher begins at frame 0; its older frames are dropped. False: there is no way to the present. */
bool kl_lobby_watch_begin(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* Sets the watchers' delay; KL_E_MALFORMED above KL_WATCH_DELAY_MAX_S. */
int kl_lobby_watch_delay(struct kl_lobby_room *r, unsigned seconds, const char *who);
/* A line, and a new roster, for all watchers. */
void kl_lobby_watch_notice(struct kl_lobby_room *r, const struct kl_text *t);
void kl_lobby_watch_roster(struct kl_lobby_room *r, const struct kl_roster *roster);
/* A line for one watcher; bounded. */
void kl_lobby_watch_tell(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a code of NOTICE, for a line that a command answers. */
void kl_lobby_watch_ask(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint8_t code, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* The watcher takes these seats, which nobody has: from now on it is a latecomer of the game with the frames
 * that it has. w is gone. */
void kl_lobby_watch_seated(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint8_t seats,
                           uint64_t now_us);
/* To be called after the clients of all rooms got their data. *left: watchers of all rooms that may still
 * have a turn. Sets watch.due_us. */
void kl_lobby_watch_run(struct kl_lobby_room *r, unsigned *left, uint64_t now_us);
void kl_lobby_watch_chores(struct kl_lobby_room *r, uint64_t now_us);
/* True if the last member has gone and the watchers had time to see the end. */
bool kl_lobby_watch_over(const struct kl_lobby_room *r);
/* Puts out all watchers. */
void kl_lobby_watch_end(struct kl_lobby_room *r, const char *why);
/* Puts out all watchers of that name; ban: they may not come back. who: the giver of the order, for their
 * screens. Returns their number. */
unsigned kl_lobby_watch_expel(struct kl_lobby_room *r, const char *name, bool ban, const char *who);
/* Sends the watchers' names to this member. */
void kl_lobby_watch_names(struct kl_lobby_room *r, unsigned member);
void kl_lobby_watch_log(const char *event, const struct kl_lobby_room *r, const struct kl_lobby_watcher *w,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- lobby_watch_way.c --- */
/* The watcher has loaded, and sets out for the visible frames. May put it out. */
void kl_lobby_watch_set_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* Heals a watcher: by the room's snapshot, otherwise by the whole history. False: the watcher was put out. */
bool kl_lobby_watch_heal(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* HEALED. May put it out. */
void kl_lobby_watch_healed(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_healed *h,
                           uint64_t now_us);
/* Finds the visible snapshots; to be called when the visible frames change. */
void kl_lobby_watch_shots(struct kl_lobby_room *r);
/* Drops the snapshots that are held for watchers. */
void kl_lobby_watch_drop_shots(struct kl_lobby_room *r);
/* True if there is a way to the present for a watcher without frames. */
bool kl_lobby_watch_has_way(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w);
/* The watcher is about to load: orders the snapshot that it may need then. */
void kl_lobby_watch_way_ahead(struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint64_t now_us);
/* Looks again for the way of a waiting watcher. May put it out. */
void kl_lobby_watch_look(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);

/* --- lobby_watch_frames.c --- */
void kl_lobby_watch_datagram(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const uint8_t *body,
                             size_t len, uint64_t now_us);
/* Moves the end of the visible frames. */
void kl_lobby_watch_see(struct kl_lobby_room *r, uint64_t now_us);
/* Sends a watcher its due messages. True if something went out; *more: more is due. */
bool kl_lobby_watch_serve(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us, bool *more);

/* --- lobby_watch_hash.c --- */
/* Takes a client's hash that counts. */
void kl_lobby_watch_truth(struct kl_lobby_room *r, const struct kl_hash *h, uint64_t now_us);
/* Takes a watcher's hash. */
void kl_lobby_watch_hash(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_hash *h);
/* Compares the hashes that can be compared by now. False: the watcher was put out. */
bool kl_lobby_watch_judge(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);

#endif

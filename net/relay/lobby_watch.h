/* lobby_watch.h - who watches a room from outside the game. net/PROTOCOL.md §7, Watching. Only inside
 * net/relay.
 *
 * A watcher is no client of the engine: it feeds nothing, nothing waits for it, and what it gets goes out
 * after the clients' own, to a few watchers at a time. Its frames come by HISTORY, some intervals at once, as
 * much later as the host has said; its hashes are compared with the game's and count for nothing. It has no
 * seat that is kept: who loses his link watches anew.
 *
 * lobby_watch.c          coming, going, what it asks for
 * lobby_watch_way.c      how it comes to what may be seen, and back where it is out of sync
 * lobby_watch_frames.c   what it sees, and when
 * lobby_watch_hash.c     whether it sees the same as those who play */
#ifndef KL_LOBBY_WATCH_H
#define KL_LOBBY_WATCH_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "net/relay/lobby_limit.h"
#include "net/relay/lobby_snapshot.h"
#include "net/relay/way.h"

#define KL_WATCH_CUTS    4096 /* of one room: longer ago than KL_WATCH_DELAY_MAX_S */
#define KL_WATCH_TRUTHS  512  /* labels */
#define KL_WATCH_NOTICES 8
#define KL_WATCH_HASHES  4 /* of one watcher, that wait for the game's */

struct kl_lobby_room;

struct kl_lobby_watcher {
    unsigned peer, place; /* at[place] of its room */
    char name[KL_NAME_MAX];
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    uint8_t state;        /* enum kl_member_state, but for GONE and AWAY; READY: its way is not known yet */
    uint64_t since_us;    /* it came, or began anew */
    uint32_t sent;        /* bytes of start data … */
    bool fetched;         /* … all of them, and acknowledged */
    uint64_t deadline_us; /* until when it has to have more of them, or to have loaded */
    uint32_t next;        /* frames below are sent */
    uint32_t acked, ran;  /* by its word */
    bool caught_up;
    bool heard;
    uint32_t stamp; /* its newest … */
    uint64_t heard_at_us;
    uint64_t update_us;       /* when the last UPDATE went to it … */
    uint32_t batch;           /* … and of which batch */
    uint32_t roster, notices; /* those below have been told */
    unsigned malformed;
    struct kl_bucket chat, commands, dropped;
    struct kl_hash hash[KL_WATCH_HASHES];
    unsigned hashes, strikes;
    uint64_t strike_us, verdict_us; /* the last ones */
    bool equal;                     /* it is so, and has not been told … */
    uint32_t equal_frame;           /* … up to here … */
    uint64_t equal_us;              /* … since then */
    bool parted;                    /* it differs, in a room that does nothing about it … */
    uint32_t parted_frame;          /* … since then */
    uint16_t healed;                /* times that it was brought back in sync */
    uint32_t healed_from;           /* hashes of before this frame are of before that */
    struct kl_lobby_fetch fetch;
    struct kl_way_trip way;
};

struct kl_lobby_watch {
    struct kl_lobby_watcher **at; /* `count` of them, room for the relay's limit */
    unsigned count;
    unsigned turn;    /* whose turn is next */
    uint16_t told;    /* count, as the clients know it … */
    uint64_t told_us; /* … since then */
    uint16_t delay_s;
    uint16_t spacing; /* the longest interval so far, frames */
    uint32_t end;     /* frames below may be seen */
    uint32_t batch;   /* grows with it */
    int64_t line_us;  /* when `end` is due for those who play */
    uint64_t left_us; /* the last member has left */
    uint64_t due_us;
    /* Where the game stood, and when: [cut_first, cut_next) */
    uint32_t cut_first, cut_next;
    uint64_t cut_base_us;
    struct kl_watch_cut {
        uint32_t end, at_ms; /* since cut_base_us */
        int32_t line_us;     /* of `end`, since then */
    } cut[KL_WATCH_CUTS];
    /* What the clients said of the newest labels. */
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
    /* Of the room's snapshots: the newest that may be seen; the first one after that. */
    struct kl_lobby_fetch seen, next;
    uint32_t noted; /* keyframes of the room's below are known */
    uint64_t order_us;
    /* The piece that most of them want next. */
    uint32_t piece_from, piece_most, piece_end;
    struct kl_past piece;
};

/* --- lobby_watch.c --- */
/* Whether this HELLO comes to watch: it wants no seat of a room that is there, or finds none that is free. */
bool kl_lobby_watch_wanted(const struct kl_lobby_room *r, const struct kl_hello *h);
/* False: there is no place for another; text says so. */
bool kl_lobby_watch_open(const struct kl_lobby_room *r, char *text, size_t cap);
void kl_lobby_watch_join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h, uint64_t now_us);
void kl_lobby_watch_lost(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *why);
/* Says why and hangs up. */
void kl_lobby_watch_put_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, enum kl_refuse code,
                            const char *text);
/* result: of decoding the message. */
void kl_lobby_watch_message(struct kl_lobby_room *r, struct kl_lobby_watcher *w, int result,
                            const struct kl_msg *m, size_t len, uint64_t now_us);
/* It begins at frame 0, and may have been further: whatever it has goes. False: there is no way to the
 * present.
 */
bool kl_lobby_watch_begin(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* So much later than it happens; KL_E_MALFORMED above KL_WATCH_DELAY_MAX_S. */
int kl_lobby_watch_delay(struct kl_lobby_room *r, unsigned seconds, const char *who);
/* A line for all of them; a new roster. */
void kl_lobby_watch_notice(struct kl_lobby_room *r, const struct kl_text *t);
void kl_lobby_watch_roster(struct kl_lobby_room *r, const struct kl_roster *roster);
/* To one of them; bounded. */
void kl_lobby_watch_tell(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Once the clients of all rooms have what is due to them. *left: so many of all rooms' have a turn yet. Sets
 * watch.due_us. */
void kl_lobby_watch_run(struct kl_lobby_room *r, unsigned *left, uint64_t now_us);
void kl_lobby_watch_chores(struct kl_lobby_room *r, uint64_t now_us);
/* The last member has gone, and who watched has had the time to see the end. */
bool kl_lobby_watch_over(const struct kl_lobby_room *r);
/* All of them go. */
void kl_lobby_watch_end(struct kl_lobby_room *r, const char *why);
/* Puts out all of that name, and keeps them out. who: for the words on their screens. How many it were. */
unsigned kl_lobby_watch_expel(struct kl_lobby_room *r, const char *name, bool ban, const char *who);
/* Their names, to this client of the game. */
void kl_lobby_watch_names(struct kl_lobby_room *r, unsigned member);
void kl_lobby_watch_log(const char *event, const struct kl_lobby_room *r, const struct kl_lobby_watcher *w,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- lobby_watch_way.c --- */
/* It has loaded, and sets out for what may be seen. May put it out. */
void kl_lobby_watch_set_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* It is out of sync: by the room's state, else from the beginning. False: it is gone. */
bool kl_lobby_watch_heal(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);
/* HEALED. May put it out. */
void kl_lobby_watch_healed(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_healed *h,
                           uint64_t now_us);
/* Which snapshots may be seen, once it is known which frames. */
void kl_lobby_watch_shots(struct kl_lobby_room *r);
/* Lets go of those that are held for watchers. */
void kl_lobby_watch_drop_shots(struct kl_lobby_room *r);
/* There is a way for one who has nothing. */
bool kl_lobby_watch_has_way(const struct kl_lobby_room *r, const struct kl_lobby_watcher *w);
/* It is about to load: what it will want then. */
void kl_lobby_watch_way_ahead(struct kl_lobby_room *r, const struct kl_lobby_watcher *w, uint64_t now_us);
/* One that waits. May put it out. */
void kl_lobby_watch_look(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);

/* --- lobby_watch_frames.c --- */
void kl_lobby_watch_datagram(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const uint8_t *body,
                             size_t len, uint64_t now_us);
/* What may be seen now. */
void kl_lobby_watch_see(struct kl_lobby_room *r, uint64_t now_us);
/* Sends a watcher what is owed to it. True where something went out; *more: there is more to come. */
bool kl_lobby_watch_serve(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us, bool *more);

/* --- lobby_watch_hash.c --- */
/* A client's hash that counts. */
void kl_lobby_watch_truth(struct kl_lobby_room *r, const struct kl_hash *h, uint64_t now_us);
/* A watcher's. */
void kl_lobby_watch_hash(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_hash *h);
/* Compares what can be compared by now. False: the watcher is gone. */
bool kl_lobby_watch_judge(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us);

#endif

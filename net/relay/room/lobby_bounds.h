/* lobby_bounds.h - bounds for one player: a client's cost to the relay's link, and people who may not come
 * in. Only inside net/relay. */
#ifndef KL_LOBBY_BOUNDS_H
#define KL_LOBBY_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/relay/log/lobby_limit.h"

struct kl_lobby;
struct kl_lobby_room;

/* --- bars --- */

/* People who may not come into a room, or wait for a seat in it: for a time, or for the room's life. A room
 * has one table of them, by seat key and address. docs/security.md, Bounds for one player. Only inside
 * net/relay. */

#define KL_BANS_MAX   64 /* of one room: the oldest makes way */
#define KL_TIMED_MAX  64 /* bars for a time, the same: the one that ends first makes way */
#define KL_BAR_EVER   UINT32_MAX
#define KL_BAR_US     60000000ULL /* the first bar; each further one of the same reason is twice as long */
#define KL_BAR_LONGER 6           /* times at most */

struct kl_lobby_person {
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    char host[KL_NET_TEXT]; /* kl_address_host() */
};

enum kl_bar {
    KL_BAR_BAN,    /* from the room, for its life: by the host or the operator */
    KL_BAR_DESYNC, /* from the room: a majority's hashes put it out */
    KL_BAR_LOAD,   /* from the room: the others waited for it, and it did not load */
    KL_BAR_TURN    /* from the queue for seats, a minute each time: it made nothing of a seat */
};

struct kl_lobby_bar {
    struct kl_lobby_person who;
    uint8_t why; /* enum kl_bar */
    uint8_t times;
    uint64_t until_us;
    uint64_t waited_us; /* KL_BAR_LOAD: the others have waited so long since the last bar */
};

/* address: with or without port. */
struct kl_lobby_person kl_lobby_person(const uint8_t *seat_key, const char *address);
/* True if they have the same key or the same address: they may be one person. */
bool kl_lobby_is_same(const struct kl_lobby_person *a, const struct kl_lobby_person *b);

/* Without memory the room is told, and the bar is not kept. */
void kl_lobby_bar(struct kl_lobby_room *r, enum kl_bar why, const struct kl_lobby_person *who,
                  uint64_t now_us);
/* The others have waited so long for this person, in vain: KL_LOAD_US in sum, and it is barred. */
void kl_lobby_bar_wait(struct kl_lobby_room *r, const struct kl_lobby_person *who, uint64_t us,
                       uint64_t now_us);
/* Seconds until this person, by key or address, may come into the room (turn: have a place in the queue for
 * seats); 0: now; KL_BAR_EVER. *why: set if not 0, may be NULL. */
uint32_t kl_lobby_barred_s(const struct kl_lobby_room *r, bool turn, const struct kl_lobby_person *who,
                           enum kl_bar *why, uint64_t now_us);
/* Somebody has come in: a door of KL_DOOR_ONCE is locked. */
void kl_lobby_locks_itself(struct kl_lobby_room *r);
/* Why a person may not come in, for that person. */
const char *kl_lobby_bar_text(enum kl_bar why);

/* --- cost --- */

/* A client's cost to the relay's link: bytes down against bytes up. docs/security.md, Bounds for one player.
 * Only inside net/relay.
 *
 * Each client owes the bytes that went down to it, all channels, repetitions and seals included. Each byte
 * that comes up pays ten. The game's own frames (UPDATE, and HISTORY to a watcher at the present) are paid
 * first, and leave no debt to a client that plays: other players make them long. A client may owe what three
 * joinings take: so a process that dies comes back at once, and again. Above it no bulk goes down, and before
 * a client that begins with nothing would come above it, it is told to wait. A client pays by playing. The
 * bytes of a joining are forgiven in KL_COST_AGAIN_US, too.
 *
 * A debt stays with the seat key and with the address for the room's life. So a newcomer has the debts of all
 * that left from its address, and of members there whose seats are kept what is above one joining; those of
 * members that are here are their own. */

#define KL_COST_RATIO    10     /* bytes down for each byte up */
#define KL_COST_JOININGS 3      /* of a member: one, and two returns with nothing */
#define KL_COST_NEWCOMER 2      /* of a newcomer, with those that left from its address */
#define KL_COST_LEAST    32768U /* bytes: a joining takes no less; the room's talk is in it */
#define KL_COST_AGAIN_US (300 * 1000000ULL)
#define KL_DEBTORS       64 /* of one room: the smallest debt is forgotten first */

/* Of clients that left. */
struct kl_lobby_debtor {
    struct kl_lobby_person who; /* the last one that left from there */
    uint64_t bytes;             /* 0: a free place */
};

/* Bytes that go to a client that begins with nothing now. no_states: it loads no snapshots. */
uint64_t kl_lobby_joining_bytes(const struct kl_lobby_room *r, bool no_states);
/* Counts what went to and came from this client since the last call. */
void kl_lobby_cost_count(struct kl_lobby *l, unsigned peer);
/* So many bytes of bulk are the game's own frames, to a watcher at the present. */
void kl_lobby_cost_stream(struct kl_lobby *l, unsigned peer, size_t bytes);
/* Bytes of bulk that may be given to this member or watcher now (struct kl_lobby_net). */
size_t kl_lobby_bulk_room(struct kl_lobby_room *r, unsigned peer);
/* Seconds until a client that owes so much may begin with nothing; 0: now. joinings: that it may owe then. */
unsigned kl_lobby_cost_wait_s(const struct kl_lobby_room *r, uint64_t owed, unsigned joinings,
                              bool no_states);

/* Seconds until this newcomer may come in; 0: now. */
unsigned kl_lobby_cost_newcomer_wait_s(struct kl_lobby_room *r, const struct kl_lobby_person *who,
                                       bool no_states);
/* The debt that a newcomer finds; it is its own from now on. */
uint64_t kl_lobby_debt_take(struct kl_lobby_room *r, const struct kl_lobby_person *who);
/* A client has left. */
void kl_lobby_debt_keep(struct kl_lobby_room *r, const struct kl_lobby_person *who, uint64_t bytes);
/* From time to time. */
void kl_lobby_cost_chores(struct kl_lobby_room *r, uint64_t now_us);
/* Counts, and hangs up. */
void kl_lobby_hang_up(struct kl_lobby *l, unsigned peer);

#endif

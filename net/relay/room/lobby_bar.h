/* lobby_bar.h - people who may not come into a room, or wait for a seat in it: for a time, or for the room's
 * life. A room has one table of them, by seat key and address. docs/security.md, Bounds for one player. Only
 * inside net/relay. */
#ifndef KL_LOBBY_BAR_H
#define KL_LOBBY_BAR_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/relay/log/lobby_limit.h"

#define KL_BANS_MAX   64 /* of one room: the oldest makes way */
#define KL_TIMED_MAX  64 /* bars for a time, the same: the one that ends first makes way */
#define KL_BAR_EVER   UINT32_MAX
#define KL_BAR_US     60000000ULL /* the first bar; each further one of the same reason is twice as long */
#define KL_BAR_LONGER 6           /* times at most */

struct kl_lobby_room;

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

#endif

/* fleet.h - relays that know each other through a Redis: where a room is that is not here. docs/design.md §8,
 * Fleet.
 *
 * A process of its own speaks with Redis (directory.h), so no room waits for it. This is the memory that it
 * shares with the processes of the rooms. Each of those has places for questions; the newest list of relays
 * and rooms is read whole. Nothing here is looked at for a frame. */
#ifndef KL_FLEET_H
#define KL_FLEET_H

#include "net/platform/address.h"
#include "net/platform/seqlock.h"
#include "net/transport/shards.h"

#define KL_FLEET_RELAYS 16   /* besides this one */
#define KL_FLEET_ROOMS  4096 /* of all of them together */
#define KL_FLEET_ASKS   32   /* questions of one process at once */

struct kl_fleet_others {
    unsigned count;
    struct kl_fleet_other {
        struct kl_addresses at;
        bool has_place; /* for another room */
    } relay[KL_FLEET_RELAYS];
};
struct kl_fleet_room {
    unsigned relay; /* index in kl_fleet_others */
    struct kl_shard_line line;
};

enum kl_fleet_answer {
    KL_FLEET_WAIT,
    KL_FLEET_NOWHERE,   /* no other relay has it; if it was claimed, it is this relay's now */
    KL_FLEET_ELSEWHERE, /* another relay has it */
    KL_FLEET_SILENT,    /* Redis does not answer */
};
struct kl_fleet_ask {
    _Atomic uint64_t asked, answered; /* numbers of questions; equal: there is none open */
    bool claims;
    char room[KL_NAME_MAX];
    enum kl_fleet_answer answer;
    struct kl_addresses at; /* of the other relay */
};

struct kl_fleet {
    _Atomic uint32_t speaks;  /* Redis has answered within the last lease */
    int wake;                 /* the directory's wake-up for questions */
    struct kl_shards *shards; /* this relay's */
    unsigned rooms_most;      /* of this relay */
    kl_seqlock others_lock;
    struct kl_fleet_others others;
    kl_seqlock room_lock[KL_FLEET_ROOMS];
    struct kl_fleet_room room[KL_FLEET_ROOMS];
    struct kl_fleet_ask ask[KL_SHARDS_MAX][KL_FLEET_ASKS];
};

/* Asks, in the own process's place `i`, for a room of that name; claims: it shall be this relay's if no other
 * one has it. A question there before is forgotten. */
void kl_fleet_ask(struct kl_fleet *f, unsigned i, const char *room, bool claims);
/* The answer. at: the other relay's addresses, with KL_FLEET_ELSEWHERE. */
enum kl_fleet_answer kl_fleet_answer(const struct kl_fleet *f, unsigned i, struct kl_addresses *at);

/* By the newest list, which may be some seconds old: the relay that has the room; relays with places for
 * rooms, a first address of each. False: none. */
bool kl_fleet_find(const struct kl_fleet *f, const char *room, struct kl_addresses *at);
bool kl_fleet_with_place(const struct kl_fleet *f, struct kl_addresses *at);
/* A listed room of another relay, at place i < KL_FLEET_ROOMS. False: none. */
bool kl_fleet_line(const struct kl_fleet *f, unsigned i, struct kl_room_line *out);

#endif

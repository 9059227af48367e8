/* fleet.h - relays that know each other through a Redis: where a room is that is not here.
 * net/relay/fleet/README.md.
 *
 * A process of its own speaks with Redis (directory.h), so no room waits for it. This is the memory that it
 * shares with the processes of the rooms. Each of those has places for questions; the newest list of relays
 * and rooms is read whole. For a frame a room says how far its files stand, and reads nothing. */
#ifndef KL_FLEET_H
#define KL_FLEET_H

#include "net/engine/msg.h"
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
        uint64_t hash;  /* of its name */
    } relay[KL_FLEET_RELAYS];
};
struct kl_fleet_room {
    unsigned relay; /* index in kl_fleet_others */
    struct kl_shard_line line;
};

/* A room's files in the journal (net/relay/durable/tail.h), of which Redis gets a copy. */
struct kl_fleet_record {
    uint8_t id[KL_ROOM_ID_BYTES];
    char room[KL_NAME_MAX];
    uint64_t recording;    /* bytes of it that stand */
    uint64_t slot;         /* number of the tail's newest slot; 0: the room has ended */
    uint32_t which, bytes; /* of that slot: 0 or 1; what stands in it */
};

/* A question for a room that is not here, or has not been read yet. If its relay is gone, CLAIM and BACK take
 * it from Redis. */
enum kl_fleet_how {
    KL_FLEET_LOOK,
    KL_FLEET_CLAIM, /* it shall be this relay's if there is none */
    KL_FLEET_BACK,  /* somebody comes back to it */
};
enum kl_fleet_answer {
    KL_FLEET_WAIT,
    KL_FLEET_NOWHERE,   /* no other relay has it; if it was claimed, it is this relay's now */
    KL_FLEET_ELSEWHERE, /* another relay has it */
    KL_FLEET_TAKEN,     /* another relay had it: its files lie in this relay's journal */
    KL_FLEET_MINE,      /* the same, a moment ago, for somebody else */
    KL_FLEET_LATER,     /* another relay may have it: Redis has begun anew */
    KL_FLEET_SILENT,    /* Redis does not answer */
};
struct kl_fleet_ask {
    _Atomic uint64_t asked, answered; /* numbers of questions; equal: there is none open */
    enum kl_fleet_how how;
    char room[KL_NAME_MAX];
    enum kl_fleet_answer answer;
    struct kl_addresses at;       /* of the other relay */
    uint8_t id[KL_ROOM_ID_BYTES]; /* of a room that is taken */
};

struct kl_fleet {
    _Atomic uint64_t lease_us;      /* until then Redis keeps this relay's entry, counted from its renewal */
    _Atomic uint32_t fresh;         /* Redis has begun anew within the last 10 s: no relay takes a room */
    int wake;                       /* the directory's wake-up for questions */
    int copied_wake[KL_SHARDS_MAX]; /* of a room's process that waits for copies */
    struct kl_shards *shards;       /* this relay's */
    unsigned rooms_most;            /* of this relay */
    kl_seqlock others_lock;
    struct kl_fleet_others others;
    kl_seqlock room_lock[KL_FLEET_ROOMS];
    struct kl_fleet_room room[KL_FLEET_ROOMS];
    struct kl_fleet_ask ask[KL_SHARDS_MAX][KL_FLEET_ASKS];
    /* By a room's process and place. changed: bits, since the directory looked last. lost: kl_fleet_tag() of
     * the room that another relay has by now. wanted: the same, of one whose people ask another relay for it. */
    kl_seqlock record_lock[KL_SHARDS_MAX][KL_SHARD_ROOMS];
    struct kl_fleet_record record[KL_SHARDS_MAX][KL_SHARD_ROOMS];
    _Atomic uint64_t changed[KL_SHARDS_MAX][KL_SHARD_ROOMS / 64];
    _Atomic uint32_t lost[KL_SHARDS_MAX][KL_SHARD_ROOMS], losses;
    _Atomic uint32_t wanted[KL_SHARDS_MAX][KL_SHARD_ROOMS], wants;
    _Atomic uint64_t copied[KL_SHARDS_MAX][KL_SHARD_ROOMS]; /* kl_fleet_mark() of what Redis has */
    _Atomic uint32_t holds[KL_SHARDS_MAX];                  /* that process waits for a copy */
    _Atomic uint32_t awake;                                 /* the directory looks soon */
    _Atomic uint32_t draining; /* this relay takes no new rooms, and hands its matches on */
};

/* Asks, in the own process's place `i`, for a room of that name. A question there before is forgotten. */
void kl_fleet_ask(struct kl_fleet *f, unsigned i, const char *room, enum kl_fleet_how how);
/* The answer. at: the other relay's addresses, with KL_FLEET_ELSEWHERE; id: with KL_FLEET_TAKEN and MINE. */
enum kl_fleet_answer kl_fleet_answer(const struct kl_fleet *f, unsigned i, uint64_t now_us,
                                     struct kl_addresses *at, uint8_t id[KL_ROOM_ID_BYTES]);
/* This relay has its lease: nobody else has its rooms. The directory may stand still meanwhile. */
bool kl_fleet_speaks(const struct kl_fleet *f, uint64_t now_us);

/* The own process's room at this place has written its files, or has ended. */
void kl_fleet_note(struct kl_fleet *f, unsigned place, const struct kl_fleet_record *record);
/* Of a room whose files stand so far: another one for each record. */
uint64_t kl_fleet_mark(const uint8_t id[KL_ROOM_ID_BYTES], uint64_t slot, uint32_t bytes);
uint32_t kl_fleet_tag(const uint8_t id[KL_ROOM_ID_BYTES]); /* never 0 */
/* The own process's room at this place waits until Redis has its files so far. False: it has. */
bool kl_fleet_awaits(struct kl_fleet *f, unsigned place, uint64_t mark);
/* Redis has them so far; kl_fleet_copied_all(): those of this turn. */
void kl_fleet_copied(struct kl_fleet *f, unsigned shard, unsigned place, uint64_t mark);
void kl_fleet_copied_all(struct kl_fleet *f);
/* The room of that id at this place is another relay's by now, or to be had by one. */
void kl_fleet_lose(struct kl_fleet *f, unsigned shard, unsigned place, const uint8_t id[KL_ROOM_ID_BYTES]);
/* Somebody asks another relay for it. */
void kl_fleet_want(struct kl_fleet *f, unsigned shard, unsigned place, const uint8_t id[KL_ROOM_ID_BYTES]);

/* By the newest list, which may be some seconds old: the relay that has the room; relays with places for
 * rooms, a first address of each. False: none. */
bool kl_fleet_find(const struct kl_fleet *f, const char *room, struct kl_addresses *at);
bool kl_fleet_with_place(const struct kl_fleet *f, struct kl_addresses *at);
/* Relays in the newest list, with this one. */
unsigned kl_fleet_relays(const struct kl_fleet *f);
/* A number that changes with the list of relays; never 0. */
uint32_t kl_fleet_turn(const struct kl_fleet *f);
/* All others' addresses, in an order that is the same for this room's name at all relays. */
void kl_fleet_successors(const struct kl_fleet *f, const char *room, struct kl_addresses *at);
/* The text of REFUSE 15 and NOTICE 4 (net/PROTOCOL.md §7). Returns out. */
const char *kl_fleet_places(char out[KL_TEXT_MAX], const struct kl_addresses *at);
/* A listed room of another relay, at place i < KL_FLEET_ROOMS. False: none. */
bool kl_fleet_line(const struct kl_fleet *f, unsigned i, struct kl_room_line *out);

#endif

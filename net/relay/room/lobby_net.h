/* lobby_net.h - the rooms' limits, and their network, of which peers are small numbers. Only
 * lobby.h and net/relay include it. */
#ifndef KL_LOBBY_NET_H
#define KL_LOBBY_NET_H

#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/session/seal.h"

struct kl_lobby_limits {
    unsigned peers;       /* connections the network can hold */
    unsigned rooms;       /* at once */
    unsigned seats;       /* of one room, 1..KL_MAX_SEATS */
    unsigned watchers;    /* of one room; of all rooms a quarter of the peers. 0: a spectator is one of the
                          room's clients */
    unsigned record_days; /* for which recordings of ended rooms are kept; 0: they are not kept */
    unsigned record_chat; /* 1: the recordings have what was said in the match */
    unsigned no_delete;   /* 1: players may not delete the recordings of their matches */
    /* 0 in one of these, from rooms_per_address on: its value in kl_lobby_defaults */
    unsigned rooms_per_address;
    unsigned mib_per_address;   /* of those rooms, with their start data, history and snapshots */
    unsigned seat_time_s;       /* time that a seat is kept, if the room's maker has no wish */
    unsigned pause_s, pauses_s; /* the longest pause; all pauses of one member */
    unsigned seat_time_max_s;   /* the longest time that a maker may wish */
    unsigned chat_per_min;      /* lines of one client */
    unsigned commands_per_min;  /* others of one client */
    unsigned password_tries;    /* wrong ones a minute from one address; KL_ROOM_TRIES has a room's. Wrong
                                  returns count too */
    unsigned malformed;         /* input datagrams in a row that end the connection */
    unsigned start_kib;         /* start data of one room */
    unsigned start_mib;         /* of all rooms, without those of at most KL_START_SMALL that came above it */
    unsigned history_kib;       /* of one room; above it the oldest frames go */
    unsigned snapshot_kib;      /* packed, of one room; the one before is kept while the next one comes */
    unsigned catch_up_s; /* a past is replayed if that takes so long at most; else a snapshot is loaded */
};
extern const struct kl_lobby_limits kl_lobby_defaults;

/* The network. A peer that was hung up on may not be named again. */
struct kl_lobby_net {
    void *ctx;
    int (*send)(void *ctx, unsigned peer, const uint8_t *bytes, size_t len); /* reliable, in order */
    /* Bulk: reliable, in order among itself, never before messages that send() took first. Bytes that may be
     * given to it now (0 while messages are on their way): ask before each piece. */
    size_t (*bulk_room)(void *ctx, unsigned peer);
    int (*send_bulk)(void *ctx, unsigned peer, const uint8_t *bytes, size_t len);
    unsigned (*pending)(void *ctx, unsigned peer); /* messages, from the oldest unacknowledged on */
    void (*datagram)(void *ctx, unsigned peer, const uint8_t *body, size_t len);
    /* Bytes of the peer's session so far; good in kl_lobby_lost(), too. NULL: not counted. */
    struct kl_traffic (*traffic)(void *ctx, unsigned peer);
    void (*settle)(void *ctx, unsigned peer);  /* it is in a room; NULL: nobody need know */
    void (*ping)(void *ctx, unsigned peer);    /* it hears something; NULL: it does all the same */
    void (*hang_up)(void *ctx, unsigned peer); /* once everything sent has been delivered */
    uint32_t (*session)(void *ctx, unsigned peer);
    const uint8_t *(*binding)(void *ctx, unsigned peer); /* 32 bytes: of its session's keys (seal.h) */
};

#endif

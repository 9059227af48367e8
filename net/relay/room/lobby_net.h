/* lobby_net.h - the rooms' limits, and their network, of which peers are small numbers. Only
 * lobby.h and net/relay include it. */
#ifndef KL_LOBBY_NET_H
#define KL_LOBBY_NET_H

#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/session/seal.h"

/* Limits that are options of the relay: LIMIT(field, option, value, lowest, highest, default, meaning). Eight
 * players behind one NAT, each in a room of their own or all in one, must never meet one of these. By default
 * start data, history and the room itself take less than 8 MiB. password_tries: wrong returns count too. */
#define KL_LOBBY_LIMITS(LIMIT)                                                                               \
    LIMIT(rooms_per_address, "rooms-per-address", "N", 1, 4096, 16, "rooms made from one address")           \
    LIMIT(mib_per_address, "mib-per-address", "N", 1, 1048576, 64,                                           \
          "MiB of all rooms made from one address, with start data, history and snapshots")                  \
    LIMIT(seat_time_s, "seat-time", "S", 1, 65535, 60,                                                       \
          "seconds that a seat is kept for a lost player, unless the room says otherwise")                   \
    LIMIT(seat_time_max_s, "seat-time-max", "S", 1, 65535, 600, "the most that a room may say")              \
    LIMIT(pause_s, "pause", "S", 1, 86400, 60,                                                               \
          "the longest pause; then the game goes on without the player who paused")                          \
    LIMIT(pauses_s, "pauses", "S", 1, 86400, 180, "all pauses of one player in a match")                     \
    LIMIT(chat_per_min, "chat", "N", 1, 100000, 60, "chat lines a minute of one client")                     \
    LIMIT(commands_per_min, "commands", "N", 1, 100000, 240, "other commands a minute of one client")        \
    LIMIT(password_tries, "password-tries", "N", 1, 100000, 20,                                              \
          "wrong passwords a minute from one address; at one room twice that from addresses that "           \
          "failed, once from new ones, once from those that were right")                                     \
    LIMIT(malformed, "malformed", "N", 1, 1000000, 64,                                                       \
          "malformed input datagrams in a row before a client is put out")                                   \
    LIMIT(start_mib, "start-mib", "N", 1, 65536, 256,                                                        \
          "MiB of start data of all rooms; above it a room has at most 256 KiB of its own")                  \
    LIMIT(start_kib, "start-kib", "N", 1, 65536, 3072, "KiB of start data (saves) of one room")              \
    LIMIT(history_kib, "history-kib", "N", 192, 1048576, 2560,                                               \
          "KiB of history of one room; an hour with two pads takes about 110 KiB, with two sticks in "       \
          "motion 2000")                                                                                     \
    LIMIT(snapshot_kib, "snapshot-kib", "N", 16, 65536, 8192,                                                \
          "KiB of the newest snapshot of one room, packed; twice that while the next one comes")             \
    LIMIT(catch_up_s, "catch-up", "S", 1, 86400, 10,                                                         \
          "a newcomer replays the game if that takes at most S seconds, else loads a snapshot; the "         \
          "relay expects 5 times the game's pace from a machine that it does not know")

struct kl_lobby_limits {
    unsigned peers;       /* connections the network can hold */
    unsigned rooms;       /* at once */
    unsigned seats;       /* of one room, 1..KL_MAX_SEATS */
    unsigned watchers;    /* of one room; of all rooms a quarter of the peers. 0: a spectator is one of the
                          room's clients */
    unsigned record_days; /* for which recordings of ended rooms are kept; 0: they are not kept */
    unsigned record_chat; /* 1: the recordings have what was said in the match */
    unsigned no_delete;   /* 1: players may not delete the recordings of their matches */
#define FIELD(field, ...) unsigned field;
    KL_LOBBY_LIMITS(FIELD) /* 0 in one of these: its default */
#undef FIELD
};
extern const struct kl_lobby_limits kl_lobby_defaults;

/* Packets of speech. */
struct kl_voice_count {
    uint64_t in, out; /* that came and were sent on; each of them once for each listener */
    /* Left out: malformed; nobody hears them, or may; above the client's limits; of more talkers than a room
     * has; they have waited for the relay too long. */
    uint64_t malformed, unheard, limited, crowded, late;
};

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
    /* A VOICE: the first to be dropped. */
    void (*voice)(void *ctx, unsigned peer, const uint8_t *body, size_t len);
    /* Bytes of the peer's session so far; good in kl_lobby_lost(), too. NULL: not counted. */
    struct kl_traffic (*traffic)(void *ctx, unsigned peer);
    void (*settle)(void *ctx, unsigned peer);  /* it is in a room; NULL: nobody need know */
    void (*ping)(void *ctx, unsigned peer);    /* it hears something; NULL: it does all the same */
    void (*hang_up)(void *ctx, unsigned peer); /* once everything sent has been delivered */
    uint32_t (*session)(void *ctx, unsigned peer);
    const uint8_t *(*binding)(void *ctx, unsigned peer); /* 32 bytes: of its session's keys (seal.h) */
};

#endif

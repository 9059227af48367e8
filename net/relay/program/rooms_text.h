/* rooms_text.h - a relay's rooms in memory that all its processes share, and their text for /api/rooms.
 *
 * A process writes a place of its own about once a second. A reader copies a place in a bounded number of
 * tries. Rooms that are not listed, and addresses, are told to the host alone. */
#ifndef KL_ROOMS_TEXT_H
#define KL_ROOMS_TEXT_H

#include "net/platform/buffer.h"
#include "net/platform/seqlock.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/room/lobby_room.h"

#define KL_ROOMS_TEXT_BYTES ((size_t)128 * 1024) /* of an answer */

struct kl_shown_player {
    char name[KL_NAME_MAX], address[KL_PLACE_TEXT]; /* address: as in the log; "": it has no link now */
    uint8_t number, seats;                          /* number: its place in the room */
    bool rtt_known, holds_up, sets_lead;            /* sets_lead: its link alone */
    uint64_t up, down, up_s, down_s;                /* bytes of its session; in a second, lately */
    uint32_t rtt_us, backlog;                       /* backlog: frames sent and not yet run */
};

struct kl_shown_room {
    uint64_t at_us;
    enum kl_shard_listed is;
    uint8_t phase;
    bool paused;
    uint32_t frame, lead, stalls; /* lead: frames, of the last one closed */
    uint32_t story, lines;        /* its story's number and lines so far */
    struct kl_lobby_listing line;
    unsigned members;
    struct kl_shown_player member[KL_MAX_CLIENTS];
};

struct kl_shown_rooms {
    _Atomic uint32_t end; /* places below have had a room */
    kl_seqlock lock[KL_SHARD_ROOMS];
    struct kl_shown_room at[KL_SHARD_ROOMS];
    struct kl_log_story story[KL_SHARD_ROOMS]; /* written by the log */
};

/* Forgets the rooms of a process before this one. */
void kl_rooms_text_begin(struct kl_shown_rooms *rooms);
/* Writes each fourth place, from place turn % 4 on. */
void kl_rooms_text_look(struct kl_shown_rooms *rooms, const struct kl_lobby *l, unsigned turn,
                        uint64_t now_us);
/* An object: its rooms from place `from` of all processes on, and "next", the place to go on with, or null.
 * It ends behind so many bytes. rooms_of(ctx, shard): of process shard < count. to_host: unlisted rooms and
 * addresses, too. */
struct kl_rooms_told {
    const struct kl_shown_rooms *(*rooms_of)(const void *ctx, unsigned shard);
    const void *ctx;
    unsigned count;
    bool to_host;
};
void kl_rooms_text_tell(struct kl_buffer *to, const struct kl_rooms_told *of, unsigned from, size_t bytes);
/* {"room":{…},"story":[…]: of the room of this name; its lines lack their addresses unless told to the host.
 * The caller ends the object. False: it has no such room, and to is as it was. */
bool kl_rooms_text_tell_one(struct kl_buffer *to, const struct kl_rooms_told *of, const char *name);
/* A string of JSON. Bytes that are no UTF-8 become U+FFFD. */
void kl_rooms_text_quote(struct kl_buffer *to, const char *text);

#endif

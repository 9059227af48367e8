/* lobby_ticket.h - a room as a ticket, and a room made again from its journal. */
#ifndef KL_LOBBY_TICKET_H
#define KL_LOBBY_TICKET_H

#include "net/relay/room/lobby_room.h"

/* --- tickets --- */

/* A room's record: with it, the start data and the history, a relay that was started anew makes the room
 * again. The journal keeps it, sealed (net/session/seal.h).
 *
 * Pure. It holds the stretched password and hashes of tokens, never a token or session key. */

#define KL_LOBBY_TICKET_VERSION 3

struct kl_ticket_member {
    bool here;
    uint8_t seats;
    uint32_t joined;
    char name[KL_NAME_MAX];
    uint8_t seat_key[KL_SEAT_KEY_BYTES], token_hash[2][KL_SEAT_HASH];
};

struct kl_lobby_ticket {
    uint32_t number,
        frame; /* number: grows with each ticket of the room; frame: the next to close when it was made */
    char name[KL_NAME_MAX], maker[KL_NET_TEXT];
    uint8_t id[KL_ROOM_ID_BYTES];
    uint8_t doors, salt[KL_DOOR_SALT], secret[KL_DOOR_SECRET];
    uint16_t seat_time_s, delay_s;
    uint64_t epoch_s;
    uint32_t start_bytes;
    uint8_t start_hash[16]; /* BLAKE2b of the start data */
    struct kl_params params;
    struct kl_facts facts, ready;
    uint8_t host; /* member, or KL_NO_HOST */
    uint32_t joins;
    struct kl_ticket_member member[KL_MAX_CLIENTS];
    uint8_t bans;
    struct kl_lobby_person ban[KL_BANS_MAX];
    bool recorded;
    char match[KL_MATCH_MAX];
    uint8_t voice; /* enum kl_voice_allowed */
};

/* Rooms whose history had become too long without a snapshot have no start data any more, and need none. */
bool kl_lobby_ticket_has_start(const struct kl_lobby_ticket *t);

/* Fills in the ticket of the room's present state. */
void kl_lobby_ticket_of(struct kl_lobby_ticket *t, const struct kl_lobby_room *r);

/* Makes a new ticket of the room's present state: r->past.ticket. */
void kl_lobby_ticket_renew(struct kl_lobby_room *r);

/* The length; KL_E_SPACE (never with cap >= KL_TICKET_BODY_MAX). */
int kl_lobby_ticket_encode(const struct kl_lobby_ticket *t, uint8_t *buf, size_t cap);
/* 0; KL_E_MALFORMED; KL_E_VERSION. */
int kl_lobby_ticket_decode(struct kl_lobby_ticket *t, const uint8_t *buf, size_t len);
/* The same for a sealed ticket; KL_E_MALFORMED also if this relay did not seal it. */
int kl_lobby_ticket_open(struct kl_lobby_ticket *t, const uint8_t relay_secret[32], const uint8_t *sealed,
                         size_t len);

/* --- rooms made again --- */

/* Makes a room again from its journal: sealed ticket, start data, pieces of frames (net/engine/frames.h).
 * net/ROOMS.md §7, kept seats.
 *
 *     kl_lobby_ticket_open(&ticket, secret, sealed, len);
 *     r = kl_lobby_restore(l, &ticket, start, len, now_us);
 *     for each piece: kl_lobby_restore_piece(r, piece, len);
 *
 * Until the room is open nobody can enter it. The first RETURN of a member opens it; the others come back as
 * after a lost link, within the seat time from then on. A client with the key of a seat gets the seat even
 * with an unknown token, because the token may be newer than the ticket. If nobody comes within the seat time
 * from the beginning, the room ends. Only inside net/relay. */

/* NULL, with one line for people in why: there is a room of that name, no place or memory for another, or the
 * start data does not match the ticket. start is copied; NULL: the room is there by name alone, and cannot be
 * opened. */
struct kl_lobby_room *kl_lobby_restore(struct kl_lobby *l, const struct kl_lobby_ticket *t,
                                       const uint8_t *start, size_t start_len, uint64_t now_us, char *why,
                                       size_t cap);

/* Takes those frames of a piece that the room lacks; pieces may overlap. KL_OK, or the error of the first
 * frame that cannot be taken: KL_E_WINDOW, KL_E_MALFORMED (see kl_lock_adopt()), KL_E_SPACE (no memory). */
int kl_lobby_restore_piece(struct kl_lobby_room *r, const uint8_t *piece, size_t len);
/* Takes the next frame, and the commands before it (NULL: none). */
int kl_lobby_restore_frame(struct kl_lobby_room *r, const struct kl_frame *f,
                           const struct kl_commands *commands);

/* The game goes on once the first member is back, and after hold_us (0: at once) without the missing ones.
 * KL_E_STATE if the room has no frames, or nobody has a seat. */
int kl_lobby_restore_open(struct kl_lobby_room *r, uint64_t hold_us, uint64_t now_us);

/* Gives a room up that is not open yet: r is freed. */
void kl_lobby_restore_drop(struct kl_lobby_room *r);

#endif

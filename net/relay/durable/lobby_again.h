/* lobby_again.h - makes a forgotten room again, from its ticket, its start data and its frames, which come
 * from a journal or from clients. net/PROTOCOL.md §7, tags and tickets.
 *
 * Both give the same parts: the sealed ticket, the start data, pieces of frames (net/engine/frames.h), tags.
 *
 *     kl_lobby_ticket_open(&ticket, secret, sealed, len);
 *     r = kl_lobby_again(l, &ticket, start, len, now_us);
 *     only if the frames do not go back to frame 0: kl_lobby_again_from_base(r);
 *     for each piece: kl_lobby_again_piece(r, piece, len, end);
 *     for each tag: kl_lobby_again_proves(r, i, tag);
 *     kl_lobby_again_open(r, hold_us, now_us);
 *
 * Until the room is open no client can enter or return. Then its members come back as after a lost link,
 * within the seat time from now on. A client with the key of a seat gets the seat even with an unknown token,
 * because the token may be newer than the ticket. Only inside net/relay. */
#ifndef KL_LOBBY_AGAIN_H
#define KL_LOBBY_AGAIN_H

#include "net/relay/durable/lobby_ticket.h"

/* NULL, with one line for people in why: there is a room of that name, no place or memory for another, or the
 * start data does not match the ticket. start is copied. */
struct kl_lobby_room *kl_lobby_again(struct kl_lobby *l, const struct kl_lobby_ticket *t,
                                     const uint8_t *start, size_t start_len, uint64_t now_us, char *why,
                                     size_t cap);

/* The room's frames begin with the ticket's base. Before the first frame. False: the ticket has none. */
bool kl_lobby_again_from_base(struct kl_lobby_room *r);

/* Takes those frames of a piece below `end` that the room lacks; pieces may overlap. KL_OK, or the error of
 * the first frame that cannot be taken: KL_E_WINDOW, KL_E_MALFORMED (see kl_lock_adopt()), KL_E_SPACE (no
 * memory). */
int kl_lobby_again_piece(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t end);
/* Takes the next frame, and the commands before it (NULL: none). */
int kl_lobby_again_frame(struct kl_lobby_room *r, const struct kl_frame *f,
                         const struct kl_commands *commands);

/* True if the frames so far give interval i this tag: then they are, up to its end, as this relay closed
 * them. False also if the interval is incomplete or too old. */
bool kl_lobby_again_proves(const struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG]);

/* Frames that come from now on are on trial (r->reopening.trial). kl_lobby_again_undo() drops them and
 * restores the room as it was before; kl_lobby_again_believe() keeps them. False: no memory. */
bool kl_lobby_again_try(struct kl_lobby_room *r);
void kl_lobby_again_undo(struct kl_lobby_room *r);
void kl_lobby_again_believe(struct kl_lobby_room *r);

/* Takes over members, seats, door, bans and host from a newer ticket of the room. An older or equal ticket
 * changes nothing. Also allowed once the room is open. */
void kl_lobby_again_renew(struct kl_lobby_room *r, const struct kl_lobby_ticket *t, uint64_t now_us);

/* The game goes on once the first member is back, and after hold_us (0: at once) without the missing ones.
 * KL_E_STATE if the room has no frames. */
int kl_lobby_again_open(struct kl_lobby_room *r, uint64_t hold_us, uint64_t now_us);

/* Gives up: the room is gone. */
void kl_lobby_again_drop(struct kl_lobby_room *r);

#endif

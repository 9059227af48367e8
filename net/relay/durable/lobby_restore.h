/* lobby_restore.h - makes a room again from its journal: sealed ticket, start data, pieces of frames
 * (net/engine/frames.h). net/ROOMS.md §7, kept seats.
 *
 *     kl_lobby_ticket_open(&ticket, secret, sealed, len);
 *     r = kl_lobby_restore(l, &ticket, start, len, now_us);
 *     for each piece: kl_lobby_restore_piece(r, piece, len);
 *
 * Until the room is open nobody can enter it. The first RETURN of a member opens it; the others come back as
 * after a lost link, within the seat time from then on. A client with the key of a seat gets the seat even
 * with an unknown token, because the token may be newer than the ticket. If nobody comes within the seat time
 * from the beginning, the room ends. Only inside net/relay. */
#ifndef KL_LOBBY_RESTORE_H
#define KL_LOBBY_RESTORE_H

#include "net/relay/durable/lobby_ticket.h"

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

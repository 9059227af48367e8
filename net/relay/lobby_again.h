/* lobby_again.h - a room that this relay has forgotten is made again: from its ticket, its start data and its
 * frames, which come from a journal or from clients. net/PROTOCOL.md §7, tags and tickets.
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
 * Until it is open nobody can enter or return; then its members come back as after a lost link, for the seat
 * time from now on. Who proves to have the key of a seat has it, whatever his token: the ticket may be older
 * than that. Only inside net/relay. */
#ifndef KL_LOBBY_AGAIN_H
#define KL_LOBBY_AGAIN_H

#include "net/relay/lobby_ticket.h"

/* NULL, with one line for people in why: there is a room of that name, no place or memory for another, or the
 * start data is not the one that the ticket names. start is copied. */
struct kl_lobby_room *kl_lobby_again(struct kl_lobby *l, const struct kl_lobby_ticket *t,
                                     const uint8_t *start, size_t start_len, uint64_t now_us, char *why,
                                     size_t cap);

/* The room's frames begin with the ticket's base. Before the first frame. False: the ticket has none. */
bool kl_lobby_again_from_base(struct kl_lobby_room *r);

/* The frames of a piece below `end` that the room does not have yet: pieces may overlap. KL_OK, or of the
 * first frame that cannot be taken: KL_E_WINDOW, KL_E_MALFORMED (see kl_room_adopt()), KL_E_SPACE (no
 * memory). */
int kl_lobby_again_piece(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t end);
/* The next frame alone, and the commands before it (NULL: none). */
int kl_lobby_again_frame(struct kl_lobby_room *r, const struct kl_frame *f,
                         const struct kl_commands *commands);

/* The frames so far give interval i this tag: all of them up to its end are as this relay closed them. False
 * also if it is not complete, or too long ago. */
bool kl_lobby_again_proves(const struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG]);

/* Frames that come from now on are on trial (r->trial) until one of the other two ends it: they go and all is
 * as it was before, or they stay. False: there is no memory for that. */
bool kl_lobby_again_try(struct kl_lobby_room *r);
void kl_lobby_again_undo(struct kl_lobby_room *r);
void kl_lobby_again_believe(struct kl_lobby_room *r);

/* A newer ticket of the room than the one that it was made of: who has left it since is out, who has joined
 * it is in, seats, door, bans and host are as they were then. An older one, or the same: nothing. Also once
 * it is open. */
void kl_lobby_again_renew(struct kl_lobby_room *r, const struct kl_lobby_ticket *t, uint64_t now_us);

/* The game goes on once the first is back, and after hold_us (0: at once) without those who are not.
 * KL_E_STATE where it has no frames. */
int kl_lobby_again_open(struct kl_lobby_room *r, uint64_t hold_us, uint64_t now_us);

/* Gives up: the room is gone. */
void kl_lobby_again_drop(struct kl_lobby_room *r);

#endif

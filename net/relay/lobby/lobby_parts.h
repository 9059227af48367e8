/* lobby_parts.h - functions that the parts of the lobby have for each other. Only inside net/relay.
 *
 * lobby.c            arriving messages, due times
 * lobby_join.c       HELLO: rooms are made and entered
 * lobby_door.c       passwords, locks, bans
 * lobby_seat.c       leaving, seats that are kept, RETURN
 * lobby_start.c      start data, READY, start
 * lobby_late.c       members that join a game under way
 * lobby_turn.c       rematches, seats that change hands, the queue for seats
 * lobby_way.c        the ways of members
 * lobby_play.c       frames, verdicts, stalls
 * lobby_past_send.c  history, tags and tickets on their way to members
 * lobby_command.c    commands of members and operator
 * lobby_slot.c       members that have the room's saved state
 * lobby_roster.c     rosters */
#ifndef KL_LOBBY_PARTS_H
#define KL_LOBBY_PARTS_H

#include "net/relay/durable/journal.h"
#include "net/relay/durable/lobby_bring.h"
#include "net/relay/heal/lobby_heal.h"
#include "net/relay/heal/lobby_snapshot.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/room/lobby_room.h"
#include "net/relay/watch/lobby_watch.h"

/* --- lobby_join.c --- */
/* Puts out newcomers whose links need a longer lead than the room allows. */
void kl_lobby_join_measured(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_hello(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, uint64_t now_us);
/* Once the door is passed. salt, secret: of the room to be made, or NULL. */
void kl_lobby_enter(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, const uint8_t *salt,
                    const uint8_t *secret, uint64_t now_us);
/* A free place for a member. */
unsigned kl_lobby_member_free(const struct kl_lobby_room *r); /* KL_MAX_CLIENTS: there is none */
/* A member goes: keeps what it cost the others. */
void kl_lobby_keep_account(struct kl_lobby_room *r, unsigned member);
/* The lowest free seats, `wanted` many, as a mask; 0 if there are not as many, or the game is full. */
uint8_t kl_lobby_free_seats(const struct kl_lobby_room *r, unsigned wanted);
/* Makes the client of this connection a member with these seats, and welcomes it. There is memory for it
 * (kl_lobby_memory_take()). */
unsigned kl_lobby_admit(struct kl_lobby_room *r, unsigned peer, const char *name, const uint8_t *seat_key,
                        uint8_t seats, uint64_t now_us);
/* The code of the refusal that this HELLO gets, with its text; 0: it may enter. r: the room, or NULL to make
 * one. */
int kl_lobby_objection(const struct kl_lobby *l, const struct kl_lobby_room *r, const struct kl_hello *h,
                       const char *address, char *text, size_t cap);
void kl_lobby_free_room(struct kl_lobby_room *r);

/* --- lobby_door.c --- */
/* True: the client must prove or set a password first, or it is too early for another try; it is answered.
 * False: it may enter. r: the room, or NULL to make one. */
bool kl_lobby_door_knock(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_hello *h,
                         uint64_t now_us);
void kl_lobby_door_prove(struct kl_lobby *l, unsigned peer, const struct kl_prove *p, uint64_t now_us);
void kl_lobby_door_leave(struct kl_lobby_client *c); /* it no longer knocks */
/* True: refuse this HELLO, because of a lock, a ban, or a password that only one of the two sides has; text
 * says so. */
bool kl_lobby_door_shut(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address,
                        char *text, size_t cap);
void kl_lobby_lock(struct kl_lobby_room *r, bool locked, const char *who);
/* who: the giver of the order, for the log and the screens: "the host". */
void kl_lobby_kick(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
void kl_lobby_ban(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
/* Wrong tries at passwords and seats. Seconds to wait before the next one, 0: none. r: the room, or NULL. */
unsigned kl_lobby_tries_wait_s(struct kl_lobby *l, struct kl_lobby_room *r, const char *address,
                               uint64_t now_us);
void kl_lobby_tries_wrong(struct kl_lobby *l, struct kl_lobby_room *r, const char *address, uint64_t now_us);

/* --- lobby_seat.c --- */
/* BYE. */
void kl_lobby_take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The member's connection is lost; its seat is kept. */
void kl_lobby_cut(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us);
/* Frees seats whose time is up. */
void kl_lobby_seat_chores(struct kl_lobby_room *r, uint64_t now_us);
/* Sends WELCOME with a new token. */
void kl_lobby_welcome(struct kl_lobby_room *r, unsigned member);

/* --- lobby_turn.c --- */
/* RESET of a member: it wants a rematch. */
int kl_lobby_ask_rematch(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* As kl_lobby_free_seats(), for a newcomer: none while somebody waits for one. */
uint8_t kl_lobby_open_seats(const struct kl_lobby_room *r, unsigned wanted);
/* The number of those that wait for a seat; out: KL_QUEUE_MAX of them, the first one first, or NULL. */
unsigned kl_lobby_waiting(const struct kl_lobby_room *r, struct kl_waiter *out);
/* A member wants so many free seats (1..KL_MAX_SEATS), to watch (0), or to hand on its seats (KL_SEAT_NEXT).
 * If no seat is free it waits in the queue. KL_E_STATE if that is impossible; the member is told. */
int kl_lobby_take_seat(struct kl_lobby_room *r, unsigned member, unsigned wanted, uint64_t now_us);
/* The same for a watcher, which may be gone then: it is a member. */
void kl_lobby_watcher_seat(struct kl_lobby_room *r, struct kl_lobby_watcher *watcher, unsigned wanted,
                           uint64_t now_us);
/* A new member found no seat. */
void kl_lobby_late_waits(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* Offers seats to the first of the queue. From time to time, and when seats or the queue have changed. */
void kl_lobby_turn_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_late.c --- */
/* Sets the game's number of seats, 1..KL_MAX_SEATS. KL_E_STATE: more are taken, or this relay's rooms have
 * fewer. */
int kl_lobby_set_places(struct kl_lobby_room *r, unsigned places, const char *who);
/* During the game: a new member gets all it needs, and its progress is checked until it has caught up. */
void kl_lobby_late_join(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The same for a former watcher that has every frame below `have`. */
void kl_lobby_late_goes_on(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us);
/* A hash of the member for this frame is being compared; all hashes up to this frame were found equal. */
void kl_lobby_late_said(struct kl_lobby_room *r, unsigned member, uint32_t frame);
void kl_lobby_late_checked(struct kl_lobby_room *r, uint32_t frame);
/* With each run: finds members that have caught up. From time to time: members that make no progress. */
void kl_lobby_late_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_late_chores(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_way.c --- */
/* True: a client without history cannot be brought up to date. consents: it loads others' states. why: the
 * text for such a client, in any case. */
bool kl_lobby_way_closed(const struct kl_lobby_room *r, bool consents, char *why, size_t cap);
/* A member is about to load: orders the snapshot that it may need then. */
void kl_lobby_way_ahead(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* A member that is loaded and has every frame below `have` sets out, now or when its way is known. May put it
 * out. */
void kl_lobby_set_out(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us);
/* HEALED. May put it out. */
void kl_lobby_way_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                         uint64_t now_us);
void kl_lobby_way_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_way_left(struct kl_lobby_room *r, unsigned member); /* or lost its link */

/* --- lobby_start.c --- */
void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_start_left(struct kl_lobby_room *r, bool was_host);
/* True if the host was asked for the start data, and not all of it is here: the host cannot change until
 * then. */
bool kl_lobby_start_under_way(const struct kl_lobby_room *r);
/* A member is back before the game begins. */
void kl_lobby_start_returned(struct kl_lobby_room *r, unsigned member, bool fresh, uint64_t now_us);
/* During the game: the member gets start data and all frames. False if these are not kept. */
bool kl_lobby_start_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* false: the message breaks the protocol; the caller puts the member out. */
bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us);
bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us);
/* Its READY is compared, or is not needed any more. Harmless twice. */
void kl_lobby_start_drop_ready(struct kl_lobby_member *m);
/* Moves the room towards its start as far as possible. May put members out. */
void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_play.c --- */
/* HASH. */
void kl_lobby_play_hash(struct kl_lobby_room *r, unsigned member, const struct kl_hash *h, uint64_t now_us);
/* Takes closed frames, sends due datagrams. */
void kl_lobby_play_run(struct kl_lobby_room *r, uint64_t now_us);
/* Once per KL_CHORES_US: stall and status lines, spectators without players. */
void kl_lobby_play_chores(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_past_send.c --- */
/* Sends as much of history, tags and ticket as may go now. */
void kl_lobby_past_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_command.c --- */
/* The host alone may change policy, seats, the door and the host; all members may give the other commands. A
 * forbidden command is ignored, and the member is told. */
void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us);

/* Counts again if most players report the same new rate of the core. To be called after a member left or came
 * back. */
void kl_lobby_rate_look(struct kl_lobby_room *r);

/* --- lobby_slot.c --- */
/* Command SAVED. KL_E_MALFORMED. */
int kl_lobby_slot_said(struct kl_lobby_room *r, unsigned member, const struct kl_order *o);
/* The keyframe of the newest reported SAVE. False: there is none. */
bool kl_lobby_slot_newest(const struct kl_lobby_room *r, uint32_t *keyframe);
/* True if all members have the save of this LOAD's keyframe, with equal hashes. False: the room is told the
 * names of the others. */
bool kl_lobby_slot_agreed(struct kl_lobby_room *r, const struct kl_order *o);

/* --- lobby_roster.c --- */
void kl_lobby_send_roster(struct kl_lobby_room *r);
void kl_lobby_send_roster_to(struct kl_lobby_room *r, unsigned peer);

/* --- for kl_lobby_above --- */
void kl_lobby_do_turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text);
void kl_lobby_do_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                         uint64_t now_us);
void kl_lobby_do_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us);
int kl_lobby_do_reseat(struct kl_lobby_room *r, unsigned member, uint8_t seats, const char *why,
                       uint64_t now_us);
bool kl_lobby_do_way_apart(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
bool kl_lobby_do_way_anew(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_do_take_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us);
void kl_lobby_do_end_room(struct kl_lobby_room *r, const char *why_members, const char *why_watchers,
                          uint64_t now_us);
void kl_lobby_do_free_empty_rooms(struct kl_lobby *l);

#endif

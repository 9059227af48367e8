/* lobby_parts.h - functions that the parts of the lobby have for each other. Only inside net/relay.
 *
 * lobby.c            arriving messages, due times
 * lobby_end.c        ends of connections, memberships and rooms; rooms that give way
 * lobby_join.c       HELLO: rooms are made and entered
 * lobby_door.c       passwords, locks, bans
 * lobby_fleet.c      people for rooms that are at other relays; rooms that other relays may have
 * lobby_seat.c       seats that are kept, RETURN
 * lobby_start.c      start data, READY, start
 * lobby_late.c       members that join a game under way
 * lobby_turn.c       seats that change hands, the queue for seats, rosters
 * lobby_wish.c       what more than half of the players must want
 * lobby_play.c       frames, history, verdicts, ties, stalls
 * lobby_direct.c     players that may send samples straight to each other
 * lobby_voice.c      speech, on its way from player to player
 * lobby_recordings.c players who want the recording of their match deleted; players of challenges: their
 *                    tokens and runs
 * lobby_command.c    commands of members and operator; the room's saved state
 * lobby_pause.c      pauses, and their ends */
#ifndef KL_LOBBY_PARTS_H
#define KL_LOBBY_PARTS_H

#include "net/relay/durable/journal.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/heal/lobby_heal.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/room/lobby_room.h"
#include "net/relay/watch/lobby_watch.h"
#include "net/session/proof.h"

/* --- lobby_end.c --- */
/* Turns away a connection that is in no room. */
void kl_lobby_turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *format, ...)
    __attribute__((format(__printf__, 4, 5)));
void kl_lobby_door_leave(struct kl_lobby *l, struct kl_lobby_client *c); /* neither knocks nor waits */
/* A client that waits for the fleet's word on its room. */
#define KL_LOBBY_NO_PLACE KL_FLEET_ASKS
struct kl_lobby_asking {
    unsigned place;              /* of its question; KL_LOBBY_NO_PLACE: none yet */
    uint64_t again_us, until_us; /* it is asked at the one, and given up at the other */
    bool returns;
    enum kl_fleet_how how;
    union {
        struct kl_hello hello;
        struct kl_return back; /* if it returns */
    };
};
/* Its place is another's, until it asks again. */
void kl_lobby_ask_rests(struct kl_lobby *l, struct kl_lobby_asking *a);
void kl_lobby_ask_no_more(struct kl_lobby *l, struct kl_lobby_client *c);
/* Sends the reason, hangs up, and takes the member out of the room. (The next kl_lobby_run() frees an empty
 * room; a pointer to it stays valid until then.) */
void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us);
/* The same for a reason of heal/visitor_catchup.c; NULL: the member stays. */
void kl_lobby_put_out_for(struct kl_lobby_room *r, unsigned member, const struct kl_text *why,
                          uint64_t now_us);
/* Takes a member out of the room; its connection is the caller's business. why: for the log and the others'
 * screens. */
void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us);
/* BYE. */
void kl_lobby_take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The member has no connection any more; its place is kept. */
void kl_lobby_unlink(struct kl_lobby_room *r, unsigned member);
/* The account, and what is spent, of somebody who comes again: with that seat key, or from that address. They
 * left the room, or a seat is kept for them that they do not come back to. */
struct kl_lobby_left kl_lobby_account_of(const struct kl_lobby_room *r, const struct kl_lobby_person *who);
/* The place in the queue is lost, and a seat that was offered with it. */
void kl_lobby_lose_turn(struct kl_lobby_room *r, struct kl_visitor *v);
/* True if the host was asked for the start data, and not all of it is here: the host cannot change until
 * then. */
bool kl_lobby_start_under_way(const struct kl_lobby_room *r);
/* Its READY is compared, or is not needed any more. Harmless twice. */
void kl_lobby_start_drop_ready(struct kl_lobby_member *m);
void kl_lobby_free_room(struct kl_lobby_room *r);
/* The room has no members: its journal ends with this reason, and r is freed. */
void kl_lobby_end_room(struct kl_lobby_room *r, const char *reason, uint64_t now_us);
/* Puts all of the room out with this reason, and ends it: r is freed. */
void kl_lobby_close(struct kl_lobby_room *r, const char *why, uint64_t now_us);
/* Of these rooms (NULL: none) those without members, but for such as would take the turn's time: l->ends_wait
 * then. */
void kl_lobby_end_empty_rooms(struct kl_lobby *l, struct kl_lobby_room **room, unsigned rooms,
                              uint64_t now_us);

/* --- lobby_direct.c --- */
/* DIRECT. */
void kl_lobby_direct_said(struct kl_lobby_room *r, unsigned member);
/* Tells the members that said so of each other, once something has changed. */
void kl_lobby_direct_chores(struct kl_lobby_room *r);

/* --- lobby_voice.c --- */
/* HEAR of a member or a watcher; above the limits of commands it is ignored, unless it ends that. */
void kl_lobby_hear(struct kl_lobby_room *r, struct kl_visitor *v, const struct kl_hear *h, uint64_t now_us);
/* Tells those that take part of each other, once something has changed. */
void kl_lobby_voice_chores(struct kl_lobby_room *r);
/* The host's command. KL_E_MALFORMED: there is no such value. */
int kl_lobby_voice_allow(struct kl_lobby_room *r, uint8_t allowed, const char *who);

/* --- lobby_join.c --- */
/* Puts out newcomers whose links need a longer lead than the room allows. */
void kl_lobby_join_measured(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_hello(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, uint64_t now_us);
/* Once the door is passed. salt, secret: of the room to be made, or NULL. */
void kl_lobby_enter(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, const uint8_t *salt,
                    const uint8_t *secret, uint64_t now_us);
/* A free place for a member. */
unsigned kl_lobby_member_free(const struct kl_lobby_room *r); /* KL_MAX_CLIENTS: there is none */
/* The lowest free seats, `wanted` many, as a mask; 0 if there are not as many, or the game is full. */
uint8_t kl_lobby_free_seats(const struct kl_lobby_room *r, unsigned wanted);
/* Makes the client of this connection a member with these seats, and welcomes it. There is memory for it
 * (kl_lobby_memory_take()). */
unsigned kl_lobby_admit(struct kl_lobby_room *r, unsigned peer, const char *name, const uint8_t *seat_key,
                        uint8_t seats, uint64_t now_us);
/* The code of the refusal that this HELLO gets, with its text; 0: it may enter. r: the room, or NULL to make
 * one: a room without a link may have ended to make place for it. */
int kl_lobby_objection(struct kl_lobby *l, const struct kl_lobby_room *r, const struct kl_hello *h,
                       const char *address, char *text, size_t cap, uint64_t now_us);
/* Tells the room, if code is KL_REFUSE_IDENTITY, the player's name and what differs. r NULL: nothing. */
void kl_lobby_tell_refused(struct kl_lobby_room *r, const struct kl_hello *h, int code, uint64_t now_us);

/* --- lobby_fleet.c: people --- */

/* True: this client, with HELLO or RETURN, waits for the fleet's word on its room, or was turned away. */
bool kl_lobby_fleet_asks(struct kl_lobby *l, unsigned peer, const struct kl_msg *m, uint64_t now_us);
/* Those whose answer is here go on. */
void kl_lobby_fleet_turn(struct kl_lobby *l, uint64_t now_us);

/* --- lobby_fleet.c: rooms; nothing without a fleet --- */
/* Nobody gets the room's frames, for Redis has not all of its files yet: for 5 ms, and then not again until
 * Redis has them. */
bool kl_lobby_fleet_holds(struct kl_lobby_room *r, uint64_t now_us);
/* Rooms that need not wait any more are due. */
void kl_lobby_fleet_release(struct kl_lobby *l, uint64_t now_us);

/* Tells a room's members the relays that may go on with it, if there are others than before. */
void kl_lobby_fleet_tell(struct kl_lobby_room *r, uint64_t now_us);
/* While this relay's entry in Redis does not stand, no frame closes without all players; the others are sent
 * on where one is missing for long. */
void kl_lobby_fleet_stand(struct kl_lobby_room *r, uint64_t now_us);
/* False: there is no other relay. All its processes hand their matches on then. */
bool kl_lobby_fleet_drain(struct kl_lobby *l, uint64_t now_us);
/* The next one, at drain_us. */
void kl_lobby_fleet_drain_turn(struct kl_lobby *l, uint64_t now_us);
/* Rooms that another relay has by now, or shall have, end here, and their people are sent on. */
void kl_lobby_fleet_lose(struct kl_lobby *l, uint64_t now_us);

/* --- lobby_door.c --- */
/* True: the client must prove or set a password first, or it is too early for another try; it is answered.
 * False: it may enter. r: the room, or NULL to make one. */
bool kl_lobby_door_knock(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_hello *h,
                         uint64_t now_us);
void kl_lobby_door_prove(struct kl_lobby *l, unsigned peer, const struct kl_prove *p, uint64_t now_us);
/* True: refuse this HELLO, because of a lock, a bar, or a password that only one of the two sides has; text
 * says so. */
bool kl_lobby_door_shut(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address,
                        char *text, size_t cap, uint64_t now_us);
void kl_lobby_lock(struct kl_lobby_room *r, bool locked, const char *who);
/* who: the giver of the order, for the log and the screens: "the host". */
void kl_lobby_kick(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
void kl_lobby_ban(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
/* After a ban: the other watchers and clients without seats of a banned address go, too. */
void kl_lobby_put_out_banned(struct kl_lobby_room *r, const char *who, uint64_t now_us);
/* A wrong try at a password or a seat. r: the room, or NULL. */
void kl_lobby_tries_wrong(struct kl_lobby *l, struct kl_lobby_room *r, const char *address, uint64_t now_us);

/* Seconds to wait before the next such try from there, 0: none. */
unsigned kl_lobby_tries_wait_s(struct kl_lobby *l, struct kl_lobby_room *r, const char *address,
                               uint64_t now_us);

/* --- lobby_recordings.c: deleting --- */
/* DELETE. The answer, REFUSE with its text, goes out at once or from kl_lobby_wishes_turn(). */
void kl_lobby_delete(struct kl_lobby *l, unsigned peer, const struct kl_delete *d, uint64_t now_us);
void kl_lobby_wishes_turn(struct kl_lobby *l, uint64_t now_us);

/* --- lobby_recordings.c: challenges --- */
/* CHALLENGE, RUN, and the run's DATA. */
void kl_lobby_challenge(struct kl_lobby *l, unsigned peer, const struct kl_wanted *w, uint64_t now_us);
void kl_lobby_hand_in(struct kl_lobby *l, unsigned peer, const struct kl_run *r, uint64_t now_us);
void kl_lobby_hand_in_data(struct kl_lobby *l, unsigned peer, const struct kl_data *d, uint64_t now_us);

/* --- lobby_seat.c --- */
/* The member's connection is lost; its seat is kept. */
void kl_lobby_cut(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us);
/* Those that wait for their room to be read (journal.h): one room a turn. */
void kl_lobby_return_next(struct kl_lobby *l, uint64_t now_us);
/* Frees seats whose time is up. */
void kl_lobby_seat_chores(struct kl_lobby_room *r, uint64_t now_us);
/* Sends WELCOME with a new token. */
void kl_lobby_welcome(struct kl_lobby_room *r, unsigned member);

/* --- lobby_pause.c --- */
/* PAUSE of a member, or of the operator (KL_RELAY_CLIENT); who: for the screens. Empty data toggles. A
 * pause or resume that is named cannot undo another member's equal one. */
int kl_lobby_pause(struct kl_lobby_room *r, unsigned client, const char *who, const uint8_t *data, size_t len,
                   uint64_t now_us);
/* With each run: tells of a pause that has begun, and ends one that has lasted long enough. */
void kl_lobby_pause_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_wish.c --- */
/* RESET, LOAD or OPTION of a member: goes to the room once more than half of the players want it. RESET
 * agrees to any wish of another. KL_E_STATE if it cannot wish that now; the member is told. */
int kl_lobby_wish(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us);

/* --- lobby_turn.c --- */
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
/* Offers seats to the first of the queue. From time to time, and when seats or the queue have changed. */
void kl_lobby_turn_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_late.c --- */
/* Gives a member other seats in the game; 0: it watches. KL_E_STATE if a seat is taken, KL_E_SPACE without
 * memory. why: for the log. */
int kl_lobby_reseat(struct kl_lobby_room *r, unsigned member, uint8_t seats, const char *why,
                    uint64_t now_us);
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

/* --- lobby_start.c --- */
void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* A member is back before the game begins. */
void kl_lobby_start_returned(struct kl_lobby_room *r, unsigned member, bool fresh, uint64_t now_us);
/* false: the message breaks the protocol; the caller puts the member out. */
bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us);
bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us);
/* Moves the room towards its start as far as possible. May put members out. */
void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_play.c --- */
/* HASH. */
void kl_lobby_play_hash(struct kl_lobby_room *r, unsigned member, const struct kl_hash *h, uint64_t now_us);
/* Takes closed frames, sends due datagrams. */
void kl_lobby_play_run(struct kl_lobby_room *r, uint64_t now_us);
/* Once per KL_CHORES_US: stall and status lines, spectators without players. */
void kl_lobby_play_chores(struct kl_lobby_room *r, uint64_t now_us);

/* Sends as much of the history as may go now, and makes a new ticket where one is due. */
void kl_lobby_past_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_command.c --- */
/* The host alone may change policy, seats, the door and the host; all members may give the other commands. A
 * forbidden command is ignored, and the member is told. */
void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us);

/* Counts again if most players report the same new rate of the core. To be called after a member left or came
 * back. */
void kl_lobby_rate_look(struct kl_lobby_room *r);

/* True if all members have the save of this LOAD's keyframe, with equal hashes. False: the room is told the
 * names of the others. */
bool kl_lobby_slot_agreed(struct kl_lobby_room *r, const struct kl_order *o);

/* --- lobby_turn.c: rosters --- */
void kl_lobby_send_roster(struct kl_lobby_room *r);
void kl_lobby_send_roster_to(struct kl_lobby_room *r, unsigned peer);

/* --- lobby_end.c: rooms that give way --- */
/* Before a room is made for this address (with port): another one may end. */
void kl_lobby_make_place(struct kl_lobby *l, const char *address, uint64_t now_us);
/* Before so many bytes of start data are taken for a room of this address: other rooms may end. NULL: there
 * is room for them; else the reason. */
const char *kl_lobby_start_refusal(struct kl_lobby *l, const char *address, uint32_t bytes, uint64_t now_us);

/* --- the operator's orders (console.h): lobby_command.c --- */
/* Results: KL_OK; KL_E_STATE if the room does not play yet or the order has no meaning there; KL_E_FULL,
 * KL_E_SPACE. Call kl_lobby_run() afterwards. */
int kl_lobby_order_say(struct kl_lobby_room *r, const char *text,
                       uint64_t now_us); /* before the game: a notice */
int kl_lobby_order_pause(struct kl_lobby_room *r, bool pause, uint64_t now_us); /* KL_OK if nothing changes */
int kl_lobby_order_policy(struct kl_lobby_room *r, uint8_t policy, uint16_t budget_ms); /* 0: unchanged */
/* Kinds reset to swap; LOAD without data. */
int kl_lobby_order_command(struct kl_lobby_room *r, const struct kl_order *o, uint64_t now_us);
/* KL_E_MALFORMED above KL_WATCH_DELAY_MAX_S. */
int kl_lobby_order_delay(struct kl_lobby_room *r, unsigned seconds);
int kl_lobby_order_lock(struct kl_lobby_room *r, bool locked);
/* Whether the match's recording is kept. KL_E_STATE: it cannot be any more, for its players load or play
 * already, and were told that it is not; or this relay keeps none. */
int kl_lobby_order_record(struct kl_lobby_room *r, bool recorded);
/* who: a player's number, or the name of a member or of watchers (kl_name_find()). KL_E_STATE with one line
 * in err if nobody or more than one fits; for KL_ORDER_HOST also if that one watches or is away, or the host
 * is sending the start data. */
enum kl_lobby_order { KL_ORDER_KICK, KL_ORDER_BAN, KL_ORDER_HOST };
int kl_lobby_order_member(struct kl_lobby_room *r, enum kl_lobby_order order, const char *who, char *err,
                          size_t err_len, uint64_t now_us);

#endif

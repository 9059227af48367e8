/* lobby_room.h - one room as the parts of the lobby see it. Only inside net/relay.
 *
 * lobby.c          what comes in, what is due
 * lobby_join.c     HELLO: rooms are made and entered
 * lobby_door.c     passwords, locks, bans
 * lobby_seat.c     leaving, seats that are kept, RETURN
 * lobby_start.c    start data, READY, start
 * lobby_late.c     who joins a game under way, takes other seats, or only watches from then on
 * way.h            how a client comes to the present
 * lobby_way.c      ... a member
 * lobby_play.c     frames, verdicts, stalls
 * lobby_past.c     history, tags, tickets
 * lobby_again.c    rooms made again after the relay died
 * lobby_bring.c    … from what clients bring
 * lobby_command.c  commands, what the operator asks for
 * lobby_slot.c     who has the room's saved state
 * lobby_snapshot.h states that the room has agreed on
 * lobby_fetch.c    … on their way to somebody
 * lobby_heal.h     who is out of sync, and what is done about it
 * journal.h        what outlives the relay
 * lobby_watch.h    who watches from outside the game
 * lobby_say.c      messages and log lines */
#ifndef KL_LOBBY_ROOM_H
#define KL_LOBBY_ROOM_H

#include "net/engine/history.h"
#include "net/engine/msg.h"
#include "net/engine/room.h"
#include "net/session/door.h"
#include "net/session/seat.h"
#include "net/session/tag.h"
#include "net/session/ticket.h"
#include "net/relay/journal.h"
#include "net/relay/lobby.h"
#include "net/relay/lobby_heal.h"
#include "net/relay/lobby_limit.h"
#include "net/relay/lobby_snapshot.h"
#include "net/relay/lobby_watch.h"
#include "net/relay/relay_log.h"
#include "net/relay/verdict.h"
#include "net/relay/way.h"

#define KL_START_BYTES_TOTAL   (256U * 1024 * 1024) /* of all rooms together */
#define KL_HISTORY_BYTES_TOTAL (512U * 1024 * 1024)
#define KL_HISTORY_LEAST       (192U * 1024) /* that a room has, however much its address has elsewhere */

#define KL_GREET_US (5 * 1000000ULL) /* for a connection to say HELLO or RETURN */
#define KL_PROVE_US                                                                                          \
    (15 * 1000000ULL) /* for a client to stretch its password: 0.1 s, on a slow machine 2 s                  \
                       */
#define KL_LOAD_US     (60 * 1000000ULL) /* for a client to load, once it has the start data */
#define KL_GIVE_US     (60 * 1000000ULL) /* for the start data to come from the host, or to go to a client, … */
#define KL_GIVE_BYTES  16384U            /* … and a second more for so many bytes of it that have */
#define KL_SETTLED_US  (60 * 1000000ULL) /* since a return: a cut before that goes on from the one before */
#define KL_DRAIN_US    (2 * 1000000ULL)  /* for a leaving client's last samples to be used up */
#define KL_SPECTATE_US (10 * 1000000ULL) /* for spectators to see the end once the last player has left */
#define KL_CHORES_US   250000            /* between looks at the clocks above */
#define KL_HOLD_US     3000000           /* that a room made again waits for all its players */
#define KL_TAGS_US     500000            /* between TAGS, and between TICKETs */
#define KL_RESEAT_US   5000000           /* for a client to hear of its other seats */

#define KL_VERDICTS_UNDER_WAY 128 /* messages under way to a client behind which no verdict is sent */
#define KL_UNDER_WAY_MAX      400 /* … and with which it is put out: it does not take what it is sent */

#define KL_ROOM_TRIES 4 /* wrong passwords at one room, times those of one address */

#define KL_NO_HOST KL_MAX_CLIENTS

#define KL_LOBBY_NAMES (KL_MAX_CLIENTS * (KL_NAME_MAX + 2))

#define KL_BANS_MAX  64 /* of one room */
#define KL_DOUBTS    32
#define KL_TAGS_KEPT 4096 /* of one room: five minutes at spacing 5 */

enum kl_room_phase {
    KL_ROOM_GATHERING, /* seats are being filled */
    KL_ROOM_ASKED,     /* the host has been asked for the start data */
    KL_ROOM_LOADING,   /* start data is here; clients fetch it and load */
    KL_ROOM_PLAYING,
    KL_ROOM_REOPENING, /* made again, and not yet open: lobby_again.h */
};

struct kl_lobby_member {
    bool here;
    bool linked; /* has a connection, `peer`; else its seat is kept, since: */
    uint64_t cut_us, back_us;
    uint64_t away_us; /* of its seat's time, in cuts that followed each other closely */
    bool leaving;     /* hung up on; its last samples are being used up */
    uint64_t leaving_us;
    unsigned peer;
    uint8_t seats, state; /* enum kl_member_state; told as KL_MEMBER_AWAY where it is not linked */
    char name[KL_NAME_MAX];
    uint32_t joined;              /* the room's number of it: who has been here longest */
    char host[2][KL_ADDRESS_MAX]; /* addresses without port: where it is, and where it was before ("":
                                     nowhere) */
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    uint8_t token_hash[2][KL_SEAT_HASH]; /* of the newest, and of the one before */
    bool any_token; /* the room was made again from a ticket, which may be older than its token: the key does
                     */

    uint32_t sent;        /* bytes of start data sent */
    bool fetched;         /* … all of them, and acknowledged: it loads */
    bool gave;            /* it is the one who gave the start data */
    uint64_t deadline_us; /* for what we wait for from it; 0: nothing */
    uint64_t waited_us;   /* … since then, but for the time that it was away … */
    uint32_t furthest;    /* … and so many bytes have gone over at most … */
    bool again;           /* … and its link was cut meanwhile */
    bool checked;         /* its READY has been compared */
    struct kl_facts ready;
    unsigned malformed;
    bool absent, slow; /* as it was last told */
    uint32_t rate_uhz; /* its core plays at that from now on, as it says, and the room does not yet; 0: no */
    struct kl_lobby_late {
        uint64_t since_us;    /* it catches up with a game under way since then; 0: it does not */
        uint64_t looked_us;   /* its progress was looked at last, when it had run … */
        uint32_t ran, closed; /* … so many frames of so many */
        uint8_t slow;         /* looks in a row at which it had not come nearer */
        uint64_t reseated_us; /* it may not know yet, and sends what does not fit */
        bool unchecked;       /* its hashes have not been found equal to others' since then */
        bool said;            /* it has sent a hash that is compared, for the first time of … */
        uint32_t label;       /* … this frame */
    } late;

    struct kl_way_trip way;
    uint64_t ran_us;   /* the member was first seen to run frames since it set out, and had run ... */
    uint32_t ran_from; /* ... so many */

    uint32_t tags_told;                       /* intervals below: their tags are sent, or passed over */
    uint32_t ticket_told, ticket_sent;        /* number of the ticket on its way, and its bytes sent */
    struct kl_bucket chat, commands, dropped; /* dropped: what was too much of both */
    struct kl_lobby_slot {
        bool said, has;
        uint32_t keyframe;
        uint64_t hash;           /* with has */
    } slot;                      /* what the newest SAVE left there, as the client says */
    struct kl_lobby_fetch fetch; /* a snapshot on its way there */
    uint8_t in_vain;             /* times in a row that it was asked for one, and did not give it in time */
    struct kl_lobby_healing heal;
};

struct kl_lobby_ban {
    uint8_t seat_key[KL_SEAT_KEY_BYTES];
    char host[KL_ADDRESS_MAX];
};

/* A keyframe from which on the room can be made again by frames alone: net/PROTOCOL.md §7, Bringing a room
 * back. All zero: frame 0 is the only one. */
struct kl_lobby_base {
    uint32_t keyframe, interval;
    uint8_t tag[KL_TAG];        /* of the interval before */
    struct kl_room_rules rules; /* before its commands */
};

/* What the room keeps so that a client can come back: frames from the first on, the newest tags, the ticket.
 */
struct kl_lobby_past {
    struct kl_history history;
    bool broken;           /* there was no memory for a frame: nothing more is kept */
    bool reopened;         /* the room was made again: clients may have frames that it has not */
    bool on_trial;         /* the newest frames are not proved yet, and may be taken back: none is dropped */
    uint16_t last_spacing; /* of the newest frame kept */
    uint64_t bytes;
    uint8_t tag_key[32], mark_key[32];
    uint8_t tag[KL_TAGS_KEPT][KL_TAG]; /* of interval i at [i % KL_TAGS_KEPT] */
    uint32_t tag_end[KL_TAGS_KEPT];    /* the frame after it */
    uint32_t tags;                     /* intervals that have one: below */
    uint64_t tags_us;                  /* when the next are told */
    uint8_t ticket[KL_TICKET_MAX];
    uint32_t ticket_len, ticket_number;   /* number: from 1 */
    bool ticket_changed;                  /* what is in it */
    struct kl_lobby_base base, next_base; /* the ticket's; the one that clients have not all run yet */
};

struct kl_lobby_room {
    struct kl_lobby *lobby;
    char name[KL_NAME_MAX];
    uint8_t id[KL_ROOM_ID_BYTES];
    uint8_t identity[16];                               /* of facts */
    char maker[KL_ADDRESS_MAX];                         /* address that the room counts for */
    uint8_t doors;                                      /* KL_DOOR_* */
    uint8_t salt[KL_DOOR_SALT], secret[KL_DOOR_SECRET]; /* with KL_DOOR_PASSWORD */
    struct kl_bucket wrong;
    unsigned wrong_count, bans;
    struct kl_lobby_ban ban[KL_BANS_MAX];
    uint16_t seat_time_s;
    uint32_t joins;

    enum kl_room_phase phase;
    struct kl_params params;
    struct kl_facts facts; /* identity, by the client who made the room */
    bool ready_known;
    struct kl_facts ready; /* what shows only after loading, by the host */
    unsigned host;         /* member, or KL_NO_HOST */
    struct kl_lobby_member member[KL_MAX_CLIENTS];
    uint8_t *start;
    uint32_t start_have, start_bytes;
    uint8_t start_hash[16]; /* BLAKE2b, once it is here */
    uint64_t epoch_s;
    uint64_t again_us;            /* reopening: when the last frames were brought … */
    uint64_t gather_us;           /* … and until when others may come and bring more, whoever is here; once
                                     it is open: until when a newer ticket counts */
    bool brought;                 /* by clients: its ticket may be an old one … */
    uint32_t made_of;             /* … the one of this number */
    struct kl_lobby_trial *trial; /* of frames that are not proved; NULL: none are (lobby_again.h) */
    bool roster_changed, busy;    /* busy: something came in since the last run */
    uint16_t roster_owed;         /* clients who are to get it when they have taken other things */
    struct kl_bucket news;
    bool ran;  /* in this run, and its watchers have not */
    bool bulk; /* some member waits for bulk: run whenever something was acknowledged */
    uint64_t due_us, chores_us;

    struct kl_room lock;
    struct kl_verdict_table verdicts;
    struct kl_lobby_past past;
    struct kl_lobby_shot shot;
    struct kl_lobby_heal heal;
    struct kl_journal_room journal;
    struct kl_lobby_watch watch;
    uint16_t spacing;      /* of the last interval seen */
    uint32_t waited_frame; /* the frame that the room waits for … */
    uint64_t waited_us;    /* … since then */
    bool stall_told;
    uint32_t stalls;
    uint64_t status_us, empty_us;
    uint64_t chat_us; /* no chat line before, while the room pauses */
};

/* A client between DOOR and PROVE. */
struct kl_lobby_knock {
    struct kl_hello hello;
    struct kl_door run;         /* to prove … */
    uint8_t salt[KL_DOOR_SALT]; /* … or of the room to be made */
    bool sets;
};

struct kl_lobby_client { /* by peer */
    enum {
        KL_CLIENT_NONE,
        KL_CLIENT_GREETING,
        KL_CLIENT_KNOCKING,
        KL_CLIENT_BRINGING,
        KL_CLIENT_MEMBER,
        KL_CLIENT_WATCHER
    } state;
    uint64_t greet_by_us;
    struct kl_lobby_knock *knock; /* while knocking */
    struct kl_lobby_bring *bring; /* while bringing, or waiting for who does */
    uint32_t bringing_bytes;      /* of start data that it has brought, and of which there is no room yet */
    struct kl_lobby_room *room;
    unsigned member;
    struct kl_lobby_watcher *watcher; /* with KL_CLIENT_WATCHER */
    char address[KL_ADDRESS_MAX];
};

struct kl_lobby {
    struct kl_lobby_limits limits;
    struct kl_lobby_net net;
    uint8_t secret[32];
    struct kl_journal *journal; /* NULL: none is kept */
    struct kl_triers triers;
    uint64_t wrong_passwords, wrong_returns, put_out; /* counted for the log */
    struct kl_lobby_room **room;                      /* limits.rooms of them, NULL where free */
    unsigned rooms, members, watchers;
    unsigned watch_turn;                                 /* the room whose watchers come first */
    uint64_t start_bytes, history_bytes, snapshot_bytes; /* held for all rooms */
    bool packed_waits;                                   /* of some room, to be unpacked … */
    unsigned unpack_turn; /* … this one's, or the next one that has some … */
    uint64_t unpack_ns;   /* … and what was unpacked would be over then, at the pace that it may have */
    uint64_t chores_us;
    uint64_t born_us;  /* the first kl_lobby_run() */
    unsigned bringing; /* clients in that state */
    uint64_t bring_us; /* when they are looked after next */
    unsigned doubts;   /* keys of those who brought in vain, the newest of so many */
    uint8_t doubtful[KL_DOUBTS][KL_SEAT_KEY_BYTES];
    struct kl_lobby_client client[]; /* limits.peers of them */
};

/* --- lobby.c --- */
uint8_t kl_lobby_seats_filled(const struct kl_lobby_room *r); /* as a mask */
unsigned kl_lobby_count(uint8_t mask);
/* Somebody who can be told something. */
bool kl_lobby_reaches(const struct kl_lobby_member *m);
/* Turns away a connection that is in no room. */
void kl_lobby_turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text);
struct kl_lobby_room *kl_lobby_find(const struct kl_lobby *l, const char *name); /* NULL: there is none */

/* --- lobby_join.c --- */
void kl_lobby_hello(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, uint64_t now_us);
/* Once the door is passed. salt, secret: of the room to be made, or NULL. */
void kl_lobby_enter(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, const uint8_t *salt,
                    const uint8_t *secret, uint64_t now_us);
/* Why this HELLO comes into no room; 0 where it does. r: the room, or NULL to make one. */
unsigned kl_lobby_member_free(const struct kl_lobby_room *r); /* KL_MAX_CLIENTS: there is none */
/* Makes the client of this connection a member there, with these seats, and welcomes it. */
unsigned kl_lobby_admit(struct kl_lobby_room *r, unsigned peer, const char *name, const uint8_t *seat_key,
                        uint8_t seats, uint64_t now_us);
int kl_lobby_objection(const struct kl_lobby *l, const struct kl_lobby_room *r, const struct kl_hello *h,
                       const char *address, char *text, size_t cap);
/* How many rooms there are that count for this address (with port). */
unsigned kl_lobby_rooms_of(const struct kl_lobby *l, const char *address);
/* Whether these rooms may hold so many bytes more. */
bool kl_lobby_address_has(const struct kl_lobby *l, const char *address, uint64_t bytes);
void kl_lobby_free_empty_rooms(struct kl_lobby *l);
void kl_lobby_free_room(struct kl_lobby_room *r);

/* --- lobby_door.c --- */
/* True: a password is to be proved or set first, or it is too early for another try; the client is answered.
 * False: come in. r: the room, or NULL to make one. */
bool kl_lobby_door_knock(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_hello *h,
                         uint64_t now_us);
void kl_lobby_door_prove(struct kl_lobby *l, unsigned peer, const struct kl_prove *p, uint64_t now_us);
void kl_lobby_door_leave(struct kl_lobby_client *c); /* knocks no longer */
/* True: lock, ban, or a password that one of the two sides knows nothing of stands against this HELLO; text
 * says so. */
bool kl_lobby_door_shut(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address,
                        char *text, size_t cap);
void kl_lobby_add_ban(struct kl_lobby_room *r, const uint8_t *seat_key, const char *host); /* without port */
void kl_lobby_lock(struct kl_lobby_room *r, bool locked, const char *who);
/* who: for the log and the words on the screens, "the host". */
void kl_lobby_kick(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
void kl_lobby_ban(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us);
/* Wrong tries at passwords and seats. Seconds to wait before the next one, 0: none. r: the room, or NULL. */
unsigned kl_lobby_tries_wait_s(struct kl_lobby *l, struct kl_lobby_room *r, const char *address,
                               uint64_t now_us);
void kl_lobby_tries_wrong(struct kl_lobby *l, struct kl_lobby_room *r, const char *address, uint64_t now_us);

/* --- lobby_seat.c --- */
/* It is at this address now (with port). */
void kl_lobby_note_address(struct kl_lobby_member *m, const char *address);
/* Says why, hangs up, and takes the member out of the room. (A room that is empty is freed by the next
 * kl_lobby_run(), so a pointer to it stays good until then.) */
void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us);
/* Takes a member out of the room whose connection has been seen to. why: for the log and the others' screens.
 */
void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us);
/* BYE. */
void kl_lobby_take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* Its connection is lost; the seat is kept. */
void kl_lobby_cut(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us);
/* … by what the relay has now, waiting for nobody. */
void kl_lobby_take_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us);
/* Seats whose time is up. */
void kl_lobby_seat_chores(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_choose_host(struct kl_lobby_room *r);
/* Gives a member a new token, and tells it all that WELCOME does. */
void kl_lobby_welcome(struct kl_lobby_room *r, unsigned member);

/* --- lobby_bring.c --- */
/* True: this RETURN is answered later, when somebody has brought the room, or he has shown his ticket. r:
 * what has the name now, or NULL. */
bool kl_lobby_bring_wait(struct kl_lobby *l, unsigned peer, const struct kl_lobby_room *r,
                         const struct kl_return *back, uint64_t now_us);
void kl_lobby_bring_message(struct kl_lobby *l, unsigned peer, const struct kl_bring *m, uint64_t now_us);
void kl_lobby_bring_leave(struct kl_lobby *l, struct kl_lobby_client *c);
void kl_lobby_bring_run(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_bring_due_us(const struct kl_lobby *l);

/* The lowest free seats, `wanted` many, as a mask; 0 where there are not as many, or the game has all it
 * needs. */
uint8_t kl_lobby_free_seats(const struct kl_lobby_room *r, unsigned wanted);

/* --- lobby_late.c --- */
/* A member wants to play in so many seats that are free (1..KL_MAX_SEATS), or to watch (0); he is told where
 * that cannot be: KL_E_STATE. */
int kl_lobby_take_seat(struct kl_lobby_room *r, unsigned member, unsigned wanted, uint64_t now_us);
/* The game has so many seats from now on, 1..KL_MAX_SEATS. KL_E_STATE: more are taken, or this relay's rooms
 * have fewer. */
int kl_lobby_set_places(struct kl_lobby_room *r, unsigned places, const char *who);
/* In the game: whoever has been let in gets all it needs, and is watched until it has caught up. */
void kl_lobby_late_join(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* The same for who was a watcher, and has every frame below `have`. */
void kl_lobby_late_goes_on(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us);
/* Gives a member other seats in the game; 0: it watches. KL_E_STATE where one is taken. why: for the log. */
int kl_lobby_reseat(struct kl_lobby_room *r, unsigned member, uint8_t seats, const char *why,
                    uint64_t now_us);
/* A hash of it is compared, of this frame; and all that were, up to that frame, are equal. */
void kl_lobby_late_said(struct kl_lobby_room *r, unsigned member, uint32_t frame);
void kl_lobby_late_checked(struct kl_lobby_room *r, uint32_t frame);
/* Frames that it has not run of those that the room has closed. */
uint32_t kl_lobby_behind(const struct kl_lobby_room *r, unsigned member);
/* Who has caught up, with each run; who does not, now and then. */
void kl_lobby_late_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_late_chores(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_way.c --- */
/* The way of a client that is as t says, in a room that plays. KL_WAY_ORDER: ask again once shot.kept is
 * newer, or shot.failures has grown. */
enum kl_way kl_lobby_way_to_present(const struct kl_lobby_room *r, const struct kl_way_trip *t);
/* Snapshots of this room can be had. */
bool kl_lobby_way_has_states(const struct kl_lobby_room *r);
/* True: there is no way for who has nothing. why: in any case, what would be said to him. */
bool kl_lobby_way_closed(const struct kl_lobby_room *r, char *why, size_t cap);
/* Somebody is about to load who will then want to come to the present. */
void kl_lobby_way_ahead(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* A member that is loaded and has every frame below `have` sets out, now or when its way is known. May put it
 * out. */
void kl_lobby_set_out(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us);
/* HEALED. May put it out. */
void kl_lobby_way_loaded(struct kl_lobby_room *r, unsigned member, const struct kl_healed *h,
                         uint64_t now_us);
/* A member is out of sync, and never was in since it came: true where it came by a snapshot, and now gets all
 * by history instead. */
bool kl_lobby_way_untrue(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* It is out of sync, and the others have no state for it: true where it gets all from the beginning instead.
 */
bool kl_lobby_way_anew(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_way_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_way_left(struct kl_lobby_room *r, unsigned member); /* its link is gone, or it is */

/* --- lobby_start.c --- */
void kl_lobby_start_joined(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
void kl_lobby_start_left(struct kl_lobby_room *r, bool was_host);
/* The host has been asked for the start data, and not all of it is here: he stays host until then. */
bool kl_lobby_start_under_way(const struct kl_lobby_room *r);
/* A member is back before the game begins. */
void kl_lobby_start_returned(struct kl_lobby_room *r, unsigned member, bool fresh, uint64_t now_us);
/* In the game: it gets everything from the beginning. False where that is not kept. */
bool kl_lobby_start_again(struct kl_lobby_room *r, unsigned member, uint64_t now_us);
/* false: the message breaks the protocol; the caller puts the member out. */
bool kl_lobby_start_data(struct kl_lobby_room *r, unsigned member, const struct kl_data *d, uint64_t now_us);
bool kl_lobby_start_ready(struct kl_lobby_room *r, unsigned member, const struct kl_facts *f,
                          uint64_t now_us);
/* Moves the room towards its start as far as it goes. May put members out. */
void kl_lobby_start_run(struct kl_lobby_room *r, uint64_t now_us);
void kl_lobby_start_free(struct kl_lobby_room *r);
bool kl_lobby_start_is_kept(const struct kl_lobby_room *r); /* all of it */

/* --- lobby_play.c --- */
void kl_lobby_play_begin(struct kl_lobby_room *r, uint64_t now_us);
/* It says the hashes of now, or should: it is here, and does not run through what it has missed. */
bool kl_lobby_play_reports(const struct kl_lobby_room *r, unsigned member);
/* HASH. */
void kl_lobby_play_hash(struct kl_lobby_room *r, unsigned member, const struct kl_hash *h, uint64_t now_us);
const char *kl_lobby_policy_name(uint8_t policy);
/* Takes closed frames, sends what is due. */
void kl_lobby_play_run(struct kl_lobby_room *r, uint64_t now_us);
/* Once per KL_CHORES_US: stall and status lines, spectators left alone. */
void kl_lobby_play_chores(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_past.c --- */
void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us); /* with the first frame */
void kl_lobby_past_free(struct kl_lobby_room *r);
void kl_lobby_past_keep(struct kl_lobby_room *r, const struct kl_frame *f);
/* From a journal: the next piece of frames as it is, with the intervals that begin in it, and the tag of
 * interval i, which ends before frame `end`; nothing is worked out anew. False: it does not follow, or there
 * is no memory. */
bool kl_lobby_past_adopt(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t intervals);
void kl_lobby_past_adopt_tag(struct kl_lobby_room *r, uint32_t i, const uint8_t tag[KL_TAG], uint32_t end);
/* The mark on all frames so far (tag.h). False: the newest were adopted, and none has closed since. */
bool kl_lobby_past_mark(const struct kl_lobby_room *r, uint8_t mark[KL_MARK]);
/* Drops the oldest frames that are more than a room may have. */
void kl_lobby_past_trim(struct kl_lobby_room *r);
/* Whether frame `from` on is kept. */
bool kl_lobby_past_reaches(const struct kl_lobby_room *r, uint32_t from);
/* Whether what this client has is what the room has: always, but after the room was made again. */
bool kl_lobby_past_same(const struct kl_lobby_room *r, const struct kl_return *b);
/* A member is back: TAGS go on from here, and the ticket comes anew. */
void kl_lobby_past_returned(struct kl_lobby_room *r, unsigned member, uint32_t tags);
/* A new ticket, of what the room is now. */
void kl_lobby_past_renew(struct kl_lobby_room *r);
/* Sends history, tags and ticket as far as they may go now. */
void kl_lobby_past_run(struct kl_lobby_room *r, uint64_t now_us);

/* --- lobby_command.c --- */
/* Policy, seats, the door and who is host are the host's to change; all else is everybody's. What is not
 * allowed is ignored; the member is told. */
void kl_lobby_play_command(struct kl_lobby_room *r, unsigned member, const struct kl_order *o,
                           uint64_t now_us);

/* Who has gone, or plays again, may make of what was said of the core's rate what most say. */
void kl_lobby_rate_look(struct kl_lobby_room *r);

/* --- lobby_slot.c --- */
/* Command SAVED. KL_E_MALFORMED. */
int kl_lobby_slot_said(struct kl_lobby_room *r, unsigned member, const struct kl_order *o);
/* The keyframe of the newest SAVE that anybody has told of. False: there was none. */
bool kl_lobby_slot_newest(const struct kl_lobby_room *r, uint32_t *keyframe);
/* Whether everybody can go back to what was saved at the keyframe that this LOAD names, and to the same.
 * False: the room is told who cannot. */
bool kl_lobby_slot_agreed(struct kl_lobby_room *r, const struct kl_order *o);

/* --- lobby_say.c --- */
void kl_lobby_names_of(const struct kl_lobby_room *r, uint16_t clients, char *out,
                       size_t cap); /* "ann, bob" */
void kl_lobby_send(struct kl_lobby *l, unsigned peer, const struct kl_msg *m);
void kl_lobby_send_bulk(struct kl_lobby *l, unsigned peer, const struct kl_msg *m); /* see lobby.h */
void kl_lobby_send_all(struct kl_lobby_room *r, const struct kl_msg *m);
void kl_lobby_refuse(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text);
void kl_lobby_notice(struct kl_lobby_room *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of who comes and goes: no more than one a second in the long run, for that may be anybody, again and again.
 */
void kl_lobby_news(struct kl_lobby_room *r, uint64_t now_us, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* To one of them. */
void kl_lobby_tell(struct kl_lobby_room *r, unsigned member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kl_lobby_send_roster(struct kl_lobby_room *r);
void kl_lobby_send_roster_to(struct kl_lobby_room *r, unsigned peer);
/* room="…" client=… name="…" seats=… and then the rest. */
void kl_lobby_log_member(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                         unsigned member, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* room="…" and then the rest. */
void kl_lobby_log_room(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif

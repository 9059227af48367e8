/* lobby_room.h - one room, and what all parts of the relay use of it. Only inside net/relay.
 *
 * lobby_room.c     questions that need nothing but the room
 * lobby_members.c  its members' memory
 * lobby_memory.c   memory by the seats and clients that are there
 * lobby_say.c      messages and log lines
 * lobby_past.c     history and its digests; full blocks of it, packed
 * visitor.h        what a member and a watcher share, and are sent
 * lobby_bounds.h   bans and bars for a time; bytes down against bytes up
 * lobby_files.h    checksums of disks, and of other files that are opened in play
 * catchup.h        how a client catches up
 * verdict.h        hashes compared
 *
 * The state of a part whose functions stand in another folder: heal_state.h,
 * journal_room.h. */
#ifndef KL_LOBBY_ROOM_H
#define KL_LOBBY_ROOM_H

#include "net/engine/engine.h"
#include "net/engine/history.h"
#include "net/engine/msg.h"
#include "net/engine/lock_relay.h"
#include "net/session/door.h"
#include "net/session/keys.h"
#include "net/session/name.h"
#include "net/session/seat.h"
#include "net/session/digest.h"
#include "net/session/seal.h"
#include "net/relay/log/lobby_limit.h"
#include "net/relay/log/relay_log.h"
#include "net/relay/room/heal_state.h"
#include "net/relay/room/journal_room.h"
#include "net/relay/room/lobby_bounds.h"
#include "net/relay/room/lobby_files.h"
#include "net/relay/room/lobby_net.h"
#include "net/relay/room/verdict.h"
#include "net/relay/room/visitor.h"
#include "net/relay/room/catchup.h"
#include "net/relay/room/fleet.h"
#include "net/transport/shards.h"

#define KL_START_SMALL         (256U * 1024) /* each room may have, whatever others hold */
#define KL_HISTORY_BYTES_TOTAL (512U * 1024 * 1024)
#define KL_HISTORY_LEAST       (192U * 1024) /* of one room, even if its address has used up its share */

#define KL_GREET_US    (5 * 1000000ULL)  /* for a connection to say HELLO or RETURN */
#define KL_READ_US     (30 * 1000000ULL) /* for a RETURN to wait until its room is read */
#define KL_PROVE_US    (15 * 1000000ULL) /* to stretch a password: 2 s on a slow machine */
#define KL_LOAD_US     (60 * 1000000ULL) /* for a client to load, once it has the start data */
#define KL_GIVE_US     (60 * 1000000ULL) /* for the start data to come from the host, or to go to a client */
#define KL_GIVE_BYTES  16384U            /* each so many bytes of it add a second */
#define KL_SETTLED_US  (60 * 1000000ULL) /* after a return; an earlier cut continues the one before */
#define KL_DRAIN_US    (2 * 1000000ULL)  /* for a leaving client's last samples to be played */
#define KL_SPECTATE_US (10 * 1000000ULL) /* for spectators to see the end once the last player has left */
#define KL_CHORES_US   250000            /* between checks of the times above */
#define KL_HOLD_US     3000000           /* wait of a room made again for all its players */
#define KL_TICKET_US   500000            /* between two tickets */
#define KL_RESEAT_US   5000000           /* for a client to learn its new seats */

/* With KL_UNDER_WAY_MAX messages under way a client is put out, and nobody may cause that by making the relay
 * talk. */
#define KL_NOTICES_UNDER_WAY  128 /* no line is sent to a client with so many messages under way */
#define KL_VERDICTS_UNDER_WAY 128 /* no verdict is sent to a client with so many messages under way */
#define KL_UNDER_WAY_MAX      400 /* a client with so many messages under way is put out: it takes none */

/* Wrong passwords at one room, as multiples of one address's, from three kinds of addresses: ten of an
 * attacker do not keep friends out. */
enum kl_try {
    KL_TRY_FAILED, /* wrong before, and never right here */
    KL_TRY_NEW,    /* never wrong */
    KL_TRY_RIGHT,  /* right in this room before */
    KL_TRIES
};
#define KL_ROOM_TRIES 2  /* of those that failed; of the others half of it each */
#define KL_RIGHT_KEPT 32 /* addresses of a room */

#define KL_NO_HOST KL_MAX_CLIENTS

#define KL_LOBBY_NAMES (KL_MAX_CLIENTS * (KL_NAME_SHOWN + 2))

#define KL_SEALS_KEPT    8  /* of one room, a minute each */
#define KL_LEFT_MAX      16 /* of one room: the one whose bar ends first makes way */
#define KL_DIGESTS_LEAST 16
#define KL_DIGESTS_KEPT  128 /* of one room: minutes, at the shortest spacing */
#define KL_DIGESTS_APART 64  /* intervals from one of them to the next */

enum kl_room_phase {
    KL_ROOM_GATHERING, /* seats are being filled */
    KL_ROOM_ASKED,     /* the host has been asked for the start data */
    KL_ROOM_LOADING,   /* start data is here; clients fetch it and load */
    KL_ROOM_PLAYING,
    KL_ROOM_REOPENING, /* made again, not yet open: lobby_ticket.h */
};

enum kl_lobby_place {
    KL_PLACE_EMPTY,   /* no member; no other field counts */
    KL_PLACE_LINKED,  /* the member has a connection, `peer` */
    KL_PLACE_KEPT,    /* its connection is cut since cut_us, and its seat is kept for it */
    KL_PLACE_LEAVING, /* it has said BYE at leaving_us, and its last samples are being played */
};

struct kl_lobby_member {
    struct kl_visitor v;
    uint8_t number; /* its place in the room */
    enum kl_lobby_place place;
    uint64_t cut_us, back_us;
    uint64_t away_us; /* used up of its seat time, in cuts that followed closely */
    uint64_t leaving_us;
    uint8_t seats;
    uint32_t joined;                     /* number in the room's order of joining */
    char former[KL_NET_TEXT];            /* the address before the present one, without port; "": none */
    char home[KL_NET_TEXT];              /* address at the start of the game, or at joining it */
    uint8_t token_hash[2][KL_SEAT_HASH]; /* of the newest token, of the one before */
    bool any_token; /* the room was made again; its record may be older than the token, so the key suffices
                     */

    bool gave;              /* it gave the start data */
    bool consents;          /* it loads other players' bytes */
    bool checked;           /* its READY has been compared */
    struct kl_facts *ready; /* of its READY, until they are compared; NULL: none wait */
    bool absent, slow;      /* as sent to the room last */
    uint32_t rate_uhz;      /* its core's new rate by its own report, not yet the room's; 0: none */
    uint64_t wish_us;       /* it shares the room's wish until then */
    uint32_t hands_on;      /* its seats, since this number of `watch.turns`; 0: it keeps them */
    struct kl_lobby_late {
        uint64_t since_us;    /* begin of catching up; 0: it does not catch up */
        uint64_t looked_us;   /* time of the last check of its progress */
        uint32_t ran, closed; /* frames it had run and the room had closed, then */
        uint8_t slow;         /* checks in a row without progress */
        uint64_t reseated_us; /* time of new seats; its samples may still be for the old ones */
        enum {
            KL_LATE_CHECKED, /* a hash of it was found equal to others' since it came */
            KL_LATE_SILENT,  /* no hash of it is compared yet */
            KL_LATE_SAID     /* one is, of the frame `label` */
        } check;
        uint32_t label;
    } late;

    uint64_t ran_us;   /* first sight of the member running frames since it set out */
    uint32_t ran_from; /* the frame it had run then */

    struct kl_lobby_slot {
        bool said, has;
        uint32_t keyframe;
        uint64_t hash;    /* with has */
    } slot;               /* the client's slot after the newest SAVE, by its report */
    uint8_t failed_gives; /* snapshots in a row that it was asked for and did not give in time */
    struct kl_lobby_healing heal;
};

/* The newest seals: as many as there are in the watchers' longest delay, and some more. */
struct kl_lobby_seals {
    struct kl_proof kept[KL_SEALS_KEPT]; /* a ring */
    unsigned count;                      /* so many have been kept */
};

/* The room's past, for clients that come back: frames from the first on, their newest digests
 * and seals, the ticket. */
struct kl_lobby_past {
    struct kl_history history;
    bool broken;   /* memory ran out: no more frames are kept */
    bool reopened; /* the room was made again: clients may have frames that it lacks */
    uint64_t bytes;
    struct kl_digest digest;            /* of all whole intervals */
    struct kl_digest *kept;             /* older ones, a ring; the others are computed from the history */
    unsigned keeps;                     /* places of the ring: it grows to KL_DIGESTS_KEPT */
    unsigned kept_next;                 /* so many have been kept */
    uint64_t ticket_us;                 /* time of the next ticket */
    uint8_t *ticket;                    /* ticket_len bytes */
    uint32_t ticket_len, ticket_number; /* number: from 1 */
    bool ticket_changed;                /* its content is outdated */
    struct kl_lobby_seals seals;
};

/* For the same person, should they come again. All zero: free. */
struct kl_lobby_left {
    struct kl_lobby_person who;
    struct kl_account account;
    struct kl_lobby_spent spent;
};

/* Clients that left. */
struct kl_lobby_gone {
    struct kl_lobby_left left[KL_LEFT_MAX]; /* that used up something */
    struct kl_lobby_debtor debtor[KL_DEBTORS];
};

/* The door decides on newcomers. lobby_door.c owns it; of a room made again it comes from the ticket.
 * Salt and secret are set if, and only if, KL_DOOR_PASSWORD is in the flags.
 * lobby_bounds.c owns the bars, oldest first. */
struct kl_lobby_door {
    uint8_t flags;            /* KL_DOOR_* */
    char match[KL_MATCH_MAX]; /* the maker's id of the match; "" */
    bool recorded; /* the match's recording is kept (limits.record_days), and newcomers are told so */
    uint8_t salt[KL_DOOR_SALT], secret[KL_DOOR_SECRET];
    struct kl_bucket wrong[KL_TRIES];       /* passwords and returns */
    char right[KL_RIGHT_KEPT][KL_NET_TEXT]; /* addresses, a ring */
    unsigned rights;                        /* so many have been written */
    unsigned wrong_count;                   /* since the room was made, for the log */
    struct kl_lobby_gone *gone;             /* NULL: nobody who used up or owes anything has left */
    uint64_t forgave_us;                    /* a part of all debts was forgiven last */
    unsigned bars;
    struct kl_lobby_bar *bar; /* KL_BANS_MAX + KL_TIMED_MAX; NULL: nobody has been barred */
};

/* All machines begin with the start data. lobby_start.c owns them; a room made again has them at once. data
 * is NULL, or holds `bytes`, of which the first `have` are here. The bytes of all rooms count in
 * kl_lobby.start_bytes. */
struct kl_lobby_start {
    uint8_t *data;
    uint32_t have, bytes;
    uint8_t hash[16];             /* BLAKE2b, once the start data is complete */
    uint64_t epoch_s;             /* the time that all cores see at frame 0 */
    struct kl_facts *ready;       /* facts known only after loading, by the host; NULL: not known yet */
    struct kl_lobby_files *files; /* those that are opened later; NULL: none so far */
};

/* lobby_pause.c owns it. */
struct kl_lobby_pause {
    bool asked;          /* `by` has asked for it; else it is the room's own */
    unsigned by;         /* member, or KL_RELAY_CLIENT: the operator */
    uint32_t joined;     /* the member's: another may come to its place */
    uint64_t since_us;   /* 0: it has not begun */
    uint64_t charged_us; /* to the member, up to then */
    uint64_t lasts_us;   /* then it ends by itself; UINT64_MAX: it does not */
};

/* A player wants it, and the others may agree. lobby_wish.c owns it. */
struct kl_lobby_wish {
    struct kl_order order;
    unsigned by;       /* member */
    uint64_t until_us; /* 0: there was none */
};

/* The members are told of each other, and agree. Each part may set roster_changed; lobby_turn.c
 * clears it. */
struct kl_lobby_talk {
    uint64_t talks_us[KL_MAX_CLIENTS]; /* a member is one of the talkers until then */
    bool roster_changed;
    uint16_t roster_owed;     /* clients that get the roster once their queue is shorter */
    struct kl_bucket news;    /* kl_lobby_news() */
    struct kl_bucket refused; /* kl_lobby_tell_refused() */
    uint64_t chat_us;         /* earliest next chat line while the room pauses */
    struct kl_lobby_wish wish;
    struct kl_lobby_pause pause;
    uint32_t relays; /* kl_fleet_turn() of the list that members know */
    bool alone;      /* they know that the fleet's Redis does not answer */
};

/* The room runs at due_us, or with the next turn if it is busy. lobby_due.c owns it. */
struct kl_lobby_due {
    bool busy;      /* it is in the lobby's list of busy ones: kl_lobby_busy() */
    bool runs;      /* in this turn */
    unsigned place; /* in the lobby's heap */
    unsigned index; /* in the lobby's list of rooms */
    uint64_t due_us, chores_us;
    uint64_t hold_us; /* its frames wait for their copy until then; 0: they do not */
    bool lags;        /* they have waited so long, and the copy is still not whole */
};

/* A lobby's rooms by their times, so that a turn looks at those alone that have something to do. */
struct kl_lobby_dues {
    struct kl_lobby_room **at, **busy, **run; /* limits.rooms of each: a heap by due_us; busy; of this turn */
    unsigned count, busy_count, run_count;
};

/* The game as the log and the screens tell it. lobby_play.c owns it. */
struct kl_lobby_report {
    uint16_t spacing; /* of the last interval seen */
    struct {
        uint32_t frame;    /* that the room waits for */
        uint64_t since_us; /* begin of that wait */
        bool told;
        uint32_t count; /* told ones */
    } stall;
    struct {
        uint64_t status_us;             /* the log's last line */
        uint64_t farthest_us;           /* next look at kl_lock_farthest() */
        uint8_t farthest, farthest_was; /* as the clients know it; at the last look */
        uint8_t parts;                  /* of KL_PARTS_ABOUT: told already */
        uint8_t unseen;                 /* verdicts in a row with KL_PARTS_NOTHING */
    } told;
    uint64_t began_us; /* time of frame 0; 0: the room was made again, or does not play yet */
    uint64_t empty_us; /* time at which nobody played; 0: never so far */
};

/* Everything before `lock` is cleared when the room is freed: secrets stand there. */
/* Places of members: those that are not empty, a bit each; and how many have joined so far. */
struct kl_lobby_places {
    uint16_t here;
    uint32_t joins;
};

struct kl_lobby_room {
    struct kl_lobby *lobby;
    char name[KL_NAME_MAX];
    uint8_t id[KL_ROOM_ID_BYTES];
    uint8_t identity[16];    /* of facts */
    char maker[KL_NET_TEXT]; /* the room counts for this address */
    struct kl_lobby_door door;
    uint16_t seat_time_s;

    enum kl_room_phase phase;
    struct kl_params params;
    struct kl_facts *facts; /* identity, by the client that made the room */
    unsigned host;          /* member, or KL_NO_HOST */
    struct kl_lobby_places places;
    struct kl_lobby_member *member[KL_MAX_CLIENTS]; /* none is NULL: kl_lobby_members_begin() */
    struct kl_lobby_start start;
    struct kl_lobby_talk talk;
    struct kl_lobby_due due;

    struct kl_lock_relay lock;
    struct kl_lobby_past past;
    struct kl_lobby_snapshot snapshot;
    struct kl_lobby_heal heal;
    struct kl_journal_room journal;
    struct kl_lobby_watch watch;
    struct kl_lobby_report report;
};

/* A client between DOOR and PROVE. */
struct kl_lobby_knock {
    struct kl_hello hello;
    struct kl_door run;         /* the room's, for PROVE */
    uint8_t salt[KL_DOOR_SALT]; /* of the room to be made */
    bool sets;
};

struct kl_lobby_client { /* by peer */
    enum {
        KL_CLIENT_NONE,
        KL_CLIENT_GREETING,
        KL_CLIENT_KNOCKING,
        KL_CLIENT_MEMBER,
        KL_CLIENT_WATCHER
    } state;
    uint64_t greet_by_us;
    struct kl_lobby_knock *knock; /* while knocking */
    struct kl_return *back;       /* while its room is read; still GREETING */
    struct kl_lobby_asking *asks; /* while the fleet is asked for its room; still GREETING */
    uint64_t wish;                /* the number of its wish; still GREETING. 0: none */
    struct kl_kept_challenge
        *challenge; /* the run that it hands in, or the token that it is sent; GREETING */
    uint32_t total; /* bytes of that run; those of the token that were sent */
    struct kl_lobby_room *room;
    unsigned member;
    struct kl_lobby_watcher *watcher; /* with KL_CLIENT_WATCHER */
    struct kl_traffic counted;        /* into owed */
    uint64_t streamed; /* bytes of frames by bulk, to a watcher that has caught up; not counted yet */
    unsigned silent;   /* chores since its last byte, of a watcher */
    uint8_t consent;   /* enum kl_consent, of its HELLO or RETURN */
    bool direct;       /* it has said DIRECT */
    uint8_t peers[16]; /* hash of the newest PEERS to it; all 0: none so far */
    struct kl_lobby_hear {
        struct kl_hear said;             /* its newest HEAR */
        uint8_t voices[16];              /* hash of the newest VOICES to it; all 0: none so far */
        uint64_t datagrams_ns, bytes_ns; /* the end of its accepted speech at the rate of the limits */
    } hear;
    char address[KL_PLACE_TEXT];
};

struct kl_lobby {
    struct kl_lobby_limits limits;
    struct kl_lobby_net net;
    uint8_t secret[32], pub[32];
    struct kl_shards *shards;           /* NULL: this process is alone */
    struct kl_fleet *fleet;             /* NULL: this relay is alone */
    uint32_t fleet_asks;                /* its places with a question, as bits */
    uint32_t fleet_losses, fleet_wants; /* that have been looked at */
    uint64_t fleet_us;                  /* the next look at answers; UINT64_MAX: none is awaited */
    uint64_t drain_us;                  /* the next match is handed on; UINT64_MAX: none is */
    struct kl_relay_key signer;         /* signs false: nothing is signed */
    struct kl_journal *journal;         /* NULL: no journal */
    struct kl_laid_out *laid_out;       /* for the locks of all rooms */
    struct kl_lobby_packer *packer;     /* lobby_past.c; NULL: nothing is packed yet */
    struct kl_triers triers;
    uint64_t wrong_passwords, wrong_returns, put_out; /* counted for the log */
    struct kl_lobby_room **room;                      /* limits.rooms of them; NULL: free */
    struct kl_lobby_dues dues;
    unsigned rooms, members, watchers;
    unsigned watch_turn;                                 /* the room whose watchers are served first */
    uint64_t start_bytes, history_bytes, snapshot_bytes; /* held for all rooms */
    struct kl_voice_count voice;
    bool returns_wait;            /* a client's `back` is set */
    uint64_t wishes, wishes_us;   /* wishes so far (kept.h); the time of the next look at the answers */
    unsigned wishes_wait;         /* for their answers */
    bool tokens_wait;             /* they are on their way to clients */
    struct kl_triers challengers; /* tokens and runs, by address and challenge */
    bool holds;                   /* a room's frames may wait for their copy */
    bool ends_wait;               /* a room without members waits for a later turn */
    bool packed_waits;            /* a room has bytes to unpack */
    unsigned unpack_turn;         /* the room to unpack next, or the first with bytes after it */
    uint64_t unpack_ns;           /* the unpacked work would end then at the allowed pace */
    uint64_t door_us; /* the next look at clients that greet or knock; UINT64_MAX: there are none */
    struct kl_lobby_client client[]; /* limits.peers of them */
};

/* --- lobby_members.c --- */
/* Memory for members: at the room's begin nobody has any, and all read an empty place, which nothing may be
 * written to; for one of them, unless it has some (false: there is none); freed; its bytes. */
void kl_lobby_members_begin(struct kl_lobby_room *r);
bool kl_lobby_members_take(struct kl_lobby_room *r, unsigned member);
void kl_lobby_members_free(struct kl_lobby_room *r);
uint64_t kl_lobby_members_bytes(const struct kl_lobby_room *r);

/* --- lobby_room.c --- */
uint8_t kl_lobby_seats_filled(const struct kl_lobby_room *r); /* as a mask */
static inline bool kl_lobby_here(const struct kl_lobby_member *m) {
    return m->place != KL_PLACE_EMPTY;
}
/* It is linked, or its seat is kept. */
static inline bool kl_lobby_stays(const struct kl_lobby_member *m) {
    return m->place == KL_PLACE_LINKED || m->place == KL_PLACE_KEPT;
}
/* It is linked: messages reach it. */
static inline bool kl_lobby_reaches(const struct kl_lobby_member *m) {
    return m->place == KL_PLACE_LINKED;
}
static inline bool kl_lobby_has_seat(const struct kl_lobby_member *m) {
    return kl_lobby_here(m) && m->seats;
}
static inline void kl_lobby_set_here(struct kl_lobby_room *r, unsigned member, bool here) {
    uint16_t others = r->places.here & (uint16_t)~kl_only(member);
    r->places.here = here ? others | kl_only(member) : others;
}
/* The first member from this number on of which that is true; KL_MAX_CLIENTS: none. */
static inline unsigned kl_lobby_next(const struct kl_lobby_room *r, unsigned from,
                                     bool (*is)(const struct kl_lobby_member *m)) {
    for (KL_EACH_FROM(i, r->places.here >> from << from))
        if (is(r->member[i])) return i;
    return KL_MAX_CLIENTS;
}
/* for (KL_MEMBERS(i, r, kl_lobby_here)): their numbers, in their order. */
#define KL_MEMBERS(i, r, is)                                                                                 \
    unsigned i = kl_lobby_next(r, 0, is);                                                                    \
    i < KL_MAX_CLIENTS;                                                                                      \
    i = kl_lobby_next(r, i + 1, is)
/* The maker's id of the match; "". */
const char *kl_lobby_match(const struct kl_lobby_room *r);
struct kl_lobby_room *kl_lobby_find(const struct kl_lobby *l, const char *name); /* NULL: there is none */
/* True: a client with this consent (enum kl_consent) loads other players' bytes in this room. */
bool kl_lobby_consents(const struct kl_lobby_room *r, uint8_t consent);
/* Number of rooms that count for this address (with port). */
unsigned kl_lobby_rooms_of(const struct kl_lobby *l, const char *address);
/* True if the start data of all rooms may have `bytes` more. */
bool kl_lobby_start_fits(const struct kl_lobby *l, uint32_t bytes);
/* Memory that counts for the room's maker. */
uint64_t kl_lobby_room_bytes(const struct kl_lobby_room *r);
/* True if the room counts for this address (without port). */
bool kl_lobby_counts_for(const struct kl_lobby_room *r, const char *host);
/* True if these rooms may hold `bytes` more. */
bool kl_lobby_address_has(const struct kl_lobby *l, const char *address, uint64_t bytes);
/* The same of the address that the room counts for. */
bool kl_lobby_maker_has(const struct kl_lobby_room *r, uint64_t bytes);
/* Notes the member's new address (with port). */
void kl_lobby_note_address(struct kl_lobby_member *m, const char *address);
void kl_lobby_choose_host(struct kl_lobby_room *r);
uint32_t kl_lobby_ran(const struct kl_lobby_room *r, unsigned member); /* it has run all frames below */
/* Closed frames that the member has not run. */
uint32_t kl_lobby_behind(const struct kl_lobby_room *r, unsigned member);
/* True if the member has a seat and frames wait for its samples. */
bool kl_lobby_plays_now(const struct kl_lobby_room *r, unsigned member);

bool kl_lobby_has_members(const struct kl_lobby_room *r);
/* True if a client or a watcher has a connection, or a member's last samples are being played. */
bool kl_lobby_has_link(const struct kl_lobby_room *r);

/* Drops the start data. */
void kl_lobby_start_free(struct kl_lobby_room *r);
bool kl_lobby_start_is_kept(const struct kl_lobby_room *r); /* the whole start data */
/* True if the member's hashes are expected: it is linked, and does not replay missed frames. */
bool kl_lobby_play_reports(const struct kl_lobby_room *r, unsigned member);

/* --- lobby_shards.c --- */
/* Rooms whose ids begin with this byte, or with this name, belong to this process. */
bool kl_lobby_has_bucket(const struct kl_lobby *l, uint8_t first);
bool kl_lobby_has_name(const struct kl_lobby *l, const char *name);
/* A new room's id, of chance but for its bucket. */
void kl_lobby_draw_id(struct kl_lobby_room *r);
/* The room at this place is new, or gone. */
void kl_lobby_shards_note(struct kl_lobby *l, unsigned place);
/* Rooms of all processes together. */
unsigned kl_lobby_rooms_in_all(const struct kl_lobby *l);

/* --- lobby_due.c --- */
bool kl_lobby_dues_make(struct kl_lobby *l); /* false: there is no memory */
void kl_lobby_dues_free(struct kl_lobby *l);
unsigned kl_lobby_place(const struct kl_lobby *l); /* a free one; limits.rooms: there is none */
/* A new room takes this place; it is due at once. Later it leaves, and is the caller's to free. */
void kl_lobby_add_room(struct kl_lobby_room *r, unsigned place);
void kl_lobby_drop_room(struct kl_lobby_room *r);
/* The room has something to do, as a message or bytes that wait for an acknowledgement: it runs with the next
 * turn, which any datagram begins. */
void kl_lobby_busy(struct kl_lobby_room *r);
void kl_lobby_due_at(struct kl_lobby_room *r, uint64_t due_us);
/* The rooms of this turn: their number. They stand in dues.run, NULL once they are gone. */
unsigned kl_lobby_dues_next(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_dues_us(const struct kl_lobby *l); /* the next turn's time at the latest */

/* --- lobby_memory.c --- */
/* A new room's lock begins; facts: the room's identity. False: there is no memory. */
bool kl_lobby_memory_begin(struct kl_lobby_room *r, const struct kl_facts *facts);
/* Memory for this member and these seats, unless the room has it already. It stays until the room's end, so a
 * room holds what as many seats and clients need as it ever had at once. False: there is none, and nothing
 * has changed for the others. */
bool kl_lobby_memory_take(struct kl_lobby_room *r, unsigned member, uint8_t seats);
/* For the account or debt of a client that leaves; without it they are forgotten. */
bool kl_lobby_memory_gone(struct kl_lobby_room *r);
/* For what devices give: what r->lock.wants. */
bool kl_lobby_memory_devices(struct kl_lobby_room *r);
/* More places for commands, which r->lock.wants_commands; without memory commands wait. */
bool kl_lobby_memory_commands(struct kl_lobby_room *r);
/* The pads and devices that the history wants for this frame. */
bool kl_lobby_memory_past(struct kl_lobby_room *r, const struct kl_frame *f);
void kl_lobby_memory_past_free(struct kl_lobby_room *r);
/* A place for a digest; NULL: there is no memory. */
struct kl_digest *kl_lobby_memory_digest(struct kl_lobby_room *r);
/* The same for watchers that see the game so many seconds later. */
bool kl_lobby_memory_delay(struct kl_lobby_room *r, unsigned delay_s);
/* A copy, of so many facts as there are; NULL: there is no memory. */
struct kl_facts *kl_lobby_memory_facts(const struct kl_facts *f);
/* Keeps a sealed ticket instead of the one before. False: there is no memory, and that one stays. */
bool kl_lobby_memory_ticket(struct kl_lobby_room *r, const uint8_t *sealed, uint32_t len);
/* The room's files in play, begun if there are none yet. False: there is no memory. */
bool kl_lobby_memory_files(struct kl_lobby_room *r);
/* The table of bars, empty if there was none. False: there is no memory. */
bool kl_lobby_memory_bars(struct kl_lobby_room *r);
void kl_lobby_memory_free(struct kl_lobby_room *r);
/* Bytes that the room holds, without start data, history and snapshots. */
uint64_t kl_lobby_memory_bytes(const struct kl_lobby_room *r);

/* --- lobby_past.c: the past --- */
void kl_lobby_past_begin(struct kl_lobby_room *r, uint64_t now_us); /* with the first frame */
void kl_lobby_past_free(struct kl_lobby_room *r);
void kl_lobby_past_keep(struct kl_lobby_room *r, const struct kl_frame *f);
/* From a journal: adopts the next piece of frames with the number of intervals that begin in it, unread; then
 * the digest of all whole intervals so far. False: the piece does not follow, or there is no memory. */
bool kl_lobby_past_adopt(struct kl_lobby_room *r, const uint8_t *piece, size_t len, uint32_t intervals);
void kl_lobby_past_adopt_digest(struct kl_lobby_room *r, const struct kl_digest *c);
/* True if all frames since `from` are kept. */
bool kl_lobby_past_reaches(const struct kl_lobby_room *r, uint32_t from);
/* The digest of so many whole intervals of the room. False: there are not as many, or the relay does not keep
 * the frames that it takes any more. */
bool kl_lobby_past_digest(const struct kl_lobby_room *r, uint32_t intervals, struct kl_digest *out);
/* Compares the room's record with a client's frames and own states. `can_catch_up` and `state_can_catch_up`
 * are left false. */
struct kl_record_facts kl_lobby_past_facts(const struct kl_lobby_room *r, const struct kl_return *b);

/* --- lobby_past.c: packed blocks --- */
uint64_t kl_lobby_past_block_bytes(const struct kl_history_block *b);
void kl_lobby_past_end(struct kl_lobby *l); /* frees what all rooms share */

/* --- lobby_say.c --- */
/* "ann (1)": a member's name, as shown to people. */
struct kl_name_shown kl_lobby_name(const struct kl_lobby_room *r, unsigned member);
/* "ann (1), bob (2)" */
void kl_lobby_names_of(const struct kl_lobby_room *r, uint16_t clients, char *out, size_t cap);
/* Bulk (kl_msg_is_bulk()) as such: see lobby_net.h. */
void kl_lobby_send(struct kl_lobby *l, unsigned peer, const struct kl_msg *m);
/* True: more messages than that are under way to this client. */
bool kl_lobby_is_behind(const struct kl_lobby_room *r, unsigned peer, unsigned messages);
void kl_lobby_settle(struct kl_lobby *l, unsigned peer); /* it is in a room */
void kl_lobby_send_all(struct kl_lobby_room *r, const struct kl_msg *m);
void kl_lobby_notice(struct kl_lobby_room *r, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));
/* A notice about members that come and go: at most one a second in the long run, because a stranger could
 * cause many. */
void kl_lobby_news(struct kl_lobby_room *r, uint64_t now_us, const char *format, ...)
    __attribute__((format(__printf__, 3, 4)));
/* Members, seats or the door have changed: all get a roster. kept: it belongs in the room's record, too. */
void kl_lobby_changed(struct kl_lobby_room *r, bool kept);
/* A notice for all watchers. */
void kl_lobby_watch_notice(struct kl_lobby_room *r, const struct kl_text *t);
/* room="…" client=… name="…" seats=… and then the rest. */
void kl_lobby_log_member(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                         unsigned member, const char *format, ...) __attribute__((format(__printf__, 5, 6)));
/* The same of a member or a watcher: of a watcher with watchers=… frame=… in the place of the seats. */
void kl_visitor_log(const char *event, const struct kl_lobby_room *r, const struct kl_visitor *v,
                    const char *format, ...) __attribute__((format(__printf__, 4, 5)));
/* room="…" and then the rest. */
void kl_lobby_log_room(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                       const char *format, ...) __attribute__((format(__printf__, 4, 5)));

#endif

/* participant.h - one client as a participant of a room: joining, playing, losing the relay and returning,
 * snapshots, the room's door. From the first INIT to BYE, over all sessions between. net/PROTOCOL.md §7 and
 * §9; docs/design.md §5.
 *
 * Pure but for libsodium: events with their time come in; messages, datagrams and news are taken out. No
 * clock, socket, thread, file. Not thread-safe. Of the heap: start data, a snapshot, and a block of history
 * each few minutes of play.
 *
 * The caller calls
 * - first kl_participant_init() and kl_participant_begin();
 * - for a datagram of the relay kl_participant_stranger(); if a seal opened it, kl_participant_heard(), and
 *   by its kind kl_participant_update() or kl_participant_challenge();
 * - when ENet has connected, hung up, or brought a message kl_participant_connected(),
 *   kl_participant_hung_up(), kl_participant_message();
 * - each 10 ms, and at kl_participant_wake_at(), kl_participant_turn(); then it sends the results of
 *   kl_dial_send(), kl_participant_send() and kl_participant_say().
 *
 * The files: participant.c (the wrapper's requests), participant_inbox.c (the relay's messages),
 * participant_return.c (coming back), participant_snapshot.c, participant_door.c, participant_direct.c
 * (samples straight to other players), participant_say.c (HEAR and VOICES, the order of
 * all that goes out), dial.c (handshakes). */
#ifndef KL_PARTICIPANT_H
#define KL_PARTICIPANT_H

#include "net/client/dial.h"
#include "net/client/voice.h"
#include "net/engine/history.h"
#include "net/engine/lock_client.h"
#include "net/engine/msg.h"
#include "net/engine/lock_relay.h"
#include "net/session/digest.h"
#include "net/session/door.h"
#include "net/session/seat.h"

#define KL_SILENCE_US      (4 * 1000000ULL) /* without a datagram of the relay the session is lost */
#define KL_WATCH_AGAIN_S   60               /* a watcher's time to come back; shown as its seat time */
#define KL_START_BYTES_MAX (16U * 1024 * 1024)
#define KL_PARTICIPANT_HASHES                                                                                \
    KL_WINDOW_FRAMES /* waiting to be sent; kl_participant_plan() sees that they fit */
#define KL_PARTICIPANT_ORDERS  8
#define KL_PARTICIPANT_NOTICES 16
#define KL_PARTICIPANT_FILES   16
#define KL_PARTICIPANT_MARKS   24    /* more than KL_RECORD_STATES */
#define KL_PARTICIPANT_TURN_US 10000 /* between two turns at most */

enum kl_participant_phase {
    KL_PARTICIPANT_CONNECTING, /* resolving, connecting, HELLO under way */
    KL_PARTICIPANT_WAITING,    /* in the room; seats are being filled */
    KL_PARTICIPANT_SEND_START, /* we are the host: the start data is wanted (stays until given) */
    KL_PARTICIPANT_FETCHING,   /* PREPARE has come, start data is on its way */
    KL_PARTICIPANT_LOAD,       /* start data is here: load afresh, then call kl_participant_ready() */
    KL_PARTICIPANT_READY,      /* we are ready, others are not */
    KL_PARTICIPANT_PLAYING,    /* frames flow */
    KL_PARTICIPANT_RETURNING,  /* the session is lost and made anew, the seat kept; then the former phase */
    KL_PARTICIPANT_ENDED,      /* over: see status.reason; nothing more comes */
};

struct kl_participant_status {
    enum kl_participant_phase phase;
    char
        reason[KL_TEXT_MAX]; /* with KL_PARTICIPANT_ENDED and KL_PARTICIPANT_RETURNING: one line for people */
    uint8_t refused;         /* with KL_PARTICIPANT_ENDED: enum kl_refuse if the relay refused; else 0 */
    uint64_t lost_us;        /* with KL_PARTICIPANT_RETURNING: time of the relay's last datagram */
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* of the relay reached; empty before */
    uint8_t relay_key[32];                      /* its public key; zero before */
    uint8_t cipher;                             /* enum kl_cipher in force; 0 before */
    struct kl_welcome welcome;                  /* from KL_PARTICIPANT_WAITING on */
    bool bare;                                  /* with KL_PARTICIPANT_SEND_START: without saves */
    struct kl_prepare prepare;                  /* from KL_PARTICIPANT_FETCHING on */
    struct kl_roster roster;
    uint32_t data_done, data_total; /* start data progress, bytes */
    const uint8_t *start; /* the start data once it is whole, else NULL; borrowed until the next status */
    size_t start_len;
    uint64_t direct_datagrams;           /* that came straight from them, with samples */
    unsigned direct_named, direct_heard; /* players that know our address; those of them that we hear */
    uint32_t behind; /* closed frames of the room that have not come yet; many after a return */
    bool begins;     /* while playing: no frame runs until a snapshot has come and been loaded */
    uint32_t shot_done, shot_total; /* packed bytes of that snapshot: arrived, in all */
    struct kl_client_stats lock;
    bool desync;                 /* a verdict said that hashes differ, and they have not been healed since */
    uint16_t healed;             /* number of times that the room was healed */
    struct kl_verdict verdict;   /* the newest */
    struct kl_verdict first_bad; /* the first that differs */
    uint32_t verified;           /* hashes up to this frame label agree everywhere; valid if any_verified */
    bool any_verified;
    struct kl_proof seal; /* the newest, as it came: end 0: none */
};

/* The password: the client and the relay prove it to each other before the client is in the room. */
struct kl_participant_door {
    bool has_password;
    uint8_t expected[KL_DOOR_MAC]; /* MAC that PROVED must have */
    enum {
        KL_PARTICIPANT_OUTSIDE,
        KL_PARTICIPANT_STRETCHING, /* DOOR has come; the caller stretches the password */
        KL_PARTICIPANT_PROVING,    /* PROVE is out */
        KL_PARTICIPANT_PASSED,     /* no proof is (or was) needed */
    } state;
    struct kl_door_msg ask;
    bool prove_wanted; /* is to be sent: */
    struct kl_prove prove;
};

/* Snapshots: our reports, the one that we give, the one that comes. */
struct kl_participant_snapshot {
    bool state_wanted, healed_wanted; /* are to be sent */
    struct kl_state_said state;
    struct kl_healed healed;
    bool asked; /* the relay wants one; kl_participant_asked() has not told the caller yet */
    struct kl_ask ask;
    uint8_t *given; /* on its way up; NULL: nothing is */
    uint32_t given_len, given_keyframe, given_sent;
    bool given_based;
    uint32_t rate, rtt_us; /* bytes a second, 0: not begun; the shortest round trip meanwhile */
    bool met;              /* the rate has reached the link's limit */
    uint64_t rate_us, tokens_us;
    double tokens; /* bytes that may go */
    struct kl_offer offer;
    uint8_t *coming; /* offer.packed bytes, `have` of them here; NULL: nothing comes */
    uint32_t have;
    bool begins; /* we begin at offer.keyframe, which is not loaded yet: our older frames do not count */
    bool rewind_wanted; /* the wrapper is to go back to its own state of rewind.keyframe */
    bool goes_back;     /* rewind.lost: our frames end at rewind.keyframe, and the wrapper is not there yet */
    struct kl_rewind rewind;
};

/* Another player, to which our samples go straight as well. */
struct kl_participant_peer {
    struct kl_peer is;
    struct kl_sealer sealer;
    struct kl_opener opener;
    uint64_t since_us;          /* it was named then */
    uint64_t heard_us, sent_us; /* its newest datagram, and ours; 0: none */
    bool guesses;               /* it wants samples */
    uint32_t sent;              /* samples below went there */
    uint64_t second_us;         /* of `tries`: datagrams with its address and number in that second */
    uint32_t tries;
};
struct kl_participant_direct {
    bool allowed, said; /* by the player; DIRECT went out in this session */
    unsigned count;
    struct kl_participant_peer peer[KL_PEERS_MAX];
};

struct kl_participant_voice {
    struct kl_hear wish, heard; /* the voice thread's; that of the session's newest HEAR, if it was said */
    bool said, answered;        /* in this session: HEAR went out, VOICES has come */
    struct kl_voices voices;
};

struct kl_participant {
    /* constant after kl_participant_init(), but for dial */
    struct kl_hello hello;
    struct kl_seat_key seat;
    bool fresh;                    /* begins with RETURN */
    bool moved;                    /* REFUSE MOVED has come; a second one is final */
    bool sent_on;                  /* REFUSE ELSEWHERE has come since the last WELCOME */
    bool goes_on;                  /* the link begins anew with these addresses: */
    char elsewhere[KL_TEXT_MAX];   /* of the relay that has the room; "": one of: */
    char relays[KL_TEXT_MAX];      /* of those that may go on with the room, the likeliest first; "": none */
    struct kl_msg errand;          /* is said instead; kind 0: a room is entered */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh, until the first WELCOME */
    bool sparing;
    struct kl_held *held;
    uint32_t held_frames;
    struct kl_dial dial;

    struct kl_participant_status status; /* but for the fields that kl_participant_status() fills in */
    bool joined;                         /* WELCOME has come: lock is initialised */
    uint64_t greet_by_us; /* before `joined`: WELCOME is to come; 0: no handshake was answered */
    struct kl_client lock;
    uint64_t events;    /* counts the events that a wrapper may wait for */
    uint64_t seen;      /* of them, those before its last plan or wait */
    bool say_wanted;    /* it has said something that is to be sent at once; see kl_participant_is_due() */
    uint64_t wake_us;   /* the caller's next turn, by kl_participant_wake_at() */
    uint64_t turned_us; /* the last kl_participant_turn() of a connected player; 0: none */
    bool enter_wanted, said_bye;
    bool new_token, new_relays; /* kl_participant_welcomed(), kl_participant_has_new_relays() */
    uint8_t path[16], path_len;

    struct kl_hash hash[KL_PARTICIPANT_HASHES]; /* that wait to be sent */
    uint32_t hash_put, hash_got;
    struct kl_sign sign;                          /* over those that were sent */
    uint32_t signed_last;                         /* sign.count when it went out last */
    bool sign_wanted;                             /* SIGN is to be sent */
    struct kl_order order[KL_PARTICIPANT_ORDERS]; /* commands that wait to be sent */
    uint32_t order_put, order_got;
    struct kl_file_said file[KL_PARTICIPANT_FILES]; /* that wait to be sent */
    uint32_t file_put, file_got;
    bool check_wanted; /* the relay asks for a disk's checksum; kl_participant_check() has not told it */
    struct kl_check check;
    uint64_t planned_us; /* when the wrapper last asked for a plan */
    struct kl_text notice[KL_PARTICIPANT_NOTICES];
    uint32_t notice_put, notice_got;

    uint8_t *given; /* the host's start data */
    size_t given_len, uploaded;
    bool is_given;
    uint8_t *start; /* start data to begin with; may be `given` */
    size_t start_len;
    uint8_t *start_before; /* of a game that was begun anew; the wrapper may still read it */

    struct kl_facts ready_facts;
    bool ready_wanted; /* READY is to be sent */

    enum kl_participant_phase before; /* with KL_PARTICIPANT_RETURNING: the phase to go back to */
    struct kl_history past;           /* every frame that the wrapper took */
    struct kl_digest chain; /* of its whole intervals, and of those before the snapshot it began with */
    struct kl_digest
        mark[KL_PARTICIPANT_MARKS]; /* of the frames before marked keyframes: those of `own`, the newest */
    unsigned marks;
    uint32_t own[KL_RECORD_STATES]; /* keyframes of the wrapper's own states, the oldest first */
    unsigned owns;

    struct kl_participant_door door;
    struct kl_participant_direct direct;
    struct kl_participant_voice voice;
    struct kl_participant_snapshot snapshot;
    bool unloaded; /* a session ended before its snapshot was loaded: no frame of ours counts */

    bool leaving;
    uint64_t leave_by_us;
};

struct kl_participant_config {
    const char *relay;             /* name and port, for messages; copied */
    const char *fingerprint;       /* the relay must have this one; NULL: any */
    bool asks_trust;               /* without a fingerprint: kl_dial_trust() decides */
    uint8_t offers;                /* enum kl_cipher bits */
    struct kl_hello hello;         /* its version, seat key and door's password are filled in */
    struct kl_seat_key seat;       /* signs RETURN. All zero: one is made */
    bool fresh;                    /* begins with RETURN: the seat of a process that died */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh: of the last WELCOME */
    const char *relays;            /* others of its fleet, of a NOTICE 4 before; NULL: none. Copied */
    /* NULL, or goes into no room, but says this, and the relay's answer is status.refused and status.reason:
     * DELETE (room_id; it is signed here); CHALLENGE, and its token is status.start at KL_PARTICIPANT_LOAD;
     * RUN, with the run's recording. Both are copied. */
    const struct kl_msg *errand;
    const void *run;
    size_t run_len;
    bool has_password; /* kl_participant_secret() will be able to prove it */
    bool sparing; /* a metered link: nothing is repeated half a frame later, even if the room does that */
    bool
        direct; /* players whose bytes this client loads may know its address, and get its samples straight */
    struct kl_held *held; /* borrowed until its end */
    uint32_t held_frames;
};

/* s: zeroed, or never used. */
void kl_participant_init(struct kl_participant *s, const struct kl_participant_config *config);
/* The first INIT is due. */
void kl_participant_begin(struct kl_participant *s, uint64_t now_us);
/* Ends the participation for this reason; the first reason stays. */
void kl_participant_end(struct kl_participant *s, const char *reason);
/* Gives back all memory, forgets all secrets. */
void kl_participant_free(struct kl_participant *s);
static inline bool kl_participant_is_over(const struct kl_participant *s) {
    return s->status.phase == KL_PARTICIPANT_ENDED;
}

/* --- events --- */

/* A datagram from outside of any session, from the relay's address: kl_dial_receive(). Then
 * kl_dial_asks(). */
bool kl_participant_stranger(struct kl_participant *s, const uint8_t *bytes, size_t len, uint64_t now_us);
void kl_participant_trust(struct kl_participant *s, const char *why, uint64_t now_us); /* kl_dial_trust() */
/* A datagram of the session was opened; of any kind. */
void kl_participant_heard(struct kl_participant *s, uint64_t now_us);
/* The body of an UPDATE. One that is malformed changes nothing. */
void kl_participant_update(struct kl_participant *s, const uint8_t *body, size_t len, uint64_t now_us);
/* The body of a PATH datagram: the relay checks the address of our datagrams. */
void kl_participant_challenge(struct kl_participant *s, const uint8_t *body, size_t len);
/* A datagram from another address than the relay's. Changed while it is opened. Most are strangers':
 * kl_participant_knows() is quick, and needs no lock in the thread that calls kl_participant_message(). */
bool kl_participant_knows(const struct kl_participant *s, const uint8_t host[KL_PEER_HOST], uint16_t port);
void kl_participant_direct_in(struct kl_participant *s, const uint8_t host[KL_PEER_HOST], uint16_t port,
                              uint8_t *bytes, size_t len, uint64_t now_us);
/* The wish of the voice thread, which the relay is told; then the state for that thread. */
void kl_participant_hear(struct kl_participant *s, const struct kl_hear *wish);
void kl_participant_voices(const struct kl_participant *s, struct kl_voice_told *out);
/* ENet: is being connected with the keys of dial.s.outcome (possible false: cannot be); is connected; has
 * hung up. bye: the relay hung up on purpose. */
void kl_participant_connecting(struct kl_participant *s, bool possible);
void kl_participant_connected(struct kl_participant *s);
void kl_participant_hung_up(struct kl_participant *s, bool bye, uint64_t now_us);
/* A reliable message. Then kl_participant_welcomed() and kl_participant_wants_secret(). */
void kl_participant_message(struct kl_participant *s, const uint8_t *bytes, size_t len, uint64_t now_us);
/* The same, decoded. */
void kl_participant_take_message(struct kl_participant *s, const struct kl_msg *m, uint64_t now_us);

/* True once after a WELCOME to the game: status.welcome has a new token, to be saved before anything is
 * sent. */
bool kl_participant_welcomed(struct kl_participant *s);
/* True once after a player got other `relays`, to be saved with the token. */
bool kl_participant_has_new_relays(struct kl_participant *s);
/* True if the caller is to stretch the password with this salt (door.h: some 0.1 s and 64 MiB) and to give it
 * to kl_participant_secret(). */
bool kl_participant_wants_secret(const struct kl_participant *s, uint8_t salt[KL_DOOR_SALT]);
/* secret: NULL if there was no memory. */
void kl_participant_secret(struct kl_participant *s, const uint8_t secret[KL_DOOR_SECRET]);

/* Checks silence and deadlines. Afterwards: if dial.number has changed, the caller forgets ENet's connection;
 * in KL_DIAL_ANSWERED it makes one. */
void kl_participant_turn(struct kl_participant *s, uint64_t now_us);
/* The time of the next turn at the latest. */
uint64_t kl_participant_wake_at(struct kl_participant *s, uint64_t now_us);

/* --- output --- */

/* The room in the reliable channels. */
struct kl_channels {
    unsigned control_span; /* control messages since the oldest unacknowledged one */
    size_t bulk_room;      /* bytes of bulk that may be given now */
};
/* The next reliable message. False: no message may go now. After BYE the caller ends the connection. */
bool kl_participant_say(struct kl_participant *s, const struct kl_channels *c, uint64_t now_us,
                        struct kl_msg *m);
/* The next body of a datagram, to be sealed as this kind; its length, or 0. cap >= KL_DATAGRAM_MAX. */
size_t kl_participant_send(struct kl_participant *s, uint64_t now_us, uint8_t *kind, uint8_t *body,
                           size_t cap);
/* The next datagram straight to a player, sealed: its length, or 0. */
#define KL_PARTICIPANT_DIRECT_BYTES (KL_DIRECT_BYTES + KL_SEAL_OVERHEAD)
size_t kl_participant_direct_out(struct kl_participant *s, uint64_t now_us, uint8_t host[KL_PEER_HOST],
                                 uint16_t *port, uint8_t out[KL_PARTICIPANT_DIRECT_BYTES]);

/* --- the wrapper's requests --- */

void kl_participant_status(const struct kl_participant *s, struct kl_participant_status *out);
/* The host's start data (opaque to network and relay), from the heap: ours from then on if the result is
 * true. False above KL_START_BYTES_MAX and in another phase than KL_PARTICIPANT_SEND_START. */
bool kl_participant_give_start(struct kl_participant *s, uint8_t *data, size_t len);
/* In KL_PARTICIPANT_LOAD: the start data is loaded. */
void kl_participant_ready(struct kl_participant *s, const struct kl_facts *facts);
/* The turn of lock_client.h. */
struct kl_plan kl_participant_plan(struct kl_participant *s, uint32_t max_runs, uint64_t now_us);
int kl_participant_sample(struct kl_participant *s, const struct kl_input *in, uint64_t now_us);
bool kl_participant_take(struct kl_participant *s, struct kl_frame *out);
/* True once, after any of the requests, if something is to be sent before kl_participant_wake_at(). */
bool kl_participant_is_due(struct kl_participant *s);
/* The commands of a frame that was taken with KL_FRAME_COMMANDS: to be carried out, in their order, before it
 * runs. NULL if there are none. They are kept until the next plan only. */
const struct kl_commands *kl_participant_commands(struct kl_participant *s, uint32_t keyframe);
/* Gives a command (lock_relay.h: KL_COMMAND_*; from KL_COMMAND_FREE on the wrapper's own), to take effect at
 * a keyframe to come on every machine, this one included. KL_COMMAND_PAUSE in a paused room ends the pause.
 * Copied. KL_OK; KL_E_SPACE above KL_COMMAND_BYTES, KL_E_FULL if too many wait, KL_E_STATE before and after
 * the game. */
int kl_participant_order(struct kl_participant *s, uint8_t kind, const void *data, size_t len);
/* True for kinds that are valid before the game too, as soon as we are in the room: the door and the host. */
bool kl_participant_takes_early(uint8_t kind);
/* The core has changed its frame rate, from the next frame on. The client changes at once and tells the
 * relay. */
void kl_participant_rate(struct kl_participant *s, uint32_t fps_uhz);
void kl_participant_hash(struct kl_participant *s, const struct kl_hash *h);
/* True once if the relay asks for the checksum of this disk, from 0. */
bool kl_participant_check(struct kl_participant *s, uint16_t *disk);
/* Says the checksum of a file. False, while the room does not play or too many wait: say it again later. */
bool kl_participant_say_file(struct kl_participant *s, const struct kl_file_said *f);
/* Takes the next line for the screen. False if there is none. */
bool kl_participant_notice(struct kl_participant *s, struct kl_text *out);
/* Begins to leave: our newest samples and hashes go out first, until by_us. Then kl_participant_is_over(). */
void kl_participant_leave(struct kl_participant *s, uint64_t by_us);

/* Reports this machine's state at the SNAPSHOT command of a keyframe. net/ROOMS.md §7, Snapshots. */
void kl_participant_say_state(struct kl_participant *s, const struct kl_state_said *said);
/* True once if the relay asks us for the snapshot of a keyframe, whole or as the difference to another. */
bool kl_participant_asked(struct kl_participant *s, struct kl_ask *ask);
/* Gives it, packed, from the heap: ours from then on. based: as the difference to ASK's base. */
void kl_participant_give_snapshot(struct kl_participant *s, uint32_t keyframe, bool based, uint8_t *packed,
                                  uint32_t len);
/* True once if a whole snapshot has come, to be loaded; packed is the caller's. Only its length is checked:
 * it has offer->packed bytes. */
bool kl_participant_snapshot(struct kl_participant *s, struct kl_offer *offer, uint8_t **packed);
/* With offer->begin: the snapshot is loaded; with rewind.lost: the core is back before that keyframe. Frames
 * may run from there on. fps_uhz: the core's rate if it is not the one that this client has; else 0. */
void kl_participant_begun(struct kl_participant *s, uint32_t keyframe, uint32_t fps_uhz);
/* The wrapper can go back to its own states before these keyframes, the oldest first. At most
 * KL_RECORD_STATES, the newest of more. To be called when it has made one, and when it has dropped some. */
void kl_participant_own_states(struct kl_participant *s, const uint32_t *keyframe, unsigned count);
/* True once if the room wants us to go back to our own state of this keyframe and to rerun the frames since.
 * With `lost` our frames end at the keyframe: others follow it after kl_participant_begun(). */
bool kl_participant_rewind(struct kl_participant *s, struct kl_rewind *m);
/* Reports the result of healing: the state was loaded and the frames since rerun, or not. */
void kl_participant_say_healed(struct kl_participant *s, const struct kl_healed *h);
/* Seeks taken frames, to be rerun from a keyframe on, each with kl_history_next(), its commands in
 * c->frames.commands. False: they are not kept so far back. */
bool kl_participant_past_seek(const struct kl_participant *s, struct kl_history_cursor *c, uint32_t from);

/* True if this client loads other players' bytes in this room. consent: of its HELLO, enum kl_consent. */
static inline bool kl_participant_consents(const struct kl_participant_status *s, uint8_t consent) {
    return consent == KL_CONSENT_ROOM ||
           (consent == KL_CONSENT_UNLISTED && s->roster.doors & KL_DOOR_UNLISTED);
}

#endif

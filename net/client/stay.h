/* stay.h - one client's stay in a room: joining, playing, losing the relay and returning, bringing a room
 * back to a relay that has forgotten it, snapshots, the room's door. From the first INIT to BYE, over all
 * sessions between. net/PROTOCOL.md §7 and §9; docs/design.md §5.
 *
 * Pure but for libsodium: events with their time come in; messages, datagrams and news are taken out. No
 * clock, socket, thread, file. Not thread-safe. The heap is the caller's (struct kl_heap): for start data,
 * for a snapshot, and a block of history each few minutes of play.
 *
 *     kl_stay_init(), kl_stay_begin()              the first handshake
 *     on a datagram of the relay's:                kl_stay_stranger(), or opened by its seal kl_stay_heard()
 * and kl_stay_update() or kl_stay_challenge() ENet connected, hung up, brought a message:
 * kl_stay_connected(), kl_stay_hung_up(), kl_stay_message() each 10 ms, and at kl_stay_wake_at():
 * kl_stay_turn(); then what goes out: kl_dial_send(), kl_stay_send(), kl_stay_say()
 *
 * The files: stay.c (the wrapper's requests), stay_inbox.c (the relay's messages), stay_return.c (what is
 * sent when a player comes back, and when), stay_bring.c, stay_snapshot.c, stay_door.c, stay_say.c (what goes
 * out, in which order), dial.c (handshakes). */
#ifndef KL_STAY_H
#define KL_STAY_H

#include "net/client/dial.h"
#include "net/engine/history.h"
#include "net/engine/lock_client.h"
#include "net/engine/msg.h"
#include "net/engine/room.h"
#include "net/session/door.h"
#include "net/session/seat.h"

#define KL_SILENCE_US      (4 * 1000000ULL) /* without a word of the relay: the session is lost */
#define KL_WATCH_AGAIN_S   60 /* a watcher tries to come back for so long; their status has it as seat time */
#define KL_START_BYTES_MAX (16U * 1024 * 1024)
#define KL_STAY_HASHES     KL_WINDOW_FRAMES /* that wait to be sent; kl_stay_plan() sees that they fit */
#define KL_STAY_ORDERS     8
#define KL_STAY_NOTICES    16
#define KL_STAY_TAGS       16
#define KL_STAY_TURN_US    10000 /* between two turns at most */

enum kl_stay_phase {
    KL_STAY_CONNECTING, /* resolving, connecting, HELLO under way */
    KL_STAY_WAITING,    /* in the room; seats are being filled */
    KL_STAY_SEND_START, /* we are the host: the start data is wanted (stays until given) */
    KL_STAY_FETCHING,   /* PREPARE has come, start data is on its way */
    KL_STAY_LOAD,       /* start data is here: take it, load afresh, then say that we are ready */
    KL_STAY_READY,      /* we are ready, others are not */
    KL_STAY_PLAYING,    /* frames flow */
    KL_STAY_RETURNING,  /* the session is lost and made anew; the seat is kept. Then the phase of before */
    KL_STAY_ENDED,      /* over: see status.reason; nothing more comes */
};

struct kl_stay_status {
    enum kl_stay_phase phase;
    char reason[KL_TEXT_MAX]; /* with KL_STAY_ENDED and KL_STAY_RETURNING: one line for people */
    uint8_t refused;          /* with KL_STAY_ENDED: enum kl_refuse, where that was it; else 0 */
    uint64_t lost_us;         /* with KL_STAY_RETURNING: when the relay was last heard */
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* of the relay reached; empty before */
    uint8_t cipher;                             /* enum kl_cipher in force; 0 before */
    struct kl_welcome welcome;                  /* from KL_STAY_WAITING on */
    struct kl_prepare prepare;                  /* from KL_STAY_FETCHING on */
    struct kl_roster roster;
    uint32_t data_done, data_total; /* start data progress, bytes */
    uint32_t behind; /* frames that the room has closed and that have not come yet: after a return, many */
    bool begins;     /* while playing: nothing runs before a snapshot has come and been loaded */
    uint32_t shot_done, shot_total; /* bytes of that snapshot, packed: here, and in all */
    struct kl_client_stats lock;
    bool desync;                 /* a verdict said that hashes differ, and they have not been healed since */
    uint16_t healed;             /* how often the room was */
    struct kl_verdict verdict;   /* the newest */
    struct kl_verdict first_bad; /* the first that differs */
    uint32_t verified; /* hashes up to this frame label agree everywhere; valid where any_verified */
    bool any_verified;
};

/* malloc and free, or what stands for them. */
struct kl_heap {
    void *(*get)(size_t len); /* NULL: no memory */
    void (*put)(void *block); /* NULL is allowed */
};

/* The relay's newest mark of a TAGS message. */
struct kl_stay_tags {
    uint32_t count, end_frame; /* intervals up to this one; the first frame after it */
    uint8_t tag[KL_TAG_BYTES];
};

/* The password: the client and the relay prove it to each other before the client is in the room. */
struct kl_stay_door {
    bool has_password;
    uint8_t expected[KL_DOOR_MAC]; /* that PROVED must bring */
    enum {
        KL_STAY_OUTSIDE,
        KL_STAY_STRETCHING, /* DOOR has come; the caller stretches the password */
        KL_STAY_PROVING,    /* PROVE is out */
        KL_STAY_PASSED,     /* nothing (more) to be proved */
    } state;
    struct kl_door_msg ask;
    bool prove_wanted; /* is to be sent: */
    struct kl_prove prove;
};

/* Snapshots: what we say and give, and what comes. */
struct kl_stay_shot {
    bool state_wanted, healed_wanted; /* are to be sent */
    struct kl_state_said state;
    struct kl_healed healed;
    bool asked; /* the relay wants it, and nobody has looked yet */
    struct kl_ask ask;
    uint8_t *given; /* on its way up; NULL: nothing is */
    uint32_t given_len, given_keyframe, given_sent;
    bool given_based;
    uint32_t rate, rtt_us; /* bytes a second, 0: not begun; the shortest round trip meanwhile */
    bool met;              /* it has met the link's limit */
    uint64_t rate_us, tokens_us;
    double tokens; /* bytes that may go */
    struct kl_offer offer;
    uint8_t *coming; /* offer.packed bytes, `have` of them here; NULL: nothing comes */
    uint32_t have;
    bool begins; /* we begin at offer.keyframe, and have not loaded that yet: nothing that we have counts */
};

/* The parts of a lost room that the relay asks this client to bring. */
struct kl_stay_bring {
    bool active;
    uint8_t what, step;
    uint32_t from, offset;
};

struct kl_stay {
    /* constant after kl_stay_init(), but for dial */
    struct kl_hello hello;
    struct kl_seat_key seat;
    bool fresh;                    /* begins with RETURN */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh, until the first WELCOME */
    bool sparing;
    struct kl_heap heap;
    struct kl_held *held;
    uint32_t held_frames;
    struct kl_dial dial;

    struct kl_stay_status status; /* but for the fields that kl_stay_status() fills in */
    bool joined;                  /* WELCOME has come: lock is initialised */
    struct kl_client lock;
    uint64_t events;  /* grows with each thing that a wrapper may wait for */
    uint64_t wake_us; /* when the caller said that it gets up by itself */
    bool enter_wanted, said_bye;
    bool new_token; /* kl_stay_welcomed() */
    uint8_t path[16], path_len;

    struct kl_hash hash[KL_STAY_HASHES]; /* that wait to be sent */
    uint32_t hash_put, hash_got;
    struct kl_order order[KL_STAY_ORDERS]; /* commands that wait to be sent */
    uint32_t order_put, order_got;
    uint64_t planned_us; /* when the wrapper last asked for a plan */
    char notice[KL_STAY_NOTICES][KL_TEXT_MAX];
    uint32_t notice_put, notice_got;

    uint8_t *given; /* the host's start data */
    size_t given_len, uploaded;
    bool is_given;
    uint8_t *start; /* start data to begin with; may be `given` */
    size_t start_len;
    uint8_t *start_before; /* of a game that had to be begun anew: the wrapper may still look at it */

    struct kl_facts ready_facts;
    bool ready_wanted; /* READY is to be sent */

    enum kl_stay_phase before; /* with KL_STAY_RETURNING: the phase that is gone back to */
    struct kl_history past;    /* every frame that was taken */
    struct kl_stay_tags tags[KL_STAY_TAGS];
    uint32_t tags_put;
    uint8_t ticket[KL_TICKET_TOTAL_MAX], ticket_new[KL_TICKET_TOTAL_MAX]; /* the newest whole one; the next */
    uint32_t ticket_len, ticket_coming;

    struct kl_stay_door door;
    struct kl_stay_shot shot;
    struct kl_stay_bring bring;
    bool unloaded; /* a session ended before its snapshot was loaded: we have nothing */

    bool leaving;
    uint64_t leave_by_us;
};

struct kl_stay_config {
    const char *relay;             /* name and port, for messages; copied */
    const char *fingerprint;       /* the relay must have this one; NULL: any */
    bool asks_trust;               /* without a fingerprint: kl_dial_trust() says whether to go on */
    uint8_t offers;                /* enum kl_cipher bits */
    struct kl_hello hello;         /* its version, seat key and door's password are filled in */
    struct kl_seat_key seat;       /* signs RETURN. All zero: one is made */
    bool fresh;                    /* begins with RETURN: this seat was another process's, which died */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh: of the last WELCOME */
    bool has_password;             /* kl_stay_secret() will be able to prove it */
    bool sparing;                  /* a metered link: no half steps, whatever the room has */
    struct kl_heap heap;
    struct kl_held *held; /* borrowed for the whole stay */
    uint32_t held_frames;
};

/* s: zeroed, or never used. */
void kl_stay_init(struct kl_stay *s, const struct kl_stay_config *config);
/* The first INIT is due. */
void kl_stay_begin(struct kl_stay *s, uint64_t now_us);
/* It is over for this reason; the first one stays. */
void kl_stay_end(struct kl_stay *s, const char *reason);
/* Gives back all memory, forgets all secrets. */
void kl_stay_free(struct kl_stay *s);
static inline bool kl_stay_is_over(const struct kl_stay *s) {
    return s->status.phase == KL_STAY_ENDED;
}

/* --- events ------------------------------------------------------------------------------------------------
 */

/* A datagram from outside of any session, from the relay's address. Then kl_dial_asks(). */
void kl_stay_stranger(struct kl_stay *s, const uint8_t *bytes, size_t len, uint64_t now_us);
void kl_stay_trust(struct kl_stay *s, const char *why, uint64_t now_us); /* kl_dial_trust() */
/* A datagram of the session was opened; of any kind. */
void kl_stay_heard(struct kl_stay *s, uint64_t now_us);
/* The body of an UPDATE. One that is malformed changes nothing. */
void kl_stay_update(struct kl_stay *s, const uint8_t *body, size_t len, uint64_t now_us);
/* The body of a PATH datagram: the relay asks whether we are where our datagrams come from. */
void kl_stay_challenge(struct kl_stay *s, const uint8_t *body, size_t len);
/* ENet is being connected with the keys of dial.s.outcome (false: it cannot be); it is; it is not any more.
 * bye: the relay meant it. */
void kl_stay_connecting(struct kl_stay *s, bool possible);
void kl_stay_connected(struct kl_stay *s);
void kl_stay_hung_up(struct kl_stay *s, bool bye, uint64_t now_us);
/* A reliable message. Then kl_stay_welcomed() and kl_stay_wants_secret(). */
void kl_stay_message(struct kl_stay *s, const uint8_t *bytes, size_t len, uint64_t now_us);
/* The same, decoded. */
void kl_stay_take_message(struct kl_stay *s, const struct kl_msg *m, uint64_t now_us);

/* True once after a WELCOME to the game: status.welcome has a new token, to be kept before anything is said.
 */
bool kl_stay_welcomed(struct kl_stay *s);
/* True where the password is to be stretched with this salt (door.h: some 0.1 s and 64 MiB), and given. */
bool kl_stay_wants_secret(const struct kl_stay *s, uint8_t salt[KL_DOOR_SALT]);
/* secret: NULL where there was no memory for it. */
void kl_stay_secret(struct kl_stay *s, const uint8_t secret[KL_DOOR_SECRET]);

/* Looks at silence and deadlines. Afterwards: another dial.number, and ENet's connection is to be forgotten;
 * KL_DIAL_ANSWERED, and it is to be made. */
void kl_stay_turn(struct kl_stay *s, uint64_t now_us);
/* When the next turn is due at the latest. */
uint64_t kl_stay_wake_at(struct kl_stay *s, uint64_t now_us);

/* --- what goes out -----------------------------------------------------------------------------------------
 */

/* The room in the reliable channels. */
struct kl_channels {
    unsigned control_span; /* control messages from the oldest unacknowledged one on */
    size_t bulk_room;      /* bytes of bulk that may be given now */
};
/* The next reliable message. False: nothing (more) may go now. With BYE the connection is to be ended behind
 * it. */
bool kl_stay_say(struct kl_stay *s, const struct kl_channels *c, uint64_t now_us, struct kl_msg *m);
/* The next body of a datagram, to be sealed as this kind; its length, or 0. cap >= KL_DATAGRAM_MAX. */
size_t kl_stay_send(struct kl_stay *s, uint64_t now_us, uint8_t *kind, uint8_t *body, size_t cap);

/* --- the wrapper's requests: link.h has what each means ---------------------------------------------------
 */

void kl_stay_status(const struct kl_stay *s, struct kl_stay_status *out);
/* data: the heap's, and ours from then on where the result is true. */
bool kl_stay_give_start(struct kl_stay *s, uint8_t *data, size_t len);
void kl_stay_ready(struct kl_stay *s, const struct kl_facts *facts);
struct kl_plan kl_stay_plan(struct kl_stay *s, uint32_t max_runs, uint64_t now_us);
int kl_stay_sample(struct kl_stay *s, const struct kl_input *in, uint64_t now_us);
bool kl_stay_take(struct kl_stay *s, struct kl_frame *out);
/* After these two: true where the lock client wants to speak before kl_stay_wake_at(), once. */
bool kl_stay_is_due(struct kl_stay *s);
const struct kl_commands *kl_stay_commands(struct kl_stay *s, uint32_t keyframe);
bool kl_stay_takes_early(uint8_t kind);
int kl_stay_order(struct kl_stay *s, uint8_t kind, const void *data, size_t len);
void kl_stay_rate(struct kl_stay *s, uint32_t fps_uhz);
void kl_stay_hash(struct kl_stay *s, const struct kl_hash *h);
bool kl_stay_notice(struct kl_stay *s, char *out, size_t cap);
/* Everybody's newest samples and hashes go out first, but not after by_us. Over at last: kl_stay_is_over().
 */
void kl_stay_leave(struct kl_stay *s, uint64_t by_us);

void kl_stay_say_state(struct kl_stay *s, const struct kl_state_said *said);
bool kl_stay_asked(struct kl_stay *s, struct kl_ask *ask);
/* packed: the heap's, and ours from then on. */
void kl_stay_give_snapshot(struct kl_stay *s, uint32_t keyframe, bool based, uint8_t *packed, uint32_t len);
/* True once: packed is the caller's. */
bool kl_stay_snapshot(struct kl_stay *s, struct kl_offer *offer, uint8_t **packed);
void kl_stay_begun(struct kl_stay *s, uint32_t keyframe, uint32_t fps_uhz);
void kl_stay_say_healed(struct kl_stay *s, const struct kl_healed *h);
bool kl_stay_past_seek(const struct kl_stay *s, struct kl_history_cursor *c, uint32_t from);

#endif

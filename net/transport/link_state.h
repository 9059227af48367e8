/* link_state.h - what the parts of a link share: link.c (the frontend's side), link_thread.c (the network's),
 * link_session.c (its datagrams: handshake, keys), link_inbox.c (what the relay's messages do), link_return.c
 * (losing the relay and coming back), link_say.c (what it says of its machine), link_snapshot.c. Only inside
 * net/transport.
 *
 * A field belongs to the mutex, or to the network thread alone; the two are kept apart below. */
#ifndef KL_LINK_STATE_H
#define KL_LINK_STATE_H

#include <stdatomic.h>

#include "net/engine/history.h"
#include "net/platform/thread.h"
#include "net/session/handshake.h"
#include "net/transport/enet_seal.h"
#include "net/transport/link.h"
#include "net/transport/link_door.h"

#define KL_START_BYTES_MAX (16U * 1024 * 1024)
#define KL_LINK_HASHES     KL_WINDOW_FRAMES /* that wait to be sent; kl_link_plan() sees that they fit */
#define KL_HELD_FRAMES     16384  /* about four and a half minutes at 60 fps: how long a menu may stay open */
#define KL_AWAY_US         150000 /* a frontend that has not called for so long does not run */
#define KL_LINK_ORDERS     8
#define KL_LINK_NOTICES    16
#define KL_LINK_HOST_MAX   256

/* The relay's newest marks, as far as RETURN needs them: the last of a TAGS message. */
#define KL_LINK_TAGS 16
struct kl_link_tags {
    uint32_t count, end_frame; /* intervals up to this one; the first frame after it */
    uint8_t tag[KL_TAG_BYTES];
};

/* Snapshots: what we say and give, and what comes. */
struct kl_link_shot {
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

struct kl_link_shared {
    struct kl_link_status status; /* but for .lock, which is taken fresh from the lock client */
    bool joined;                  /* WELCOME has come: lock is initialised */
    struct kl_client lock;
    uint64_t events, seen; /* things kl_link_wait() waits for: happened, and known to the caller */
    uint64_t wake_us;      /* when the thread gets up by itself */

    /* Hashes: put by the frontend, committed to, revealed, in this order. */
    struct kl_hash hash[KL_LINK_HASHES];
    uint8_t nonce[KL_LINK_HASHES][KL_NONCE_BYTES];
    uint32_t hash_put, hash_committed, hash_got;
    bool any_reveal;
    uint32_t reveal;                       /* REVEAL has come for frames up to this one, where any_reveal */
    struct kl_order order[KL_LINK_ORDERS]; /* commands that wait to be sent */
    uint32_t order_put, order_got;
    uint64_t planned_us; /* when the frontend last asked for a plan */
    char notice[KL_LINK_NOTICES][KL_TEXT_MAX];
    uint32_t notice_put, notice_got;

    uint8_t *given; /* start data of the host, on its way up */
    size_t given_len;
    bool is_given;
    uint8_t *start; /* start data to begin with; may be `given` */
    size_t start_len;
    uint8_t *start_before; /* of a game that had to be begun anew */

    struct kl_facts ready_facts;
    bool ready_wanted; /* READY is to be sent */

    enum kl_link_phase before; /* with KL_LINK_RETURNING: the phase that is gone back to */
    struct kl_history past;    /* every frame that was taken */
    struct kl_link_tags tags[KL_LINK_TAGS];
    uint32_t tags_put;
    uint8_t ticket[KL_TICKET_TOTAL_MAX],
        ticket_new[KL_TICKET_TOTAL_MAX]; /* the newest whole one; the one that comes */
    uint32_t ticket_len, ticket_coming;

    struct kl_link_shot shot;
    bool unloaded; /* a session ended before its snapshot was loaded: we have nothing */

    bool leaving;
    uint64_t leave_by_us;
};

/* One set of keys with the relay, from INIT on. The network thread's own. */
struct kl_link_session {
    enum {
        KL_STAGE_HANDSHAKE, /* INIT goes out */
        KL_STAGE_ANSWERED,  /* keys are here; ENet is to be connected */
        KL_STAGE_CONNECTING,
        KL_STAGE_CONNECTED,
    } stage;
    struct kl_hs_client handshake;
    uint64_t init_us, pause_us;               /* INIT is due; what follows until the next one */
    uint64_t begun_us, answered_us, heard_us; /* heard_us: something authentic of the relay's */
    uint64_t refused_us; /* when the first refusal came, or the first answer of another relay; 0: none */
    char other[KL_FINGERPRINT_CHARS + 1]; /* that relay's fingerprint */
    struct kl_hs_outcome outcome;
    struct kl_sealer sealer;
    struct kl_opener opener;
    /* Once the relay is silent, beside the session: has it been started anew? */
    struct kl_hs_client probe;
    struct kl_hs_outcome found;
    bool probing;
    uint64_t probe_us, found_us; /* its INIT is due; its ANSWER came (0: not yet) */
    ENetPeer *peer;              /* from KL_STAGE_CONNECTING on */
    struct kl_sent sent[KL_ENET_CHANNELS];
};

/* What is being brought. The network thread's own. */
struct kl_link_bring {
    bool active;
    uint8_t what, step;
    uint32_t from, offset;
};

struct kl_link {
    /* set before the thread starts, constant from then on */
    char host[KL_LINK_HOST_MAX];
    uint16_t port;
    struct kl_hello hello;
    struct kl_seat_key seat;
    bool fresh;
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh, until the first WELCOME */
    void (*welcomed)(void *ctx, const struct kl_welcome *w);
    void *ctx;
    bool sparing;
    uint8_t offers;                             /* enum kl_cipher bits */
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* that the relay must have; empty: any */
    int (*trust)(void *ctx, const uint8_t pub[32], char *err, size_t err_len);
    int kick_fd;
    struct kl_thread thread;

    struct kl_mutex mutex;
    struct kl_cond changed;
    struct kl_held *held;         /* KL_HELD_FRAMES of them, for the lock client; under mutex */
    struct kl_link_shared shared; /* under mutex */

    /* the network thread's own */
    ENetHost *enet;
    struct kl_enet_seal seal;
    ENetAddress relay;
    struct kl_link_session session;
    struct kl_link_bring bring;
    uint8_t known[32];           /* key of the relay that we are with, once there was a session */
    char untrusted[KL_TEXT_MAX]; /* why the relay that answered is not to be trusted; empty: it is */
    struct kl_link_door door;
    bool over;
    size_t uploaded;
    bool said_bye;
};

/* --- link_session.c; the network thread's --- */

/* Once: the host works for this link. */
void kl_link_session_attach(struct kl_link *l);
/* Begins a handshake; a session that there was is forgotten, with all that ENet had under way. */
void kl_link_session_begin(struct kl_link *l);
/* Sends INIT when it is due; after ANSWER connects ENet. */
void kl_link_session_turn(struct kl_link *l, uint64_t now_us);
void kl_link_session_end(struct kl_link *l);
/* The same with keys that a probe has got. */
void kl_link_session_begin_with(struct kl_link *l, const struct kl_hs_outcome *found);
/* Asks the relay, beside the session that there is, for a new one. now_us 0: no more. */
void kl_link_probe(struct kl_link *l, uint64_t now_us);
/* A sealed datagram, now. */
void kl_link_send_sealed(struct kl_link *l, uint8_t kind, const void *body, size_t len);
/* It is over; what takes the relay's name and port. */
void kl_link_end_with(struct kl_link *l, const char *what);

/* --- link_return.c --- */

/* Under the mutex: this REFUSE is no end for who watches and tries to come back. */
bool kl_link_refused_for_now(struct kl_link *l, const struct kl_text *t);
/* The relay has hung up: true where we try again. The network thread's. */
bool kl_link_turned_away(struct kl_link *l);
/* The relay has gone, or keeps silent: back to it, or the end where no seat is kept. The network thread's. */
void kl_link_lost(struct kl_link *l);
/* Looks at silence and deadlines. The network thread's. */
void kl_link_return_turn(struct kl_link *l, uint64_t now_us);
/* ENet is connected: HELLO or RETURN. */
void kl_link_enter(struct kl_link *l);
/* The network thread's; is the answer to RETURN still owed? */
bool kl_link_is_returning(struct kl_link *l);
void kl_link_send_message(struct kl_link *l, const struct kl_msg *m);
/* Under the mutex: a frame has been taken. */
void kl_link_past_keep(struct kl_link *l, const struct kl_frame *f);
/* Under the mutex: nothing is known any more, we begin at this keyframe, of that interval (0, 0: anew). */
void kl_link_past_forget(struct kl_link *l, uint32_t keyframe, uint32_t interval);
void kl_link_take_tags(struct kl_link *l, const struct kl_tags *t);
/* The newest whose intervals we have whole; NULL where there is none. */
const struct kl_link_tags *kl_link_newest_tag(const struct kl_link_shared *s);
/* Under the mutex. */
void kl_link_take_welcome(struct kl_link_shared *s, const struct kl_welcome *w);
/* Under the mutex: WELCOME in a new session of the same seat. */
void kl_link_returned(struct kl_link *l, const struct kl_welcome *w);

/* --- link_bring.c --- */

/* Under the mutex: everything is here from frame 0 on. */
bool kl_link_can_bring(const struct kl_link_shared *s);
void kl_link_take_ticket(struct kl_link *l, const struct kl_piece *p);
/* The network thread's, under the mutex. */
void kl_link_take_want(struct kl_link *l, const struct kl_want *w);
/* Sends what is wanted, as far as it goes now. The network thread's. */
void kl_link_bring_turn(struct kl_link *l);

/* --- link_snapshot.c --- */

/* Under the mutex. */
void kl_link_take_ask(struct kl_link *l, const struct kl_ask *ask);
void kl_link_take_offer(struct kl_link *l, const struct kl_offer *o);
void kl_link_take_shot(struct kl_link *l, const struct kl_shot_piece *p);
void kl_link_shot_forget(struct kl_link *l);
/* The one that comes, if any, is for a game that is over. */
void kl_link_shot_drop(struct kl_link *l);
/* The network thread's: sends as much of what is given as may go now. */
void kl_link_shot_turn(struct kl_link *l);

/* --- link_say.c --- */

/* Under the mutex: the next of what we have to say of our machine. may_hash: COMMIT and HASH, too. */
bool kl_link_next_word(struct kl_link_shared *s, bool may_hash, struct kl_msg *m);

/* Wakes the network thread. */
void kl_link_kick(struct kl_link *l);

/* Under the mutex: the caller of kl_link_wait() has something to look at. */
void kl_link_happened(struct kl_link *l);
/* Under the mutex: it is over. The first reason stays. */
void kl_link_end(struct kl_link *l, const char *reason);

/* Under the mutex: we play from this snapshot on, once it is loaded. */
void kl_link_begin_at(struct kl_link *l, const struct kl_offer *o);
/* Under the mutex: acts on one message of the relay. */
void kl_link_take_message(struct kl_link *l, const struct kl_msg *m);
/* Under the mutex: feeds the body of an UPDATE. */
void kl_link_take_update(struct kl_link *l, const uint8_t *body, size_t len, uint64_t now_us);

/* The network thread; arg is the link. */
void kl_link_thread(void *arg);

#endif

/* dial.h - how a client gets a session with its relay: it repeats INIT, judges each ANSWER, and gives up in
 * time. Beside a session that has fallen silent it makes a second handshake (a probe): a relay that was
 * started anew does not know the old session, and has no authentic way to tell the client so. net/PROTOCOL.md
 * §9.
 *
 * Pure but for libsodium: datagrams and times come in, datagrams and keys go out. The caller connects ENet.
 */
#ifndef KL_DIAL_H
#define KL_DIAL_H

#include "net/engine/msg.h"
#include "net/session/handshake.h"

#define KL_RELAY_NAME_MAX 272 /* bytes of the relay's name and port, NUL included */

enum kl_dial_stage {
    KL_DIAL_HANDSHAKE,  /* INIT goes out */
    KL_DIAL_ANSWERED,   /* the keys are here; ENet is to be connected */
    KL_DIAL_CONNECTING, /* ENet is being connected */
    KL_DIAL_CONNECTED,
};

/* One session, from its first INIT on. */
struct kl_dial_session {
    enum kl_dial_stage stage;
    struct kl_hs_client handshake;
    bool init_wanted, probe_wanted;           /* INIT of the handshake, of the probe: is to be sent now */
    uint64_t init_us, pause_us;               /* INIT is due; the time from it to the next one */
    uint64_t begun_us, answered_us, heard_us; /* heard_us: last authentic datagram of the relay */
    uint64_t refused_us; /* the first refusal, or the first answer of another relay; 0: none */
    char other[KL_FINGERPRINT_CHARS + 1]; /* fingerprint of that other relay */
    struct kl_hs_outcome outcome;         /* from KL_DIAL_ANSWERED on: the keys */
    struct kl_hs_outcome asked;           /* while `asking`: an answer that waits for kl_dial_trust() */
    bool asking;
    struct kl_hs_client probe;
    struct kl_hs_outcome found; /* the probe's keys, valid if found_us */
    bool probing;
    uint64_t probe_us, found_us; /* the probe's INIT is due; its ANSWER came (0: not yet) */
};

struct kl_dial {
    char relay[KL_RELAY_NAME_MAX];              /* for messages */
    uint8_t offers;                             /* enum kl_cipher bits */
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* required of the relay; empty: any */
    bool asks_trust;                            /* without a fingerprint: the caller decides on trust */
    bool is_known;
    uint8_t known[32];           /* public key of the relay of the first session, required from then on */
    char room[KL_NAME_MAX];      /* the wanted room; "": none */
    char untrusted[KL_TEXT_MAX]; /* why the relay that answered is not trusted; empty: it is */
    unsigned tries;              /* sessions in a row with which ENet did not connect */
    uint32_t number;             /* of sessions begun. After a change the caller forgets ENet's connection */
    struct kl_dial_session s;
};

/* Begins a handshake. The session before it is forgotten. */
void kl_dial_begin(struct kl_dial *d, uint64_t now_us);
/* The same with the probe's keys. */
void kl_dial_begin_found(struct kl_dial *d, uint64_t now_us);
/* True if ENet has not connected for so long that another handshake is due: a relay under a flood forgets
 * handshakes at random, and what comes in the session of one is passed over. */
bool kl_dial_is_lost(const struct kl_dial *d, uint64_t now_us);
/* Probes: to be called from time to time while the relay is silent. */
void kl_dial_probe(struct kl_dial *d, uint64_t now_us);
void kl_dial_probe_end(struct kl_dial *d);

/* Feeds a datagram from outside of a session (handshake.h), from the relay's address. True: it is an
 * answer of somebody who has got our INIT. */
bool kl_dial_receive(struct kl_dial *d, const uint8_t *bytes, size_t len, uint64_t now_us);
/* True while an answer waits for kl_dial_trust(); pub: the relay's key. */
bool kl_dial_asks(const struct kl_dial *d, uint8_t pub[32]);
/* why: NULL if that relay is trusted. */
void kl_dial_trust(struct kl_dial *d, const char *why, uint64_t now_us);

/* To be called at least every 10 ms in KL_DIAL_HANDSHAKE. patient: the caller sets the limit, and INIT goes
 * out more and more seldom. False: no relay answers, or not the right one; why has a line for people. */
bool kl_dial_turn(struct kl_dial *d, bool patient, uint64_t now_us, char why[KL_TEXT_MAX]);

/* True if an INIT is to be sent now. Call it until it gives false. */
bool kl_dial_send(struct kl_dial *d, uint8_t init[KL_INIT_BYTES]);

/* Forgets all secrets. */
void kl_dial_end(struct kl_dial *d);

#endif

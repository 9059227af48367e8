/* link.h - a client's connection to a relay: the network thread with ENet around a participant
 * (net/client/participant.h), which decides on all messages.
 *
 * The thread owns the socket; the participant is under one mutex that is never held over a system call that
 * can block, so kl_link_hold() returns within microseconds. The thread does not depend on the frontend: a
 * menu, a load or a stall of the caller neither distorts the RTT nor loses the connection. All functions may
 * be called from one other thread (the frontend's). Times are kl_now_us(). */
#ifndef KL_LINK_H
#define KL_LINK_H

#include "net/client/participant.h"
#include "net/transport/voice_box.h"

#define KL_DEFAULT_PORT 55435

struct kl_link;

struct kl_link_config {
    const char *host; /* an address, without brackets, or a name */
    uint16_t port;
    const char *fingerprint; /* required of the relay; NULL: any, see status.fingerprint */
    bool insecure_lan;       /* without encryption if the relay allows that too */
    uint8_t ciphers; /* enum kl_cipher bits to offer, for measurements; 0: all that this machine has */
    bool sparing;    /* a metered link: nothing is repeated half a frame later, even if the room does that */
    bool direct;     /* players whose bytes this client loads may know its address, for samples straight */
    struct kl_hello hello; /* its version and seat key are filled in */
    /* Signs RETURN. All zero: one is made, and the seat is lost with the process. */
    struct kl_seat_key seat;
    bool fresh;                    /* begins with RETURN instead of HELLO: the seat of a process that died */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh: of the last WELCOME */
    const struct kl_msg *errand;   /* NULL, or goes into no room, but says this (participant.h) */
    const void *run;               /* with RUN: its recording */
    size_t run_len;
    const char *relays; /* that are asked as well: as keep() got them; NULL: none */
    /* NULL, or called by the network's thread, outside of the mutex: the token, or the relays that have the
     * room or may go on with it, are new. "": there is the one alone. */
    void (*keep)(void *ctx, const struct kl_welcome *w, const char *relays);
    const char *password; /* of the room: proved to the relay, or set with the room; NULL: none */
    /* Decides to go on with a relay of this key: 0, or -1 with the reason in err. Called if fingerprint is
     * NULL, in the network's thread, which waits for it (so it may read files). NULL: always go on. */
    int (*trust)(void *ctx, const uint8_t pub[32], char *err, size_t err_len);
    void *ctx;
    struct kl_voice_box *voice; /* NULL: none. The link holds it, too, until its end */
};

/* Starts the thread and returns at once; name look-up happens in the thread. config is copied.
 * 0, or -1 with a line in err (bad name or fingerprint, out of memory, no socket, no thread). */
int kl_link_open(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len);

/* Leaves: says BYE, waits at most linger_ms for the relay to have every sample, ends the thread, frees all.
 * NULL is allowed. */
void kl_link_close(struct kl_link *l, unsigned linger_ms);

/* Holds the session: nothing else reads or changes it until kl_link_release(), which also wakes the thread if
 * something is to be sent. Between the two the caller uses the session's functions (participant.h) and
 * calculates; it waits for nothing, and calls neither core, frontend nor file. Not nested: an assertion. */
struct kl_participant *kl_link_hold(struct kl_link *l);
void kl_link_release(struct kl_link *l);

/* The status as it is now. */
void kl_link_status(struct kl_link *l, struct kl_participant_status *out);

/* Waits until a frame is closed or the phase changes, since the last kl_participant_plan() or kl_link_wait();
 * or until timeout_us has passed. */
void kl_link_wait(struct kl_link *l, uint32_t timeout_us);

#endif

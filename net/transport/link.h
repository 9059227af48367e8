/* link.h - a client's connection to a relay: the network thread with ENet around a stay (net/client/stay.h),
 * which decides everything that is said, and when.
 *
 * The thread owns the socket; everything else is under one mutex that is never held over a system call that
 * can block, so each function here returns within microseconds. The thread goes on whatever the frontend
 * does: a menu, a load or a stall of the caller neither distorts the RTT nor loses the connection. All
 * functions may be called from one other thread (the frontend's). Times are kl_now_us(). */
#ifndef KL_LINK_H
#define KL_LINK_H

#include "net/client/stay.h"

#define KL_DEFAULT_PORT 55435

struct kl_link;

struct kl_link_config {
    const char *host; /* IPv4 address or name */
    uint16_t port;
    const char
        *fingerprint;  /* the relay must have this one, or it is over; NULL: any, see status.fingerprint */
    bool insecure_lan; /* without encryption, where the relay says so too; never else */
    uint8_t ciphers;   /* enum kl_cipher bits to offer, for measurements; 0: what this machine has */
    bool sparing;      /* a metered link: no half steps to and from here, whatever the room has */
    struct kl_hello hello; /* its version and seat key are filled in */
    /* Signs RETURN. All zero: one is made, and the seat is lost with the process. */
    struct kl_seat_key seat;
    bool fresh; /* begins with RETURN instead of HELLO: this seat was another process's, which died */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh: of the last WELCOME */
    /* NULL or: by the network's thread at each WELCOME, before anything follows from it: the token is new */
    void (*welcomed)(void *ctx, const struct kl_welcome *w);
    const char *password; /* of the room: proved to the relay, or set with the room; NULL: none */
    /* Whether to go on with a relay that answered with this key; asked where fingerprint is NULL, in the
     * network's thread, which waits for it (files may be read). NULL: always. 0, or -1 with the reason in
     * err. */
    int (*trust)(void *ctx, const uint8_t pub[32], char *err, size_t err_len);
    void *ctx;
};

/* Starts the thread and returns at once; name look-up happens in the thread. config is copied.
 * 0, or -1 with a line in err (bad name or fingerprint, out of memory, no socket, no thread). */
int kl_link_open(struct kl_link **out, const struct kl_link_config *config, char *err, size_t err_len);

/* Leaves: says BYE, waits at most linger_ms for the relay to have every sample, ends the thread, frees all.
 * NULL is allowed. */
void kl_link_close(struct kl_link *l, unsigned linger_ms);

void kl_link_status(struct kl_link *l, struct kl_stay_status *out);

/* The host's start data (copied; opaque to network and relay). -1 above 16 MiB or in another phase. */
int kl_link_give_start(struct kl_link *l, const void *data, size_t len);
/* In KL_STAY_LOAD: the start data, borrowed until kl_link_close(). */
const uint8_t *kl_link_start_data(struct kl_link *l, size_t *len);
void kl_link_ready(struct kl_link *l, const struct kl_facts *facts);

/* The turn of lock_client.h, under the mutex. */
struct kl_plan kl_link_plan(struct kl_link *l, uint64_t now_us, uint32_t max_runs);
int kl_link_sample(struct kl_link *l, const struct kl_input *in, uint64_t now_us);
bool kl_link_take(struct kl_link *l, struct kl_frame *out);
/* Waits until a frame is closed, the phase changes, or timeout_us has passed (for --speed max). */
void kl_link_wait(struct kl_link *l, uint32_t timeout_us);

/* The commands of a frame that was taken with KL_FRAME_COMMANDS: to be carried out, in their order, before it
 * runs. False where there are none (any more: ask before the next turn). */
bool kl_link_commands(struct kl_link *l, uint32_t keyframe, struct kl_commands *out);

/* Gives a command (room.h: KL_COMMAND_*; from KL_COMMAND_FREE on the wrapper's own), to take effect at a
 * keyframe to come on every machine, this one included. KL_COMMAND_PAUSE in a paused room ends the pause.
 * Copied. KL_OK; KL_E_SPACE above KL_COMMAND_BYTES, KL_E_FULL where too many wait, KL_E_STATE before and
 * after the game. */
int kl_link_order(struct kl_link *l, uint8_t kind, const void *data, size_t len);
/* The door and who is host are the room's business before the game, too: these kinds are taken as soon as we
 * are in the room. */
bool kl_link_takes_early(uint8_t kind);

/* The core has changed its frame rate, from the next frame on. Here at once; the relay is told. */
void kl_link_rate(struct kl_link *l, uint32_t fps_uhz);

/* --- snapshots (net/PROTOCOL.md §7) --- */

/* What the SNAPSHOT command of that keyframe has found here. */
void kl_link_say_state(struct kl_link *l, const struct kl_state_said *s);
/* The relay wants that of a keyframe from us, or what differs from another: true once. */
bool kl_link_asked(struct kl_link *l, struct kl_ask *ask);
/* Gives it, packed; the link frees it. based: against what ASK named. */
void kl_link_give_snapshot(struct kl_link *l, uint32_t keyframe, bool based, uint8_t *packed, uint32_t len);
/* A whole one has come, to be loaded: true once, and the caller frees it. It is what some relay sent: nothing
 * of it is checked but that it has offer->packed bytes. */
bool kl_link_snapshot(struct kl_link *l, struct kl_offer *offer, uint8_t **packed);
/* With offer->begin: it is loaded, and frames may run from its keyframe on. fps_uhz: at another rate than the
 * room began with; 0: at that. */
void kl_link_begun(struct kl_link *l, uint32_t keyframe, uint32_t fps_uhz);
/* It is loaded, and all that had been run since has been run again; or not. */
void kl_link_say_healed(struct kl_link *l, const struct kl_healed *h);
/* Frames that were taken, to be run again from a keyframe on. False: they are not kept so far back. The next
 * one, with its commands in c->frames.commands; false: there are no more. */
bool kl_link_past_seek(struct kl_link *l, struct kl_history_cursor *c, uint32_t from);
bool kl_link_past_next(struct kl_link *l, struct kl_history_cursor *c, struct kl_frame *out);

void kl_link_hash(struct kl_link *l, const struct kl_hash *h);
/* Takes the next line for the screen. False where there is none. */
bool kl_link_notice(struct kl_link *l, char *out, size_t cap);

#endif

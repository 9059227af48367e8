/* link.h - a client's connection to a relay: the network thread with ENet around a stay (net/client/stay.h),
 * which decides on all messages.
 *
 * The thread owns the socket; everything else is under one mutex that is never held over a system call that
 * can block, so each function here returns within microseconds. The thread does not depend on the frontend: a
 * menu, a load or a stall of the caller neither distorts the RTT nor loses the connection. All functions may
 * be called from one other thread (the frontend's). Times are kl_now_us(). */
#ifndef KL_LINK_H
#define KL_LINK_H

#include "net/client/stay.h"

#define KL_DEFAULT_PORT 55435

struct kl_link;

struct kl_link_config {
    const char *host; /* IPv4 address or name */
    uint16_t port;
    const char *fingerprint; /* required of the relay; NULL: any, see status.fingerprint */
    bool insecure_lan;       /* without encryption if the relay allows that too */
    uint8_t ciphers; /* enum kl_cipher bits to offer, for measurements; 0: all that this machine has */
    bool sparing;    /* a metered link: nothing is repeated half a frame later, even if the room does that */
    struct kl_hello hello; /* its version and seat key are filled in */
    /* Signs RETURN. All zero: one is made, and the seat is lost with the process. */
    struct kl_seat_key seat;
    bool fresh;                    /* begins with RETURN instead of HELLO: the seat of a process that died */
    uint8_t token[KL_TOKEN_BYTES]; /* with fresh: of the last WELCOME */
    /* NULL, or called by the network's thread at each WELCOME, before it takes effect: the token is new */
    void (*welcomed)(void *ctx, const struct kl_welcome *w);
    const char *password; /* of the room: proved to the relay, or set with the room; NULL: none */
    /* Decides to go on with a relay of this key: 0, or -1 with the reason in err. Called if fingerprint is
     * NULL, in the network's thread, which waits for it (so it may read files). NULL: always go on. */
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

/* Calls look() with the client's half of the lock, under the mutex: it may only read. */
void kl_link_look(struct kl_link *l, void (*look)(void *ctx, const struct kl_client *c), void *ctx);

/* The commands of a frame that was taken with KL_FRAME_COMMANDS: to be carried out, in their order, before it
 * runs. False if there are none; they are kept until the next turn only. */
bool kl_link_commands(struct kl_link *l, uint32_t keyframe, struct kl_commands *out);

/* Gives a command (lock_relay.h: KL_COMMAND_*; from KL_COMMAND_FREE on the wrapper's own), to take effect at
 * a keyframe to come on every machine, this one included. KL_COMMAND_PAUSE in a paused room ends the pause.
 * Copied. KL_OK; KL_E_SPACE above KL_COMMAND_BYTES, KL_E_FULL if too many wait, KL_E_STATE before and after
 * the game. */
int kl_link_order(struct kl_link *l, uint8_t kind, const void *data, size_t len);
/* True for kinds that are valid before the game too, as soon as we are in the room: the door and the host. */
bool kl_link_takes_early(uint8_t kind);

/* The core has changed its frame rate, from the next frame on. The client changes at once and tells the
 * relay. */
void kl_link_rate(struct kl_link *l, uint32_t fps_uhz);

/* --- snapshots (net/PROTOCOL.md §7) --- */

/* Reports this machine's state at the SNAPSHOT command of a keyframe. */
void kl_link_say_state(struct kl_link *l, const struct kl_state_said *s);
/* True once if the relay asks us for the snapshot of a keyframe, whole or as the difference to another. */
bool kl_link_asked(struct kl_link *l, struct kl_ask *ask);
/* Gives it, packed; the link frees it. based: as the difference to ASK's base. */
void kl_link_give_snapshot(struct kl_link *l, uint32_t keyframe, bool based, uint8_t *packed, uint32_t len);
/* True once if a whole snapshot has come, to be loaded; the caller frees it. Only its length is checked: it
 * has offer->packed bytes. */
bool kl_link_snapshot(struct kl_link *l, struct kl_offer *offer, uint8_t **packed);
/* With offer->begin: the snapshot is loaded, and frames may run from its keyframe on. fps_uhz: the core's
 * rate if not the room's first one; else 0. */
void kl_link_begun(struct kl_link *l, uint32_t keyframe, uint32_t fps_uhz);
/* True once if the room wants us to go back to our own state of this keyframe and to rerun the frames since.
 */
bool kl_link_rewind(struct kl_link *l, uint32_t *keyframe);
/* Reports the result of healing: the state was loaded and the frames since rerun, or not. */
void kl_link_say_healed(struct kl_link *l, const struct kl_healed *h);
/* Seeks taken frames, to be rerun from a keyframe on; false: they are not kept so far back. The second
 * function reads the next one, with its commands in c->frames.commands; false: there are no more. */
bool kl_link_past_seek(struct kl_link *l, struct kl_history_cursor *c, uint32_t from);
bool kl_link_past_next(struct kl_link *l, struct kl_history_cursor *c, struct kl_frame *out);

void kl_link_hash(struct kl_link *l, const struct kl_hash *h);
/* Takes the next line for the screen. False if there is none. */
bool kl_link_notice(struct kl_link *l, struct kl_text *out);

#endif

/* ask.h - asks a relay without joining it: for its RTT and its public rooms. net/PROTOCOL.md §10.
 *
 * The functions kl_ask_*() wait (for a look-up, for answers), so a frame's thread has an asker: a thread that
 * asks, and that can be told to stop at any time. It is woken out of every wait for an answer, and a look-up
 * that hangs is left behind (net/platform/socket.h): kl_asker_end() takes 20 ms at most. Nothing of an answer
 * is proved. */
#ifndef KL_ASK_H
#define KL_ASK_H

#include <stdatomic.h>

#include "net/platform/thread.h"
#include "net/transport/strangers.h"

#define KL_ASK_TRIES   5   /* of one question */
#define KL_ASK_MS      700 /* for an answer: enough for a radio link around the world */
#define KL_ASK_MANY    16  /* sockets at once */
#define KL_ASK_NEXT_MS 250 /* between two addresses of one name (RFC 8305 §5) */
#define KL_ASK_PIECES  64  /* lists of one relay at most, against a list without end */

/* The caller's memory, all zero before; it must not move. */
struct kl_asker {
    atomic_bool leaving;   /* told to stop: its thread ends when it sees that */
    struct kl_mutex mutex; /* of data that the thread and its owner share */
    struct kl_thread thread;
    int wake;
};

/* Starts the thread: run(arg). name as kl_thread_start() has it. 0, or -1: no descriptor or no thread. */
int kl_asker_start(struct kl_asker *a, const char *name, void (*run)(void *arg), void *arg);
/* Wakes it out of kl_asker_rest(). */
void kl_asker_poke(struct kl_asker *a);
/* Tells it to stop, and waits for its end. Once; for one that has been started. */
void kl_asker_end(struct kl_asker *a);
/* For its thread: sleeps until kl_now_us() is until_us, kl_asker_poke(), or kl_asker_end(). False: the thread
 * must end. */
bool kl_asker_rest(struct kl_asker *a, uint64_t until_us);

/* In all of these, a is the asker whose thread calls; NULL: the call cannot be stopped. */

/* A socket that leads to the relay. -1 with a line in err. Of a name with several addresses the one that
 * answers first: the second is asked KL_ASK_NEXT_MS after the first, or at once if no way leads there.
 * Close it with kl_socket_close(). */
int kl_ask_open(struct kl_asker *a, const char *host, uint16_t port, char *err, size_t err_len);
/* Asks once. The RTT in ms; below 0: no answer, or a malformed one. */
double kl_ask_ping(struct kl_asker *a, int s, struct kl_pong *out);
/* Asks KL_ASK_TRIES times. The shortest time, ms; below 0: no answer at all. */
double kl_ask_distance(struct kl_asker *a, int s, struct kl_pong *out);
/* Asks several, each by its socket (-1: none), the next one next_ms after the one before it, or at once if
 * that cannot be asked; 0: all at once. The first that answers, or -1: none did within KL_ASK_MS after the
 * last. */
int kl_ask_first(struct kl_asker *a, const int *s, unsigned count, unsigned next_ms);
/* Asks for all rooms, piece by piece into *piece, and shows each piece: false ends it. 0, or -1: no answer
 * (any more). */
int kl_ask_rooms(struct kl_asker *a, int s, struct kl_rooms *piece,
                 bool (*show)(void *ctx, struct kl_rooms *piece), void *ctx);

#endif

/* net_player.h - for tests of the relay: real links driven by synthetic players, and the programs they need.
 *
 * A player gives one pseudo-random sample per frame, keeps a digest of every frame it is given, and can be
 * made to do wrong. All players of a test are driven by one thread, as so many frontends. */
#ifndef NET_PLAYER_H
#define NET_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/transport/link.h"

#define PLAYERS_MAX 16

struct program { /* a child process that says on which port it listens */
    pid_t pid;
    uint16_t port;
    char log[64]; /* file with what it wrote */
};
/* Starts the relay that $KEYLOCK_RELAY_BIN names, or build/keylock-relay, as one process unless args, which
 * end with NULL, say more. */
struct program relay_start(const char *const args[]);
/* The folder that those relays have their key in. */
const char *relay_state(void);
/* The same for the fault proxy ($KEYLOCK_FAULTPROXY_BIN, build/faultproxy) in front of `to`. */
struct program proxy_start(uint16_t to, const char *const args[]);
/* The same for Debian's redis-server. */
struct program redis_start(const char *const args[]);
/* Ends it by this signal; its exit status, or -signal where it was killed by one. */
int program_stop(struct program *p, int signal);
/* Its own children, in the order of their start: how many of `most`. */
unsigned program_children(const struct program *p, pid_t *pid, unsigned most);
/* True once the log holds this text; waits up to 2 s. */
bool program_said(const struct program *p, const char *text);
/* Its output so far, a MiB of it; good until the next call. */
const char *program_log(const struct program *p);
/* How many lines of its log hold this text. */
unsigned program_lines(const struct program *p, const char *text);

struct player {
    struct kl_link *link;
    struct kl_hello hello;
    struct kl_participant_status status;
    uint32_t frames, samples; /* taken, given */
    uint64_t *digest;         /* by frame */
    uint32_t digest_cap;
    uint32_t unmade;      /* frames that it ran once more, otherwise than before */
    uint32_t presses;     /* frames in which somebody had something pressed */
    uint32_t wrong_from;  /* hashes are wrong from this frame on; 0: never */
    const uint8_t *start; /* start data to give, and to expect */
    size_t start_len;
    bool start_ok;
    uint64_t due_us; /* of the next turn, in a room with a clock */
    struct kl_facts ready;
    char fingerprint[KL_FINGERPRINT_CHARS + 1]; /* set before player_open(), which keeps it: the relay's */
    const char *host;                           /* the same; NULL: 127.0.0.1 */
    bool insecure_lan;                          /* the same */
    uint8_t ciphers;                            /* the same; enum kl_cipher bits */
    bool pads;                                  /* the same: nothing but buttons is used */
    struct kl_seat_key seat;                    /* the same */
    bool fresh; /* the same; a new process takes its seat back with this token */
    uint8_t token[KL_TOKEN_BYTES];
};

/* A HELLO with sane params: `players` seats to start, 60 fps, no clock, sub-frames, a hash every 60 frames.
 */
struct kl_hello hello_make(const char *name, const char *room, unsigned seats, unsigned players);
/* Prepares a player for a link that the caller opens by this configuration, which points into p. */
struct kl_link_config player_config(struct player *p, const struct kl_hello *hello, uint16_t port,
                                    uint32_t frames_max);
void player_open(struct player *p, const struct kl_hello *hello, uint16_t port, uint32_t frames_max);
void player_close(struct player *p, unsigned linger_ms);
/* Its status is that of this moment. */
void player_look(struct player *p);
/* kl_participant_order() */
int player_order(struct player *p, uint8_t kind, const void *data, size_t len);
/* Acts as a frontend's thread would now. Returns false where there was nothing to do. */
bool player_turn(struct player *p);

/* Waits, without a turn, until it is in the room. */
bool player_joins(struct player *p);
/* Opens them by twos, in rooms "room0", "room1" … with a clock, and waits until each is in its room. */
bool players_pair(struct player *p, unsigned count, uint16_t port, uint32_t frames_max);
/* Drives all until each has taken `frames` frames or ended. False after timeout_s. */
bool players_run(struct player *p, unsigned count, uint32_t frames, unsigned timeout_s);
/* Gives them turns for so many seconds. */
void players_turn(struct player *p, unsigned count, double s);
/* Drives all until p[which] is in this phase (or over). */
bool players_reach(struct player *p, unsigned count, unsigned which, enum kl_participant_phase phase,
                   unsigned timeout_s);
/* The machine's digest after this frame, from the one before. */
uint64_t player_digest(uint64_t before, const struct kl_frame *f);
/* One sample of a player with this name. */
void player_sample(const char *name, unsigned seat, uint32_t number, struct kl_input *in);
/* The first frame below `frames` in which the digests are not all equal; -1 where there is none. */
long players_differ(const struct player *p, unsigned count, uint32_t frames);

#endif

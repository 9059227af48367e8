/* lobby_players.h - people who play or watch in a room of the lobby: virtual players (player.h) with the
 * relay's real lobby, and a network that is a function call. Every frame that one runs is compared with the
 * others'. Each has a machine, which is one number; the game does not change it, faults and snapshots do. */
#ifndef TEST_LOBBY_PLAYERS_H
#define TEST_LOBBY_PLAYERS_H

#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/session/digest.h"
#include "net/session/seal.h"
#include "tests/lib/canon.h"
#include "tests/lib/lobby_net.h"
#include "tests/lib/player.h"

#define PLAYERS  3
#define WATCHERS 6
#define AT_PEER  20 /* the first watcher */
#define FRAMES   CANON_FRAMES
#define STEP_US  4000
#define FAST     400   /* frames that a machine runs in a turn */
#define OWN      10000 /* frames whose states a machine keeps */

extern const uint8_t secret[32]; /* the relay's */

extern uint8_t fixed_spacing; /* of rooms that are begun from now on; 0: follows the link */

struct lobby_player {
    struct player p;
    unsigned peer;
    bool linked, plays; /* it has a session; its program runs */
    bool mashes;        /* every device in motion */
    unsigned pieces;    /* of HISTORY that have come */

    uint64_t machine, picture; /* of which its hashes and states are made; picture 0: none is hashed */
    const uint8_t *state;      /* of which its states are made instead; NULL: none */
    uint64_t own[OWN];         /* the machine before each marked keyframe */
    uint32_t begun;            /* the keyframe of the snapshot with which it began; 0: none */
    uint32_t first_run;        /* the first frame that it ran since */
    bool to_give, to_load, to_go_back; /* it has been asked, and does it as soon as it gives or loads */
    unsigned offers, rewinds, loaded;
    uint32_t back_to; /* the keyframe of the newest REWIND */
    struct kl_hash late;
    uint64_t late_us; /* `late` is said then; 0: none waits */
    uint32_t said_label;

    /* its behaviour */
    bool says, states;   /* its hashes; its state at snapshots */
    bool no_ram;         /* its core shows none */
    bool no_state;       /* its core gives none */
    bool gives, loads;   /* snapshots that it is asked for or offered; else they wait */
    bool has_own;        /* it can go back to own states */
    bool unable;         /* says that nothing can be loaded */
    bool at_once;        /* goes wrong again when it is healed */
    uint64_t late_by_us; /* the delay of its hashes */
    bool false_state;    /* its STATE has a false hash */
    bool copies;         /* its STATE has the host's hash */
    bool halts;          /* gives half of a snapshot */
};
extern struct lobby_player player[PLAYERS], watcher[WATCHERS];

extern bool spoils;               /* the next state that is given is another than was said */
extern uint32_t state_bytes;      /* of all machines' states */
extern uint32_t snapshot_at;      /* the keyframe of the newest SNAPSHOT */
extern unsigned ordered;          /* SNAPSHOTs that player 0 has run */
extern struct kl_verdict verdict; /* the newest */
extern unsigned heard_early;      /* VERDICTs of a label of which a late one's hash was still to come */
extern char served[4096];         /* the receivers of datagrams, in order: 'p' plays, 'w' watches */
extern unsigned served_count;

void listen_message(unsigned peer, const struct kl_msg *m);
void listen_update(unsigned peer, const uint8_t *body, size_t len);

extern void (*on_frame)(struct lobby_player *l, const struct kl_frame *f); /* before it is run */
extern void (*on_step)(void);

/* They play, and do what is owed. */
void play(uint64_t us);
/* Until this is true, at most 20 s. */
#define play_until(condition)                                                                                \
    for (uint64_t until_us = now_us + 20 * SECOND; !(condition) && now_us < until_us;)                       \
    play(20000)

/* --- in and out --- */

/* Three play, from frame 0; nobody watches, no machine says a word. */
void start_room(enum kl_policy policy);
/* A bounded one of machines that say all, in sync for 3 s. */
void begin_machines(void);
int set_up_watched(void **state);

/* Its program begins and says HELLO in a session `peer`, with the seat key of `whose`. */
void enter_room(struct lobby_player *l, unsigned peer, unsigned whose, const struct kl_msg *hello);
void cut(unsigned who);
/* A new session for this player; what it says of itself can be changed before it is sent. */
struct kl_msg prepare_return(struct lobby_player *l, unsigned peer);
void come_back(unsigned who, unsigned peer);
void come_back_with_nothing(unsigned who, unsigned peer);
/* A newcomer in the place of a player who has gone. The seats it gets. */
uint8_t join_late(unsigned who, unsigned peer, unsigned seats);
/* Has loaded the start data that it was sent. */
void load_start(struct lobby_player *l);
/* Its machine stops without a word. */
void vanish(unsigned who);
/* Says BYE, and the others play on for 3 s. */
void leave(unsigned who);

/* A watcher comes with a wish for seats; comes and has loaded; is gone without a word. */
void comes(unsigned i, unsigned seats);
void watches(unsigned i);
void goes(unsigned i);
/* Frames of the game that it has not run. */
uint32_t behind(unsigned i);

/* --- machines --- */

/* All players have every device in motion from now on. */
void mash(void);
/* Fills in the state of this machine. */
void state_of_machine(const struct lobby_player *l, uint8_t out[PLAYER_STATE_BYTES]);
/* Says the hash of now for this label, late or not. */
void say_hash(struct lobby_player *l, uint32_t label);

/* --- expectations --- */

/* Whether the client of this seat has pressed anything in the last second of the game. */
bool presses_lately(unsigned seat);
void expect_all_at_the_end(void);
/* All machines are, nobody heals, and so many clients have been healed. */
void expect_in_sync(unsigned healed);

/* The digest of the intervals that are whole below this frame, as they were played. */
struct kl_digest digest_of(const uint8_t *room_id, uint32_t have);
/* The room's newest ticket. */
void open_ticket(struct kl_lobby_ticket *t);

/* --- the relay dies --- */

extern struct kl_lobby_ticket ticket;
extern char why[200];

/* As after kill -9: a new process, that has the relay's secret and nothing else. */
void new_relay(void);
struct kl_lobby_room *make_again(void);
/* Frames of the beginning, as some client has them. */
void adopt(struct kl_lobby_room *r, uint32_t end);
/* Three play for 10 s, and their relay dies. */
void play_and_die(enum kl_policy policy);

#endif

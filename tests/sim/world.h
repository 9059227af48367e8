/* world.h - one room and its clients on a virtual network in virtual time.
 *
 * world_run() plays a scenario to its end or to the first broken invariant. World time is in microseconds;
 * each client and the relay have clocks of their own (offset and drift). */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "tests/sim/check.h"
#include "net/engine/history.h"
#include "net/engine/lock_client.h"
#include "net/engine/msg.h"
#include "core_wrapper/frame/pace.h"
#include "tests/sim/player.h"
#include "net/engine/lock_relay.h"
#include "tests/sim/scenario.h"

#include <stdio.h>

struct rate { /* datagrams in the second under way */
    uint64_t second, last_us;
    uint32_t moments; /* at which something was sent */
    uint32_t sent;
    uint32_t work; /* samples and frames, each of which excuses a moment in a room without a clock */
};

struct measure { /* from scenario.settled_us on */
    struct kl_client_stats at_start;
    uint64_t first_us, last_us;
    uint64_t turns, stalled_turns, frames;
    uint64_t own,
        others; /* samples of own seats, of others' seats that were seen to play, and after how long */
    double own_us, others_us;
};

struct sim_client {
    const struct scenario_client *setting;
    bool in_room; /* the room knows it */
    bool running; /* its frontend ticks */
    struct kl_client lock;
    struct link up, down;
    struct player player[KL_MAX_SEATS];
    unsigned seats;
    double next_tick_us;
    struct kl_pace pace;
    uint64_t calls_until_us; /* until then its frontend calls at that interval */
    uint32_t calls_us;
    uint64_t planned_us; /* its clock: the last turn */
    uint64_t stalled_until_us, frozen_until_us;
    uint64_t deaf_until_us; /* until then it may have missed more than the room keeps */
    uint64_t ordered_us;    /* its last command arrives then: they are ordered */
    uint64_t obstacle_us;   /* until then it may be slow: outage, stall, a worse link */
    uint32_t up_counter, down_counter;
    struct link_window up_window, down_window;
    uint32_t knowable;  /* frames below this had closed when the newest datagram that reached it was sent */
    uint32_t next_take; /* frames below were taken */
    uint64_t last_take_us;
    struct rate rate, relay_rate;
    struct measure measure;
    uint64_t longest_gap_us; /* between two frames run while its frontend ran and no obstacle was its own */
    uint64_t in_place_us;    /* since then it has been one of the room's: not absent */
    uint32_t session, bound; /* its own; the one the relay knows it by, 0: none */
    bool leaving_session;    /* cut or killed, and not back yet */
    bool dead, fresh;        /* no process; the next one has nothing */
    bool joining;            /* it has come while the game was on, and has not played yet */
    uint32_t have;           /* its RETURN's words */
    uint64_t bulk_us;        /* its last bulk message arrives then */
    size_t bulk_bytes;       /* under way */
    struct packet *pieces, *last_piece; /* of history, arrived and without a place yet */
    struct rng rng;
};

struct packet {
    uint16_t len;
    uint8_t client;
    uint32_t session, counter;
    uint32_t closed; /* of the room when it was sent */
    uint64_t relay;  /* number of the relay's process that sent it */
    struct packet *next_free;
    uint8_t bytes[KL_PIECE_BYTES];
};

enum event_kind {
    EVENT_TICK,
    EVENT_TO_RELAY,
    EVENT_TO_CLIENT,
    EVENT_HAPPENING,
    EVENT_ORDER,
    EVENT_REMOVE,
    EVENT_CUT,     /* the relay gives a session up */
    EVENT_SESSION, /* a client has a new one */
    EVENT_RETURN,  /* the relay learns whose it is */
    EVENT_HISTORY, /* a piece arrives */
    EVENT_REOPEN,  /* the relay is back */
    EVENT_JOIN,    /* a client comes while the game is on */
    EVENT_START
};
struct event {
    uint64_t at_us;
    uint64_t order; /* ties go by the order in which they were made */
    uint8_t kind, client;
    uint32_t index; /* happening */
    struct packet *packet;
};

struct world {
    struct scenario scenario;
    struct kl_lock_relay room;
    struct truth truth;
    struct sim_client client[KL_MAX_CLIENTS];
    uint64_t now_us, last_close_us, room_obstacle_us, paused_us; /* when it was paused last */
    uint64_t due_room, due_tick,
        due_client[KL_MAX_CLIENTS]; /* world time of the next send, the room's next tick */
    struct event *heap;
    size_t events, event_cap;
    uint64_t orders, same_time;
    struct packet *free_packets;
    struct kl_history *history;
    bool relay_down;
    uint64_t relay_frozen_until_us;
    uint64_t reopened, joined;
    struct rng rng;
    FILE *log; /* NULL: quiet */
    /* NULL, or called after each turn of a client. */
    void (*probe)(struct world *w, unsigned client, const struct kl_plan *plan);
    void *probed;
    bool failed;
    char error[320];
    uint64_t frames_run, datagrams, largest;
    bool pacing; /* nothing has happened for so long that the pace counts: since then, from that frame
                    (come_due()) */
    uint64_t paced_at_us;
    double paced_from;
};

/* Frames that came due closed per frame of the core's at the end, where nothing but steady links decided it
 * for long enough and the spacing is the room's to choose; else negative. */
double world_pace(const struct world *w);

typedef void world_probe(struct world *w, unsigned client, const struct kl_plan *plan);

/* Plays it. Returns true where every invariant held. The world is the caller's, of any contents before.
 * probe, where not NULL, is called after each turn of a client and finds ctx in w->probed. */
bool world_run(struct world *w, const struct scenario *s, FILE *log, world_probe *probe, void *ctx);

#endif

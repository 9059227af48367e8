/* scenario.h - a simulated room's numbers, all drawn from one seed (or set for one cell of a
 * table). World time is in microseconds from 0; nothing else in the simulation draws what a room is. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "net/engine/engine.h"
#include "net/engine/lock_wire.h"
#include "tests/sim/lie.h"
#include "tests/sim/link.h"

enum device {
    DEVICE_PAD,
    DEVICE_ANALOG,
    DEVICE_MOUSE,
    DEVICE_POINTER,
    DEVICE_GUN,
    DEVICE_KEYBOARD,
    DEVICE_ALL
};

struct scenario_client {
    bool there;
    uint8_t seats;     /* mask; 0: spectator */
    uint64_t joins_us; /* while the game is on; 0: it is there from the beginning */
    struct link_quality up, down;
    int64_t clock_offset_us; /* of its own clock; may sit just below a wrap of 2^32 us */
    int32_t clock_ppm;
    double tick_us; /* period of the frontend */
    uint32_t phase_us, tick_jitter_us;
    uint32_t grid_us;  /* its timed waits end at multiples of this, after phase_us; 0: when they are due */
    bool sleeps_on;    /* its frontend sleeps for tick_us after each call, however late that was */
    uint32_t max_runs; /* frames in a call */
    bool paced;        /* frames that the wrapper's pacing allows in one turn (core_wrapper/frame/pace.h) */
    uint32_t frame_us; /* a frame takes its machine so long; 0: no time */
    uint8_t device;    /* enum device */
    double activity;   /* chance of a change per sample */
    struct lie lie;
};

/* calls: the frontend calls so seldom (tick_us) for length_us, then as before;
 * stall: the frontend stops, its network thread goes on and reports it away; freeze: the whole process stops;
 * order: a command; silence of the link: outage */
enum happening_kind {
    HAPPEN_LINK,
    HAPPEN_OUTAGE,
    HAPPEN_STALL,
    HAPPEN_FREEZE,
    HAPPEN_ORDER,
    HAPPEN_LEAVE,
    HAPPEN_CRASH,
    HAPPEN_CUT,   /* no link for so long, then a new session */
    HAPPEN_KILL,  /* its process dies, and a new one comes so much later */
    HAPPEN_RELAY, /* the relay dies, and comes back so much later */
    HAPPEN_CALLS,
    HAPPEN_RELAY_FREEZE /* the relay's process stops */
};
enum { WAY_UP = 1, WAY_DOWN = 2 };
struct happening {
    uint64_t at_us;
    uint8_t kind, client, ways;
    uint32_t tick_us;
    uint64_t length_us; /* outage, stall and calls; a crash: how long until the relay gives the client up */
    struct link_quality up, down;
    struct kl_command order; /* of the relay itself where order.client says so */
    uint64_t
        notice_us; /* cut and kill: until the relay gives the session up, where it does not return before */
    uint64_t session_us;  /* cut: from the end of the outage to the new session */
    uint32_t lost_frames; /* relay: closed last and not in its journal */
    uint64_t hold_us;     /* relay: it waits so long for those who have not come back */
    int64_t offset_us;    /* relay: its clock from then on */
};

#define SCENARIO_HAPPENINGS 256
struct scenario {
    uint64_t seed;
    struct kl_params params;
    struct scenario_client client[KL_MAX_CLIENTS];
    uint64_t start_us, end_us;
    uint32_t rate_from, rate_uhz; /* from this frame on the core plays at that rate; 0: it never changes */
    int64_t relay_offset_us;
    uint32_t relay_grid_us; /* as a client's */
    bool replay_window; /* datagrams come once at most, and none that is long overtaken, as the transport does
                           it */
    bool saturating;    /* motion so large that sums may saturate */
    bool heavy;         /* everybody uses every device at once: datagrams overflow, and the pace may suffer */
    unsigned happenings;
    struct happening happening[SCENARIO_HAPPENINGS];
    uint64_t settled_us;  /* measures count from here */
    uint32_t held_frames; /* places for frames that each client has: enough for the longest stall */
};

void scenario_draw(struct scenario *s, uint64_t seed);

/* Client i lies so. Call after the rest of the scenario is drawn. */
void scenario_lie(struct scenario *s, unsigned i, const struct lie *lie);

struct cell {
    double rtt_ms, jitter_ms; /* jitter per hop is half of this, half-normal, added */
    double loss;              /* 0..1 per hop */
    unsigned players;
    bool aligned,
        subframes; /* aligned: all frontends tick at the same moment, whole frames from the schedule */
    double tick_hz, fps;
    double seconds, settle_seconds;
    uint8_t policy;
    bool half_steps, economy;
};
/* One client a seat on a steady link. */
void scenario_cell(struct scenario *s, const struct cell *c, uint64_t seed);

#endif

/* link.h - one direction of one client's way to the relay: when, how often and whether a datagram arrives. */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "tests/lib/rng.h"

enum jitter_kind { JITTER_HALF_NORMAL, JITTER_UNIFORM, JITTER_EXPONENTIAL, JITTER_SPIKES, JITTER_KINDS };

struct link_quality {
    uint32_t delay_us;
    uint32_t jitter_us; /* scale of what is added to the delay */
    uint8_t jitter;     /* enum jitter_kind */
    bool fifo;          /* never overtakes by jitter alone */
    double loss, duplicate, reorder;
    uint32_t reorder_us;                       /* a reordered datagram comes up to this much later */
    double burst_begin, burst_end, burst_loss; /* Gilbert-Elliott, per datagram */
};

struct link {
    struct link_quality quality;
    struct rng rng;
    bool in_burst;
    uint64_t down_until_us; /* outage */
    uint64_t last_arrival_us;
};

/* Sends at now_us: gives how many copies arrive (0..2) and when. */
unsigned link_send(struct link *l, uint64_t now_us, uint64_t arrival_us[2]);

/* The datagrams that have come: true for one that is new, false for a copy or one that LINK_WINDOW newer ones
 * have overtaken. Counters are from 1. */
#define LINK_WINDOW 2048
struct link_window {
    uint32_t highest, fresh;    /* fresh: how many were new */
    uint32_t seen[LINK_WINDOW]; /* by counter */
};
bool link_fresh(struct link_window *w, uint32_t counter);

/* The longest delay, but for a spike one in a million. */
uint32_t link_worst_us(const struct link_quality *q);

/* class: 0 a local network .. 4 a bad mobile link. */
struct link_quality link_draw(struct rng *r, unsigned class);

#endif

/* attack.h - a room of honest players on a steady link and one or two who lie, and what the honest lose. */
#ifndef SIM_ATTACK_H
#define SIM_ATTACK_H

#include "tests/sim/cell.h"
#include "tests/sim/world.h"

struct attack {
    unsigned players, liars; /* at least one is honest */
    int rtt_ms, jitter_ms;
    struct lie lie; /* the second liar's turns of lie and truth are moved by half of them */
};

struct damage {
    bool held;               /* no invariant broke; else the world's error says which */
    double fps_10s, fps_60s; /* that an honest player had in the worst window */
    uint32_t stalls;         /* turns of an honest player without a frame */
    uint32_t own_us;         /* the greatest sum of an honest player's own delays (lock_relay_pace.c) */
    double spacing;          /* mean */
    uint16_t spacing_most;
    double down_up;    /* bytes to the first liar for each of its own, in the worst 10 s */
    unsigned put_out;  /* honest players that the room made absent */
    double found_s;    /* until the room first knew a liar for one who holds it up; negative: never */
    uint64_t absences; /* of the first liar */
    double worst;      /* the greatest part of a bound that was reached: above 1, it is broken */
};

/* "players=2,liars=1,rtt=10,hold=30000,…"; what is not named stays. False: it cannot be read. */
bool attack_read(struct attack *a, const char *spec);
void attack_write(const struct attack *a, char *out, size_t cap);

/* Plays it for two minutes and judges by docs/security.md "Bounds for one player". */
struct damage attack_play(struct world *w, const struct cell *like, const struct attack *a);

#endif

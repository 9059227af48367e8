/* attack.h - a room of honest players on steady links and one or more who lie (liar.h), and what the honest
 * lose. docs/security.md "Bounds for one player". */
#ifndef ROOMS_ATTACK_H
#define ROOMS_ATTACK_H

#include "tests/rooms/liar.h"

struct attack {
    int32_t is[LIAR_NUMBERS];
    struct damage {
        double empty_s;          /* a seat was, and the spare player waited for it */
        double fps_10s, fps_60s; /* of the honest player with the worst window */
        double down_up; /* bytes down to a liar for each of its bytes up, without those of joining once */
        uint64_t pauses, rewound,
            anew;               /* pauses; honest: back to own states, the game run from its beginning */
        uint64_t forced;        /* resets and options that the room had, though only liars wanted them */
        double stood_s;         /* in all pauses */
        double disk_s;          /* the longest that the relay looks at no disk that the host wants in */
        uint64_t put_out;       /* times that a liar was, because of its hashes: it had come in again */
        uint64_t file_lines;    /* that one of the honest was told of liars' files */
        double worst;           /* the greatest part of a bound that was reached: above 1, it is broken */
        char error[FAIL_BYTES]; /* a thing that must not happen at all; "" */
    } d;
};

/* The relay's limits of pauses, so that they are reached within an attack. */
#define ATTACK_PAUSE_S  3
#define ATTACK_PAUSES_S 9

/* Plays it in a process of its own. */
double attack_play(struct attack *a);
/* Plays one with its story; 0, 1: a bound is broken, 2: the spec cannot be read. */
int attack_one(const char *spec);
/* Plays so many, of this seed; 0 or 1. */
int attack_search(uint64_t seed, uint64_t count);

#endif

/* player.h - hands on the pads: random but plausible inputs for every class of device. */
#ifndef SIM_PLAYER_H
#define SIM_PLAYER_H

#include "net/engine/input.h"
#include "tests/sim/scenario.h"

struct player {
    struct rng rng;
    uint8_t device;
    double activity;
    bool saturating;
    struct kl_input now; /* levels as they are held */
};

/* The seat's next sample. */
void player_sample(struct player *p, struct kl_input *out);

/* A second sample in the same turn: levels, no motion, no events. */
void player_again(struct kl_input *in);

#endif

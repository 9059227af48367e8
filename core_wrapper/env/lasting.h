/* lasting.h - outputs of a core that last: motors and lights. A core says a value once, and the frontend
 * keeps it until the next. README.md, Outputs that last.
 *
 * The core's values follow frames. They are noted here by the core's port, and the frontend is told at the
 * end of a call, so that frames on the way (of catching up, of healing, of running ahead) move nothing. While
 * the game stands, motors and lights are off; when it goes on, they are as the core asked last. Values are
 * told by the player's pads, so a motor follows its port when seats are swapped. */
#ifndef KLW_LASTING_H
#define KLW_LASTING_H

#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/engine/engine.h"

#define KL_LASTING_LIGHTS  16     /* further lights are not told */
#define KL_LASTING_WAIT_US 250000 /* without a new frame the game counts as standing after this time */

/* As a core has asked last; part of the machine beside the savestate (outside.h). All zero: the core has
 * asked for nothing. */
struct kl_lasting {
    uint16_t motor[KL_MAX_SEATS][2];   /* by port, or pad, and effect: 0 to 0xffff */
    uint16_t light[KL_LASTING_LIGHTS]; /* 0: off */
};

/* As the frontend has it, by pad. All zero: as a frontend begins. */
struct kl_lasting_told {
    struct kl_lasting is;
    uint64_t call_us; /* end of the last call; 0: none */
};

/* The frontend's functions. */
struct kl_lasting_front {
    retro_set_rumble_state_t motor; /* NULL: it has none */
    retro_set_led_state_t light;
    int (*pad)(void *ctx,
               unsigned port); /* the player's pad at this port of the core; -1: another player's */
    void *ctx;
};

/* The game at the end of a call. */
struct kl_lasting_game {
    bool runs;               /* the core is a room's or the player's own, and has loaded */
    bool healing;            /* frames are run again */
    bool catching_up;        /* only the last frame of a call is seen */
    uint64_t ran_us, now_us; /* end of the last new frame; now */
};

/* The core's values; ports, effects and lights beyond the limits are ignored. A light's state beyond 16 bits
 * is 0xffff. */
void kl_lasting_motor(struct kl_lasting *c, unsigned port, unsigned effect, uint16_t strength);
void kl_lasting_light(struct kl_lasting *c, int light, int state);

/* Motors and lights are to be off. */
bool kl_lasting_stands(const struct kl_lasting_game *g);

/* Tells the frontend the difference to these values, once a call; NULL: all are off. After a gap between
 * calls (the frontend's menu) all that is on is told again, because frontends stop motors themselves. */
void kl_lasting_tell(struct kl_lasting_told *t, const struct kl_lasting *asked,
                     const struct kl_lasting_front *front, uint64_t now_us);

#endif

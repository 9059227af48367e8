/* lie.h - what a client that lies says, and when its datagrams go. */
#ifndef SIM_LIE_H
#define SIM_LIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/rng.h"

enum lie_field {
    LIE_HELD,  /* 1: its datagrams are held back … */
    LIE_HOLD,  /* … until so many ms after the time of the frame that their newest sample feeds */
    LIE_NEAR,  /* 1: held back, they echo the newest stamp, as on a short link */
    LIE_NEED,  /* all needs are said to be this, quarter frames; 0: as they are */
    LIE_ACK,   /* so many frames fewer are said to be here */
    LIE_LATE,  /* the sample is said to be taken so late, 1/16 frame; 0: as it was */
    LIE_TURN,  /* and the turn to be so late */
    LIE_ON,    /* it lies for so many ms … */
    LIE_OFF,   /* … and then is honest for so many; 0: always lies */
    LIE_AWAY,  /* it says for one datagram in so many that its frontend does not run; 0: never */
    LIE_LIARS, /* so many of the players do all this */
    LIE_PLAYERS,
    LIE_RTT,    /* of all, ms */
    LIE_JITTER, /* ms */
    LIE_FIELDS
};
struct lie {
    int32_t is[LIE_FIELDS];
};

/* "held=1,hold=33,rtt=50": what is not named is as in an honest room of two with 30 ms and little jitter.
 * False for anything else. */
bool lie_read(struct lie *l, const char *text);
/* Only what differs from that. */
void lie_write(const struct lie *l, char *out, size_t cap);

void lie_draw(struct lie *l, struct rng *r);
/* Draws a few of its fields anew. */
void lie_change(struct lie *l, struct rng *r);

/* It lies at this time. */
bool lie_now(const struct lie *l, uint64_t since_us, uint64_t now_us);
/* Changes a client's CTRL, the n-th, that is held back for so long. Its new length. */
size_t lie_about(const struct lie *l, uint32_t n, uint32_t held_us, unsigned seats, uint8_t *ctrl, size_t len,
                 size_t cap);

#endif

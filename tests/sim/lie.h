/* lie.h - a lying client's words and deeds, as numbers that a search can draw and change. */
#ifndef SIM_LIE_H
#define SIM_LIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/rng.h"

/* Every number is 0 where the client tells the truth. */
enum lie_number {
    LIE_HOLD_US,  /* a datagram arrives so long after the line of the frame that its newest sample feeds, or
                     later by its link */
    LIE_ON_MS,    /* it lies for so long */
    LIE_OFF_MS,   /* then it tells the truth for so long; unless both are above 0, it lies always */
    LIE_FRESH,    /* percent of the time held by which the echo is made newer */
    LIE_ECHO_US,  /* added to the echo */
    LIE_HELD_US,  /* added to the time for which the client says that it held the echo */
    LIE_STAMP_US, /* added to the stamp */
    LIE_NEEDS,    /* every need is so many quarters of a frame */
    LIE_LATE,     /* every sample is late by one less than this, in sixteenths of a frame */
    LIE_TURN,     /* every turn, the same */
    LIE_BATCH,    /* samples of the newest turn, one less than this */
    LIE_ACKED,    /* added to the frames acknowledged */
    LIE_BACKLOG,  /* added to the backlog */
    LIE_NUMBER,   /* added to the number of the first sample; its pads are neutral then */
    LIE_AWAY_MS,  /* "away" is said for so long of each second */
    LIE_RESUME,   /* percent of datagrams with "resume" */
    LIE_DROPS,    /* percent of datagrams that are never sent */
    LIE_CUT_MS,   /* it leaves and comes back in a new session, so often */
    LIE_HOARD_MS, /* samples are told so often, all at once */
    LIE_QUIET,    /* between, it sends nothing and counts none */
    LIE_NUMBERS
};
struct lie {
    uint64_t from_us;  /* world time from which on it lies; 0: never */
    uint64_t phase_us; /* by which its turns of lie and truth are moved */
    int32_t is[LIE_NUMBERS];
};

/* "name=value,…" of those that are not 0. read: false if a name or value is wrong. */
void lie_write(const struct lie *l, char *out, size_t cap);
bool lie_read(struct lie *l, const char *name, int32_t value);

/* A few numbers at random; the rest is true. */
void lie_draw(struct lie *l, struct rng *r);
/* Changes one number or two: a little, wholly, or back to the truth. */
void lie_change(struct lie *l, struct rng *r);

bool lie_is_on(const struct lie *l, uint64_t now_us);
/* It sends nothing now, and its next datagram's number shows no gap. */
bool lie_is_quiet(const struct lie *l, uint64_t now_us);

/* Rewrites the body of a CTRL of so many seats that is held back for held_us. counter: the datagram's number.
 * Returns the new length, 0: it is not sent. */
size_t lie_forge(const struct lie *l, uint64_t now_us, uint32_t counter, uint32_t held_us, unsigned seats,
                 uint8_t *ctrl, size_t len, size_t cap);

#endif

/* away.h - the players whom the screen shows as away. The link reports each absence at once, and a slow
 * frontend may leave and return many times in a second. The screen shows only absences that last. Pure. */
#ifndef KLW_AWAY_H
#define KLW_AWAY_H

#include <stdint.h>

#include "net/engine/engine.h"

#define KL_AWAY_SHOWN_US 500000  /* a hitch that is over sooner is no news */
#define KL_AWAY_BACK_US  1000000 /* a player counts as back after this time */

struct kl_away {
    uint8_t shown;                    /* seats that are shown as away */
    uint64_t turned_us[KL_MAX_SEATS]; /* since when it has been other than shown; 0: it is not */
    uint64_t away_us[KL_MAX_SEATS];   /* begin of the absence, if shown as away */
};

/* away: the seats that the link says are away now. Returns the seats whose showing changes with this call. */
uint8_t kl_away_turn(struct kl_away *p, uint8_t away, uint64_t now_us);
/* How long a seat was away that has just come back. */
uint64_t kl_away_time_us(const struct kl_away *p, unsigned seat);

/* Estimated time to catch up, from the rate of progress. Pure. */

struct kl_remaining {
    uint64_t at_us;  /* looked at last; 0: nothing is to be caught up with */
    uint32_t frames; /* left then */
    double per_s;    /* fewer in a second, smoothed; 0: not known */
};

/* frames: left now; 0 ends it. Any number of times a second. */
void kl_remaining_turn(struct kl_remaining *r, uint32_t frames, uint64_t now_us);
/* Seconds, rounded up; 0: not known, or never at this pace. */
unsigned kl_remaining_s(const struct kl_remaining *r);

#endif

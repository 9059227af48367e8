/* remaining.h - estimated time to catch up, from the rate of progress. Pure. */
#ifndef KLW_REMAINING_H
#define KLW_REMAINING_H

#include <stdint.h>

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

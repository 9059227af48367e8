/* cost.h - the cost of a piece of work that is done once a frame, whatever else the machine does. Pure: times
 * come in. */
#ifndef KLW_COST_H
#define KLW_COST_H

#include <stdint.h>

#include "net/engine/clock.h"

/* Time and processor time of this thread, both in microseconds. */
struct kl_spent {
    uint64_t time_us, thread_us;
};

/* The newest 32 pieces. Processor time leaves out what other programs take away. It leaves out the core's own
 * threads as well, and Windows does not tell it so finely: the median of the time has these, for most frames
 * are not held up. */
struct kl_cost {
    struct kl_usual time_us, thread_us;
};
/* part: of it, which is not to count. */
void kl_cost_add(struct kl_cost *c, struct kl_spent all, struct kl_spent part);
/* Microseconds: the larger of the third largest processor time and the median time. 0: nothing was added. */
double kl_cost_us(const struct kl_cost *c);

#endif

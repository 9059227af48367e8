/* yardstick.h - the bare core's unthrottled speed, measured inside a process that plays in a room: on the
 * same processor, right before and after what it is compared with, by the same frames. */
#ifndef KLB_YARDSTICK_H
#define KLB_YARDSTICK_H

#include <stdint.h>

struct yardstick {
    uint64_t wall_us, cpu_us; /* of `frames` frames; processor time of the whole process */
    unsigned frames;
};

/* Loads core and content, without wrapper and without pads, runs `skip` frames, measures the `frames` after
 * them, unloads. core: a file that nobody in this process has loaded (a copy). Ends the process with a line
 * where the core cannot be loaded. */
struct yardstick yardstick_measure(const char *core, const char *content, unsigned skip, unsigned frames);

#endif

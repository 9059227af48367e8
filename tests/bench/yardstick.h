/* yardstick.h - the bare core's unthrottled speed, measured in a process that plays in a room: on the same
 * processor, by the same frames, right before and after the measured run. */
#ifndef KLB_YARDSTICK_H
#define KLB_YARDSTICK_H

#include <stdint.h>

struct yardstick {
    uint64_t wall_us, cpu_us; /* of `frames` frames; processor time of the whole process */
    unsigned frames;
};

/* Loads core and content, without wrapper and without pads, runs `skip` frames, measures the `frames` after
 * them, unloads. core: a file that is not loaded in this process (a copy). If the core cannot be loaded,
 * prints a line and ends the process. */
struct yardstick yardstick_measure(const char *core, const char *content, unsigned skip, unsigned frames);

#endif

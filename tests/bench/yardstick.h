/* yardstick.h - a bare core and nothing else: a frontend as small as can be, which knows no other file of
 * ours, and the core's unthrottled speed in it. A core may be the wrapper.
 *
 * Each prints a line and ends the process if the core or its content cannot be loaded. Not thread-safe. */
#ifndef KLB_YARDSTICK_H
#define KLB_YARDSTICK_H

#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>

struct bare {
    void *library;
    void (*run)(void);
};

/* The functions that the core gets; NULL: a poll does nothing, and nothing is pressed. */
struct bare_front {
    retro_environment_t environment;
    retro_input_poll_t poll;
    retro_input_state_t state;
};

/* The usual answers of an environment. folder: for system and save files; borrowed. */
bool bare_answer(const char *folder, unsigned cmd, void *data);
/* Loads core and content. */
void bare_open(struct bare *b, const char *core, const char *content, const struct bare_front *f);
void bare_close(struct bare *b);
/* A function of the core, by its whole name. */
void *bare_find(const struct bare *b, const char *name);

struct yardstick {
    uint64_t wall_us, cpu_us; /* of `frames` frames; processor time of the whole process */
    unsigned frames;
};

/* Measured in a process that plays in a room: on the same processor, by the same frames, right before and
 * after the measured run. Loads core and content, runs `skip` frames, measures the `frames` after them,
 * unloads. core: a file that is not loaded in this process (a copy). */
struct yardstick yardstick_measure(const char *core, const char *content, unsigned skip, unsigned frames);

#endif

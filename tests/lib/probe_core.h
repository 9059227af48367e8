/* probe_core.h - the test core of tests/cores/probe_core.c, driven by hand: for unit tests of what looks at a
 * core. */
#ifndef TEST_PROBE_CORE_H
#define TEST_PROBE_CORE_H

#include "core_wrapper/core/core.h"
#include "core_wrapper/core/options.h"
#include "core_wrapper/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As in probe_core.c. */
struct seen {
    uint32_t frame;
    uint32_t pad[4];
    int64_t time_s, real_ns, mono_ns, made_s;
    int32_t hour, year, utc_offset, timeouts;
    uint32_t random, speed, bios_bytes, reserved;
};

extern struct kl_options probe_options;
extern const char *probe_system_dir; /* the core's system folder */

bool probe_environment(unsigned cmd, void *data);

/* KL_PROBE_CORE names another build of it. */
const char *probe_core_path(void);

/* A variable of the process, which the core looks at, too; NULL: it is not set. */
void probe_set(const char *name, const char *value);

/* Up to a loaded game; the world is turned in between, by the test. */
bool probe_core_start(struct kl_core *c);

/* On Windows the calls of a world go to a core's C runtime, which is this program's, too: opens the test core
 * and turns the world by it. Elsewhere nothing is needed. 0, or an error. */
int probe_runtime_turn(struct kl_world *w);
void probe_runtime_close(void);

const struct seen *probe_core_seen(const struct kl_core *c);

#endif

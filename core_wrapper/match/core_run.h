/* core_run.h - runs a core's frames, each with the room's commands before it: the true core's (play.h), the
 * same again after a state was loaded (snapshot.h), the shown core's (run_ahead.h). None of these is called
 * from here. */
#ifndef KLW_CORE_RUN_H
#define KLW_CORE_RUN_H

#include "net/engine/command.h"

struct kl_match;
struct kl_core_run;

/* Runs frame f after its commands, which are in `set`; NULL: it has none. from_snapshot: only after the
 * commands behind SNAPSHOT, because the core is in that snapshot's state. hidden: the core may leave out its
 * picture. False, for KL_RUN_AHEAD alone: the core cannot follow a command, and the frame has not run. */
bool kl_core_run_frame(struct kl_match *m, struct kl_core_run *r, const struct kl_frame *f,
                       const struct kl_commands *set, bool from_snapshot, bool hidden);

/* Shows a picture, of whichever core is on the screen; m->play.showing grows by what that took. */
void kl_core_show(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch,
                  bool hidden);
/* The time that this thread has spent since then; {0}: since it began. */
struct kl_spent kl_core_spent(struct kl_spent since);

#endif

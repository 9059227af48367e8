/* canon.h - the game as it is played: each frame as the first machine that ran it has it. Every machine has
 * the same. */
#ifndef TEST_CANON_H
#define TEST_CANON_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/lock_wire.h"

#define CANON_FRAMES 40000

extern struct kl_frame canon[CANON_FRAMES];
extern uint32_t canon_end; /* frames that some machine has run */

bool canon_same(const struct kl_frame *a, const struct kl_frame *b);
/* A machine runs this frame. False: it is not what others ran, or not the next. */
bool canon_run(const struct kl_frame *f);

#endif

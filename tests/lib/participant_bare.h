/* participant_bare.h - a participant that has been welcomed, for tests of what its parts take and say. */
#ifndef TEST_PARTICIPANT_BARE_H
#define TEST_PARTICIPANT_BARE_H

#include "tests/unit/unit.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/client/participant_parts.h"

extern struct kl_participant *s;

void begin_participant(bool has_password, bool fresh);

int make(void **state);
int drop(void **state);

#endif

/* stay_bare.h - a stay that has been welcomed, for tests of what its parts take and say. */
#ifndef TEST_STAY_BARE_H
#define TEST_STAY_BARE_H

#include "tests/unit/unit.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/client/stay_parts.h"

extern struct kl_stay *s;

void begin_stay(bool has_password, bool fresh);

int make(void **state);
int drop(void **state);

#endif

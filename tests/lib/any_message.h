/* any_message.h - messages of every kind from the tables of their fields, so that tests know a new kind by
 * its table. */
#ifndef KL_TESTS_ANY_MESSAGE_H
#define KL_TESTS_ANY_MESSAGE_H

#include "net/engine/msg.h"
#include "tests/lib/rng.h"

/* Fills m so that kl_msg_decode() takes it; fields are often at their bounds. False: there is no such kind,
 * or it is HISTORY, which is more than its table. */
bool any_message(struct kl_msg *m, uint8_t kind, struct rng *rng);

#endif

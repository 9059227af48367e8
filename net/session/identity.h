/* identity.h - a hash of a room's facts, in 16 bytes: a client finds rooms of its own game in a list by it.
 * net/PROTOCOL.md §7, facts. Pure but for libsodium. */
#ifndef KL_IDENTITY_H
#define KL_IDENTITY_H

#include "net/engine/facts.h"

/* BLAKE2b-128 over the facts in the order of their keys (by bytes), each as key, 0, the part of the value
 * that counts, 0. Equal if kl_facts_differ() finds no difference. */
void kl_identity(const struct kl_facts *f, uint8_t out[16]);

#endif

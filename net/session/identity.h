/* identity.h - what a room plays, in 16 bytes: so that a client finds "this very game" in a list of rooms.
 * net/PROTOCOL.md §7, facts. Pure but for libsodium. */
#ifndef KL_IDENTITY_H
#define KL_IDENTITY_H

#include "net/engine/facts.h"

/* BLAKE2b-128 over the facts in the order of their keys (by bytes), each as key, 0, the part of the value
 * that counts, 0. Equal wherever kl_facts_differ() finds no difference. */
void kl_identity(const struct kl_facts *f, uint8_t out[16]);

#endif

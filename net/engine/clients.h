/* clients.h - a set of a room's clients: a bit for each. */
#ifndef KL_CLIENTS_H
#define KL_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/engine/engine.h"

static inline uint16_t kl_only(unsigned client) {
    return (uint16_t)(1U << client);
}
static inline bool kl_has(uint16_t set, unsigned client) {
    return set >> client & 1;
}
static inline unsigned kl_size(uint16_t set) {
    return (unsigned)__builtin_popcount(set);
}
static inline unsigned kl_first(uint16_t set) { /* KL_MAX_CLIENTS: it is empty */
    return set ? (unsigned)__builtin_ctz(set) : KL_MAX_CLIENTS;
}

/* for (KL_EACH(i, set)): its clients in their order. The set is looked at anew for each. */
#define KL_EACH(i, set) KL_EACH_FROM(i, (unsigned)(set))
#define KL_EACH_FROM(i, set)                                                                                 \
    unsigned i = kl_first((uint16_t)(set));                                                                  \
    i < KL_MAX_CLIENTS;                                                                                      \
    i = kl_first((uint16_t)((set) >> (i + 1) << (i + 1)))

#endif

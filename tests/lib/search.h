/* search.h - looks for the attack that costs most: draws attacks from a seed, then changes those that cost
 * most so far. Used by tests/sim and tests/rooms. */
#ifndef TEST_SEARCH_H
#define TEST_SEARCH_H

#include <stddef.h>

#include "tests/lib/rng.h"

#define SEARCH_KEPT  4 /* the worst so far, of which the next ones are made */
#define SEARCH_BYTES 1024

struct search {
    size_t bytes;   /* of an item: an attack and what came of it; at most SEARCH_BYTES */
    unsigned known; /* attacks that are played first */
    void *ctx;
    void (*know)(void *item, unsigned n); /* the known attack n, from 0 */
    void (*draw)(void *item, struct rng *r);
    void (*change)(void *item, struct rng *r);
    double (*play)(void *item, void *ctx); /* the greatest part of a bound that it reached */
    void (*show)(const void *item);
};

/* Plays `count` attacks and shows those that break a bound, and the worst. True: none broke one. */
bool search_run(const struct search *s, uint64_t seed, uint64_t count);

#endif

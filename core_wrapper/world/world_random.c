/* The virtual chance: one generator for every call by which a core asks the C library for random numbers.
 * SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a counter and a
 * mix, so that threads of a core need no lock. */
#include "core_wrapper/world/world_private.h"

#include <stdatomic.h>

uint64_t kl_world_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t kl_world_draw(struct kl_world *w) {
    return kl_world_mix(atomic_fetch_add(&w->chance, KL_CHANCE_STEP));
}

/* KL_RAND_UPPER: 31 bits are n / 32767 of RAND_MAX, as 15 bits are, but for the rest of a division. The exact
 * value is n * 65538 + n / 32767. It is rounded up from 18200 on, because Genesis Plus GX's product is equal
 * for all n then (tests/unit/test_rand_use.c). */
int kl_world_rand_of(uint64_t drawn, enum kl_rand_use use, int rand_max) {
    int n = (int)(drawn >> 49);
    if (rand_max <= 32767 || use == KL_RAND_LOW) return n;
    return use == KL_RAND_UPPER ? n * 65538 + (n >= 18200) : (int)(drawn >> 33);
}

void kl_world_rand_use(struct kl_world *w, enum kl_rand_use use) {
    w->rand_use = use;
}

void kl_world_random_start(struct kl_world *w, uint64_t seed) {
    atomic_store(&w->chance, kl_world_mix(seed ^ 0x6b65796c6f636b21u));
}

uint64_t kl_world_chance(const struct kl_world *w) {
    return atomic_load(&w->chance);
}
void kl_world_chance_set(struct kl_world *w, uint64_t chance) {
    atomic_store(&w->chance, chance);
}

void kl_world_draw_bytes(struct kl_world *w, void *buf, size_t n) {
    uint8_t *p = buf;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(kl_world_draw(w) >> 56);
}

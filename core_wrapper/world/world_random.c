/* The virtual chance: one generator for every call by which a core asks the C library for random numbers.
 * SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a counter and a
 * mix, so that threads of a core need no lock. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static _Atomic uint64_t counter = 0x6b65796c6f636b21u; /* until kl_world_start() */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw(void) {
    return mix(atomic_fetch_add(&counter, 0x9e3779b97f4a7c15u));
}

void kl_world_random_start(uint64_t seed) {
    atomic_store(&counter, mix(seed ^ 0x6b65796c6f636b21u));
}

uint64_t kl_world_chance(void) {
    return atomic_load(&counter);
}
void kl_world_chance_set(uint64_t chance) {
    atomic_store(&counter, chance);
}

/* rand() and random() of glibc both give 0..2^31-1. */
static int v_rand(void) {
    return (int)(draw() >> 33);
}
static long v_random(void) {
    return (long)(draw() >> 33);
}
static void v_srand(unsigned seed) {
    kl_world_random_start(seed);
}
static void v_srand48(long seed) {
    kl_world_random_start((uint64_t)seed);
}
static int v_rand_r(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return (int)(mix(*seed) >> 33);
}

/* The state buffers of random() are of no use here: the seed is all that counts. */
static char *v_initstate(unsigned seed, char *state, size_t n) {
    (void)n;
    v_srand(seed);
    return state;
}
static char *v_setstate(char *state) {
    return state;
}

static double v_drand48(void) {
    return (double)(draw() >> 11) * 0x1p-53;
}
static long v_lrand48(void) {
    return (long)(draw() >> 33);
}
static long v_mrand48(void) {
    return (long)(int32_t)(draw() >> 32);
}

static uint32_t v_arc4random(void) {
    return (uint32_t)(draw() >> 32);
}
static uint32_t v_arc4random_uniform(uint32_t bound) {
    return (uint32_t)(((draw() >> 32) * bound) >> 32);
}
static void v_arc4random_buf(void *buf, size_t n) {
    uint8_t *p = buf;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(draw() >> 56);
}
static ssize_t v_getrandom(void *buf, size_t n, unsigned flags) {
    (void)flags;
    v_arc4random_buf(buf, n);
    return (ssize_t)n;
}
static int v_getentropy(void *buf, size_t n) {
    if (n > 256) {
        errno = EIO;
        return -1;
    }
    v_arc4random_buf(buf, n);
    return 0;
}

/* std::random_device: opening it still reads the machine, its values come from here. */
static unsigned v_random_device(void *self) {
    (void)self;
    return v_arc4random();
}

const struct kl_hook kl_world_random_hooks[] = {
    {"rand", (void *)v_rand, NULL},
    {"srand", (void *)v_srand, NULL},
    {"rand_r", (void *)v_rand_r, NULL},
    {"random", (void *)v_random, NULL},
    {"srandom", (void *)v_srand, NULL},
    {"initstate", (void *)v_initstate, NULL},
    {"setstate", (void *)v_setstate, NULL},
    {"drand48", (void *)v_drand48, NULL},
    {"lrand48", (void *)v_lrand48, NULL},
    {"mrand48", (void *)v_mrand48, NULL},
    {"srand48", (void *)v_srand48, NULL},
    {"arc4random", (void *)v_arc4random, NULL},
    {"arc4random_uniform", (void *)v_arc4random_uniform, NULL},
    {"arc4random_buf", (void *)v_arc4random_buf, NULL},
    {"getrandom", (void *)v_getrandom, NULL},
    {"getentropy", (void *)v_getentropy, NULL},
    {"_ZNSt13random_device9_M_getvalEv", (void *)v_random_device, NULL},
    {NULL, NULL, NULL},
};

/* rng.h - the tests' random numbers: splitmix64 (Steele, Lea, Flood 2014), one stream from one seed. */
#ifndef TEST_RNG_H
#define TEST_RNG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* splitmix64's finalizer: a hash of z. */
static inline uint64_t rng_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t rng_next(struct rng *r) {
    return rng_mix(r->state += 0x9e3779b97f4a7c15u);
}

/* 0 <= result < below */
static inline uint32_t rng_below(struct rng *r, uint32_t below) {
    return (uint32_t)(((rng_next(r) >> 32) * below) >> 32);
}

/* 0 <= result < 1 */
static inline double rng_unit(struct rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* lo <= result <= hi */
static inline uint32_t rng_range(struct rng *r, uint32_t lo, uint32_t hi) {
    return lo + (uint32_t)(((rng_next(r) >> 32) * ((uint64_t)hi - lo + 1)) >> 32);
}

static inline double rng_between(struct rng *r, double lo, double hi) {
    return lo + (hi - lo) * rng_unit(r);
}
static inline bool rng_chance(struct rng *r, double p) {
    return rng_unit(r) < p;
}
static inline double rng_exponential(struct rng *r) {
    return -log(1.0 - rng_unit(r));
}

static inline double rng_normal(struct rng *r) {
    double radius = sqrt(2 * rng_exponential(r));
    return radius * cos(6.283185307179586 * rng_unit(r));
}

/* A generator of its own, so that one part's draws do not shift another's. */
static inline struct rng rng_fork(struct rng *r) {
    return (struct rng){rng_next(r)};
}

#endif

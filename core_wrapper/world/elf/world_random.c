/* The C library's random numbers, as a core sees them: from the world's generator. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

static int v_rand(struct kl_world *w) {
    return kl_world_rand_of(kl_world_draw(w), w->rand_use, RAND_MAX);
}
KL_TURNED(int, v_rand, (void))
/* 0..2^31-1, as rand() of glibc. */
static long v_random(struct kl_world *w) {
    return (long)(kl_world_draw(w) >> 33);
}
KL_TURNED(long, v_random, (void))
static void v_srand(struct kl_world *w, unsigned seed) {
    kl_world_random_start(w, seed);
}
KL_TURNED(void, v_srand, (unsigned seed), seed)
static void v_srand48(struct kl_world *w, long seed) {
    kl_world_random_start(w, (uint64_t)seed);
}
KL_TURNED(void, v_srand48, (long seed), seed)
static int v_rand_r(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return (int)(kl_world_mix(*seed) >> 33);
}

/* The state buffers of random() are of no use here: the seed is all that counts. */
static char *v_initstate(struct kl_world *w, unsigned seed, char *state, size_t n) {
    (void)n;
    v_srand(w, seed);
    return state;
}
KL_TURNED(char *, v_initstate, (unsigned seed, char *state, size_t n), seed, state, n)
static char *v_setstate(char *state) {
    return state;
}

static double v_drand48(struct kl_world *w) {
    return (double)(kl_world_draw(w) >> 11) * 0x1p-53;
}
KL_TURNED(double, v_drand48, (void))
static long v_lrand48(struct kl_world *w) {
    return (long)(kl_world_draw(w) >> 33);
}
KL_TURNED(long, v_lrand48, (void))
static long v_mrand48(struct kl_world *w) {
    return (long)(int32_t)(kl_world_draw(w) >> 32);
}
KL_TURNED(long, v_mrand48, (void))

static uint32_t v_arc4random(struct kl_world *w) {
    return (uint32_t)(kl_world_draw(w) >> 32);
}
KL_TURNED(uint32_t, v_arc4random, (void))
static uint32_t v_arc4random_uniform(struct kl_world *w, uint32_t bound) {
    return (uint32_t)(((kl_world_draw(w) >> 32) * bound) >> 32);
}
KL_TURNED(uint32_t, v_arc4random_uniform, (uint32_t bound), bound)
static void v_arc4random_buf(struct kl_world *w, void *buf, size_t n) {
    kl_world_draw_bytes(w, buf, n);
}
KL_TURNED(void, v_arc4random_buf, (void *buf, size_t n), buf, n)
static ssize_t v_getrandom(struct kl_world *w, void *buf, size_t n, unsigned flags) {
    (void)flags;
    v_arc4random_buf(w, buf, n);
    return (ssize_t)n;
}
KL_TURNED(ssize_t, v_getrandom, (void *buf, size_t n, unsigned flags), buf, n, flags)
static int v_getentropy(struct kl_world *w, void *buf, size_t n) {
    if (n > 256) {
        errno = EIO;
        return -1;
    }
    v_arc4random_buf(w, buf, n);
    return 0;
}
KL_TURNED(int, v_getentropy, (void *buf, size_t n), buf, n)

/* std::random_device: opening it still asks the machine, its values come from here. */
static unsigned v_random_device(struct kl_world *w, void *self) {
    (void)self;
    return v_arc4random(w);
}
KL_TURNED(unsigned, v_random_device, (void *self), self)
static double v_random_device_entropy(const void *self) { /* bits that the machine's own would have */
    (void)self;
    return 0;
}

const struct kl_hook kl_world_random_hooks[] = {
    KL_HOOK("rand", v_rand),
    KL_HOOK("srand", v_srand),
    KL_HOOK_SAME("rand_r", v_rand_r),
    KL_HOOK("random", v_random),
    KL_HOOK("srandom", v_srand),
    KL_HOOK("initstate", v_initstate),
    KL_HOOK_SAME("setstate", v_setstate),
    KL_HOOK("drand48", v_drand48),
    KL_HOOK("lrand48", v_lrand48),
    KL_HOOK("mrand48", v_mrand48),
    KL_HOOK("srand48", v_srand48),
    KL_HOOK("arc4random", v_arc4random),
    KL_HOOK("arc4random_uniform", v_arc4random_uniform),
    KL_HOOK("arc4random_buf", v_arc4random_buf),
    KL_HOOK("getrandom", v_getrandom),
    KL_HOOK("getentropy", v_getentropy),
    KL_HOOK("_ZNSt13random_device9_M_getvalEv", v_random_device),
    KL_HOOK("_ZNSt13random_device16_M_getval_pretr1Ev", v_random_device),
    KL_HOOK_SAME("_ZNKSt13random_device13_M_getentropyEv", v_random_device_entropy),
    KL_HOOK_END,
};

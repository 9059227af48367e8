/* probe_chance.h - the two ways in which cores use rand(), whose RAND_MAX the compiler has put into them. */
#ifndef TEST_PROBE_CHANCE_H
#define TEST_PROBE_CHANCE_H

#include <stdint.h>
#include <stdlib.h>

/* As FBNeo's drivers. */
static uint32_t remainder_of_rand(void) {
    uint32_t of_six = (uint32_t)rand() % 6, bits = (uint32_t)rand() & 0x20, all = (uint32_t)rand();
    return of_six + bits * 8 + all * 512;
}

/* Half of RAND_MAX; a share of it as Genesis Plus GX takes it at a reset. */
static uint32_t share_of_rand(void) {
    uint32_t half = rand() > RAND_MAX / 2;
    return half + 2 * ((uint32_t)((3420 * 262) * ((double)rand() / (double)RAND_MAX)) / 7);
}

#endif

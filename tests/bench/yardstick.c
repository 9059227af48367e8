#include "tests/bench/yardstick.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core_wrapper/tool/headless/headless.h"

static uint64_t clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void run(struct kl_headless *h, unsigned frames) {
    while (frames--)
        kl_headless_run(h);
}

struct yardstick yardstick_measure(const char *core, const char *content, unsigned skip, unsigned frames) {
    static struct kl_headless h; /* large */
    struct kl_headless_setup setup = {
        .core_path = core, .content_path = content, .virtual_clock = true, .quiet = true};
    struct yardstick y = {.frames = frames};
    char err[KLT_ERR];
    setup.epoch_s = KLT_EPOCH_DEFAULT;
    if (kl_headless_open(&h, &setup, err, sizeof err) != 0) {
        fprintf(stderr, "yardstick: %s\n", err);
        exit(1);
    }
    run(&h, skip);
    uint64_t wall_us = clock_us(CLOCK_MONOTONIC), cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    run(&h, frames);
    y.cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
    y.wall_us = clock_us(CLOCK_MONOTONIC) - wall_us;
    kl_headless_close(&h, err, sizeof err);
    return y;
}

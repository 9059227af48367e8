#include "net/platform/clock.h"

#include <stdio.h>
#include <sys/timex.h>
#include <time.h>

static uint64_t read_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* weak: a fuzzer defines its own clock */
__attribute__((weak)) uint64_t kl_now_us(void) {
    return read_us(CLOCK_MONOTONIC);
}
uint64_t kl_wall_us(void) {
    return read_us(CLOCK_REALTIME);
}
uint64_t kl_cpu_us(void) {
    return read_us(CLOCK_PROCESS_CPUTIME_ID);
}
uint64_t kl_thread_us(void) {
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

static bool sleep_for(int flags, uint64_t us) {
    struct timespec t = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return clock_nanosleep(CLOCK_MONOTONIC, flags, &t, NULL) == 0;
}

bool kl_sleep_us(uint64_t us) {
    return sleep_for(0, us);
}
bool kl_sleep_until(uint64_t until_us) {
    return sleep_for(TIMER_ABSTIME, until_us);
}

const char *kl_wall_text(char out[KL_WALL_TEXT], uint64_t wall_us) {
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(out, KL_WALL_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, KL_WALL_TEXT - n, ".%03uZ", (unsigned)(wall_us / 1000 % 1000));
    return out;
}

bool kl_wall_is_kept(void) {
    struct timex t = {0};
    return adjtimex(&t) != TIME_ERROR;
}

/* The platform's clocks: what moves on, what is right, and that a sleep is at least as long as it was asked
 * to be. */
#include "tests/unit/unit.h"

#include <time.h>

#include "net/platform/clock.h"

#ifdef _WIN32
#include <windows.h>

static uint64_t read_machine_us(void) {
    LARGE_INTEGER rate, now;
    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&now);
    return (uint64_t)((unsigned __int128)now.QuadPart * 1000000 / (unsigned __int128)rate.QuadPart);
}
#else
#include <signal.h>
#include <sys/time.h>

static uint64_t read_machine_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
#endif

TEST(now_moves_on_with_the_machine_s_monotonic_clock) {
    uint64_t before_us = kl_now_us(), us = read_machine_us(), after_us = kl_now_us();
    assert_true(before_us <= us && us <= after_us);
}

TEST(the_wall_clock_is_the_machine_s) {
    uint64_t before_s = (uint64_t)time(NULL), wall_us = kl_wall_us(); /* time() may lag by a tick */
    assert_true(before_s <= wall_us / 1000000 && wall_us / 1000000 <= (uint64_t)time(NULL) + 1);
    (void)kl_wall_is_kept();
}

TEST(a_sleep_is_as_long_as_asked_and_uses_no_processor) {
    uint64_t from_us = kl_now_us(), cpu_us = kl_cpu_us();
    assert_true(kl_sleep_us(20000));
    assert_true(kl_now_us() - from_us >= 20000);
    assert_true(kl_sleep_until(from_us + 40000));
    assert_true(kl_now_us() >= from_us + 40000);
    assert_true(kl_sleep_until(from_us)); /* over already */
    assert_true(kl_cpu_us() - cpu_us < 20000);
}

TEST(working_uses_the_processor) {
    uint64_t cpu_us = kl_cpu_us();
    while (kl_cpu_us() - cpu_us < 2000) {
    }
}

#ifndef _WIN32 /* there are no signals to end a sleep early */
static void on_alarm(int sig) {
    (void)sig;
}

TEST(a_signal_ends_a_sleep_early) {
    struct itimerval soon = {.it_value.tv_usec = 10000, .it_interval.tv_usec = 10000}, off = {0};
    struct sigaction act = {.sa_handler = on_alarm}, was;
    sigaction(SIGALRM, &act, &was);
    setitimer(ITIMER_REAL, &soon, NULL);
    bool whole = kl_sleep_us(60000000);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &was, NULL);
    assert_false(whole);
}
#endif

TEST(a_wall_time_is_written_as_logs_have_it) {
    char out[KL_WALL_TEXT];
    assert_string_equal(kl_wall_text(out, 0), "1970-01-01T00:00:00.000Z");
    assert_string_equal(kl_wall_text(out, UINT64_C(1714979289123999)), "2024-05-06T07:08:09.123Z");
}

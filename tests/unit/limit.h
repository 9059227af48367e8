/* limit.h - a time for a test program, on each system, so that a test that waits for ever fails. */
#ifndef TEST_UNIT_LIMIT_H
#define TEST_UNIT_LIMIT_H

#ifdef _WIN32
#include <stdio.h>
#include <windows.h>

static void CALLBACK limit_end(void *arg, BOOLEAN late) {
    (void)arg, (void)late;
    fprintf(stderr, "expected the test to end in time\n");
    TerminateProcess(GetCurrentProcess(), 142);
}

/* Ends this program with a failure unless it is called again within this time. */
static inline void limit_s(unsigned s) {
    static HANDLE timer;
    if (timer) (void)!DeleteTimerQueueTimer(NULL, timer, NULL);
    (void)!CreateTimerQueueTimer(&timer, NULL, limit_end, NULL, s * 1000, 0, WT_EXECUTEONLYONCE);
}
#else
#include <unistd.h>

static inline void limit_s(unsigned s) {
    alarm(s);
}
#endif

#endif

#include "net/platform/clock.h"

#include <stdio.h>
#include <windows.h>
#include <mmsystem.h>

#include "net/platform/windows/handle.h"

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2 /* not in mingw's headers of Debian 12 */
#endif

#define TICKS_PER_US  10                           /* a FILETIME counts 100 ns */
#define UNIX_EPOCH_US UINT64_C(11644473600000000)  /* 1970-01-01, since 1601-01-01 */
#define WALL_MAX_US   UINT64_C(800000000000000000) /* year 27321: what the system's calendar takes */
#define TIMER_MAX_US  UINT64_C(86400000000)

static uint64_t read_ticks(const FILETIME *t) {
    return (uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime;
}

/* The whole seconds apart: ticks times 1,000,000 would overflow after days at some rates. */
uint64_t kl_now_us(void) {
    LARGE_INTEGER rate, now;
    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&now);
    uint64_t hz = (uint64_t)rate.QuadPart, ticks = (uint64_t)now.QuadPart;
    return ticks / hz * 1000000 + ticks % hz * 1000000 / hz;
}

uint64_t kl_wall_us(void) {
    FILETIME t;
    GetSystemTimePreciseAsFileTime(&t);
    return read_ticks(&t) / TICKS_PER_US - UNIX_EPOCH_US;
}

uint64_t kl_cpu_us(void) {
    FILETIME begun, ended, kernel, user;
    if (!GetProcessTimes(GetCurrentProcess(), &begun, &ended, &kernel, &user)) return 0;
    return (read_ticks(&kernel) + read_ticks(&user)) / TICKS_PER_US;
}

uint64_t kl_thread_us(void) {
    return 0;
}

/* --- waiting --- */

/* Windows before version 1803 has no high-resolution timers: its timers end with the system's tick, which is
 * 15.6 ms long unless a program asks for less. */
static HANDLE open_timer(bool *coarse) {
    HANDLE timer =
        CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
    *coarse = timer == NULL;
    return timer ? timer : CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS);
}

/* True: the handle, not the timer. */
static bool wait_once(HANDLE handle, HANDLE timer, uint64_t us) {
    HANDLE what[2] = {timer, handle};
    LARGE_INTEGER due = {.QuadPart = -(LONGLONG)((us < TIMER_MAX_US ? us : TIMER_MAX_US) * TICKS_PER_US)};
    if (!timer || !SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE)) {
        Sleep(1); /* no memory */
        return handle && WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    }
    return WaitForMultipleObjects(handle ? 2 : 1, what, FALSE, INFINITE) == WAIT_OBJECT_0 + 1;
}

/* A timer of its own for each call: a thread's timer would have to be closed when a thread of the frontend
 * ends. */
bool kl_handle_wait(void *handle, uint64_t until_us) {
    if (until_us == UINT64_MAX) return WaitForSingleObject(handle, INFINITE) == WAIT_OBJECT_0;
    if (until_us <= kl_now_us()) return handle && WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    bool coarse, came = false;
    HANDLE timer = open_timer(&coarse);
    if (coarse) timeBeginPeriod(1);
    for (uint64_t now_us = kl_now_us(); !came && now_us < until_us; now_us = kl_now_us())
        came = wait_once(handle, timer, until_us - now_us);
    if (coarse) timeEndPeriod(1);
    if (timer) CloseHandle(timer);
    return came;
}

bool kl_sleep_us(uint64_t us) {
    uint64_t now_us = kl_now_us();
    return kl_sleep_until(us < UINT64_MAX - 1 - now_us ? now_us + us : UINT64_MAX - 1);
}
bool kl_sleep_until(uint64_t until_us) {
    kl_handle_wait(NULL, until_us < UINT64_MAX ? until_us : UINT64_MAX - 1);
    return true; /* there are no signals */
}

/* --- the wall clock for people --- */

const char *kl_wall_text(char out[KL_WALL_TEXT], uint64_t wall_us) {
    uint64_t ticks = ((wall_us < WALL_MAX_US ? wall_us : WALL_MAX_US) + UNIX_EPOCH_US) * TICKS_PER_US;
    FILETIME t = {.dwLowDateTime = (DWORD)ticks, .dwHighDateTime = (DWORD)(ticks >> 32)};
    SYSTEMTIME s;
    FileTimeToSystemTime(&t, &s);
    snprintf(out, KL_WALL_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", s.wYear, s.wMonth, s.wDay, s.wHour,
             s.wMinute, s.wSecond, s.wMilliseconds);
    return out;
}

/* The time service may run and be told to do nothing. */
bool kl_wall_is_kept(void) {
    WCHAR type[16];
    DWORD size = sizeof type;
    return RegGetValueW(HKEY_LOCAL_MACHINE, L"SYSTEM\\CurrentControlSet\\Services\\W32Time\\Parameters",
                        L"Type", RRF_RT_REG_SZ, NULL, type, &size) == ERROR_SUCCESS &&
           lstrcmpiW(type, L"NoSync") != 0;
}

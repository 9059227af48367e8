/* The clocks and calendars of the C runtime and of the system, as a core sees them: by the virtual clock. */
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core_wrapper/world/world_private.h"

#define NS_PER_S        KL_NS_PER_S
#define COUNTS_PER_S    10000000             /* of the performance counter */
#define FROM_1601_100NS 116444736000000000LL /* to 1970 */
#define TEXT_BYTES      26                   /* of asctime() */
#define ERROR_VALUE     22                   /* EINVAL */

/* --- waits ---
 *
 * They take a time from now on, and no deadline, so they need no other one. But the code around them
 * (winpthreads in the core, above all) asks a clock afterwards whether the time is over, and waits again if
 * not. So a thread reads a clock that has moved on by the waits of this frame that have timed out. */

static DWORD waited_slot = TLS_OUT_OF_INDEXES; /* a thread's waits: milliseconds, below the frame's mark */

void kl_world_clock_init(void) {
    if (waited_slot == TLS_OUT_OF_INDEXES) waited_slot = TlsAlloc();
}
__attribute__((destructor)) static void forget_slot(void) {
    if (waited_slot != TLS_OUT_OF_INDEXES) TlsFree(waited_slot);
}

static uint64_t frame_mark(const struct kl_world *w) {
    return (uint64_t)(w - kl_world_at) << 62 | (uint64_t)(atomic_load(&w->clock.runs) & 0x3fffffff) << 32;
}
static uint32_t waited_ms(const struct kl_world *w) {
    uint64_t v = (uint64_t)(uintptr_t)TlsGetValue(waited_slot);
    return (v ^ frame_mark(w)) >> 32 ? 0 : (uint32_t)v;
}
static void note_wait(const struct kl_world *w, DWORD ms) {
    uint64_t all = (uint64_t)waited_ms(w) + ms;
    if (ms && ms != INFINITE && all <= UINT32_MAX)
        TlsSetValue(waited_slot, (void *)(uintptr_t)(frame_mark(w) | all));
}

/* TlsGetValue() clears the error, which is the core's to read. */
static int64_t read_ns(struct kl_world *w) {
    DWORD error = GetLastError();
    int64_t ns = kl_world_read_ns(w) + (int64_t)waited_ms(w) * 1000000;
    SetLastError(error);
    return ns;
}
static int64_t wall_ns(struct kl_world *w) {
    return w->clock.epoch_ns + read_ns(w);
}
static int64_t wall_s(struct kl_world *w) {
    return wall_ns(w) / NS_PER_S;
}

static DWORD after_wait(struct kl_world *w, DWORD result, DWORD ms) {
    if (result == WAIT_TIMEOUT) note_wait(w, ms);
    return result;
}
static DWORD v_WaitForSingleObject(struct kl_world *w, HANDLE h, DWORD ms) {
    return after_wait(w, WaitForSingleObject(h, ms), ms);
}
KL_TURNED(DWORD, v_WaitForSingleObject, (HANDLE h, DWORD ms), h, ms)
static DWORD v_WaitForSingleObjectEx(struct kl_world *w, HANDLE h, DWORD ms, BOOL alertable) {
    return after_wait(w, WaitForSingleObjectEx(h, ms, alertable), ms);
}
KL_TURNED(DWORD, v_WaitForSingleObjectEx, (HANDLE h, DWORD ms, BOOL alertable), h, ms, alertable)
static DWORD v_WaitForMultipleObjects(struct kl_world *w, DWORD n, const HANDLE *h, BOOL all, DWORD ms) {
    return after_wait(w, WaitForMultipleObjects(n, h, all, ms), ms);
}
KL_TURNED(DWORD, v_WaitForMultipleObjects, (DWORD n, const HANDLE *h, BOOL all, DWORD ms), n, h, all, ms)
static DWORD v_WaitForMultipleObjectsEx(struct kl_world *w, DWORD n, const HANDLE *h, BOOL all, DWORD ms,
                                        BOOL alertable) {
    return after_wait(w, WaitForMultipleObjectsEx(n, h, all, ms, alertable), ms);
}
KL_TURNED(DWORD, v_WaitForMultipleObjectsEx, (DWORD n, const HANDLE *h, BOOL all, DWORD ms, BOOL alertable),
          n, h, all, ms, alertable)

static BOOL after_sleep(struct kl_world *w, BOOL woken, DWORD ms) {
    DWORD error = GetLastError();
    if (!woken && error == ERROR_TIMEOUT) note_wait(w, ms);
    SetLastError(error);
    return woken;
}
static BOOL v_SleepConditionVariableCS(struct kl_world *w, CONDITION_VARIABLE *c, CRITICAL_SECTION *s,
                                       DWORD ms) {
    return after_sleep(w, SleepConditionVariableCS(c, s, ms), ms);
}
KL_TURNED(BOOL, v_SleepConditionVariableCS, (CONDITION_VARIABLE * c, CRITICAL_SECTION *s, DWORD ms), c, s, ms)
static BOOL v_SleepConditionVariableSRW(struct kl_world *w, CONDITION_VARIABLE *c, SRWLOCK *l, DWORD ms,
                                        ULONG flags) {
    return after_sleep(w, SleepConditionVariableSRW(c, l, ms, flags), ms);
}
KL_TURNED(BOOL, v_SleepConditionVariableSRW, (CONDITION_VARIABLE * c, SRWLOCK *l, DWORD ms, ULONG flags), c,
          l, ms, flags)

/* --- clocks of the runtime --- */

static int64_t v_time64(struct kl_world *w, int64_t *out) {
    int64_t t = wall_s(w);
    if (out) *out = t;
    return t;
}
KL_TURNED(int64_t, v_time64, (int64_t * out), out)
static int32_t v_time32(struct kl_world *w, int32_t *out) {
    int32_t t = (int32_t)wall_s(w);
    if (out) *out = t;
    return t;
}
KL_TURNED(int32_t, v_time32, (int32_t * out), out)

/* struct _timeb */
struct ftime64 {
    int64_t time;
    uint16_t ms;
    int16_t timezone, dst;
};
struct ftime32 {
    int32_t time;
    uint16_t ms;
    int16_t timezone, dst;
};
static uint16_t ms_of(int64_t ns) {
    return (uint16_t)(ns % NS_PER_S / 1000000);
}
static int v_ftime64(struct kl_world *w, struct ftime64 *out) {
    int64_t ns = wall_ns(w);
    *out = (struct ftime64){.time = ns / NS_PER_S, .ms = ms_of(ns)};
    return 0;
}
KL_TURNED(int, v_ftime64, (struct ftime64 * out), out)
static int v_ftime32(struct kl_world *w, struct ftime32 *out) {
    int64_t ns = wall_ns(w);
    *out = (struct ftime32){.time = (int32_t)(ns / NS_PER_S), .ms = ms_of(ns)};
    return 0;
}
KL_TURNED(int, v_ftime32, (struct ftime32 * out), out)

struct timespec64 {
    int64_t s;
    int32_t ns;
};
struct timespec32 {
    int32_t s, ns;
};
static int v_timespec64_get(struct kl_world *w, struct timespec64 *out, int base) {
    if (base != 1) return 0; /* TIME_UTC */
    int64_t ns = wall_ns(w);
    *out = (struct timespec64){ns / NS_PER_S, (int32_t)(ns % NS_PER_S)};
    return base;
}
KL_TURNED(int, v_timespec64_get, (struct timespec64 * out, int base), out, base)
static int v_timespec32_get(struct kl_world *w, struct timespec32 *out, int base) {
    if (base != 1) return 0;
    int64_t ns = wall_ns(w);
    *out = (struct timespec32){(int32_t)(ns / NS_PER_S), (int32_t)(ns % NS_PER_S)};
    return base;
}
KL_TURNED(int, v_timespec32_get, (struct timespec32 * out, int base), out, base)

static long v_clock(struct kl_world *w) { /* in milliseconds */
    return (long)(read_ns(w) / 1000000);
}
KL_TURNED(long, v_clock, (void))

/* --- calendar of the runtime: UTC --- */

static struct tm shared_tm[KL_WORLDS]; /* localtime and gmtime share one in the runtime too */

static struct tm *split(struct kl_world *w, int64_t t) {
    struct tm *tm = &shared_tm[w - kl_world_at];
    kl_world_split(t, tm);
    return tm;
}
static struct tm *v_gmtime64(struct kl_world *w, const int64_t *t) {
    return t && *t >= 0 ? split(w, *t) : NULL;
}
KL_TURNED(struct tm *, v_gmtime64, (const int64_t *t), t)
static struct tm *v_gmtime32(struct kl_world *w, const int32_t *t) {
    return t && *t >= 0 ? split(w, *t) : NULL;
}
KL_TURNED(struct tm *, v_gmtime32, (const int32_t *t), t)
static int v_gmtime64_s(struct tm *out, const int64_t *t) {
    if (!out || !t || *t < 0) return ERROR_VALUE;
    kl_world_split(*t, out);
    return 0;
}
static int v_gmtime32_s(struct tm *out, const int32_t *t) {
    int64_t wide = t ? *t : -1;
    return v_gmtime64_s(out, &wide);
}

static int64_t v_mktime64(struct tm *tm) {
    int64_t t = kl_world_make(tm);
    return t < 0 ? -1 : t;
}
static int32_t v_mktime32(struct tm *tm) {
    int64_t t = kl_world_make(tm);
    return t < 0 || t > INT32_MAX ? -1 : (int32_t)t;
}

/* As on Linux, where the runtime's own has a zero before the day. */
static char *write_date(char *out, int64_t t) {
    struct tm tm;
    char text[64];
    kl_world_split(t, &tm);
    snprintf(text, sizeof text, "%.3s %.3s%3d %02d:%02d:%02d %d\n", &"SunMonTueWedThuFriSat"[3 * tm.tm_wday],
             &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * tm.tm_mon], tm.tm_mday, tm.tm_hour, tm.tm_min,
             tm.tm_sec, 1900 + tm.tm_year);
    snprintf(out, TEXT_BYTES, "%s", text);
    return out;
}
static char *v_ctime64(struct kl_world *w, const int64_t *t) {
    return write_date(w->clock.text, *t);
}
KL_TURNED(char *, v_ctime64, (const int64_t *t), t)
static char *v_ctime32(struct kl_world *w, const int32_t *t) {
    return write_date(w->clock.text, *t);
}
KL_TURNED(char *, v_ctime32, (const int32_t *t), t)
static int v_ctime64_s(char *out, size_t cap, const int64_t *t) {
    if (!out || cap < TEXT_BYTES || !t) return ERROR_VALUE;
    write_date(out, *t);
    return 0;
}
static int v_ctime32_s(char *out, size_t cap, const int32_t *t) {
    int64_t wide = t ? *t : 0;
    return v_ctime64_s(out, cap, t ? &wide : NULL);
}

static void v_tzset(void) {}
static void *v_timezone(struct kl_world *w) { /* also the bias of summer time, and whether there is any */
    return &w->clock.timezone;
}
KL_TURNED(void *, v_timezone, (void))
static void *v_tzname(struct kl_world *w) {
    return w->clock.tzname;
}
KL_TURNED(void *, v_tzname, (void))
static int v_get_zero(int32_t *out) {
    *out = 0;
    return 0;
}
static int v_get_tzname(size_t *len, char *out, size_t cap, int index) {
    (void)index;
    if (len) *len = sizeof "UTC";
    if (out && cap < sizeof "UTC") return ERROR_VALUE;
    if (out) memcpy(out, "UTC", sizeof "UTC");
    return 0;
}

/* --- clocks of the system --- */

static FILETIME filetime(int64_t ns) {
    uint64_t n = (uint64_t)(ns / 100 + FROM_1601_100NS);
    return (FILETIME){(DWORD)n, (DWORD)(n >> 32)};
}
static void v_GetSystemTimeAsFileTime(struct kl_world *w, FILETIME *out) {
    *out = filetime(wall_ns(w));
}
KL_TURNED(void, v_GetSystemTimeAsFileTime, (FILETIME * out), out)

static void v_GetSystemTime(struct kl_world *w, SYSTEMTIME *out) {
    FILETIME t = filetime(wall_ns(w));
    FileTimeToSystemTime(&t, out);
}
KL_TURNED(void, v_GetSystemTime, (SYSTEMTIME * out), out)

static DWORD v_GetTickCount(struct kl_world *w) {
    return (DWORD)(read_ns(w) / 1000000);
}
KL_TURNED(DWORD, v_GetTickCount, (void))
static ULONGLONG v_GetTickCount64(struct kl_world *w) {
    return (ULONGLONG)(read_ns(w) / 1000000);
}
KL_TURNED(ULONGLONG, v_GetTickCount64, (void))

static BOOL v_QueryPerformanceCounter(struct kl_world *w, LARGE_INTEGER *out) {
    out->QuadPart = read_ns(w) / (NS_PER_S / COUNTS_PER_S);
    return TRUE;
}
KL_TURNED(BOOL, v_QueryPerformanceCounter, (LARGE_INTEGER * out), out)
static BOOL v_QueryPerformanceFrequency(LARGE_INTEGER *out) {
    out->QuadPart = COUNTS_PER_S;
    return TRUE;
}
static BOOL v_QueryUnbiasedInterruptTime(struct kl_world *w, ULONGLONG *out) {
    *out = (ULONGLONG)(read_ns(w) / 100);
    return TRUE;
}
KL_TURNED(BOOL, v_QueryUnbiasedInterruptTime, (ULONGLONG * out), out)

/* Processor time, of a process or a thread. */
static BOOL v_GetTimes(struct kl_world *w, HANDLE of, FILETIME *created, FILETIME *ended, FILETIME *kernel,
                       FILETIME *user) {
    uint64_t n = (uint64_t)(read_ns(w) / 100);
    (void)of;
    *created = filetime(w->clock.epoch_ns);
    *ended = *kernel = (FILETIME){0};
    *user = (FILETIME){(DWORD)n, (DWORD)(n >> 32)};
    return TRUE;
}
KL_TURNED(BOOL, v_GetTimes, (HANDLE of, FILETIME *created, FILETIME *ended, FILETIME *kernel, FILETIME *user),
          of, created, ended, kernel, user)

/* msvcp140.dll: since 1970, in units of 100 ns; the performance counter. */
static int64_t v_Xtime_get_ticks(struct kl_world *w) {
    return wall_ns(w) / 100;
}
KL_TURNED(int64_t, v_Xtime_get_ticks, (void))
static int64_t v_Query_perf_counter(struct kl_world *w) {
    return read_ns(w) / (NS_PER_S / COUNTS_PER_S);
}
KL_TURNED(int64_t, v_Query_perf_counter, (void))
static int64_t v_Query_perf_frequency(void) {
    return COUNTS_PER_S;
}

/* --- zones of the system: UTC --- */

static DWORD v_GetTimeZoneInformation(TIME_ZONE_INFORMATION *out) {
    *out = (TIME_ZONE_INFORMATION){.StandardName = L"UTC", .DaylightName = L"UTC"};
    return TIME_ZONE_ID_UNKNOWN;
}
static DWORD v_GetDynamicTimeZoneInformation(DYNAMIC_TIME_ZONE_INFORMATION *out) {
    *out = (DYNAMIC_TIME_ZONE_INFORMATION){
        .StandardName = L"UTC", .DaylightName = L"UTC", .TimeZoneKeyName = L"UTC"};
    return TIME_ZONE_ID_UNKNOWN;
}
static BOOL v_same_filetime(const FILETIME *t, FILETIME *out) {
    *out = *t;
    return TRUE;
}
static BOOL v_same_systemtime(const void *zone, const SYSTEMTIME *t, SYSTEMTIME *out) {
    (void)zone;
    *out = *t;
    return TRUE;
}

const struct kl_hook kl_world_clock_hooks[] = {
    KL_HOOK("time", v_time64), /* of msvcrt.dll for x86-64 */
    KL_HOOK("_time64", v_time64),
    KL_HOOK("_time32", v_time32),
    KL_HOOK("_ftime", v_ftime64),
    KL_HOOK("_ftime64", v_ftime64),
    KL_HOOK("_ftime64_s", v_ftime64),
    KL_HOOK("_ftime32", v_ftime32),
    KL_HOOK("_ftime32_s", v_ftime32),
    KL_HOOK("_timespec64_get", v_timespec64_get),
    KL_HOOK("_timespec32_get", v_timespec32_get),
    KL_HOOK("clock", v_clock),
    KL_HOOK("localtime", v_gmtime64),
    KL_HOOK("_localtime64", v_gmtime64),
    KL_HOOK("_localtime32", v_gmtime32),
    KL_HOOK_SAME("_localtime64_s", v_gmtime64_s),
    KL_HOOK_SAME("_localtime32_s", v_gmtime32_s),
    KL_HOOK("gmtime", v_gmtime64),
    KL_HOOK("_gmtime64", v_gmtime64),
    KL_HOOK("_gmtime32", v_gmtime32),
    KL_HOOK_SAME("_gmtime64_s", v_gmtime64_s),
    KL_HOOK_SAME("_gmtime32_s", v_gmtime32_s),
    KL_HOOK_SAME("mktime", v_mktime64),
    KL_HOOK_SAME("_mktime64", v_mktime64),
    KL_HOOK_SAME("_mktime32", v_mktime32),
    KL_HOOK_SAME("_mkgmtime", v_mktime64),
    KL_HOOK_SAME("_mkgmtime64", v_mktime64),
    KL_HOOK_SAME("_mkgmtime32", v_mktime32),
    KL_HOOK("ctime", v_ctime64),
    KL_HOOK("_ctime64", v_ctime64),
    KL_HOOK("_ctime32", v_ctime32),
    KL_HOOK_SAME("_ctime64_s", v_ctime64_s),
    KL_HOOK_SAME("_ctime32_s", v_ctime32_s),
    KL_HOOK_SAME("tzset", v_tzset),
    KL_HOOK_SAME("_tzset", v_tzset),
    KL_HOOK_DATA("_timezone", clock.timezone),
    KL_HOOK_DATA("_daylight", clock.daylight),
    KL_HOOK_DATA("_dstbias", clock.daylight),
    KL_HOOK_DATA("_tzname", clock.tzname),
    KL_HOOK("__timezone", v_timezone), /* of ucrtbase.dll */
    KL_HOOK("__daylight", v_timezone),
    KL_HOOK("__dstbias", v_timezone),
    KL_HOOK("__tzname", v_tzname),
    KL_HOOK_SAME("_get_timezone", v_get_zero),
    KL_HOOK_SAME("_get_daylight", v_get_zero),
    KL_HOOK_SAME("_get_dstbias", v_get_zero),
    KL_HOOK_SAME("_get_tzname", v_get_tzname),
    KL_SYSTEM_HOOK("WaitForSingleObject", v_WaitForSingleObject),
    KL_SYSTEM_HOOK("WaitForSingleObjectEx", v_WaitForSingleObjectEx),
    KL_SYSTEM_HOOK("WaitForMultipleObjects", v_WaitForMultipleObjects),
    KL_SYSTEM_HOOK("WaitForMultipleObjectsEx", v_WaitForMultipleObjectsEx),
    KL_SYSTEM_HOOK("SleepConditionVariableCS", v_SleepConditionVariableCS),
    KL_SYSTEM_HOOK("SleepConditionVariableSRW", v_SleepConditionVariableSRW),
    KL_SYSTEM_HOOK("GetSystemTimeAsFileTime", v_GetSystemTimeAsFileTime),
    KL_SYSTEM_HOOK("GetSystemTimePreciseAsFileTime", v_GetSystemTimeAsFileTime),
    KL_SYSTEM_HOOK("GetSystemTime", v_GetSystemTime),
    KL_SYSTEM_HOOK("GetLocalTime", v_GetSystemTime),
    KL_SYSTEM_HOOK("GetTickCount", v_GetTickCount),
    KL_SYSTEM_HOOK("timeGetTime", v_GetTickCount),
    KL_SYSTEM_HOOK("GetTickCount64", v_GetTickCount64),
    KL_SYSTEM_HOOK("QueryPerformanceCounter", v_QueryPerformanceCounter),
    KL_SYSTEM_HOOK_SAME("QueryPerformanceFrequency", v_QueryPerformanceFrequency),
    KL_SYSTEM_HOOK("QueryUnbiasedInterruptTime", v_QueryUnbiasedInterruptTime),
    KL_SYSTEM_HOOK("QueryUnbiasedInterruptTimePrecise", v_QueryUnbiasedInterruptTime),
    KL_SYSTEM_HOOK("QueryInterruptTime", v_QueryUnbiasedInterruptTime),
    KL_SYSTEM_HOOK("QueryInterruptTimePrecise", v_QueryUnbiasedInterruptTime),
    KL_SYSTEM_HOOK("GetProcessTimes", v_GetTimes),
    KL_SYSTEM_HOOK("GetThreadTimes", v_GetTimes),
    KL_SYSTEM_HOOK("_Xtime_get_ticks", v_Xtime_get_ticks),
    KL_SYSTEM_HOOK("_Query_perf_counter", v_Query_perf_counter),
    KL_SYSTEM_HOOK_SAME("_Query_perf_frequency", v_Query_perf_frequency),
    KL_SYSTEM_HOOK_SAME("GetTimeZoneInformation", v_GetTimeZoneInformation),
    KL_SYSTEM_HOOK_SAME("GetDynamicTimeZoneInformation", v_GetDynamicTimeZoneInformation),
    KL_SYSTEM_HOOK_SAME("FileTimeToLocalFileTime", v_same_filetime),
    KL_SYSTEM_HOOK_SAME("LocalFileTimeToFileTime", v_same_filetime),
    KL_SYSTEM_HOOK_SAME("SystemTimeToTzSpecificLocalTime", v_same_systemtime),
    KL_SYSTEM_HOOK_SAME("TzSpecificLocalTimeToSystemTime", v_same_systemtime),
    KL_HOOK_END,
};

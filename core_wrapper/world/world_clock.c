/* The virtual clock: replaces the C library's clocks, calendar and timed waits for the core. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <time.h>

#define NS_PER_S 1000000000LL

/* A core that spins until some time has passed would hang on a clock that stands still within a frame. So
 * the reads of one frame past this many move it on by READ_STEP_NS each: no core reads it that often to learn
 * the time. */
#define FREE_READS   1000u
#define READ_STEP_NS 1000LL

static struct {
    int64_t epoch_ns;
    int64_t base_ns; /* time since frame 0 at base_frame, the frame of the last change of rate */
    uint32_t base_frame, frame, fps_uhz;
    _Atomic int64_t since_ns; /* since frame 0, at the frame that runs */
    _Atomic uint32_t reads;   /* in this frame */
} clk = {.epoch_ns = 946684800LL * NS_PER_S, .fps_uhz = 60000000};

void kl_world_clock_start(uint64_t epoch_s, uint32_t fps_uhz) {
    clk.epoch_ns = (int64_t)(epoch_s % 9000000000u) * NS_PER_S;
    clk.base_ns = 0;
    clk.base_frame = clk.frame = 0;
    clk.fps_uhz = fps_uhz ? fps_uhz : 60000000;
    atomic_store(&clk.since_ns, 0);
    atomic_store(&clk.reads, 0);
}

void kl_world_clock_rate(uint32_t fps_uhz) {
    if (!fps_uhz || fps_uhz == clk.fps_uhz) return;
    clk.base_ns = atomic_load(&clk.since_ns);
    clk.base_frame = clk.frame;
    clk.fps_uhz = fps_uhz;
}

void kl_world_clock_frame(uint32_t f) {
    __int128 frames = (__int128)f - clk.base_frame;
    clk.frame = f;
    atomic_store(&clk.since_ns, clk.base_ns + (int64_t)(frames * 1000000 * NS_PER_S / clk.fps_uhz));
    atomic_store(&clk.reads, 0);
}

struct kl_world_time kl_world_time(void) {
    return (struct kl_world_time){clk.base_ns, clk.base_frame, clk.fps_uhz};
}

void kl_world_time_set(const struct kl_world_time *t) {
    clk.base_ns = t->base_ns;
    clk.base_frame = t->base_frame;
    clk.fps_uhz = t->fps_uhz;
}

static int64_t mono_now_ns(void) {
    return atomic_load(&clk.since_ns);
}

static int64_t mono_read_ns(void) {
    uint32_t n = atomic_fetch_add(&clk.reads, 1);
    return mono_now_ns() + (n > FREE_READS ? (int64_t)(n - FREE_READS) * READ_STEP_NS : 0);
}

int64_t kl_world_read_ns(void) {
    return mono_read_ns();
}

static int64_t real_read_ns(void) {
    return clk.epoch_ns + mono_read_ns();
}

/* ---- clocks ---- */

static struct timespec to_timespec(int64_t ns) {
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static time_t v_time(time_t *out) {
    time_t t = (time_t)(real_read_ns() / NS_PER_S);
    if (out) *out = t;
    return t;
}

static int v_gettimeofday(struct timeval *tv, void *tz) {
    int64_t ns = real_read_ns();
    if (tv) *tv = (struct timeval){.tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / 1000};
    if (tz) memset(tz, 0, sizeof(struct timezone));
    return 0;
}

static bool is_wall_clock(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

static int v_clock_gettime(clockid_t id, struct timespec *ts) {
    *ts = to_timespec(is_wall_clock(id) ? real_read_ns() : mono_read_ns());
    return 0;
}

static int v_timespec_get(struct timespec *ts, int base) {
    if (base != TIME_UTC) return 0;
    *ts = to_timespec(real_read_ns());
    return base;
}

static int v_ftime(struct timeb *tb) {
    int64_t ns = real_read_ns();
    *tb = (struct timeb){.time = ns / NS_PER_S, .millitm = (unsigned short)(ns % NS_PER_S / 1000000)};
    return 0;
}

static clock_t v_clock(void) {
    return (clock_t)(mono_read_ns() / (NS_PER_S / CLOCKS_PER_SEC));
}

/* std::chrono's now() of libstdc++: a time point is its count of nanoseconds, returned as an integer. */
static int64_t v_system_clock_now(void) {
    return real_read_ns();
}
static int64_t v_steady_clock_now(void) {
    return mono_read_ns();
}

/* ---- calendar: UTC, computed here so that no zone file or locale has a say ---- */

/* Days since 1970-01-01 of a proleptic Gregorian date, and back: Howard Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms". month 0..11. */
static int64_t days_of(int64_t year, int month, int64_t day) {
    year -= month < 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t doy = (153 * (month + (month > 1 ? -2 : 10)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void split_utc(int64_t t, struct tm *tm) {
    int64_t days = t / 86400, rest = t % 86400;
    if (rest < 0) rest += 86400, days--;
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t year = yoe + era * 400 + (mp >= 10);
    *tm = (struct tm){
        .tm_sec = (int)(rest % 60), .tm_min = (int)(rest / 60 % 60), .tm_hour = (int)(rest / 3600)};
    tm->tm_mday = (int)(doy - (153 * mp + 2) / 5 + 1);
    tm->tm_mon = (int)(mp < 10 ? mp + 2 : mp - 10);
    tm->tm_year = (int)(year - 1900);
    tm->tm_wday = (int)((days % 7 + 11) % 7);
    tm->tm_yday = (int)(days - days_of(year, 0, 1));
    tm->tm_zone = "UTC";
}

static struct tm shared_tm; /* localtime and gmtime share one in the C library too */

static struct tm *v_gmtime_r(const time_t *t, struct tm *out) {
    split_utc(*t, out);
    return out;
}
static struct tm *v_gmtime(const time_t *t) {
    return v_gmtime_r(t, &shared_tm);
}

static time_t v_mktime(struct tm *tm) {
    int64_t month = tm->tm_mon, year = 1900 + (int64_t)tm->tm_year + month / 12;
    month %= 12;
    if (month < 0) month += 12, year--;
    int64_t t = days_of(year, (int)month, 1) + tm->tm_mday - 1;
    t = ((t * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;
    split_utc(t, tm);
    return t;
}

static char *v_ctime_r(const time_t *t, char *buf) {
    struct tm tm;
    split_utc(*t, &tm);
    return asctime_r(&tm, buf);
}
static char *v_ctime(const time_t *t) {
    static char buf[64];
    return v_ctime_r(t, buf);
}

static void v_tzset(void) {}
static long v_timezone;
static int v_daylight;
static char *v_tzname[2] = {(char *)"UTC", (char *)"UTC"};

static char *v_getenv(const char *name) {
    if (strcmp(name, "TZ") == 0) return (char *)"UTC0";
    if (strcmp(name, "LANG") == 0 || strcmp(name, "LC_ALL") == 0) return (char *)"C";
    return getenv(name);
}

/* ---- timed waits: a deadline that the core made from the virtual clock, to one of the real clock ---- */

static int64_t ns_of(const struct timespec *ts) {
    return ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

static int64_t real_clock_ns(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return ns_of(&ts);
}

/* `id` is the real clock that the wait will be measured by. A deadline nearer to that clock than to the
 * virtual one came from a clock that was not turned (a constructor, a library): it stays as it is. */
static struct timespec real_deadline(const struct timespec *deadline, clockid_t id, int64_t virtual_now_ns) {
    int64_t want = ns_of(deadline), real_now = real_clock_ns(id);
    if (llabs(want - real_now) < llabs(want - virtual_now_ns)) return *deadline;
    int64_t wait = want - virtual_now_ns;
    return to_timespec(real_now + (wait > 0 ? wait : 0));
}

static int64_t virtual_ns(clockid_t id) {
    return is_wall_clock(id) ? clk.epoch_ns + mono_now_ns() : mono_now_ns();
}

static struct timespec translate(const struct timespec *deadline, clockid_t id) {
    return real_deadline(deadline, id, virtual_ns(id));
}

/* Which clock a condition waits by is in its attributes, out of sight: a deadline below half the epoch can
 * only have been made from the monotonic clock. */
static int v_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *deadline) {
    bool wall = ns_of(deadline) >= clk.epoch_ns / 2;
    struct timespec ts = translate(deadline, wall ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    return pthread_cond_timedwait(c, m, &ts);
}

static int v_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id,
                            const struct timespec *deadline) {
    struct timespec ts = translate(deadline, id);
    return pthread_cond_clockwait(c, m, id, &ts);
}

static int v_mutex_timedlock(pthread_mutex_t *m, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, CLOCK_REALTIME);
    return pthread_mutex_timedlock(m, &ts);
}

static int v_mutex_clocklock(pthread_mutex_t *m, clockid_t id, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, id);
    return pthread_mutex_clocklock(m, id, &ts);
}

static int v_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(l, &ts);
}

static int v_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(l, &ts);
}

static int v_sem_timedwait(sem_t *s, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, CLOCK_REALTIME);
    return sem_timedwait(s, &ts);
}

static int v_sem_clockwait(sem_t *s, clockid_t id, const struct timespec *deadline) {
    struct timespec ts = translate(deadline, id);
    return sem_clockwait(s, id, &ts);
}

static int v_clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *left) {
    if (!(flags & TIMER_ABSTIME)) return clock_nanosleep(id, flags, t, left);
    struct timespec ts = translate(t, id);
    return clock_nanosleep(id, flags, &ts, left);
}

const struct kl_hook kl_world_clock_hooks[] = {
    {"time", (void *)v_time, NULL},
    {"gettimeofday", (void *)v_gettimeofday, NULL},
    {"clock_gettime", (void *)v_clock_gettime, NULL},
    {"timespec_get", (void *)v_timespec_get, NULL},
    {"ftime", (void *)v_ftime, NULL},
    {"clock", (void *)v_clock, NULL},
    {"_ZNSt6chrono3_V212system_clock3nowEv", (void *)v_system_clock_now, NULL},
    {"_ZNSt6chrono3_V212steady_clock3nowEv", (void *)v_steady_clock_now, NULL},
    {"localtime", (void *)v_gmtime, NULL},
    {"localtime_r", (void *)v_gmtime_r, NULL},
    {"gmtime", (void *)v_gmtime, NULL},
    {"gmtime_r", (void *)v_gmtime_r, NULL},
    {"mktime", (void *)v_mktime, NULL},
    {"timelocal", (void *)v_mktime, NULL},
    {"ctime", (void *)v_ctime, NULL},
    {"ctime_r", (void *)v_ctime_r, NULL},
    {"tzset", (void *)v_tzset, NULL},
    {"timezone", &v_timezone, NULL},
    {"__timezone", &v_timezone, NULL},
    {"daylight", &v_daylight, NULL},
    {"__daylight", &v_daylight, NULL},
    {"tzname", v_tzname, NULL},
    {"__tzname", v_tzname, NULL},
    {"getenv", (void *)v_getenv, NULL},
    {"secure_getenv", (void *)v_getenv, NULL},
    {"pthread_cond_timedwait", (void *)v_cond_timedwait, NULL},
    {"pthread_cond_clockwait", (void *)v_cond_clockwait, NULL},
    {"pthread_mutex_timedlock", (void *)v_mutex_timedlock, NULL},
    {"pthread_mutex_clocklock", (void *)v_mutex_clocklock, NULL},
    {"pthread_rwlock_timedrdlock", (void *)v_rwlock_timedrdlock, NULL},
    {"pthread_rwlock_timedwrlock", (void *)v_rwlock_timedwrlock, NULL},
    {"sem_timedwait", (void *)v_sem_timedwait, NULL},
    {"sem_clockwait", (void *)v_sem_clockwait, NULL},
    {"clock_nanosleep", (void *)v_clock_nanosleep, NULL},
    {NULL, NULL, NULL},
};

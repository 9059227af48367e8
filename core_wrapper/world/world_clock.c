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

void kl_world_clock_start(struct kl_world_clock *c, uint64_t epoch_s, uint32_t fps_uhz) {
    c->epoch_ns = (int64_t)(epoch_s % 9000000000u) * NS_PER_S;
    c->base_ns = 0;
    c->base_frame = c->frame = 0;
    c->fps_uhz = fps_uhz ? fps_uhz : 60000000;
    atomic_store(&c->since_ns, 0);
    atomic_store(&c->reads, 0);
}

void kl_world_rate(struct kl_world *w, uint32_t fps_uhz) {
    struct kl_world_clock *c = &w->clock;
    if (!fps_uhz || fps_uhz == c->fps_uhz) return;
    c->base_ns = atomic_load(&c->since_ns);
    c->base_frame = c->frame;
    c->fps_uhz = fps_uhz;
}

void kl_world_frame(struct kl_world *w, uint32_t f) {
    struct kl_world_clock *c = &w->clock;
    __int128 frames = (__int128)f - c->base_frame;
    c->frame = f;
    atomic_store(&c->since_ns, c->base_ns + (int64_t)(frames * 1000000 * NS_PER_S / c->fps_uhz));
    atomic_store(&c->reads, 0);
}

struct kl_world_time kl_world_time(const struct kl_world *w) {
    return (struct kl_world_time){w->clock.base_ns, w->clock.base_frame, w->clock.fps_uhz};
}

void kl_world_time_set(struct kl_world *w, const struct kl_world_time *t) {
    w->clock.base_ns = t->base_ns;
    w->clock.base_frame = t->base_frame;
    w->clock.fps_uhz = t->fps_uhz;
}

static int64_t mono_now_ns(const struct kl_world *w) {
    return atomic_load(&w->clock.since_ns);
}

static int64_t mono_read_ns(struct kl_world *w) {
    uint32_t n = atomic_fetch_add(&w->clock.reads, 1);
    return mono_now_ns(w) + (n > FREE_READS ? (int64_t)(n - FREE_READS) * READ_STEP_NS : 0);
}

int64_t kl_world_read_ns(struct kl_world *w) {
    return mono_read_ns(w);
}

static int64_t real_read_ns(struct kl_world *w) {
    return w->clock.epoch_ns + mono_read_ns(w);
}

/* ---- clocks ---- */

static struct timespec to_timespec(int64_t ns) {
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static time_t v_time(struct kl_world *w, time_t *out) {
    time_t t = (time_t)(real_read_ns(w) / NS_PER_S);
    if (out) *out = t;
    return t;
}
KL_TURNED(time_t, v_time, (time_t * out), out)

static int v_gettimeofday(struct kl_world *w, struct timeval *tv, void *tz) {
    int64_t ns = real_read_ns(w);
    if (tv) *tv = (struct timeval){.tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / 1000};
    if (tz) memset(tz, 0, sizeof(struct timezone));
    return 0;
}
KL_TURNED(int, v_gettimeofday, (struct timeval * tv, void *tz), tv, tz)

static bool is_wall_clock(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

static int v_clock_gettime(struct kl_world *w, clockid_t id, struct timespec *ts) {
    *ts = to_timespec(is_wall_clock(id) ? real_read_ns(w) : mono_read_ns(w));
    return 0;
}
KL_TURNED(int, v_clock_gettime, (clockid_t id, struct timespec *ts), id, ts)

static int v_timespec_get(struct kl_world *w, struct timespec *ts, int base) {
    if (base != TIME_UTC) return 0;
    *ts = to_timespec(real_read_ns(w));
    return base;
}
KL_TURNED(int, v_timespec_get, (struct timespec * ts, int base), ts, base)

static int v_ftime(struct kl_world *w, struct timeb *tb) {
    int64_t ns = real_read_ns(w);
    *tb = (struct timeb){.time = ns / NS_PER_S, .millitm = (unsigned short)(ns % NS_PER_S / 1000000)};
    return 0;
}
KL_TURNED(int, v_ftime, (struct timeb * tb), tb)

static clock_t v_clock(struct kl_world *w) {
    return (clock_t)(mono_read_ns(w) / (NS_PER_S / CLOCKS_PER_SEC));
}
KL_TURNED(clock_t, v_clock, (void))

/* std::chrono's now() of libstdc++: a time point is its count of nanoseconds, returned as an integer. */
static int64_t v_system_clock_now(struct kl_world *w) {
    return real_read_ns(w);
}
KL_TURNED(int64_t, v_system_clock_now, (void))
static int64_t v_steady_clock_now(struct kl_world *w) {
    return mono_read_ns(w);
}
KL_TURNED(int64_t, v_steady_clock_now, (void))

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

static struct tm shared_tm[KL_WORLDS]; /* localtime and gmtime share one in the C library too */

static struct tm *v_gmtime_r(const time_t *t, struct tm *out) {
    split_utc(*t, out);
    return out;
}
static struct tm *v_gmtime(struct kl_world *w, const time_t *t) {
    return v_gmtime_r(t, &shared_tm[w - kl_world_at]);
}
KL_TURNED(struct tm *, v_gmtime, (const time_t *t), t)

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
static char *v_ctime(struct kl_world *w, const time_t *t) {
    return v_ctime_r(t, w->clock.text);
}
KL_TURNED(char *, v_ctime, (const time_t *t), t)

static void v_tzset(void) {}

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

static int64_t virtual_ns(const struct kl_world *w, clockid_t id) {
    return is_wall_clock(id) ? w->clock.epoch_ns + mono_now_ns(w) : mono_now_ns(w);
}

static struct timespec translate(const struct kl_world *w, const struct timespec *deadline, clockid_t id) {
    return real_deadline(deadline, id, virtual_ns(w, id));
}

/* Which clock a condition waits by is in its attributes, out of sight: a deadline below half the epoch can
 * only have been made from the monotonic clock. */
static int v_cond_timedwait(struct kl_world *w, pthread_cond_t *c, pthread_mutex_t *m,
                            const struct timespec *deadline) {
    bool wall = ns_of(deadline) >= w->clock.epoch_ns / 2;
    struct timespec ts = translate(w, deadline, wall ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    return pthread_cond_timedwait(c, m, &ts);
}
KL_TURNED(int, v_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *deadline), c,
          m, deadline)

static int v_cond_clockwait(struct kl_world *w, pthread_cond_t *c, pthread_mutex_t *m, clockid_t id,
                            const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, id);
    return pthread_cond_clockwait(c, m, id, &ts);
}
KL_TURNED(int, v_cond_clockwait,
          (pthread_cond_t * c, pthread_mutex_t *m, clockid_t id, const struct timespec *deadline), c, m, id,
          deadline)

static int v_mutex_timedlock(struct kl_world *w, pthread_mutex_t *m, const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, CLOCK_REALTIME);
    return pthread_mutex_timedlock(m, &ts);
}
KL_TURNED(int, v_mutex_timedlock, (pthread_mutex_t * m, const struct timespec *deadline), m, deadline)

static int v_mutex_clocklock(struct kl_world *w, pthread_mutex_t *m, clockid_t id,
                             const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, id);
    return pthread_mutex_clocklock(m, id, &ts);
}
KL_TURNED(int, v_mutex_clocklock, (pthread_mutex_t * m, clockid_t id, const struct timespec *deadline), m, id,
          deadline)

static int v_rwlock_timedrdlock(struct kl_world *w, pthread_rwlock_t *l, const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(l, &ts);
}
KL_TURNED(int, v_rwlock_timedrdlock, (pthread_rwlock_t * l, const struct timespec *deadline), l, deadline)

static int v_rwlock_timedwrlock(struct kl_world *w, pthread_rwlock_t *l, const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(l, &ts);
}
KL_TURNED(int, v_rwlock_timedwrlock, (pthread_rwlock_t * l, const struct timespec *deadline), l, deadline)

static int v_sem_timedwait(struct kl_world *w, sem_t *s, const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, CLOCK_REALTIME);
    return sem_timedwait(s, &ts);
}
KL_TURNED(int, v_sem_timedwait, (sem_t * s, const struct timespec *deadline), s, deadline)

static int v_sem_clockwait(struct kl_world *w, sem_t *s, clockid_t id, const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, id);
    return sem_clockwait(s, id, &ts);
}
KL_TURNED(int, v_sem_clockwait, (sem_t * s, clockid_t id, const struct timespec *deadline), s, id, deadline)

static int v_clock_nanosleep(struct kl_world *w, clockid_t id, int flags, const struct timespec *t,
                             struct timespec *left) {
    if (!(flags & TIMER_ABSTIME)) return clock_nanosleep(id, flags, t, left);
    struct timespec ts = translate(w, t, id);
    return clock_nanosleep(id, flags, &ts, left);
}
KL_TURNED(int, v_clock_nanosleep, (clockid_t id, int flags, const struct timespec *t, struct timespec *left),
          id, flags, t, left)

const struct kl_hook kl_world_clock_hooks[] = {
    KL_HOOK("time", v_time),
    KL_HOOK("gettimeofday", v_gettimeofday),
    KL_HOOK("clock_gettime", v_clock_gettime),
    KL_HOOK("timespec_get", v_timespec_get),
    KL_HOOK("ftime", v_ftime),
    KL_HOOK("clock", v_clock),
    KL_HOOK("_ZNSt6chrono3_V212system_clock3nowEv", v_system_clock_now),
    KL_HOOK("_ZNSt6chrono3_V212steady_clock3nowEv", v_steady_clock_now),
    KL_HOOK("localtime", v_gmtime),
    KL_HOOK_SAME("localtime_r", v_gmtime_r),
    KL_HOOK("gmtime", v_gmtime),
    KL_HOOK_SAME("gmtime_r", v_gmtime_r),
    KL_HOOK_SAME("mktime", v_mktime),
    KL_HOOK_SAME("timelocal", v_mktime),
    KL_HOOK("ctime", v_ctime),
    KL_HOOK_SAME("ctime_r", v_ctime_r),
    KL_HOOK_SAME("tzset", v_tzset),
    KL_HOOK_DATA("timezone", clock.timezone),
    KL_HOOK_DATA("__timezone", clock.timezone),
    KL_HOOK_DATA("daylight", clock.daylight),
    KL_HOOK_DATA("__daylight", clock.daylight),
    KL_HOOK_DATA("tzname", clock.tzname),
    KL_HOOK_DATA("__tzname", clock.tzname),
    KL_HOOK_SAME("getenv", v_getenv),
    KL_HOOK_SAME("secure_getenv", v_getenv),
    KL_HOOK("pthread_cond_timedwait", v_cond_timedwait),
    KL_HOOK("pthread_cond_clockwait", v_cond_clockwait),
    KL_HOOK("pthread_mutex_timedlock", v_mutex_timedlock),
    KL_HOOK("pthread_mutex_clocklock", v_mutex_clocklock),
    KL_HOOK("pthread_rwlock_timedrdlock", v_rwlock_timedrdlock),
    KL_HOOK("pthread_rwlock_timedwrlock", v_rwlock_timedwrlock),
    KL_HOOK("sem_timedwait", v_sem_timedwait),
    KL_HOOK("sem_clockwait", v_sem_clockwait),
    KL_HOOK("clock_nanosleep", v_clock_nanosleep),
    KL_HOOK_END,
};

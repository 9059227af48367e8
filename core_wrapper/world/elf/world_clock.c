/* The C library's clocks, calendar and timed waits, as a core sees them: by the virtual clock. */
#include "core_wrapper/world/world_private.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <time.h>

#define NS_PER_S KL_NS_PER_S

/* The code around a wait asks the clock afterwards whether the time is over, and waits again if not (C++'s
 * wait_for with a condition). So a thread reads a monotonic clock that has moved on by its waits of this
 * frame that have timed out. The wall clock stays: a core's calendar does not depend on them. */
static _Thread_local struct {
    const struct kl_world *world;
    uint32_t run;
    int64_t ns;
} waited;

static int64_t waited_ns(const struct kl_world *w) {
    return waited.world == w && waited.run == atomic_load(&w->clock.runs) ? waited.ns : 0;
}
static int64_t read_ns(struct kl_world *w) {
    return kl_world_read_ns(w) + waited_ns(w);
}

/* --- clocks --- */

static struct timespec to_timespec(int64_t ns) {
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static time_t v_time(struct kl_world *w, time_t *out) {
    time_t t = (time_t)(kl_world_wall_ns(w) / NS_PER_S);
    if (out) *out = t;
    return t;
}
KL_TURNED(time_t, v_time, (time_t * out), out)

static int v_gettimeofday(struct kl_world *w, struct timeval *tv, void *tz) {
    int64_t ns = kl_world_wall_ns(w);
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
    *ts = to_timespec(is_wall_clock(id) ? kl_world_wall_ns(w) : read_ns(w));
    return 0;
}
KL_TURNED(int, v_clock_gettime, (clockid_t id, struct timespec *ts), id, ts)

static int v_timespec_get(struct kl_world *w, struct timespec *ts, int base) {
    if (base != TIME_UTC) return 0;
    *ts = to_timespec(kl_world_wall_ns(w));
    return base;
}
KL_TURNED(int, v_timespec_get, (struct timespec * ts, int base), ts, base)

static int v_ftime(struct kl_world *w, struct timeb *tb) {
    int64_t ns = kl_world_wall_ns(w);
    *tb = (struct timeb){.time = ns / NS_PER_S, .millitm = (unsigned short)(ns % NS_PER_S / 1000000)};
    return 0;
}
KL_TURNED(int, v_ftime, (struct timeb * tb), tb)

static clock_t v_clock(struct kl_world *w) {
    return (clock_t)(read_ns(w) / (NS_PER_S / CLOCKS_PER_SEC));
}
KL_TURNED(clock_t, v_clock, (void))

/* std::chrono's now() of libstdc++: a time point is its count of nanoseconds, returned as an integer. */
static int64_t v_system_clock_now(struct kl_world *w) {
    return kl_world_wall_ns(w);
}
KL_TURNED(int64_t, v_system_clock_now, (void))
static int64_t v_steady_clock_now(struct kl_world *w) {
    return read_ns(w);
}
KL_TURNED(int64_t, v_steady_clock_now, (void))

/* --- calendar: UTC --- */

static struct tm shared_tm[KL_WORLDS]; /* localtime and gmtime share one in the C library too */

static struct tm *v_gmtime_r(const time_t *t, struct tm *out) {
    kl_world_split(*t, out);
    out->tm_zone = "UTC";
    return out;
}
static struct tm *v_gmtime(struct kl_world *w, const time_t *t) {
    return v_gmtime_r(t, &shared_tm[w - kl_world_at]);
}
KL_TURNED(struct tm *, v_gmtime, (const time_t *t), t)

static time_t v_mktime(struct tm *tm) {
    time_t t = kl_world_make(tm);
    tm->tm_zone = "UTC";
    return t;
}

static char *v_ctime_r(const time_t *t, char *buf) {
    struct tm tm;
    kl_world_split(*t, &tm);
    return asctime_r(&tm, buf);
}
static char *v_ctime(struct kl_world *w, const time_t *t) {
    return v_ctime_r(t, w->clock.text);
}
KL_TURNED(char *, v_ctime, (const time_t *t), t)

static void v_tzset(void) {}

/* --- timed waits: a deadline that the core made from the virtual clock, to one of the real clock --- */

static int64_t ns_of(const struct timespec *ts) {
    return ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

static int64_t real_clock_ns(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return ns_of(&ts);
}

static int64_t virtual_ns(const struct kl_world *w, clockid_t id) {
    return kl_world_since_ns(w) + (is_wall_clock(id) ? w->clock.epoch_ns : waited_ns(w));
}

static struct timespec translate(const struct kl_world *w, const struct timespec *deadline, clockid_t id) {
    /* `id` is the real clock that the wait will be measured by. A deadline nearer to that clock than to the
     * virtual one came from a clock that was not turned (a constructor, a library): it stays as it is. */
    int64_t virtual_now_ns = virtual_ns(w, id);
    int64_t want = ns_of(deadline), real_now = real_clock_ns(id);
    if (llabs(want - real_now) < llabs(want - virtual_now_ns)) return *deadline;
    int64_t wait = want - virtual_now_ns;
    return to_timespec(real_now + (wait > 0 ? wait : 0));
}

/* A deadline that was not translated came from the real clock, and is over there, too. */
static int after_wait(const struct kl_world *w, int result, const struct timespec *deadline,
                      const struct timespec *translated, clockid_t id) {
    int64_t ns = ns_of(deadline) - virtual_ns(w, id), before = waited_ns(w);
    if (result != ETIMEDOUT || ns <= 0 || ns_of(deadline) == ns_of(translated)) return result;
    waited.world = w;
    waited.run = atomic_load(&w->clock.runs);
    waited.ns = before + ns;
    return result;
}

/* The clock that a condition waits by is in its attributes, out of sight: a deadline below half the epoch can
 * only have been made from the monotonic clock. */
static int v_cond_timedwait(struct kl_world *w, pthread_cond_t *c, pthread_mutex_t *m,
                            const struct timespec *deadline) {
    bool wall = ns_of(deadline) >= w->clock.epoch_ns / 2;
    clockid_t id = wall ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec ts = translate(w, deadline, id);
    return after_wait(w, pthread_cond_timedwait(c, m, &ts), deadline, &ts, id);
}
KL_TURNED(int, v_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *deadline), c,
          m, deadline)

static int v_cond_clockwait(struct kl_world *w, pthread_cond_t *c, pthread_mutex_t *m, clockid_t id,
                            const struct timespec *deadline) {
    struct timespec ts = translate(w, deadline, id);
    return after_wait(w, pthread_cond_clockwait(c, m, id, &ts), deadline, &ts, id);
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

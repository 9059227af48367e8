/* The virtual clock and its calendar. The replacements of a core's imports are in elf/. */
#include "core_wrapper/world/world_private.h"

#include <stdatomic.h>
#include <time.h>

#define NS_PER_S KL_NS_PER_S

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
    atomic_fetch_add(&c->runs, 1);
}

struct kl_world_time kl_world_time(const struct kl_world *w) {
    return (struct kl_world_time){w->clock.base_ns, w->clock.base_frame, w->clock.fps_uhz};
}

void kl_world_time_set(struct kl_world *w, const struct kl_world_time *t) {
    w->clock.base_ns = t->base_ns;
    w->clock.base_frame = t->base_frame;
    w->clock.fps_uhz = t->fps_uhz;
}

int64_t kl_world_since_ns(const struct kl_world *w) {
    return atomic_load(&w->clock.since_ns);
}

int64_t kl_world_read_ns(struct kl_world *w) {
    uint32_t n = atomic_fetch_add(&w->clock.reads, 1);
    return kl_world_since_ns(w) + (n > FREE_READS ? (int64_t)(n - FREE_READS) * READ_STEP_NS : 0);
}

int64_t kl_world_wall_ns(struct kl_world *w) {
    return w->clock.epoch_ns + kl_world_read_ns(w);
}

/* --- calendar: UTC, computed here so that no zone file or locale has a say --- */

/* Days since 1970-01-01 of a proleptic Gregorian date, and back: Howard Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms". month 0..11. */
static int64_t days_of(int64_t year, int month, int64_t day) {
    year -= month < 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t doy = (153 * (month + (month > 1 ? -2 : 10)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void kl_world_split(int64_t t, struct tm *tm) {
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
}

int64_t kl_world_make(struct tm *tm) {
    int64_t month = tm->tm_mon, year = 1900 + (int64_t)tm->tm_year + month / 12;
    month %= 12;
    if (month < 0) month += 12, year--;
    int64_t t = days_of(year, (int)month, 1) + tm->tm_mday - 1;
    t = ((t * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;
    kl_world_split(t, tm);
    return t;
}

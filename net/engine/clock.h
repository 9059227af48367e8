/* clock.h - round-trip estimates, the relay's clock as a client sees it, and the room's schedule.
 * net/PROTOCOL.md §6.
 *
 * Time stamps on the wire are the low 32 bits of the sender's microseconds; differences are taken modulo
 * 2^32, so nothing here breaks when they wrap (every 71.6 minutes). */
#ifndef KL_CLOCK_H
#define KL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Smoothed RTT and mean deviation as in RFC 6298 §2 (gains 1/8 and 1/4). */
#define KL_RTT_RECENT 8
struct kl_rtt {
    uint32_t count;
    uint32_t srtt_us, rttvar_us, last_us;
    uint32_t recent_us[KL_RTT_RECENT]; /* the last ones, in any order */
};
void kl_rtt_sample(struct kl_rtt *r, uint32_t rtt_us);
/* The shortest of the last KL_RTT_RECENT round trips; *spread_us: the third longest less the shortest. The
 * two longest are left out, because a machine that stood still for a moment makes long ones. 0 without
 * samples. */
uint32_t kl_rtt_least_us(const struct kl_rtt *r, uint32_t *spread_us);

/* The third largest of the last KL_USUAL_COUNT values: two outliers do not count. All zero at first. */
#define KL_USUAL_COUNT 32
struct kl_usual {
    uint16_t value[KL_USUAL_COUNT];
    uint8_t next;
};
void kl_usual_add(struct kl_usual *u, double value); /* capped at 16 bits */
uint16_t kl_usual(const struct kl_usual *u);
uint16_t kl_usual_half(const struct kl_usual *u); /* their median */

/* The relay's clock as this client sees it: `base` is the smallest (receive time - send stamp) of the last
 * KL_CLOCK_WINDOWS windows of KL_CLOCK_WINDOW_US each: offset plus the shortest way down. A schedule time of
 * the relay plus `base` is "the same moment, one downlink later" here. The estimate slews at
 * KL_CLOCK_SLEW_PPM at most. It jumps only in the first KL_CLOCK_WINDOW_US, and if the way seems half a
 * second shorter: then this machine slept, and its clock with it. The windows follow the relay's stamps, so
 * that clients whose links change together slew together: while one client is ahead of another, its samples
 * come too late for the other's frames. */
#define KL_CLOCK_WINDOWS   8
#define KL_CLOCK_WINDOW_US 500000
#define KL_CLOCK_SLEW_PPM  20000 /* 20 ms a second */
struct kl_clock {
    struct kl_rtt rtt;
    bool valid;
    uint32_t reference; /* base values below are relative to this stamp difference */
    int32_t min_us[KL_CLOCK_WINDOWS];
    unsigned window;
    uint32_t window_end; /* a stamp */
    uint64_t first_us;
    double base_us; /* slewed */
    uint64_t slewed_at_us;
    /* the newest stamp, to be echoed */
    bool heard;
    uint32_t peer_stamp;
    uint64_t heard_at_us;
    /* the schedule, in relay stamps relative to reference: line(f) = t0 + f * period */
    bool scheduled;
    double t0_us, period_us;
};
void kl_clock_init(struct kl_clock *c, double period_us);
/* A datagram with send stamp `stamp` came at now_us. */
void kl_clock_heard(struct kl_clock *c, uint32_t stamp, uint64_t now_us);
/* The relay says: frame f is due at (stamp + due_us) of its clock. A change applies at once: the relay moves
 * its schedule only when everybody stalls anyway. */
void kl_clock_schedule(struct kl_clock *c, uint32_t stamp, uint32_t f, int64_t due_us);
/* From frame f on, frames last period_us; the lines of earlier frames do not move. */
void kl_clock_rate(struct kl_clock *c, uint32_t f, double period_us);
/* When frame f is due here, by the schedule alone. */
double kl_clock_line_us(struct kl_clock *c, uint32_t f, uint64_t now_us);
/* How far the room's schedule, as seen here, has come at now_us: 3.25 is a quarter into frame 3. */
double kl_clock_position(struct kl_clock *c, uint64_t now_us);

/* The playout margin, for rooms in which frames close by the clock: there the way down alone decides when a
 * frame arrives, and clients hold this margin on top of the shortest way. It is the second largest of the
 * latenesses of KL_PLAYOUT_WINDOWS windows of half a second (one window in ten seconds may be worse: about
 * 99.9 % are in time). */
#define KL_PLAYOUT_WINDOWS 20
#define KL_PLAYOUT_MAX_US  200000
struct kl_playout {
    double worst_us[KL_PLAYOUT_WINDOWS];
    unsigned window;
    uint64_t window_end_us, slewed_at_us;
    double margin_us;
};
/* A frame came so much after its line (negative: before). */
void kl_playout_heard(struct kl_playout *p, double late_us, uint64_t now_us);
/* The margin now; it moves by KL_CLOCK_SLEW_PPM at most. */
double kl_playout_margin_us(struct kl_playout *p, uint64_t now_us);

/* The relay's schedule: line(f) = t0 + f * period. In strict rooms it moves later after stalls. */
#define KL_SCHEDULE_WINDOW 16 /* a stall lasts if so many frames in a row were late */
#define KL_SCHEDULE_JUMP_US                                                                                  \
    150000 /* a stall this long moves the schedule at once, so that no game is fast-forwarded */
struct kl_schedule {
    double t0_us, period_us;
    double late_us[KL_SCHEDULE_WINDOW]; /* of the frames closed last */
    uint32_t counted;
};
void kl_schedule_start(struct kl_schedule *s, uint64_t first_due_us, double period_us);
static inline double kl_schedule_line_us(const struct kl_schedule *s, uint32_t f) {
    return s->t0_us + f * s->period_us;
}
/* As kl_clock_rate(). */
void kl_schedule_rate(struct kl_schedule *s, uint32_t f, double period_us);
/* Moves the schedule so that frame f is due at due_us: after a pause, or after a wait for a seat that never
 * came. */
void kl_schedule_move(struct kl_schedule *s, uint32_t f, uint64_t due_us);
/* Frame f closed at now_us. Returns true if the schedule moved: by the least lateness of the last window, or
 * at once by a stall of KL_SCHEDULE_JUMP_US. It never moves earlier. */
bool kl_schedule_closed(struct kl_schedule *s, uint32_t f, uint64_t now_us);

#endif

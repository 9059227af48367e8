#include "tests/sim/lie.h"

#include <string.h>

#include "net/engine/lock_wire.h"
#include "tests/lib/numbers.h"

static const struct number number[LIE_NUMBERS] = {
    [LIE_HOLD_US] = {"hold", -50000, 400000},
    [LIE_ON_MS] = {"on", 0, 20000},
    [LIE_OFF_MS] = {"off", 0, 20000},
    [LIE_FRESH] = {"fresh", 0, 150},
    [LIE_ECHO_US] = {"echo", -500000, 100000},
    [LIE_HELD_US] = {"held", -200000, 500000},
    [LIE_STAMP_US] = {"stamp", -100000, 100000},
    [LIE_NEEDS] = {"needs", 0, 254},
    [LIE_LATE] = {"late", 0, 600},
    [LIE_TURN] = {"turn", 0, 600},
    [LIE_BATCH] = {"batch", 0, 60},
    [LIE_ACKED] = {"acked", -250, 4},
    [LIE_BACKLOG] = {"backlog", 0, 100},
    [LIE_NUMBER] = {"number", -20, 20},
    [LIE_AWAY_MS] = {"away", 0, 999},
    [LIE_RESUME] = {"resume", 0, 100},
    [LIE_DROPS] = {"drops", 0, 100},
    [LIE_CUT_MS] = {"cut", 0, 20000},
    [LIE_HOARD_MS] = {"hoard", 0, 400},
    [LIE_QUIET] = {"quiet", 0, 1},
};

void lie_write(const struct lie *l, char *out, size_t cap) {
    numbers_write(number, l->is, LIE_NUMBERS, out, cap);
}

bool lie_read(struct lie *l, const char *name, int32_t value) {
    return number_read(number, l->is, LIE_NUMBERS, name, value);
}

void lie_draw(struct lie *l, struct rng *r) {
    memset(l->is, 0, sizeof l->is);
    if (rng_chance(r, 0.7)) l->is[LIE_HOLD_US] = number_draw(&number[LIE_HOLD_US], r);
    if (rng_chance(r, 0.5)) l->is[LIE_FRESH] = 100;
    if (rng_chance(r, 0.4))
        for (unsigned i = LIE_ON_MS; i <= LIE_OFF_MS; i++)
            l->is[i] = number_draw(&number[i], r);
    for (unsigned n = rng_range(r, 0, 4); n > 0; n--) {
        unsigned i = rng_range(r, 0, LIE_NUMBERS - 1);
        l->is[i] = number_draw(&number[i], r);
    }
}

void lie_change(struct lie *l, struct rng *r) {
    numbers_change(number, l->is, LIE_NUMBERS, r);
}

bool lie_is_on(const struct lie *l, uint64_t now_us) {
    if (!l->from_us || now_us < l->from_us) return false;
    uint64_t on_us = (uint64_t)l->is[LIE_ON_MS] * 1000, off_us = (uint64_t)l->is[LIE_OFF_MS] * 1000;
    return !on_us || !off_us || (now_us - l->from_us + l->phase_us) % (on_us + off_us) < on_us;
}

/* Of every hundred datagrams so many. */
static bool percent(uint32_t counter, int32_t of) {
    return (int32_t)(counter * UINT32_C(2654435761) >> 7) % 100 < of;
}

static uint32_t shifted(uint32_t is, int32_t by, uint32_t most) {
    int64_t sum = (int64_t)is + by;
    return sum < 0 ? 0 : sum > most ? most : (uint32_t)sum;
}

#define HOARD_OPEN_US 16000 /* about one frame in which it tells what it has kept */

static bool hoards(const struct lie *l, uint64_t now_us) {
    uint64_t each_us = (uint64_t)l->is[LIE_HOARD_MS] * 1000;
    return each_us > HOARD_OPEN_US && now_us % each_us >= HOARD_OPEN_US;
}

bool lie_is_quiet(const struct lie *l, uint64_t now_us) {
    return l->is[LIE_QUIET] && hoards(l, now_us);
}

static void lie_about_times(const struct lie *l, uint32_t held_us, struct kl_ctrl *c) {
    c->stamp += (uint32_t)l->is[LIE_STAMP_US];
    c->echo += (uint32_t)((int64_t)held_us * l->is[LIE_FRESH] / 100) + (uint32_t)l->is[LIE_ECHO_US];
    c->hold_us = shifted(c->hold_us, l->is[LIE_HELD_US], UINT32_MAX);
    if (l->is[LIE_LATE]) c->sample_late = (uint16_t)(l->is[LIE_LATE] - 1);
    if (l->is[LIE_TURN]) c->turn_late = (uint16_t)(l->is[LIE_TURN] - 1);
    if (l->is[LIE_BATCH]) c->sample_batch = (uint8_t)(l->is[LIE_BATCH] - 1);
}

size_t lie_forge(const struct lie *l, uint64_t now_us, uint32_t counter, uint32_t held_us, unsigned seats,
                 uint8_t *ctrl, size_t len, size_t cap) {
    static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
    struct kl_ctrl c;
    if (percent(counter, l->is[LIE_DROPS]) || lie_is_quiet(l, now_us)) return 0;
    if (kl_ctrl_open(&c, seats, 0, ctrl, len) != KL_OK) return len;
    c.sample_first = shifted(c.sample_first, l->is[LIE_NUMBER], UINT32_MAX / 2);
    for (uint32_t i = 0; i < c.sample_count; i++)
        kl_ctrl_sample(&c, ring[(c.sample_first + i) % KL_WINDOW_FRAMES]);
    if (hoards(l, now_us)) c.sample_count = 0;
    lie_about_times(l, held_us, &c);
    c.frame_acked = shifted(c.frame_acked, l->is[LIE_ACKED], UINT32_MAX / 2);
    c.backlog = shifted(c.backlog, l->is[LIE_BACKLOG], c.frame_acked);
    if (c.need_count > c.frame_acked - c.backlog) c.need_count = (uint8_t)(c.frame_acked - c.backlog);
    if (l->is[LIE_NEEDS]) memset(c.need, l->is[LIE_NEEDS], c.need_count);
    if ((int64_t)(now_us / 1000 % 1000) < l->is[LIE_AWAY_MS]) c.away = true;
    if (percent(counter ^ 0x5a5a, l->is[LIE_RESUME])) c.resume = true;
    uint8_t forged[KL_DATAGRAM_MAX]; /* it may have become too long */
    size_t most = cap < sizeof forged ? cap : sizeof forged;
    size_t wrote = kl_ctrl_write(&c, (const struct kl_input(*)[KL_MAX_SEATS])ring, seats, forged, most);
    memcpy(ctrl, forged, wrote);
    return wrote ? wrote : len;
}

#include "spacing.h"

#include <string.h>

#include "engine.h"

#define EXCUSED 255

#define RAISE_WINDOW_S   10
#define LOWER_FAST_S     4.5 /* reports are on their way for a while */
#define LOWER_SLOW_S     25
#define GUESS_S          2
#define EPISODE_S        0.5
#define SPARE_QUARTERS   1
#define OUTLIER_QUARTERS 8

void kl_spacing_init(struct kl_spacing *s, uint16_t first, double fps, uint32_t frame) {
    memset(s, 0, sizeof *s);
    s->guess = true;
    s->since = frame;
    s->current = first;
    s->fps = fps;
}

void kl_spacing_newcomer(struct kl_spacing *s, uint16_t frames) {
    if (frames <= s->current) return;
    s->current = frames;
    s->since = s->reported;
    s->guess = true;
}

static uint8_t *slot(struct kl_spacing *s, uint32_t frame) {
    return &s->need[frame % KL_SPACING_HISTORY];
}

/* Makes the slots up to and including `frame` this frame's own. False where it is too old to have one. */
static bool reach(struct kl_spacing *s, uint32_t frame) {
    if (frame >= s->cleared + KL_SPACING_HISTORY) s->cleared = frame - KL_SPACING_HISTORY + 1;
    for (; s->cleared <= frame; s->cleared++)
        *slot(s, s->cleared) = 0;
    return frame + KL_SPACING_HISTORY >= s->cleared;
}

void kl_spacing_need(struct kl_spacing *s, uint32_t frame, uint8_t need_quarters) {
    if (!reach(s, frame)) return;
    if (need_quarters == EXCUSED) need_quarters = EXCUSED - 1;
    if (need_quarters > *slot(s, frame)) *slot(s, frame) = need_quarters;
    if (frame >= s->reported) s->reported = frame + 1;
}

void kl_spacing_excuse(struct kl_spacing *s, uint32_t from, uint32_t to) {
    for (uint32_t f = from; f < to; f++)
        if (reach(s, f)) *slot(s, f) = EXCUSED;
}

static bool late(struct kl_spacing *s, uint32_t frame, unsigned quarters) {
    uint8_t need = *slot(s, frame);
    return need != EXCUSED && need > quarters;
}

static uint32_t window_start(const struct kl_spacing *s, uint32_t frames) {
    uint32_t oldest = s->cleared > KL_SPACING_HISTORY ? s->cleared - KL_SPACING_HISTORY : 0;
    uint32_t from = s->reported > frames ? s->reported - frames : 0;
    if (from < s->since) from = s->since;
    return from > oldest ? from : oldest;
}

/* Late episodes there would have been with a lead of so many quarter frames. */
struct episodes {
    unsigned all;
    unsigned near; /* of them, those that OUTLIER_QUARTERS more would have covered */
};

static struct episodes episodes(struct kl_spacing *s, unsigned quarters, double seconds) {
    struct episodes e = {0};
    uint32_t longest = (uint32_t)(EPISODE_S * s->fps), f = window_start(s, (uint32_t)(seconds * s->fps));
    while (f < s->reported) {
        if (!late(s, f, quarters)) {
            f++;
            continue;
        }
        bool outlier = false;
        for (uint32_t end = f + longest; f < end && f < s->reported; f++)
            outlier = outlier || late(s, f, quarters + OUTLIER_QUARTERS);
        e.all++;
        e.near += !outlier;
    }
    return e;
}

static bool burst(struct kl_spacing *s, unsigned quarters) {
    unsigned count = 0;
    for (uint32_t f = window_start(s, KL_SPACING_RECENT); f < s->reported; f++)
        count += late(s, f, quarters);
    return count >= KL_SPACING_BURST;
}

static bool too_short(struct kl_spacing *s, unsigned spacing) {
    struct episodes e = episodes(s, 4 * spacing, RAISE_WINDOW_S);
    return burst(s, 4 * spacing) || e.near > 2 || e.all > 3;
}

/* In time at this spacing with something to spare, so that giving back does not end on the very edge. */
static bool enough(struct kl_spacing *s, unsigned spacing, unsigned spare, double seconds, unsigned near,
                   unsigned all) {
    struct episodes e = episodes(s, 4 * spacing - spare, seconds);
    return e.near <= near && e.all <= all;
}

/* So many seconds have been reported since the last change. */
static bool settled(const struct kl_spacing *s, double seconds) {
    uint32_t from = s->since > s->raised_at ? s->since : s->raised_at;
    return s->reported >= from + (uint32_t)(seconds * s->fps);
}

/* The least spacing at which the last `seconds` were in time but for so many episodes, `keep` frames more. */
static uint16_t give_back(struct kl_spacing *s, double seconds, unsigned near, unsigned keep) {
    uint16_t n = s->current;
    while (n > KL_SPACING_MIN + keep && enough(s, n - 1u - keep, SPARE_QUARTERS, seconds, near, 1))
        n--;
    return n;
}

static uint16_t give_back_late(struct kl_spacing *s) {
    uint16_t n = s->current;
    while (n > KL_SPACING_MIN && enough(s, n - 1u, 0, LOWER_SLOW_S, 2, 3))
        n--;
    return n;
}

uint16_t kl_spacing_next(struct kl_spacing *s, uint32_t frame) {
    uint16_t n = s->current;
    if (too_short(s, n)) {
        while (n < KL_SPACING_MAX && too_short(s, n))
            n++;
        if (n > s->current) s->raised_at = frame;
        s->guess = false;
    } else if (s->guess && settled(s, GUESS_S)) {
        n = give_back(s, GUESS_S, 1, 0);
        s->guess = false;
    } else if (settled(s, LOWER_FAST_S) && give_back(s, LOWER_FAST_S, 0, 1) < n) {
        n = give_back(s, LOWER_FAST_S, 0, 1);
        s->since = s->reported - (uint32_t)(LOWER_FAST_S * s->fps);
    } else if (settled(s, LOWER_SLOW_S) && give_back_late(s) < n) {
        n = give_back_late(s);
        s->since = s->reported;
    }
    s->current = n;
    return n;
}

uint16_t kl_spacing_from_rtt(uint32_t srtt_us, uint32_t rttvar_us, double fps) {
    double frames = ((double)srtt_us + 2.0 * rttvar_us + 4000) * fps / 1e6;
    uint32_t whole = (uint32_t)frames + 1 + 1; /* up to a whole frame, and one */
    return (uint16_t)(whole > KL_SPACING_MAX ? KL_SPACING_MAX : whole);
}

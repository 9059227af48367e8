#include "net/engine/spacing.h"

#include <limits.h>
#include <string.h>

#define NEED_MOST 254

#define SUFFICED_S       10  /* a spacing that was enough for so long suffices */
#define LOWER_FAST_S     4   /* reports are on their way for a while */
#define STILL_S          0.4 /* the oldest reports need so much more time to be complete */
#define FRESH_S          2   /* of evidence kept when the lead shrinks */
#define LOWER_SLOW_S     25
#define PATIENCE_MAX_S   200
#define GUESS_S          2
#define EPISODE_S        0.5
#define SPARE_QUARTERS   1
#define OUTLIER_QUARTERS 8
#define EPISODE_COUNTS   2  /* late frames of an episode that fill the bucket: one hitch is one cause */
#define MOST_FRAMES      10 /* so many late frames in MOST_FRAMES_S are too many, in any episodes */
#define MOST_FRAMES_S    10
#define FEW_FRAMES       3   /* late frames that count in LOWER_SLOW_S: twice the budget */
#define NOISE_QUARTERS   4   /* less is no change of length */
#define FALLING_QUARTERS 8   /* below the maximum before: the lateness is passing by itself */
#define LENGTH_FRAMES    5   /* newest ones: their median need is the length of a client's link */
#define LENGTH_WINDOW_S  4   /* before them: its median need is the former length */
#define MEND_S           0.5 /* after a raise for longer links: time to measure the growth again */
#define MEND_LATE        3   /* so many late frames of one client show that the raise was too small */
#define ALIVE_FRAMES     64  /* a client without reports for so long is ignored */

static void expect_anew(struct kl_spacing *s) {
    s->tried = s->dropping = false;
    s->patience_s = LOWER_SLOW_S;
}

void kl_spacing_init(struct kl_spacing *s, uint16_t first, uint16_t most, double fps, uint32_t frame) {
    memset(&s->next, 0, sizeof *s - offsetof(struct kl_spacing, next));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->need[i]) memset(s->need[i], 0, KL_SPACING_HISTORY);
    s->most = most;
    s->guess = true;
    s->since = s->slow_from = s->changed = frame;
    s->current = first < most ? first : most;
    s->fps = fps;
    expect_anew(s);
}

void kl_spacing_newcomer(struct kl_spacing *s, uint16_t frames) {
    if (frames > s->most) frames = s->most;
    if (frames <= s->current) return;
    s->current = frames;
    s->since = s->slow_from = s->changed = s->reported;
    s->guess = true;
    expect_anew(s);
}

static uint32_t frames_in(const struct kl_spacing *s, double seconds) {
    return (uint32_t)(seconds * s->fps);
}

static uint8_t *slot(struct kl_spacing *s, unsigned client, uint32_t frame) {
    return &s->need[client][frame % KL_SPACING_HISTORY];
}

/* Clears the slots up to and including `frame` for new reports. False if the frame is too old. */
static bool reach(struct kl_spacing *s, uint32_t frame) {
    if (frame >= s->cleared + KL_SPACING_HISTORY) s->cleared = frame - KL_SPACING_HISTORY + 1;
    for (; s->cleared <= frame; s->cleared++)
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
            if (s->need[i]) *slot(s, i, s->cleared) = 0;
    return frame + KL_SPACING_HISTORY >= s->cleared;
}

void kl_spacing_need(struct kl_spacing *s, unsigned client, uint32_t frame, uint8_t need_quarters) {
    if (!reach(s, frame)) return;
    if (need_quarters > NEED_MOST) need_quarters = NEED_MOST;
    if (need_quarters > *slot(s, client, frame)) *slot(s, client, frame) = need_quarters;
    s->late_news = s->late_news || need_quarters > 4 * s->current;
    if (frame >= s->next[client]) s->next[client] = frame + 1;
    if (frame >= s->reported) s->reported = frame + 1;
}

static bool late(struct kl_spacing *s, unsigned client, uint32_t frame, unsigned quarters) {
    return *slot(s, client, frame) > quarters;
}

static uint32_t window_start(const struct kl_spacing *s, uint32_t frames) {
    uint32_t oldest = s->cleared > KL_SPACING_HISTORY ? s->cleared - KL_SPACING_HISTORY : 0;
    uint32_t from = s->reported > frames ? s->reported - frames : 0;
    if (from < s->since) from = s->since;
    return from > oldest ? from : oldest;
}

/* It reports, these days. */
static bool alive(const struct kl_spacing *s, unsigned client) {
    return s->next[client] > s->since && s->next[client] + ALIVE_FRAMES >= s->reported;
}

/* --- the budget --- */

/* Lateness that a lead of so many quarter frames would have had. */
struct lateness {
    unsigned clients, all; /* episodes, of all clients together */
    unsigned near;         /* of them, those that OUTLIER_QUARTERS more would have covered */
    /* of the client that has the most: */
    unsigned frames; /* late frames in such episodes */
    unsigned counts; /* late frames that count */
    unsigned fill;   /* level of its bucket, in frames to drain */
};

/* More episodes than one a client, or more than `near` a client that are no outliers. */
static bool is_much(const struct lateness *l, unsigned near) {
    return l->near > near * l->clients || l->all > l->clients;
}
#define COUNT_ALL UINT_MAX

static unsigned drained(unsigned fill, uint32_t frames) {
    return fill > frames ? fill - frames : 0;
}

/* near: counting ends where it is much; COUNT_ALL: it does not. */
static void add_client(struct kl_spacing *s, unsigned client, unsigned quarters, uint32_t from, unsigned near,
                       struct lateness *l) {
    uint32_t longest = frames_in(s, EPISODE_S), drained_to = from;
    unsigned frames = 0, counts = 0, fill = 0;
    for (uint32_t f = from; f < s->reported;) {
        if (!late(s, client, f, quarters)) {
            f++;
            continue;
        }
        bool outlier = false;
        unsigned count = 0;
        fill = drained(fill, f - drained_to);
        drained_to = f;
        for (uint32_t end = f + longest; f < end && f < s->reported; f++) {
            outlier = outlier || late(s, client, f, quarters + OUTLIER_QUARTERS);
            count += late(s, client, f, quarters);
        }
        l->all++;
        l->near += !outlier;
        if (near != COUNT_ALL && is_much(l, near)) return;
        frames += outlier ? 0 : count;
        if (count > EPISODE_COUNTS) count = EPISODE_COUNTS;
        counts += count;
        fill += count * KL_SPACING_DRAIN;
    }
    fill = drained(fill, s->reported - drained_to);
    if (frames > l->frames) l->frames = frames;
    if (counts > l->counts) l->counts = counts;
    if (fill > l->fill) l->fill = fill;
}

/* In the last so many frames. */
static struct lateness lateness_in(struct kl_spacing *s, unsigned quarters, uint32_t most, unsigned near) {
    struct lateness l = {0};
    uint32_t from = window_start(s, most);
    uint16_t those = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!alive(s, i)) continue;
        those |= kl_only(i);
        l.clients++;
    }
    for (KL_EACH(i, those))
        add_client(s, i, quarters, from, near, &l);
    return l;
}

static struct lateness lateness(struct kl_spacing *s, unsigned quarters, double seconds) {
    return lateness_in(s, quarters, frames_in(s, seconds), COUNT_ALL);
}

/* More frames late than the budget explains. */
static bool over_budget(struct kl_spacing *s, unsigned quarters) {
    unsigned fill = lateness_in(s, quarters, KL_SPACING_HISTORY, COUNT_ALL).fill;
    return fill > KL_SPACING_BRIM * KL_SPACING_DRAIN ||
           lateness(s, quarters, MOST_FRAMES_S).frames > MOST_FRAMES;
}

/* --- lateness that lasts --- */

/* A client's newest reports, newest first. */
struct recent {
    uint8_t need[KL_SPACING_RECENT];
    unsigned count;
    uint32_t first; /* the oldest of these frames */
};

static struct recent recent_of(struct kl_spacing *s, unsigned client) {
    struct recent r = {.first = s->next[client]};
    uint32_t oldest = window_start(s, ALIVE_FRAMES);
    if (!alive(s, client)) return r;
    for (uint32_t f = s->next[client]; f-- > oldest && r.count < KL_SPACING_RECENT;) {
        uint8_t need = *slot(s, client, f);
        if (need == 0) continue;
        r.need[r.count++] = need;
        r.first = f;
    }
    return r;
}

static bool burst(struct kl_spacing *s, unsigned quarters) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct recent r = recent_of(s, i);
        unsigned late_count = 0, most = 0;
        for (unsigned k = 0; k < r.count; k++) {
            late_count += r.need[k] > quarters;
            if (r.need[k] > most) most = r.need[k];
        }
        if (late_count >= KL_SPACING_BURST && (unsigned)r.need[0] + FALLING_QUARTERS >= most) return true;
    }
    return false;
}

static bool too_short(struct kl_spacing *s, unsigned spacing) {
    return burst(s, 4 * spacing) || over_budget(s, 4 * spacing);
}

struct tally {
    uint32_t of[NEED_MOST + 1], all;
};

static void count_need(struct tally *t, uint8_t need) {
    if (need == 0) return;
    t->of[need]++;
    t->all++;
}

static unsigned middle(const struct tally *t) {
    uint32_t below = 0;
    for (unsigned need = 0; need <= NEED_MOST; need++)
        if ((below += t->of[need]) * 2 > t->all) return need;
    return 0;
}

/* The client's typical need in the LENGTH_WINDOW_S before frame `to`: the length of its link. 0: not known.
 */
static unsigned length_before(struct kl_spacing *s, unsigned client, uint32_t to) {
    struct tally t = {{0}, 0};
    uint32_t most = frames_in(s, LENGTH_WINDOW_S), oldest = window_start(s, KL_SPACING_HISTORY);
    for (uint32_t f = to > oldest + most ? to - most : oldest; f < to; f++)
        count_need(&t, *slot(s, client, f));
    return t.all >= most / 8 ? middle(&t) : 0;
}

unsigned kl_spacing_link(struct kl_spacing *s, unsigned client) {
    return alive(s, client) ? length_before(s, client, s->reported) : 0;
}

/* Growth of the client's link in quarter frames; 0 if too little is known. */
static unsigned grown(const struct recent *r, unsigned before) {
    struct tally now = {{0}, 0};
    for (unsigned k = 0; k < LENGTH_FRAMES && k < r->count; k++)
        count_need(&now, r->need[k]);
    bool known = now.all == LENGTH_FRAMES && before > 0;
    return known && middle(&now) > before ? middle(&now) - before : 0;
}

/* The needs before frame `to` as they would be now. */
static void move_needs(struct kl_spacing *s, unsigned client, uint32_t to, unsigned quarters) {
    for (uint32_t f = window_start(s, KL_SPACING_HISTORY); f < to; f++) {
        uint8_t *need = slot(s, client, f);
        if (*need == 0) continue;
        unsigned moved = *need + quarters;
        *need = (uint8_t)(moved < NEED_MOST ? moved : NEED_MOST);
    }
}

/* The first frame that the longer link made late. Frames under way during the change have needs between the
 * two lengths, and are not moved. */
static uint32_t longer_from(struct kl_spacing *s, unsigned client, uint32_t first, unsigned before) {
    uint32_t oldest = window_start(s, KL_SPACING_HISTORY);
    while (first > oldest && *slot(s, client, first - 1) > before + NOISE_QUARTERS)
        first--;
    return first;
}

/* Moves every client's needs by the growth of its link. Returns the largest growth, in quarter frames. */
static unsigned follow_growth(struct kl_spacing *s) {
    unsigned most = 0, length = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct recent r = recent_of(s, i);
        unsigned before = length_before(s, i, r.first), quarters = grown(&r, before);
        if (before > length) length = before;
        s->length[i] = 0;
        if (quarters < NOISE_QUARTERS) continue;
        s->longer_from[i] = longer_from(s, i, r.first, before);
        move_needs(s, i, s->longer_from[i], quarters);
        s->length[i] = (uint8_t)before;
        s->moved[i] = (uint8_t)quarters;
        if (quarters > most) most = quarters;
    }
    s->grown_at = s->reported;
    if (s->reported >= s->changed + frames_in(s, SUFFICED_S)) s->sufficed[s->current] = (uint8_t)length;
    return most;
}

/* Measures the growth again, because the few frames that showed it first may have understated it. True if
 * they did. */
static bool mend_growth(struct kl_spacing *s) {
    bool mended = false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct tally now = {{0}, 0};
        for (uint32_t f = s->longer_from[i]; s->length[i] && f < s->next[i]; f++)
            count_need(&now, *slot(s, i, f));
        unsigned moved = s->length[i] + s->moved[i], is = middle(&now);
        if (now.all < LENGTH_FRAMES || is <= moved) continue;
        move_needs(s, i, s->longer_from[i], is - moved);
        s->moved[i] = (uint8_t)(is - s->length[i]);
        mended = true;
    }
    return mended;
}

/* Some client's frames are late with the new spacing, too: another phase than before, perhaps. */
static bool late_again(struct kl_spacing *s) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        unsigned count = 0;
        for (uint32_t f = s->longer_from[i]; s->length[i] && f < s->next[i]; f++)
            count += late(s, i, f, 4u * s->current);
        if (count >= MEND_LATE) return true;
    }
    return false;
}

/* It was enough when the links were as long as they are now, and nothing says that it is so no more. */
static bool sufficed(struct kl_spacing *s, unsigned spacing) {
    unsigned length = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        unsigned now = alive(s, i) ? length_before(s, i, s->reported) : 0;
        if (now > length) length = now;
    }
    return length > 0 && s->sufficed[spacing] >= length && !too_short(s, spacing);
}

/* --- the choice --- */

/* So many seconds have been reported since this frame and the last raise. */
static bool settled(const struct kl_spacing *s, uint32_t from, double seconds) {
    if (from < s->raised_at) from = s->raised_at;
    return s->reported >= from + frames_in(s, seconds);
}

/* The least spacing at which the last `seconds` were in time with something to spare (so that it does not end
 * on the very edge), but for one episode a client (of those, so many that are no outliers), `keep` frames
 * more. */
static uint16_t give_back(struct kl_spacing *s, double seconds, unsigned near, unsigned keep) {
    uint16_t n = s->current;
    for (; n > KL_SPACING_MIN + keep; n--) {
        struct lateness l = lateness_in(s, 4 * (n - 1 - keep) - SPARE_QUARTERS, frames_in(s, seconds), near);
        if (is_much(&l, near)) break;
    }
    return n;
}

/* Gives back all but one of the frames too many; none while the link is still getting shorter. */
static uint16_t give_back_soon(struct kl_spacing *s) {
    if (!settled(s, s->since, LOWER_FAST_S)) return s->current;
    uint16_t n = give_back(s, LOWER_FAST_S, 0, 1);
    if (n == s->current) return n;
    return give_back(s, LOWER_FAST_S - STILL_S, 0, 1) == n ? n : s->current;
}

static bool enough_for_long(struct kl_spacing *s, unsigned spacing) {
    return lateness(s, 4 * spacing, LOWER_SLOW_S).counts <= FEW_FRAMES;
}

static uint16_t give_back_late(struct kl_spacing *s) {
    uint16_t n = s->current;
    while (n > KL_SPACING_MIN && (enough_for_long(s, n - 1u) || sufficed(s, n - 1u)))
        n--;
    return n;
}

/* Nothing that two frames more would have covered was late, for long. */
static bool spotless(struct kl_spacing *s, unsigned spacing) {
    return lateness(s, 4 * spacing, LOWER_SLOW_S).near == 0;
}

/* Raises by the whole shortfall, by all needs, also those from before a change of the link. A spare frame of
 * the room is used up for it only if no need speaks for keeping it. */
static uint16_t raise(struct kl_spacing *s) {
    bool longer = burst(s, 4u * s->current);
    unsigned quarters = longer ? follow_growth(s) : 0, n = s->current;
    unsigned least = n + quarters / 4, most = n + (quarters + 3) / 4;
    while (n < s->most &&
           (too_short(s, n) || (n < least && !spotless(s, n)) || (n < most && !enough_for_long(s, n))))
        n++;
    if (quarters > 0)
        expect_anew(s);
    else { /* the link is no longer: the frame given back was needed */
        s->sufficed[s->current] = 0;
        if (s->tried && s->patience_s < PATIENCE_MAX_S) s->patience_s *= 2;
    }
    return (uint16_t)n;
}

/* Whether, soon after a raise for longer links, one frame more is wanting. */
static bool understated(struct kl_spacing *s) {
    if (s->grown_at == 0 || s->reported >= s->grown_at + frames_in(s, MEND_S)) return false;
    bool mended = mend_growth(s), again = late_again(s);
    return s->current < s->most && (again || (mended && !enough_for_long(s, s->current)));
}

/* too_short() for the present spacing. Without new late frames the buckets only drain. */
static bool too_short_now(struct kl_spacing *s) {
    bool over = s->late_news && over_budget(s, 4u * s->current);
    s->late_news = over;
    return over || burst(s, 4u * s->current);
}

uint16_t kl_spacing_next(struct kl_spacing *s, uint32_t frame) {
    uint16_t n = s->current;
    if (too_short_now(s)) {
        n = raise(s);
        if (n > s->current) s->raised_at = frame;
        s->guess = s->dropping = false;
    } else if (understated(s)) {
        n++;
        s->raised_at = frame;
    } else if (s->guess && settled(s, s->since, GUESS_S)) {
        n = give_back(s, GUESS_S, 1, 0);
        s->guess = false;
    } else if (give_back_soon(s) < n) {
        n = give_back_soon(s);
        if (!s->dropping) s->slow_from = s->reported - frames_in(s, LOWER_FAST_S);
        s->since = s->reported - frames_in(s, FRESH_S);
        expect_anew(s);
        s->dropping = true;
    } else if (settled(s, s->slow_from, s->patience_s) && give_back_late(s) < n) {
        n = give_back_late(s);
        s->slow_from = s->reported;
        s->since =
            s->reported - frames_in(s, LOWER_FAST_S); /* so that a further excess shows without delay */
        s->dropping = false;
        s->tried = true;
    }
    if (n > s->most) n = s->most;
    if (n != s->current) {
        s->changed = s->reported;
        s->late_news = true; /* other frames are late now */
    }
    s->current = n;
    return n;
}

uint16_t kl_spacing_least(uint32_t rtt_us, double fps) {
    double frames = rtt_us * fps / 1e6 + 1;
    return (uint16_t)(frames < UINT16_MAX ? frames : UINT16_MAX);
}

uint16_t kl_spacing_from_rtt(uint32_t rtt_us, uint32_t spread_us, double fps) {
    double frames = ((double)rtt_us + spread_us + 4000) * fps / 1e6;
    uint32_t whole = (uint32_t)frames + 1 + 1; /* up to a whole frame, and one */
    return (uint16_t)(whole > KL_SPACING_MAX ? KL_SPACING_MAX : whole);
}

unsigned kl_spacing_delay_ms(double own_ms, uint16_t theirs_ms, bool economy) {
    double rtt_ms = theirs_ms != KL_RTT_UNKNOWN && theirs_ms > own_ms ? theirs_ms : own_ms;
    unsigned frames = (unsigned)(rtt_ms * 60 / 1000) + 1 + economy;
    return (frames * 1000 + 30) / 60;
}

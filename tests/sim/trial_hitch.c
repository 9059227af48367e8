/* The spacing after machines stood still: all players' at once, as on a host that is itself held back, one of
 * them, or the relay's; once for long, again and again for a moment, or five times for 450 ms within six
 * seconds. The links stay as they are. So two frames or more above the spacing of before are given back
 * within 5 s, and the last frame within 30 s; after the five, on links without jitter, all of it within 5 s.
 */
#include "net/session/command_words.h"
#include "tests/sim/trial.h"

#include <stdio.h>
#include <stdlib.h>

#define PLAYERS    2
#define HITCH_AT_S 40
#define WATCHED_S  35 /* after the last hitch */
#define SOON_S     5
#define BACK_S     30

struct hitches {
    const char *name;
    double ms, jitter_ms;
    unsigned count;
    bool unlike;      /* by turns a third, two thirds and the whole of ms */
    unsigned players; /* the first so many stand still */
    bool relay;       /* the relay stands still with them */
    uint64_t first_seed, seeds;
    double back_s;
};
#define EACH_S 1.3 /* from the beginning of a hitch to that of the next */

struct hitch {
    uint64_t from_us, until_us; /* the first begins, the last is over */
    uint16_t asked;             /* by the link; its bound, and one for unlike phases */
    uint16_t before, high;      /* spacing, frames: right before; the largest since */
    double soon_s, back_s; /* since it was over: last two or more above before; last above before and asked */
};

static void watch_hitch(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct hitch *h = w->probed;
    uint16_t spacing = (uint16_t)w->truth.ref.now.at.length;
    (void)client, (void)plan;
    if (w->now_us < h->from_us) {
        h->before = spacing;
        return;
    }
    if (spacing > h->high) h->high = spacing;
    if (w->now_us < h->until_us) return;
    double since_s = (double)(w->now_us - h->until_us) / 1e6;
    if (spacing > h->before + 1) h->soon_s = since_s;
    if (spacing > h->before && spacing > h->asked) h->back_s = since_s;
}

static void freeze(struct scenario *s, const struct hitches *t, double at_s, double ms) {
    struct happening h = {.at_us = s->start_us + (uint64_t)(at_s * 1e6), .length_us = (uint64_t)(ms * 1e3)};
    h.kind = HAPPEN_FREEZE;
    for (; h.client < t->players; h.client++)
        trial_add_happening(s, h);
    h.kind = HAPPEN_RELAY_FREEZE;
    h.client = 0;
    if (t->relay) trial_add_happening(s, h);
}

static bool play_hitch(struct world *w, const struct cell *c, const struct hitches *t, uint64_t seed,
                       struct hitch *h) {
    static struct scenario s;
    scenario_cell(&s, c, seed);
    for (unsigned k = 0; k < t->count; k++)
        freeze(&s, t, HITCH_AT_S + k * EACH_S, t->unlike ? t->ms * (1 + k % 3) / 3 : t->ms);
    double over_s = HITCH_AT_S + (t->count - 1) * EACH_S + t->ms / 1e3;
    *h = (struct hitch){.from_us = s.start_us + HITCH_AT_S * 1000000u,
                        .until_us = s.start_us + (uint64_t)(over_s * 1e6),
                        .asked = (uint16_t)(c->rtt_ms * c->fps / 1000 + 1 + 1)};
    return trial_play(w, &s, watch_hitch, h);
}

/* One row: the worst of its rooms. */
static bool play_hitches(struct world *w, const struct cell *like, double rtt_ms, const struct hitches *t) {
    struct cell c = *like;
    struct hitch worst = {0};
    bool held = true;
    c.players = PLAYERS;
    c.rtt_ms = rtt_ms;
    c.jitter_ms = t->jitter_ms;
    c.seconds = HITCH_AT_S + t->count * EACH_S + WATCHED_S;
    for (uint64_t seed = t->first_seed; seed < t->first_seed + t->seeds; seed++) {
        struct hitch h;
        held &= play_hitch(w, &c, t, seed, &h);
        if (h.before > worst.before) worst.before = h.before;
        if (h.high > worst.high) worst.high = h.high;
        if (h.soon_s > worst.soon_s) worst.soon_s = h.soon_s;
        if (h.back_s > worst.back_s) worst.back_s = h.back_s;
    }
    bool good = worst.soon_s <= SOON_S && worst.back_s <= t->back_s;
    printf("%-10s %-4g %-4g %-6s %-7u %-5d %-5u | %-6u %-4u %-6.2f %.2f%s\n", kl_policy_name(c.policy),
           rtt_ms, t->ms, t->name, t->players, t->relay, (unsigned)t->seeds, worst.before, worst.high,
           worst.soon_s, worst.back_s, good ? "" : " MISS");
    fflush(stdout);
    return held && good;
}

int trial_hitch(const struct cell *like) {
    static const double rtt_ms[] = {1, 20, 50};
    static const struct hitches kinds[] = {
        {"once", 200, 5, 1, false, PLAYERS, false, 5, 1, BACK_S},
        {"once", 400, 5, 1, false, PLAYERS, false, 5, 1, BACK_S},
        {"once", 629, 5, 1, false, PLAYERS, false, 5, 1, BACK_S},
        {"often", 40, 5, 20, true, PLAYERS, false, 5, 1, BACK_S},
        {"often", 120, 5, 20, true, PLAYERS, false, 5, 1, BACK_S},
        {"five", 450, 0, 5, false, PLAYERS, false, 4, 4, SOON_S},
        {"five", 450, 0, 5, false, 1, false, 4, 4, SOON_S},
        {"five", 450, 0, 5, false, PLAYERS, true, 4, 4, SOON_S},
        {"five", 450, 0, 5, false, 1, true, 4, 4, SOON_S},
        {"five", 450, 0, 5, false, 0, true, 4, 4, SOON_S},
    };
    struct world *w = malloc(sizeof *w);
    bool held = true;
    if (!w) return 2;
    puts("policy     rtt  ms   hitch  players relay rooms | worst: before high soon_s back_s");
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_BOUNDED; policy++)
        for (unsigned r = 0; r < sizeof rtt_ms / sizeof *rtt_ms; r++)
            for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                struct cell c = *like;
                c.policy = policy;
                held &= play_hitches(w, &c, rtt_ms[r], &kinds[k]);
            }
    free(w);
    return !held;
}

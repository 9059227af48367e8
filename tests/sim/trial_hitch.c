/* What the spacing does when all the players' machines stand still at once, as on a host that is itself held
 * back: once for long, and, more like a busy machine, again and again for a moment. The links stay as they
 * are, so the lead of before is soon the right one again: what is two frames or more above it is given back
 * within 5 s, the last frame within 30 s. */
#include "tests/sim/trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/trial_tools.h"

#define PLAYERS    2
#define PLAY_S     120
#define HITCH_AT_S 40
#define EACH       20 /* hitches, where they come again and again */
#define EACH_S     1.3
#define SOON_S     5
#define BACK_S     30

struct hitch {
    uint64_t from_us, until_us; /* the first begins, the last is over */
    uint16_t before, high;      /* spacing, frames: right before; the largest since */
    double soon_s, back_s; /* since it was over: last seen two or more above what it was, first seen back */
    bool back;
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
    h->back = h->back || spacing <= h->before;
    if (!h->back) h->back_s = since_s;
}

static void freeze_all(struct scenario *s, double at_s, double ms) {
    for (uint8_t i = 0; i < PLAYERS; i++)
        trial_add_happening(s, (struct happening){.at_us = s->start_us + (uint64_t)(at_s * 1e6),
                                                  .kind = HAPPEN_FREEZE,
                                                  .client = i,
                                                  .length_us = (uint64_t)(ms * 1e3)});
}

/* again: EACH of them, of a third, two thirds and the whole of ms by turns. */
static bool play_hitch(struct world *w, const struct cell *like, double rtt_ms, double ms, bool again) {
    static struct scenario s;
    struct cell c = *like;
    c.players = PLAYERS;
    c.rtt_ms = rtt_ms;
    c.jitter_ms = 5;
    c.seconds = PLAY_S;
    scenario_cell(&s, &c, 5);
    for (unsigned k = 0; k < (again ? EACH : 1); k++)
        freeze_all(&s, HITCH_AT_S + k * EACH_S, again ? ms * (1 + k % 3) / 3 : ms);
    double over_s = HITCH_AT_S + (again ? (EACH - 1) * EACH_S : 0) + ms / 1e3;
    struct hitch h = {.from_us = s.start_us + HITCH_AT_S * 1000000u,
                      .until_us = s.start_us + (uint64_t)(over_s * 1e6)};
    bool held = trial_play(w, &s, watch_hitch, &h);
    bool good = h.soon_s <= SOON_S && h.back_s <= BACK_S;
    printf("%-10s %-4g %-4g %-6s | %-6u %-4u %-6.2f %.2f%s\n", trial_policy_name(c.policy), rtt_ms, ms,
           again ? "often" : "once", h.before, h.high, h.soon_s, h.back_s, good ? "" : " MISS");
    fflush(stdout);
    return held && good;
}

int trial_hitch(const struct cell *like) {
    static const double rtt_ms[] = {20, 50}, long_ms[] = {200, 400, 629}, short_ms[] = {40, 120};
    struct world *w = malloc(sizeof *w);
    bool held = true;
    if (!w) return 2;
    puts("policy     rtt  ms   hitch  | before high soon_s back_s");
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_BOUNDED; policy++)
        for (unsigned r = 0; r < 2; r++) {
            struct cell c = *like;
            c.policy = policy;
            for (unsigned i = 0; i < 3; i++)
                held &= play_hitch(w, &c, rtt_ms[r], long_ms[i], false);
            for (unsigned i = 0; i < 2; i++)
                held &= play_hitch(w, &c, rtt_ms[r], short_ms[i], true);
        }
    free(w);
    return !held;
}

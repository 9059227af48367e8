/* A player who lies (lie.h), and holds the datagrams back until so long after the time of the frame that
 * their newest sample feeds. The honest may lose a tenth of any minute at most, and are never themselves near
 * to being taken for those who hold the room up. No lie makes the spacing longer than lead-max. */
#include "tests/sim/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/trial_tools.h"

#define SECOND_US   UINT64_C(1000000)
#define LIES_S      10
#define LASTS_S     110
#define WINDOW_S    60
#define LEAST       0.9   /* of the core's frames, in each window */
#define OWN_MOST_US 62500 /* a quarter of the limit */

struct lied_to {
    uint64_t from_us;
    uint32_t frames[LASTS_S]; /* that client 1 ran, by second since then */
    uint32_t stalls;
    uint64_t found_us; /* the room first knew that client 0 holds it up */
    uint16_t most;     /* spacing */
    uint32_t own_us;   /* the greatest sum of client 1's own delays */
    double sum, turns; /* of the spacing by turn */
};

static void watch_liar(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct lied_to *t = w->probed;
    uint16_t n = (uint16_t)w->truth.ref.now.at.length;
    if (client != 1 || w->now_us < t->from_us) return;
    uint64_t second = (w->now_us - t->from_us) / SECOND_US;
    if (second < LASTS_S) t->frames[second] += plan->runs;
    t->stalls += plan->stalled;
    t->turns++;
    t->sum += n;
    if (n > t->most) t->most = n;
    if (w->room.client[1].cost_us > t->own_us) t->own_us = w->room.client[1].cost_us;
    if (t->found_us == 0 && kl_room_holds_up(&w->room, 0)) t->found_us = w->now_us;
}

/* Frames a second in the worst window of so many seconds. */
static double worst_fps(const struct lied_to *t, unsigned window_s) {
    double worst = INFINITY;
    for (unsigned from = 0; from + window_s <= LASTS_S; from++) {
        double frames = 0;
        for (unsigned i = from; i < from + window_s; i++)
            frames += t->frames[i];
        worst = fmin(worst, frames / window_s);
    }
    return worst;
}

static bool play_liar(struct world *w, const struct cell *like, enum lie lie, unsigned players, double rtt_ms,
                      double hold_ms) {
    static struct scenario s;
    struct cell c = *like;
    const uint8_t lead_max = KL_LEAD_MAX_USUAL;
    c.policy = KL_POLICY_BOUNDED;
    c.players = players;
    c.rtt_ms = rtt_ms;
    c.jitter_ms = 2;
    c.seconds = LIES_S + LASTS_S;
    scenario_cell(&s, &c, 31);
    s.heavy = true; /* the pace is judged here */
    struct lied_to t = {.from_us = s.start_us + LIES_S * SECOND_US};
    s.client[0].lies_us = t.from_us;
    s.params.lead_max = lead_max;
    s.client[0].lie = lie;
    s.client[0].hold_us = (int32_t)(hold_ms * 1000);
    bool held = trial_play(w, &s, watch_liar, &t);
    double found_s = t.found_us ? (double)(t.found_us - t.from_us) / 1e6 : -1,
           minute = worst_fps(&t, WINDOW_S);
    bool good = held && minute >= LEAST * c.fps && t.own_us <= OWN_MOST_US && t.most <= lead_max;
    printf("%-5s %-7u %-4g %-4g | %6.2f %6.2f %6u %4u | %5.2f %4u | %7.2f %8llu%s\n", lie_name(lie), players,
           rtt_ms, hold_ms, minute, worst_fps(&t, 10), t.stalls, t.own_us / 1000, t.sum / fmax(t.turns, 1),
           t.most, found_s, (unsigned long long)w->truth.ref.client[0].absences, good ? "" : " MISS");
    fflush(stdout);
    return good;
}

int trial_liar(const struct cell *like) {
    static const double rtt_ms[] = {10, 50}, hold_ms[] = {-8, 0, 10, 20, 30, 33, 40, 60, 140, 170, 240, 300};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("lie   players rtt  hold | fps of 60 s, of 10 s, stalls, own ms | spacing: mean most | found_s "
         "absences");
    for (unsigned cell = 0; cell < LIE_KINDS * 4; cell++) {
        enum lie lie = (enum lie)(cell / 4);
        unsigned players = 2 + cell / 2 % 2, holds = lie == LIE_NEEDS ? 1 : sizeof hold_ms / sizeof *hold_ms;
        for (unsigned h = 0; h < holds; h++)
            held &= play_liar(w, like, lie, players, rtt_ms[cell % 2], hold_ms[h]);
    }
    free(w);
    return !held;
}

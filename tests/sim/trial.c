#include "net/session/command_words.h"
#include "tests/sim/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US 1000000u

struct link_quality trial_hop_of(double rtt_ms, double jitter_ms, double loss) {
    struct link_quality q = {.delay_us = (uint32_t)(rtt_ms * 500), .jitter_us = (uint32_t)(jitter_ms * 500)};
    q.loss = loss;
    return q;
}

void trial_add_happening(struct scenario *s, struct happening h) {
    if (s->happenings < SCENARIO_HAPPENINGS) s->happening[s->happenings++] = h;
}

/* Times within the trial count from the room's start. */
void trial_change_links(struct scenario *s, double at_s, const struct link_quality *hop) {
    for (uint8_t i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there)
            trial_add_happening(s, (struct happening){.at_us = s->start_us + (uint64_t)(at_s * 1e6),
                                                      .kind = HAPPEN_LINK,
                                                      .client = i,
                                                      .up = *hop,
                                                      .down = *hop});
}

bool trial_play(struct world *w, const struct scenario *s, world_probe *probe, void *ctx) {
    bool held = world_run(w, s, NULL, probe, ctx);
    if (!held) printf("failed=1 %s\n", w->error);
    return held;
}

/* --- an hour --- */

static void change_for_an_hour(struct scenario *s, struct rng *r) {
    for (uint8_t i = 0; i < KL_MAX_CLIENTS; i++)
        for (double at = 30; s->client[i].there && at < 3600; at += rng_between(r, 60, 300)) {
            struct link_quality q = link_draw(r, rng_range(r, 0, 3));
            trial_add_happening(s, (struct happening){.at_us = s->start_us + (uint64_t)(at * 1e6),
                                                      .kind = HAPPEN_LINK,
                                                      .client = i,
                                                      .up = q,
                                                      .down = q});
        }
    for (unsigned n = 0; n < 20; n++)
        trial_add_happening(s, (struct happening){.at_us = s->start_us + (uint64_t)(rng_unit(r) * 3.5e9),
                                                  .kind = rng_chance(r, 0.5) ? HAPPEN_STALL : HAPPEN_OUTAGE,
                                                  .ways = (uint8_t)rng_range(r, 1, 3),
                                                  .client = (uint8_t)rng_range(r, 0, s->params.players - 1u),
                                                  .length_us = (uint64_t)rng_between(r, 1e5, 3e6)});
}

/* Seconds that any lockstep must lose by what is drawn: in a strict room the game stands while a frontend or
 * a link does; in a bounded one for the wait budget at most; in an optimistic one it does not. The cost of a
 * longer link when it changes comes on top. */
static double forced_s(const struct scenario *s) {
    double sum = 0, most = s->params.policy == KL_POLICY_STRICT    ? 1e9
                           : s->params.policy == KL_POLICY_BOUNDED ? s->params.wait_budget_ms / 1e3
                                                                   : 0;
    for (unsigned i = 0; i < s->happenings; i++)
        if (s->happening[i].kind == HAPPEN_STALL || s->happening[i].kind == HAPPEN_OUTAGE)
            sum += fmin((double)s->happening[i].length_us / 1e6, most);
    return sum;
}

#define HOUR_LOST_S 2 /* beyond what is forced: what longer links cost when they change */
#define HOUR_LATE   1 /* percent of frames, with a change of some link every few seconds */

int trial_hour(const struct cell *like, uint64_t seed) {
    static const unsigned players[] = {2, 4, 8};
    static struct scenario s;
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("policy     players | frames fps(room) lost_s forced_s lead late% stalled% longest_gap_ms | changes "
         "absences | held");
    for (uint8_t policy = 0; policy <= KL_POLICY_OPTIMISTIC; policy++)
        for (unsigned k = 0; k < 3; k++) {
            struct cell c = *like;
            struct rng r = {seed + k + 10u * policy};
            c.policy = policy;
            c.players = players[k];
            c.rtt_ms = 40;
            c.jitter_ms = 3;
            c.seconds = 3600;
            c.settle_seconds = 1;
            scenario_cell(&s, &c, seed + k);
            change_for_an_hour(&s, &r);
            bool good = trial_play(w, &s, NULL, NULL);
            double late = 0, stalled = 0, gap = 0, lead = 0;
            uint64_t absences = 0;
            for (unsigned i = 0; i < c.players; i++) {
                const struct sim_client *x = &w->client[i];
                const struct kl_client_stats *t = &x->lock.stats;
                late += 100.0 * (double)t->late_frames / t->next_run / c.players;
                stalled += 100.0 * (double)x->measure.stalled_turns / (double)x->measure.turns / c.players;
                lead += (double)t->lead_sum / fmax((double)t->lead_count, 1) / c.players;
                gap = fmax(gap, (double)x->longest_gap_us / 1e3);
                absences += w->truth.ref.client[i].absences;
            }
            double lost_s = (double)(w->now_us - s.start_us) / 1e6 - w->truth.next / c.fps;
            bool kept = good && lost_s <= forced_s(&s) + HOUR_LOST_S && late <= HOUR_LATE;
            printf("%-10s %-7u | %6u %8.3f %6.1f %8.1f %5.2f %5.3f %8.3f %14.0f | %7u %8llu | %d%s\n",
                   kl_policy_name(policy), c.players, w->truth.next,
                   w->truth.next / ((double)(w->now_us - s.start_us) / 1e6), lost_s, forced_s(&s), lead, late,
                   stalled, gap, w->truth.changes, (unsigned long long)absences, good, kept ? "" : " MISS");
            fflush(stdout);
            held &= kept;
        }
    free(w);
    return !held;
}

/* --- unequal players --- */

struct fit {
    uint64_t from_us, frames, sum;
};

static void watch_fit(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct fit *f = w->probed;
    (void)plan;
    if (client != 0 || w->now_us < f->from_us) return;
    f->frames++;
    f->sum += w->truth.ref.now.at.length;
}

int trial_unequal(const struct cell *like) {
    static const double way[][4] = {{10, 10, 10, 10}, {5, 45, 5, 5},    {45, 5, 5, 5},    {40, 10, 10, 40},
                                    {40, 10, 40, 10}, {10, 40, 10, 40}, {75, 75, 10, 10}, {10, 60, 60, 10}};
    static struct scenario s;
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("up1 down1 up2 down2 | largest up+down ms frames | spacing fps late%");
    for (unsigned k = 0; k < sizeof way / sizeof *way; k++)
        for (unsigned aligned = 0; aligned < 2; aligned++) {
            struct cell c = *like;
            c.players = 2;
            c.aligned = aligned;
            scenario_cell(&s, &c, 5);
            for (unsigned i = 0; i < 2; i++) {
                s.client[i].up = trial_hop_of(2 * way[k][2 * i], 0, 0);
                s.client[i].down = trial_hop_of(2 * way[k][2 * i + 1], 0, 0);
            }
            struct fit f = {.from_us = s.settled_us};
            held &= trial_play(w, &s, watch_fit, &f);
            double up = fmax(way[k][0], way[k][2]), down = fmax(way[k][1], way[k][3]);
            unsigned bound = (unsigned)floor((up + down) * c.fps / 1000) + 1;
            const struct measure *m = &w->client[0].measure;
            double spacing = (double)f.sum / (double)f.frames;
            double fps = (double)m->frames / ((double)(m->last_us - m->first_us) / 1e6);
            double late = 100.0 * (double)(w->client[0].lock.stats.late_frames - m->at_start.late_frames) /
                          (double)m->frames;
            bool good = spacing <= bound + (aligned ? 0 : 1) + 0.01 && fps >= 59.9 && late <= 0.2;
            printf("%-3g %-5g %-3g %-5g | %18g %6u | %7.2f %.3f %.3f %s%s\n", way[k][0], way[k][1], way[k][2],
                   way[k][3], up + down, bound, spacing, fps, late, aligned ? "aligned" : "random",
                   good ? "" : " MISS");
        }
    free(w);
    return !held;
}

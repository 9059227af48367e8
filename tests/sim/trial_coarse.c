/* Machines whose timed waits end only with a tick of 15.6 ms, as Windows's do without high-resolution timers:
 * one of them, all players', or the relay's with them. Datagrams wake a thread at once; frontends that sleep,
 * and sending that is due by time alone, wait for the next tick.
 *
 * A frontend of this kind sleeps until the next of its times, so its calls are 15.6 or 31.2 ms apart, 60 a
 * second; or it sleeps for a frame's time after each call, and calls 32 times a second. Nobody becomes
 * absent, which is how a press could be lost, and the lead is at most a frame longer. The rest:
 * - 60 calls: the core's rate. Once in 15 calls, beside the long gap, a call may have no frame and another
 * one two. Of the other players' calls at most one in 30 has no frame.
 * - 32 calls: each has about two frames. Of the others' calls one in 19 has none, because a player's own
 *   lateness makes nobody's lead longer (docs/design.md, Spacing). For the same reason a room of nothing else
 *   plays up to 2.3 % slower where the link asks for no more than a frame of lead. */
#include "net/session/command_words.h"
#include "tests/sim/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PLAYERS   3
#define TICK_US   15625
#define COARSE_S  60.0
#define SETTLED_S 20.0
#define SEEDS     3

#define COARSE_NONE 6.8 /* percent of a coarse machine's calls without a frame, at most */
#define EXACT       0.999

struct coarse_kind {
    const char *name;
    unsigned players; /* the first so many */
    bool relay, sleeps_on;
    double fps;  /* of the core's, at least */
    double none; /* percent of the others' calls without a frame, at most */
};

/* Of the machines with coarse clocks, or of the others: the worst one's. */
struct coarse_calls {
    double none; /* percent of its calls that have no frame */
    double fps;
};
struct coarse_row {
    struct coarse_calls coarse, other;
    double lead;   /* the mean of a room */
    double gap_ms; /* the longest between two frames */
    unsigned long long absences, lost;
};
struct coarse_watch {
    double all[PLAYERS], none[PLAYERS]; /* calls */
};

static void watch_coarse(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct coarse_watch *c = w->probed;
    if (w->now_us < w->scenario.settled_us) return;
    c->all[client]++;
    c->none[client] += plan->runs == 0;
}

static double add_client(struct coarse_row *row, const struct sim_client *c, double none) {
    const struct measure *m = &c->measure;
    const struct kl_client_stats *a = &m->at_start, *b = &c->lock.stats;
    struct coarse_calls *calls = c->setting->grid_us ? &row->coarse : &row->other;
    calls->none = fmax(calls->none, 100 * none);
    calls->fps = fmin(calls->fps, (double)m->frames / ((double)(m->last_us - m->first_us) / 1e6));
    row->gap_ms = fmax(row->gap_ms, (double)c->longest_gap_us / 1e3);
    return (double)(b->lead_sum - a->lead_sum) / fmax((double)(b->lead_count - a->lead_count), 1);
}

static bool play_room(struct world *w, const struct cell *c, const struct coarse_kind *k, uint64_t seed,
                      struct coarse_row *row) {
    static struct scenario s;
    struct coarse_watch calls = {.all = {0}};
    double lead = 0;
    scenario_cell(&s, c, seed);
    for (unsigned i = 0; i < k->players; i++) {
        s.client[i].grid_us = TICK_US;
        s.client[i].sleeps_on = k->sleeps_on;
    }
    s.relay_grid_us = k->relay ? TICK_US : 0;
    bool held = trial_play(w, &s, watch_coarse, &calls);
    for (unsigned i = 0; i < PLAYERS; i++) {
        lead += add_client(row, &w->client[i], calls.none[i] / fmax(calls.all[i], 1)) / PLAYERS;
        row->absences += w->truth.ref.client[i].absences;
    }
    row->lead = fmax(row->lead, lead);
    row->lost += w->truth.ref.presses_lost;
    return held;
}

static void print_calls(const struct coarse_calls *c) {
    if (c->fps < INFINITY)
        printf(" %7.3f %6.2f |", c->fps, c->none);
    else
        printf(" %7s %6s |", "-", "-");
}

static bool good_calls(const struct coarse_calls *c, double fps, double none) {
    return c->fps >= fps && c->none <= none;
}

/* One row: the worst of its rooms. */
static bool play_coarse(struct world *w, const struct cell *like, const struct coarse_kind *k, double rtt_ms,
                        double jitter_ms) {
    struct cell c = *like;
    struct coarse_row row = {.coarse.fps = INFINITY, .other.fps = INFINITY};
    bool held = true;
    c.players = PLAYERS;
    c.rtt_ms = rtt_ms;
    c.jitter_ms = jitter_ms;
    c.seconds = COARSE_S;
    c.settle_seconds = SETTLED_S;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        held &= play_room(w, &c, k, seed, &row);
    unsigned bound = (unsigned)floor((rtt_ms + jitter_ms) * c.fps / 1000) + 2; /* and one of the phases */
    unsigned most = bound + (k->players > 0);
    double fps = k->fps * c.fps;
    bool good = held && good_calls(&row.coarse, fps, COARSE_NONE) && good_calls(&row.other, fps, k->none) &&
                row.lead <= most + 0.005 && !row.absences && !row.lost;
    printf("%-10s %-27s %-4g %-6g |", kl_policy_name(c.policy), k->name, rtt_ms, jitter_ms);
    print_calls(&row.coarse);
    print_calls(&row.other);
    printf(" %5.2f %4u %6.1f | %llu %llu%s\n", row.lead, most, row.gap_ms, row.absences, row.lost,
           good ? "" : " MISS");
    fflush(stdout);
    return good;
}

int trial_coarse(const struct cell *like) {
    static const struct coarse_kind kind[] = {
        {"none", 0, false, false, EXACT, 0.2},
        {"one", 1, false, false, EXACT, 3.5},
        {"all", PLAYERS, false, false, EXACT, 0},
        {"all and the relay", PLAYERS, true, false, EXACT, 0},
        {"one, 32 calls a second", 1, false, true, EXACT, 5.5},
        {"all and the relay, 32 calls", PLAYERS, true, true, 0.977, 0},
    };
    static const double link[][2] = {{1, 0}, {50, 5}, {100, 0}};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("policy     coarse                      rtt  jitter | coarse: fps, none% | others: fps, none% | "
         "lead most "
         "gap_ms | absences lost");
    for (uint8_t policy = KL_POLICY_BOUNDED; policy <= KL_POLICY_OPTIMISTIC; policy++)
        for (unsigned l = 0; l < sizeof link / sizeof *link; l++)
            for (unsigned i = 0; i < sizeof kind / sizeof *kind; i++) {
                struct cell c = *like;
                c.policy = policy;
                held &= play_coarse(w, &c, &kind[i], link[l][0], link[l][1]);
            }
    free(w);
    return !held;
}

#include "tests/sim/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/world.h"

struct figures {
    double lead, fps, late_percent, stalled_percent, own_ms, others_ms, changes_per_minute, up_bytes,
        down_bytes;
    bool held;
};

/* Averages over the room's clients; fps is the slowest's. */
static void add_client(struct figures *f, const struct sim_client *c, unsigned clients) {
    const struct measure *m = &c->measure;
    const struct kl_client_stats *a = &m->at_start, *b = &c->lock.stats;
    double seconds = (double)(m->last_us - m->first_us) / 1e6, frames = (double)(b->next_run - a->next_run);
    if (seconds <= 0 || frames <= 0) return;
    double leads =
        fmax((double)(b->lead_count - a->lead_count), 1); /* none where frames close by the clock */
    f->lead += (double)(b->lead_sum - a->lead_sum) / leads / clients;
    if (frames / seconds < f->fps) f->fps = frames / seconds;
    f->late_percent += 100.0 * (double)(b->late_frames - a->late_frames) / frames / clients;
    f->stalled_percent += 100.0 * (double)m->stalled_turns / (double)m->turns / clients;
    f->own_ms += m->own_us / 1e3 / (double)(m->own ? m->own : 1) / clients;
    f->others_ms += m->others_us / 1e3 / (double)(m->others ? m->others : 1) / clients;
    f->up_bytes += (double)(b->sent_bytes - a->sent_bytes) / seconds / clients;
    f->down_bytes += (double)(b->received_bytes - a->received_bytes) / seconds / clients;
}

static struct figures measure(const struct cell *cell, uint64_t seed, FILE *log) {
    static struct scenario s;
    struct figures f = {.fps = 1e9};
    struct world *w = malloc(sizeof *w);
    if (!w) return f;
    scenario_cell(&s, cell, seed);
    f.held = world_run(w, &s, log, NULL, NULL);
    if (!f.held) printf("failed=1 %s\n", w->error);
    for (unsigned i = 0; i < cell->players; i++)
        add_client(&f, &w->client[i], cell->players);
    f.changes_per_minute = w->truth.changes_settled / ((double)(s.end_us - s.settled_us) / 6e7);
    free(w);
    return f;
}

static void print_head(void) {
    printf("%-4s %-6s %-5s %-7s %-7s %5s | %5s %7s %6s %8s %8s %9s %7s %6s %6s\n", "rtt", "jitter", "loss",
           "players", "phases", "bound", "lead", "fps", "late%", "stalled%", "own_ms", "others_ms", "chg/min",
           "up_B/s", "dn_B/s");
}

static void add_figures(struct figures *sum, const struct figures *f, double share) {
    sum->lead += f->lead * share;
    sum->fps += f->fps * share;
    sum->late_percent += f->late_percent * share;
    sum->stalled_percent += f->stalled_percent * share;
    sum->own_ms += f->own_ms * share;
    sum->others_ms += f->others_ms * share;
    sum->changes_per_minute += f->changes_per_minute * share;
    sum->up_bytes += f->up_bytes * share;
    sum->down_bytes += f->down_bytes * share;
    sum->held = sum->held && f->held;
}

/* The table's bound, of one lead for all; lockstep by the clock has none. */
static bool good_enough(const struct cell *c, const struct figures *f, int bound) {
    if (bound == 0 || f->lead == 0 || !c->subframes) return true;
    return f->lead <= bound + (c->aligned ? 0 : 1) + 0.005 && f->fps >= 59.9 / 60 * c->fps &&
           f->late_percent <= 0.2 && f->changes_per_minute <= 2;
}

/* The average over rooms of so many seeds from `seed` on. */
static bool print_row(const struct cell *c, int bound, uint64_t seed, uint64_t seeds, FILE *log) {
    struct figures f = {.held = true};
    for (uint64_t i = 0; i < seeds; i++) {
        struct figures one = measure(c, seed + i, log);
        add_figures(&f, &one, 1 / (double)seeds);
    }
    char limit[12] = "-";
    if (bound > 0) snprintf(limit, sizeof limit, "%d", bound);
    bool good = good_enough(c, &f, bound);
    printf("%-4g %-6g %-5g %-7u %-7s %5s | %5.2f %7.3f %6.3f %8.3f %8.2f %9.2f %7.2f %6.0f %6.0f%s\n",
           c->rtt_ms, c->jitter_ms, c->loss * 100, c->players, c->aligned ? "aligned" : "random", limit,
           f.lead, f.fps, f.late_percent, f.stalled_percent, f.own_ms, f.others_ms, f.changes_per_minute,
           f.up_bytes, f.down_bytes, good ? "" : " MISS");
    fflush(stdout);
    return f.held && good;
}

int cell_one(const struct cell *cell, bool log) {
    bool held = true;
    struct cell c = *cell;
    if (!log) print_head();
    for (unsigned aligned = 0; aligned < 2; aligned++)
        for (uint64_t seed = 1; seed <= (log || aligned ? 1 : 3); seed++) {
            c.aligned = aligned;
            if (!log || !aligned) held &= print_row(&c, 0, seed, 1, log ? stdout : NULL);
        }
    return !held;
}

int cell_table(const struct cell *like, uint64_t first, uint64_t seeds) {
    static const double rtt[] = {20, 50, 100, 150};
    static const double link[][2] = {{0, 0}, {5, 0}, {5, 0.01}, {10, 0.03}};
    static const int bound[2][4][4] = {{{2, 2, 3, 4}, {4, 4, 5, 6}, {7, 7, 8, 9}, {10, 10, 11, 12}},
                                       {{2, 3, 4, 5}, {4, 4, 6, 7}, {7, 7, 9, 10}, {10, 12, 12, 13}}};
    bool held = true;
    print_head();
    for (unsigned eight = 0; eight < 2; eight++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned k = 0; k < 4; k++)
                for (unsigned aligned = 0; aligned < 2; aligned++) {
                    struct cell c = *like;
                    c.rtt_ms = rtt[r];
                    c.jitter_ms = link[k][0];
                    c.loss = link[k][1];
                    c.players = eight ? 8 : 2;
                    c.aligned = aligned;
                    held &= print_row(&c, bound[eight][r][k], first, seeds, NULL);
                }
    return !held;
}

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
#define MOST        0.1   /* of the frames, in each window, that a liar may cost */
#define OWN_MOST_US 62500 /* a quarter of the limit */

static char line[512]; /* of the last liar */

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

struct harm {
    bool good;
    double score; /* 1: as much as is allowed, by the worst of the bounds; some more for the spacing */
};

/* The honest is client 1. */
static struct harm play_liar(struct world *w, const struct cell *like, const struct lie *lie) {
    static struct scenario s;
    struct cell c = *like;
    const uint8_t lead_max = KL_LEAD_MAX_USUAL;
    c.policy = KL_POLICY_BOUNDED;
    c.players = (unsigned)lie->is[LIE_PLAYERS];
    c.rtt_ms = lie->is[LIE_RTT];
    c.jitter_ms = lie->is[LIE_JITTER];
    c.seconds = LIES_S + LASTS_S;
    scenario_cell(&s, &c, 31);
    s.heavy = true; /* the pace is judged here */
    struct lied_to t = {.from_us = s.start_us + LIES_S * SECOND_US};
    unsigned liars = (unsigned)lie->is[LIE_LIARS];
    for (unsigned i = 0; i < liars; i++) {
        s.client[2 * i].lies_us = t.from_us;
        s.client[2 * i].lie = *lie;
    }
    s.params.lead_max = lead_max;
    bool held = trial_play(w, &s, watch_liar, &t);
    double found_s = t.found_us ? (double)(t.found_us - t.from_us) / 1e6 : -1, minute = worst_fps(&t, WINDOW_S),
           lost = (c.fps - minute) / c.fps / (MOST * liars), own = (double)t.own_us / OWN_MOST_US,
           mean = t.sum / fmax(t.turns, 1);
    struct harm h = {.good = held && lost <= 1 && own <= 1 && t.most <= lead_max};
    h.score = fmax(lost, own) + (h.good ? 0 : 1) + mean / lead_max / 10;
    char words[256];
    lie_write(lie, words, sizeof words);
    snprintf(line, sizeof line, "%5.2f | %6.2f %6.2f %6u %4u | %5.2f %4u | %7.2f %8llu | %s%s", h.score, minute,
             worst_fps(&t, 10), t.stalls, t.own_us / 1000, mean, t.most, found_s,
             (unsigned long long)w->truth.ref.client[0].absences, words, h.good ? "" : " MISS");
    return h;
}

static void head(void) {
    puts(" harm | fps of 60 s, of 10 s, stalls, own ms | spacing: mean most | found_s absences | lie");
}

static bool show(struct harm h) {
    puts(line);
    fflush(stdout);
    return h.good;
}

int trial_lie(const struct cell *like, const char *words) {
    struct lie lie;
    struct world *w = malloc(sizeof *w);
    if (!w || !lie_read(&lie, words)) return 2;
    head();
    bool held = show(play_liar(w, like, &lie));
    free(w);
    return !held;
}

int trial_liar(const struct cell *like) {
    static const int rtt_ms[] = {10, 50}, hold_ms[] = {-8, 0, 10, 20, 30, 33, 40, 60, 140, 170, 240, 300};
    static const char *const kinds[] = {"held=1", "held=1,near=1", "need=254"};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    head();
    for (unsigned cell = 0; cell < 3 * 4; cell++) {
        struct lie lie;
        (void)lie_read(&lie, kinds[cell / 4]);
        lie.is[LIE_PLAYERS] = 2 + cell / 2 % 2;
        lie.is[LIE_RTT] = rtt_ms[cell % 2];
        unsigned holds = lie.is[LIE_HELD] ? sizeof hold_ms / sizeof *hold_ms : 1;
        for (unsigned h = 0; h < holds; h++) {
            lie.is[LIE_HOLD] = hold_ms[h];
            held &= show(play_liar(w, like, &lie));
        }
    }
    free(w);
    return !held;
}

/* Liars at random, and then the worst of them, changed here and there, as long as that hurts more. */
int trial_search(const struct cell *like, uint64_t seed, uint64_t count) {
    struct rng r = {seed * 0x9e3779b97f4a7c15u + 23};
    struct lie worst, now;
    double most = -1;
    uint64_t missed = 0;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    head();
    for (uint64_t i = 0; i < count; i++) {
        bool climbs = most >= 0 && i >= count / 3;
        if (climbs) {
            now = worst;
            lie_change(&now, &r);
        } else {
            lie_draw(&now, &r);
        }
        struct harm h = play_liar(w, like, &now);
        missed += !h.good;
        if (h.score > most || !h.good) show(h);
        if (h.score <= most) continue;
        most = h.score;
        worst = now;
    }
    free(w);
    printf("search: liars=%llu seed=%llu failed=%llu most=%.2f\n", (unsigned long long)count,
           (unsigned long long)seed, (unsigned long long)missed, most);
    return missed > 0;
}

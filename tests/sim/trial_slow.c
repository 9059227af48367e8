/* Players who cannot keep pace. */
#include "net/session/command_words.h"
#include "tests/sim/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/trial_tools.h"

#define SECOND_US 1000000u
#define SLOW_S    10.0 /* from then on */
#define SLOW_END  70.0

struct slow {
    uint64_t from_us, last_us;
    uint32_t frames;         /* that the other ran since then */
    uint32_t frames_1s;      /* frames in the first second */
    uint16_t most, before;   /* spacing */
    double sum, turns, held; /* of the spacing by turn; turns for which the room knows who holds it up */
};

static void watch_slow(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct slow *t = w->probed;
    uint16_t n = (uint16_t)w->truth.ref.now.at.length;
    if (client != 1) return;
    if (w->now_us < t->from_us) {
        t->before = n;
        return;
    }
    t->frames += plan->runs;
    if (w->now_us < t->from_us + SECOND_US) t->frames_1s += plan->runs;
    t->last_us = w->now_us;
    t->turns++;
    t->sum += n;
    t->held += kl_lock_holds_up(&w->room, 0);
    if (n > t->most) t->most = n;
}

struct slow_kind {
    const char *name;
    uint8_t policy;
    double calls_hz, cost; /* frontend, or machine: share of a frame time */
    unsigned max_runs;
};

static bool play_slow(struct world *w, const struct slow_kind *k, const struct cell *like, double rtt_ms,
                      double jitter_ms) {
    static struct scenario s;
    struct cell c = *like;
    c.policy = k->policy;
    c.players = 2;
    c.rtt_ms = rtt_ms;
    c.jitter_ms = jitter_ms;
    c.seconds = SLOW_END;
    scenario_cell(&s, &c, 31);
    s.held_frames = (uint32_t)(SLOW_END * c.fps) + 4 * KL_WINDOW_FRAMES;
    struct slow t = {.from_us = s.start_us + (uint64_t)(SLOW_S * 1e6)};
    s.client[0].max_runs = k->max_runs;
    s.client[0].paced = false; /* the row says how many */
    if (k->cost > 0) s.client[0].frame_us = (uint32_t)(k->cost * 1e6 / c.fps);
    if (k->calls_hz > 0)
        trial_add_happening(&s, (struct happening){.at_us = t.from_us,
                                                   .kind = HAPPEN_CALLS,
                                                   .tick_us = (uint32_t)(1e6 / k->calls_hz),
                                                   .length_us = (uint64_t)((SLOW_END - SLOW_S) * 1e6)});
    bool held = trial_play(w, &s, watch_slow, &t);
    double seconds = (double)(t.last_us - t.from_us - SECOND_US) / 1e6,
           fps = (t.frames - t.frames_1s) / fmax(seconds, 1), own = c.fps / fmax(k->cost, 1);
    unsigned bound = (unsigned)floor((rtt_ms + jitter_ms) * c.fps / 1000) + 1;
    bool bounded = k->policy == KL_POLICY_BOUNDED;
    uint64_t absences = w->truth.ref.client[0].absences;
    /* a machine that is found after a while slows the room until then; strict rooms go at its pace */
    double least = bounded ? (k->cost > 0 ? 59 : 58.5) : own - 0.3;
    unsigned limit = bound + 1 + (k->cost >= 1.1); /* of much slower machines some is left: quarters round */
    bool known = t.held > 0 || (k->calls_hz > 0 && k->calls_hz < 6.6); /* those are away by their own word */
    bool good =
        held && t.most <= limit && fps >= least && (!bounded || absences > 0) && absences <= 8 && known;
    printf("%-10s %-26s %-4g %-6g | %6.2f %9u | %5.2f %4u %5u | %8llu %8.0f%s\n", kl_policy_name(k->policy),
           k->name, rtt_ms, jitter_ms, fps, t.frames_1s, t.sum / fmax(t.turns, 1), t.most, limit,
           (unsigned long long)absences, 100 * t.held / fmax(t.turns, 1), good ? "" : " MISS");
    fflush(stdout);
    return good;
}

int trial_slow(const struct cell *like) {
    static const struct slow_kind kind[] = {
        {"calls at 5 Hz", KL_POLICY_BOUNDED, 5, 0, 8},
        {"calls at 8 Hz", KL_POLICY_BOUNDED, 8, 0, 8},
        {"calls at 8 Hz, 3 at a time", KL_POLICY_BOUNDED, 8, 0, 3},
        {"calls at 10 Hz", KL_POLICY_BOUNDED, 10, 0, 8},
        {"a frame costs 1.05, 1 a call", KL_POLICY_BOUNDED, 0, 1.05, 1},
        {"a frame costs 1.05, 2 a call", KL_POLICY_BOUNDED, 0, 1.05, 2},
        {"a frame costs 1.05, 8 a call", KL_POLICY_BOUNDED, 0, 1.05, 8},
        {"a frame costs 1.05, 1 a call", KL_POLICY_STRICT, 0, 1.05, 1},
        {"a frame costs 1.05, 2 a call", KL_POLICY_STRICT, 0, 1.05, 2},
        {"a frame costs 1.05, 8 a call", KL_POLICY_STRICT, 0, 1.05, 8},
        {"a frame costs 1.2, 2 a call", KL_POLICY_STRICT, 0, 1.2, 2},
    };
    static const double link[][2] = {{0.1, 0}, {20, 5}, {50, 0}};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("policy     who                        rtt  jitter | fps    first_1s  | spacing: mean most limit | "
         "absences "
         "known%");
    for (unsigned l = 0; l < 3; l++)
        for (unsigned k = 0; k < sizeof kind / sizeof *kind; k++)
            held &= play_slow(w, &kind[k], like, link[l][0], link[l][1]);
    free(w);
    return !held;
}

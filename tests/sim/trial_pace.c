/* Frontends and cores of unlike rates.
 *
 * The room's schedule is the core's rate, and follows frames that close late (PROTOCOL.md §6). So where a
 * display is a little slower than the core (59.94 Hz, 60.0988 fps), one of two things happens, and either is
 * well: with no frame of lead to spare the room comes to run at the slowest display's rate, and nobody's call
 * has two frames; with one to spare (that the link's jitter asks for, or a faster display's phases) it keeps
 * the core's, and the slow display has two frames in a call each time the drift amounts to one. Never slower
 * than the slowest display, and, on displays of 59.94 Hz and more, never half a percent under the core. A
 * core that changes its rate in play is judged from a second after the change on: what was under way then has
 * the old rate's times. */
#include "tests/sim/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/engine/lock_relay.h"

#define SETTLED_S   30
#define PACE_S      630
#define FPS_EXACT   0.0002 /* of the rate: a frame or two of those of ten minutes */
#define DRAG_MOST   0.005
#define MOST_STALLS 0.002 /* of the frames */

struct calls {
    uint64_t all, none, several, frames, stalls;
    unsigned gap;
    uint64_t gaps[16]; /* calls between two frames: how often */
};
struct pace {
    uint32_t from; /* judged from this frame on */
    uint64_t first_us, last_us;
    uint32_t first, last; /* frames closed */
    struct calls calls[2];
};

static void watch_pace(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct pace *p = w->probed;
    struct calls *c = &p->calls[client];
    if (w->truth.next < p->from) return;
    if (!p->first_us) {
        p->first_us = w->now_us;
        p->first = w->truth.next;
    }
    p->last_us = w->now_us;
    p->last = w->truth.next;
    c->all++;
    c->none += plan->runs == 0;
    c->several += plan->runs > 1;
    c->frames += plan->runs;
    c->stalls += plan->stalled;
    c->gap++;
    if (plan->runs == 0) return;
    c->gaps[c->gap < 15 ? c->gap : 15]++;
    c->gap = 0;
}

static double fps_of(const struct pace *p) {
    return (p->last - p->first) / ((double)(p->last_us - p->first_us) / 1e6);
}

static uint64_t odd_gaps(const struct calls *c, double tick, double fps) {
    unsigned low = (unsigned)floor(tick / fps), high = (unsigned)ceil(tick / fps - 1e-9);
    uint64_t odd = 0;
    for (unsigned g = 1; g < 16; g++)
        if (g < low || g > high + (low == high)) odd += c->gaps[g];
    return odd;
}

/* One frontend: calls without a frame or with two, beside those that its drift against the room asks for. A
 * frame that the link made late costs a call without one, and later one with two. */
static bool judge_calls(const struct calls *c, double tick, double fps, bool spare) {
    double drift = (tick - fps) * (double)c->all / tick, slack = 2 + (double)c->stalls;
    double none = fmax(drift, 0), several = fmax(-drift, 0);
    bool good = (double)c->none <= none + slack && (double)c->several <= several + slack &&
                (double)c->stalls <= MOST_STALLS * (double)c->frames && !(spare && c->stalls);
    printf("%-6g | %-6llu %-6llu %-6llu %-9.0f %-4llu %-8.0f %-6llu %-8llu%s", tick,
           (unsigned long long)c->all, (unsigned long long)c->frames, (unsigned long long)c->none, none,
           (unsigned long long)c->several, several, (unsigned long long)c->stalls,
           (unsigned long long)odd_gaps(c, tick, fps), good ? "" : " MISS");
    return good;
}

enum { STEADY, WOBBLY, WOBBLY_SPARE };
struct pace_row {
    double tick[2], core;
    double becomes; /* the core's rate, once the room has settled; 0: it stays */
    unsigned how;
};

/* As the wrapper tells it: each player's core changes at that frame, and each says so a moment later. */
static void change_rate(struct scenario *s, double fps, uint32_t frame) {
    double at_s = frame * 1e6 / s->params.fps_uhz + 0.15;
    s->rate_from = frame;
    s->rate_uhz = (uint32_t)(fps * 1e6);
    for (uint8_t i = 0; i < 2; i++) {
        struct happening h = {
            .at_us = s->start_us + (uint64_t)(at_s * 1e6), .kind = HAPPEN_ORDER, .client = i};
        h.order = (struct kl_command){.kind = KL_COMMAND_RATE, .len = 4};
        for (unsigned b = 0; b < 4; b++)
            h.order.data[b] = (uint8_t)(s->rate_uhz >> 8 * b);
        trial_add_happening(s, h);
    }
}

static bool print_pace(const struct pace *p, const struct pace_row *row) {
    static const char *const how[] = {"steady", "wobble 2 ms, jitter 5 ms", "the same, lead to spare"};
    double core = row->becomes > 0 ? row->becomes : row->core;
    double fps = fps_of(p), slowest = fmin(core, fmin(row->tick[0], row->tick[1]));
    bool kept =
        fps >= slowest * (1 - FPS_EXACT) && fps <= core * (1 + FPS_EXACT) && fps >= core * (1 - DRAG_MOST);
    bool mixed = row->tick[0] != row->tick[1];
    for (unsigned n = 0; n < (mixed ? 2 : 1); n++) {
        printf("%-8g %-8.4f%s | ", core, fps, kept ? "" : " MISS");
        kept &= judge_calls(&p->calls[n], row->tick[n], fps, row->how == WOBBLY_SPARE);
        printf(" | %s%s", how[row->how], mixed ? ", mixed" : "");
        if (row->becomes > 0) printf(", was %g", row->core);
        puts("");
    }
    fflush(stdout);
    return kept;
}

static bool play_pace(struct world *w, const struct cell *like, const struct pace_row *row) {
    static struct scenario s;
    struct cell c = *like;
    c.players = 2;
    c.rtt_ms = 50;
    c.jitter_ms = row->how == STEADY ? 0 : 5;
    c.fps = row->core;
    c.seconds = PACE_S;
    scenario_cell(&s, &c, 1);
    for (unsigned n = 0; n < 2; n++) {
        s.client[n].tick_us = 1e6 / row->tick[n];
        s.client[n].tick_jitter_us = row->how == STEADY ? 0 : 2000;
    }
    if (row->how == WOBBLY_SPARE) s.params.spacing_fixed = 8; /* the pace alone */
    struct pace p = {.from = (uint32_t)(SETTLED_S * row->core)};
    if (row->becomes > 0) {
        change_rate(&s, row->becomes, p.from);
        p.from += (uint32_t)row->becomes;
    }
    bool held = trial_play(w, &s, watch_pace, &p);
    return print_pace(&p, row) && held;
}

int trial_pace(const struct cell *like) {
    static const double alike[] = {59.94, 60, 120, 144}, mixed[][2] = {{59.94, 144}, {60, 59.94}, {60, 120}},
                        core[] = {59.1856, 60, 60.0988, 50.007};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("core     room_fps | tick   | calls  frames none   due(none) two  due(two) stalls odd_gaps | phase");
    for (unsigned k = 0; k < 4; k++)
        for (unsigned how = STEADY; how <= WOBBLY_SPARE; how++) {
            for (unsigned i = 0; i < 4; i++)
                held &= play_pace(w, like, &(struct pace_row){{alike[i], alike[i]}, core[k], 0, how});
            for (unsigned i = 0; i < 3 && (k == 1 || k == 2); i++)
                held &= play_pace(w, like, &(struct pace_row){{mixed[i][0], mixed[i][1]}, core[k], 0, how});
        }
    for (unsigned i = 0; i < 4; i++)
        for (unsigned slower = 0; slower < 2; slower++)
            held &= play_pace(w, like,
                              &(struct pace_row){.tick = {alike[i], alike[i]},
                                                 .core = slower ? 60.0988 : 50.007,
                                                 .becomes = slower ? 50.007 : 60.0988,
                                                 .how = slower ? STEADY : WOBBLY});
    free(w);
    return !held;
}

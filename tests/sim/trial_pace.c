/* Frontends and cores of unlike rates.
 *
 * The room's schedule is the core's rate, and follows frames that close late (PROTOCOL.md §6). So where a
 * display is a little slower than the core (59.94 Hz, 60.0988 fps), one of two things happens, and either is
 * well: with no frame of lead to spare the room comes to run at the slowest display's rate, and nobody's call
 * has two frames; with one to spare (that the link's jitter asks for, or a faster display's phases) it keeps
 * the core's, and the slow display has two frames in a call each time the drift amounts to one. Never slower
 * than the slowest display, and, on displays of 59.94 Hz and more, never half a percent under the core. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "trial_tools.h"

#define SETTLED_US  30000000u
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
    uint64_t from_us, first_us, last_us;
    uint32_t first, last; /* frames closed */
    struct calls calls[2];
};

static void watch_pace(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct pace *p = w->probed;
    struct calls *c = &p->calls[client];
    if (w->now_us < p->from_us) return;
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

static bool play_pace(struct world *w, const struct cell *like, const double tick[2], double core,
                      unsigned wobble) {
    static const char *const how[] = {"steady", "wobble 2 ms, jitter 5 ms", "the same, lead to spare"};
    static struct scenario s;
    struct cell c = *like;
    c.players = 2;
    c.rtt_ms = 50;
    c.jitter_ms = wobble ? 5 : 0;
    c.fps = core;
    c.seconds = PACE_S;
    scenario_cell(&s, &c, 1);
    for (unsigned n = 0; n < 2; n++) {
        s.client[n].tick_us = 1e6 / tick[n];
        s.client[n].tick_jitter_us = wobble ? 2000 : 0;
    }
    if (wobble == 2) s.params.spacing_fixed = 8; /* the pace alone */
    struct pace p = {.from_us = s.start_us + SETTLED_US};
    bool held = trial_play(w, &s, watch_pace, &p);
    double fps = fps_of(&p), slowest = fmin(core, fmin(tick[0], tick[1]));
    bool kept =
        fps >= slowest * (1 - FPS_EXACT) && fps <= core * (1 + FPS_EXACT) && fps >= core * (1 - DRAG_MOST);
    for (unsigned n = 0; n < (tick[0] == tick[1] ? 1 : 2); n++) {
        printf("%-8g %-8.4f%s | ", core, fps, kept ? "" : " MISS");
        kept &= judge_calls(&p.calls[n], tick[n], fps, wobble == 2);
        printf(" | %s%s\n", how[wobble], n || tick[0] != tick[1] ? ", mixed" : "");
    }
    fflush(stdout);
    return held && kept;
}

int trial_pace(const struct cell *like) {
    static const double tick[][2] = {{59.94, 59.94}, {60, 60}, {120, 120}, {144, 144}},
                        mixed[][2] = {{59.94, 144}, {60, 59.94}, {60, 120}},
                        core[] = {59.1856, 60, 60.0988, 50.007};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("core     room_fps | tick   | calls  frames none   due(none) two  due(two) stalls odd_gaps | phase");
    for (unsigned k = 0; k < 4; k++)
        for (unsigned wobble = 0; wobble < 3; wobble++) {
            for (unsigned i = 0; i < 4; i++)
                held &= play_pace(w, like, tick[i], core[k], wobble);
            for (unsigned i = 0; i < 3 && (k == 1 || k == 2); i++)
                held &= play_pace(w, like, mixed[i], core[k], wobble);
        }
    free(w);
    return !held;
}

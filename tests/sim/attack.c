#include "tests/sim/attack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US UINT64_C(1000000)
#define LIES_S    10
#define LASTS_S   110
#define LOST_60S                                                                                             \
    0.1 /* of the core's frames, for each liar: the most that a window may lack, of 60 s and of 10 s */
#define LOST_10S    0.2   /* of 10 s: twice the limit, a sixteenth, and a lead that becomes longer */
#define OWN_MOST_US 62500 /* a quarter of the limit */
#define MORE_MOST                                                                                            \
    3.0 /* frames of lead on average that a lie costs which does not make the link look longer */
#define DOWN_UP_MOST 10
#define HEADER_BYTES 50 /* of a datagram: UDP, IP, seal */
#define SEED         31

struct watched {
    uint64_t from_us;
    unsigned liars, honest;   /* clients; honest: the one whose frames count */
    uint32_t frames[LASTS_S]; /* by second */
    uint64_t found_us;
    uint16_t before;                     /* the spacing */
    double sum, turns;                   /* of the spacing by turn */
    uint64_t up[LASTS_S], down[LASTS_S]; /* bytes of the first liar, by second */
    struct damage d;
};

static void watch(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct watched *t = w->probed;
    uint16_t n = (uint16_t)w->truth.ref.now.at.length;
    uint64_t second = (w->now_us - t->from_us) / SECOND_US;
    if (client == 0 && w->now_us >= t->from_us && second < LASTS_S) {
        const struct kl_client_stats *l = &w->client[0].lock.stats;
        t->up[second] = l->sent_bytes + HEADER_BYTES * l->sent_datagrams;
        t->down[second] = l->received_bytes + HEADER_BYTES * l->received_datagrams;
    }
    if (client < t->liars) return;
    if (w->now_us < t->from_us) {
        t->before = n;
        return;
    }
    if (w->room.client[client].cost_us > t->d.own_us) t->d.own_us = w->room.client[client].cost_us;
    if (client != t->honest) return;
    if (second < LASTS_S) t->frames[second] += plan->runs;
    t->d.stalls += plan->stalled;
    t->turns++;
    t->sum += n;
    if (n > t->d.spacing_most) t->d.spacing_most = n;
    for (unsigned i = 0; i < t->liars; i++)
        if (t->found_us == 0 && kl_lock_holds_up(&w->room, i)) t->found_us = w->now_us;
}

/* Frames a second in the worst window of so many seconds. */
static double worst_fps(const struct watched *t, unsigned window_s) {
    double worst = INFINITY;
    for (unsigned from = 0; from + window_s <= LASTS_S; from++) {
        double frames = 0;
        for (unsigned i = from; i < from + window_s; i++)
            frames += t->frames[i];
        worst = fmin(worst, frames / window_s);
    }
    return worst;
}

/* A liar that is cut counts anew: such windows are not judged. */
static double worst_down_up(const struct watched *t) {
    double worst = 0;
    for (unsigned from = 0; from + 10 < LASTS_S; from++) {
        double up = (double)t->up[from + 10] - (double)t->up[from],
               down = (double)t->down[from + 10] - (double)t->down[from];
        if (up > 0 && down > 0) worst = fmax(worst, down / up);
    }
    return worst;
}

/* Nobody can tell it from a client with a longer or a worse link. */
static bool acts_far(const struct lie *l) {
    static const enum lie_number far[] = {LIE_RESUME, LIE_DROPS, LIE_NUMBER};
    for (unsigned i = 0; i < sizeof far / sizeof *far; i++)
        if (l->is[far[i]]) return true;
    /* acknowledgements that are held back are a way down with jitter */
    return l->is[LIE_HOLD_US] && (l->is[LIE_FRESH] < 100 || l->is[LIE_NEEDS]);
}

static double judge(const struct watched *t, const struct scenario *s, double fps) {
    const struct damage *d = &t->d;
    unsigned liars = t->liars;
    double worst =
        fmax((1 - d->fps_60s / fps) / (LOST_60S * liars), (1 - d->fps_10s / fps) / (LOST_10S * liars));
    worst = fmax(worst, (double)d->own_us / OWN_MOST_US);
    worst = fmax(worst, d->down_up / DOWN_UP_MOST);
    if (d->spacing_most > s->params.lead_max)
        worst = fmax(worst, (double)d->spacing_most / s->params.lead_max);
    if (!acts_far(&s->client[0].lie)) worst = fmax(worst, (d->spacing - t->before) / MORE_MOST);
    return d->put_out || !d->held ? fmax(worst, 2) : worst;
}

struct damage attack_play(struct world *w, const struct cell *like, const struct attack *a) {
    static struct scenario s;
    struct cell c = *like;
    c.policy = KL_POLICY_BOUNDED;
    c.players = a->players;
    c.rtt_ms = a->rtt_ms;
    c.jitter_ms = a->jitter_ms;
    c.seconds = LIES_S + LASTS_S;
    scenario_cell(&s, &c, SEED);
    s.heavy = true; /* the pace is judged here */
    s.params.lead_max = KL_LEAD_MAX_USUAL;
    struct watched t = {
        .from_us = s.start_us + LIES_S * SECOND_US, .liars = a->liars, .honest = a->players - 1};
    for (unsigned i = 0; i < a->liars; i++) {
        struct lie lie = a->lie;
        lie.from_us = t.from_us;
        lie.phase_us = i * UINT64_C(500) * (uint64_t)(lie.is[LIE_ON_MS] + lie.is[LIE_OFF_MS]);
        scenario_lie(&s, i, &lie);
    }
    t.d.held = world_run(w, &s, NULL, watch, &t);
    t.d.fps_10s = worst_fps(&t, 10);
    t.d.fps_60s = worst_fps(&t, 60);
    t.d.down_up = worst_down_up(&t);
    t.d.spacing = t.sum / fmax(t.turns, 1);
    t.d.found_s = t.found_us ? (double)(t.found_us - t.from_us) / 1e6 : -1;
    t.d.absences = w->truth.ref.client[0].absences;
    for (unsigned i = a->liars; i < a->players; i++)
        t.d.put_out += w->truth.ref.client[i].absences > 0;
    t.d.worst = judge(&t, &s, c.fps);
    return t.d;
}

bool attack_read(struct attack *a, const char *spec) {
    char name[16];
    int value, used;
    for (; *spec; spec += used) {
        if (sscanf(spec, "%15[a-z]=%d%n", name, &value, &used) != 2) return false;
        if (spec[used] == ',') used++;
        if (strcmp(name, "players") == 0)
            a->players = (unsigned)value;
        else if (strcmp(name, "liars") == 0)
            a->liars = (unsigned)value;
        else if (strcmp(name, "rtt") == 0)
            a->rtt_ms = value;
        else if (strcmp(name, "jitter") == 0)
            a->jitter_ms = value;
        else if (!lie_read(&a->lie, name, value))
            return false;
    }
    return a->liars >= 1 && a->liars < a->players && a->players <= KL_MAX_SEATS && a->rtt_ms >= 0;
}

void attack_write(const struct attack *a, char *out, size_t cap) {
    char lie[320];
    lie_write(&a->lie, lie, sizeof lie);
    snprintf(out, cap, "players=%u,liars=%u,rtt=%d,jitter=%d%s%s", a->players, a->liars, a->rtt_ms,
             a->jitter_ms, *lie ? "," : "", lie);
}

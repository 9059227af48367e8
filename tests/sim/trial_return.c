#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/trial.h"
#include "tests/sim/world.h"

#define SECOND_US   1000000u
#define AT_S        40.0
#define BUDGET_MS   250
#define SESSION_S   0.1 /* from the end of the outage to the new session */
#define LOADS_S     3.0 /* a newcomer's process, at most */
#define NO_STALL_MS 34  /* two frames: what a lost datagram costs now and then */

/* The cost of a player who goes away and comes back, or joins the game, to the others; and the time until
 * they are one of them. */
struct absence {
    uint64_t from_us, back_us, until_us;
    double paid_ms[KL_MAX_CLIENTS]; /* stalled from the beginning on, until then */
    double longest_ms[KL_MAX_CLIENTS],
        ms[KL_MAX_CLIENTS]; /* the longest stall in one piece; the one under way */
    uint64_t run_us, in_us[KL_MAX_CLIENTS];
    bool all;      /* the relay died: everybody is one who comes back */
    uint32_t next; /* frames closed when it began */
};

static void watch(struct world *w, unsigned client, const struct kl_plan *plan) {
    struct absence *a = w->probed;
    const struct sim_client *c = &w->client[client];
    const struct ref_client *r = &w->truth.ref.client[client];
    if (w->now_us < a->from_us) a->next = w->truth.next;
    if (w->now_us < a->from_us) return;
    bool other = (client != 0 || a->all) && w->now_us < a->until_us;
    a->ms[client] = plan->stalled ? a->ms[client] + c->setting->tick_us / 1e3 : 0;
    if (other && plan->stalled) a->paid_ms[client] += c->setting->tick_us / 1e3;
    if (other && a->ms[client] > a->longest_ms[client]) a->longest_ms[client] = a->ms[client];
    if (w->now_us < a->back_us) return;
    uint32_t behind = w->truth.next - c->lock.stats.next_run;
    if (client == 0 && !a->run_us && !c->dead && behind < 3u * KL_SPACING_MAX) a->run_us = w->now_us;
    bool counts = r->presence == REF_PRESENT && r->counted_from != REF_NEVER && r->link == REF_UP;
    if (!a->in_us[client] && counts) a->in_us[client] = w->now_us;
}

static double most_of(const double *of, unsigned players) {
    double most = 0;
    for (unsigned i = 0; i < players; i++)
        most = fmax(most, of[i]);
    return most;
}

static double last_in_s(const struct absence *a, unsigned players) {
    double last = 0;
    for (unsigned i = 0; i < (a->all ? players : 1); i++) {
        if (!a->in_us[i]) return INFINITY;
        last = fmax(last, (double)(a->in_us[i] - a->back_us) / 1e6);
    }
    return last;
}

#define JOINS 0xff /* in place of what happens: the first client comes when the game is on */

static void arrange(struct scenario *s, struct absence *a, uint8_t kind, double seconds) {
    if (kind == JOINS) {
        s->client[0].joins_us = s->start_us + (uint64_t)(seconds * 1e6);
        *a = (struct absence){.from_us = s->client[0].joins_us, .back_us = s->client[0].joins_us};
        a->until_us = a->back_us + 30 * SECOND_US; /* it plays long before */
        return;
    }
    struct happening h = {.at_us = s->start_us + (uint64_t)(AT_S * 1e6),
                          .kind = kind,
                          .length_us = (uint64_t)(seconds * 1e6),
                          .notice_us = 2 * SECOND_US,
                          .session_us = (uint64_t)(SESSION_S * 1e6),
                          .hold_us = 3 * SECOND_US,
                          .offset_us = 123456789};
    *a = (struct absence){.from_us = h.at_us, .back_us = h.at_us + h.length_us, .all = kind == HAPPEN_RELAY};
    a->until_us = a->back_us + 10 * SECOND_US;
    s->happening[s->happenings++] = h;
}

/* Bounded and optimistic: nobody pays more than the wait budget and a round trip. Strict pays all of it, and
 * after a relay's death everybody does; then the game goes on within two seconds. A new process has the game
 * to run from its beginning. A newcomer costs nobody anything, under any policy. */
static bool row(struct world *w, const struct cell *c, uint8_t kind, double seconds) {
    static const char *const policy[] = {"strict", "bounded", "optimistic"};
    static struct scenario s;
    struct absence a;
    scenario_cell(&s, c, 21 + kind);
    arrange(&s, &a, kind, seconds);
    bool held = world_run(w, &s, NULL, watch, &a);
    if (!held) printf("failed=1 %s\n", w->error);
    double paid = most_of(a.longest_ms, c->players), in_s = last_in_s(&a, c->players);
    double run = 1e6 / s.client[0].tick_us * s.client[0].max_runs - c->fps;
    double missed = kind == HAPPEN_KILL ? AT_S + seconds : kind == HAPPEN_RELAY ? 0 : seconds;
    double in_most = kind == HAPPEN_RELAY ? 4 : 2 + missed * c->fps / run + (kind == JOINS ? LOADS_S : 0);
    bool waits = kind == HAPPEN_RELAY || (c->policy == KL_POLICY_STRICT && kind != JOINS);
    double most = waits ? seconds * 1e3 + in_most * 1e3 : BUDGET_MS + c->rtt_ms + 30;
    if (kind == JOINS) most = NO_STALL_MS;
    bool good = held && paid <= most && in_s <= in_most;
    printf("%-10s %-6s %7g %7u | %15.0f %14.0f | %9.2f %9.2f (%.2f)%s\n", policy[c->policy],
           kind == HAPPEN_CUT    ? "link"
           : kind == HAPPEN_KILL ? "player"
           : kind == JOINS       ? "joins"
                                 : "relay",
           seconds, c->players, paid, most_of(a.paid_ms, c->players),
           a.run_us ? (double)(a.run_us - a.back_us) / 1e6 : -1, in_s, in_most, good ? "" : " MISS");
    fflush(stdout);
    return good;
}

int trial_return(const struct cell *like) {
    static const double outage[] = {3, 10, 30};
    bool good = true;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    puts("policy     lost   seconds players | longest_stall_ms all_stalls_ms | ran_all_s counts_s (most)");
    for (uint8_t policy = KL_POLICY_STRICT; policy <= KL_POLICY_OPTIMISTIC; policy++)
        for (unsigned k = 0; k < 4; k++)
            for (unsigned i = 0; i < 3; i++) {
                uint8_t kind = k < 3 ? (uint8_t)(HAPPEN_CUT + k) : JOINS;
                struct cell c = *like;
                c.policy = policy;
                c.players = 4;
                c.rtt_ms = 60;
                c.jitter_ms = 5;
                c.loss = 0.01;
                double seconds = kind == HAPPEN_RELAY ? outage[i] / 3
                                 : kind == JOINS      ? 40 * (i + 1)
                                                      : outage[i];
                c.seconds = AT_S + seconds + 30;
                good = row(w, &c, kind, seconds) && good;
            }
    free(w);
    return !good;
}

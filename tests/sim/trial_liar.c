/* Players who lie (lie.h, attack.h): those whose lies are known, and a search for worse ones. */
#include "tests/sim/trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/attack.h"

static void show(const struct attack *a, const struct damage *d, const char *error) {
    char spec[400];
    attack_write(a, spec, sizeof spec);
    printf("%5.2f | %6.2f %6.2f %6u %4u | %5.2f %4u | %7.2f %8llu %7u | %s%s %s\n", d->worst, d->fps_60s,
           d->fps_10s, d->stalls, d->own_us / 1000, d->spacing, d->spacing_most, d->found_s,
           (unsigned long long)d->absences, d->put_out, spec, d->worst > 1 ? " MISS" : "",
           d->held ? "" : error);
    fflush(stdout);
}

static const char head[] =
    "worst | fps of 60 s, of 10 s, stalls, own ms | spacing: mean most | found_s absences "
    "honest_put_out | lie";

int trial_liar(const struct cell *like, const char *spec) {
    static const int rtt_ms[] = {10, 50}, hold_us[] = {-8000, 1,     10000,  20000,  30000,  33000,
                                                       40000, 60000, 140000, 170000, 240000, 300000};
    bool held = true;
    struct world *w = malloc(sizeof *w);
    struct attack a = {.players = 2, .liars = 1, .rtt_ms = 10, .jitter_ms = 2};
    if (!w || (spec && !attack_read(&a, spec))) {
        free(w);
        return 2;
    }
    puts(head);
    for (unsigned cell = 0; cell < (spec ? 1 : 3 * 4); cell++) {
        unsigned kind = cell / 4, holds = spec || kind == 2 ? 1 : sizeof hold_us / sizeof *hold_us;
        for (unsigned h = 0; h < holds; h++) {
            if (!spec) a = (struct attack){2 + cell / 2 % 2, 1, rtt_ms[cell % 2], 2, {0}};
            if (!spec && kind < 2) a.lie.is[LIE_HOLD_US] = hold_us[h];
            if (!spec && kind == 1) a.lie.is[LIE_FRESH] = 100;
            if (!spec && kind == 2) a.lie.is[LIE_NEEDS] = 254;
            struct damage d = attack_play(w, like, &a);
            show(&a, &d, w->error);
            held &= d.worst <= 1;
        }
    }
    free(w);
    return !held;
}

/* --- the search --------------------------------------------------------------------------------------------
 */

/* Found by the search, and mended. */
static const char *const known[] = {
    "players=4,rtt=51,hold=270154,away=646", /* who says "away" before the sum is full had half of it paid */
    "players=3,rtt=90,needs=254", /* a need was as great as the round trip of its acknowledgement made it */
};
#define KNOWN (sizeof known / sizeof *known)

static struct attack draw(struct rng *r) {
    struct attack a = {.players = rng_range(r, 2, 4), .liars = 1, .rtt_ms = (int)rng_range(r, 5, 100)};
    if (a.players > 2 && rng_chance(r, 0.3)) a.liars = 2;
    a.jitter_ms = (int)rng_range(r, 0, 4);
    lie_draw(&a.lie, r);
    return a;
}

#define KEPT 4 /* the worst so far, of which the next ones are made */

int trial_search(const struct cell *like, uint64_t seed, uint64_t rooms) {
    struct rng seeds = {seed * 0x9e3779b97f4a7c15u + 29}, r = rng_fork(&seeds);
    struct {
        struct attack a;
        struct damage d;
    } kept[KEPT] = {0};
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    bool held = true;
    puts(head);
    for (uint64_t n = 0; n < rooms; n++) {
        struct attack a = draw(&r);
        unsigned of = rng_range(&r, 0, KEPT - 1);
        if (2 * n >= rooms && kept[of].a.players) {
            a = kept[of].a;
            lie_change(&a.lie, &r);
        }
        if (n < KNOWN) {
            a = (struct attack){.players = 2, .liars = 1, .rtt_ms = 10, .jitter_ms = 2};
            attack_read(&a, known[n]);
        }
        struct damage d = attack_play(w, like, &a);
        unsigned least = 0;
        for (unsigned i = 1; i < KEPT; i++)
            if (kept[i].d.worst < kept[least].d.worst) least = i;
        if (d.worst > 1) show(&a, &d, w->error);
        held &= d.worst <= 1;
        if (d.worst <= kept[least].d.worst) continue;
        kept[least].a = a;
        kept[least].d = d;
    }
    puts("the worst:");
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].a.players) show(&kept[i].a, &kept[i].d, "");
    free(w);
    return !held;
}

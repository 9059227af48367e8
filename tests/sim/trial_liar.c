/* Players who lie (lie.h, attack.h): those whose lies are known, and a search for worse ones. */
#include "tests/sim/trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/attack.h"
#include "tests/lib/search.h"

struct tried {
    struct attack a;
    struct damage d;
    char error[320];
};

static void show(const void *item) {
    const struct tried *t = item;
    const struct damage *d = &t->d;
    char spec[400];
    attack_write(&t->a, spec, sizeof spec);
    printf("%5.2f | %6.2f %6.2f %6u %4u | %5.2f %4u | %7.2f | %7.2f %8llu %7u | %s%s %s\n", d->worst,
           d->fps_60s, d->fps_10s, d->stalls, d->own_us / 1000, d->spacing, d->spacing_most, d->down_up,
           d->found_s, (unsigned long long)d->absences, d->put_out, spec, d->worst > 1 ? " MISS" : "",
           t->error);
    fflush(stdout);
}

struct stage {
    struct world *w;
    const struct cell *like;
};

static double play(void *item, void *ctx) {
    struct tried *t = item;
    const struct stage *s = ctx;
    t->d = attack_play(s->w, s->like, &t->a);
    snprintf(t->error, sizeof t->error, "%s", t->d.held ? "" : s->w->error);
    return t->d.worst;
}

static const char head[] =
    "worst | fps of 60 s, of 10 s, stalls, own ms | spacing: mean most | down/up | found_s absences "
    "honest_put_out | lie";

int trial_liar(const struct cell *like, const char *spec) {
    static const int rtt_ms[] = {10, 50}, hold_us[] = {-8000, 1,     10000,  20000,  30000,  33000,
                                                       40000, 60000, 140000, 170000, 240000, 300000};
    bool held = true;
    struct stage stage = {malloc(sizeof *stage.w), like};
    struct tried t = {.a = {.players = 2, .liars = 1, .rtt_ms = 10, .jitter_ms = 2}};
    if (!stage.w || (spec && !attack_read(&t.a, spec))) {
        free(stage.w);
        return 2;
    }
    puts(head);
    for (unsigned cell = 0; cell < (spec ? 1 : 3 * 4); cell++) {
        unsigned kind = cell / 4, holds = spec || kind == 2 ? 1 : sizeof hold_us / sizeof *hold_us;
        for (unsigned h = 0; h < holds; h++) {
            if (!spec) t.a = (struct attack){2 + cell / 2 % 2, 1, rtt_ms[cell % 2], 2, {0}};
            if (!spec && kind < 2) t.a.lie.is[LIE_HOLD_US] = hold_us[h];
            if (!spec && kind == 1) t.a.lie.is[LIE_FRESH] = 100;
            if (!spec && kind == 2) t.a.lie.is[LIE_NEEDS] = 254;
            held &= play(&t, &stage) <= 1;
            show(&t);
        }
    }
    free(stage.w);
    return !held;
}

/* --- the search --- */

/* Found by the search, and mended. */
static const char *const known[] = {
    "players=4,rtt=51,hold=270154,away=646", /* a client that says "away" before the sum is full had half of
                                                it paid */
    "players=3,rtt=90,needs=254", /* a need was as great as the round trip of its acknowledgement made it */
    "players=2,rtt=30,hoard=240,batch=2,on=240,off=2000", /* samples that it kept were taken for lost ones */
    "players=2,rtt=0,hoard=120,batch=2,quiet=1,on=240,off=1500", /* the same; it says nothing in between */
    "players=2,rtt=10,cut=2500,needs=254", /* needs of frames that closed without it were believed */
    "players=2,rtt=11,acked=1,number=15",  /* frames that it did not acknowledge came again and again */
    "players=2,rtt=11,echo=71238,cut=800", /* echoes of nothing gave it the round trip of its choice */
};

static void know(void *item, unsigned n) {
    struct tried *t = item;
    *t = (struct tried){.a = {.players = 2, .liars = 1, .rtt_ms = 10, .jitter_ms = 2}};
    attack_read(&t->a, known[n]);
}

static void draw(void *item, struct rng *r) {
    struct tried *t = item;
    *t =
        (struct tried){.a = {.players = rng_range(r, 2, 4), .liars = 1, .rtt_ms = (int)rng_range(r, 5, 100)}};
    if (t->a.players > 2 && rng_chance(r, 0.3)) t->a.liars = 2;
    t->a.jitter_ms = (int)rng_range(r, 0, 4);
    lie_draw(&t->a.lie, r);
}

static void change(void *item, struct rng *r) {
    struct tried *t = item;
    lie_change(&t->a.lie, r);
}

int trial_search(const struct cell *like, uint64_t seed, uint64_t rooms) {
    struct stage stage = {malloc(sizeof *stage.w), like};
    const struct search s = {.bytes = sizeof(struct tried),
                             .known = sizeof known / sizeof *known,
                             .ctx = &stage,
                             .know = know,
                             .draw = draw,
                             .change = change,
                             .play = play,
                             .show = show};
    _Static_assert(sizeof(struct tried) <= SEARCH_BYTES, "an item");
    if (!stage.w) return 2;
    puts(head);
    bool held = search_run(&s, seed, rooms);
    free(stage.w);
    return !held;
}

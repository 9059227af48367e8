/* guess.c - rules of guessing the others' buttons, on play-like input: `make bench-guess`.
 *
 *   guess [SECONDS [SEED]]     prints a table for docs/measured-ahead.md
 *
 * Running ahead shows frames up to LAG beyond the last closed one. As a frame closes that was guessed
 * otherwise, all later ones are guessed anew. A picture is wrong if one of the frames up to it is. Each kind
 * of play has a few buttons that are held and let go for times drawn from a distribution, in frames of 60 Hz:
 * directions for a quarter of a second, mostly; taps for 60 to 110 ms; a hand hits a button six to nine times
 * a second; a turbo button is on and off for two frames each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/ahead.h"
#include "tests/lib/rng.h"

#define LAG_MAX 9
#define FRAMES  (3600 * 60)

/* --- play --- */

/* Frames: exp of a normal one, from a median, or between two. */
struct length {
    enum { ABOUT, BETWEEN, BEATS } kind;
    double a, b;
};
struct line {
    uint16_t button; /* of a pad; two lines of one button are both needed */
    struct length on, off;
};

static double normal(struct rng *dice) {
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += rng_unit(dice);
    return sum;
}

static unsigned draw(struct rng *dice, const struct length *l) {
    double frames = l->kind == ABOUT     ? l->a * exp(l->b * normal(dice))
                    : l->kind == BETWEEN ? l->a + (l->b - l->a) * rng_unit(dice)
                                         : l->a + l->b * normal(dice);
    return frames < 1.5 ? 1 : frames > 3000 ? 3000 : (unsigned)(frames + 0.5);
}

#define WAY(button, rest)                                                                                    \
    {                                                                                                        \
        button, {ABOUT, 15, 0.6}, {                                                                          \
            ABOUT, rest, 0.8                                                                                 \
        }                                                                                                    \
    }
#define SHIP WAY(0x10, 50), WAY(0x20, 50), WAY(0x40, 50), WAY(0x80, 50)
#define TAP(button, a, b)                                                                                    \
    {                                                                                                        \
        button, {BETWEEN, 4, 7}, {                                                                           \
            BETWEEN, a, b                                                                                    \
        }                                                                                                    \
    }
static const struct play {
    const char *name;
    struct line line[8];
} plays[] = {
    {"a ship, fire held, a bomb now and then",
     {SHIP, {0x100, {BETWEEN, 60, 240}, {BETWEEN, 20, 60}}, TAP(1, 300, 900)}},
    {"a ship, fire hit by hand", {SHIP, {0x100, {BEATS, 4, 0.7}, {BEATS, 4, 0.7}}}},
    {"a ship, turbo fire held",
     {SHIP, {0x100, {BETWEEN, 60, 240}, {BETWEEN, 20, 60}}, {0x100, {BEATS, 2, 0}, {BEATS, 2, 0}}}},
    {"a fighter: three directions, four buttons",
     {WAY(0x10, 50), WAY(0x20, 50), WAY(0x80, 50), TAP(1, 5, 120), TAP(2, 5, 200), TAP(0x100, 5, 200),
      TAP(0x200, 5, 300)}},
};

static uint16_t pad[FRAMES];

static void make(const struct play *p, unsigned frames, struct rng *dice) {
    uint16_t all = 0;
    memset(pad, 0xff, sizeof pad);
    for (const struct line *l = p->line; l->button; l++) {
        bool on = false;
        unsigned left = draw(dice, &l->off);
        all |= l->button;
        for (unsigned f = 0; f < frames; f++, left--) {
            if (left == 0) {
                on = !on;
                left = draw(dice, on ? &l->on : &l->off);
            }
            if (!on) pad[f] &= (uint16_t)~l->button;
        }
    }
    for (unsigned f = 0; f < frames; f++)
        pad[f] &= all;
}

/* --- rules --- */

static uint16_t held(const struct kl_rhythm *r, unsigned ahead) {
    uint16_t now = 0;
    (void)ahead;
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++)
        now |= (uint16_t)(r->button[i].pressed << i);
    return now;
}

/* A tap ends after as many frames as the last ones of its button, on average. */
static uint16_t let_go(const struct kl_rhythm *r, unsigned ahead) {
    uint16_t now = held(r, ahead);
    for (unsigned i = 0; i < KL_RHYTHM_BUTTONS; i++) {
        const struct kl_rhythm_button *b = &r->button[i];
        unsigned sum = 0;
        for (unsigned k = 0; k < KL_RHYTHM_LAST; k++)
            sum += b->last[1][k];
        unsigned usual = sum / KL_RHYTHM_LAST;
        if (b->pressed && usual <= 10 && b->since <= usual && b->since + ahead > usual)
            now &= (uint16_t) ~(1u << i);
    }
    return now;
}

static const struct rule {
    const char *name;
    uint16_t (*guess)(const struct kl_rhythm *r, unsigned ahead);
} rules[] = {{"held", held}, {"a tap ends as usual", let_go}, {"a rhythm goes on", kl_rhythm_guess}};

struct result {
    double wrong, again; /* share of pictures; corrections a second */
};

static struct result try(const struct rule *rule, unsigned frames, unsigned lag) {
    struct kl_rhythm r = {0};
    uint16_t guessed[LAG_MAX + 1] = {0};
    unsigned made = 0, wrong = 0, again = 0; /* frames below `made` have a guess */
    for (unsigned f = 0; f + lag < frames; f++) {
        kl_rhythm_see(&r, pad[f]);
        if (f < made && guessed[f % (LAG_MAX + 1)] != pad[f]) {
            again++;
            made = 0;
        }
        if (made <= f) made = f + 1;
        for (; made <= f + lag; made++)
            guessed[made % (LAG_MAX + 1)] = rule->guess(&r, made - f);
        bool bad = false;
        for (unsigned k = f + 1; k <= f + lag; k++)
            bad = bad || guessed[k % (LAG_MAX + 1)] != pad[k];
        wrong += bad;
    }
    return (struct result){(double)wrong / (frames - lag), again * 60.0 / (frames - lag)};
}

int main(int argc, char **argv) {
    static const unsigned lags[] = {2, 4, 6, LAG_MAX};
    unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 600;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (seconds < 1 || seconds > FRAMES / 60) {
        fprintf(stderr, "guess: expected 1 to %d seconds, got %s\n", FRAMES / 60, argv[1]);
        return 2;
    }
    printf("Wrong pictures, %% (corrections a second), by frames beyond the last closed one; %u s, seed "
           "%llu:\n\n"
           "| play | guess |",
           seconds, (unsigned long long)seed);
    for (unsigned i = 0; i < sizeof lags / sizeof *lags; i++)
        printf(" %u |", lags[i]);
    printf("\n| --- | --- | --- | --- | --- | --- |\n");
    for (unsigned p = 0; p < sizeof plays / sizeof *plays; p++) {
        make(&plays[p], seconds * 60, &(struct rng){seed});
        for (unsigned k = 0; k < sizeof rules / sizeof *rules; k++) {
            printf("| %s | %s |", plays[p].name, rules[k].name);
            for (unsigned i = 0; i < sizeof lags / sizeof *lags; i++) {
                struct result r = try(&rules[k], seconds * 60, lags[i]);
                printf(" %.1f (%.1f) |", 100 * r.wrong, r.again);
            }
            printf("\n");
        }
    }
    return 0;
}

#include "tests/rooms/attack.h"

#include <math.h>

#include "tests/lib/crew.h"
#include "tests/lib/search.h"

#define FPS       60
#define TRUTH_US  (8 * SECOND) /* of the game before the first lie */
#define LASTS_S   64
#define ENTER_US  SECOND /* after the host */
#define RESUME_US 250000 /* for somebody to see a pause, and to end it */
#define LOST_60S  0.1    /* of the core's frames, for each liar: the most that a window of 60 s may lack */
#define LOST_10S  0.2    /* and a window of 10 s */
#define PAUSES                                                                                               \
    13 /* of a liar: 6 at once, 6 a minute, and one of the room's own for what cannot be healed              \
        */
#define ANEW        2  /* times that a liar has each of the others run the game from its beginning */
#define BEHIND_MOST 30 /* frames that a player is behind who does not run them again */
#define TURN_RUNS   20 /* frames that the honest run in one turn when they are behind */
#define SEED        31
#define START_BYTES 30000 /* of saves */
/* Bytes down for each byte up, besides some joinings, that break a bound. */
#define DOWN_UP_MOST KL_COST_RATIO

static struct attack *now; /* NULL: a room without an attack */
static uint64_t began_us, from_us, paused_us;
static uint32_t most_run[CLIENTS], last_run[CLIENTS], frames[CLIENTS][LASTS_S];
static double pause_s[LASTS_S],
    again_s[CLIENTS][LASTS_S]; /* of each second: paused; run from the beginning */
static bool runs_again[CLIENTS];
static struct wire_bytes at_first[CLIENTS];

bool attack_is_on(void) {
    return now != NULL;
}

/* --- the room --- */

static unsigned players(void) {
    return (unsigned)now->is[LIAR_PLAYERS];
}

static void begin(void) {
    struct kl_params params = {.subframes = true,
                               .clocked = true,
                               .fps_uhz = FPS * 1000000,
                               .hash_every = EVERY,
                               .policy = KL_POLICY_BOUNDED,
                               .wait_budget_ms = 250,
                               .lead_max = KL_LEAD_MAX_USUAL,
                               .players = (uint8_t)players()};
    unsigned honest = players() - (unsigned)now->is[LIAR_LIARS];
    start_bytes = START_BYTES;
    wire_calm();
    wire_steady((uint64_t)now->is[LIAR_RTT_MS] * 500);
    began_us = now_us;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        c->number = i;
        c->params = params;
        c->turn_frames = TURN_RUNS;
        c->seats_wanted = 1;
        c->lies = i >= honest && i < players();
        c->consents = c->lies || now->is[LIAR_TRUST];
        snprintf(c->name, sizeof c->name, "%c%u", c->lies ? 'l' : 'h', i);
        unsigned home = !c->lies || now->is[LIAR_APART] ? i : honest;
        if (c->lies && now->is[LIAR_NEAR] && home == honest) home = 0;
        wire_live_at(c, home + 1);
    }
    client_enter(&client[now->is[LIAR_HOST] ? honest : 0]);
}

/* Somebody honest ends each pause. */
static void resume(void) {
    static const uint8_t off = 0;
    const struct kl_lobby_room *r = the_room();
    uint64_t second = (now_us - from_us) / SECOND;
    if (from_us && second < LASTS_S && r && r->lock.paused) pause_s[second] += STEP_US / 1e6;
    if (!r || !r->lock.paused) {
        paused_us = 0;
    } else if (!paused_us) {
        paused_us = now_us;
        now->d.pauses++;
    } else if (now_us >= paused_us + RESUME_US) {
        client_order(&client[0], KL_COMMAND_PAUSE, &off, 1);
        paused_us = now_us;
    }
}

/* Another address's bytes that joining once takes: all of the room's past, start data and a snapshot. */
static double joining_bytes(void) {
    const struct kl_lobby_room *r = the_room();
    return r ? (double)(r->past.bytes + r->start.bytes + r->shot.bytes) * 1.1 + 20000 : 0;
}

static void look(struct client *c) {
    uint64_t second = (now_us - from_us) / SECOND;
    if (c->machine.next < last_run[c->number]) {
        now->d.anew++;
        runs_again[c->number] = true;
    }
    last_run[c->number] = c->machine.next;
    if (runs_again[c->number] && second < LASTS_S) again_s[c->number][second] += STEP_US / 1e6;
    if (c->machine.next + BEHIND_MOST > canon_end) runs_again[c->number] = false;
    if (c->machine.next < most_run[c->number]) return;
    if (second < LASTS_S) frames[c->number][second] += c->machine.next - most_run[c->number];
    most_run[c->number] = c->machine.next;
}

static void step(void) {
    resume();
    for (unsigned i = 0; i < players() && now_us >= began_us + ENTER_US; i++)
        if (client[i].state == OFF && !from_us) client_enter(&client[i]);
    for (unsigned i = 0; i < players(); i++) {
        struct client *c = &client[i];
        if (c->lies || c->state == OFF) continue;
        if (is_wrong(c)) fail("%s has another game than is played", c->name);
        if (from_us) look(c);
    }
    if (from_us || canon_end * SECOND < TRUTH_US * FPS) return;
    from_us = now_us;
    for (unsigned i = 0; i < players(); i++) {
        most_run[i] = client[i].machine.next;
        at_first[i] = wire_bytes_of(&client[i]);
    }
    liar_begin(now->is);
}

static bool is_over(void) {
    if (now_us > began_us + 60 * SECOND && !from_us) fail("the game does not begin");
    return from_us && now_us >= from_us + LASTS_S * SECOND;
}

/* --- the judge --- */

/* Without pauses and runs from the beginning: both are counted by themselves. */
static double worst_fps(unsigned c, unsigned window_s) {
    double worst = INFINITY;
    for (unsigned from = 0; from + window_s <= LASTS_S; from++) {
        double sum = 0, of_s = window_s;
        for (unsigned i = from; i < from + window_s; i++) {
            sum += frames[c][i];
            of_s -= again_s[c][i] + pause_s[i];
        }
        worst = fmin(worst, of_s > 1 ? sum / of_s : 0);
    }
    return worst;
}

static double down_up(const struct client *c) {
    struct wire_bytes b = wire_bytes_of(c);
    double up = (double)(b.up - at_first[c->number].up), down = (double)(b.down - at_first[c->number].down);
    /* a seat is kept for a member that comes in again as a newcomer */
    return fmax(down - (KL_COST_JOININGS + KL_COST_NEWCOMER) * joining_bytes(), 0) / fmax(up, 1);
}

static void judge(struct damage *d) {
    double liars = now->is[LIAR_LIARS];
    d->fps_10s = d->fps_60s = INFINITY;
    for (unsigned i = 0; i < players(); i++) {
        if (client[i].lies) {
            d->down_up = fmax(d->down_up, down_up(&client[i]));
            continue;
        }
        if (!is_playing(&client[i]) && !runs_again[i]) fail("%s does not play at the end", client[i].name);
        d->fps_10s = fmin(d->fps_10s, worst_fps(i, 10));
        d->fps_60s = fmin(d->fps_60s, worst_fps(i, 60));
    }
    d->worst = fmax((1 - d->fps_60s / FPS) / (LOST_60S * liars), (1 - d->fps_10s / FPS) / (LOST_10S * liars));
    d->worst = fmax(d->worst, (double)d->anew / (ANEW * liars * (now->is[LIAR_PLAYERS] - liars)));
    d->worst = fmax(d->worst, (double)d->pauses / (PAUSES * liars));
    d->worst = fmax(d->worst, d->down_up / DOWN_UP_MOST);
    d->rewound = counts.rewound;
}

static void play(void *attack) {
    struct attack *a = attack;
    now = a;
    fail_to = a->d.error;
    a->d = (struct damage){.worst = 2}; /* unless it comes to its end */
    rooms_play(SEED, begin, step, is_over);
    judge(&a->d);
}

double attack_play(struct attack *a) {
    static struct attack *shared;
    char why[64];
    if (!shared) shared = crew_memory(sizeof *shared);
    *shared = *a;
    crew_begin(play, shared);
    crew_wait(why);
    *a = *shared;
    if (*why && strcmp(why, "exit") != 0) snprintf(a->d.error, sizeof a->d.error, "%s", why);
    return a->d.worst;
}

/* --- many --- */

static const char head[] = "worst | fps of 60 s, of 10 s | down/up pauses rewound anew | lie";

static void show(const void *item) {
    const struct attack *a = item;
    const struct damage *d = &a->d;
    char spec[400];
    liar_write(a->is, spec, sizeof spec);
    printf("%5.2f | %6.2f %6.2f | %7.2f %6llu %7llu %4llu | %s%s %s\n", d->worst, d->fps_60s, d->fps_10s,
           d->down_up, (unsigned long long)d->pauses, (unsigned long long)d->rewound,
           (unsigned long long)d->anew, spec, d->worst > 1 ? " MISS" : "", d->error);
    fflush(stdout);
}

/* Attacks that hurt before they were mended. */
static const char *const known[] = {
    "players=3,liars=2,trust=1,rtt=10,hash=100,state=100", /* two seats of one address had two votes */
    "players=3,liars=2,rtt=10,hash=100",                   /* the same: the honest was put out */
    "players=2,liars=1,rtt=10,pause=260",                  /* pauses had no budget */
    "players=3,liars=2,rtt=84,pause=136,leave=904",        /* leaving gave another budget */
    "players=2,liars=1,rtt=10,fresh=480",                  /* bytes down for each byte up */
    "players=2,liars=1,rtt=10,cut=100",                    /* the same */
    "players=3,liars=2,rtt=84,rate=1745",                  /* two seats of one address set the pace */
    "players=2,liars=1,host=1,trust=1,rtt=68,hash=49,rate=19901,desync=178", /* one seat set the pace, while
                                                                                the other ran the game again
                                                                              */
    "players=2,liars=1,host=1,rtt=60,hash=100,desync=5450",                  /* `desync heal' had no budget */
};

static void know(void *item, unsigned n) {
    struct attack *a = item;
    *a = (struct attack){0};
    if (!liar_read(a->is, known[n])) abort();
}

static void draw(void *item, struct rng *r) {
    struct attack *a = item;
    *a = (struct attack){0};
    liar_draw(a->is, r);
}

static void change(void *item, struct rng *r) {
    liar_change(((struct attack *)item)->is, r);
}

static double play_item(void *item, void *ctx) {
    (void)ctx;
    return attack_play(item);
}

int attack_search(uint64_t seed, uint64_t count) {
    const struct search s = {.bytes = sizeof(struct attack),
                             .known = sizeof known / sizeof *known,
                             .know = know,
                             .draw = draw,
                             .change = change,
                             .play = play_item,
                             .show = show};
    _Static_assert(sizeof(struct attack) <= SEARCH_BYTES, "an item");
    puts(head);
    return !search_run(&s, seed, count);
}

int attack_one(const char *spec) {
    struct attack a = {.is = {[LIAR_PLAYERS] = 2, [LIAR_LIARS] = 1, [LIAR_RTT_MS] = 10}};
    if (!liar_read(a.is, spec)) return 2;
    attack_play(&a);
    puts(head);
    show(&a);
    return a.d.worst > 1;
}

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
#define STOOD_S     31 /* once, while the room asks whether to play on */
#define PAUSE_S     9  /* and each liar's pauses, until somebody ends them */
#define ANEW        2  /* times that a liar has each of the others run the game from its beginning */
#define FORCED      1  /* of a liar whom nobody else is there to disagree with for a moment */
#define BEHIND_MOST 30 /* frames that a player is behind who does not run them again */
#define TURN_RUNS   20 /* frames that the honest run in one turn when they are behind */
#define SEED        31
#define START_BYTES 30000         /* of saves */
#define BEGINS_S    60            /* until the first lie, from the host on */
#define UNREADY_S   85            /* if one is never READY: 60 s more, and the spare player comes */
#define PUT_OUT     2             /* times that a liar is because of its hashes: once, and after its bar */
#define FILE_LINES  130           /* of a liar's files: 60 at once, 60 a minute */
#define DISK_S      2.0           /* until the relay looks at the disk that an honest host wants in */
#define DISK_US     (10 * SECOND) /* between two such disks */
#define EMPTY_S     20            /* of a seat, for each address: 15 s of a turn that is let pass */
#define SPARE_US    250000        /* between the spare player's tries */
/* Bytes down for each byte up, besides some joinings, that break a bound. */
#define DOWN_UP_MOST KL_COST_RATIO

static struct attack *now; /* NULL: a room without an attack */
static uint64_t began_us, from_us, paused_us;
static uint32_t most_run[CLIENTS], last_run[CLIENTS], frames[CLIENTS][LASTS_S];
static double pause_s[LASTS_S],
    again_s[CLIENTS][LASTS_S]; /* of each second: paused; run from the beginning */
static bool runs_again[CLIENTS];
static struct wire_bytes at_first[CLIENTS];
static uint64_t spare_us, again_us[CLIENTS];
static uint64_t wish_us, wished_us; /* the host wants a disk in: from then on; it has said so; 0: no */

bool attack_stands(void) {
    return now && now->is[LIAR_STANDS];
}

bool attack_is_on(void) {
    return now != NULL;
}

/* --- the room --- */

static unsigned players(void) {
    return (unsigned)now->is[LIAR_PLAYERS];
}

/* Liars that take turns in the queue have one seat. */
static unsigned seats(void) {
    return now->is[LIAR_PASS] ? players() - (unsigned)now->is[LIAR_LIARS] + 1 : players();
}

/* One more player, who is honest; NULL: there is none. */
static struct client *spare(void) {
    return now->is[LIAR_PASS] || now->is[LIAR_UNREADY] ? &client[players()] : NULL;
}

bool attack_is_quiet(const struct client *c) {
    return now && liar_keeps_quiet(c, now->is);
}

static void begin(void) {
    struct kl_params params = {.subframes = true,
                               .clocked = true,
                               .fps_uhz = FPS * 1000000,
                               .hash_every = EVERY,
                               .policy = KL_POLICY_BOUNDED,
                               .wait_budget_ms = 250,
                               .lead_max = KL_LEAD_MAX_USUAL,
                               .players = (uint8_t)seats()};
    unsigned honest = players() - (unsigned)now->is[LIAR_LIARS];
    start_bytes = START_BYTES;
    wire_calm();
    wire_steady((uint64_t)now->is[LIAR_RTT_MS] * 500);
    began_us = now_us;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        c->number = i;
        c->params = params;
        c->p.most = TURN_RUNS;
        c->seats_wanted = 1;
        c->lies = i >= honest && i < players();
        c->spare = c == spare();
        c->consents = c->lies || now->is[LIAR_TRUST];
        snprintf(c->name, sizeof c->name, "%c%u", c->lies ? 'l' : 'h', i);
        unsigned home = !c->lies || now->is[LIAR_APART] ? i : honest;
        if (c->lies && now->is[LIAR_NEAR] && home == honest) home = 0;
        if (!c->lies && now->is[LIAR_TOGETHER]) home = 0;
        wire_live_at(c, home + 1);
    }
    client_enter(&client[now->is[LIAR_HOST] ? honest : 0]);
}

/* Somebody honest ends each pause, or nobody does. */
static void resume(void) {
    static const uint8_t off = 0;
    const struct kl_lobby_room *r = the_room();
    uint64_t second = (now_us - from_us) / SECOND;
    if (from_us && second < LASTS_S && r && r->lock.paused) pause_s[second] += STEP_US / 1e6;
    if (r && r->lock.paused) now->d.stood_s += STEP_US / 1e6;
    if (!r || !r->lock.paused) {
        paused_us = 0;
    } else if (!paused_us) {
        paused_us = now_us;
        now->d.pauses++;
    } else if (!now->is[LIAR_STANDS] && now_us >= paused_us + RESUME_US) {
        client_order(&client[0], KL_COMMAND_PAUSE, &off, 1);
        paused_us = now_us;
    }
}

/* Another address's bytes that joining once takes: all of the room's past, start data and a snapshot. */
static double joining_bytes(void) {
    const struct kl_lobby_room *r = the_room();
    return r ? (double)(r->past.bytes + r->start.bytes + r->snapshot.bytes) * 1.1 + 20000 : 0;
}

/* The honest want no reset and no option. A liar that is the host may change options. */
static uint64_t count_forced(void) {
    uint64_t forced = 0;
    for (uint32_t f = 0; f < canon_end; f++) {
        const struct kl_commands *set = canon_commands(f);
        for (unsigned i = 0; set && i < set->count; i++)
            forced += set->at[i].kind == KL_COMMAND_RESET ||
                      (set->at[i].kind == KL_COMMAND_OPTION && !now->is[LIAR_HOST]);
    }
    return forced;
}

static void look(struct client *c) {
    uint64_t second = (now_us - from_us) / SECOND;
    if (c->machine.next < last_run[c->number]) {
        now->d.anew++;
        runs_again[c->number] = true;
    }
    last_run[c->number] = c->machine.next;
    if (runs_again[c->number] && second < LASTS_S && !the_room()->lock.paused)
        again_s[c->number][second] += STEP_US / 1e6;
    if (c->machine.next + BEHIND_MOST > canon_end) runs_again[c->number] = false;
    if (c->machine.next < most_run[c->number]) return;
    if (second < LASTS_S) frames[c->number][second] += c->machine.next - most_run[c->number];
    most_run[c->number] = c->machine.next;
}

/* Those that are not in before the game begins, again and again. */
static void let_in(void) {
    for (unsigned i = 0; i < players() && now_us >= began_us + ENTER_US; i++) {
        if (client[i].state != OFF || from_us || now_us < again_us[i]) continue;
        again_us[i] = now_us + SECOND / 5;
        client_enter(&client[i]);
    }
}

/* The spare player comes, and takes each seat that it may have. */
static void step_spare(void) {
    const struct kl_lobby_room *r = the_room();
    struct client *c = spare();
    const uint8_t one = 1;
    bool comes = now->is[LIAR_PASS] ? from_us != 0 : now_us >= began_us + 2 * ENTER_US;
    if (!c || !comes || !r) return;
    bool waits = c->state == IN && !c->p.participant.lock.seats && from_us;
    if (waits && kl_size(kl_lobby_seats_filled(r)) < r->params.players) now->d.empty_s += STEP_US / 1e6;
    if (now_us < spare_us) return;
    spare_us = now_us + SPARE_US;
    if (c->state == OFF) client_enter(c);
    if (waits && r->member[c->p.participant.status.welcome.client]->v.turn.until_us)
        client_order(c, KL_COMMAND_SEAT, &one, 1);
}

/* The host, if it is honest, wants a disk in now and then. */
static void want_disk(void) {
    static const uint8_t disk[] = {1, 0};
    const struct kl_lobby_room *r = the_room();
    struct client *c = &client[0];
    if (!from_us || !r || now->is[LIAR_HOST] || !c->host || !is_playing(c) || runs_again[0]) return;
    const struct kl_lobby_files *files = r->start.files;
    if (!wish_us) wish_us = now_us;
    if (now_us < wish_us) return;
    now->d.disk_s = fmax(now->d.disk_s, (double)(now_us - wish_us) / SECOND);
    if (files && files->check.on && files->check.by == r->host) {
        wish_us = now_us + DISK_US;
        wished_us = 0;
    } else if (now_us >= wished_us) {
        wished_us = now_us + SECOND; /* those in vain are soon too many */
        client_order(c, KL_COMMAND_DISK, disk, sizeof disk);
    }
}

static void step(void) {
    resume();
    want_disk();
    let_in();
    step_spare();
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
    uint64_t most_s = now->is[LIAR_UNREADY] ? UNREADY_S : BEGINS_S;
    if (now_us > began_us + most_s * SECOND && !from_us) fail("the game does not begin");
    return from_us && now_us >= from_us + LASTS_S * SECOND;
}

/* --- the judge --- */

/* Without pauses and runs from the beginning: both are counted by themselves. */
static double worst_fps(unsigned c, unsigned window_s) {
    double worst = INFINITY;
    for (unsigned from = 0; from + window_s <= LASTS_S; from++) {
        double sum = 0, of_s = window_s, paused_s = 0;
        for (unsigned i = from; i < from + window_s; i++) {
            sum += frames[c][i];
            of_s -= again_s[c][i] + pause_s[i];
            paused_s += pause_s[i];
        }
        if (paused_s > window_s / 2.0) continue; /* too little is left to be judged */
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
        d->file_lines = client[i].file_lines > d->file_lines ? client[i].file_lines : d->file_lines;
        if (client[i].lies) {
            d->put_out += client[i].put_out;
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
    double each_s = now->is[LIAR_STANDS] ? ATTACK_PAUSES_S + 1 : PAUSE_S;
    double asked_s = now->is[LIAR_TOGETHER] ? 0 : STOOD_S; /* then the host's side is right */
    d->worst = fmax(d->worst, d->stood_s / (asked_s + each_s * liars));
    d->worst = fmax(d->worst, d->down_up / DOWN_UP_MOST);
    d->forced = count_forced();
    d->worst = fmax(d->worst, (double)d->forced / (FORCED * liars));
    d->worst = fmax(d->worst, d->empty_s / (EMPTY_S * liar_addresses(now->is)));
    d->worst = fmax(d->worst, (double)d->put_out / (PUT_OUT * liars));
    d->worst = fmax(d->worst, (double)d->file_lines / (FILE_LINES * liars));
    d->worst = fmax(d->worst, d->disk_s / DISK_S);
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

static const char head[] =
    "worst | fps of 60 s, of 10 s | down/up pauses stood empty rewound anew forced out files disk | lie";

static void show(const void *item) {
    const struct attack *a = item;
    const struct damage *d = &a->d;
    char spec[400];
    liar_write(a->is, spec, sizeof spec);
    printf("%5.2f | %6.2f %6.2f | %7.2f %6llu %5.1f %5.1f %7llu %4llu %6llu %3llu %5llu %4.1f | %s%s %s\n",
           d->worst, d->fps_60s, d->fps_10s, d->down_up, (unsigned long long)d->pauses, d->stood_s,
           d->empty_s, (unsigned long long)d->rewound, (unsigned long long)d->anew,
           (unsigned long long)d->forced, (unsigned long long)d->put_out, (unsigned long long)d->file_lines,
           d->disk_s, spec, d->worst > 1 ? " MISS" : "", d->error);
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
    "players=3,liars=1,rtt=10,hash=100,together=1,asleep=1", /* one stopped two of one address */
    "players=2,liars=1,rtt=10,hash=100,asleep=1",  /* machines differ, and one does not agree to play on */
    "players=2,liars=1,rtt=10,option=300",         /* core options without the others' word */
    "players=2,liars=1,rtt=10,pause=500,stands=1", /* a pause stood until somebody ended it */
    "players=3,liars=2,rtt=10,reset=300",          /* two seats of one address had two words */
    "players=2,liars=1,rtt=10,unready=1",        /* never READY: the room waited a minute, again and again */
    "players=4,liars=3,rtt=10,pass=1",           /* turns that are let pass: the seat stayed empty */
    "players=3,liars=1,rtt=10,hash=100,key=1",   /* put out by a vote, and in again at once */
    "players=2,liars=1,rtt=10,disk=1000,dumb=1", /* the host's disk waited for a guest's */
    "players=2,liars=1,rtt=10,file=20,leave=3000", /* files that differ, were named anew after each coming in */
    "players=2,liars=1,rtt=10,hash=100,on=1000,off=2000", /* each difference is a new one, and healed */
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

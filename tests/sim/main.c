/* sim - plays random rooms in virtual time and looks for broken promises. See --help. */
#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/standard.h"
#include "net/session/command_words.h"
#include "tests/lib/crew.h"
#include "tests/sim/cell.h"
#include "tests/lib/kept.h"
#include "tests/sim/trial.h"
#include "tests/sim/world.h"

#define JOBS_MAX     64
#define PACE_SLOW    0.98 /* worth a line, though no failure */
#define ROOM_LIMIT_S 60   /* of processor time for one room: beyond it hangs */

struct worker {
    long number;   /* of the crew */
    uint64_t seed; /* under way; 0: none */
    uint64_t rooms, failed, frames, run, datagrams, virtual_us, largest;
    uint64_t paced, slow, absences, commands, policies, lost, joined;
    double pace_least;
};
struct shared {
    _Atomic uint64_t next;      /* place of the seed that is played next */
    uint64_t first, count;      /* the seeds in order of their places, from `first` on */
    struct kept kept[KEPT_MAX]; /* the seeds, if first is 0 */
    struct worker worker[JOBS_MAX];
};

static const char usage[] =
    "sim --seeds N [--first S] [--jobs J]  plays N rooms, of the seeds from S (1) on, in J (1) processes\n"
    "sim --kept FILE [--jobs J]            plays the seeds that the file lists\n"
    "sim --seed N                          plays one room with its log, a line of key=value an event\n"
    "    [--economy]                        of any of these: all are economy rooms\n"
    "sim --cell RTT_MS,JITTER_MS,LOSS%,PLAYERS [--seconds S] [--hz TICKS] [--fps FPS] [--off] [--log]\n"
    "                                      measures one steady link (jitter per hop half that, half-normal,\n"
    "                                      added; loss per hop); --off: subframes=off\n"
    "    [--policy strict|bounded|optimistic] [--half-steps] [--economy]\n"
    "sim --table [--seconds S] [--seeds N] [--first F]  all links of the table, beside the bound; the "
    "options\n"
    "                                      above as well; the average over N (1) rooms a link, of the seeds "
    "from F (1) on\n"
    "sim --step [--seeds N] [--first F] | --pace | --hour | --unequal | --hitch | --coarse | --liar |\n"
    "    --lie NAME=VALUE,... | --search N [--first S]\n"
    "                                      directed trials: trial.h says what each measures\n"
    "Exit status: 0 all held, 1 some room failed, 2 usage.\n";

static bool economy; /* all rooms are economy rooms; else the same */

static void draw(struct scenario *s, uint64_t seed) {
    scenario_draw(s, seed);
    s->params.economy = economy;
    if (economy) s->params.half_steps = false;
}

static void play(struct worker *me, struct world *w, uint64_t seed) {
    static struct scenario s;
    draw(&s, seed);
    me->seed = seed;
    crew_limit_s(ROOM_LIMIT_S);
    bool held = world_run(w, &s, NULL, NULL, NULL);
    crew_limit_s(0);
    me->seed = 0;
    me->rooms++;
    me->failed += !held;
    me->frames += w->truth.next;
    me->run += w->frames_run;
    me->datagrams += w->datagrams;
    me->virtual_us += w->now_us;
    if (w->largest > me->largest) me->largest = w->largest;
    me->commands += w->truth.ref.commands_given;
    me->policies += w->truth.ref.policy_changes;
    me->lost += w->truth.ref.presses_lost;
    me->joined += w->joined;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        me->absences += w->truth.ref.client[i].absences;
    if (!held) printf("seed=%" PRIu64 " failed=1 %s\n", seed, w->error);
    double pace = world_pace(w);
    if (pace >= 0) me->paced++;
    if (pace >= 0 && (me->pace_least == 0 || pace < me->pace_least)) me->pace_least = pace;
    if (held && pace >= 0 && pace < PACE_SLOW) {
        me->slow++;
        printf("seed=%" PRIu64 " slow=1 pace=%.4f spacing=%u\n", seed, pace, w->truth.ref.now.at.length);
    }
    fflush(stdout);
}

static struct shared *all; /* of this process and those beside it */

static void work(void *of) {
    struct worker *me = of;
    struct world *w = malloc(sizeof *w);
    if (!w) abort();
    for (uint64_t i; (i = atomic_fetch_add(&all->next, 1)) < all->count;)
        play(me, w, all->first ? all->first + i : all->kept[i].seed);
    free(w);
}

static void hire(struct worker *me) {
    me->number = crew_begin(work, me);
}

/* Waits for all; one that died of its room is replaced. */
static void oversee(unsigned jobs) {
    char why[64];
    for (unsigned left = jobs; left > 0;) {
        long number = crew_wait(why);
        if (!number) return;
        for (unsigned i = 0; i < jobs; i++) {
            struct worker *me = &all->worker[i];
            if (me->number != number) continue;
            if (me->seed == 0) {
                left--;
                continue;
            }
            printf("seed=%" PRIu64 " failed=1 crash=\"%s\"\n", me->seed, why);
            me->seed = 0;
            me->rooms++;
            me->failed++;
            hire(me);
        }
    }
}

/* Plays `count` seeds from `first` on, or those of the file `kept`. */
static int play_many(const char *kept, uint64_t first, uint64_t count, unsigned jobs) {
    all = crew_memory(sizeof *all);
    if (kept) first = 0, count = kept_read(kept, all->kept);
    if (count == 0) return 2;
    all->first = first;
    all->count = count;
    uint64_t began_us = kl_now_us();
    for (unsigned i = 0; i < jobs; i++)
        hire(&all->worker[i]);
    oversee(jobs);
    struct worker sum = {0};
    for (unsigned i = 0; i < jobs; i++) {
        const struct worker *x = &all->worker[i];
        sum.rooms += x->rooms;
        sum.failed += x->failed;
        sum.frames += x->frames;
        sum.run += x->run;
        sum.datagrams += x->datagrams;
        sum.virtual_us += x->virtual_us;
        if (x->largest > sum.largest) sum.largest = x->largest;
        sum.paced += x->paced;
        sum.slow += x->slow;
        sum.absences += x->absences;
        sum.commands += x->commands;
        sum.policies += x->policies;
        sum.lost += x->lost;
        sum.joined += x->joined;
        if (x->paced && (sum.pace_least == 0 || x->pace_least < sum.pace_least))
            sum.pace_least = x->pace_least;
    }
    double took = (double)(kl_now_us() - began_us) / 1e6;
    printf("rooms=%" PRIu64 " failed=%" PRIu64 " virtual_hours=%.2f frames_closed=%" PRIu64
           " frames_run=%" PRIu64 " datagrams=%" PRIu64 " largest_body=%" PRIu64 " steady=%" PRIu64
           " absences=%" PRIu64 " joins=%" PRIu64 " commands=%" PRIu64 " policy_changes=%" PRIu64
           " presses_lost_by_them=%" PRIu64 " slow=%" PRIu64
           " least_pace=%.4f wall_s=%.1f rooms_per_s=%.1f\n",
           sum.rooms, sum.failed, (double)sum.virtual_us / 3.6e9, sum.frames, sum.run, sum.datagrams,
           sum.largest, sum.paced, sum.absences, sum.joined, sum.commands, sum.policies, sum.lost, sum.slow,
           sum.pace_least, took, (double)sum.rooms / took);
    return sum.failed > 0 || sum.rooms != count;
}

static int play_one(uint64_t seed) {
    static struct scenario s;
    struct world *w = malloc(sizeof *w);
    if (!w) return 2;
    draw(&s, seed);
    bool held = world_run(w, &s, stdout, NULL, NULL);
    free(w);
    return !held;
}

enum {
    OPT_SEEDS = 1,
    OPT_FIRST,
    OPT_JOBS,
    OPT_SEED,
    OPT_CELL,
    OPT_TABLE,
    OPT_SECONDS,
    OPT_HZ,
    OPT_FPS,
    OPT_OFF,
    OPT_LOG,
    OPT_POLICY,
    OPT_HALF,
    OPT_ECONOMY,
    OPT_STEP,
    OPT_PACE,
    OPT_HOUR,
    OPT_UNEQUAL,
    OPT_HITCH,
    OPT_COARSE,
    OPT_LIAR,
    OPT_LIE,
    OPT_SEARCH,
    OPT_KEPT,
    OPT_HELP
};
static const struct option options[] = {{"seeds", 1, 0, OPT_SEEDS},     {"first", 1, 0, OPT_FIRST},
                                        {"jobs", 1, 0, OPT_JOBS},       {"seed", 1, 0, OPT_SEED},
                                        {"cell", 1, 0, OPT_CELL},       {"table", 0, 0, OPT_TABLE},
                                        {"seconds", 1, 0, OPT_SECONDS}, {"hz", 1, 0, OPT_HZ},
                                        {"fps", 1, 0, OPT_FPS},         {"off", 0, 0, OPT_OFF},
                                        {"log", 0, 0, OPT_LOG},         {"policy", 1, 0, OPT_POLICY},
                                        {"half-steps", 0, 0, OPT_HALF}, {"economy", 0, 0, OPT_ECONOMY},
                                        {"step", 0, 0, OPT_STEP},       {"pace", 0, 0, OPT_PACE},
                                        {"hour", 0, 0, OPT_HOUR},       {"unequal", 0, 0, OPT_UNEQUAL},
                                        {"hitch", 0, 0, OPT_HITCH},     {"coarse", 0, 0, OPT_COARSE},
                                        {"liar", 0, 0, OPT_LIAR},       {"lie", 1, 0, OPT_LIE},
                                        {"search", 1, 0, OPT_SEARCH},   {"kept", 1, 0, OPT_KEPT},
                                        {"help", 0, 0, OPT_HELP},       {0}};

struct request {
    uint64_t seeds, first, seed;
    const char *kept; /* a file */
    const char *lie;  /* attack.h */
    unsigned jobs;
    bool one, table, cell_asked, log;
    int trial; /* its option; 0: none */
    struct cell cell;
};

static int run_trial(const struct request *q) {
    switch (q->trial) {
    case OPT_STEP: return trial_step(&q->cell, q->first, q->seeds ? q->seeds : 10);
    case OPT_PACE: return trial_pace(&q->cell);
    case OPT_HITCH: return trial_hitch(&q->cell);
    case OPT_COARSE: return trial_coarse(&q->cell);
    case OPT_LIAR: return trial_liar(&q->cell, NULL);
    case OPT_LIE: return trial_liar(&q->cell, q->lie);
    case OPT_SEARCH: return trial_search(&q->cell, q->first, q->seeds);
    case OPT_HOUR: return trial_hour(&q->cell, q->first);
    default: return trial_unequal(&q->cell);
    }
}

/* 0, 1 for --help, 2 for what is wrong. */
static int read_options(struct request *q, int argc, char **argv) {
    double percent = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_SEEDS: q->seeds = strtoull(optarg, NULL, 10); break;
        case OPT_FIRST: q->first = strtoull(optarg, NULL, 10); break;
        case OPT_JOBS: q->jobs = (unsigned)strtoul(optarg, NULL, 10); break;
        case OPT_SEED: q->one = true, q->seed = strtoull(optarg, NULL, 10); break;
        case OPT_CELL:
            q->cell_asked = sscanf(optarg, "%lf,%lf,%lf,%u", &q->cell.rtt_ms, &q->cell.jitter_ms, &percent,
                                   &q->cell.players) == 4;
            q->cell.loss = percent / 100;
            if (!q->cell_asked || q->cell.players < 1 || q->cell.players > KL_MAX_SEATS) return 2;
            break;
        case OPT_LIE: q->trial = o, q->lie = optarg; break;
        case OPT_SEARCH: q->trial = o, q->seeds = strtoull(optarg, NULL, 10); break;
        case OPT_KEPT: q->kept = optarg; break;
        case OPT_TABLE: q->table = true; break;
        case OPT_SECONDS: q->cell.seconds = strtod(optarg, NULL); break;
        case OPT_HZ: q->cell.tick_hz = strtod(optarg, NULL); break;
        case OPT_FPS: q->cell.fps = strtod(optarg, NULL); break;
        case OPT_OFF: q->cell.subframes = false; break;
        case OPT_LOG: q->log = true; break;
        case OPT_POLICY:
            if (!kl_policy_of(optarg, &q->cell.policy)) return 2;
            break;
        case OPT_HALF: q->cell.half_steps = true; break;
        case OPT_ECONOMY: q->cell.economy = economy = true; break;
        case OPT_STEP:
        case OPT_PACE:
        case OPT_HOUR:
        case OPT_HITCH:
        case OPT_COARSE:
        case OPT_LIAR:
        case OPT_UNEQUAL: q->trial = o; break;
        case OPT_HELP: return 1;
        default: return 2;
        }
    }
    return optind < argc || q->first < 1 || q->jobs < 1 || q->jobs > JOBS_MAX ? 2 : 0;
}

int main(int argc, char **argv) {
    struct request q = {
        .first = 1,
        .jobs = 1,
        .cell = {.subframes = true, .tick_hz = 60, .fps = 60, .seconds = 150, .settle_seconds = 60}};
    int wrong = read_options(&q, argc, argv);
    kl_output_plain();
    bool nothing = !q.seeds && !q.kept && !q.one && !q.table && !q.cell_asked && !q.trial;
    if (wrong || nothing) {
        fputs(usage, wrong == 1 ? stdout : stderr);
        return wrong == 1 ? 0 : 2;
    }
    if (q.trial) return run_trial(&q);
    if (q.table) return cell_table(&q.cell, q.first, q.seeds ? q.seeds : 1);
    if (q.cell_asked) return cell_one(&q.cell, q.log);
    return q.one ? play_one(q.seed) : play_many(q.kept, q.first, q.seeds, q.jobs);
}

/* rooms - whole rooms with their relay in virtual time, in which much goes wrong. See --help. */
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>

#include "net/platform/standard.h"
#include "tests/lib/crew.h"
#include "tests/rooms/attack.h"
#include "tests/rooms/fleet.h"
#include "tests/lib/kept.h"

#define COMPARED 3000 /* commands */
#define LIMIT_S  60   /* of processor time for one room: beyond it hangs */

static const char usage[] =
    "rooms --seeds N [--first S] [--jobs J]  plays N rooms, of the seeds from S (1) on, J (1) at a time\n"
    "rooms --kept FILE [--jobs J]            plays the seeds that the file lists\n"
    "rooms --seed N                          plays one, with its story and the relay's log\n"
    "rooms --search N [--first S]            plays N rooms with liars (liar.h), of the seed S: shows those "
    "that cost\n"
    "                                        the others more than they may, and the worst\n"
    "rooms --lie NAME=VALUE,...              plays one of these, with its story\n"
    "      --plain                           without watchers, and nobody begins with a snapshot: as seeds "
    "of old\n"
    "      --economy                         all are economy rooms\n"
    "      --fleet                           several relays and a Redis (fleet.h)\n"
    "      --unfenced                        with --fleet: Redis does not look whose a room is, so rooms "
    "fail\n"
    "rooms --redis PORT [--first S]          compares the model of Redis with a real one at 127.0.0.1: its "
    "database 9 is emptied\n"
    "Exit status: 0 all held, 1 some room failed, 2 usage.\n";

uint64_t now_us;
struct rng fate_rng, wire_rng;
bool verbose, plain, economy, fleet;
char *fail_to;
struct kl_lobby *lobby[RELAYS];
const uint8_t relay_secret[32] = {7, 7, 7};

static uint64_t seed_now;
static struct rng chance_rng; /* of the relay's own randomness */
static struct totals {
    struct counts counts;
    uint64_t rooms, failed, frames, virtual_us;
} * totals;

void story(const char *format, ...) {
    va_list args;
    if (!verbose) return;
    va_start(args, format);
    fprintf(stderr, "%9.3f ", (double)now_us / 1e6);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void fail(const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    disk_end();
    fleet_folders_end();
    if (fail_to) {
        snprintf(fail_to, FAIL_BYTES, "at_s=%.3f frame=%u reason=\"%s\"", (double)now_us / 1e6, canon_end,
                 text);
        _Exit(1);
    }
    printf("seed=%" PRIu64 " failed=1 at_s=%.3f frame=%u reason=\"%s\"\n", seed_now, (double)now_us / 1e6,
           canon_end, text);
    fflush(stdout);
    _Exit(1);
}

/* The log's lines have the room's time, so that a seed writes the same bytes again. */
uint64_t __wrap_kl_wall_us(void);
uint64_t __wrap_kl_wall_us(void) {
    const int64_t ahead_us = fleet_relay_now() < RELAYS ? fleet_clock_us[fleet_relay_now()] : 0;
    return UINT64_C(1700000000) * SECOND + now_us + (uint64_t)ahead_us;
}

/* libsodium's random numbers for the lobby: of the seed, too. */
static const char *chance_name(void) {
    return "rooms";
}
static uint32_t chance_32(void) {
    return (uint32_t)(rng_next(&chance_rng) >> 32);
}
static void chance_bytes(void *const buf, const size_t len) {
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)buf)[i] = (uint8_t)(rng_next(&chance_rng) >> 56);
}
static struct randombytes_implementation chance = {
    .implementation_name = chance_name, .random = chance_32, .buf = chance_bytes};

void rooms_play(uint64_t seed, void (*begin)(void), void (*step)(void), bool (*is_over)(void)) {
    seed_now = seed;
    crew_limit_s(LIMIT_S);
    chance_rng = (struct rng){seed};
    fate_rng = rng_fork(&chance_rng);
    wire_rng = rng_fork(&chance_rng);
    now_us = 1000 * SECOND;
    kl_log_set_level(verbose ? KL_LOG_DEBUG : KL_LOG_ERROR);
    machine_begin(&truth);
    wire_begin();
    client_world_begin();
    for (unsigned i = 0; i < (fleet ? RELAYS : 1); i++)
        relay_begin(i);
    begin();
    for (; !is_over(); now_us += fleet ? FLEET_STEP_US : STEP_US) {
        wire_step();
        for (unsigned i = 0; i < CLIENTS; i++)
            client_step(&client[i]);
        fleet ? fleet_turn() : kl_lobby_run(lobby[0], now_us);
        step();
    }
}

static void step(void) {
    fate_step();
    judge_step();
}

static void play_fleet(uint64_t seed) {
    fleet_choose(seed);
    rooms_play(seed, fleet_begin, fleet_step, fleet_is_over);
    fleet_judge_end();
    fleet_folders_end();
}

static void play(uint64_t seed) {
    if (fleet) {
        play_fleet(seed);
        return;
    }
    fate_choose(seed);
    rooms_play(seed, fate_begin, step, fate_is_over);
    judge_end();
    kl_lobby_destroy(lobby[0]);
    disk_end();
}

static void count(void) {
    struct totals *t = totals;
    t->rooms++;
    t->frames += canon_end;
    t->virtual_us += now_us - 1000 * SECOND;
    const uint64_t *from = (const uint64_t *)&counts;
    for (size_t i = 0; i < sizeof counts / sizeof *from; i++)
        __atomic_add_fetch((uint64_t *)&t->counts + i, from[i], __ATOMIC_RELAXED);
}

/* A process for each room: what fails ends it, and the next is none the worse. */
static void run_room(void *seed) {
    play(*(uint64_t *)seed);
    count();
}

static bool wait_for_one(void) {
    char why[64];
    if (!crew_wait(why)) return false;
    totals->failed += *why != 0;
    if (*why && strcmp(why, "exit") != 0) printf("failed=1 crash=\"%s\"\n", why);
    return true;
}

/* `seeds` rooms from the seed `first` on, or, where first is 0, of these seeds. */
static int run_rooms(uint64_t first, uint64_t seeds, const struct kept *kept, unsigned jobs) {
    unsigned under_way = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        if (!first) plain = kept[i].plain;
        uint64_t seed = first ? first + i : kept[i].seed;
        crew_begin(run_room, &seed);
        if (++under_way == jobs) under_way -= wait_for_one();
    }
    while (under_way && wait_for_one())
        under_way--;
    const struct counts *c = &totals->counts;
    printf("rooms=%" PRIu64 " failed=%" PRIu64 " first=%" PRIu64 " frames=%" PRIu64 " virtual_s=%" PRIu64
           " corrupted=%" PRIu64 " healed=%" PRIu64 " doubts=%" PRIu64 " cut_off=%" PRIu64 " crashed=%" PRIu64
           " relay_deaths=%" PRIu64 " frames_lost_with_it=%" PRIu64 " ended=%" PRIu64 " begun=%" PRIu64
           " watched=%" PRIu64 " based=%" PRIu64 " unfit=%" PRIu64 " rewound=%" PRIu64 " resumed=%" PRIu64
           " given_up=%" PRIu64 " asked=%" PRIu64 " disk_faults=%" PRIu64 " from_journal=%" PRIu64 "\n",
           seeds, totals->failed, first, totals->frames, totals->virtual_us / SECOND, c->corrupted, c->healed,
           c->doubts, c->lost, c->crashed, c->relay_deaths, c->cut_frames, c->ended, c->begun, c->watched,
           c->based, c->unfit, c->rewound, c->resumed, c->given_up, c->asked, c->disk_faults,
           c->from_journal);
    return totals->failed > 0;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"seeds", 1, NULL, 'n'},  {"first", 1, NULL, 'f'},
                                            {"jobs", 1, NULL, 'j'},   {"seed", 1, NULL, 's'},
                                            {"plain", 0, NULL, 'p'},  {"kept", 1, NULL, 'k'},
                                            {"help", 0, NULL, 'h'},   {"lie", 1, NULL, 'l'},
                                            {"search", 1, NULL, 'a'}, {"economy", 0, NULL, 'e'},
                                            {"fleet", 0, NULL, 'F'},  {"unfenced", 0, NULL, 'u'},
                                            {"redis", 1, NULL, 'r'},  {0}};
    static struct kept kept[KEPT_MAX];
    uint64_t first = 1, seeds = 0, one = 0, attacks = 0;
    const char *lie = NULL;
    unsigned jobs = 1;
    unsigned long redis = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'n')
            seeds = strtoull(optarg, NULL, 10);
        else if (o == 'f')
            first = strtoull(optarg, NULL, 10);
        else if (o == 'j')
            jobs = (unsigned)strtoul(optarg, NULL, 10);
        else if (o == 'p')
            plain = true;
        else if (o == 'e')
            economy = true;
        else if (o == 'F')
            fleet = true;
        else if (o == 'r')
            redis = strtoul(optarg, NULL, 10);
        else if (o == 'u')
            unfenced = true;
        else if (o == 'k')
            first = 0, seeds = kept_read(optarg, kept);
        else if (o == 's')
            one = strtoull(optarg, NULL, 10);
        else if (o == 'a')
            attacks = strtoull(optarg, NULL, 10);
        else if (o == 'l')
            lie = optarg;
        else
            return fputs(usage, o == 'h' ? stdout : stderr), o == 'h' ? 0 : 2;
    }
    if ((!seeds && !one && !attacks && !lie && !redis) || !jobs || (!first && !kept[0].seed) || optind < argc)
        return fputs(usage, stderr), 2;
    if (redis) return redis_compare((uint16_t)redis, COMPARED, first);
    if (!one && !crew_forks()) return fputs("rooms: this system cannot fork: expected --seed\n", stderr), 2;
    kl_output_plain();
    totals = crew_memory(sizeof *totals);
    randombytes_set_implementation(&chance);
    if (sodium_init() < 0) return 2;
    verbose = one || lie;
    if (attacks) return attack_search(first, attacks);
    if (lie) return attack_one(lie);
    if (one) {
        play(one);
        return puts("held"), 0;
    }
    return run_rooms(first, seeds, kept, jobs);
}

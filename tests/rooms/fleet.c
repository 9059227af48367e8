/* A fleet's players: how they find their relay, as net/transport/link_thread.c does it; what goes wrong; and
 * what must hold: never two truths. */
#include "net/platform/address.h"
#include "tests/rooms/fleet.h"

#define PLAYERS      3
#define LEASE_FRAMES 240 /* of 3 s, and a second to see it */
#define CALM_US      (40 * SECOND)
#define LOOK_US      (100 * 1000)
#define OTHERS_US    SECOND /* as net/transport/link_thread.c */
#define KEEP_US      (2 * SECOND)
#define TAKES_US     (1 * SECOND)
#define LEASE_US     (3 * SECOND)

/* --- ways --- */

struct list {
    unsigned count;
    unsigned at[RELAYS];
};

static struct way {
    struct list names, others;
    int relay, found; /* -1: none */
    unsigned tried, life, found_life;
} way[CLIENTS];
static uint64_t way_cut_us[RELAYS][CLIENTS]; /* cut before */

static bool is_among(unsigned relay, const struct list *all, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (all->at[i] == relay) return true;
    return false;
}

static void add(struct list *all, unsigned relay) {
    if (relay < RELAYS && !is_among(relay, all, all->count)) all->at[all->count++] = relay;
}

static struct list read_places(const char *places) {
    struct list out = {0};
    struct kl_address a;
    char text[KL_TEXT_MAX];
    snprintf(text, sizeof text, "%s", places);
    for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
        if (kl_address_parse_place(at, &a)) add(&out, a.host[KL_HOST_BYTES - 1] - 1u);
    return out;
}

static void choose(struct way *w, unsigned relay, unsigned life) {
    const struct list others = w->names;
    w->relay = (int)relay;
    w->life = life;
    w->names = (struct list){1, {relay}};
    for (unsigned i = 0; i < others.count; i++)
        add(&w->names, others.at[i]);
}

void fleet_enters(struct client *c) {
    way[c->number] = (struct way){.names = {1, {c->number % RELAYS}}, .relay = -1, .found = -1};
}

void fleet_dials(struct client *c) {
    struct kl_participant *s = &c->p.participant;
    struct way *w = &way[c->number];
    struct list names = {0};
    w->tried = 0;
    w->others = read_places(s->relays);
    if (s->dial.s.stage != KL_DIAL_HANDSHAKE) { /* with the probe's keys */
        if (w->found >= 0) choose(w, (unsigned)w->found, w->found_life);
        w->found = -1;
        return;
    }
    if (s->goes_on) names = read_places(s->elsewhere);
    const struct list *more = s->goes_on ? &w->others : &w->names;
    for (unsigned i = 0; i < more->count; i++)
        add(&names, more->at[i]);
    for (unsigned i = 0; i < w->others.count && s->status.phase == KL_PARTICIPANT_RETURNING; i++)
        add(&names, w->others.at[i]);
    s->goes_on = false;
    if (names.count) w->names = names;
    w->relay = w->found = -1;
}

void fleet_init(struct client *c, const uint8_t init[KL_INIT_BYTES]) {
    struct way *w = &way[c->number];
    if (w->relay < 0) {
        if (w->tried < w->names.count) w->tried++;
        for (unsigned i = 0; i < w->tried; i++)
            wire_stranger(c, w->names.at[i], init, KL_INIT_BYTES);
        return;
    }
    wire_stranger(c, (unsigned)w->relay, init, KL_INIT_BYTES);
    if (now_us < c->p.participant.dial.s.heard_us + OTHERS_US) return;
    w->others = read_places(c->p.participant.relays);
    for (unsigned i = 0; i < w->others.count; i++)
        wire_stranger(c, w->others.at[i], init, KL_INIT_BYTES);
}

void fleet_answers(struct client *c, unsigned relay, const uint8_t *bytes, size_t len) {
    struct way *w = &way[c->number];
    const struct kl_dial_session *d = &c->p.participant.dial.s;
    const bool probed = d->probing && is_among(relay, &w->others, w->others.count), found = d->found_us;
    const bool own = w->relay >= 0 ? (unsigned)w->relay == relay : is_among(relay, &w->names, w->tried);
    if (!probed && !own) return;
    const bool answered = kl_participant_stranger(&c->p.participant, bytes, len, now_us);
    if (answered && w->relay < 0) choose(w, relay, fleet_life(relay));
    if (!found && d->found_us) {
        w->found = (int)relay;
        w->found_life = fleet_life(relay);
    }
}

bool fleet_connects(const struct client *c) {
    const struct way *w = &way[c->number];
    return w->relay >= 0 && fleet_runs((unsigned)w->relay) && fleet_life((unsigned)w->relay) == w->life &&
           fleet_way((unsigned)w->relay, c->number);
}

unsigned fleet_relay(const struct client *c) {
    return (unsigned)way[c->number].relay;
}

bool fleet_way(unsigned relay, unsigned number) {
    return fleet_life(relay) && now_us >= way_cut_us[relay][number];
}

/* --- faults --- */

enum {
    CUT_REDIS,   /* a relay from Redis */
    CUT_PLAYER,  /* a player from his relay */
    CUT_BOTH,    /* his relay from Redis, too */
    CUT_PLAYERS, /* all from a relay */
    STOP_RELAY,
    STOP_DIRECTORY,
    STOP_ROOMS,
    STOP_REDIS,
    CLOCK,
    KILL,
    FLUSH,
    GO_BACK, /* Redis dies, and one that is some seconds behind takes its place */
    FAULTS
};
static const char *const fault_name[FAULTS] = {"a relay is cut from Redis",
                                               "a player is cut from his relay",
                                               "a relay is cut from Redis, and a player",
                                               "no player reaches a relay",
                                               "a relay stands still",
                                               "a directory stands still",
                                               "a rooms' process stands still",
                                               "Redis stands still",
                                               "a clock steps",
                                               "a relay is killed",
                                               "Redis forgets all",
                                               "an older Redis takes its place"};

static struct rng fault_rng;
static unsigned allowed; /* kinds, as bits */
static uint64_t until_us, next_us, redis_cut_us[RELAYS], redis_stands_us, keep_us;
static uint8_t policy;
static unsigned ended, loses; /* players; faults that may lose a match */
static uint64_t away_us;      /* so long, in all, some relay had no Redis */

static unsigned draw(unsigned below) {
    return rng_range(&fault_rng, 0, below - 1);
}

/* A relay with players, most often. */
static unsigned some_relay(void) {
    const struct client *c = &client[draw(PLAYERS)];
    return rng_chance(&fault_rng, 0.8) && c->state == IN ? fleet_relay(c) % RELAYS : draw(RELAYS);
}

static void happen(void) {
    const unsigned r = some_relay(), p = draw(PLAYERS);
    unsigned kind = draw(FAULTS);
    while (!(allowed >> kind & 1))
        kind = (kind + 1) % FAULTS;
    static const uint32_t most_us[] = {3000000, 6000000, 12000000};
    const uint64_t end_us = now_us + rng_range(&fault_rng, 300000, most_us[draw(3)]);
    story("%s: relay %u, player %u, for %.1f s", fault_name[kind], r, p, (double)(end_us - now_us) / 1e6);
    if (kind == CUT_REDIS || kind == CUT_BOTH) redis_cut_us[r] = end_us;
    if (kind == CUT_PLAYER || kind == CUT_BOTH) way_cut_us[r][p] = end_us;
    for (unsigned i = 0; i < PLAYERS && kind == CUT_PLAYERS; i++)
        way_cut_us[r][i] = end_us;
    if (kind == STOP_RELAY) fleet_stop(r, end_us + rng_range(&fault_rng, 0, 30000), end_us);
    if (kind == STOP_DIRECTORY) fleet_stop(r, end_us, 0);
    if (kind == STOP_ROOMS) fleet_stop(r, 0, end_us);
    if (kind == STOP_REDIS) redis_stands_us = end_us;
    if (kind == CLOCK) {
        int64_t *clock = rng_chance(&fault_rng, 0.5) ? &redis_clock_us : &fleet_clock_us[r];
        *clock += (int64_t)rng_range(&fault_rng, 0, 40000000) - 20000000;
    }
    if (kind == KILL && fleet_life(r)) fleet_relay_dies(r, end_us);
    if (kind == FLUSH) redis_flush();
    if (kind == GO_BACK) redis_go_back();
    loses += kind == FLUSH || kind == GO_BACK || kind == CLOCK;
}

void fleet_choose(uint64_t seed) {
    fault_rng = (struct rng){seed ^ UINT64_C(0xf1ee7)};
    redis_begin(seed);
    fleet_folders();
    if (!verbose) kl_log_to(fopen("/dev/null", "w"));
}

void fleet_begin(void) {
    struct kl_params params = {.subframes = true, .clocked = true, .fps_uhz = 60000000, .hash_every = EVERY};
    policy = params.policy = (uint8_t)draw(3);
    params.wait_budget_ms = 100;
    params.players = PLAYERS;
    allowed = rng_chance(&fault_rng, 0.5) ? 1u << draw(FAULTS)
                                          : (unsigned)rng_next(&fault_rng) & ((1u << FAULTS) - 1);
    if (!allowed) allowed = 1u << CUT_BOTH;
    until_us = now_us + rng_range(&fault_rng, 40, 60) * SECOND;
    next_us = now_us + rng_range(&fault_rng, 8, 20) * SECOND;
    for (unsigned i = 0; i < CLIENTS; i++) {
        client[i].number = i;
        client[i].params = params;
        client[i].p.most = 300;
        client[i].seats_wanted = 1;
        client[i].consents = true;
        snprintf(client[i].name, sizeof client[i].name, "c%u", i);
    }
    story("policy=%u faults=%03x", policy, allowed);
}

/* --- frames --- */

static struct kl_frame *ran[PLAYERS];
static uint32_t agreed[PLAYERS][PLAYERS]; /* frames below are the same at both */
static uint32_t unmade[PLAYERS], most_unmade, most_forked;
static uint64_t two_us, most_two_us; /* two relays play the room on */

const struct kl_frame *fleet_frame(const struct client *c, uint32_t number) {
    return &ran[c->number][number];
}

void fleet_ran(struct client *c, const struct kl_frame *f) {
    const unsigned n = c->number;
    if (!ran[n] && !(ran[n] = calloc(FRAMES, sizeof *f))) fail("no memory");
    if (f->number >= FRAMES) fail("%s runs frame %u: more than there should be", c->name, f->number);
    struct kl_frame *own = &ran[n][f->number];
    const bool known = own->spacing, same = known && canon_same(own, f);
    if (known && !same && ++unmade[n] > most_unmade) most_unmade = unmade[n];
    if (!known) unmade[n] = 0;
    for (unsigned i = 0; i < PLAYERS && !same; i++) {
        if (agreed[n][i] > f->number) agreed[n][i] = f->number;
        if (agreed[i][n] > f->number) agreed[i][n] = f->number;
    }
    *own = *f;
    if (f->number >= canon_end) canon_end = f->number + 1;
}

/* Frames that both have, and differ. */
static unsigned forked(unsigned a, unsigned b, uint32_t *first) {
    const uint32_t next_a = client[a].machine.next, next_b = client[b].machine.next;
    const uint32_t end = next_a < next_b ? next_a : next_b;
    unsigned differ = 0;
    if (!ran[a] || !ran[b]) return 0;
    while (agreed[a][b] < end && canon_same(&ran[a][agreed[a][b]], &ran[b][agreed[a][b]]))
        agreed[a][b]++;
    *first = agreed[a][b];
    for (uint32_t i = agreed[a][b]; i < end; i++)
        differ += !canon_same(&ran[a][i], &ran[b][i]);
    return differ;
}

/* It is at a relay that is there, and plays. */
static bool goes_on(unsigned i) {
    const struct client *c = &client[i];
    return is_playing(c) && fleet_runs(fleet_relay(c)) && fleet_way(fleet_relay(c), i);
}

/* Two relays play one room on at the same time: never for longer than one that has lost it takes to see that;
 * that is a lease where Redis has lost what it knew, or the time. */
static void judge_relays(void) {
    static struct {
        uint32_t end;
        uint8_t id[KL_ROOM_ID_BYTES];
    } had[RELAYS];
    const uint64_t may_us = loses ? TAKES_US + LEASE_US : TAKES_US;
    const uint8_t *first = NULL;
    bool two = false;
    for (unsigned i = 0; i < RELAYS; i++) {
        const struct kl_lobby_room *r = fleet_runs(i) ? kl_lobby_find(lobby[i], "room") : NULL;
        if (!r || r->phase != KL_ROOM_PLAYING) continue;
        const bool plays = !memcmp(had[i].id, r->id, sizeof r->id) && r->lock.next_close > had[i].end;
        memcpy(had[i].id, r->id, sizeof r->id);
        had[i].end = r->lock.next_close;
        two = two || (plays && first && !memcmp(first, r->id, sizeof r->id));
        if (plays) first = r->id;
    }
    two_us = two ? two_us + LOOK_US : 0;
    if (two_us > most_two_us) most_two_us = two_us;
    if (two_us > may_us) fail("two relays have played one room on for %.1f s", (double)two_us / 1e6);
}

static void judge(bool at_end) {
    judge_relays();
    for (unsigned a = 0; a < PLAYERS; a++)
        for (unsigned b = a + 1; b < PLAYERS; b++) {
            uint32_t first;
            if (!goes_on(a) || !goes_on(b)) continue;
            const unsigned differ = forked(a, b, &first);
            if (differ > most_forked) most_forked = differ;
            if (differ > (at_end || policy == KL_POLICY_STRICT ? 0 : LEASE_FRAMES))
                fail("two truths: %s and %s have played %u frames with different inputs, from %u on",
                     client[a].name, client[b].name, differ, first);
        }
}

bool fleet_may_end(const struct client *c) {
    ended++;
    return loses || c->p.participant.leaving;
}

void fleet_step(void) {
    static uint64_t looked_us;
    for (unsigned i = 0; i < PLAYERS; i++) /* one after the other: all know of the room */
        if (client[i].state == OFF && !ran[i] && now_us >= (1000 + 4 + i) * SECOND && now_us < 1010 * SECOND)
            client_enter(&client[i]);
    redis_stands = now_us < redis_stands_us;
    bool away = redis_stands;
    for (unsigned i = 0; i < RELAYS; i++)
        away |= redis_cut[i] = now_us < redis_cut_us[i];
    away_us += away * FLEET_STEP_US;
    if (now_us >= keep_us) {
        keep_us = now_us + KEEP_US;
        redis_keep();
    }
    if (now_us >= next_us && now_us < until_us) {
        next_us = now_us + rng_range(&fault_rng, 500000, 9000000);
        happen();
    }
    if (now_us >= until_us) wire_calm();
    if (now_us < looked_us + LOOK_US) return;
    looked_us = now_us;
    judge(false);
}

bool fleet_is_over(void) {
    return now_us >= until_us + CALM_US;
}

void fleet_judge_end(void) {
    judge(true);
    for (unsigned i = 0; i < PLAYERS; i++)
        story("%s: state %u frame %u at relay %d unmade %u: %s", client[i].name, client[i].state,
              client[i].machine.next, way[i].relay, unmade[i], client[i].p.participant.status.reason);
    story("two relays for %.1f s; at most %u frames forked, %u unmade; %u players ended; %u faults that "
          "lose; without Redis for %.1f s",
          (double)most_two_us / 1e6, most_forked, most_unmade, ended, loses, (double)away_us / 1e6);
}

/* A room's kinds of mishaps, and their rate, are drawn with it: some rooms have one kind alone. */
#include "net/client/participant_parts.h"
#include "tests/rooms/rooms.h"

/* SPARE: nothing happens; it keeps the draws of before. */
enum { CORRUPT, LOSE, CRASH, LEAVE, SEAT, RESET, SPARE, DELAY, LOSE_EARLY, KINDS };
#define FIRST_KINDS DELAY /* the state before snapshots to begin with, and watchers */

static double rate[KINDS]; /* a second; 0: never */
static uint64_t started_us, until_us, relay_us, relay_died_us;
static unsigned relay_lives;
static bool opening, gone;
static struct rng more_rng, queue_rng,
    consent_rng; /* of what came later, each: it does not shift the draws of before */
static bool seats_go_round, strangers, forgery;
static unsigned watchers, catch_up_s;
static uint32_t turn_frames[CLIENTS];

#define CALM_US (26 * SECOND)

unsigned fate_watchers(void) {
    return watchers;
}
unsigned fate_catch_up_s(void) {
    return catch_up_s;
}

static unsigned count_seated(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < CLIENTS; i++)
        n += is_playing(&client[i]) && client[i].p.participant.lock.seats != 0;
    return n;
}

/* One that plays, at random; NULL: none does. */
static struct client *somebody(void) {
    unsigned from = rng_range(&fate_rng, 0, CLIENTS - 1);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (is_playing(&client[(from + i) % CLIENTS])) return &client[(from + i) % CLIENTS];
    return NULL;
}

static void corrupt(struct client *c) {
    c->machine.is ^= rng_next(&fate_rng) | 1;
    c->machine.was[c->machine.next] = c->machine.is;
    c->strike_us[c->strikes++ % 64] = now_us;
    counts.corrupted++;
    story("%s is corrupted before frame %u", c->name, c->machine.next);
}

static void lose(struct client *c, bool fresh) {
    uint64_t back_us = rng_range(&fate_rng, 300000, fresh ? 9000000 : 7000000);
    story("%s %s at frame %u, back in %.1f s", c->name, fresh ? "crashes" : "is cut off", c->machine.next,
          (double)back_us / 1e6);
    fresh ? counts.crashed++ : counts.lost++;
    client_lose(c, back_us, fresh);
}

/* While it comes in, loads, or waits for the state to begin with. */
static void lose_early(void) {
    struct client *c = &client[rng_range(&more_rng, 0, CLIENTS - 1)];
    bool early = c->session && (c->state == ENTERING || (c->state == IN && !is_playing(c)));
    if (early) lose(c, rng_chance(&more_rng, 0.3));
}

/* The watchers' delay. */
static void delay(void) {
    uint8_t s[2] = {(uint8_t)rng_range(&more_rng, 0, 3)};
    for (unsigned i = 0; i < CLIENTS; i++)
        if (is_playing(&client[i]) && client[i].host) client_order(&client[i], KL_COMMAND_DELAY, s, sizeof s);
}

static void take_seat(struct client *c) {
    if (c->p.participant.lock.seats && count_seated() < 3) return;
    uint8_t wanted = c->p.participant.lock.seats == 0;
    story("%s %s", c->name, wanted ? "wants a seat" : "steps back");
    client_order(c, KL_COMMAND_SEAT, &wanted, 1);
}

static bool has_the_turn(const struct client *c) {
    const struct kl_roster *o = &c->p.participant.status.roster;
    for (unsigned i = 0; i < o->waiting; i++)
        if (o->queue[i].turn && strcmp(o->queue[i].name, c->name) == 0) return true;
    return false;
}

/* Somebody hands the seat on, or asks for one; most that have the turn take the seat. */
static void go_round(void) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        uint8_t wanted = c->p.participant.lock.seats ? KL_SEAT_NEXT : 1;
        if (!is_playing(c)) continue;
        double often = wanted == 1 && has_the_turn(c) ? 1.0 / 5 : 1.0 / 12; /* a second */
        if (!rng_chance(&queue_rng, often * STEP_US / 1e6)) continue;
        story("%s %s", c->name, wanted == 1 ? "asks for a seat" : "hands the seat on");
        client_order(c, KL_COMMAND_SEAT, &wanted, 1);
    }
}

static void happen(unsigned kind) {
    if (kind >= FIRST_KINDS) {
        delay();
        return;
    }
    struct client *c = somebody();
    if (!c) return;
    switch (kind) {
    case CORRUPT: corrupt(c); break;
    case LOSE: lose(c, false); break;
    case CRASH: lose(c, true); break;
    case LEAVE:
        if (c->p.participant.lock.seats && count_seated() < 3) break;
        story("%s leaves", c->name);
        client_leave(c);
        break;
    case SEAT: take_seat(c); break;
    case RESET: client_order(c, KL_COMMAND_RESET, NULL, 0); break;
    default: break; /* SPARE */
    }
}

static bool known[CLIENTS];            /* to the journal, when the relay died */
static uint8_t game[KL_ROOM_ID_BYTES]; /* the id of the room that died with it */

bool fate_keeps_seat(const struct client *c) {
    return opening && !gone && known[c->number] && now_us < relay_died_us + 9 * SECOND;
}

bool fate_game_is_gone(void) {
    return opening && gone;
}

/* A journal that lost its newest frames has also lost who took a seat then. */
static bool is_on_record(const struct client *c) {
    const struct kl_lobby_room *r = the_room();
    if (disk_proves() >= canon_end) return true;
    for (unsigned i = 0; r && i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(r->member[i]) && strcmp(r->member[i]->v.name, c->name) == 0) return true;
    return false;
}

static void relay_dies(void) {
    relay_lives--;
    relay_died_us = now_us;
    relay_us = now_us + rng_range(&fate_rng, 15000000, 25000000);
    opening = true;
    gone = false;
    counts.relay_deaths++;
    if (the_room()) memcpy(game, the_room()->id, sizeof game);
    story("the relay dies at frame %u", canon_end);
    disk_relay_dies();
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        known[i] = is_playing(c) && c->loaded_us + 2 * SECOND < now_us;
        if (c->state != OFF) client_relay_died(c, now_us + rng_range(&fate_rng, 100000, 3500000));
    }
    relay_begin(0);
    for (unsigned i = 0; i < CLIENTS; i++)
        known[i] = known[i] && is_on_record(&client[i]);
}

/* A relay begins again with the frames of its journal; the room opens before anything more is played. If it
 * is not there, or nobody comes, the next game is another. */
static void watch_it_open(void) {
    struct kl_lobby_room *r = the_room();
    if (!opening) return;
    gone |= !r;
    if (!r || r->phase != KL_ROOM_PLAYING) return;
    bool other = memcmp(r->id, game, sizeof game) != 0;
    uint32_t end = other ? 0 : r->lock.next_close;
    opening = gone = false;
    if (!other && end < disk_proves() && end < canon_end)
        fail("the room goes on at frame %u, and the journal had more", end);
    story("the room is open again at frame %u of %u", end, canon_end);
    if (end < canon_end) counts.cut_frames += canon_end - end;
    canon_cut(end);
}

static void let_in(void) {
    if (now_us < relay_died_us + 12 * SECOND && relay_died_us) return;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &client[i];
        if (c->state != OFF || !rng_chance(&fate_rng, 0.001)) continue;
        c->seats_wanted = rng_chance(&fate_rng, 0.7);
        story("%s comes, for %u seats", c->name, c->seats_wanted);
        client_enter(c);
    }
}

/* If nothing helps any more, and the players were asked, the host says that it shall be tried again. */
static void host_insists(void) {
    const struct kl_lobby_room *r = the_room();
    uint8_t heal = KL_DESYNC_HEAL, resume = 0;
    bool given_up = r && (r->heal.hopeless || r->lock.paused);
    if (!given_up || r->heal.play_on.until_us || now_us % SECOND >= STEP_US) return;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (!is_playing(&client[i]) || !client[i].host) continue;
        if (r->lock.paused) client_order(&client[i], KL_COMMAND_PAUSE, &resume, 1);
        client_order(&client[i], KL_COMMAND_DESYNC, &heal, 1);
    }
}

static const double usual_s[KINDS] = {[CORRUPT] = 7, [LOSE] = 9,  [CRASH] = 14,     [LEAVE] = 14,
                                      [SEAT] = 10,   [RESET] = 4, [LOSE_EARLY] = 1, [DELAY] = 8};

/* Of a relay's limits, and of machines. Before the relay begins. */
void fate_choose(uint64_t seed) {
    disk_choose(seed);
    more_rng = (struct rng){seed ^ UINT64_C(0x5eed)};
    queue_rng = (struct rng){seed ^ UINT64_C(0x0e0e)};
    consent_rng = (struct rng){seed ^ UINT64_C(0xc0de)};
    strangers = !plain && rng_chance(&consent_rng, 0.5);
    forgery = !plain && rng_chance(&consent_rng, 0.25);
    seats_go_round = !plain && rng_chance(&queue_rng, 0.5);
    catch_up_s = 600;
    for (unsigned i = 0; i < CLIENTS; i++)
        turn_frames[i] = 300;
    if (plain) return;
    if (rng_chance(&more_rng, 0.7)) catch_up_s = rng_range(&more_rng, 1, 2);
    if (rng_chance(&more_rng, 0.7)) watchers = 2 * CLIENTS; /* some whose links are gone */
    for (unsigned i = 0; i < CLIENTS; i++)
        if (rng_chance(&more_rng, 0.5)) turn_frames[i] = rng_range(&more_rng, 6, 20);
    for (unsigned k = FIRST_KINDS; k < KINDS; k++)
        if (rng_chance(&more_rng, 0.5)) rate[k] = 1 / usual_s[k];
}

void fate_begin(void) {
    struct kl_params params = {.subframes = true, .clocked = true, .fps_uhz = 60000000, .hash_every = EVERY};
    unsigned players = rng_range(&fate_rng, 2, 4);
    params.policy = (uint8_t)rng_range(&fate_rng, 0, 2);
    params.wait_budget_ms = 250;
    params.players = (uint8_t)players;
    params.economy = economy;
    for (unsigned k = 0; k < FIRST_KINDS; k++)
        if (k == CORRUPT || rng_chance(&fate_rng, 0.5)) rate[k] = 1 / usual_s[k];
    relay_lives = rng_chance(&fate_rng, 0.3) ? rng_range(&fate_rng, 1, 2) : 0;
    until_us = now_us + rng_range(&fate_rng, 15, 40) * SECOND;
    started_us = now_us;
    relay_us = now_us + rng_range(&fate_rng, 5000000, 20000000);
    for (unsigned i = 0; i < CLIENTS; i++) {
        client[i].number = i;
        client[i].params = params;
        snprintf(client[i].name, sizeof client[i].name, "c%u", i);
        client[i].p.most = turn_frames[i];
        client[i].seats_wanted = 1;
        client[i].consents = !strangers || rng_chance(&consent_rng, 0.6);
        if (i < players) client_enter(&client[i]);
    }
    if (forgery && players > 2) client[rng_range(&consent_rng, 0, players - 1)].forges = true;
    story("players=%u policy=%u watchers=%u catch_up_s=%u", players, params.policy, watchers, catch_up_s);
}

void fate_step(void) {
    if (now_us < until_us) disk_step();
    watch_it_open();
    host_insists();
    if (now_us < until_us && rate[LOSE_EARLY] > 0 && rng_chance(&more_rng, rate[LOSE_EARLY] * STEP_US / 1e6))
        lose_early();
    if (now_us < started_us + 2 * SECOND || now_us >= until_us) {
        if (now_us >= until_us) wire_calm();
        return;
    }
    for (unsigned k = 0; k < KINDS; k++)
        if (k != LOSE_EARLY && rng_chance(k < FIRST_KINDS ? &fate_rng : &more_rng, rate[k] * STEP_US / 1e6))
            happen(k);
    if (seats_go_round) go_round();
    if (relay_lives && now_us >= relay_us && now_us + 12 * SECOND < until_us + CALM_US) relay_dies();
    let_in();
}

bool fate_is_over(void) {
    return now_us >= until_us + CALM_US;
}

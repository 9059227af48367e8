#include "tests/sim/scenario.h"

#include "net/engine/lock_relay.h"

#include <string.h>

static const double frontend_hz[] = {59.94, 60.0, 60.1, 120.0, 144.0};
static const double core_fps[] = {60.0, 60.0988, 59.7275, 59.1856, 50.007, 50.0, 59.94, 60.1};
#define PICK(r, a) ((a)[rng_range((r), 0, (uint32_t)(sizeof(a) / sizeof *(a)) - 1)])

static uint16_t draw_budget(struct rng *r) {
    return rng_chance(r, 0.5) ? 250 : (uint16_t)rng_range(r, rng_chance(r, 0.2) ? 20 : 80, 1500);
}

static void draw_params(struct scenario *s, struct rng *r) {
    struct kl_params *p = &s->params;
    p->policy = (uint8_t)rng_range(r, KL_POLICY_STRICT, KL_POLICY_OPTIMISTIC);
    p->subframes = rng_chance(r, 0.8);
    p->half_steps = rng_chance(r, 0.2);
    p->clocked = rng_chance(r, 0.85);
    p->players = (uint8_t)rng_range(r, 2, KL_MAX_SEATS);
    p->spacing_fixed = rng_chance(r, 0.3) ? (uint8_t)rng_range(r, KL_SPACING_MIN, KL_SPACING_MAX) : 0;
    p->wait_budget_ms = draw_budget(r);
    static const uint16_t every[] = {0, 1, 7, 60, 60, 60, 600};
    p->hash_every = PICK(r, every);
    double fps = rng_chance(r, 0.7) ? PICK(r, core_fps) : rng_between(r, 50, 60.1);
    p->fps_uhz = (uint32_t)(fps * 1e6);
}

/* Mostly short, so that many rooms are different; some as long as a match. On average 70 s: 1,000 rooms are
 * some 17 virtual hours, and should take no more than three minutes on one core. */
static uint64_t draw_duration(struct rng *r, bool clocked) {
    double kind = rng_unit(r);
    double s = kind < 0.50   ? rng_between(r, 4, 20)
               : kind < 0.80 ? rng_between(r, 20, 120)
               : kind < 0.95 ? rng_between(r, 120, 240)
                             : rng_between(r, 240, 600);
    return (uint64_t)((clocked ? s : fmin(s / 2, 30)) * 1e6);
}

static int64_t draw_offset(struct rng *r) {
    if (rng_chance(r, 0.3)) return (INT64_C(1) << 32) * rng_range(r, 1, 1000) - rng_range(r, 0, 20000000);
    return (int64_t)(rng_next(r) >> 20);
}

static void draw_client(struct scenario_client *c, struct rng *r, unsigned class, bool clocked) {
    c->there = true;
    if (rng_chance(r, 0.2)) class = rng_range(r, 0, 4);
    c->up = link_draw(r, class);
    c->down = rng_chance(r, 0.7) ? c->up : link_draw(r, class);
    c->clock_offset_us = draw_offset(r);
    c->clock_ppm = (int32_t)rng_range(r, 0, 200) - 100;
    c->tick_us = clocked ? 1e6 / PICK(r, frontend_hz) : rng_between(r, 250, 4000);
    c->phase_us = rng_range(r, 0, 20000);
    c->tick_jitter_us = rng_chance(r, 0.5) ? rng_range(r, 0, 3000) : 0;
    c->max_runs = rng_range(r, 2, 16);
    c->device = rng_chance(r, 0.6) ? DEVICE_PAD : (uint8_t)rng_range(r, DEVICE_PAD, DEVICE_ALL);
    c->activity = rng_chance(r, 0.3) ? rng_between(r, 0.2, 1) : rng_between(r, 0, 0.2);
}

/* Gives `players` seats to clients of one to four seats, and adds spectators, at scattered indices. */
static void draw_clients(struct scenario *s, struct rng *r) {
    unsigned class = rng_range(r, 0, 4), free_seat = 0;
    unsigned spectators = rng_chance(r, 0.3) ? rng_range(r, 1, 3) : 0;
    double several = rng_chance(r, 0.3) ? 0.6 : 0.1;
    s->heavy = rng_chance(r, 0.03);
    while (free_seat < s->params.players || spectators > 0) {
        struct scenario_client *c = &s->client[rng_range(r, 0, KL_MAX_CLIENTS - 1)];
        if (c->there) continue;
        draw_client(c, r, class, s->params.clocked);
        if (s->heavy) {
            c->device = DEVICE_ALL;
            c->activity = 1;
        }
        if (free_seat == s->params.players) {
            spectators--;
            continue;
        }
        unsigned left = s->params.players - free_seat;
        unsigned seats = rng_chance(r, several) ? rng_range(r, 1, left < 4 ? left : 4) : 1;
        c->seats = (uint8_t)(((1u << seats) - 1) << free_seat);
        free_seat += seats;
    }
}

static void need_places(struct scenario *s, double stall_us) {
    uint32_t frames = (uint32_t)(stall_us * s->params.fps_uhz / 1e12) + 2 * KL_WINDOW_FRAMES;
    if (frames > s->held_frames) s->held_frames = frames;
}

static double draw_stall_us(struct rng *r) {
    return rng_chance(r, 0.5)   ? rng_between(r, 2e4, 1e6)
           : rng_chance(r, 0.8) ? rng_between(r, 1e6, 6e6)
                                : rng_between(r, 6e6, 3e7);
}

static void draw_order(struct kl_command *o, const struct scenario *s, struct rng *r) {
    double kind = rng_unit(r);
    o->kind = kind < 0.15  ? KL_COMMAND_POLICY
              : kind < 0.3 ? KL_COMMAND_SWAP
              : kind < 0.4 ? KL_COMMAND_PAUSE
                           : (uint8_t)rng_range(r, KL_COMMAND_FREE, 255);
    o->client = rng_chance(r, 0.1) ? KL_RELAY_CLIENT : 0;
    if (o->kind == KL_COMMAND_POLICY) {
        uint16_t budget = draw_budget(r);
        o->len = 5;
        o->data[4] = s->params.lead_max;
        o->data[0] = (uint8_t)rng_range(r, KL_POLICY_STRICT, KL_POLICY_OPTIMISTIC);
        o->data[1] = (uint8_t)budget;
        o->data[2] = (uint8_t)(budget >> 8);
        o->data[3] = rng_chance(r, 0.2) ? (uint8_t)rng_range(r, 1, KL_SPACING_MAX) : s->params.spacing_fixed;
    } else if (o->kind == KL_COMMAND_SWAP) {
        o->len = 2;
        o->data[0] = (uint8_t)rng_range(r, 0, KL_MAX_SEATS - 1);
        o->data[1] = (uint8_t)rng_range(r, 0, KL_MAX_SEATS - 1);
    } else if (o->kind != KL_COMMAND_PAUSE) {
        o->len = (uint8_t)rng_range(r, 0, rng_chance(r, 0.2) ? KL_COMMAND_BYTES : 20);
        for (unsigned i = 0; i < o->len; i++)
            o->data[i] = (uint8_t)rng_range(r, 0, 255);
    }
}

/* One, or a handful at about the same moment. A pause ends by a second one. */
static void draw_orders(struct scenario *s, struct rng *r, unsigned client) {
    unsigned count = rng_chance(r, 0.2) ? rng_range(r, 2, 12) : 1;
    uint64_t at_us = (uint64_t)(rng_unit(r) * (double)s->end_us);
    while (count-- > 0 && s->happenings + 2 <= SCENARIO_HAPPENINGS) {
        struct happening *h = &s->happening[s->happenings++];
        *h = (struct happening){.at_us = at_us, .kind = HAPPEN_ORDER, .client = (uint8_t)client};
        draw_order(&h->order, s, r);
        at_us += rng_range(r, 0, 30000);
        if (h->order.kind != KL_COMMAND_PAUSE) continue;
        s->happening[s->happenings] = *h;
        s->happening[s->happenings++].at_us += (uint64_t)rng_between(r, 0, 5e6);
    }
}

static void draw_happening(struct scenario *s, struct rng *r, unsigned client) {
    if (s->happenings == SCENARIO_HAPPENINGS) return;
    struct happening *h = &s->happening[s->happenings++];
    h->client = (uint8_t)client;
    h->at_us = (uint64_t)(rng_unit(r) * (double)s->end_us);
    h->ways = (uint8_t)rng_range(r, 1, 3);
    double kind = rng_unit(r);
    if (kind < 0.3) {
        h->kind = HAPPEN_LINK;
        unsigned class = rng_range(r, 0, 4);
        h->up = link_draw(r, class);
        h->down = rng_chance(r, 0.7) ? h->up : link_draw(r, class);
    } else if (kind < 0.5) {
        h->kind = HAPPEN_OUTAGE;
        h->length_us = (uint64_t)(rng_chance(r, 0.2) ? rng_between(r, 1e6, 8e6) : rng_between(r, 2e4, 1e6));
    } else if (kind < 0.55 && s->params.clocked) {
        h->kind = HAPPEN_CALLS;
        h->tick_us = rng_range(r, 25000, 200000);
        h->length_us = (uint64_t)rng_between(r, 1e6, 2e7);
        need_places(s, (double)h->length_us);
    } else if (kind < 0.9) {
        h->kind = kind < 0.8 ? HAPPEN_STALL : HAPPEN_FREEZE;
        h->length_us = (uint64_t)(h->kind == HAPPEN_STALL ? draw_stall_us(r) : rng_between(r, 2e4, 3e6));
        if (h->kind == HAPPEN_STALL) need_places(s, (double)h->length_us);
    } else {
        h->kind = rng_chance(r, 0.5) ? HAPPEN_LEAVE : HAPPEN_CRASH;
        h->length_us = (uint64_t)rng_between(r, 5e5, 4e6);
    }
}

/* Sessions that end and begin anew, on one side or, with the relay's death, on all. */
static void draw_comeback(struct scenario *s, struct rng *r, unsigned client) {
    if (s->happenings == SCENARIO_HAPPENINGS) return;
    struct happening *h = &s->happening[s->happenings++];
    double kind = rng_unit(r), length = rng_unit(r);
    h->kind = kind < 0.4 ? HAPPEN_CUT : kind < 0.7 ? HAPPEN_KILL : HAPPEN_RELAY;
    h->client = (uint8_t)client;
    h->at_us = s->start_us + (uint64_t)(rng_unit(r) * (double)(s->end_us - s->start_us));
    double seconds = length < 0.4   ? rng_between(r, 0.1, 3)
                     : length < 0.7 ? rng_between(r, 3, 10)
                                    : rng_between(r, 10, 30);
    h->length_us = (uint64_t)(seconds * 1e6);
    h->notice_us = (uint64_t)(rng_chance(r, 0.5) ? rng_between(r, 1e4, 1e6) : rng_between(r, 1e6, 2e7));
    h->session_us = rng_range(r, 20000, 2000000);
    if (h->kind != HAPPEN_RELAY) return;
    h->length_us = rng_range(r, 50000, 3000000);
    h->lost_frames = rng_chance(r, 0.5) ? 0 : rng_range(r, 0, 60);
    h->hold_us = rng_chance(r, 0.5) ? rng_range(r, 0, 3000000) : 0;
    h->offset_us = draw_offset(r);
}

static void draw_comebacks(struct scenario *s, struct rng *r) {
    if (!rng_chance(r, 0.5) || s->heavy) return;
    for (unsigned i = rng_range(r, 1, 5); i > 0; i--) {
        unsigned client = rng_range(r, 0, KL_MAX_CLIENTS - 1);
        while (!s->client[client].there)
            client = (client + 1) % KL_MAX_CLIENTS;
        draw_comeback(s, r, client);
    }
}

/* In some rooms a few come when the game is on, and in some a newcomer gets the seats of somebody who leaves.
 */
static void draw_joins(struct scenario *s, struct rng *r) {
    if (!rng_chance(r, 0.35) || s->heavy) return;
    double length_us = (double)(s->end_us - s->start_us);
    unsigned first = rng_range(r, 0, KL_MAX_CLIENTS - 1);
    while (!s->client[first].there || !s->client[first].seats)
        first = (first + 1) % KL_MAX_CLIENTS; /* somebody must begin */
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there && i != first && rng_chance(r, 0.4))
            s->client[i].joins_us = s->start_us + (uint64_t)(rng_between(r, 0.02, 0.8) * length_us);
    unsigned next = rng_range(r, 0, KL_MAX_CLIENTS - 1);
    if (!rng_chance(r, 0.4) || s->client[next].there || s->happenings == SCENARIO_HAPPENINGS) return;
    struct scenario_client *heir = &s->client[next];
    draw_client(heir, r, rng_range(r, 0, 4), s->params.clocked);
    heir->seats = s->client[first].seats;
    uint64_t left_us = s->start_us + (uint64_t)(rng_between(r, 0.1, 0.6) * length_us);
    s->happening[s->happenings++] =
        (struct happening){.at_us = left_us, .kind = HAPPEN_LEAVE, .client = (uint8_t)first};
    heir->joins_us = left_us + (uint64_t)rng_between(r, 0, 0.3 * length_us);
}

void scenario_lie(struct scenario *s, unsigned i, const struct lie *lie) {
    uint64_t every_us = (uint64_t)lie->is[LIE_CUT_MS] * 1000;
    s->client[i].lie = *lie;
    if (lie->is[LIE_NUMBER]) s->client[i].activity = 0;
    for (uint64_t at = lie->from_us + every_us; every_us && at < s->end_us; at += every_us) {
        if (s->happenings == SCENARIO_HAPPENINGS) return;
        s->happening[s->happenings++] = (struct happening){.at_us = at,
                                                           .kind = HAPPEN_CUT,
                                                           .client = (uint8_t)i,
                                                           .length_us = 20000,
                                                           .notice_us = 20000,
                                                           .session_us = 50000};
    }
}

/* In every fourth room one player lies, or two; one at least does not. */
static void draw_liars(struct scenario *s, struct rng *r) {
    unsigned players = 0, liars = rng_chance(r, 0.3) ? 2 : 1;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        players += s->client[i].seats != 0;
    if (s->seed % 4 != 2 || s->heavy) return;
    s->params.lead_max = KL_LEAD_MAX_USUAL;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && liars > 0 && players > 1; i++) {
        struct lie lie = {.from_us = s->start_us + rng_range(r, 1, 5000000)};
        if (!s->client[i].seats) continue;
        lie_draw(&lie, r);
        scenario_lie(s, i, &lie);
        liars--;
        players--;
    }
}

void scenario_draw(struct scenario *s, uint64_t seed) {
    struct rng r = {seed * 0x9e3779b97f4a7c15u + 1};
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->held_frames = KL_WINDOW_FRAMES;
    draw_params(s, &r);
    s->params.lead_max = seed % 4 == 3 ? (uint8_t)(4 + seed / 4 % 12) : 0;
    s->start_us = rng_range(&r, 0, 500000);
    s->end_us = s->start_us + draw_duration(&r, s->params.clocked);
    s->relay_offset_us = draw_offset(&r);
    s->replay_window = rng_chance(&r, 0.5);
    s->saturating = rng_chance(&r, 0.1);
    draw_clients(s, &r);
    bool eventful = rng_chance(&r, 0.6);
    double rate = eventful ? rng_between(&r, 0.005, 0.1) : 0; /* a second and client */
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!s->client[i].there) continue;
        double expected = rate * (double)s->end_us / 1e6;
        for (double at = rng_exponential(&r); at < expected; at += rng_exponential(&r))
            draw_happening(s, &r, i);
        if (!rng_chance(&r, 0.4)) continue;
        expected = rng_between(&r, 0.005, 0.2) * (double)s->end_us / 1e6;
        for (double at = rng_exponential(&r); at < expected; at += rng_exponential(&r))
            draw_orders(s, &r, i);
    }
    struct rng comebacks = {seed * 0x9e3779b97f4a7c15u + 11}; /* draws above stay the same for a seed */
    draw_comebacks(s, &comebacks);
    struct rng joins = {seed * 0x9e3779b97f4a7c15u + 17};
    draw_joins(s, &joins);
    struct rng seeds = {seed * 0x9e3779b97f4a7c15u + 23}, liars = rng_fork(&seeds);
    draw_liars(s, &liars);
}

void scenario_cell(struct scenario *s, const struct cell *c, uint64_t seed) {
    struct rng r = {seed * 0x9e3779b97f4a7c15u + 7};
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->held_frames = 4 * KL_WINDOW_FRAMES;
    s->params = (struct kl_params){.policy = c->policy,
                                   .half_steps = c->half_steps,
                                   .economy = c->economy,
                                   .subframes = c->subframes,
                                   .clocked = true,
                                   .players = (uint8_t)c->players,
                                   .wait_budget_ms = 250,
                                   .hash_every = 60,
                                   .fps_uhz = (uint32_t)(c->fps * 1e6)};
    s->start_us = 2000000; /* a lobby */
    s->settled_us = s->start_us + (uint64_t)(c->settle_seconds * 1e6);
    s->end_us = s->start_us + (uint64_t)(c->seconds * 1e6);
    s->replay_window = true;
    s->relay_offset_us = draw_offset(&r);
    struct link_quality hop = {.delay_us = (uint32_t)(c->rtt_ms * 500),
                               .jitter_us = (uint32_t)(c->jitter_ms * 500)};
    hop.loss = c->loss;
    for (unsigned i = 0; i < c->players; i++) {
        struct scenario_client *p = &s->client[i];
        p->there = true;
        p->seats = (uint8_t)(1u << i);
        p->up = p->down = hop;
        p->clock_offset_us = draw_offset(&r);
        p->tick_us = 1e6 / c->tick_hz;
        p->phase_us = c->aligned ? 0 : rng_range(&r, 0, 16666);
        p->max_runs = 8;
        p->paced = true;
        p->device = DEVICE_PAD;
        p->activity = 0.2;
    }
}

#include "tests/sim/world.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/comeback.h"
#include "tests/sim/drive.h"
#include "tests/sim/events.h"
#include "tests/sim/shown.h"
#include "net/engine/lock_relay_return.h"

#define PROGRESS_US    2000000
#define SAME_TIME_MAX  20000 /* steps without time passing: going round in circles */
#define LOST_EXCUSE_US 12000000
#define RETURN_US                                                                                            \
    4000000 /* to be back in place after what kept a client away, beside running what it missed */
#define DEAD_TICK_US   50000
#define PACE_SETTLE_US 15000000
#define PACE_LEAST     0.95
#define PACE_LEAST_US  5000000 /* measured for at least so long */

/* Large, and used anew by every room: not part of the world that is cleared. */
static struct kl_held *held_places(unsigned client, uint32_t frames) {
    static struct kl_held *places[KL_MAX_CLIENTS];
    static uint32_t count[KL_MAX_CLIENTS];
    if (count[client] < frames) {
        free(places[client]);
        places[client] = malloc(frames * sizeof *places[client]);
        if (!places[client]) abort();
        count[client] = frames;
    }
    return places[client];
}

static void set_up_client(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    const struct scenario_client *s = &w->scenario.client[i];
    c->setting = s;
    c->rng = rng_fork(&w->rng);
    c->up = (struct link){.quality = s->up, .rng = rng_fork(&w->rng)};
    c->down = (struct link){.quality = s->down, .rng = rng_fork(&w->rng)};
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++) {
        c->seats += s->seats >> seat & 1;
        c->player[seat] =
            (struct player){rng_fork(&w->rng), s->device, s->activity, w->scenario.saturating, {0}};
    }
    if (s->joins_us == 0) c->in_room = c->running = true;
    if (s->frame_us * 1e-12 * w->scenario.params.fps_uhz > 1) /* it cannot keep pace, ever */
        c->obstacle_us = w->room_obstacle_us = w->scenario.end_us;
    if (w->scenario.params.lead_max) /* a link that is too long for it makes its client absent */
        c->obstacle_us = w->room_obstacle_us = w->scenario.end_us;
    if (s->lie.from_us) c->obstacle_us = w->room_obstacle_us = w->scenario.end_us; /* it may be absent */
    kl_pace_begin(&c->pace, 1e12 / w->scenario.params.fps_uhz);
    kl_client_init(&c->lock, &w->scenario.params, s->seats, held_places(i, w->scenario.held_frames),
                   w->scenario.held_frames, drive_client_clock(w, c));
    if (s->joins_us) {
        events_push(w, (struct event){.at_us = s->joins_us, .kind = EVENT_JOIN, .client = (uint8_t)i});
        return;
    }
    if (kl_lock_add(&w->room, i, s->seats, drive_relay_clock(w)) != KL_OK)
        world_fail(w, "client=%u is refused", i);
    c->next_tick_us = s->phase_us;
    events_push(w, (struct event){.at_us = s->phase_us, .kind = EVENT_TICK, .client = (uint8_t)i});
    world_log(w, "event=join client=%u seats=%02x up_us=%u+%u down_us=%u+%u tick_us=%.1f device=%u", i,
              s->seats, s->up.delay_us, s->up.jitter_us, s->down.delay_us, s->down.jitter_us, s->tick_us,
              s->device);
}

static void set_up(struct world *w, const struct scenario *s, FILE *log) {
    memset(w, 0, sizeof *w);
    w->scenario = *s;
    w->log = log;
    w->rng = (struct rng){s->seed ^ 0x51a7};
    w->due_room = w->due_tick = UINT64_MAX;
    const struct kl_params *p = &s->params;
    world_log(w,
              "event=room seed=%llu policy=%u budget_ms=%u half_steps=%d players=%u subframes=%d clocked=%d "
              "spacing_fixed=%u hash_every=%u fps=%.4f "
              "seconds=%.1f replay_window=%d",
              (unsigned long long)s->seed, p->policy, p->wait_budget_ms, p->half_steps, p->players,
              p->subframes, p->clocked, p->spacing_fixed, p->hash_every, p->fps_uhz / 1e6,
              (double)(s->end_us - s->start_us) / 1e6, s->replay_window);
    truth_init(&w->truth, &w->scenario);
    shown_set_up();
    comeback_set_up(w);
    comeback_room(w);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        w->due_client[i] = UINT64_MAX;
        if (s->client[i].there) set_up_client(w, i);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there && !s->client[i].joins_us) drive_send_client(w, i);
    events_push(w, (struct event){.at_us = s->start_us, .kind = EVENT_START});
    for (unsigned i = 0; i < s->happenings; i++)
        events_push(w, (struct event){.at_us = s->happening[i].at_us,
                                      .kind = EVENT_HAPPENING,
                                      .client = s->happening[i].client,
                                      .index = i});
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* --- events of clients --- */

/* Until then, client c has a reason to be slow, and the room with it where c has a seat. */
static void excuse(struct world *w, struct sim_client *c, uint64_t until_us) {
    if (until_us > c->obstacle_us) c->obstacle_us = until_us;
    w->pacing = false;
    bool waited_for =
        c->setting->seats || !w->scenario.params.clocked; /* without a clock, spectators are too */
    if (waited_for && until_us > w->room_obstacle_us) w->room_obstacle_us = until_us;
}

static void remove_client(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room) return;
    world_log(w, "event=remove client=%u seats=%02x", i, c->setting->seats);
    c->in_room = c->running = false;
    w->due_client[i] = UINT64_MAX;
    if (w->relay_down) {
        ref_room_remove(&w->truth.ref, i);
        return;
    }
    drive_before(w);
    ref_room_remove(&w->truth.ref, i);
    kl_lock_remove(&w->room, i, drive_relay_clock(w));
    w->room_obstacle_us = w->room_obstacle_us > w->now_us ? w->room_obstacle_us : w->now_us;
    drive_collect(w);
    drive_send_relay(w);
}

static void gone(struct world *w, unsigned i, uint64_t noticed_us) {
    struct sim_client *c = &w->client[i];
    c->running = false;
    w->due_client[i] = UINT64_MAX;
    excuse(w, c, noticed_us);
    events_push(w, (struct event){.at_us = noticed_us, .kind = EVENT_REMOVE, .client = (uint8_t)i});
}

/* The same, and it may lose more than the room keeps for it. */
static void deaf(struct world *w, struct sim_client *c, uint64_t until_us) {
    if (until_us > c->deaf_until_us) c->deaf_until_us = until_us;
    excuse(w, c, until_us);
}

/* How long it takes to run what was missed. */
static uint64_t missed_us(const struct world *w, const struct sim_client *c, uint64_t length_us) {
    double fps = w->scenario.params.fps_uhz / 1e6, run = 1e6 / c->setting->tick_us * c->setting->max_runs;
    return (uint64_t)((double)length_us * fps / fmax(run - fps, 5));
}

/* The rest of an earlier excuse: it may still be running what it missed then. */
static uint64_t still_excused_us(const struct world *w, const struct sim_client *c) {
    return c->obstacle_us > w->now_us ? c->obstacle_us - w->now_us : 0;
}

/* A command sets out: reliable, in order. */
static void order(struct world *w, const struct happening *h) {
    struct sim_client *c = &w->client[h->client];
    uint64_t at = later(w->now_us, c->up.down_until_us) + c->up.quality.delay_us;
    c->ordered_us = later(at, c->ordered_us);
    w->pacing = false;
    events_push(w, (struct event){.at_us = c->ordered_us,
                                  .kind = EVENT_ORDER,
                                  .client = h->client,
                                  .index = (uint32_t)(h - w->scenario.happening)});
}

static void happen(struct world *w, const struct happening *h) {
    static const char *const name[] = {"link",  "outage", "stall", "freeze", "order", "leave",
                                       "crash", "cut",    "kill",  "relay",  "calls", "relay_freeze"};
    struct sim_client *c = &w->client[h->client];
    bool ends = h->kind == HAPPEN_LEAVE || h->kind == HAPPEN_CRASH;
    if (!c->in_room || !c->running || (c->leaving_session && !ends)) return;
    uint64_t until = w->now_us + h->length_us;
    world_log(w, "event=%s client=%u ways=%u length_us=%llu", name[h->kind], h->client, h->ways,
              (unsigned long long)h->length_us);
    switch (h->kind) {
    case HAPPEN_LINK:
        c->up.quality = h->up;
        c->down.quality = h->down;
        deaf(w, c, w->now_us);
        break;
    case HAPPEN_OUTAGE:
        if (h->ways & WAY_UP) c->up.down_until_us = until;
        if (h->ways & WAY_DOWN) c->down.down_until_us = until;
        deaf(w, c, until);
        break;
    case HAPPEN_STALL:
        if (until > c->stalled_until_us) c->stalled_until_us = until;
        excuse(w, c, until + missed_us(w, c, h->length_us));
        break;
    case HAPPEN_FREEZE:
        if (until > c->frozen_until_us) c->frozen_until_us = until;
        if (until > c->stalled_until_us) c->stalled_until_us = until;
        deaf(w, c, until + missed_us(w, c, h->length_us));
        break;
    case HAPPEN_CALLS:
        c->calls_until_us = until;
        c->calls_us = h->tick_us;
        excuse(w, c, until + missed_us(w, c, h->length_us) + still_excused_us(w, c));
        break;
    case HAPPEN_RELAY_FREEZE:
        w->relay_frozen_until_us = later(w->relay_frozen_until_us, until);
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
            if (w->client[i].in_room) excuse(w, &w->client[i], until);
        break;
    case HAPPEN_ORDER: order(w, h); break;
    case HAPPEN_CUT:
    case HAPPEN_KILL:
    case HAPPEN_RELAY: comeback_happen(w, h); break;
    case HAPPEN_LEAVE: gone(w, h->client, w->now_us + c->up.quality.delay_us); break;
    default: gone(w, h->client, until); break;
    }
}

/* --- progress --- */

static uint64_t patience_us(const struct world *w) {
    uint64_t worst = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct sim_client *c = &w->client[i];
        if (!c->in_room) continue;
        uint64_t both = (uint64_t)link_worst_us(&c->up.quality) + link_worst_us(&c->down.quality);
        if (both > worst) worst = both;
    }
    return PROGRESS_US + 2 * worst;
}

/* A moment of the relay's clock, in the world's time. */
static uint64_t relay_time(const struct world *w, uint64_t relay_us) {
    return relay_us > (uint64_t)w->scenario.relay_offset_us ? relay_us - (uint64_t)w->scenario.relay_offset_us
                                                            : 0;
}

/* A client with nothing that keeps it away is one of the room's again, and stays so. */
static void check_return(struct world *w) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !w->failed; i++) {
        struct sim_client *c = &w->client[i];
        const struct ref_client *r = &w->truth.ref.client[i];
        bool there = c->in_room && c->running && c->setting->seats && !c->leaving_session;
        if (!there || (r->presence == REF_PRESENT && c->lock.standing == KL_STANDING_IN)) {
            c->in_place_us = w->now_us;
            continue;
        }
        uint64_t since = later(later(c->in_place_us, c->obstacle_us), later(w->paused_us, w->truth.still_us));
        since = later(since, relay_time(w, r->barred_us)); /* it pauses */
        if (w->truth.ref.params.policy == KL_POLICY_STRICT || !w->scenario.params.clocked)
            since = later(since, w->room_obstacle_us);
        if (w->now_us > since + patience_us(w) + RETURN_US)
            world_fail(w, "client=%u does not come back: relay says %d, standing %d, backlog %u", i,
                       r->presence, c->lock.standing, c->lock.stats.next_closed - c->lock.stats.next_run);
    }
}

/* A newcomer is one of them once it plays, or has seen what there was to see. */
static void note_joined(struct world *w) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct sim_client *c = &w->client[i];
        bool near = c->next_take + 4 * KL_SPACING_MAX > w->truth.next;
        if (c->joining && !c->leaving_session && near && !w->truth.ref.client[i].joining) c->joining = false;
    }
}

/* Frames closed whose time has come by the room's schedule: those that a long lead closed early are no pace,
 * and a lead that becomes shorter is no standstill. */
static double come_due(const struct world *w) {
    const struct kl_schedule *s = &w->room.schedule;
    double position = ((double)drive_relay_clock(w) - s->t0_us) / s->period_us;
    return fmin(w->truth.next, position);
}

/* The time of the next frame by the schedule. A room whose lead is long closes frames before their time, by
 * an interval at most, and its wait budget begins with that time. */
static uint64_t next_line_us(const struct world *w) {
    const struct kl_schedule *s = &w->room.schedule;
    double line = s->t0_us + w->truth.next * s->period_us;
    uint64_t at = line > 0 ? relay_time(w, (uint64_t)line) : 0;
    uint64_t most = w->last_close_us + (uint64_t)((2 * KL_SPACING_MAX) * s->period_us);
    return w->scenario.params.clocked && at < most ? at : 0;
}

static void check_progress(struct world *w) {
    const struct ref_relay *ref = &w->truth.ref;
    if (!w->room.started || !ref_room_pads(ref) || w->relay_down) return;
    if (ref_room_holds_still(ref, drive_relay_clock(w))) {
        w->truth.still_us = w->now_us;
        w->pacing = false;
    }
    if (w->room.paused) w->paused_us = w->now_us;
    note_joined(w);
    if (w->scenario.params.clocked) check_return(w);
    if (!w->pacing && w->now_us >= later(w->scenario.start_us, w->room_obstacle_us) + PACE_SETTLE_US) {
        w->pacing = true;
        w->paced_at_us = w->now_us;
        w->paced_from = come_due(w);
    }
    uint64_t patience = patience_us(w);
    uint64_t moved_us = later(later(w->last_close_us, next_line_us(w)), w->truth.still_us);
    if (ref->params.policy == KL_POLICY_STRICT || !ref->params.clocked)
        moved_us = later(moved_us, w->room_obstacle_us);
    if (w->now_us > moved_us + patience)
        world_fail(w, "deadlock: no frame closed since t=%.3f, waiting for seats %02x",
                   (double)w->last_close_us / 1e6, kl_lock_waiting_for(&w->room));
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !w->failed; i++) {
        const struct sim_client *c = &w->client[i];
        if (!c->in_room || !c->running || c->leaving_session || c->next_take == w->truth.next) continue;
        if (w->now_us > later(later(c->last_take_us, c->obstacle_us), moved_us - 1) + patience &&
            w->now_us > w->room_obstacle_us + patience)
            world_fail(w, "client=%u stands still at frame %u of %u", i, c->next_take, w->truth.next);
    }
}

/* A client that fell out of the window gets the frames it missed by history, as the relay does it. */
static void check_lost(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room || w->relay_down || !kl_lock_lost(&w->room, i)) return;
    bool strict = w->truth.ref.params.policy == KL_POLICY_STRICT && w->truth.ref.policy_changes == 0;
    bool excused = !w->scenario.params.clocked || w->scenario.heavy || c->setting->lie.from_us ||
                   w->now_us < c->deaf_until_us + LOST_EXCUSE_US;
    if ((c->setting->seats && strict && !c->setting->lie.from_us) || !excused)
        world_fail(w, "client=%u is lost", i);
    world_log(w, "event=lost client=%u", i);
    kl_lock_fetch(&w->room, i);
    uint64_t until_us = comeback_excuse_us(w, i, w->truth.next - c->lock.stats.next_run);
    excuse(w, c, until_us);
}

/* --- the loop --- */

/* A datagram for a process that stands still stays in its socket. */
static void deliver(struct world *w, const struct event *e) {
    bool up = e->kind == EVENT_TO_RELAY;
    uint64_t until_us = up ? w->relay_frozen_until_us : w->client[e->client].frozen_until_us;
    if (w->now_us >= until_us) {
        (up ? drive_to_relay : drive_to_client)(w, e->packet);
        packet_free(w, e->packet);
        return;
    }
    struct event again = *e;
    again.at_us = until_us;
    events_push(w, again);
}

static void tick(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    const struct scenario_client *s = c->setting;
    check_lost(w, i);
    if (!c->running || w->failed) return;
    uint64_t next;
    if (c->dead) {
        next = w->now_us + DEAD_TICK_US;
        c->next_tick_us = (double)next;
    } else if (w->now_us < c->stalled_until_us) {
        next = c->stalled_until_us;
        c->next_tick_us = (double)next;
    } else {
        uint32_t run = drive_turn(w, i);
        if (!w->failed) comeback_feed(w, i);
        if (s->sleeps_on) c->next_tick_us = (double)w->now_us;
        c->next_tick_us += w->now_us < c->calls_until_us ? c->calls_us : s->tick_us;
        double done_us = (double)w->now_us + (double)run * s->frame_us;
        if (c->next_tick_us < done_us) c->next_tick_us = done_us;
        next = (uint64_t)c->next_tick_us;
        if (s->tick_jitter_us) next += rng_range(&c->rng, 0, s->tick_jitter_us);
        next = drive_wakes_us(w, next, s->grid_us, s->phase_us);
        if (next <= w->now_us) next = w->now_us + 1;
    }
    events_push(w, (struct event){.at_us = next, .kind = EVENT_TICK, .client = (uint8_t)i});
    if (!w->failed) check_progress(w);
}

static void start(struct world *w) {
    w->last_close_us = w->now_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        w->client[i].last_take_us = w->now_us;
    if (!ref_room_pads(&w->truth.ref)) return; /* everybody left before it began */
    ref_room_start(&w->truth.ref, drive_relay_clock(w));
    drive_before(w);
    if (kl_lock_start(&w->room, drive_relay_clock(w)) != KL_OK) world_fail(w, "the room does not start");
    drive_collect(w);
    drive_send_relay(w);
}

static void arrive(struct world *w, const struct event *e) {
    const struct kl_command *c = &w->scenario.happening[e->index].order;
    unsigned from = c->client == KL_RELAY_CLIENT ? KL_RELAY_CLIENT : e->client;
    bool bound = w->client[e->client].in_room && w->client[e->client].bound;
    if (!w->relay_down && (from == KL_RELAY_CLIENT || bound)) drive_order(w, from, c);
}

static void handle(struct world *w, const struct event *e) {
    switch (e->kind) {
    case EVENT_TICK: tick(w, e->client); break;
    case EVENT_TO_RELAY:
    case EVENT_TO_CLIENT: deliver(w, e); return;
    case EVENT_HAPPENING: happen(w, &w->scenario.happening[e->index]); break;
    case EVENT_ORDER: arrive(w, e); break;
    case EVENT_REMOVE: remove_client(w, e->client); break;
    case EVENT_START: start(w); break;
    default: comeback_handle(w, e); return;
    }
    if (e->packet) packet_free(w, e->packet);
}

/* The next moment at which something is due; events go first. */
static uint64_t next_moment(const struct world *w) {
    uint64_t at = w->due_room < w->due_tick ? w->due_room : w->due_tick, event;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (w->due_client[i] < at) at = w->due_client[i];
    return events_due(w, &event) && event <= at ? event : at;
}

static void step(struct world *w) {
    uint64_t event;
    if (events_due(w, &event) && event == w->now_us) {
        struct event e = events_pop(w);
        handle(w, &e);
        return;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !w->failed; i++)
        if (w->due_client[i] <= w->now_us) drive_send_client(w, i);
    if (w->now_us < w->relay_frozen_until_us) {
        if (w->due_tick <= w->now_us) w->due_tick = w->relay_frozen_until_us;
        if (w->due_room <= w->now_us) w->due_room = w->relay_frozen_until_us;
        return;
    }
    if (!w->failed && w->due_tick <= w->now_us) drive_tick(w);
    if (!w->failed && w->due_room <= w->now_us) drive_send_relay(w);
}

bool world_run(struct world *w, const struct scenario *s, FILE *log, world_probe *probe, void *ctx) {
    set_up(w, s, log);
    w->probe = probe;
    w->probed = ctx;
    while (!w->failed) {
        uint64_t at = next_moment(w);
        if (at > s->end_us) break;
        w->same_time = at > w->now_us ? 0 : w->same_time + 1;
        if (w->same_time > SAME_TIME_MAX) world_fail(w, "time stands still");
        if (at > w->now_us) w->now_us = at;
        step(w);
    }
    world_log(w, "event=end frames=%u run=%llu datagrams=%llu marks=%u changes=%u %s", w->truth.next,
              (unsigned long long)w->frames_run, (unsigned long long)w->datagrams, w->truth.marks,
              w->truth.changes, w->failed ? "failed=1" : "failed=0");
    double pace = world_pace(w);
    if (pace >= 0 && pace < PACE_LEAST)
        world_fail(w, "the room crawls: %.3f of its frames a second, spacing %u", pace,
                   w->truth.ref.now.at.length);
    comeback_clear(w);
    events_clear(w);
    truth_clear(&w->truth);
    return !w->failed;
}

double world_pace(const struct world *w) {
    const struct kl_params *p = &w->truth.ref.params; /* in force */
    if (!p->clocked || p->spacing_fixed || w->scenario.heavy || !w->pacing || !ref_room_pads(&w->truth.ref))
        return -1;
    if (w->now_us < w->paced_at_us + PACE_LEAST_US) return -1;
    double frames = (double)(w->now_us - w->paced_at_us) * p->fps_uhz / 1e12;
    return (come_due(w) - w->paced_from) / frames;
}

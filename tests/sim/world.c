#include "world.h"

#include <string.h>

#include "drive.h"
#include "events.h"

#define PROGRESS_US    2000000
#define SAME_TIME_MAX  20000 /* steps without time passing: going round in circles */
#define LOST_EXCUSE_US 12000000
#define PACE_SETTLE_US 15000000
#define PACE_LEAST     0.95
#define PACE_LEAST_US  5000000 /* measured for at least so long */

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
    c->in_room = c->running = true;
    kl_client_init(&c->lock, &w->scenario.params, s->seats, drive_client_clock(w, c));
    if (kl_room_add(&w->room, i, s->seats, drive_relay_clock(w)) != KL_OK)
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
    w->due_room = UINT64_MAX;
    const struct kl_params *p = &s->params;
    world_log(
        w,
        "event=room seed=%llu players=%u subframes=%d clocked=%d spacing_fixed=%u hash_every=%u fps=%.4f "
        "seconds=%.1f replay_window=%d",
        (unsigned long long)s->seed, p->players, p->subframes, p->clocked, p->spacing_fixed, p->hash_every,
        p->fps_uhz / 1e6, (double)(s->end_us - s->start_us) / 1e6, s->replay_window);
    truth_init(&w->truth, &w->scenario);
    kl_room_init(&w->room, p);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        w->due_client[i] = UINT64_MAX;
        if (s->client[i].there) set_up_client(w, i);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (s->client[i].there) drive_send_client(w, i);
    events_push(w, (struct event){.at_us = s->start_us, .kind = EVENT_START});
    for (unsigned i = 0; i < s->happenings; i++)
        events_push(w, (struct event){.at_us = s->happening[i].at_us,
                                      .kind = EVENT_HAPPENING,
                                      .client = s->happening[i].client,
                                      .index = i});
}

/* --- what happens to clients ------------------------------------------------------------------------------
 */

/* Until then, client c has a reason to be slow, and the room with it where c has a seat. */
static void excuse(struct world *w, struct sim_client *c, uint64_t until_us) {
    if (until_us > c->obstacle_us) c->obstacle_us = until_us;
    w->pacing = false;
    if (c->setting->seats && until_us > w->room_obstacle_us) w->room_obstacle_us = until_us;
}

static void remove_client(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room) return;
    world_log(w, "event=remove client=%u seats=%02x", i, c->setting->seats);
    c->in_room = c->running = false;
    w->due_client[i] = UINT64_MAX;
    truth_remove(&w->truth, c->setting->seats);
    kl_room_remove(&w->room, i, drive_relay_clock(w));
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

static void happen(struct world *w, const struct happening *h) {
    static const char *const name[] = {"link", "outage", "stall", "leave", "crash"};
    struct sim_client *c = &w->client[h->client];
    if (!c->in_room || !c->running) return;
    uint64_t until = w->now_us + h->length_us;
    world_log(w, "event=%s client=%u ways=%u length_us=%llu", name[h->kind], h->client, h->ways,
              (unsigned long long)h->length_us);
    switch (h->kind) {
    case HAPPEN_LINK:
        c->up.quality = h->up;
        c->down.quality = h->down;
        excuse(w, c, w->now_us);
        break;
    case HAPPEN_OUTAGE:
        if (h->ways & WAY_UP) c->up.down_until_us = until;
        if (h->ways & WAY_DOWN) c->down.down_until_us = until;
        excuse(w, c, until);
        break;
    case HAPPEN_STALL:
        if (until > c->stalled_until_us) c->stalled_until_us = until;
        excuse(w, c, until);
        break;
    case HAPPEN_LEAVE: gone(w, h->client, w->now_us + c->up.quality.delay_us); break;
    default: gone(w, h->client, until); break;
    }
}

/* --- progress ---------------------------------------------------------------------------------------------
 */

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

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void check_progress(struct world *w) {
    if (!w->room.started || !w->truth.seated) return;
    if (!w->pacing && w->now_us >= later(w->scenario.start_us, w->room_obstacle_us) + PACE_SETTLE_US) {
        w->pacing = true;
        w->paced_at_us = w->now_us;
        w->paced_from = w->truth.next;
    }
    uint64_t patience = patience_us(w);
    if (w->now_us > later(w->last_close_us, w->room_obstacle_us) + patience)
        world_fail(w, "deadlock: no frame closed since t=%.3f, waiting for seats %02x",
                   (double)w->last_close_us / 1e6, kl_room_waiting_for(&w->room));
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !w->failed; i++) {
        const struct sim_client *c = &w->client[i];
        if (!c->in_room || !c->running || c->next_take == w->truth.next || kl_room_lost(&w->room, i))
            continue;
        if (w->now_us > later(later(c->last_take_us, c->obstacle_us), w->last_close_us - 1) + patience &&
            w->now_us > w->room_obstacle_us + patience)
            world_fail(w, "client=%u stands still at frame %u of %u", i, c->next_take, w->truth.next);
    }
}

/* A spectator that fell out of the window is put out, as the relay would do it. */
static void check_lost(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room || !kl_room_lost(&w->room, i)) return;
    bool excused =
        !w->scenario.params.clocked || w->scenario.heavy || w->now_us < c->obstacle_us + LOST_EXCUSE_US;
    if (c->setting->seats || !excused) world_fail(w, "client=%u is lost", i);
    world_log(w, "event=lost client=%u", i);
    remove_client(w, i);
}

/* --- the loop ---------------------------------------------------------------------------------------------
 */

static void tick(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    const struct scenario_client *s = c->setting;
    if (!c->running) return;
    uint64_t next;
    if (w->now_us < c->stalled_until_us) {
        next = c->stalled_until_us;
        c->next_tick_us = (double)next;
    } else {
        drive_turn(w, i);
        c->next_tick_us += s->tick_us;
        next = (uint64_t)c->next_tick_us;
        if (s->tick_jitter_us) next += rng_range(&c->rng, 0, s->tick_jitter_us);
        if (next <= w->now_us) next = w->now_us + 1;
    }
    events_push(w, (struct event){.at_us = next, .kind = EVENT_TICK, .client = (uint8_t)i});
    if (!w->failed) check_lost(w, i);
    if (!w->failed) check_progress(w);
}

static void start(struct world *w) {
    w->last_close_us = w->now_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        w->client[i].last_take_us = w->now_us;
    if (w->truth.seated == 0) return; /* everybody left before it began */
    if (kl_room_start(&w->room, drive_relay_clock(w)) != KL_OK) world_fail(w, "the room does not start");
    drive_collect(w);
    drive_send_relay(w);
}

static void handle(struct world *w, const struct event *e) {
    switch (e->kind) {
    case EVENT_TICK: tick(w, e->client); break;
    case EVENT_TO_RELAY: drive_to_relay(w, e->packet); break;
    case EVENT_TO_CLIENT: drive_to_client(w, e->packet); break;
    case EVENT_HAPPENING: happen(w, &w->scenario.happening[e->index]); break;
    case EVENT_REMOVE: remove_client(w, e->client); break;
    default: start(w); break;
    }
    if (e->packet) packet_free(w, e->packet);
}

/* The next moment at which something is due; events go first. */
static uint64_t next_moment(const struct world *w) {
    uint64_t at = w->due_room, event;
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
    if (!w->failed && w->due_room <= w->now_us) drive_send_relay(w);
}

bool world_run(struct world *w, const struct scenario *s, FILE *log) {
    set_up(w, s, log);
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
        world_fail(w, "the room crawls: %.3f of its frames a second, spacing %u", pace, w->truth.now.length);
    events_clear(w);
    return !w->failed;
}

double world_pace(const struct world *w) {
    const struct kl_params *p = &w->scenario.params;
    if (!p->clocked || p->spacing_fixed || w->scenario.heavy || !w->pacing || !w->truth.seated) return -1;
    if (w->now_us < w->paced_at_us + PACE_LEAST_US) return -1;
    double frames = (double)(w->now_us - w->paced_at_us) * p->fps_uhz / 1e12;
    return (w->truth.next - w->paced_from) / frames;
}

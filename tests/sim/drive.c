#include "tests/lib/lock_memory.h"
#include "tests/sim/drive.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tests/sim/comeback.h"
#include "tests/sim/events.h"
#include "tests/sim/shown.h"

#define ACK_FRAMES 16     /* as lock_client.c */
#define AWAY_US    150000 /* a frontend that has not called for so long does not run */
#define OWN_DOING_US                                                                                         \
    3000000 /* after an obstacle of its own, what a client waits for may be its own doing                    \
             */
#define SEND_ROUNDS (KL_BURST_MAX + 2) /* more datagrams for one receiver at one moment are a flood */

void world_fail(struct world *w, const char *format, ...) {
    if (w->failed) return;
    w->failed = true;
    int used = snprintf(w->error, sizeof w->error, "t=%.6f ", (double)w->now_us / 1e6);
    va_list args;
    va_start(args, format);
    vsnprintf(w->error + used, sizeof w->error - (size_t)used, format, args);
    va_end(args);
    if (w->log) fprintf(w->log, "event=FAILED %s\n", w->error);
}

void world_log(struct world *w, const char *format, ...) {
    if (!w->log) return;
    fprintf(w->log, "t=%.6f ", (double)w->now_us / 1e6);
    va_list args;
    va_start(args, format);
    vfprintf(w->log, format, args);
    va_end(args);
    fputc('\n', w->log);
}

uint64_t drive_client_clock(const struct world *w, const struct sim_client *c) {
    int64_t drift = (int64_t)w->now_us * c->setting->clock_ppm / 1000000;
    return w->now_us + (uint64_t)(c->setting->clock_offset_us + drift);
}

uint64_t drive_relay_clock(const struct world *w) {
    return w->now_us + (uint64_t)w->scenario.relay_offset_us;
}

uint64_t drive_wakes_us(const struct world *w, uint64_t at_us, uint32_t grid_us, uint32_t phase_us) {
    if (!grid_us || at_us == UINT64_MAX || at_us <= w->now_us || at_us <= phase_us) return at_us;
    return phase_us + (at_us - phase_us + grid_us - 1) / grid_us * grid_us;
}

/* Counts one datagram, and fails where the second under way has seen too many: two moments of sending a frame
 * time, one more for so many frames that are caught up with, and where one datagram does not hold it all,
 * twice as many datagrams. */
static void count_rate(struct world *w, struct rate *r, const char *who, unsigned client) {
    const struct kl_params *p = &w->scenario.params;
    uint64_t second = w->now_us / 1000000;
    if (second != r->second) *r = (struct rate){.second = second};
    double most = (p->clocked ? (p->half_steps ? 4e-6
                                 : p->economy  ? 1e-6
                                               : 2e-6) *
                                        p->fps_uhz +
                                    r->work / ACK_FRAMES
                              : 2 * r->work + 2 * 200) +
                  8 * KL_BURST_MAX;
    r->moments += r->last_us != w->now_us;
    r->last_us = w->now_us;
    if (++r->sent > 2 * most || r->moments > most)
        world_fail(w, "%s client=%u: %u datagrams at %u moments of one second", who, client, r->sent,
                   r->moments);
}

static void count_work(struct world *w, struct rate *r) {
    if (w->now_us / 1000000 == r->second) r->work++;
}

/* An UPDATE's words on the room are the reference's; looked at now and then, for it takes its time. */
static void check_update(struct world *w, unsigned client, const uint8_t *body, size_t len) {
    const struct ref_relay *ref = &w->truth.ref;
    struct kl_update u;
    if (w->datagrams % 8 || !ref->started) return;
    uint8_t away = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (ref->client[i].in_room && !ref->client[i].joining &&
            (ref->client[i].away || ref->client[i].presence != REF_PRESENT))
            away |= ref->client[i].pads;
    if (kl_update_open(&u, body, len) != KL_OK) world_fail(w, "an UPDATE to client=%u is malformed", client);
    uint8_t waits = ref_room_missing(ref) | ref_room_held_for(ref, drive_relay_clock(w));
    bool right = u.away == away && u.paused == ref->paused &&
                 u.presence == (uint8_t)ref->client[client].presence && u.waiting_for == waits;
    if (!right) world_fail(w, "an UPDATE to client=%u says what is not so", client);
}

/* The arrival of a datagram that a liar holds back: as late as it pleases, never earlier than by its link. */
static uint64_t held_back(const struct world *w, const struct sim_client *c, uint64_t arrival) {
    const struct kl_lock_relay *r = &w->room;
    uint32_t newest = c->lock.stats.next_sample - 1, feeds = r->now.first + r->now.length;
    if (newest >= r->now.sample_first)
        feeds += newest - r->now.sample_first;
    else if (newest >= r->before.sample_first)
        feeds = r->now.first + (newest - r->before.sample_first) * r->now.length / r->before.samples;
    double line = kl_schedule_line_us(&r->schedule, feeds) - (double)w->scenario.relay_offset_us;
    double at = line + c->setting->lie.is[LIE_HOLD_US];
    return at > (double)arrival ? (uint64_t)at : arrival;
}

/* False: the liar does not send it at all. */
static bool lie_in(const struct world *w, const struct sim_client *c, struct packet *p, uint64_t *arrival) {
    const struct lie *l = &c->setting->lie;
    uint64_t at = l->is[LIE_HOLD_US] ? held_back(w, c, *arrival) : *arrival;
    p->len = (uint16_t)lie_forge(l, w->now_us, p->counter, (uint32_t)(at - *arrival), c->seats, p->bytes,
                                 p->len, KL_DATAGRAM_MAX);
    *arrival = at;
    return p->len > 0;
}

/* Puts a datagram on its way. */
static void transmit(struct world *w, unsigned client, bool up, const uint8_t *body, size_t len) {
    struct sim_client *c = &w->client[client];
    uint64_t arrival[2];
    uint32_t counter = up ? ++c->up_counter : ++c->down_counter;
    unsigned copies = link_send(up ? &c->up : &c->down, w->now_us, arrival);
    w->datagrams++;
    if (len > w->largest) w->largest = len;
    count_rate(w, up ? &c->rate : &c->relay_rate, up ? "up" : "down", client);
    if (!up) check_update(w, client, body, len);
    world_log(w, "event=%s client=%u counter=%u bytes=%zu copies=%u", up ? "ctrl" : "update", client, counter,
              len, copies);
    for (unsigned i = 0; i < copies; i++) {
        struct packet *p = packet_new(w);
        p->client = (uint8_t)client;
        p->len = (uint16_t)len;
        p->session = up ? c->session : c->bound;
        p->counter = counter;
        p->closed = w->truth.next;
        p->relay = w->reopened;
        memcpy(p->bytes, body, len);
        if (up && lie_is_on(&c->setting->lie, w->now_us) && !lie_in(w, c, p, &arrival[i])) {
            packet_free(w, p);
            if (i == 0 && lie_is_quiet(&c->setting->lie, w->now_us)) c->up_counter--;
            continue;
        }
        events_push(w, (struct event){.at_us = arrival[i],
                                      .kind = up ? EVENT_TO_RELAY : EVENT_TO_CLIENT,
                                      .client = (uint8_t)client,
                                      .packet = p});
    }
}

void drive_send_client(struct world *w, unsigned client) {
    struct sim_client *c = &w->client[client];
    uint64_t now = drive_client_clock(w, c);
    uint8_t body[KL_DATAGRAM_MAX];
    size_t len;
    if (w->now_us < c->frozen_until_us || c->dead) {
        w->due_client[client] = c->dead ? UINT64_MAX : c->frozen_until_us;
        return;
    }
    if (c->planned_us && now >= c->planned_us + AWAY_US)
        kl_client_set_away(&c->lock, true); /* as link_thread.c does */
    for (unsigned i = 0; (len = kl_client_send(&c->lock, now, body, KL_DATAGRAM_MAX)) > 0; i++) {
        if (len > KL_DATAGRAM_MAX) world_fail(w, "client=%u sends %zu bytes", client, len);
        if (i >= SEND_ROUNDS) world_fail(w, "client=%u has no end of sending", client);
        if (w->failed) return;
        transmit(w, client, true, body, len);
    }
    uint64_t at = kl_client_send_at(&c->lock);
    if (at <= now) world_fail(w, "client=%u has nothing to send though send_at has come", client);
    uint64_t due_us = w->now_us + (at - now) + 1 + (at - now) / 9000; /* its clock may be slow by 100 ppm */
    w->due_client[client] = drive_wakes_us(w, due_us, c->setting->grid_us, c->setting->phase_us);
}

void drive_send_relay(struct world *w) {
    uint64_t now = drive_relay_clock(w);
    comeback_serve(w);
    for (unsigned client = 0; client < KL_MAX_CLIENTS; client++) {
        uint8_t body[KL_DATAGRAM_MAX];
        size_t len;
        if (!w->client[client].in_room) continue;
        for (unsigned i = 0; (len = kl_lock_send(&w->room, client, now, body, KL_DATAGRAM_MAX)) > 0; i++) {
            if (len > KL_DATAGRAM_MAX) world_fail(w, "relay sends %zu bytes", len);
            if (i >= SEND_ROUNDS) world_fail(w, "relay has no end of sending to client=%u", client);
            if (w->failed) return;
            transmit(w, client, false, body, len);
        }
    }
    uint64_t at = kl_lock_send_at(&w->room), tick = kl_lock_tick_at(&w->room);
    if (at <= now) world_fail(w, "relay has nothing to send though send_at has come");
    uint32_t grid_us = w->scenario.relay_grid_us;
    uint64_t room_us = at == UINT64_MAX ? at : w->now_us + (at - now);
    uint64_t tick_us = tick == UINT64_MAX ? tick : w->now_us + (tick > now ? tick - now : 0);
    w->due_room = drive_wakes_us(w, room_us, grid_us, 0);
    w->due_tick = drive_wakes_us(w, tick_us, grid_us, 0);
}

static void log_frames(struct world *w, uint32_t from) {
    for (uint32_t n = from; w->log && n < w->truth.next; n++) {
        const struct kl_frame *f = &w->truth.frame[n % REF_RING];
        world_log(w, "event=close frame=%u interval=%u+%u active=%02x flags=%x", f->number, f->keyframe,
                  f->spacing, f->active, f->flags);
    }
}

static void log_presence(struct world *w) {
    static const char *const name[] = {"present", "absent", "returning"};
    static enum kl_presence before[KL_MAX_CLIENTS];
    for (unsigned i = 0; w->log && i < KL_MAX_CLIENTS; i++) {
        const struct kl_lock_client *c = &w->room.client[i];
        if (!c->present || before[i] == c->presence) continue;
        before[i] = c->presence;
        world_log(w, "event=presence client=%u %s=1 frame=%u next_sample=%u away=%d", i, name[c->presence],
                  w->room.next_close, c->next_sample, c->away);
    }
}

void drive_before(struct world *w) {
    truth_before(&w->truth, &w->room);
}

void drive_collect(struct world *w) {
    uint32_t from = w->truth.next;
    if (w->failed) return;
    log_presence(w);
    bool held = truth_after(&w->truth, &w->room, drive_relay_clock(w), w->now_us);
    log_frames(w, from);
    if (held) comeback_collect(w, from);
    if (!held) world_fail(w, "relay %s", w->truth.error);
    if (w->truth.next > from) w->last_close_us = w->now_us;
    for (uint32_t n = from; n < w->truth.next; n++)
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
            count_work(w, &w->client[i].relay_rate);
    const struct kl_params *p = &w->scenario.params;
    if (p->clocked && w->room.started) {
        double elapsed_s = (double)(w->now_us - w->scenario.start_us) / 1e6;
        double fps = fmax(p->fps_uhz, w->scenario.rate_uhz) / 1e6;
        if (w->truth.next > elapsed_s * fps * 1.0002 + 2 * KL_SPACING_MAX + 4)
            world_fail(w, "the room runs ahead of its clock: frame=%u after %.3f s", w->truth.next,
                       elapsed_s);
    }
}

void drive_tick(struct world *w) {
    drive_before(w);
    ref_room_tick(&w->truth.ref, drive_relay_clock(w));
    kl_lock_tick(&w->room, drive_relay_clock(w));
    drive_collect(w);
    drive_send_relay(w);
}

/* As the relay's lobby has it: a second pause ends the first. */
void drive_order(struct world *w, unsigned client, const struct kl_command *c) {
    uint64_t now = drive_relay_clock(w);
    if (!w->room.started) return;
    int result;
    if (kl_lock_tick_at(&w->room) <= now) drive_tick(w); /* a frame is due at this very moment */
    drive_before(w);
    if (c->kind == KL_COMMAND_PAUSE && (w->room.paused || w->room.pausing)) {
        ref_room_resume(&w->truth.ref, now);
        result = kl_lock_resume(&w->room, now);
    } else {
        result = kl_lock_command(&w->room, client, c->kind, c->data, c->len);
        struct kl_command given = *c;
        given.client = (uint8_t)client;
        if (result == KL_OK) ref_room_order(&w->truth.ref, client, &given);
        const struct ref_client *from =
            client == KL_RELAY_CLIENT ? &w->truth.ref.relay : &w->truth.ref.client[client];
        if (result == KL_E_FULL && from->queued < ref_room_places(c->kind))
            world_fail(w, "a command of kind %u is refused though only %u wait", c->kind, from->queued);
    }
    world_log(w, "event=order client=%u kind=%u bytes=%u result=%d", client, c->kind, c->len, result);
    if (result != KL_OK && result != KL_E_FULL)
        world_fail(w, "a command of client=%u is refused: %d", client, result);
    drive_collect(w);
    drive_send_relay(w);
}

/* The transport's work on a datagram before the engine sees it; those of a session that is over, or not
 * yet known, go nowhere. */
static bool let_in(const struct world *w, const struct packet *p, uint32_t session,
                   struct link_window *window) {
    if (p->session != session) return false;
    return link_fresh(window, p->counter) || !w->scenario.replay_window;
}

void drive_to_relay(struct world *w, struct packet *p) {
    struct sim_client *c = &w->client[p->client];
    if (!c->in_room || !c->bound || w->relay_down) return;
    if (!let_in(w, p, c->bound, &c->up_window)) return;
    struct kl_ctrl m;
    drive_before(w);
    uint32_t missing = c->up_window.highest - c->up_window.fresh;
    int r = lock_receive(&w->room, p->client, p->bytes, p->len, missing, drive_relay_clock(w));
    if (r != KL_OK) { /* nothing has happened in the room, though a frame may be due at this very moment */
        if (!c->setting->lie.from_us) world_fail(w, "relay refuses a CTRL of client=%u: %d", p->client, r);
        return;
    }
    if (kl_ctrl_open(&m, c->seats, 0, p->bytes, p->len) == KL_OK)
        ref_room_ctrl(&w->truth.ref, p->client, &m, drive_relay_clock(w));
    drive_collect(w);
    drive_send_relay(w);
}

/* The relay that goes on after its process died has asked every client for the frames that it has. The
 * simulation asks at one moment; so a client takes nothing from the dead process after that moment. */
bool drive_outdated(const struct world *w, const struct packet *p) {
    return !w->relay_down && p->relay != w->reopened;
}

void drive_to_client(struct world *w, struct packet *p) {
    struct sim_client *c = &w->client[p->client];
    if (!c->in_room || c->dead || drive_outdated(w, p) || !let_in(w, p, c->session, &c->down_window)) return;
    if (p->closed > c->knowable) c->knowable = p->closed;
    int r = kl_client_receive(&c->lock, p->bytes, p->len, drive_client_clock(w, c));
    if (r != KL_OK && !c->setting->lie.from_us)
        world_fail(w, "client=%u refuses an UPDATE: %d", p->client, r);
    if (c->lock.stats.next_closed > c->knowable)
        world_fail(w, "client=%u knows frames that it cannot", p->client);
    drive_send_client(w, p->client);
}

/* --- a turn --- */

static void sample(struct world *w, unsigned client, bool again, uint64_t now) {
    struct sim_client *c = &w->client[client];
    struct kl_input in[KL_MAX_SEATS];
    memset(in, 0xa5, sizeof in);
    for (unsigned i = 0; i < c->seats; i++) {
        if (again) {
            in[i] = c->player[i].now;
            player_again(&in[i]);
        } else {
            player_sample(&c->player[i], &in[i]);
        }
    }
    uint32_t number = c->lock.stats.next_sample;
    int r = kl_client_sample(&c->lock, in, now);
    if (r != KL_OK) {
        world_fail(w, "client=%u refuses sample %u that it planned: %d", client, number, r);
        return;
    }
    unsigned i = 0;
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++) {
        if (!(c->setting->seats >> seat & 1)) continue;
        if (!truth_sample(&w->truth, client, seat, number, c->lock.standing == KL_STANDING_BACK, &in[i++],
                          w->now_us))
            world_fail(w, "client=%u %s", client, w->truth.error);
    }
    count_work(w, &c->rate);
}

/* The frame's number less that of its newest sample's frame. */
static uint32_t lead_of(const struct world *w, uint32_t frame) {
    const struct kl_frame *f = &w->truth.frame[frame % REF_RING];
    const struct kl_frame *before = &w->truth.frame[(f->keyframe - 1) % REF_RING];
    uint32_t lo, hi;
    if (f->keyframe == 0 || (f->flags & KL_FRAME_BY_CLOCK)) return 0;
    ref_map(frame - f->keyframe, w->scenario.params.subframes ? before->spacing : 1, f->spacing, &lo, &hi);
    return frame - (before->keyframe + hi - 1);
}

static void measure_frame(struct world *w, struct sim_client *c, uint32_t frame) {
    const uint32_t *last = w->truth.last_sample[frame % REF_RING];
    struct measure *m = &c->measure;
    m->frames++;
    for (unsigned pad = 0; pad < KL_MAX_SEATS; pad++) {
        const struct ref_seat *s = &w->truth.seat[pad];
        if (last[pad] == UINT32_MAX || last[pad] + REF_RING / 2 < s->count) continue;
        double us = (double)(w->now_us - s->given_us[last[pad] % REF_RING]);
        bool own = c->setting->seats >> pad & 1;
        *(own ? &m->own_us : &m->others_us) += us;
        ++*(own ? &m->own : &m->others);
    }
}

static bool take(struct world *w, unsigned client) {
    static struct kl_frame f;
    struct sim_client *c = &w->client[client];
    uint64_t lead_before = c->lock.stats.lead_sum;
    if (!kl_client_take(&c->lock, &f)) {
        world_fail(w, "client=%u has no frame %u that it planned", client, c->next_take);
        return false;
    }
    if (f.number != c->next_take)
        world_fail(w, "client=%u runs frame %u, not %u", client, f.number, c->next_take);
    if (f.number >= c->knowable)
        world_fail(w, "client=%u runs frame %u before its datagram came", client, f.number);
    const struct kl_commands *commands = kl_client_commands(&c->lock, f.number);
    if (!w->failed && !truth_same(&w->truth, &f, commands))
        world_fail(w, "client=%u %s", client, w->truth.error);
    if (w->failed) return false;
    uint64_t lead = c->lock.stats.lead_sum - lead_before;
    if (f.number + REF_RING / 2 > w->truth.next && lead != lead_of(w, f.number))
        world_fail(w, "client=%u frame=%u: claims a lead of %u", client, f.number, (unsigned)lead);
    uint64_t gap_from = c->last_take_us > w->truth.still_us ? c->last_take_us : w->truth.still_us;
    bool own_doing = gap_from < c->obstacle_us + OWN_DOING_US || c->lock.standing != KL_STANDING_IN;
    if (!own_doing && w->now_us - gap_from > c->longest_gap_us) c->longest_gap_us = w->now_us - gap_from;
    c->next_take++;
    if (c->next_take == w->scenario.rate_from) {
        kl_client_rate(&c->lock, w->scenario.rate_uhz);
        kl_pace_rate(&c->pace, 1e12 / w->scenario.rate_uhz);
    }
    c->last_take_us = w->now_us;
    w->frames_run++;
    count_work(w, &c->rate);
    bool known = f.number + REF_RING / 2 > w->truth.next;
    if (c->measure.first_us && known) measure_frame(w, c, f.number);
    return true;
}

static void check_plan(struct world *w, unsigned client, const struct kl_plan *p) {
    const struct sim_client *c = &w->client[client];
    const struct kl_client_stats *s = &c->lock.stats;
    if (p->runs > c->setting->max_runs) world_fail(w, "client=%u plans %u runs", client, p->runs);
    if (p->runs > p->backlog) world_fail(w, "client=%u plans %u runs of %u", client, p->runs, p->backlog);
    if (p->stalled && p->runs > 0) world_fail(w, "client=%u stalls and runs", client);
    uint32_t ahead = s->next_sample + p->samples;
    if (p->samples > 0 && w->scenario.params.subframes &&
        ahead > s->next_run + p->runs + KL_SPACING_MAX + 8 + 1)
        world_fail(w, "client=%u samples %u where frame %u is to run", client, ahead, s->next_run);
    if (s->next_sample - c->lock.sample_acked + p->samples > KL_WINDOW_FRAMES)
        world_fail(w, "client=%u keeps %u samples", client, s->next_sample - c->lock.sample_acked);
}

/* As the wrapper has it (play.c): what the link brought late is made up for little by little. A client that
 * ran all of it at once would have nothing left for the next turn, and stand still again and again where a
 * longer link has left him behind. */
static uint32_t most_runs(struct sim_client *c, uint64_t now) {
    const struct kl_client_stats *s = &c->lock.stats;
    if (!c->setting->paced) return c->setting->max_runs;
    bool awaited = c->setting->seats && !s->absent;
    uint32_t most = kl_pace_most(&c->pace, s->next_closed - s->next_run, awaited ? s->spacing : 0, now);
    return most < c->setting->max_runs ? most : c->setting->max_runs;
}

static struct kl_plan plan_turn(struct sim_client *c, uint64_t now) {
    kl_pace_call(&c->pace, now);
    struct kl_plan p = kl_client_plan(&c->lock, now, most_runs(c, now));
    if (kl_pace_due(&c->pace, p.due)) p = kl_client_plan(&c->lock, now, most_runs(c, now));
    return p;
}

uint32_t drive_turn(struct world *w, unsigned client) {
    struct sim_client *c = &w->client[client];
    uint64_t now = drive_client_clock(w, c);
    c->planned_us = now;
    kl_client_set_away(&c->lock, false);
    struct kl_plan p = plan_turn(c, now);
    check_plan(w, client, &p);
    world_log(w, "event=turn client=%u frame=%u runs=%u samples=%u backlog=%u stalled=%d", client,
              c->lock.stats.next_run, p.runs, p.samples, p.backlog, p.stalled);
    for (uint32_t i = 0; i < p.samples && !w->failed; i++)
        sample(w, client, i > 0, now);
    shown_turn(w, client);
    for (uint32_t i = 0; i < p.runs && !w->failed && take(w, client); i++) {
    }
    for (uint32_t i = 0; i < p.runs; i++)
        kl_pace_cost(&c->pace, i + 1 < p.runs, c->setting->frame_us);
    kl_pace_ran(&c->pace, p.due, p.runs, p.stalled, (double)p.runs * c->setting->frame_us);
    struct measure *m = &c->measure;
    if (w->now_us >= w->scenario.settled_us && !m->first_us && c->lock.started) {
        m->first_us = w->now_us;
        m->at_start = c->lock.stats;
    } else if (m->first_us) {
        m->turns++;
        m->stalled_turns += p.stalled;
        m->last_us = w->now_us;
    }
    if (w->probe) w->probe(w, client, &p);
    if (!w->failed) drive_send_client(w, client);
    return p.runs;
}

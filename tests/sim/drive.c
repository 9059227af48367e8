#include "drive.h"

#include <stdarg.h>
#include <string.h>

#include "events.h"

#define SESSION     0x5e5510u
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

/* Counts one datagram, and fails where the second under way has seen too many: two moments of sending a frame
 * time, and where one datagram does not hold it all, twice as many datagrams. */
static void count_rate(struct world *w, struct rate *r, const char *who, unsigned client) {
    const struct kl_params *p = &w->scenario.params;
    uint64_t second = w->now_us / 1000000;
    if (second != r->second) *r = (struct rate){.second = second};
    double most = (p->clocked ? 2e-6 * p->fps_uhz : 2 * r->work + 2 * 200) + 8 * KL_BURST_MAX;
    r->moments += r->last_us != w->now_us;
    r->last_us = w->now_us;
    if (++r->sent > 2 * most || r->moments > most)
        world_fail(w, "%s client=%u: %u datagrams at %u moments of one second", who, client, r->sent,
                   r->moments);
}

static void count_work(struct world *w, struct rate *r) {
    if (w->now_us / 1000000 == r->second) r->work++;
}

/* Puts a datagram on its way, header and all. */
static void transmit(struct world *w, unsigned client, bool up, const uint8_t *body, size_t len) {
    struct sim_client *c = &w->client[client];
    uint64_t arrival[2];
    struct kl_dgram head = {up ? KL_DGRAM_CTRL : KL_DGRAM_UPDATE, SESSION,
                            up ? ++c->up_counter : ++c->down_counter};
    unsigned copies = link_send(up ? &c->up : &c->down, w->now_us, arrival);
    w->datagrams++;
    w->bytes += len + KL_DGRAM_HEADER;
    if (len > w->largest) w->largest = len;
    count_rate(w, up ? &c->rate : &c->relay_rate, up ? "up" : "down", client);
    world_log(w, "event=%s client=%u counter=%u bytes=%zu copies=%u", up ? "ctrl" : "update", client,
              head.counter, len, copies);
    for (unsigned i = 0; i < copies; i++) {
        struct packet *p = packet_new(w);
        p->client = (uint8_t)client;
        p->len = (uint16_t)(len + KL_DGRAM_HEADER);
        p->closed = w->truth.next;
        kl_dgram_write(&head, p->bytes);
        memcpy(p->bytes + KL_DGRAM_HEADER, body, len);
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
    for (unsigned i = 0; (len = kl_client_send(&c->lock, now, body, KL_DATAGRAM_MAX)) > 0; i++) {
        if (len > KL_DATAGRAM_MAX) world_fail(w, "client=%u sends %zu bytes", client, len);
        if (i >= SEND_ROUNDS) world_fail(w, "client=%u has no end of sending", client);
        if (w->failed) return;
        transmit(w, client, true, body, len);
    }
    uint64_t at = kl_client_send_at(&c->lock);
    if (at <= now) world_fail(w, "client=%u has nothing to send though send_at has come", client);
    w->due_client[client] =
        w->now_us + (at - now) + 1 + (at - now) / 9000; /* its clock may be slow by 100 ppm */
}

void drive_send_relay(struct world *w) {
    uint64_t now = drive_relay_clock(w);
    for (unsigned client = 0; client < KL_MAX_CLIENTS; client++) {
        uint8_t body[KL_DATAGRAM_MAX];
        size_t len;
        if (!w->client[client].in_room) continue;
        for (unsigned i = 0; (len = kl_room_send(&w->room, client, now, body, KL_DATAGRAM_MAX)) > 0; i++) {
            if (len > KL_DATAGRAM_MAX) world_fail(w, "relay sends %zu bytes", len);
            if (i >= SEND_ROUNDS) world_fail(w, "relay has no end of sending to client=%u", client);
            if (w->failed) return;
            transmit(w, client, false, body, len);
        }
    }
    uint64_t at = kl_room_send_at(&w->room);
    if (at <= now) world_fail(w, "relay has nothing to send though send_at has come");
    w->due_room = at == UINT64_MAX ? at : w->now_us + (at - now);
}

void drive_collect(struct world *w) {
    static struct kl_frame f; /* large */
    while (!w->failed && kl_room_take(&w->room, &f)) {
        if (!truth_close(&w->truth, &f, w->now_us)) {
            world_fail(w, "relay %s", w->truth.error);
            return;
        }
        w->last_close_us = w->now_us;
        for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
            count_work(w, &w->client[i].relay_rate);
        world_log(w, "event=close frame=%u interval=%u+%u active=%02x%s", f.number, f.keyframe, f.spacing,
                  f.active, f.flags & KL_FRAME_HASH ? " hash=1" : "");
    }
    const struct kl_params *p = &w->scenario.params;
    if (p->clocked && w->room.started) {
        double elapsed_s = (double)(w->now_us - w->scenario.start_us) / 1e6;
        if (w->truth.next > elapsed_s * p->fps_uhz * 1.0002e-6 + 2 * KL_SPACING_MAX + 4)
            world_fail(w, "the room runs ahead of its clock: frame=%u after %.3f s", w->truth.next,
                       elapsed_s);
    }
}

/* What the transport does with a datagram before the engine sees it. */
static bool let_in(struct world *w, const struct packet *p, uint8_t kind, struct kl_replay *window) {
    struct kl_dgram head;
    if (kl_dgram_read(&head, p->bytes, p->len) != 0 || head.kind != kind || head.session != SESSION) {
        world_fail(w, "the header did not survive");
        return false;
    }
    return !w->scenario.replay_window || kl_replay_fresh(window, head.counter);
}

void drive_to_relay(struct world *w, struct packet *p) {
    struct sim_client *c = &w->client[p->client];
    if (!c->in_room || !let_in(w, p, KL_DGRAM_CTRL, &c->up_replay)) return;
    int r = kl_room_receive(&w->room, p->client, p->bytes + KL_DGRAM_HEADER, p->len - KL_DGRAM_HEADER,
                            drive_relay_clock(w));
    if (r != KL_OK) world_fail(w, "relay refuses a CTRL of client=%u: %d", p->client, r);
    drive_collect(w);
    drive_send_relay(w);
}

void drive_to_client(struct world *w, struct packet *p) {
    struct sim_client *c = &w->client[p->client];
    if (!c->in_room || !let_in(w, p, KL_DGRAM_UPDATE, &c->down_replay)) return;
    if (p->closed > c->knowable) c->knowable = p->closed;
    int r = kl_client_receive(&c->lock, p->bytes + KL_DGRAM_HEADER, p->len - KL_DGRAM_HEADER,
                              drive_client_clock(w, c));
    if (r != KL_OK) world_fail(w, "client=%u refuses an UPDATE: %d", p->client, r);
    if (c->lock.stats.next_closed > c->knowable)
        world_fail(w, "client=%u knows frames that it cannot", p->client);
    drive_send_client(w, p->client);
}

/* --- a turn ----------------------------------------------------------------------------------------------
 */

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
        if (w->truth.seat[seat].count != number)
            world_fail(w, "client=%u numbers a sample %u", client, number);
        truth_sample(&w->truth, seat, &in[i++], w->now_us);
    }
    count_work(w, &c->rate);
}

/* What the frame's number less that of its newest sample's frame is. */
static uint32_t lead_of(const struct world *w, uint32_t frame) {
    const struct kl_frame *f = &w->truth.frame[frame % REF_RING];
    const struct kl_frame *before = &w->truth.frame[(f->keyframe - 1) % REF_RING];
    uint32_t lo, hi;
    ref_map(frame - f->keyframe, w->scenario.params.subframes ? before->spacing : 1, f->spacing, &lo, &hi);
    return frame - (before->keyframe + hi - 1);
}

static void measure_frame(struct world *w, struct sim_client *c, uint32_t frame) {
    uint32_t k = w->truth.last_sample[frame % REF_RING];
    struct measure *m = &c->measure;
    m->frames++;
    if (k == UINT32_MAX) return;
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++) {
        const struct ref_seat *s = &w->truth.seat[seat];
        if (!(w->truth.seated >> seat & 1) || k >= s->count) continue;
        double us = (double)(w->now_us - s->given_us[k % REF_RING]);
        bool own = c->setting->seats >> seat & 1;
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
    if (!w->failed && !truth_same(&w->truth, &f)) world_fail(w, "client=%u %s", client, w->truth.error);
    if (w->failed) return false;
    uint64_t lead = c->lock.stats.lead_sum - lead_before;
    if (lead != (f.keyframe == 0 ? 0 : lead_of(w, f.number)))
        world_fail(w, "client=%u frame=%u: claims a lead of %u", client, f.number, (unsigned)lead);
    c->next_take++;
    c->last_take_us = w->now_us;
    w->frames_run++;
    count_work(w, &c->rate);
    if (c->measure.first_us) measure_frame(w, c, f.number);
    return true;
}

static void check_plan(struct world *w, unsigned client, const struct kl_plan *p) {
    const struct sim_client *c = &w->client[client];
    const struct kl_client_stats *s = &c->lock.stats;
    if (p->runs > c->setting->max_runs) world_fail(w, "client=%u plans %u runs", client, p->runs);
    if (p->runs > p->backlog) world_fail(w, "client=%u plans %u runs of %u", client, p->runs, p->backlog);
    if (p->stalled && p->runs > 0) world_fail(w, "client=%u stalls and runs", client);
    uint32_t ahead = s->next_sample + p->samples;
    if (w->scenario.params.subframes && ahead > s->next_run + p->runs + KL_SPACING_MAX + 1)
        world_fail(w, "client=%u samples %u where frame %u is to run", client, ahead, s->next_run);
    if (s->next_sample - c->lock.sample_acked + p->samples > KL_WINDOW_FRAMES)
        world_fail(w, "client=%u keeps %u samples", client, s->next_sample - c->lock.sample_acked);
}

void drive_turn(struct world *w, unsigned client) {
    struct sim_client *c = &w->client[client];
    uint64_t now = drive_client_clock(w, c);
    struct kl_plan p = kl_client_plan(&c->lock, now, c->setting->max_runs);
    check_plan(w, client, &p);
    world_log(w, "event=turn client=%u frame=%u runs=%u samples=%u backlog=%u stalled=%d", client,
              c->lock.stats.next_run, p.runs, p.samples, p.backlog, p.stalled);
    for (uint32_t i = 0; i < p.samples && !w->failed; i++)
        sample(w, client, i > 0, now);
    for (uint32_t i = 0; i < p.runs && !w->failed && take(w, client); i++) {
    }
    struct measure *m = &c->measure;
    if (w->now_us >= w->scenario.settled_us && !m->first_us && c->lock.started) {
        m->first_us = w->now_us;
        m->at_start = c->lock.stats;
    } else if (m->first_us) {
        m->turns++;
        m->stalled_turns += p.stalled;
        m->last_us = w->now_us;
    }
    if (!w->failed) drive_send_client(w, client);
}

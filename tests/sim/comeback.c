#include "tests/sim/comeback.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/drive.h"
#include "tests/sim/events.h"
#include "net/engine/lock_client.h"
#include "net/engine/lock_relay_return.h"
#include "tests/lib/lock_memory.h"

#define BULK_BYTES    32768  /* under way to one client at most */
#define RETRY_US      250000 /* a client that found no relay tries again */
#define HANDSHAKE_US  30000
#define SLACK_US      3000000
#define HEAVY_MEAN_US 100000 /* beyond the delay, for a bulk message */

/* --- history --- */

static void append(struct world *w, struct kl_history *h, const struct kl_frame *f,
                   const struct kl_commands *commands) {
    int result;
    for (KL_EACH(s, kl_history_wants_pads(h, f)))
        kl_history_give_pads(h, s, malloc(KL_PIECE_FRAMES * sizeof *h->pad[s]));
    if (kl_history_wants_devices(h, f)) kl_history_give_devices(h, malloc(sizeof *h->devices));
    while ((result = kl_history_append(h, f, commands)) == KL_E_SPACE)
        kl_history_give(h, malloc(KL_HISTORY_BLOCK));
    if (result < 0) world_fail(w, "history refuses frame %u: %d", f->number, result);
}

static void free_history(struct kl_history *h) {
    for (void *b; h && (b = kl_history_drop(h));)
        free(b);
    if (h) free(h->devices);
    for (KL_EACH(s, h ? h->touched : 0))
        free(h->pad[s]);
    free(h);
}

static struct kl_history *new_history(void) {
    struct kl_history *h = malloc(sizeof *h);
    if (!h) abort();
    kl_history_init(h, 0, 0);
    return h;
}

/* Rooms of odd seeds keep the newest frames alone, as a relay's do, and read older ones from the history. */
void comeback_room(struct world *w) {
    lock_begin(&w->room, &w->scenario.params, w->scenario.seed % 2 ? w->history : NULL);
}

void comeback_set_up(struct world *w) {
    w->history = new_history();
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        w->client[i].session = w->client[i].bound = 1;
}

static void drop_pieces(struct world *w, struct sim_client *c) {
    for (struct packet *p; (p = c->pieces);) {
        c->pieces = p->next_free;
        packet_free(w, p);
    }
    c->last_piece = NULL;
}

void comeback_clear(struct world *w) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        drop_pieces(w, &w->client[i]);
    free_history(w->history);
    w->history = NULL;
}

void comeback_collect(struct world *w, uint32_t from) {
    for (uint32_t n = from; n < w->truth.next && !w->failed; n++)
        append(w, w->history, &w->truth.frame[n % REF_RING], &w->truth.commands[n % REF_RING]);
}

/* When something reliable and in order arrives that is sent now. */
static uint64_t arrival_us(struct world *w, struct sim_client *c, struct link *l) {
    uint64_t at = w->now_us > l->down_until_us ? w->now_us : l->down_until_us + RETRY_US;
    while (rng_chance(&c->rng, l->quality.loss))
        at += 2 * l->quality.delay_us + RETRY_US;
    return at + l->quality.delay_us + (uint64_t)(rng_unit(&c->rng) * l->quality.jitter_us);
}

static void send_piece(struct world *w, unsigned i, uint32_t from) {
    struct sim_client *c = &w->client[i];
    struct packet *p = packet_new(w);
    uint32_t end = 0;
    size_t len = kl_history_read(w->history, from, p->bytes, KL_PIECE_BYTES, &end);
    if (len == 0 || end <= from) world_fail(w, "history has no frame %u for client=%u", from, i);
    p->client = (uint8_t)i;
    p->len = (uint16_t)len;
    p->closed = w->truth.next;
    p->relay = w->reopened;
    kl_lock_gave_history(&w->room, i, end);
    c->bulk_bytes += len;
    uint64_t at = arrival_us(w, c, &c->down);
    if (at <= c->bulk_us) at = c->bulk_us + 1;
    c->bulk_us = at;
    world_log(w, "event=history client=%u first=%u end=%u bytes=%zu", i, from, end, len);
    events_push(
        w, (struct event){
               .at_us = at, .kind = EVENT_HISTORY, .client = (uint8_t)i, .index = c->bound, .packet = p});
}

void comeback_serve(struct world *w) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct sim_client *c = &w->client[i];
        uint32_t from;
        while (!w->failed && c->in_room && c->bound && c->bulk_bytes < BULK_BYTES &&
               kl_lock_wants_history(&w->room, i, &from))
            send_piece(w, i, from);
    }
}

void comeback_feed(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    for (struct packet *p; (p = c->pieces) && !w->failed;) {
        int result = kl_client_history(&c->lock, p->bytes, p->len, drive_client_clock(w, c));
        bool its_fault = c->setting->lie.from_us; /* it had said that it needs this piece */
        if (result < 0 && !its_fault) world_fail(w, "client=%u refuses a piece of history: %d", i, result);
        if (result > 0 || w->failed) return;
        c->pieces = p->next_free;
        packet_free(w, p);
    }
}

static void piece_arrives(struct world *w, const struct event *e) {
    struct sim_client *c = &w->client[e->client];
    struct packet *p = e->packet;
    if (e->index != c->session || !c->in_room) {
        packet_free(w, p);
        return;
    }
    c->bulk_bytes -= p->len;
    if (drive_outdated(w, p)) {
        packet_free(w, p);
        return;
    }
    if (p->closed > c->knowable) c->knowable = p->closed;
    p->next_free = NULL;
    *(c->pieces ? &c->last_piece->next_free : &c->pieces) = p;
    c->last_piece = p;
    comeback_feed(w, e->client);
    if (!w->relay_down) comeback_serve(w);
}

/* --- sessions --- */

uint64_t comeback_excuse_us(const struct world *w, unsigned i, uint32_t frames) {
    const struct sim_client *c = &w->client[i];
    double fps = w->scenario.params.fps_uhz / 1e6, run = 1e6 / c->setting->tick_us * c->setting->max_runs;
    double faster = w->scenario.params.clocked ? run - fps : run / 2;
    uint64_t bytes = 0;
    for (const struct kl_history_block *b = w->history->oldest; b; b = b->next)
        bytes += b->used;
    double turn_us = (double)link_worst_us(&c->down.quality) + (double)link_worst_us(&c->up.quality);
    turn_us += (double)c->down.quality.loss * RETRY_US * 20 + HEAVY_MEAN_US;
    double own_us = frames / (faster > 5 ? faster : 5) * 1e6;
    return w->now_us + SLACK_US + (uint64_t)(own_us + (double)bytes / BULK_BYTES * 2 * turn_us);
}

static void excuse(struct world *w, struct sim_client *c, uint64_t until_us) {
    if (until_us > c->obstacle_us) c->obstacle_us = until_us;
    if (until_us > c->deaf_until_us) c->deaf_until_us = until_us;
    if (c->joining && w->scenario.params.clocked) return; /* the others notice nothing of it */
    if (until_us > w->room_obstacle_us) w->room_obstacle_us = until_us;
    w->pacing = false;
}

static void push(struct world *w, uint8_t kind, unsigned i, uint64_t at_us, uint32_t index) {
    events_push(w, (struct event){.at_us = at_us, .kind = kind, .client = (uint8_t)i, .index = index});
}

static void cut_at_relay(struct world *w, unsigned i, uint32_t session) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room || c->bound != session || w->relay_down || !w->room.started) return;
    world_log(w, "event=cut client=%u frame=%u", i, w->truth.next);
    c->bound = 0;
    drive_before(w);
    ref_room_cut(&w->truth.ref, i);
    kl_lock_cut(&w->room, i, drive_relay_clock(w));
    drive_collect(w);
    drive_send_relay(w);
}

/* A new process: it knows nothing, and numbers its samples anew. */
static void begin_anew(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    struct kl_held *held = c->lock.held;
    kl_pace_begin(&c->pace, 1e12 / w->scenario.params.fps_uhz);
    kl_client_init(&c->lock, &w->scenario.params, c->setting->seats, held, w->scenario.held_frames,
                   drive_client_clock(w, c));
    c->dead = c->fresh = false;
    c->next_take = c->knowable = 0;
    c->planned_us = 0;
    c->last_take_us = w->now_us;
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        if (c->setting->seats >> seat & 1) w->truth.renumbers[seat] = true;
    memset(&c->measure, 0, sizeof c->measure);
}

static void session(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room || !c->running) return;
    uint64_t again = w->relay_down || !w->room.started ? w->now_us + RETRY_US : 0;
    if (w->now_us < c->frozen_until_us) again = c->frozen_until_us;
    if (w->now_us < c->up.down_until_us) again = c->up.down_until_us + 1;
    if (w->now_us < c->down.down_until_us) again = c->down.down_until_us + 1;
    if (again) {
        push(w, EVENT_SESSION, i, again, 0);
        return;
    }
    bool fresh = c->fresh;
    c->session++;
    drop_pieces(w, c);
    c->bulk_bytes = 0;
    c->up_counter = 0;
    memset(&c->down_window, 0, sizeof c->down_window);
    if (fresh) begin_anew(w, i);
    kl_client_return(&c->lock, drive_client_clock(w, c));
    c->have = kl_client_have(&c->lock);
    world_log(w, "event=session client=%u session=%u have=%u fresh=%d", i, c->session, c->have, fresh);
    excuse(w, c, comeback_excuse_us(w, i, w->truth.next - c->lock.stats.next_run));
    push(w, EVENT_RETURN, i, arrival_us(w, c, &c->up) + HANDSHAKE_US, c->session);
    drive_send_client(w, i);
}

static void returned(struct world *w, unsigned i, uint32_t session_number) {
    struct sim_client *c = &w->client[i];
    if (!c->in_room || !c->running || session_number != c->session || c->dead) return;
    if (w->relay_down) {
        push(w, EVENT_SESSION, i, w->now_us + RETRY_US, 0);
        return;
    }
    drive_before(w);
    ref_room_return(&w->truth.ref, i, c->have);
    int result = kl_lock_return(&w->room, i, c->have, drive_relay_clock(w));
    world_log(w, "event=return client=%u have=%u of=%u result=%d", i, c->have, w->truth.next, result);
    if (result != KL_OK) world_fail(w, "the return of client=%u is refused: %d", i, result);
    bool far = c->have + KL_KEPT_FRAMES / 4 < w->truth.next;
    if (far && !kl_lock_fetching(&w->room, i)) world_fail(w, "client=%u gets no history", i);
    c->bound = c->session;
    c->down_counter = 0;
    memset(&c->up_window, 0, sizeof c->up_window);
    c->leaving_session = false;
    excuse(w, c, comeback_excuse_us(w, i, w->truth.next - c->lock.stats.next_run));
    drive_collect(w);
    drive_send_relay(w);
}

/* --- the relay --- */

static void relay_dies(struct world *w, const struct happening *h) {
    w->relay_down = true;
    w->due_room = w->due_tick = UINT64_MAX;
    push(w, EVENT_REOPEN, 0, w->now_us + h->length_us, (uint32_t)(h - w->scenario.happening));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct sim_client *c = &w->client[i];
        c->bound = 0;
        if (!c->in_room) continue;
        uint64_t back_us = w->now_us + h->length_us + rng_range(&w->rng, 20000, 2500000);
        excuse(w, c, back_us + SLACK_US);
        if (!c->leaving_session) push(w, EVENT_SESSION, i, back_us, 0);
        c->leaving_session = true;
    }
}

/* Frames that the journal lacks and some client has run come from the clients; what neither has never was. */
static uint32_t goes_on_at(const struct world *w, uint32_t journal) {
    uint32_t at = journal;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct sim_client *c = &w->client[i];
        if (c->in_room && !c->dead && c->lock.stats.next_closed > at) at = c->lock.stats.next_closed;
    }
    return at;
}

static void adopt(struct world *w, const struct kl_frame *f, const struct kl_commands *commands) {
    int result = kl_lock_adopt(&w->room, f, f->flags & KL_FRAME_COMMANDS ? commands : NULL);
    if (result != KL_OK) world_fail(w, "the room does not adopt frame %u: %d", f->number, result);
}

static void reopen(struct world *w, const struct happening *h) {
    static struct kl_history_cursor cursor;
    struct kl_frame f;
    uint32_t journal = w->truth.next > h->lost_frames ? w->truth.next - h->lost_frames : 0;
    uint32_t at = goes_on_at(w, journal);
    struct kl_history *old = w->history;
    w->history = new_history();
    w->scenario.relay_offset_us = h->offset_us;
    comeback_room(w);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (w->client[i].in_room) kl_lock_add(&w->room, i, w->client[i].setting->seats, drive_relay_clock(w));
    kl_history_seek(&cursor, old, 0);
    for (uint32_t n = 0; n < at && !w->failed; n++) {
        if (!kl_history_next(&cursor, &f)) world_fail(w, "history lacks frame %u", n);
        if (truth_print(&f, &cursor.frames.commands) != w->truth.print[n])
            world_fail(w, "history changed frame %u", n);
        adopt(w, &f, &cursor.frames.commands);
        append(w, w->history, &f, &cursor.frames.commands);
    }
    free_history(old);
    w->relay_down = false;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (w->client[i].knowable > at) w->client[i].knowable = at;
        drop_pieces(w, &w->client[i]);
    }
    world_log(w, "event=reopen frame=%u of=%u journal=%u hold_us=%llu", at, w->truth.next, journal,
              (unsigned long long)h->hold_us);
    if (w->failed) return;
    bool empty = ref_room_pads(&w->truth.ref) == 0;
    int result = at ? kl_lock_reopen(&w->room, h->hold_us, drive_relay_clock(w))
                    : kl_lock_start(&w->room, drive_relay_clock(w));
    if (empty && result == KL_E_STATE) return;
    if (result != KL_OK) world_fail(w, "the room does not go on: %d", result);
    truth_rewind(&w->truth, &w->room, at, h->hold_us, drive_relay_clock(w));
    w->last_close_us = w->truth.still_us = w->now_us;
    drive_before(w);
    drive_collect(w);
    drive_send_relay(w);
}

/* --- joining a game under way --- */

/* Not before the game is on, nor before its seats are free. The process has nothing, and loads. */
static void join(struct world *w, unsigned i) {
    struct sim_client *c = &w->client[i];
    uint8_t taken = ref_room_pads(&w->truth.ref) & c->setting->seats;
    if (!w->room.started || w->relay_down || w->truth.next == 0 || taken) {
        push(w, EVENT_JOIN, i, w->now_us + RETRY_US, 0);
        return;
    }
    world_log(w, "event=join client=%u seats=%02x frame=%u", i, c->setting->seats, w->truth.next);
    w->joined++;
    drive_before(w);
    ref_room_add(&w->truth.ref, i, c->setting->seats);
    if (kl_lock_add(&w->room, i, c->setting->seats, drive_relay_clock(w)) != KL_OK)
        world_fail(w, "client=%u is refused in the game", i);
    c->in_room = c->running = c->dead = c->fresh = c->leaving_session = c->joining = true;
    c->bound = 0;
    c->session = 1;
    c->next_tick_us = (double)w->now_us + c->setting->phase_us;
    push(w, EVENT_TICK, i, (uint64_t)c->next_tick_us, 0);
    push(w, EVENT_SESSION, i, w->now_us + rng_range(&w->rng, 20000, 3000000), 0);
    drive_collect(w);
    drive_send_relay(w);
}

/* --- events --- */

void comeback_happen(struct world *w, const struct happening *h) {
    struct sim_client *c = &w->client[h->client];
    uint64_t until = w->now_us + h->length_us;
    if (!w->room.started || w->relay_down || w->truth.next == 0) return;
    if (h->kind == HAPPEN_RELAY) {
        w->reopened++;
        relay_dies(w, h);
        return;
    }
    c->leaving_session = true;
    push(w, EVENT_CUT, h->client, w->now_us + h->notice_us, c->bound);
    excuse(w, c, until + h->session_us + SLACK_US);
    if (h->kind == HAPPEN_CUT) {
        if (until > c->up.down_until_us) c->up.down_until_us = until;
        if (until > c->down.down_until_us) c->down.down_until_us = until;
        push(w, EVENT_SESSION, h->client, until + h->session_us, 0);
        return;
    }
    c->dead = c->fresh = true;
    c->session++; /* nobody listens to the old one */
    drop_pieces(w, c);
    w->due_client[h->client] = UINT64_MAX;
    push(w, EVENT_SESSION, h->client, until, 0);
}

void comeback_handle(struct world *w, const struct event *e) {
    switch (e->kind) {
    case EVENT_CUT: cut_at_relay(w, e->client, e->index); break;
    case EVENT_SESSION: session(w, e->client); break;
    case EVENT_RETURN: returned(w, e->client, e->index); break;
    case EVENT_HISTORY: piece_arrives(w, e); break;
    case EVENT_JOIN: join(w, e->client); break;
    default: reopen(w, &w->scenario.happening[e->index]); break;
    }
}

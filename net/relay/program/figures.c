#include "net/relay/program/figures.h"

#include <string.h>

#include "net/platform/copies.h"

#define COUNT_US 1000000
#define MIB      UINT64_C(1048576)

static const uint32_t rtt_upto_us[KL_FIGURES_RTT] = {10000,  25000,  50000,  75000,
                                                     100000, 150000, 250000, 500000};
static const uint32_t lead_upto[KL_FIGURES_LEAD] = {1, 2, 3, 4, 6, 8, 12, 20};

/* --- a process's own --- */

static void sort_in(uint64_t *count, const uint32_t *upto, unsigned buckets, uint64_t value) {
    unsigned i = 0;
    while (i < buckets && value > upto[i])
        i++;
    count[i]++;
}

static void count_players(struct kl_figures *f, const struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lock_client *c = &r->lock.client[i];
        if (!c->rtt.count) continue;
        sort_in(f->rtt, rtt_upto_us, KL_FIGURES_RTT, c->rtt.srtt_us);
        f->rtt_sum_us += c->rtt.srtt_us;
    }
    if (r->phase != KL_ROOM_PLAYING || r->lock.paused || r->lock.next_close == 0) return;
    const unsigned lead = r->lock.lead[(r->lock.next_close - 1) % KL_KEPT_FRAMES];
    sort_in(f->lead, lead_upto, KL_FIGURES_LEAD, lead);
    f->lead_sum += lead;
    const unsigned setter = r->report.told.farthest;
    if (setter >= KL_MAX_CLIENTS || !r->lock.client[setter].rtt.count) return;
    sort_in(f->setter_rtt, rtt_upto_us, KL_FIGURES_RTT, r->lock.client[setter].rtt.srtt_us);
    f->setter_rtt_sum_us += r->lock.client[setter].rtt.srtt_us;
}

static void look_at_room(struct kl_figures *f, const struct kl_lobby_room *r, bool count) {
    const bool playing = r->phase == KL_ROOM_PLAYING;
    f->rooms[playing && r->lock.paused ? KL_FIGURES_PAUSED : (unsigned)r->phase]++;
    f->seats += r->params.players;
    f->filled += (unsigned)__builtin_popcount(kl_lobby_seats_filled(r));
    for (KL_MEMBERS(i, r, kl_lobby_here))
        f->holding_up += playing && kl_lock_holds_up(&r->lock, i);
    if (count) count_players(f, r);
}

static void publish(struct kl_figures_place *p, const struct kl_figures *f) {
    kl_seqlock_write(&p->lock, &p->figures, f, sizeof *f);
}

static void look(struct kl_server_onlooker *self, const struct kl_lobby *l,
                 const struct kl_hub_stats *network, uint64_t now_us) {
    struct kl_figures_writer *w = (struct kl_figures_writer *)self;
    struct kl_figures *f = &w->now;
    const bool count = now_us >= w->count_us;
    if (count) w->count_us = now_us + COUNT_US;
    memset(f->rooms, 0, sizeof f->rooms);
    f->seats = f->filled = f->holding_up = 0;
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i]) look_at_room(f, l->room[i], count);
    f->members = l->members;
    f->watchers = l->watchers;
    f->network = *network;
    f->lobby = kl_lobby_stats(l);
    f->fleet = l->fleet != NULL;
    f->fleet_relays = l->fleet ? kl_fleet_relays(l->fleet) : 0;
    f->fleet_speaks = l->fleet && kl_fleet_speaks(l->fleet, now_us);
    f->turn = self->turn;
    f->waited = self->waited;
    if (count) kl_copy_cost(&f->processor_us, &f->resident_bytes);
    f->at_us = now_us;
    publish(w->place, f);
    kl_rooms_text_look(&w->place->rooms, l, w->looks++, now_us);
}

void kl_figures_begin(struct kl_figures_writer *w, struct kl_figures_place *place,
                      const struct kl_server_config *config) {
    *w = (struct kl_figures_writer){.onlooker.look = look, .place = place};
    w->now.rooms_most = config->rooms;
    w->now.journal_most_bytes = config->journal_total_mib * MIB;
    if (config->shards) w->now.journal_most_bytes /= config->shards->count;
    if (!strcmp(config->journal, "off")) w->now.journal_most_bytes = 0;
    publish(place, &w->now);
    kl_rooms_text_begin(&place->rooms);
    memset(place->event, 0, sizeof place->event);
    kl_log_count(place->event);
    kl_log_stories(place->rooms.story, KL_SHARD_ROOMS);
}

bool kl_figures_read(const struct kl_figures_place *p, struct kl_figures *out) {
    struct kl_figures copy;
    bool whole = kl_seqlock_read(&p->lock, &copy, &p->figures, sizeof copy);
    if (whole) *out = copy;
    return whole;
}

/* --- the text --- */

#define GAUGE     "gauge"
#define COUNTER   "counter"
#define AT(field) offsetof(struct kl_figures, field)

enum size { BYTES_8, BYTES_4 };

/* Rows of one name stand together; the first has the help. scale: units of the figure in one of the
 * text's. */
static const struct row {
    const char *name, *type, *help, *label; /* label: or "" */
    size_t at;
    double scale;
    enum size size;
} rows[] = {
    {"keylock_rooms", GAUGE, "Rooms by their state.", "state=\"gathering\"", AT(rooms[KL_ROOM_GATHERING]), 1,
     0},
    {"keylock_rooms", GAUGE, "", "state=\"asked\"", AT(rooms[KL_ROOM_ASKED]), 1, 0},
    {"keylock_rooms", GAUGE, "", "state=\"loading\"", AT(rooms[KL_ROOM_LOADING]), 1, 0},
    {"keylock_rooms", GAUGE, "", "state=\"playing\"", AT(rooms[KL_ROOM_PLAYING]), 1, 0},
    {"keylock_rooms", GAUGE, "", "state=\"paused\"", AT(rooms[KL_FIGURES_PAUSED]), 1, 0},
    {"keylock_rooms", GAUGE, "", "state=\"reopening\"", AT(rooms[KL_ROOM_REOPENING]), 1, 0},
    {"keylock_rooms_limit", GAUGE, "Rooms that the relay takes, all processes together.", "", AT(rooms_most),
     1, 0},
    {"keylock_seats", GAUGE, "Seats that the games need.", "", AT(seats), 1, 0},
    {"keylock_seats_filled", GAUGE, "Seats that are taken.", "", AT(filled), 1, 0},
    {"keylock_members", GAUGE, "Members of rooms, those away included.", "", AT(members), 1, 0},
    {"keylock_watchers", GAUGE, "Watchers from outside of the games.", "", AT(watchers), 1, 0},
    {"keylock_players_holding_up", GAUGE, "Players whose room waits for them more than it grants.", "",
     AT(holding_up), 1, 0},
    {"keylock_sessions", GAUGE, "Open sessions.", "", AT(network.peers), 1, BYTES_4},
    {"keylock_handshakes_total", COUNTER, "Sessions made.", "", AT(network.handshakes), 1, 0},
    {"keylock_handshakes_refused_total", COUNTER, "Sessions turned away by a limit.", "", AT(network.refused),
     1, 0},
    {"keylock_cookies_total", COUNTER, "Cookies sent to strangers.", "", AT(network.cookies), 1, 0},
    {"keylock_moves_total", COUNTER, "Sessions that went to another address.", "", AT(network.moves), 1, 0},
    {"keylock_flooded_total", COUNTER, "Sessions closed for flooding.", "", AT(network.flooded), 1, 0},
    {"keylock_input_datagrams_total", COUNTER, "Datagrams of inputs from players, and of frames to them.",
     "direction=\"in\"", AT(network.datagrams_in), 1, 0},
    {"keylock_input_datagrams_total", COUNTER, "", "direction=\"out\"", AT(network.datagrams_out), 1, 0},
    {"keylock_messages_total", COUNTER, "Reliable messages received.", "", AT(network.messages_in), 1, 0},
    {"keylock_stranger_bytes_total", COUNTER, "Bytes from and to clients without a session.",
     "direction=\"in\"", AT(network.asked_bytes), 1, 0},
    {"keylock_stranger_bytes_total", COUNTER, "", "direction=\"out\"", AT(network.answered_bytes), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "Datagrams dropped, by reason.", "reason=\"malformed\"",
     AT(network.malformed), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"strange\"", AT(network.strange), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"forged\"", AT(network.forged), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"replayed\"", AT(network.replayed), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"limited\"", AT(network.limited), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"slowed\"", AT(network.slowed), 1, 0},
    {"keylock_dropped_datagrams_total", COUNTER, "", "reason=\"unfit\"", AT(network.unfit), 1, 0},
    {"keylock_voices_total", COUNTER, "Packets of speech: taken; sent on, one for each listener.",
     "direction=\"in\"", AT(lobby.voice.in), 1, 0},
    {"keylock_voices_total", COUNTER, "", "direction=\"out\"", AT(lobby.voice.out), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "Packets of speech left out, by reason.",
     "reason=\"malformed\"", AT(lobby.voice.malformed), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "", "reason=\"unheard\"", AT(lobby.voice.unheard), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "", "reason=\"limited\"", AT(lobby.voice.limited), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "", "reason=\"crowded\"", AT(lobby.voice.crowded), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "", "reason=\"late\"", AT(lobby.voice.late), 1, 0},
    {"keylock_dropped_voices_total", COUNTER, "", "reason=\"unsent\"", AT(network.voices_unsent), 1, 0},
    {"keylock_put_out_total", COUNTER, "Clients put out.", "", AT(lobby.put_out), 1, 0},
    {"keylock_wrong_passwords_total", COUNTER, "Wrong passwords.", "", AT(lobby.wrong_passwords), 1, 0},
    {"keylock_wrong_returns_total", COUNTER, "Wrong returns.", "", AT(lobby.wrong_returns), 1, 0},
    {"keylock_held_bytes", GAUGE, "Memory of rooms.", "what=\"start\"", AT(lobby.start_bytes), 1, 0},
    {"keylock_held_bytes", GAUGE, "", "what=\"history\"", AT(lobby.history_bytes), 1, 0},
    {"keylock_held_bytes", GAUGE, "", "what=\"snapshot\"", AT(lobby.snapshot_bytes), 1, 0},
    {"keylock_journal_written_bytes_total", COUNTER, "Bytes written to the journal.", "",
     AT(lobby.journal.bytes), 1, 0},
    {"keylock_journal_failures_total", COUNTER, "Writes to the journal that failed.", "",
     AT(lobby.journal.failures), 1, 0},
    {"keylock_journal_over_total", COUNTER, "Journals that ended before their rooms.", "",
     AT(lobby.journal.over), 1, 0},
    {"keylock_journal_limit_bytes", GAUGE, "The most that the journal may take; 0: none is kept.", "",
     AT(journal_most_bytes), 1, 0},
    {"keylock_fleet_redis_answers", GAUGE, "1 if the fleet's Redis has answered within 3 s.", "",
     AT(fleet_speaks), 1, 0},
    {"keylock_fleet_relays", GAUGE, "Relays of the fleet with this one; 0: it is in none.", "",
     AT(fleet_relays), 1, 0},
    {"keylock_processor_seconds_total", COUNTER, "Processor time of the process.", "", AT(processor_us), 1e6,
     0},
    {"keylock_resident_memory_bytes", GAUGE, "Memory of the process.", "", AT(resident_bytes), 1, 0},
};
#define ROWS (sizeof rows / sizeof *rows)

static void begin(struct kl_buffer *to, const char *name, const char *type, const char *help) {
    kl_buffer_add(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void tell_row(struct kl_buffer *to, const struct row *r, const struct kl_figures *figures,
                     unsigned count) {
    if (*r->help) begin(to, r->name, r->type, r->help);
    for (unsigned i = 0; i < count; i++) {
        const char *at = (const char *)&figures[i] + r->at;
        const uint64_t value = r->size == BYTES_4 ? *(const uint32_t *)at : *(const uint64_t *)at;
        kl_buffer_add(to, "%s{shard=\"%u\"%s%s} %.15g\n", r->name, i, *r->label ? "," : "", r->label,
                      (double)value / r->scale);
    }
}

/* counts: one for each bound, and of those above all. */
static void tell_buckets(struct kl_buffer *to, const char *name, unsigned shard, const uint64_t *counts,
                         const uint32_t *upto, unsigned buckets, double scale, double sum) {
    uint64_t all = 0;
    for (unsigned i = 0; i < buckets; i++) {
        all += counts[i];
        kl_buffer_add(to, "%s_bucket{shard=\"%u\",le=\"%g\"} %llu\n", name, shard, upto[i] / scale,
                      (unsigned long long)all);
    }
    all += counts[buckets];
    kl_buffer_add(to, "%s_bucket{shard=\"%u\",le=\"+Inf\"} %llu\n", name, shard, (unsigned long long)all);
    kl_buffer_add(to, "%s_sum{shard=\"%u\"} %.15g\n%s_count{shard=\"%u\"} %llu\n", name, shard, sum / scale,
                  name, shard, (unsigned long long)all);
}

static void tell_histograms(struct kl_buffer *to, const struct kl_figures *f, unsigned count) {
    begin(to, "keylock_loop_seconds", "histogram", "One turn of the loop over all rooms, without its rest.");
    for (unsigned i = 0; i < count; i++)
        tell_buckets(to, "keylock_loop_seconds", i, f[i].turn.count, kl_server_upto_us, KL_SERVER_UPTO, 1e6,
                     (double)f[i].turn.sum_us);
    begin(to, "keylock_input_wait_seconds", "histogram",
          "A player's datagram, from the machine's network to its room: the latency that the relay adds.");
    for (unsigned i = 0; i < count; i++)
        tell_buckets(to, "keylock_input_wait_seconds", i, f[i].waited.count, kl_server_upto_us,
                     KL_SERVER_UPTO, 1e6, (double)f[i].waited.sum_us);
    begin(to, "keylock_rtt_seconds", "histogram", "Round trips of players, each counted once a second.");
    for (unsigned i = 0; i < count; i++)
        tell_buckets(to, "keylock_rtt_seconds", i, f[i].rtt, rtt_upto_us, KL_FIGURES_RTT, 1e6,
                     (double)f[i].rtt_sum_us);
    begin(to, "keylock_lead_setter_rtt_seconds", "histogram",
          "Round trips of players whose link alone sets their room's lead, each counted once a second.");
    for (unsigned i = 0; i < count; i++)
        tell_buckets(to, "keylock_lead_setter_rtt_seconds", i, f[i].setter_rtt, rtt_upto_us, KL_FIGURES_RTT,
                     1e6, (double)f[i].setter_rtt_sum_us);
    begin(to, "keylock_lead_frames", "histogram", "Leads of rooms that play, each counted once a second.");
    for (unsigned i = 0; i < count; i++)
        tell_buckets(to, "keylock_lead_frames", i, f[i].lead, lead_upto, KL_FIGURES_LEAD, 1,
                     (double)f[i].lead_sum);
}

static void tell_kinds(struct kl_buffer *to, const struct kl_figures *f, unsigned count, bool bytes) {
    static const char *const kinds[KL_HUB_KINDS] = {"other", "inputs",     "frames", "messages",
                                                    "paths", "handshakes", "voices"};
    const char *name = bytes ? "keylock_datagram_bytes_total" : "keylock_datagrams_total";
    begin(to, name, COUNTER,
          bytes ? "Bytes of all datagrams, without the network's heads." : "All datagrams, by kind.");
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 2 * KL_HUB_KINDS; k++) {
            const struct kl_hub_count *c = &(k % 2 ? f[i].network.out : f[i].network.in)[k / 2];
            kl_buffer_add(to, "%s{shard=\"%u\",kind=\"%s\",direction=\"%s\"} %llu\n", name, i, kinds[k / 2],
                          k % 2 ? "out" : "in", (unsigned long long)(bytes ? c->bytes : c->datagrams));
        }
}

/* The names of events are the relay's own. */
static void tell_events(struct kl_buffer *to, const struct kl_figures_place *place, unsigned count) {
    begin(to, "keylock_events_total", COUNTER,
          "Lines of the log by their event: stall, desync, healed and others; those left out, too.");
    for (unsigned i = 0; i < count; i++)
        for (unsigned n = 0; n < KL_LOG_EVENTS; n++) {
            const struct kl_log_count *c = &place[i].event[n];
            const uint64_t lines = atomic_load(&((struct kl_log_count *)c)->lines);
            if (lines)
                kl_buffer_add(to, "keylock_events_total{shard=\"%u\",event=\"%.23s\"} %llu\n", i, c->event,
                              (unsigned long long)lines);
        }
}

void kl_figures_tell(struct kl_buffer *to, const struct kl_figures_place *place,
                     const struct kl_figures *figures, unsigned count, uint64_t now_us) {
    begin(to, "keylock_relay_info", GAUGE, "The relay's version and protocol.");
    kl_buffer_add(to, "keylock_relay_info{version=\"%s\",protocol=\"%d\"} 1\n", KL_VERSION,
                  KL_PROTOCOL_VERSION);
    begin(to, "keylock_shards", GAUGE, "Processes of the relay.");
    kl_buffer_add(to, "keylock_shards %u\n", count);
    begin(to, "keylock_serves", GAUGE, "1 if the process has had a turn within the last second.");
    for (unsigned i = 0; i < count; i++)
        kl_buffer_add(to, "keylock_serves{shard=\"%u\"} %d\n", i,
                      kl_figures_fresh(NULL, &figures[i], 1, now_us));
    for (size_t i = 0; i < ROWS; i++)
        tell_row(to, &rows[i], figures, count);
    tell_kinds(to, figures, count, false);
    tell_kinds(to, figures, count, true);
    tell_histograms(to, figures, count);
    tell_events(to, place, count);
}

bool kl_figures_fresh(struct kl_buffer *to, const struct kl_figures *figures, unsigned count,
                      uint64_t now_us) {
    bool all = true;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t at_us = figures[i].at_us;
        bool fresh = at_us && now_us < at_us + KL_FIGURES_FRESH_US;
        all &= fresh;
        if (!to || fresh) continue;
        if (!at_us) kl_buffer_add(to, "process %u does not listen yet\n", i);
        if (at_us)
            kl_buffer_add(to, "process %u has had no turn for %.1f s\n", i, (double)(now_us - at_us) / 1e6);
    }
    return all;
}

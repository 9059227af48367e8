#include "net/relay/loop/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/msg.h"
#include "net/platform/dir.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/session/seal.h"
#include "net/transport/link.h"
#include "net/relay/loop/hosted.h"
#include "net/relay/log/relay_log.h"

/* Connections beyond the seats of all rooms: for spectators without seats, for clients that are told that the
 * relay is full, and for watchers, which have a quarter of all (lobby.h). */
#define PEERS_SPARE    128
#define PEERS_WATCHERS 4 /* rooms full of them */

#define ROOMS_DEFAULT             256
#define JOURNAL_MIB_DEFAULT       256
#define JOURNAL_TOTAL_MIB_DEFAULT 4096
#define RECORD_MIB_DEFAULT        4096
#define RECORD_DAYS_DEFAULT       30
#define MIB                       UINT64_C(1048576)

#define PUBLISH_US       250000  /* between lists of rooms for the other processes */
#define LEFT_OUT_US      1000000 /* between reports of log lines left out */
#define FAREWELL_US      1000000 /* for clients to acknowledge the relay's end */
#define FAREWELL_LOOK_US 10000

enum { FD_HUB, FD_QUIT, FD_COPIED, FD_OPERATORS, FDS = FD_OPERATORS + KL_SERVER_OPERATORS };

struct server {
    struct kl_hub *hub;
    struct kl_lobby *lobby;
    struct kl_journal *journal; /* NULL: none is kept */
    char journal_folder[KL_SERVER_JOURNAL];
    struct kl_shards *shards;     /* NULL: this process is alone */
    const struct kl_fleet *fleet; /* NULL: this relay is */
    unsigned places;              /* of rooms, in each shard */
    uint64_t publish_us;
    unsigned published; /* rooms */
    char fingerprint[KL_FINGERPRINT_CHARS + 1];
    struct kl_server_operator *const *operators;
    struct kl_server_onlooker *onlooker;
    uint64_t look_us;     /* its next look */
    uint32_t readable;    /* of FDS, a bit each */
    bool quit;            /* by an operator */
    uint64_t left_out_us; /* next report of log lines left out */
};

/* --- defaults --- */

#define STANDARD(field, option, value, lowest, highest, standard, meaning) .field = (standard),
void kl_server_defaults(struct kl_server_config *out) {
    *out = (struct kl_server_config){.bind = "::",
                                     .port = KL_DEFAULT_PORT,
                                     .rooms = ROOMS_DEFAULT,
                                     .seats = KL_MAX_SEATS,
                                     .journal_mib = JOURNAL_MIB_DEFAULT,
                                     .journal_total_mib = JOURNAL_TOTAL_MIB_DEFAULT,
                                     .record_mib = RECORD_MIB_DEFAULT,
                                     .record_days = RECORD_DAYS_DEFAULT,
                                     .limits = {KL_HUB_LIMITS(STANDARD)},
                                     .lobby = kl_lobby_defaults};
}

int kl_server_state(char *out, size_t cap) {
    return kl_dir_known(KL_DIR_STATE, "keylock-relay", out, cap, NULL, 0);
}

/* --- times --- */

const uint32_t kl_server_upto_us[KL_SERVER_UPTO] = {50, 100, 250, 500, 1000, 2500, 10000, 50000};

void kl_server_time(struct kl_server_times *t, uint64_t us) {
    unsigned i = 0;
    while (i < KL_SERVER_UPTO && us > kl_server_upto_us[i])
        i++;
    t->count[i]++;
    t->sum_us += us;
}

/* --- from the network to the rooms --- */

static void on_opened(void *ctx, unsigned peer, const char *address) {
    kl_lobby_opened(((struct server *)ctx)->lobby, peer, address, kl_now_us());
}
static void on_lost(void *ctx, unsigned peer) {
    kl_lobby_lost(((struct server *)ctx)->lobby, peer, kl_now_us());
}
static void on_moved(void *ctx, unsigned peer, const char *address) {
    kl_log(KL_LOG_INFO, "moved", "session=%08x address=%s", kl_hub_session(((struct server *)ctx)->hub, peer),
           kl_log_address(address));
    kl_lobby_moved(((struct server *)ctx)->lobby, peer, address);
}
static void on_message(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    kl_lobby_message(((struct server *)ctx)->lobby, peer, bytes, len, kl_now_us());
}
static void on_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                        uint64_t arrived_us) {
    uint64_t now_us = kl_now_us();
    uint32_t waited_us = now_us > arrived_us ? (uint32_t)(now_us - arrived_us) : 0;
    struct kl_server_onlooker *onlooker = ((struct server *)ctx)->onlooker;
    if (onlooker) kl_server_time(&onlooker->waited, waited_us);
    kl_lobby_datagram(((struct server *)ctx)->lobby, peer, body, len, missing, waited_us, now_us);
}

static void on_voice(void *ctx, unsigned peer, const uint8_t *body, size_t len, uint64_t arrived_us) {
    uint64_t now_us = kl_now_us();
    uint32_t waited_us = now_us > arrived_us ? (uint32_t)(now_us - arrived_us) : 0;
    kl_lobby_voice(((struct server *)ctx)->lobby, peer, body, len, waited_us, now_us);
}

static void on_flooded(void *ctx, unsigned peer, const char *why) {
    kl_lobby_put_out_peer(((struct server *)ctx)->lobby, peer, why, kl_now_us());
}

static unsigned on_rooms(void *ctx) {
    const struct server *s = ctx;
    return s->shards ? kl_shards_rooms(s->shards) : kl_lobby_rooms(s->lobby);
}

static void describe(struct kl_room_line *out, const struct kl_lobby_listing *r) {
    *out = (struct kl_room_line){.players = r->players,
                                 .filled = r->filled,
                                 .open = r->open,
                                 .watchers = r->watchers,
                                 .waiting = r->waiting,
                                 .lead_max = r->lead_max,
                                 .playing = r->playing,
                                 .password = r->doors & KL_DOOR_PASSWORD,
                                 .locked = r->doors & KL_DOOR_LOCKED,
                                 .quick = r->doors & KL_DOOR_QUICK,
                                 .recorded = r->recorded,
                                 .economy = r->economy,
                                 .rtt_ms = r->rtt_ms};
    snprintf(out->name, sizeof out->name, "%s", r->name);
    snprintf(out->content, sizeof out->content, "%.*s", (int)sizeof out->content - 1, r->content);
    snprintf(out->core, sizeof out->core, "%.*s", (int)sizeof out->core - 1, r->core);
    memcpy(out->identity, r->identity, sizeof out->identity);
}

/* Of this process. */
static bool next_line(const struct server *s, unsigned *from, struct kl_room_line *out) {
    struct kl_lobby_listing r;
    if (kl_lobby_list(s->lobby, from, &r, 1) == 0) return false;
    describe(out, &r);
    return true;
}

/* Of another one. */
static bool line_at(const struct server *s, unsigned shard, unsigned place, struct kl_room_line *out) {
    struct kl_shard_line line = kl_shards_line(s->shards, shard, place);
    *out = line.line;
    return line.is == KL_SHARD_LISTED;
}

/* Places are counted through all processes, and then come those of the fleet. */
static bool on_next_line(void *ctx, unsigned *from, struct kl_room_line *out) {
    const struct server *s = ctx;
    const unsigned shards = s->shards ? s->shards->count : 1, own = s->shards ? s->shards->own : 0;
    while (*from < shards * s->places) {
        unsigned shard = *from / s->places, place = *from % s->places;
        bool found = shard == own ? next_line(s, &place, out) : line_at(s, shard, place, out);
        *from = shard == own ? shard * s->places + (found ? place : s->places) : *from + 1;
        if (found) return true;
    }
    for (unsigned room; s->fleet && (room = *from - shards * s->places) < KL_FLEET_ROOMS;) {
        ++*from;
        if (kl_fleet_line(s->fleet, room, out)) return true;
    }
    return false;
}

/* For the other processes. */
static void publish(struct server *s, uint64_t now_us) {
    struct kl_lobby_listing r;
    if (!s->shards || (now_us < s->publish_us && kl_lobby_rooms(s->lobby) == s->published)) return;
    s->publish_us = now_us + PUBLISH_US;
    s->published = kl_lobby_rooms(s->lobby);
    kl_lobby_shards_publish(s->lobby);
    for (unsigned place = 0; place < s->places; place++) {
        struct kl_shard_line line = {.is = KL_SHARD_NO_ROOM};
        if (kl_lobby_listing_at(s->lobby, place, &r)) {
            line.is = r.doors & KL_DOOR_UNLISTED ? KL_SHARD_UNLISTED : KL_SHARD_LISTED;
            describe(&line.line, &r);
            kl_lobby_shards_id(s->lobby, place, line.id);
        }
        kl_shards_list(s->shards, place, &line);
    }
}

/* --- from the rooms to the network --- */

static int net_send(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    return kl_hub_send(((struct server *)ctx)->hub, peer, bytes, len);
}
static int net_send_bulk(void *ctx, unsigned peer, const uint8_t *bytes, size_t len) {
    return kl_hub_send_bulk(((struct server *)ctx)->hub, peer, bytes, len);
}
static size_t net_bulk_room(void *ctx, unsigned peer) {
    return kl_hub_bulk_room(((struct server *)ctx)->hub, peer);
}
static const uint8_t *net_binding(void *ctx, unsigned peer) {
    return kl_hub_binding(((struct server *)ctx)->hub, peer);
}
static unsigned net_pending(void *ctx, unsigned peer) {
    return kl_hub_pending(((struct server *)ctx)->hub, peer);
}
static void net_datagram(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    kl_hub_send_datagram(((struct server *)ctx)->hub, peer, body, len);
}
static void net_voice(void *ctx, unsigned peer, const uint8_t *body, size_t len) {
    kl_hub_send_voice(((struct server *)ctx)->hub, peer, body, len);
}
static struct kl_traffic net_traffic(void *ctx, unsigned peer) {
    return kl_hub_traffic(((struct server *)ctx)->hub, peer);
}
static void net_settle(void *ctx, unsigned peer) {
    kl_hub_settle(((struct server *)ctx)->hub, peer);
}
static void net_ping(void *ctx, unsigned peer) {
    kl_hub_ping(((struct server *)ctx)->hub, peer);
}
static void net_hang_up(void *ctx, unsigned peer) {
    kl_hub_disconnect(((struct server *)ctx)->hub, peer);
}
static uint32_t net_session(void *ctx, unsigned peer) {
    return kl_hub_session(((struct server *)ctx)->hub, peer);
}

/* --- the loop --- */

/* Of a limit for all rooms. */
static unsigned share(unsigned all, const struct kl_server_config *o) {
    unsigned each = o->shards ? all / o->shards->count : all;
    return each > 0 ? each : 1;
}

static int open_hub(struct server *s, const struct kl_server_config *o, const struct kl_relay_key *key,
                    unsigned peers, char *err, size_t err_len) {
    struct kl_hub_config config = {.bind = o->bind,
                                   .port = o->port,
                                   .limits = o->limits,
                                   .key = key->exchange,
                                   .shards = o->shards,
                                   .socket = o->socket,
                                   .again = o->again};
    struct kl_hub_handler handler = {.ctx = s,
                                     .opened = on_opened,
                                     .lost = on_lost,
                                     .moved = on_moved,
                                     .flooded = on_flooded,
                                     .message = on_message,
                                     .datagram = on_datagram,
                                     .voice = on_voice,
                                     .rooms = on_rooms,
                                     .next_line = on_next_line};
    config.ciphers = kl_ciphers_here() | (o->insecure_lan ? KL_CIPHER_CLEAR : 0);
    config.limits.peers = peers;
    int result = kl_hub_open(&s->hub, &config, &handler, err, err_len);
    sodium_memzero(&config.key, sizeof config.key);
    return result;
}

static int open_lobby(struct server *s, const struct kl_server_config *o, const struct kl_relay_key *key,
                      unsigned peers, char *err, size_t err_len) {
    struct kl_lobby_limits limits = o->lobby;
    limits.peers = peers;
    limits.rooms = o->rooms;
    limits.seats = o->seats;
    limits.record_days = o->record[0] ? o->record_days : 0;
    limits.record_chat = o->record_chat;
    limits.no_delete = o->no_delete;
    limits.start_mib = share(o->lobby.start_mib, o);
    struct kl_lobby_net net = {.ctx = s,
                               .send = net_send,
                               .send_bulk = net_send_bulk,
                               .binding = net_binding,
                               .pending = net_pending,
                               .bulk_room = net_bulk_room,
                               .datagram = net_datagram,
                               .voice = net_voice,
                               .traffic = net_traffic,
                               .settle = net_settle,
                               .ping = net_ping,
                               .hang_up = net_hang_up,
                               .session = net_session};
    s->lobby = kl_lobby_create(&limits, &net);
    if (s->lobby) {
        kl_lobby_set_secret(s->lobby, key->exchange.secret);
        kl_lobby_set_signer(s->lobby, key);
        kl_lobby_set_shards(s->lobby, o->shards);
        kl_lobby_set_fleet(s->lobby, o->fleet);
        kl_lobby_set_journal(s->lobby, s->journal, kl_now_us());
        return 0;
    }
    snprintf(err, err_len, "no memory for %u rooms", o->rooms);
    return -1;
}

void kl_server_journal_folder(const struct kl_server_config *o, const char *state, uint16_t port,
                              char out[KL_SERVER_JOURNAL]) {
    if (o->journal[0])
        snprintf(out, KL_SERVER_JOURNAL, "%s", o->journal);
    else
        snprintf(out, KL_SERVER_JOURNAL, "%s/journal/%u", state, port);
}

/* Once the port is known. */
static int open_journal(struct server *s, const struct kl_server_config *o, const char *state, char *err,
                        size_t err_len) {
    const char *dir = s->journal_folder;
    kl_server_journal_folder(o, state, kl_hub_port(s->hub), s->journal_folder);
    if (strcmp(dir, "off") == 0 && o->record[0]) {
        snprintf(err, err_len, "--record keeps what the journal has, and --journal is off");
        return -1;
    }
    if (strcmp(dir, "off") == 0) return 0;
    const struct kl_journal_limits limits = {.room_bytes = o->journal_mib * MIB,
                                             .all_bytes = share(o->journal_total_mib, o) * MIB};
    if ((o->shards ? kl_journal_open_held : kl_journal_open)(&s->journal, dir, limits, err, err_len) != 0)
        return -1;
    const struct kl_kept_limits kept = {.all_bytes = o->record_mib * MIB, .days = o->record_days};
    return o->record[0] ? kl_journal_keep_in(s->journal, o->record, kept, err, err_len) : 0;
}

/* A relay at any free port leaves no empty folder behind. */
static void close_journal(struct server *s, const struct kl_server_config *o) {
    kl_journal_close(s->journal);
    if (s->journal && !o->shards && !o->journal[0]) kl_dir_remove_empty(s->journal_folder);
}

int kl_server_key_folder(const struct kl_server_config *o, char out[KL_RELAY_PATH], char *err,
                         size_t err_len) {
    snprintf(out, KL_RELAY_PATH, "%s", o->state);
    if (out[0] || kl_server_state(out, KL_RELAY_PATH) == 0) return 0;
    snprintf(err, err_len, "no folder for the relay's key: expected --state DIR or HOME");
    return -1;
}

static int open_server(struct server *s, const struct kl_server_config *o, char *err, size_t err_len) {
    struct kl_relay_key key;
    unsigned peers = o->rooms * o->seats + PEERS_SPARE + PEERS_WATCHERS * o->lobby.watchers;
    if (peers > KL_HUB_PEERS_MAX) peers = KL_HUB_PEERS_MAX;
    char state[KL_RELAY_PATH];
    s->shards = o->shards;
    s->fleet = o->fleet;
    s->places = o->rooms;
    if (kl_server_key_folder(o, state, err, err_len) != 0) return -1;
    if (kl_keys_open(state, &key, err, err_len) != 0) return -1;
    kl_fingerprint(key.exchange.pub, s->fingerprint);
    if (!key.signs)
        kl_log(KL_LOG_INFO, "key_signs_nothing",
               "reason=\"%s/relay.key is of an older Keylock; a new key would be another fingerprint\"",
               state);
    int result = open_hub(s, o, &key, peers, err, err_len);
    if (result == 0) result = open_journal(s, o, state, err, err_len);
    if (result == 0) result = open_lobby(s, o, &key, peers, err, err_len);
    sodium_memzero(&key, sizeof key);
    if (result != 0 && s->hub) {
        close_journal(s, o);
        kl_hub_close(s->hub);
    }
    return result;
}

static void tell_left_out(struct server *s) {
    uint64_t now_us = kl_now_us();
    if (now_us < s->left_out_us) return;
    s->left_out_us = now_us + LEFT_OUT_US;
    kl_log_left_out(false);
}

/* All that waits is taken in first, then each room that is concerned speaks once. */
static void serve(struct server *s) {
    kl_hub_service(s->hub);
    for (unsigned i = 0; i < KL_SERVER_OPERATORS && !s->quit; i++) {
        if (!(s->readable >> (FD_OPERATORS + i) & 1)) continue;
        struct kl_hub_stats network = kl_hub_stats(s->hub);
        s->quit = !s->operators[i]->read(s->operators[i], s->lobby, &network, kl_now_us());
    }
    tell_left_out(s);
    kl_lobby_run(s->lobby, kl_now_us());
    kl_hub_flush(s->hub);
    publish(s, kl_now_us());
}

static void say_farewell(struct server *s) {
    uint64_t until_us = kl_now_us() + FAREWELL_US;
    int fd = kl_hub_fd(s->hub);
    kl_lobby_shut_down(s->lobby, kl_now_us());
    kl_hub_flush(s->hub);
    do {
        kl_hub_service(s->hub);
        (void)kl_wait_for(&fd, 1, kl_now_us() + FAREWELL_LOOK_US);
    } while (kl_hub_lingering(s->hub) > 0 && kl_now_us() < until_us);
}

static void log_listening(const struct server *s, const struct kl_server_config *o) {
    char shard[32] = "";
    if (o->shards) snprintf(shard, sizeof shard, " shard=%u/%u", o->shards->own, o->shards->count);
    kl_log(KL_LOG_INFO, "listening",
           "address=%s port=%u rooms=%u max_seats=%u protocol=%d journal=%s record=%s fingerprint=%s%s%s",
           kl_hub_address(s->hub), kl_hub_port(s->hub), o->rooms, o->seats, KL_PROTOCOL_VERSION,
           s->journal ? "on" : "off", o->record[0] ? "on" : "off", s->fingerprint,
           o->insecure_lan ? " insecure_lan=1" : "", shard);
}

#define LLU(x) ((unsigned long long)(x))

static void log_stopped(const struct server *s) {
    struct kl_hub_stats t = kl_hub_stats(s->hub);
    struct kl_lobby_stats rooms = kl_lobby_stats(s->lobby);
    kl_log(KL_LOG_INFO, "stopped",
           "datagrams_in=%llu datagrams_out=%llu messages_in=%llu handshakes=%llu refused=%llu cookies=%llu "
           "moves=%llu "
           "malformed=%llu strange=%llu forged=%llu replayed=%llu limited=%llu slowed=%llu unfit=%llu "
           "flooded=%llu asked_bytes=%llu answered_bytes=%llu "
           "put_out=%llu wrong_passwords=%llu wrong_returns=%llu journal_bytes=%llu journal_failures=%llu "
           "journal_over=%llu",
           LLU(t.datagrams_in), LLU(t.datagrams_out), LLU(t.messages_in), LLU(t.handshakes), LLU(t.refused),
           LLU(t.cookies), LLU(t.moves), LLU(t.malformed), LLU(t.strange), LLU(t.forged), LLU(t.replayed),
           LLU(t.limited), LLU(t.slowed), LLU(t.unfit), LLU(t.flooded), LLU(t.asked_bytes),
           LLU(t.answered_bytes), LLU(rooms.put_out), LLU(rooms.wrong_passwords), LLU(rooms.wrong_returns),
           LLU(rooms.journal.bytes), LLU(rooms.journal.failures), LLU(rooms.journal.over));
}

static void look_on(struct server *s, uint64_t began_us) {
    struct kl_server_onlooker *o = s->onlooker;
    const uint64_t now_us = kl_now_us();
    kl_server_time(&o->turn, now_us - began_us);
    if (now_us < s->look_us) return;
    struct kl_hub_stats network = kl_hub_stats(s->hub);
    s->look_us = now_us + KL_SERVER_LOOK_US;
    o->look(o, s->lobby, &network, now_us);
}

static void loop(struct server *s, int quit) {
    do {
        const uint64_t began_us = s->onlooker ? kl_now_us() : 0;
        serve(s);
        if (s->onlooker) look_on(s, began_us);
        if (!s->quit) {
            int what[FDS] = {[FD_HUB] = kl_hub_fd(s->hub), [FD_QUIT] = quit};
            what[FD_COPIED] = s->fleet ? s->fleet->copied_wake[s->shards->own] : -1;
            for (unsigned i = 0; i < KL_SERVER_OPERATORS; i++)
                what[FD_OPERATORS + i] = s->operators[i] ? s->operators[i]->fd : -1;
            uint64_t until_us = kl_lobby_due_us(s->lobby), hub_us = kl_hub_due_us(s->hub);
            if (hub_us < until_us) until_us = hub_us;
            if (s->onlooker && s->look_us < until_us) until_us = s->look_us;
            s->readable = kl_wait_for(what, FDS, until_us);
            if (s->readable >> FD_COPIED & 1) kl_wake_clear(what[FD_COPIED]);
        }
    } while (!s->quit && !(s->readable >> FD_QUIT & 1));
}

int kl_server_run(const struct kl_server_config *config, int quit, char *err, size_t err_len) {
    struct server s = {.operators = config->operators, .onlooker = config->onlooker};
    if (open_server(&s, config, err, err_len) != 0) return -1;
    log_listening(&s, config);
    bool first = !config->shards || (config->shards->own == 0 && !config->again); /* says what all share */
    if (first && !kl_socket_has_ipv6())
        kl_log(KL_LOG_INFO, "no_ipv6",
               "text=\"this system has no IPv6: players reach this relay by IPv4 alone\"");
    if (first) kl_invitation_log(config->host, kl_hub_address(s.hub), kl_hub_port(s.hub), s.fingerprint);
    if (config->listening) config->listening(config->ctx, kl_hub_port(s.hub), s.fingerprint);
    loop(&s, quit);
    char name[KL_QUIT_NAME];
    bool kept = kl_wake_quit(quit, name) == KL_QUIT_SERVICE && s.journal;
    kl_log(KL_LOG_INFO, "stopping", "signal=%s rooms=%u clients=%u kept=%d", name, kl_lobby_rooms(s.lobby),
           kl_lobby_members(s.lobby), kept);
    if (kept)
        kl_hub_drop(s.hub); /* the next relay has the rooms, by the journal */
    else
        say_farewell(&s);
    log_stopped(&s);
    kl_lobby_destroy(s.lobby);
    close_journal(&s, config);
    kl_hub_close(s.hub);
    return 0;
}

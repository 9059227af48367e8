#include "net/relay/lobby/lobby.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"

#define WATCHERS_AT_ONCE 16 /* of all rooms, before the players have their turn again */

#define STANDARD(field, option, value, lowest, highest, standard, meaning) .field = (standard),
const struct kl_lobby_limits kl_lobby_defaults = {
    .peers = 4095, .rooms = 256, .seats = KL_MAX_SEATS, .watchers = 128, KL_LOBBY_LIMITS(STANDARD)};

static struct kl_lobby_limits complete(struct kl_lobby_limits l) {
#define COMPLETE(field, ...)                                                                                 \
    if (!l.field) l.field = kl_lobby_defaults.field;
    KL_LOBBY_LIMITS(COMPLETE)
    return l;
}

struct kl_lobby *kl_lobby_create(const struct kl_lobby_limits *limits, const struct kl_lobby_net *net) {
    if (sodium_init() < 0) return NULL;
    struct kl_lobby *l = calloc(1, sizeof *l + limits->peers * sizeof l->client[0]);
    if (!l) return NULL;
    l->room = calloc(limits->rooms, sizeof l->room[0]);
    l->laid_out = calloc(1, sizeof *l->laid_out);
    l->limits = complete(*limits);
    if (!l->room || !l->laid_out || !kl_lobby_dues_make(l)) {
        free(l->room);
        free(l->laid_out);
        free(l);
        return NULL;
    }
    l->net = *net;
    l->fleet_us = l->drain_us = UINT64_MAX;
    randombytes_buf(l->secret, sizeof l->secret);
    crypto_scalarmult_base(l->pub, l->secret);
    return l;
}

void kl_lobby_set_secret(struct kl_lobby *l, const uint8_t secret[32]) {
    memcpy(l->secret, secret, sizeof l->secret);
    crypto_scalarmult_base(l->pub, l->secret);
}

void kl_lobby_shards_publish(struct kl_lobby *l) {
    struct kl_shard *own = &l->shards->all[l->shards->own];
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i])
            atomic_store_explicit(&own->room[i].bytes, kl_lobby_room_bytes(l->room[i]), memory_order_relaxed);
}

void kl_lobby_set_shards(struct kl_lobby *l, struct kl_shards *shards) {
    l->shards = shards;
}

void kl_lobby_set_fleet(struct kl_lobby *l, struct kl_fleet *fleet) {
    l->fleet = fleet;
}

void kl_lobby_set_signer(struct kl_lobby *l, const struct kl_relay_key *key) {
    l->signer = *key;
}

void kl_lobby_set_journal(struct kl_lobby *l, struct kl_journal *journal, uint64_t now_us) {
    l->journal = journal;
    kl_journal_load(l, now_us);
}

void kl_lobby_destroy(struct kl_lobby *l) {
    for (unsigned i = 0; i < l->limits.peers; i++)
        kl_lobby_door_leave(l, &l->client[i]);
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i]) kl_lobby_free_room(l->room[i]);
    sodium_memzero(l->secret, sizeof l->secret);
    sodium_memzero(&l->signer, sizeof l->signer);
    kl_lobby_dues_free(l);
    free(l->room);
    free(l->laid_out);
    kl_lobby_past_end(l);
    free(l);
}

unsigned kl_lobby_rooms(const struct kl_lobby *l) {
    return l->rooms;
}
unsigned kl_lobby_members(const struct kl_lobby *l) {
    return l->members;
}

struct kl_lobby_stats kl_lobby_stats(const struct kl_lobby *l) {
    return (struct kl_lobby_stats){.put_out = l->put_out,
                                   .wrong_passwords = l->wrong_passwords,
                                   .wrong_returns = l->wrong_returns,
                                   .start_bytes = l->start_bytes,
                                   .history_bytes = l->history_bytes,
                                   .snapshot_bytes = l->snapshot_bytes,
                                   .voice = l->voice,
                                   .journal = kl_journal_stats(l->journal)};
}

/* --- connections --- */

void kl_lobby_opened(struct kl_lobby *l, unsigned peer, const char *address, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    kl_lobby_door_leave(l, c);
    *c = (struct kl_lobby_client){.state = KL_CLIENT_GREETING, .greet_by_us = now_us + KL_GREET_US};
    if (l->door_us > now_us + KL_CHORES_US) l->door_us = now_us + KL_CHORES_US;
    snprintf(c->address, sizeof c->address, "%s", address);
    kl_log(KL_LOG_DEBUG, "connected", "address=%s", kl_log_address(address));
}

/* Limits and bans follow a client's present address, not its first one. */
void kl_lobby_moved(struct kl_lobby *l, unsigned peer, const char *address) {
    struct kl_lobby_client *c = &l->client[peer];
    snprintf(c->address, sizeof c->address, "%s", address);
    if (c->state == KL_CLIENT_MEMBER) kl_lobby_note_address(c->room->member[c->member], address);
    if (c->state == KL_CLIENT_WATCHER) c->watcher->v.who = kl_lobby_person(c->watcher->v.seat_key, address);
}

void kl_lobby_lost(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    kl_lobby_cost_count(l, peer);
    if (c->state == KL_CLIENT_GREETING || c->state == KL_CLIENT_KNOCKING)
        kl_log(KL_LOG_DEBUG, "hung_up", "address=%s", kl_log_address(c->address));
    if (c->state == KL_CLIENT_MEMBER) kl_lobby_cut(c->room, c->member, now_us);
    if (c->state == KL_CLIENT_MEMBER || c->state == KL_CLIENT_WATCHER)
        kl_lobby_busy(c->room); /* it may be empty now */
    if (c->state == KL_CLIENT_WATCHER) kl_lobby_watch_lost(c->room, c->watcher, "link lost");
    kl_lobby_door_leave(l, c);
    c->state = KL_CLIENT_NONE;
}

/* --- arriving messages --- */

static void greeting(struct kl_lobby *l, unsigned peer, int result, const struct kl_msg *m, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (c->challenge && !*c->challenge->wanted.name && result == KL_OK && m->kind == KL_MSG_DATA) {
        kl_lobby_hand_in_data(l, peer, &m->data, now_us);
    } else if (result == KL_OK && m->kind == KL_MSG_BYE) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_CLOSED, "left");
    } else if (c->back || c->asks || c->wish || c->challenge) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_PROTOCOL,
                           "expected nothing before the answer to %s, got a message",
                           c->back ? "RETURN" : "your wish");
    } else if (result == KL_E_VERSION) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_VERSION, "this relay speaks protocol %d, you speak %u: %s",
                           KL_PROTOCOL_VERSION, m->hello.version,
                           kl_protocol_remedy(m->hello.version, KL_PROTOCOL_VERSION));
    } else if (result == KL_OK && (m->kind == KL_MSG_HELLO || m->kind == KL_MSG_RETURN) &&
               kl_lobby_fleet_asks(l, peer, m, now_us)) {
        return;
    } else if (result == KL_OK && m->kind == KL_MSG_HELLO) {
        kl_lobby_hello(l, peer, &m->hello, now_us);
    } else if (result == KL_OK && m->kind == KL_MSG_RETURN) {
        kl_lobby_return(l, peer, &m->back, now_us);
    } else if (result == KL_OK && m->kind == KL_MSG_DELETE) {
        kl_lobby_delete(l, peer, &m->wish, now_us);
    } else if (result == KL_OK && m->kind == KL_MSG_CHALLENGE) {
        kl_lobby_challenge(l, peer, &m->wanted, now_us);
    } else if (result == KL_OK && m->kind == KL_MSG_RUN) {
        kl_lobby_hand_in(l, peer, &m->run, now_us);
    } else {
        kl_lobby_turn_away(l, peer, KL_REFUSE_PROTOCOL, "expected a HELLO, got another message");
    }
}

static void knocking(struct kl_lobby *l, unsigned peer, int result, const struct kl_msg *m, uint64_t now_us) {
    if (result == KL_OK && m->kind == KL_MSG_PROVE)
        kl_lobby_door_prove(l, peer, &m->prove, now_us);
    else
        kl_lobby_turn_away(l, peer, KL_REFUSE_PROTOCOL, "expected a PROVE, got another message");
}

/* False: no client may say this, or not now. */
static bool member_says(struct kl_lobby_room *r, unsigned member, const struct kl_msg *m, uint64_t now_us) {
    switch (m->kind) {
    case KL_MSG_DATA: return kl_lobby_start_data(r, member, &m->data, now_us);
    case KL_MSG_READY: return kl_lobby_start_ready(r, member, &m->ready.facts, now_us);
    case KL_MSG_HASH: kl_lobby_play_hash(r, member, &m->hash, now_us); return true;
    case KL_MSG_BYE: kl_lobby_take_leave(r, member, now_us); return true;
    case KL_MSG_COMMAND: kl_lobby_play_command(r, member, &m->order, now_us); return true;
    case KL_MSG_STATE: kl_lobby_snapshot_said(r, member, &m->state); return true;
    case KL_MSG_HEALED:
        if (!kl_lobby_heal_loaded(r, member, &m->healed, now_us)) return true;
        kl_journal_loaded(r, member, &m->healed);
        kl_lobby_put_out_for(r, member, kl_visitor_loaded(r, &r->member[member]->v, &m->healed, now_us),
                             now_us);
        return true;
    case KL_MSG_SIGN: kl_journal_signed(r, member, &m->sign); return true;
    case KL_MSG_DIRECT: kl_lobby_direct_said(r, member); return true;
    case KL_MSG_FILE: kl_lobby_files_said(r, member, &m->file, now_us); return true;
    case KL_MSG_HEAR: kl_lobby_hear(r, &r->member[member]->v, &m->hear, now_us); return true;
    case KL_MSG_GIVE: return kl_lobby_snapshot_given(r, member, &m->snapshot, now_us);
    default: return false;
    }
}

static bool watcher_says(struct kl_lobby_client *c, const struct kl_msg *m, unsigned *wish, uint64_t now_us) {
    if (m->kind != KL_MSG_HEAR) return kl_lobby_watch_says(c->room, c->watcher, m, wish, now_us);
    kl_lobby_hear(c->room, &c->watcher->v, &m->hear, now_us);
    return true;
}

static void put_out_client(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *why,
                           uint64_t now_us) {
    const struct kl_lobby_client *c = &l->client[peer];
    if (c->state == KL_CLIENT_MEMBER)
        kl_lobby_put_out(c->room, c->member, code, why, now_us);
    else if (c->state == KL_CLIENT_WATCHER)
        kl_lobby_watch_put_out(c->room, c->watcher, code, why);
    else if (c->state != KL_CLIENT_NONE)
        kl_lobby_turn_away(l, peer, code, "%s", why);
}

/* Of a member or a watcher. */
static void message_in_room(struct kl_lobby *l, unsigned peer, int result, const struct kl_msg *m, size_t len,
                            uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    bool watches = c->state == KL_CLIENT_WATCHER;
    unsigned wish = KL_WATCH_NO_WISH;
    char text[KL_TEXT_MAX];
    kl_lobby_busy(c->room);
    bool good = result == KL_OK &&
                (watches ? watcher_says(c, m, &wish, now_us) : member_says(c->room, c->member, m, now_us));
    if (good && wish != KL_WATCH_NO_WISH) kl_lobby_watcher_seat(c->room, c->watcher, wish, now_us);
    if (good) return;
    snprintf(text, sizeof text, "protocol error: message kind %u of %zu bytes is %s", m->kind, len,
             result == KL_OK ? "not expected now" : "malformed");
    put_out_client(l, peer, KL_REFUSE_PROTOCOL, text, now_us);
}

void kl_lobby_message(struct kl_lobby *l, unsigned peer, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_msg m;
    if (c->state == KL_CLIENT_NONE) return;
    int result = kl_msg_decode(&m, bytes, len);
    switch (c->state) {
    case KL_CLIENT_GREETING: greeting(l, peer, result, &m, now_us); break;
    case KL_CLIENT_KNOCKING: knocking(l, peer, result, &m, now_us); break;
    default: message_in_room(l, peer, result, &m, len, now_us); break;
    }
}

void kl_lobby_datagram(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint32_t missing,
                       uint32_t waited_us, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (c->state == KL_CLIENT_WATCHER) kl_lobby_watch_datagram(c->room, c->watcher, body, len, now_us);
    if (c->state != KL_CLIENT_MEMBER) return;
    struct kl_lobby_room *r = c->room;
    struct kl_lobby_member *m = r->member[c->member];
    int result = kl_lock_receive(&r->lock, c->member, body, len, missing, waited_us, now_us);
    if (result == KL_E_SPACE && kl_lobby_memory_devices(r)) /* else it is as if lost */
        result = kl_lock_receive(&r->lock, c->member, body, len, missing, waited_us, now_us);
    if (result == KL_OK) {
        m->v.malformed = 0;
        kl_lobby_busy(r);
    } else if (result == KL_E_MALFORMED && now_us >= m->late.reseated_us + KL_RESEAT_US &&
               ++m->v.malformed == l->limits.malformed) {
        kl_lobby_put_out(r, c->member, KL_REFUSE_PROTOCOL, "protocol error: malformed input datagrams",
                         now_us);
    }
}

void kl_lobby_put_out_peer(struct kl_lobby *l, unsigned peer, const char *why, uint64_t now_us) {
    put_out_client(l, peer, KL_REFUSE_LIMIT, why, now_us);
}

/* --- due times --- */

static void run_chores(struct kl_lobby_room *r, uint64_t now_us) {
    r->due.chores_us = now_us + KL_CHORES_US;
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        enum kl_refuse code;
        const char *late = kl_visitor_is_late(r, &r->member[i]->v, &code, now_us);
        if (late) kl_lobby_put_out(r, i, code, late, now_us);
    }
    kl_lobby_seat_chores(r, now_us);
    if (r->phase == KL_ROOM_PLAYING) kl_lobby_play_chores(r, now_us);
    kl_lobby_watch_chores(r, now_us);
    kl_lobby_direct_chores(r);
    kl_lobby_voice_chores(r);
    kl_lobby_cost_chores(r, now_us);
    kl_lobby_fleet_tell(r, now_us);
}

static void run_room(struct kl_lobby_room *r, uint64_t now_us) {
    kl_lobby_fleet_stand(r, now_us);
    if (now_us >= r->due.chores_us) run_chores(r, now_us);
    kl_lobby_join_measured(r, now_us);
    kl_lobby_start_run(r, now_us);
    kl_lobby_play_run(r, now_us);
    if (r->phase == KL_ROOM_PLAYING && !r->due.hold_us) kl_lobby_past_run(r, now_us);
    if (r->phase == KL_ROOM_PLAYING) kl_lobby_snapshot_run(r, now_us);
    if (r->phase == KL_ROOM_PLAYING) kl_lobby_files_run(r, now_us);
    if (r->talk.roster_changed || r->talk.roster_owed) kl_lobby_send_roster(r);
}

static void set_due(struct kl_lobby_room *r, uint64_t now_us) {
    uint64_t verdict_us = kl_verdict_due_us(&r->heal.verdicts);
    const uint64_t hold_us = r->due.hold_us;
    uint64_t due_us = r->due.chores_us,
             at_us[] = {hold_us ? hold_us : kl_lock_send_at(&r->lock), kl_lock_tick_at(&r->lock),
                        hold_us ? hold_us : r->watch.due_us,
                        verdict_us > now_us ? verdict_us : UINT64_MAX /* it is held back */};
    for (unsigned i = 0; i < sizeof at_us / sizeof at_us[0]; i++)
        if (at_us[i] < due_us) due_us = at_us[i];
    kl_lobby_due_at(r, due_us);
}

/* Watchers come last: the players of all rooms come first, and again after a few watchers. */
static void run_watchers(struct kl_lobby *l, unsigned rooms, uint64_t now_us) {
    unsigned left = WATCHERS_AT_ONCE, first = l->watch_turn++;
    for (unsigned i = 0; i < rooms; i++) {
        struct kl_lobby_room *r = l->dues.run[(first + i) % rooms];
        if (!r) continue;
        r->due.runs = false;
        if (!r->due.hold_us) kl_lobby_watch_run(r, &left, now_us);
        set_due(r, now_us);
    }
}

static void put_out_the_silent(struct kl_lobby *l, uint64_t now_us) {
    bool waits = false;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_client *c = &l->client[i];
        bool late = !c->asks && now_us >= c->greet_by_us; /* the fleet is asked */
        waits = waits || c->state == KL_CLIENT_GREETING || c->state == KL_CLIENT_KNOCKING;
        if (late && c->state == KL_CLIENT_GREETING)
            kl_lobby_turn_away(l, i, KL_REFUSE_PROTOCOL,
                               c->challenge ? "your run did not come in time" : "no HELLO within 5 s");
        else if (late && c->state == KL_CLIENT_KNOCKING)
            kl_lobby_turn_away(l, i, KL_REFUSE_PROTOCOL, "no PROVE within 15 s");
    }
    l->door_us = waits ? now_us + KL_CHORES_US : UINT64_MAX;
}

void kl_lobby_run(struct kl_lobby *l, uint64_t now_us) {
    if (now_us >= l->door_us) put_out_the_silent(l, now_us);
    if (l->returns_wait) kl_lobby_return_next(l, now_us);
    if (now_us >= l->fleet_us) kl_lobby_fleet_turn(l, now_us);
    if (l->fleet) kl_lobby_fleet_lose(l, now_us);
    if (now_us >= l->drain_us) kl_lobby_fleet_drain_turn(l, now_us);
    kl_lobby_fleet_release(l, now_us);
    if (l->wishes_wait || l->tokens_wait) kl_lobby_wishes_turn(l, now_us);
    const unsigned rooms = kl_lobby_dues_next(l, now_us);
    for (unsigned i = 0; i < rooms; i++)
        if (l->dues.run[i]) run_room(l->dues.run[i], now_us);
    struct kl_lobby_room *r;
    while ((r = kl_lobby_snapshot_unpack(l, now_us))) /* the next giver is asked */
        kl_lobby_put_out(r, r->snapshot.giver, KL_REFUSE_PROTOCOL,
                         "protocol error: your snapshot does not match the hash that you gave", now_us);
    run_watchers(l, rooms, now_us);
    if (l->ends_wait)
        kl_lobby_end_empty_rooms(l, l->room, l->limits.rooms, now_us);
    else
        kl_lobby_end_empty_rooms(l, l->dues.run, rooms, now_us);
}

uint64_t kl_lobby_due_us(const struct kl_lobby *l) {
    uint64_t due_us = kl_lobby_snapshot_due_us(l);
    if (l->door_us < due_us) due_us = l->door_us;
    if (l->fleet_us < due_us) due_us = l->fleet_us;
    if (l->drain_us < due_us) due_us = l->drain_us;
    if ((l->wishes_wait || l->tokens_wait) && l->wishes_us < due_us) due_us = l->wishes_us;
    if (l->returns_wait || l->ends_wait) due_us = 0;
    if (kl_lobby_dues_us(l) < due_us) due_us = kl_lobby_dues_us(l);
    return due_us;
}

void kl_lobby_shut_down(struct kl_lobby *l, uint64_t now_us) {
    static const char text[] = "the relay is shutting down";
    for (unsigned i = 0; i < l->limits.peers; i++)
        put_out_client(l, i, KL_REFUSE_CLOSED, text, now_us);
    for (unsigned i = 0; i < l->limits.rooms; i++) /* without waiting for members that are away */
        for (unsigned k = 0; l->room[i] && k < KL_MAX_CLIENTS; k++)
            if (kl_lobby_here(l->room[i]->member[k])) kl_lobby_forget(l->room[i], k, "is away", now_us);
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i]) kl_lobby_end_room(l->room[i], text, now_us);
}

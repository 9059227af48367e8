#include "lobby.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lobby_room.h"

struct kl_lobby *kl_lobby_create(const struct kl_lobby_limits *limits, const struct kl_lobby_net *net) {
    struct kl_lobby *l = calloc(1, sizeof *l + limits->peers * sizeof l->client[0]);
    if (!l) return NULL;
    l->room = calloc(limits->rooms, sizeof l->room[0]);
    if (!l->room) {
        free(l);
        return NULL;
    }
    l->limits = *limits;
    l->net = *net;
    return l;
}

static void free_room(struct kl_lobby_room *r) {
    kl_lobby_start_free(r);
    free(r);
}

void kl_lobby_destroy(struct kl_lobby *l) {
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i]) free_room(l->room[i]);
    free(l->room);
    free(l);
}

unsigned kl_lobby_rooms(const struct kl_lobby *l) {
    return l->rooms;
}
unsigned kl_lobby_members(const struct kl_lobby *l) {
    return l->members;
}

unsigned kl_lobby_count(uint8_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

uint8_t kl_lobby_seats_filled(const struct kl_lobby_room *r) {
    uint8_t filled = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->member[i].here) filled |= r->member[i].seats;
    return filled;
}

static bool is_empty(const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->member[i].here) return false;
    return true;
}

/* --- leaving ---------------------------------------------------------------------------------------------
 */

static void choose_host(struct kl_lobby_room *r) {
    r->host = KL_NO_HOST;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && r->host == KL_NO_HOST; i++)
        if (r->member[i].here && !r->member[i].leaving) r->host = i;
    if (r->host == KL_NO_HOST) return;
    kl_lobby_log_member(KL_LOG_INFO, "host", r, r->host, "phase=%d", r->phase);
}

static void unlink_client(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_client *c = &r->lobby->client[r->member[member].peer];
    if (c->state == KL_CLIENT_MEMBER && c->room == r && c->member == member) c->state = KL_CLIENT_NONE;
}

void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_lobby_log_member(KL_LOG_INFO, "left", r, member, "frame=%u reason=\"%s\"", r->lock.next_close, why);
    unlink_client(r, member);
    kl_room_remove(&r->lock, member, now_us);
    m->here = false;
    r->lobby->members--;
    r->roster_changed = r->busy = true;
    if (!m->leaving) kl_lobby_notice(r, "%s %s", m->name, why);
    bool was_host = r->host == member;
    if (was_host) choose_host(r);
    kl_lobby_start_left(r, was_host);
    if (is_empty(r)) kl_lobby_log_room(KL_LOG_INFO, "room_ended", r, "frames=%u", r->lock.next_close);
}

void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    char quoted[2 * KL_TEXT_MAX];
    kl_lobby_log_member(KL_LOG_INFO, "put_out", r, member, "code=%d reason=%s", code,
                        kl_log_quote(quoted, sizeof quoted, text));
    if (!m->leaving) {
        kl_lobby_refuse(r->lobby, m->peer, code, text);
        r->lobby->net.hang_up(r->lobby->net.ctx, m->peer);
    }
    kl_lobby_forget(r, member, "was put out", now_us);
}

/* BYE. In the game the member stays until its last samples are used up, so that they count. */
static void take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (r->phase != KL_ROOM_PLAYING) {
        r->lobby->net.hang_up(r->lobby->net.ctx, m->peer);
        kl_lobby_forget(r, member, "left", now_us);
        return;
    }
    kl_lobby_log_member(KL_LOG_INFO, "bye", r, member, "frame=%u", r->lock.next_close);
    unlink_client(r, member);
    r->lobby->net.hang_up(r->lobby->net.ctx, m->peer);
    m->leaving = true;
    m->leaving_us = now_us;
    r->roster_changed = r->busy = true;
    kl_lobby_notice(r, "%s left", m->name);
    if (r->host == member) choose_host(r);
}

void kl_lobby_lost(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (c->state == KL_CLIENT_GREETING) kl_log(KL_LOG_DEBUG, "hung_up", "address=%s", c->address);
    if (c->state == KL_CLIENT_MEMBER) kl_lobby_forget(c->room, c->member, "lost the connection", now_us);
    c->state = KL_CLIENT_NONE;
}

/* --- joining ---------------------------------------------------------------------------------------------
 */

void kl_lobby_opened(struct kl_lobby *l, unsigned peer, const char *address, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    *c = (struct kl_lobby_client){.state = KL_CLIENT_GREETING, .greet_by_us = now_us + KL_GREET_US};
    snprintf(c->address, sizeof c->address, "%s", address);
    kl_log(KL_LOG_DEBUG, "connected", "address=%s", address);
}

/* Turns away a connection that is in no room. */
static void turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text) {
    struct kl_lobby_client *c = &l->client[peer];
    char quoted[2 * KL_TEXT_MAX];
    kl_log(KL_LOG_INFO, "refused", "address=%s code=%d reason=%s", c->address, code,
           kl_log_quote(quoted, sizeof quoted, text));
    kl_lobby_refuse(l, peer, code, text);
    l->net.hang_up(l->net.ctx, peer);
    c->state = KL_CLIENT_NONE;
}

static void free_empty_rooms(struct kl_lobby *l) {
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        if (!l->room[i] || !is_empty(l->room[i])) continue;
        free_room(l->room[i]);
        l->room[i] = NULL;
        l->rooms--;
    }
}

static struct kl_lobby_room *find_room(struct kl_lobby *l, const char *name) {
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && strcmp(l->room[i]->name, name) == 0) return l->room[i];
    return NULL;
}

static struct kl_lobby_room *make_room(struct kl_lobby *l, const struct kl_hello *h, uint64_t now_us) {
    unsigned i = 0;
    while (i < l->limits.rooms && l->room[i])
        i++;
    struct kl_lobby_room *r = i < l->limits.rooms ? calloc(1, sizeof *r) : NULL;
    if (!r) return NULL;
    r->lobby = l;
    memcpy(r->name, h->room, sizeof r->name);
    r->params = h->params;
    if (r->params.policy == KL_POLICY_OPTIMISTIC && !(r->params.clocked && r->params.subframes))
        r->params.policy = KL_POLICY_BOUNDED; /* without a clock or samples of every frame it means nothing */
    r->facts = h->facts;
    r->host = KL_NO_HOST;
    r->chores_us = r->status_us = now_us;
    kl_room_init(&r->lock, &r->params);
    kl_verdict_init(&r->verdicts);
    l->room[i] = r;
    l->rooms++;
    const struct kl_params *p = &r->params;
    kl_lobby_log_room(
        KL_LOG_INFO, "room_made", r,
        "policy=%s budget_ms=%u players=%u subframes=%s clock=%s spacing=%u fps_uhz=%u hash_every=%u",
        kl_lobby_policy_name(p->policy), p->wait_budget_ms, p->players, p->subframes ? "on" : "off",
        p->clocked ? "on" : "off", p->spacing_fixed, p->fps_uhz, p->hash_every);
    return r;
}

/* The lowest free seats, `wanted` many; 0 where there are not as many. */
static uint8_t free_seats(const struct kl_lobby_room *r, unsigned wanted) {
    uint8_t taken = kl_lobby_seats_filled(r), mine = 0;
    for (unsigned s = 0; s < r->lobby->limits.seats && kl_lobby_count(mine) < wanted; s++)
        if (!(taken >> s & 1)) mine |= (uint8_t)(1U << s);
    return kl_lobby_count(mine) == wanted ? mine : 0;
}

static unsigned free_member(const struct kl_lobby_room *r) {
    unsigned i = 0;
    while (i < KL_MAX_CLIENTS && r->member[i].here)
        i++;
    return i;
}

/* Why this HELLO cannot join this room; 0 where it can. */
static int objection(const struct kl_lobby_room *r, const struct kl_hello *h, char *text, size_t cap) {
    if (r->phase == KL_ROOM_PLAYING) {
        snprintf(text, cap, "room %s is already playing; late joining is not possible yet", r->name);
        return KL_REFUSE_STARTED;
    }
    char why[KL_TEXT_MAX];
    if (kl_facts_differ(&r->facts, &h->facts, why, sizeof why) > 0) {
        snprintf(text, cap, "%s", why);
        return KL_REFUSE_IDENTITY;
    }
    unsigned filled = kl_lobby_count(kl_lobby_seats_filled(r));
    bool fits = h->seats_wanted == 0 || (filled < r->params.players && free_seats(r, h->seats_wanted));
    if (!fits) {
        unsigned most = r->lobby->limits.seats, open = filled < r->params.players ? most - filled : 0;
        snprintf(
            text, cap,
            "room %s is full: it has %u of %u players, %u of this relay's %u seats are open, you want %u",
            r->name, filled, r->params.players, open, most, h->seats_wanted);
        return KL_REFUSE_FULL;
    }
    if (free_member(r) < KL_MAX_CLIENTS) return 0;
    snprintf(text, cap, "room %s has its %d clients", r->name, KL_MAX_CLIENTS);
    return KL_REFUSE_FULL;
}

/* Why no room can be made for this HELLO; 0 where one can. */
static int objection_new(const struct kl_lobby *l, const struct kl_hello *h, char *text, size_t cap) {
    unsigned most = h->seats_wanted > h->params.players ? h->seats_wanted : h->params.players;
    if (most > l->limits.seats) {
        snprintf(text, cap, "room %s wants %u seats, this relay's rooms have %u", h->room, most,
                 l->limits.seats);
        return KL_REFUSE_LIMIT;
    }
    if (l->rooms < l->limits.rooms) return 0;
    snprintf(text, cap, "this relay has its %u rooms; none is free for room %s", l->limits.rooms, h->room);
    return KL_REFUSE_LIMIT;
}

static void join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h, uint64_t now_us) {
    unsigned i = free_member(r);
    struct kl_lobby_client *c = &r->lobby->client[peer];
    struct kl_lobby_member *m = &r->member[i];
    *m = (struct kl_lobby_member){.here = true, .peer = peer, .seats = free_seats(r, h->seats_wanted)};
    memcpy(m->name, h->name, sizeof m->name);
    c->state = KL_CLIENT_MEMBER;
    c->room = r;
    c->member = i;
    r->lobby->members++;
    if (r->host == KL_NO_HOST) r->host = i;
    kl_room_add(&r->lock, i, m->seats, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "joined", r, i, "address=%s host=%d filled=%u players=%u", c->address,
                        r->host == i, kl_lobby_count(kl_lobby_seats_filled(r)), r->params.players);
    kl_lobby_send_welcome(r, i);
    kl_lobby_notice(r, m->seats ? "%s joined" : "%s is watching", m->name);
    r->roster_changed = r->busy = true;
    kl_lobby_start_joined(r, i, now_us);
}

static void on_hello(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    free_empty_rooms(l);
    struct kl_lobby_room *r = find_room(l, h->room);
    int code = r ? objection(r, h, text, sizeof text) : objection_new(l, h, text, sizeof text);
    if (code == 0 && !r) r = make_room(l, h, now_us);
    if (code == 0 && !r) {
        snprintf(text, sizeof text, "this relay has no memory for another room");
        code = KL_REFUSE_LIMIT;
    }
    if (code)
        turn_away(l, peer, (enum kl_refuse)code, text);
    else
        join(r, peer, h, now_us);
}

/* --- what comes in ---------------------------------------------------------------------------------------
 */

static void greeting(struct kl_lobby *l, unsigned peer, int result, const struct kl_msg *m, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    if (result == KL_E_VERSION) {
        snprintf(text, sizeof text, "this relay speaks protocol %d, you speak %u", KL_PROTOCOL_VERSION,
                 m->hello.version);
        turn_away(l, peer, KL_REFUSE_VERSION, text);
    } else if (result != KL_OK || m->kind != KL_MSG_HELLO) {
        turn_away(l, peer, KL_REFUSE_PROTOCOL, "a HELLO was expected, something else came");
    } else {
        on_hello(l, peer, &m->hello, now_us);
    }
}

/* False: no client may say this, or not now. */
static bool member_says(struct kl_lobby_room *r, unsigned member, const struct kl_msg *m, uint64_t now_us) {
    switch (m->kind) {
    case KL_MSG_DATA: return kl_lobby_start_data(r, member, &m->data, now_us);
    case KL_MSG_READY: return kl_lobby_start_ready(r, member, &m->ready.facts, now_us);
    case KL_MSG_HASH: kl_lobby_play_hash(r, member, &m->hash, now_us); return true;
    case KL_MSG_BYE: take_leave(r, member, now_us); return true;
    case KL_MSG_COMMAND: kl_lobby_play_command(r, member, &m->order, now_us); return true;
    default: return false;
    }
}

void kl_lobby_message(struct kl_lobby *l, unsigned peer, const uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_msg m;
    if (c->state == KL_CLIENT_NONE) return;
    int result = kl_msg_decode(&m, bytes, len);
    if (c->state == KL_CLIENT_GREETING) {
        greeting(l, peer, result, &m, now_us);
        return;
    }
    c->room->busy = true;
    if (result == KL_OK && member_says(c->room, c->member, &m, now_us)) return;
    char text[KL_TEXT_MAX];
    snprintf(text, sizeof text, "protocol error: message kind %u of %zu bytes is %s", m.kind, len,
             result == KL_OK ? "not expected now" : "malformed");
    kl_lobby_put_out(c->room, c->member, KL_REFUSE_PROTOCOL, text, now_us);
}

void kl_lobby_datagram(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (c->state != KL_CLIENT_MEMBER) return;
    struct kl_lobby_room *r = c->room;
    struct kl_lobby_member *m = &r->member[c->member];
    int result = kl_room_receive(&r->lock, c->member, body, len, now_us);
    if (result == KL_OK) {
        m->malformed = 0;
        r->busy = true;
    } else if (result == KL_E_MALFORMED && ++m->malformed == KL_MALFORMED_MAX) {
        kl_lobby_put_out(r, c->member, KL_REFUSE_PROTOCOL, "protocol error: malformed input datagrams",
                         now_us);
    }
}

/* --- what is due -----------------------------------------------------------------------------------------
 */

static void run_chores(struct kl_lobby_room *r, uint64_t now_us) {
    r->chores_us = now_us + KL_CHORES_US;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (!m->here || m->deadline_us == 0 || now_us < m->deadline_us) continue;
        const char *text = m->state == KL_MEMBER_LOADING ? "loading the game took more than 60 s"
                                                         : "the room's start data did not come within 60 s";
        kl_lobby_put_out(r, i, KL_REFUSE_CLOSED, text, now_us);
    }
    if (r->phase == KL_ROOM_PLAYING) kl_lobby_play_chores(r, now_us);
}

static void run_room(struct kl_lobby_room *r, uint64_t now_us) {
    r->busy = false;
    if (now_us >= r->chores_us) run_chores(r, now_us);
    if (r->phase != KL_ROOM_PLAYING) kl_lobby_start_run(r, now_us);
    kl_lobby_play_run(r, now_us);
    if (r->roster_changed) kl_lobby_send_roster(r);
    uint64_t lock_us = kl_room_send_at(&r->lock), tick_us = kl_room_tick_at(&r->lock),
             verdict_us = kl_verdict_due_us(&r->verdicts);
    r->due_us = r->chores_us;
    if (lock_us < r->due_us) r->due_us = lock_us;
    if (tick_us < r->due_us) r->due_us = tick_us;
    if (verdict_us < r->due_us) r->due_us = verdict_us;
}

static void put_out_the_silent(struct kl_lobby *l, uint64_t now_us) {
    l->chores_us = now_us + KL_CHORES_US;
    for (unsigned i = 0; i < l->limits.peers; i++)
        if (l->client[i].state == KL_CLIENT_GREETING && now_us >= l->client[i].greet_by_us)
            turn_away(l, i, KL_REFUSE_PROTOCOL, "no HELLO within 5 s");
}

void kl_lobby_run(struct kl_lobby *l, uint64_t now_us) {
    bool empty = false;
    if (now_us >= l->chores_us) put_out_the_silent(l, now_us);
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        struct kl_lobby_room *r = l->room[i];
        if (!r) continue;
        if (r->busy || now_us >= r->due_us || r->phase == KL_ROOM_LOADING) run_room(r, now_us);
        empty |= is_empty(r);
    }
    if (empty) free_empty_rooms(l);
}

uint64_t kl_lobby_due_us(const struct kl_lobby *l) {
    uint64_t due_us = l->chores_us;
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && l->room[i]->due_us < due_us) due_us = l->room[i]->due_us;
    return due_us;
}

void kl_lobby_shut_down(struct kl_lobby *l, uint64_t now_us) {
    for (unsigned i = 0; i < l->limits.peers; i++) {
        struct kl_lobby_client *c = &l->client[i];
        if (c->state == KL_CLIENT_GREETING) turn_away(l, i, KL_REFUSE_CLOSED, "the relay is shutting down");
        if (c->state == KL_CLIENT_MEMBER)
            kl_lobby_put_out(c->room, c->member, KL_REFUSE_CLOSED, "the relay is shutting down", now_us);
    }
    free_empty_rooms(l);
}

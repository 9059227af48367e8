#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/session/digest.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/session/command_words.h"

#define NOTICES_FOR     4 /* watchers come by name; of more there is the number */
#define REFUSED_PER_MIN 6 /* told to a room: strangers must not fill its screens */

/* --- rooms --- */

static uint16_t seat_time_s(const struct kl_lobby_limits *limits, uint16_t wish_s) {
    unsigned s = wish_s ? wish_s : limits->seat_time_s;
    if (s > limits->seat_time_max_s) s = limits->seat_time_max_s;
    return s > UINT16_MAX ? UINT16_MAX : (uint16_t)s;
}

static void describe(struct kl_lobby_room *r, const struct kl_hello *h, const char *address) {
    memcpy(r->name, h->room, sizeof r->name);
    memcpy(r->door.match, h->match, sizeof r->door.match);
    kl_lobby_draw_id(r);
    memcpy(r->maker, kl_address_host(address).text, sizeof r->maker);
    r->door.flags = h->door & (KL_DOOR_UNLISTED | KL_DOOR_LET_GO | KL_DOOR_ONCE | KL_DOOR_QUICK);
    r->door.recorded = r->lobby->limits.record_days > 0;
    r->seat_time_s = seat_time_s(&r->lobby->limits, h->seat_time_s);
    r->params = h->params;
    if (r->params.policy == KL_POLICY_OPTIMISTIC && !(r->params.clocked && r->params.subframes))
        r->params.policy = KL_POLICY_BOUNDED; /* without a clock or samples of every frame it means nothing */
    r->params.economy = r->params.economy && r->params.clocked && r->params.subframes;
    r->params.half_steps = r->params.half_steps && !r->params.economy;
    kl_identity(&h->facts, r->identity);
}

static void log_made(const struct kl_lobby_room *r) {
    const struct kl_params *p = &r->params;
    kl_lobby_log_room(
        KL_LOG_INFO, "room_made", r,
        "policy=%s budget_ms=%u players=%u subframes=%s clock=%s spacing=%u lead_max=%u fps_uhz=%u "
        "hash_every=%u listed=%s password=%s slow=%s seat_time_s=%u%s",
        kl_policy_name(p->policy), p->wait_budget_ms, p->players, p->subframes ? "on" : "off",
        p->clocked ? "on" : "off", p->spacing_fixed, p->lead_max, p->fps_uhz, p->hash_every,
        r->door.flags & KL_DOOR_UNLISTED ? "no" : "yes", r->door.flags & KL_DOOR_PASSWORD ? "yes" : "no",
        r->door.flags & KL_DOOR_LET_GO ? "out" : "watch", r->seat_time_s, p->economy ? " economy=on" : "");
}

static struct kl_lobby_room *make_room(struct kl_lobby *l, const struct kl_hello *h, const char *address,
                                       const uint8_t *salt, const uint8_t *secret, uint64_t now_us) {
    unsigned place = kl_lobby_place(l);
    struct kl_lobby_room *r = place < l->limits.rooms ? calloc(1, sizeof *r) : NULL;
    if (!r) return NULL;
    r->lobby = l;
    describe(r, h, address);
    if (!kl_lobby_memory_begin(r, &h->facts)) {
        kl_lobby_memory_free(r);
        free(r);
        return NULL;
    }
    if (secret) {
        r->door.flags |= KL_DOOR_PASSWORD;
        memcpy(r->door.salt, salt, sizeof r->door.salt);
        memcpy(r->door.secret, secret, sizeof r->door.secret);
    }
    r->host = KL_NO_HOST;
    r->due.chores_us = r->report.told.status_us = now_us;
    r->report.told.farthest = r->report.told.farthest_was = KL_MAX_CLIENTS;
    kl_lobby_add_room(r, place);
    log_made(r);
    return r;
}

/* --- joining --- */

/* The lowest free seats, `wanted` many; 0 if there are not as many, or the game is full. */
uint8_t kl_lobby_free_seats(const struct kl_lobby_room *r, unsigned wanted) {
    uint8_t taken = kl_lobby_seats_filled(r), mine = 0;
    unsigned filled = kl_size(taken);
    if (filled >= r->params.players) return 0;
    if (r->phase == KL_ROOM_PLAYING && filled + wanted > r->params.players) return 0;
    for (unsigned s = 0; s < r->lobby->limits.seats && kl_size(mine) < wanted; s++)
        if (!(taken >> s & 1)) mine |= (uint8_t)(1U << s);
    return kl_size(mine) == wanted ? mine : 0;
}

unsigned kl_lobby_member_free(const struct kl_lobby_room *r) {
    unsigned i = 0;
    while (i < KL_MAX_CLIENTS && kl_lobby_here(r->member[i]))
        i++;
    return i;
}

static bool comes_to_watch(const struct kl_lobby_room *r, const struct kl_hello *h) {
    if (!r->places.joins) return false; /* the room's maker is its client */
    if (h->seats_wanted == 0 || h->door & KL_DOOR_AGAIN) return true;
    return r->phase == KL_ROOM_PLAYING && !kl_lobby_open_seats(r, h->seats_wanted);
}

/* False: there is no place for another watcher; text says so. */
static bool takes_watchers(const struct kl_lobby_room *r, char *text, size_t cap) {
    const struct kl_lobby *l = r->lobby;
    if (l->limits.watchers == 0)
        snprintf(text, cap, "room %s is full, and this relay takes no watchers", r->name);
    else if (r->watch.count >= l->limits.watchers)
        snprintf(text, cap, "room %s is full: it has %u watchers", r->name, l->limits.watchers);
    else if (l->watchers >= l->limits.peers / 4)
        snprintf(text, cap, "this relay is full: it has %u watchers", l->limits.peers / 4);
    else
        return true;
    return false;
}

static int objection_seats(const struct kl_lobby_room *r, const struct kl_hello *h, char *text, size_t cap) {
    if (comes_to_watch(r, h)) return takes_watchers(r, text, cap) ? 0 : KL_REFUSE_FULL;
    unsigned filled = kl_size(kl_lobby_seats_filled(r));
    bool fits = h->seats_wanted == 0 || kl_lobby_free_seats(r, h->seats_wanted);
    if (!fits) {
        unsigned most = r->lobby->limits.seats, open = filled < r->params.players ? most - filled : 0;
        snprintf(
            text, cap,
            "room %s is full: it has %u of %u players, %u of this relay's %u seats are open, you want %u",
            r->name, filled, r->params.players, open, most, h->seats_wanted);
        return KL_REFUSE_FULL;
    }
    if (kl_lobby_member_free(r) < KL_MAX_CLIENTS) return 0;
    snprintf(text, cap, "room %s is full: it has %d clients", r->name, KL_MAX_CLIENTS);
    return KL_REFUSE_FULL;
}

/* A player who wants to play here, or in another room. */
static bool is_no_match(const struct kl_lobby_room *r, const struct kl_hello *h, char *text, size_t cap) {
    if (h->door & KL_DOOR_QUICK && !(r->door.flags & KL_DOOR_QUICK))
        snprintf(text, cap, "room %s was not opened for a quick match", r->name);
    else if (h->door & KL_DOOR_SEAT && !kl_lobby_open_seats(r, h->seats_wanted))
        snprintf(text, cap, "room %s is full: its %u seats are taken", r->name, r->params.players);
    else
        return false;
    return true;
}

static int objection(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address, char *text,
                     size_t cap, uint64_t now_us) {
    if (kl_lobby_door_shut(r, h, address, text, cap, now_us)) return KL_REFUSE_DOOR;
    if (r->phase == KL_ROOM_REOPENING) {
        snprintf(text, cap, "the relay was restarted and is restoring room %s; try again", r->name);
        return KL_REFUSE_STARTED;
    }
    if (is_no_match(r, h, text, cap)) return KL_REFUSE_FULL;
    if (kl_facts_differ(r->facts, &h->facts, text, cap) > 0) return KL_REFUSE_IDENTITY;
    if (r->phase == KL_ROOM_PLAYING &&
        kl_lobby_catchup_closed(r, kl_lobby_consents(r, h->consent), text, cap))
        return KL_REFUSE_STARTED;
    return objection_seats(r, h, text, cap);
}

static int objection_new(struct kl_lobby *l, const struct kl_hello *h, const char *address, char *text,
                         size_t cap, uint64_t now_us) {
    unsigned most = h->seats_wanted > h->params.players ? h->seats_wanted : h->params.players;
    if (most <= l->limits.seats) kl_lobby_make_place(l, address, now_us);
    if (most > l->limits.seats) {
        snprintf(text, cap, "room %s wants %u seats, this relay's rooms have %u", h->room, most,
                 l->limits.seats);
    } else if (l->rooms >= l->limits.rooms || kl_lobby_rooms_in_all(l) >= l->limits.rooms) {
        snprintf(text, cap, "this relay is full: it has %u rooms, and no place for room %s", l->limits.rooms,
                 h->room);
    } else if (kl_lobby_rooms_of(l, address) >= l->limits.rooms_per_address) {
        snprintf(text, cap,
                 "your address has %u rooms, as many as this relay allows; it has no place for room %s",
                 l->limits.rooms_per_address, h->room);
    } else {
        return 0;
    }
    return KL_REFUSE_LIMIT;
}

int kl_lobby_objection(struct kl_lobby *l, const struct kl_lobby_room *r, const struct kl_hello *h,
                       const char *address, char *text, size_t cap, uint64_t now_us) {
    return r ? objection(r, h, address, text, cap, now_us) : objection_new(l, h, address, text, cap, now_us);
}

/* Somebody who may not enter has a line of their own here and there, no more. */
void kl_lobby_tell_refused(struct kl_lobby_room *r, const struct kl_hello *h, int code, uint64_t now_us) {
    char why[KL_TEXT_MAX], key[KL_FACT_KEY_MAX], patch[KL_FACT_PATCH_MAX];
    if (!r || code != KL_REFUSE_IDENTITY || !kl_bucket_take(&r->talk.refused, REFUSED_PER_MIN, now_us))
        return;
    (void)kl_facts_differ(r->facts, &h->facts, why, sizeof why);
    const char *end = strstr(why, " differs: ");
    snprintf(key, sizeof key, "%.*s", end ? (int)(end - why) : 0, why);
    if (kl_fact_patch(patch, kl_facts_value(&h->facts, key)))
        kl_lobby_notice(r, "%s has a soft patch: %s", h->name, patch);
    else if (kl_fact_patch(patch, kl_facts_value(r->facts, key)))
        kl_lobby_notice(r, "%s lacks the soft patch %s", h->name, patch);
    else
        kl_lobby_notice(r, "%s was refused: %s differs", h->name, *key ? key : "the game");
}

unsigned kl_lobby_admit(struct kl_lobby_room *r, unsigned peer, const char *name, const uint8_t *seat_key,
                        uint8_t seats, uint64_t now_us) {
    unsigned i = kl_lobby_member_free(r);
    struct kl_lobby_client *c = &r->lobby->client[peer];
    struct kl_lobby_member *m = r->member[i];
    const struct kl_lobby_person who = kl_lobby_person(seat_key, c->address);
    struct kl_lobby_left left = kl_lobby_account_of(r, &who);
    *m = (struct kl_lobby_member){.number = (uint8_t)i,
                                  .v = {.peer = peer, .who = who, .spent = left.spent},
                                  .place = KL_PLACE_LINKED,
                                  .seats = seats,
                                  .joined = r->places.joins++};
    kl_lobby_set_here(r, i, true);
    m->v.owed = kl_lobby_debt_take(r, &who);
    m->consents = kl_lobby_consents(r, c->consent);
    m->v.catchup.no_states = !m->consents;
    memcpy(m->v.name, name, sizeof m->v.name);
    kl_lobby_note_address(m, c->address);
    c->state = KL_CLIENT_MEMBER;
    c->room = r;
    c->member = i;
    r->lobby->members++;
    if (r->host == KL_NO_HOST) r->host = i;
    kl_lock_add(&r->lock, i, m->seats, now_us);
    kl_lock_set_account(&r->lock, i, left.account);
    kl_lobby_log_member(KL_LOG_INFO, "joined", r, i, "address=%s host=%d filled=%u players=%u",
                        kl_log_address(c->address), r->host == i, kl_size(kl_lobby_seats_filled(r)),
                        r->params.players);
    kl_verdict_forget(&r->heal.verdicts, kl_only(i)); /* reports of the place's former client */
    kl_lobby_settle(r->lobby, peer);
    kl_lobby_welcome(r, i);
    kl_lobby_changed(r, false);
    kl_lobby_locks_itself(r);
    return i;
}

static void join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h, uint64_t now_us) {
    uint8_t seats = kl_lobby_open_seats(r, h->seats_wanted);
    if (!kl_lobby_memory_take(r, kl_lobby_member_free(r), seats)) {
        kl_lobby_turn_away(r->lobby, peer, KL_REFUSE_LIMIT, "this relay has no memory for another player");
        return;
    }
    unsigned i = kl_lobby_admit(r, peer, h->name, h->seat_key, seats, now_us);
    const struct kl_lobby_member *m = r->member[i];
    if (r->phase == KL_ROOM_PLAYING) {
        kl_lobby_late_join(r, i, now_us);
    } else {
        kl_lobby_news(r, now_us, m->seats ? "%s joined" : "%s is watching",
                      m->seats ? kl_lobby_name(r, i).text : m->v.name);
        kl_lobby_start_joined(r, i, now_us);
    }
}

/* The players' names, and the way to a seat. */
static void tell_seats(struct kl_lobby_room *r, struct kl_lobby_watcher *w) {
    char names[KL_LOBBY_NAMES];
    uint16_t players = 0;
    if (r->phase != KL_ROOM_PLAYING) return;
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        players |= kl_only(i);
    kl_lobby_names_of(r, players, names, sizeof names);
    kl_visitor_tell(r, &w->v, KL_NOTICE_SEAT, "you watch %s: to play, ask for a seat", names);
}

static void watch(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h, uint64_t now_us) {
    struct kl_lobby_watcher *w = kl_lobby_watch_join(r, peer, h, now_us);
    if (!w) {
        kl_lobby_turn_away(r->lobby, peer, KL_REFUSE_LIMIT, "this relay has no memory for another watcher");
        return;
    }
    kl_lobby_send_roster_to(r, peer);
    w->roster = r->watch.roster;
    kl_lobby_busy(r);
    kl_lobby_locks_itself(r);
    if (h->door & KL_DOOR_AGAIN) return;
    if (r->watch.count <= NOTICES_FOR) kl_lobby_news(r, now_us, "%s is watching", w->v.name);
    w->notices = r->watch.notices; /* the watcher knows that */
    if (h->seats_wanted)
        kl_lobby_watcher_seat(r, w, h->seats_wanted, now_us);
    else
        tell_seats(r, w);
}

/* It is turned away then. */
static bool comes_too_often(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h) {
    const struct kl_lobby_person who = kl_lobby_person(h->seat_key, r->lobby->client[peer].address);
    unsigned wait_s = kl_lobby_cost_newcomer_wait_s(r, &who, !kl_lobby_consents(r, h->consent));
    if (wait_s > 0)
        kl_lobby_turn_away(r->lobby, peer, KL_REFUSE_LIMIT, "you joined too often: try again in %u s",
                           wait_s);
    return wait_s > 0;
}

void kl_lobby_enter(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, const uint8_t *salt,
                    const uint8_t *secret, uint64_t now_us) {
    struct kl_lobby_room *r = kl_lobby_find(l, h->room);
    if (r && comes_too_often(r, peer, h)) return;
    if (!r) r = make_room(l, h, l->client[peer].address, salt, secret, now_us);
    if (r && comes_to_watch(r, h))
        watch(r, peer, h, now_us);
    else if (r)
        join(r, peer, h, now_us);
    else
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "this relay has no memory for another room");
}

void kl_lobby_hello(struct kl_lobby *l, unsigned peer, const struct kl_hello *h, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    kl_lobby_end_empty_rooms(l, l->room, l->limits.rooms, now_us);
    struct kl_lobby_room *r = kl_lobby_find(l, h->room);
    const char *address = l->client[peer].address;
    int code = 0;
    l->client[peer].consent = h->consent;
    if (!kl_lobby_has_name(l, h->room)) {
        snprintf(text, sizeof text, "room %s is with another process of this relay", h->room);
        code = KL_REFUSE_MOVED;
    } else if (kl_name_reserved(h->name)) {
        snprintf(text, sizeof text, "the name \"%s\" is the relay's own; choose another name", h->name);
        code = KL_REFUSE_DOOR;
    } else if (kl_name_speaks(h->name) || (!r && kl_name_speaks(h->room))) {
        snprintf(text, sizeof text, "a name has no colon: choose another than \"%s\"",
                 kl_name_speaks(h->name) ? h->name : h->room);
        code = KL_REFUSE_DOOR;
    } else if (h->door & KL_DOOR_AGAIN && !(r && l->limits.watchers)) {
        snprintf(text, sizeof text, "there is no room %s", h->room);
        code = KL_REFUSE_SEAT;
    } else if (r && r->door.flags &
                        KL_DOOR_PASSWORD) /* only clients with the password may learn the room's facts */
        code = kl_lobby_door_shut(r, h, address, text, sizeof text, now_us) ? KL_REFUSE_DOOR : 0;
    else
        code = kl_lobby_objection(l, r, h, address, text, sizeof text, now_us);
    kl_lobby_tell_refused(r, h, code, now_us);
    if (code)
        kl_lobby_turn_away(l, peer, (enum kl_refuse)code, "%s", text);
    else if (!kl_lobby_door_knock(l, peer, r, h, now_us))
        kl_lobby_enter(l, peer, h, NULL, NULL, now_us);
}

/* --- for strangers --- */

/* Of the slowest player that is here: a newcomer's delay is no shorter. */
static uint16_t rtt_ms(const struct kl_lobby_room *r) {
    uint32_t most_us = 0, spread_us;
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        if (!r->member[i]->seats) continue;
        uint32_t us = kl_rtt_least_us(&r->lock.client[i].rtt, &spread_us);
        if (us > most_us) most_us = us;
    }
    if (most_us == 0) return KL_RTT_UNKNOWN;
    unsigned ms = (most_us + 999) / 1000;
    return ms < KL_RTT_UNKNOWN ? (uint16_t)ms : KL_RTT_UNKNOWN - 1;
}

void kl_lobby_join_measured(struct kl_lobby_room *r, uint64_t now_us) {
    uint16_t most = kl_lock_lead_max(&r->lock);
    for (KL_MEMBERS(i, r, kl_lobby_has_seat)) {
        const struct kl_lobby_member *m = r->member[i];
        if (r->phase >= KL_ROOM_PLAYING && !kl_lock_joining(&r->lock, i)) continue; /* no newcomer */
        uint16_t least = kl_lobby_reaches(m) ? kl_lock_lead_least(&r->lock, i) : 0;
        if (least <= most || most == KL_SPACING_MAX) continue;
        char text[KL_TEXT_MAX];
        snprintf(text, sizeof text,
                 "the link is too long: it needs a lead of %u frames, and the room allows %u; %s", least,
                 most,
                 i == r->host ? "make it with a greater lead-max, or on a nearer relay"
                              : "the host can allow more (lead-max), or meet on a nearer relay");
        kl_lobby_put_out(r, i, KL_REFUSE_FAR, text, now_us);
    }
}

static void list_room(const struct kl_lobby_room *r, struct kl_lobby_listing *out) {
    unsigned filled = kl_size(kl_lobby_seats_filled(r));
    unsigned most = r->phase >= KL_ROOM_PLAYING ? r->params.players : r->lobby->limits.seats;
    char why[KL_TEXT_MAX];
    bool quick = r->door.flags & KL_DOOR_QUICK; /* nobody consents there */
    bool way = r->phase < KL_ROOM_PLAYING ||
               (r->phase == KL_ROOM_PLAYING && !kl_lobby_catchup_closed(r, !quick, why, sizeof why));
    unsigned waiting = kl_lobby_waiting(r, NULL);
    bool joinable = way && !(r->door.flags & KL_DOOR_LOCKED) && kl_lobby_member_free(r) < KL_MAX_CLIENTS &&
                    filled < r->params.players && !waiting;
    *out = (struct kl_lobby_listing){.players = r->params.players,
                                     .filled = (uint8_t)filled,
                                     .open = (uint8_t)(joinable && most > filled ? most - filled : 0),
                                     .watchers = (uint16_t)r->watch.count,
                                     .waiting = (uint8_t)waiting,
                                     .lead_max = (uint8_t)kl_lock_lead_max(&r->lock),
                                     .doors = r->door.flags,
                                     .rtt_ms = rtt_ms(r),
                                     .recorded = r->door.recorded,
                                     .economy = r->params.economy,
                                     .playing = r->phase >= KL_ROOM_PLAYING};
    memcpy(out->name, r->name, sizeof out->name);
    snprintf(out->content, sizeof out->content, "%s", kl_facts_value(r->facts, "content"));
    snprintf(out->core, sizeof out->core, "%s", kl_facts_value(r->facts, "core"));
    memcpy(out->identity, r->identity, sizeof out->identity);
}

bool kl_lobby_listing_at(const struct kl_lobby *l, unsigned place, struct kl_lobby_listing *out) {
    if (l->room[place]) list_room(l->room[place], out);
    return l->room[place];
}

unsigned kl_lobby_list(const struct kl_lobby *l, unsigned *from, struct kl_lobby_listing *out, unsigned cap) {
    unsigned count = 0;
    for (; *from < l->limits.rooms && count < cap; ++*from) {
        const struct kl_lobby_room *r = l->room[*from];
        if (r && !(r->door.flags & KL_DOOR_UNLISTED)) list_room(r, &out[count++]);
    }
    return count;
}

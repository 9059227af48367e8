#include <stdlib.h>
#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

/* --- coming to a room --- */

/* A room that is not here may be at another relay (net/relay/room/fleet.h): whoever comes for it waits for
 * the fleet's word, and is sent on. */

#define LOOK_US   2000
#define ANSWER_US 1000000 /* then the newest list says where the room is */
#define AGAIN_US  500000  /* between two questions for a room that another relay may have */

static const char *room_of(const struct kl_lobby_asking *a) {
    return a->returns ? a->back.room : a->hello.room;
}

static bool has_place(const struct kl_lobby *l) {
    return !atomic_load(&l->fleet->draining) && kl_lobby_place(l) < l->limits.rooms;
}

bool kl_lobby_fleet_asks(struct kl_lobby *l, unsigned peer, const struct kl_msg *m, uint64_t now_us) {
    const bool returns = m->kind == KL_MSG_RETURN;
    const char *room = returns ? m->back.room : m->hello.room;
    const struct kl_lobby_room *r = kl_lobby_find(l, room);
    if (!l->fleet || (r && !kl_journal_is_unread(r)) || !kl_lobby_has_name(l, room)) return false;
    struct kl_lobby_asking *a = calloc(1, sizeof *a);
    if (!a) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "this relay is out of memory; try again later");
        return true;
    }
    a->place = KL_LOBBY_NO_PLACE;
    a->until_us = now_us + ANSWER_US;
    a->returns = returns;
    if (returns)
        a->back = m->back;
    else
        a->hello = m->hello;
    kl_lobby_end_empty_rooms(l, l->room, l->limits.rooms, now_us);
    if (returns && !atomic_load(&l->fleet->draining))
        a->how = KL_FLEET_BACK;
    else if (!returns && !(m->hello.door & KL_DOOR_AGAIN) && has_place(l))
        a->how = KL_FLEET_CLAIM;
    l->client[peer].asks = a;
    l->fleet_us = now_us;
    return true;
}

/* --- the answer --- */

static void ask(struct kl_lobby *l, struct kl_lobby_asking *a, uint64_t now_us) {
    _Static_assert(KL_FLEET_ASKS == 32, "places are bits");
    if (a->place != KL_LOBBY_NO_PLACE || l->fleet_asks == UINT32_MAX || now_us < a->again_us) return;
    a->place = (unsigned)__builtin_ctz(~l->fleet_asks);
    l->fleet_asks |= 1u << a->place;
    kl_fleet_ask(l->fleet, a->place, room_of(a), a->how);
}

/* Redis has begun anew. A newcomer hears so; a player who returns waits here until the match may move. */
static void come_later(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_lobby_asking *a = l->client[peer].asks;
    if (!a->returns) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "the fleet has just begun: try again in 10 s");
        return;
    }
    kl_lobby_ask_rests(l, a);
    a->again_us = now_us + AGAIN_US;
    a->until_us = a->again_us + ANSWER_US;
}

static void send_on(struct kl_lobby *l, unsigned peer, const struct kl_addresses *at) {
    char text[KL_TEXT_MAX];
    kl_lobby_turn_away(l, peer, KL_REFUSE_ELSEWHERE, "%s", kl_fleet_places(text, at));
}

/* Redis has the word; without it, the newest list. A room that neither has may be at a relay that is new to
 * this one: a player who comes back to it goes on to the next relay. */
static enum kl_fleet_answer look(struct kl_lobby *l, const struct kl_lobby_asking *a, uint64_t now_us,
                                 struct kl_addresses *at, uint8_t id[KL_ROOM_ID_BYTES]) {
    enum kl_fleet_answer answer =
        a->place == KL_LOBBY_NO_PLACE ? KL_FLEET_WAIT : kl_fleet_answer(l->fleet, a->place, now_us, at, id);
    if (answer == KL_FLEET_WAIT && now_us >= a->until_us) answer = KL_FLEET_SILENT;
    if (answer != KL_FLEET_SILENT) return answer;
    if (kl_fleet_find(l->fleet, room_of(a), at)) return KL_FLEET_ELSEWHERE;
    at->count = 0;
    return a->returns && !a->back.fresh && !kl_lobby_find(l, room_of(a)) ? KL_FLEET_ELSEWHERE
                                                                         : KL_FLEET_NOWHERE;
}

static void go_on(struct kl_lobby *l, unsigned peer, struct kl_lobby_asking *a, uint64_t now_us) {
    struct kl_addresses at;
    bool makes = !a->returns && !(a->hello.door & KL_DOOR_AGAIN);
    bool goes = atomic_load(&l->fleet->draining) || (makes && !has_place(l));
    if (goes && !kl_lobby_find(l, room_of(a)) && kl_fleet_with_place(l->fleet, &at))
        send_on(l, peer, &at);
    else if (a->returns)
        kl_lobby_return(l, peer, &a->back, now_us);
    else
        kl_lobby_hello(l, peer, &a->hello, now_us);
}

/* This relay's own files of the room are older than those of another one, which has it or had it. taken: the
 * files of that room are new. */
static void give_up_unread(struct kl_lobby *l, const char *room, const uint8_t *taken) {
    struct kl_lobby_room *r = kl_lobby_find(l, room);
    if (!r || !kl_journal_is_unread(r)) return;
    if (taken && !memcmp(r->id, taken, sizeof r->id))
        kl_journal_leave(r);
    else
        kl_journal_forget(r);
    kl_lobby_restore_drop(r);
}

static void take(struct kl_lobby *l, const struct kl_lobby_asking *a, const uint8_t id[KL_ROOM_ID_BYTES],
                 bool news, uint64_t now_us) {
    if (kl_lobby_find(l, room_of(a))) return;
    kl_journal_take(l, id, now_us);
    struct kl_lobby_room *r = kl_lobby_find(l, room_of(a));
    if (r && news) kl_lobby_log_room(KL_LOG_INFO, "fleet_room_taken", r, "return=%d", a->returns);
}

void kl_lobby_fleet_turn(struct kl_lobby *l, uint64_t now_us) {
    bool waits = false;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        struct kl_lobby_client *c = &l->client[i];
        struct kl_addresses at = {0};
        uint8_t id[KL_ROOM_ID_BYTES];
        if (!c->asks) continue;
        ask(l, c->asks, now_us);
        enum kl_fleet_answer answer = look(l, c->asks, now_us, &at, id);
        if (answer == KL_FLEET_LATER && kl_lobby_find(l, room_of(c->asks))) answer = KL_FLEET_NOWHERE;
        if (answer == KL_FLEET_LATER) come_later(l, i, now_us);
        waits = waits || c->asks;
        if (answer == KL_FLEET_WAIT || answer == KL_FLEET_LATER) continue;
        struct kl_lobby_asking a = *c->asks;
        kl_lobby_ask_no_more(l, c);
        if (answer == KL_FLEET_ELSEWHERE || answer == KL_FLEET_TAKEN)
            give_up_unread(l, room_of(&a), answer == KL_FLEET_TAKEN ? id : NULL);
        if (answer == KL_FLEET_TAKEN || answer == KL_FLEET_MINE)
            take(l, &a, id, answer == KL_FLEET_TAKEN, now_us);
        if (answer == KL_FLEET_ELSEWHERE)
            send_on(l, i, &at);
        else
            go_on(l, i, &a, now_us);
    }
    l->fleet_us = waits ? now_us + LOOK_US : UINT64_MAX;
}

/* --- rooms that may be elsewhere --- */

/* Rooms of a fleet's relay that may go on at another one (net/relay/fleet/README.md): their people know the
 * others, the room stands still where another relay may have it by now, and ends here where one has it. */

#define DESERTED_US 1000000
#define STAND_US    500000
#define HOLD_US     5000 /* a frame waits for its copy */

#define DRAIN_LOOK_US 2000
#define DRAIN_NEXT_US 20000             /* between two rooms of one process */
#define MISSING_US    UINT64_C(3000000) /* a player without a link may have found another relay by then */

void kl_lobby_fleet_tell(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_fleet *f = r->lobby->fleet;
    if (f && r->talk.alone == kl_fleet_speaks(f, now_us)) {
        r->talk.alone = !r->talk.alone;
        kl_lobby_notice(r, r->talk.alone ? "this relay is cut off from its fleet: the match cannot move"
                                         : "the relay is back in its fleet");
    }
    if (!f || r->talk.relays == kl_fleet_turn(f)) return;
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        kl_visitor_relays(r, r->member[i]->v.peer);
    r->talk.relays = kl_fleet_turn(f);
}

/* --- rooms that are another relay's --- */

static void end_here(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_addresses at;
    char text[KL_TEXT_MAX];
    if (!kl_fleet_find(r->lobby->fleet, r->name, &at)) at.count = 0;
    kl_fleet_places(text, &at);
    kl_lobby_log_room(KL_LOG_INFO, "fleet_room_lost", r, "frame=%u to=\"%s\"", r->lock.next_close, text);
    for (KL_MEMBERS(i, r, kl_lobby_here))
        kl_lobby_put_out(r, i, KL_REFUSE_ELSEWHERE, text, now_us);
    kl_lobby_watch_end(r, KL_REFUSE_ELSEWHERE, text);
    kl_journal_forget(r);
    kl_lobby_drop_room(r);
    kl_lobby_free_room(r);
}

static bool is_tagged(const struct kl_lobby_room *r, const _Atomic uint32_t tag[KL_SHARD_ROOMS]) {
    return r && atomic_load(&tag[r->due.index]) == kl_fleet_tag(r->id);
}

/* No player has been heard for a while: another relay may have the room. */
static bool is_deserted(const struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        if (kl_lobby_reaches(r->member[i]) && now_us < r->lock.client[i].heard_at_us + DESERTED_US)
            return false;
    return r->phase == KL_ROOM_PLAYING;
}

static void let_go(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_fleet *f = r->lobby->fleet;
    const unsigned index = r->due.index;
    uint8_t id[KL_ROOM_ID_BYTES];
    memcpy(id, r->id, sizeof id);
    kl_fleet_lose(f, f->shards->own, index, id); /* its copy stays in Redis */
    end_here(r, now_us);
    kl_fleet_lose(f, f->shards->own, index, id); /* and now its name is free */
}

void kl_lobby_fleet_lose(struct kl_lobby *l, uint64_t now_us) {
    struct kl_fleet *f = l->fleet;
    const unsigned own = f->shards->own;
    const uint32_t losses = atomic_load(&f->losses), wants = atomic_load(&f->wants);
    if (l->drain_us == UINT64_MAX && atomic_load(&f->draining)) l->drain_us = now_us;
    if (losses == l->fleet_losses && wants == l->fleet_wants) return;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        if (is_tagged(l->room[i], f->lost[own])) end_here(l->room[i], now_us);
        if (is_tagged(l->room[i], f->wanted[own]) && is_deserted(l->room[i], now_us))
            let_go(l->room[i], now_us);
        atomic_store(&f->wanted[own][i], 0);
    }
    l->fleet_losses = losses;
    l->fleet_wants = wants;
}

/* --- frames wait for Redis --- */

static bool awaits_copy(const struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_fleet *f = r->lobby->fleet;
    const uint64_t mark = r->phase == KL_ROOM_PLAYING && kl_fleet_speaks(f, now_us) ? kl_journal_mark(r) : 0;
    return mark && kl_fleet_awaits(f, r->due.index, mark);
}

bool kl_lobby_fleet_holds(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_due *d = &r->due;
    if (!r->lobby->fleet) return false;
    if (!awaits_copy(r, now_us)) {
        d->hold_us = 0;
        d->lags = false;
        return false;
    }
    if (!d->hold_us && !d->lags) d->hold_us = now_us + HOLD_US;
    d->lags = d->lags || now_us >= d->hold_us;
    if (d->lags) d->hold_us = 0;
    r->lobby->holds = r->lobby->holds || d->hold_us;
    return d->hold_us;
}

void kl_lobby_fleet_release(struct kl_lobby *l, uint64_t now_us) {
    if (!l->holds) return;
    l->holds = false;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        struct kl_lobby_room *r = l->room[i];
        if (!r || !r->due.hold_us) continue;
        if (awaits_copy(r, now_us))
            l->holds = true;
        else
            kl_lobby_due_at(r, 0);
    }
}

/* --- this relay is to end --- */

bool kl_lobby_fleet_drain(struct kl_lobby *l, uint64_t now_us) {
    struct kl_addresses at;
    if (!l->fleet || !kl_fleet_with_place(l->fleet, &at)) return false;
    kl_log(KL_LOG_INFO, "fleet_drains", "rooms=%u", kl_lobby_rooms_in_all(l));
    atomic_store(&l->fleet->draining, 1);
    l->drain_us = now_us;
    return true;
}

/* A match, once its copy is whole. Before the game its host makes the room again. */
static bool may_go(const struct kl_lobby_room *r, uint64_t now_us) {
    if (r->phase == KL_ROOM_GATHERING) return !kl_journal_is_unread(r);
    return kl_journal_mark(r) && !awaits_copy(r, now_us);
}

/* The first that may. */
void kl_lobby_fleet_drain_turn(struct kl_lobby *l, uint64_t now_us) {
    struct kl_addresses at;
    l->drain_us = now_us + DRAIN_LOOK_US;
    if (!kl_fleet_speaks(l->fleet, now_us) || atomic_load(&l->fleet->fresh) ||
        !kl_fleet_with_place(l->fleet, &at))
        return;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        struct kl_lobby_room *r = l->room[i];
        if (!r || !may_go(r, now_us)) continue;
        if (r->phase == KL_ROOM_GATHERING)
            kl_lobby_notice(r, "this relay closes: the room is made anew elsewhere");
        let_go(r, now_us);
        l->drain_us = now_us + DRAIN_NEXT_US;
        return;
    }
}

/* --- without a lease another relay may go on with a room once its players ask there --- */

static bool somebody_is_missing(const struct kl_lobby_room *r, uint64_t since_us) {
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        if (r->member[i]->place == KL_PLACE_KEPT && r->member[i]->cut_us <= since_us) return true;
    return false;
}

void kl_lobby_fleet_stand(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_fleet *f = r->lobby->fleet;
    if (!f || r->phase != KL_ROOM_PLAYING || kl_fleet_speaks(f, now_us)) return;
    r->lock.hold_until_us = now_us + STAND_US;
    r->lock.hold_for = 0;
    for (KL_MEMBERS(i, r, kl_lobby_has_seat)) {
        const struct kl_lock_client *c = &r->lock.client[i];
        if (c->present && !c->joining && now_us >= c->heard_at_us + STAND_US) r->lock.hold_for |= c->seats;
    }
    if (!somebody_is_missing(r, now_us - MISSING_US)) return;
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        kl_lobby_log_member(KL_LOG_INFO, "fleet_sent_on", r, i, "frame=%u", r->lock.next_close);
        kl_lobby_refuse(r->lobby, r->member[i]->v.peer, KL_REFUSE_ELSEWHERE, "");
        kl_lobby_cut(r, i, now_us);
    }
}

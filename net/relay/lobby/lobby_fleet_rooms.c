/* Rooms of a fleet's relay that may go on at another one (net/relay/fleet/README.md): their people know the
 * others, the room stands still where another relay may have it by now, and ends here where one has it. */
#include <stdio.h>
#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

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

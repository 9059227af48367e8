/* Ends: of a connection, of a membership, of a room. Each part of the lobby may put a member out, so this
 * file uses none of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"

#include "net/platform/buffer.h"

/* --- a connection --- */

void kl_lobby_ask_rests(struct kl_lobby *l, struct kl_lobby_asking *a) {
    if (a->place != KL_LOBBY_NO_PLACE) l->fleet_asks &= ~(1u << a->place);
    a->place = KL_LOBBY_NO_PLACE;
}

void kl_lobby_ask_no_more(struct kl_lobby *l, struct kl_lobby_client *c) {
    if (c->asks) kl_lobby_ask_rests(l, c->asks);
    free(c->asks);
    c->asks = NULL;
}

void kl_lobby_door_leave(struct kl_lobby *l, struct kl_lobby_client *c) {
    kl_lobby_ask_no_more(l, c);
    free(c->back);
    c->back = NULL;
    kl_kept_challenge_free(c->challenge);
    c->challenge = NULL;
    if (!c->knock) return;
    sodium_memzero(c->knock, sizeof *c->knock);
    free(c->knock);
    c->knock = NULL;
}

void kl_lobby_turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *format, ...) {
    struct kl_lobby_client *c = &l->client[peer];
    char text[KL_TEXT_MAX], quoted[2 * KL_TEXT_MAX];
    KL_FORMAT(text, sizeof text, format);
    kl_log(KL_LOG_INFO, "refused", "address=%s code=%d reason=%s", kl_log_address(c->address), code,
           kl_log_quote(quoted, sizeof quoted, text));
    kl_lobby_refuse(l, peer, code, text);
    kl_lobby_door_leave(l, c);
    c->state = KL_CLIENT_NONE;
}

/* --- the account of a member --- */

/* The one of two that makes way: the bar that ends first, else the older one. */
static bool makes_way(const struct kl_lobby_left *a, const struct kl_lobby_left *b) {
    if (a->account.barred_until_us != b->account.barred_until_us)
        return a->account.barred_until_us < b->account.barred_until_us;
    return a->spent.of[KL_SPENDS_COMMANDS].at_us < b->spent.of[KL_SPENDS_COMMANDS].at_us;
}

void kl_lobby_keep_account(struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    struct kl_account account = kl_lock_account(&r->lock, member);
    bool again = false, spent = m->v.spent.of[KL_SPENDS_COMMANDS].at_us ||
                                m->v.spent.of[KL_SPENDS_CHAT].at_us || m->v.spent.healed_us;
    if ((account.cost_us == 0 && account.pauses == 0 && !spent) || !kl_lobby_memory_gone(r)) return;
    struct kl_lobby_left *to = &r->door.gone->left[0];
    for (unsigned i = 0; i < KL_LEFT_MAX && !again; i++) {
        again = kl_lobby_is_same(&r->door.gone->left[i].who, &m->v.who);
        if (again || makes_way(&r->door.gone->left[i], to)) to = &r->door.gone->left[i];
    }
    *to = (struct kl_lobby_left){m->v.who, account, m->v.spent};
}

static void take_worse(struct kl_lobby_left *worst, struct kl_account account,
                       const struct kl_lobby_spent *spent) {
    if (account.barred_until_us >= worst->account.barred_until_us) worst->account = account;
    for (unsigned i = 0; i < KL_SPENDS_COUNT; i++) {
        /* At least as full as both: nobody empties a bucket by leaving under several keys. */
        if (spent->of[i].level > worst->spent.of[i].level) worst->spent.of[i].level = spent->of[i].level;
        if (spent->of[i].at_us > worst->spent.of[i].at_us) worst->spent.of[i].at_us = spent->of[i].at_us;
    }
    if (spent->wish_us > worst->spent.wish_us) worst->spent.wish_us = spent->wish_us;
    if (spent->paused_us > worst->spent.paused_us) worst->spent.paused_us = spent->paused_us;
    if (spent->healed_us > worst->spent.healed_us) worst->spent.healed_us = spent->healed_us;
}

struct kl_lobby_left kl_lobby_account_of(const struct kl_lobby_room *r, const struct kl_lobby_person *who) {
    struct kl_lobby_left worst = {0};
    for (unsigned i = 0; r->door.gone && i < KL_LEFT_MAX; i++) {
        const struct kl_lobby_left *l = &r->door.gone->left[i];
        if (kl_lobby_is_same(&l->who, who)) take_worse(&worst, l->account, &l->spent);
    }
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_member *m = r->member[i];
        const struct kl_lobby_spent shared = {.of[KL_SPENDS_PAUSES] = m->v.spent.of[KL_SPENDS_PAUSES],
                                              .paused_us = m->v.spent.paused_us};
        if (!kl_lobby_is_same(&m->v.who, who)) continue;
        if (kl_lobby_reaches(m))
            take_worse(&worst, worst.account, &shared); /* an address shares these */
        else
            take_worse(&worst, kl_lock_account(&r->lock, i), &m->v.spent);
    }
    return worst;
}

/* --- start data that a member waits for --- */

void kl_lobby_start_drop_ready(struct kl_lobby_member *m) {
    free(m->ready);
    m->ready = NULL;
}

bool kl_lobby_start_under_way(const struct kl_lobby_room *r) {
    return r->phase == KL_ROOM_ASKED && !kl_lobby_start_is_kept(r);
}

/* So nobody has the others wait again and again. The time of a lost link counts, too. */
static void note_wait(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    const struct kl_lobby_member *m = r->member[member];
    bool gives = member == r->host && kl_lobby_start_under_way(r);
    bool late = r->phase == KL_ROOM_PLAYING && m->seats && m->v.state == KL_MEMBER_LOADING;
    uint64_t waited_us = now_us - m->v.waited_us, away_us = m->away_us + now_us - m->cut_us;
    if (m->place == KL_PLACE_KEPT && away_us > waited_us) waited_us = away_us;
    if (!gives && !late && !(r->phase == KL_ROOM_LOADING && m->v.state < KL_MEMBER_READY)) return;
    kl_lobby_bar_wait(r, &m->v.who, waited_us, now_us);
}

/* A seat that was offered is not taken: nobody of that address has a turn before a minute is over. The place
 * in the queue is lost: somebody who is not there would hold it up again. */
void kl_lobby_lose_turn(struct kl_lobby_room *r, struct kl_visitor *v) {
    if (v->turn.until_us) kl_lobby_bar(r, KL_BAR_TURN, &v->who, v->turn.until_us);
    v->turn = (struct kl_lobby_turn){0};
    kl_lobby_changed(r, false);
}

/* --- a membership --- */

void kl_lobby_unlink(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = r->member[member];
    if (!kl_lobby_reaches(m)) return;
    struct kl_lobby_client *c = &r->lobby->client[m->v.peer];
    m->place = KL_PLACE_KEPT;
    kl_lobby_fetch_end(r, &m->v.fetch);
    kl_catchup_go(&m->v.catchup);
    if (c->state == KL_CLIENT_MEMBER && c->room == r && c->member == member) c->state = KL_CLIENT_NONE;
}

/* news: for the other members' screens. */
static void forget(struct kl_lobby_room *r, unsigned member, const char *why, const char *news,
                   uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    kl_lobby_log_member(KL_LOG_INFO, "left", r, member, "frame=%u reason=\"%s\"", r->lock.next_close, why);
    note_wait(r, member, now_us);
    kl_lobby_lose_turn(r, &m->v);
    kl_lobby_unlink(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    bool leaving = m->place == KL_PLACE_LEAVING;
    if (!leaving) kl_lobby_keep_account(r, member);
    kl_lobby_debt_keep(r, &m->v.who, m->v.owed);
    kl_lobby_start_drop_ready(m);
    kl_lock_remove(&r->lock, member, now_us);
    m->place = KL_PLACE_EMPTY;
    kl_lobby_set_here(r, member, false);
    m->absent = false;
    kl_lobby_heal_left(r, member, now_us);
    r->lobby->members--;
    kl_lobby_changed(r, true);
    if (!leaving) kl_lobby_news(r, now_us, "%s %s", kl_lobby_name(r, member).text, news);
    bool was_host = r->host == member;
    if (was_host) kl_lobby_choose_host(r);
    if (was_host && kl_lobby_start_under_way(r)) {
        /* A host that goes before it has given everything: the next one is asked from the beginning. */
        kl_lobby_start_free(r);
        r->phase = KL_ROOM_GATHERING;
    }
    if (kl_lobby_has_members(r)) return;
    kl_lobby_log_room(KL_LOG_INFO, "room_ended", r, "frames=%u", r->lock.next_close);
}

void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us) {
    forget(r, member, why, why, now_us);
}

void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    char quoted[2 * KL_TEXT_MAX], news[KL_TEXT_MAX] = "was put out";
    const char *values = strstr(text, ": room has "); /* of the first fact that differs */
    if (code == KL_REFUSE_IDENTITY && values)
        snprintf(news, sizeof news, "was refused: %.*s", (int)(values - text), text);
    kl_lobby_log_member(KL_LOG_INFO, "put_out", r, member, "code=%d reason=%s", code,
                        kl_log_quote(quoted, sizeof quoted, text));
    r->lobby->put_out++;
    if (code == KL_REFUSE_DESYNC) kl_lobby_bar(r, KL_BAR_DESYNC, &m->v.who, now_us);
    if (kl_lobby_reaches(m)) kl_lobby_refuse(r->lobby, m->v.peer, code, text);
    forget(r, member, "was put out", news, now_us);
}

void kl_lobby_put_out_for(struct kl_lobby_room *r, unsigned member, const struct kl_text *why,
                          uint64_t now_us) {
    if (why) kl_lobby_put_out(r, member, why->code, why->text, now_us);
}

/* In the game the member stays until its last samples are used up, so that they count. */
void kl_lobby_take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    kl_lobby_hang_up(r->lobby, m->v.peer);
    if (r->phase != KL_ROOM_PLAYING) {
        kl_lobby_forget(r, member, "left", now_us);
        return;
    }
    kl_lobby_unlink(r, member);
    kl_lobby_log_member(KL_LOG_INFO, "bye", r, member, "frame=%u", r->lock.next_close);
    kl_lobby_keep_account(r, member); /* it may come again before its last samples are played */
    kl_lobby_lose_turn(r, &m->v);
    kl_lobby_debt_keep(r, &m->v.who, m->v.owed);
    m->v.owed = 0;
    m->place = KL_PLACE_LEAVING;
    m->leaving_us = now_us;
    kl_lobby_changed(r, true);
    kl_lobby_news(r, now_us, "%s left", kl_lobby_name(r, member).text);
    if (r->host == member) kl_lobby_choose_host(r);
}

/* --- a room --- */

void kl_lobby_free_room(struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_here))
        kl_lobby_start_drop_ready(r->member[i]);
    kl_lobby_start_free(r);
    kl_lobby_past_free(r);
    kl_lobby_snapshot_free(r);
    kl_lobby_watch_end(r, KL_REFUSE_CLOSED, "the room is gone");
    kl_journal_leave(r);
    kl_lobby_memory_free(r);
    sodium_memzero(r, offsetof(struct kl_lobby_room, lock)); /* the secrets */
    free(r);
}

void kl_lobby_end_room(struct kl_lobby_room *r, const char *reason, uint64_t now_us) {
    kl_journal_end(r, reason, now_us);
    kl_lobby_drop_room(r);
    kl_lobby_free_room(r);
}

void kl_lobby_end_empty_rooms(struct kl_lobby *l, struct kl_lobby_room **room, unsigned rooms,
                              uint64_t now_us) {
    bool read = false;
    l->ends_wait = false;
    for (unsigned i = 0; i < rooms; i++) {
        struct kl_lobby_room *r = room[i];
        if (!r || kl_lobby_has_members(r) || kl_lobby_has_link(r)) continue;
        bool unread = kl_journal_is_unread(r);
        l->ends_wait |= unread && read;
        if (unread && read) continue; /* milliseconds for its files: one a turn */
        read |= unread;
        kl_lobby_end_room(r, r->phase == KL_ROOM_REOPENING ? "relay lost" : "everyone left", now_us);
    }
}

/* --- rooms that give way --- */

/* Places for rooms, and memory for their start data. A room without a link gives way to one that needs its
 * place or its memory, once it has been without a link for as long as it was played: somebody may come back
 * to it, and nobody holds the relay's places by rooms that were made and left. */

#define LINKLESS_US 10000000 /* above it a room gives way however long it was played */

static uint64_t linkless_since_us(const struct kl_lobby_room *r) {
    uint64_t since_us = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (r->member[i]->place == KL_PLACE_KEPT && r->member[i]->cut_us > since_us)
            since_us = r->member[i]->cut_us;
    return since_us;
}

/* Of a room that was made again it is not known: long. */
static uint64_t played_us(const struct kl_lobby_room *r) {
    uint64_t since_us = linkless_since_us(r);
    return since_us > r->report.began_us ? since_us - r->report.began_us : 0;
}

static bool may_go(const struct kl_lobby_room *r, uint64_t now_us) {
    uint64_t waits_us = played_us(r) < LINKLESS_US ? played_us(r) : LINKLESS_US;
    return r->phase == KL_ROOM_PLAYING && !kl_lobby_has_link(r) && now_us >= linkless_since_us(r) + waits_us;
}

void kl_lobby_close(struct kl_lobby_room *r, const char *why, uint64_t now_us) {
    kl_lobby_log_room(KL_LOG_INFO, "closed", r, "frame=%u reason=\"%s\"", r->lock.next_close, why);
    for (KL_MEMBERS(i, r, kl_lobby_here))
        kl_lobby_put_out(r, i, KL_REFUSE_CLOSED, why, now_us);
    kl_lobby_watch_end(r, KL_REFUSE_CLOSED, why);
    kl_lobby_end_room(r, why, now_us);
}

/* Ends a room without a link, the one that was played least, of this maker (NULL: of any). start: it holds
 * start data. False: none may go yet. */
static bool give_way(struct kl_lobby *l, const char *host, bool start, uint64_t now_us) {
    static const char why[] = "the relay needed the room's place";
    struct kl_lobby_room *least = NULL;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        struct kl_lobby_room *r = l->room[i];
        bool helps = r && (!host || kl_lobby_counts_for(r, host)) && (!start || r->start.bytes);
        if (!helps || !may_go(r, now_us)) continue;
        if (!least || played_us(r) < played_us(least)) least = r;
    }
    if (!least) return false;
    kl_lobby_close(least, why, now_us);
    return true;
}

void kl_lobby_make_place(struct kl_lobby *l, const char *address, uint64_t now_us) {
    if (kl_lobby_rooms_of(l, address) >= l->limits.rooms_per_address)
        (void)give_way(l, kl_address_host(address).text, false, now_us);
    else if (l->rooms >= l->limits.rooms)
        (void)give_way(l, NULL, false, now_us);
}

/* --- start data --- */

const char *kl_lobby_start_refusal(struct kl_lobby *l, const char *address, uint32_t bytes, uint64_t now_us) {
    if (bytes <= KL_START_SMALL) return NULL;
    while (!kl_lobby_address_has(l, address, bytes))
        if (!give_way(l, kl_address_host(address).text, true, now_us))
            return "the rooms of your address have used up their memory for start data on this relay";
    while (!kl_lobby_start_fits(l, bytes))
        if (!give_way(l, NULL, true, now_us)) return "this relay has no memory for the start data now";
    return NULL;
}

#include <stdio.h>
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/lobby/lobby_parts.h"

/* --- leaving --- */

static void unlink_client(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = &r->member[member];
    if (!kl_lobby_reaches(m)) return;
    struct kl_lobby_client *c = &r->lobby->client[m->peer];
    m->place = KL_PLACE_KEPT;
    kl_lobby_fetch_end(r, &m->fetch);
    kl_lobby_way_left(r, member);
    if (c->state == KL_CLIENT_MEMBER && c->room == r && c->member == member) c->state = KL_CLIENT_NONE;
}

/* news: for the other members' screens. */
static void forget(struct kl_lobby_room *r, unsigned member, const char *why, const char *news,
                   uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_lobby_log_member(KL_LOG_INFO, "left", r, member, "frame=%u reason=\"%s\"", r->lock.next_close, why);
    unlink_client(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    bool leaving = m->place == KL_PLACE_LEAVING;
    if (!leaving) kl_lobby_keep_account(r, member);
    kl_lobby_debt_keep(r, m->seat_key, m->host[0], m->owed);
    kl_lobby_start_drop_ready(m);
    kl_lock_remove(&r->lock, member, now_us);
    m->place = KL_PLACE_EMPTY;
    m->absent = false;
    kl_lobby_heal_left(r, member, now_us);
    r->lobby->members--;
    r->talk.roster_changed = r->due.busy = r->past.ticket_changed = true;
    if (!leaving) kl_lobby_news(r, now_us, "%s %s", kl_lobby_name(r, member).text, news);
    bool was_host = r->host == member;
    if (was_host) kl_lobby_choose_host(r);
    kl_lobby_start_left(r, was_host);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i])) return;
    kl_lobby_log_room(KL_LOG_INFO, "room_ended", r, "frames=%u", r->lock.next_close);
}

void kl_lobby_do_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us) {
    forget(r, member, why, why, now_us);
}

void kl_lobby_do_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                         uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    char quoted[2 * KL_TEXT_MAX], news[KL_TEXT_MAX] = "was put out";
    const char *values = strstr(text, ": room has "); /* of the first fact that differs */
    if (code == KL_REFUSE_IDENTITY && values)
        snprintf(news, sizeof news, "was refused: %.*s", (int)(values - text), text);
    kl_lobby_log_member(KL_LOG_INFO, "put_out", r, member, "code=%d reason=%s", code,
                        kl_log_quote(quoted, sizeof quoted, text));
    r->lobby->put_out++;
    if (kl_lobby_reaches(m)) {
        kl_lobby_refuse(r->lobby, m->peer, code, text);
        kl_lobby_hang_up(r->lobby, m->peer);
    }
    forget(r, member, "was put out", news, now_us);
}

/* In the game the member stays until its last samples are used up, so that they count. */
void kl_lobby_take_leave(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    kl_lobby_hang_up(r->lobby, m->peer);
    unlink_client(r, member);
    if (r->phase != KL_ROOM_PLAYING) {
        kl_lobby_forget(r, member, "left", now_us);
        return;
    }
    kl_lobby_log_member(KL_LOG_INFO, "bye", r, member, "frame=%u", r->lock.next_close);
    kl_lobby_keep_account(r, member); /* it may come again before its last samples are played */
    kl_lobby_debt_keep(r, m->seat_key, m->host[0], m->owed);
    m->owed = 0;
    m->place = KL_PLACE_LEAVING;
    m->leaving_us = now_us;
    r->talk.roster_changed = r->due.busy = r->past.ticket_changed = true;
    kl_lobby_news(r, now_us, "%s left", kl_lobby_name(r, member).text);
    if (r->host == member) kl_lobby_choose_host(r);
}

/* --- seats that are kept --- */

void kl_lobby_cut(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    unlink_client(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    kl_lobby_heal_left(r, member, now_us);
    m->cut_us = now_us;
    if (now_us >= m->back_us + KL_SETTLED_US) m->away_us = 0;
    r->talk.roster_changed = r->due.busy = true;
    if (r->phase == KL_ROOM_PLAYING) kl_lock_cut(&r->lock, member, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "cut", r, member, "frame=%u seat_time_s=%u used_ms=%llu",
                        r->lock.next_close, r->seat_time_s, (unsigned long long)m->away_us / 1000);
}

void kl_lobby_seat_chores(struct kl_lobby_room *r, uint64_t now_us) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (m->place == KL_PLACE_KEPT &&
            now_us + m->away_us >= m->cut_us + r->seat_time_s * UINT64_C(1000000))
            kl_lobby_forget(r, i, "did not come back in time", now_us);
    }
}

/* The hash of the token is all that stays here. */
void kl_lobby_welcome(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_msg msg = {.kind = KL_MSG_WELCOME};
    struct kl_welcome *w = &msg.welcome;
    *w = (struct kl_welcome){.session = r->lobby->net.session(r->lobby->net.ctx, m->peer),
                             .client = (uint8_t)member,
                             .seats = m->seats,
                             .host = member == r->host,
                             .params = r->params,
                             .seat_time_s = r->seat_time_s};
    memcpy(w->room_id, r->id, sizeof w->room_id);
    kl_seat_token(w->token);
    kl_seat_token_hash(w->token, m->token_hash[0]);
    r->past.ticket_changed = true;
    kl_lobby_send(r->lobby, m->peer, &msg);
}

/* --- RETURN --- */

/* The member whose seat this is, by key and token; KL_MAX_CLIENTS: none. *which: of the two tokens. */
static unsigned owner_of(const struct kl_lobby_room *r, const struct kl_return *b, unsigned *which) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        if (!kl_lobby_stays(m) || memcmp(m->seat_key, b->seat_key, sizeof m->seat_key) != 0) continue;
        for (*which = 0; *which < 2; ++*which)
            if (m->any_token || kl_seat_token_is(b->token, m->token_hash[*which])) return i;
    }
    return KL_MAX_CLIENTS;
}

/* Wrong returns make passwords wait, not other returns: a token cannot be guessed, and noise of others shall
 * keep no player from a seat. */
static void turn_back(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_return *b,
                      uint64_t now_us) {
    char text[KL_TEXT_MAX];
    l->wrong_returns++;
    kl_lobby_tries_wrong(l, r, l->client[peer].address, now_us);
    snprintf(text, sizeof text, "room %s keeps no seat for you%s", b->room,
             r && b->can_bring ? ": the game went on without you, or it is another game" : "");
    kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT, text);
}

static void displace(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    if (!kl_lobby_reaches(m)) return;
    kl_lobby_log_member(KL_LOG_INFO, "displaced", r, member, "by=a_newer_session");
    kl_lobby_refuse(r->lobby, m->peer, KL_REFUSE_CLOSED,
                    "your seat was taken back by a newer session of yours");
    kl_lobby_hang_up(r->lobby, m->peer);
    unlink_client(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    kl_lobby_heal_left(r, member, now_us);
}

/* Not so if the link was lost while the client fetched or loaded. A relay that was started anew cannot know
 * that: a client without a frame gets PREPARE, and sends READY again if it has loaded. */
static bool has_loaded(const struct kl_lobby_room *r, unsigned member, const struct kl_return *b) {
    return !b->fresh && r->member[member].checked && (b->have > 0 || !r->past.reopened);
}

/* During the game: the member goes on from its frames, or gets everything anew. */
static void catch_up(struct kl_lobby_room *r, unsigned member, const struct kl_return *b, uint64_t now_us) {
    const struct kl_way_trip *way = &r->member[member].way;
    const struct kl_way_trip t = {.have = b->have, .fps = way->fps, .no_states = way->no_states};
    bool on = has_loaded(r, member, b) && b->have <= r->lock.next_close && kl_lobby_past_same(r, b) &&
              kl_lobby_way_to_present(r, &t) != KL_WAY_NONE;
    kl_lobby_past_returned(r, member, on ? b->tags : 0);
    if (on) {
        kl_lobby_set_out(r, member, b->have, now_us);
        return;
    }
    kl_lock_cut(&r->lock, member, now_us); /* ends an older session */
    if (!kl_lobby_start_again(r, member, now_us))
        kl_lobby_put_out(r, member, KL_REFUSE_SEAT, "this relay no longer keeps the frames that you miss",
                         now_us);
}

static void take_back(struct kl_lobby_room *r, unsigned member, unsigned which, unsigned peer,
                      const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_member *m = &r->member[member];
    struct kl_lobby_client *c = &r->lobby->client[peer];
    uint64_t away_us = kl_lobby_reaches(m) ? 0 : now_us - m->cut_us;
    displace(r, member, now_us);
    memmove(m->token_hash[1], m->token_hash[which], KL_SEAT_HASH); /* until the new one has been used */
    m->any_token = false;
    c->consent = b->consent;
    m->consents = kl_lobby_consents(r, b->consent);
    m->way.no_states = m->way.no_states || !m->consents;
    m->place = KL_PLACE_LINKED;
    m->peer = peer;
    m->malformed = 0;
    m->deadline_us = 0;
    m->away_us += away_us;
    m->waited_us += away_us;
    m->back_us = now_us;
    kl_lobby_note_address(m, c->address);
    c->state = KL_CLIENT_MEMBER;
    c->room = r;
    c->member = member;
    r->talk.roster_changed = r->due.busy = true;
    kl_lobby_log_member(KL_LOG_INFO, "returned", r, member,
                        "address=%s frame=%u have=%u fresh=%d away_ms=%llu", kl_log_address(c->address),
                        r->lock.next_close, b->have, b->fresh, (unsigned long long)away_us / 1000);
    kl_lobby_welcome(r, member);
    if (r->phase == KL_ROOM_PLAYING)
        catch_up(r, member, b, now_us);
    else
        kl_lobby_start_returned(r, member, b->fresh, now_us);
}

void kl_lobby_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_room *r = kl_lobby_find(l, b->room);
    if (!kl_lobby_bring_wait(l, peer, r, b, now_us)) kl_lobby_take_return(l, peer, b, now_us);
}

/* It begins with nothing. One with frames may always come back: it gets what it missed. */
static bool comes_too_often(struct kl_lobby_room *r, unsigned member, char *text, size_t cap) {
    struct kl_lobby_member *m = &r->member[member];
    if (kl_lobby_reaches(m)) kl_lobby_cost_count(r->lobby, m->peer);
    unsigned wait_s = kl_lobby_cost_wait_s(r, m->owed, KL_COST_JOININGS, m->way.no_states);
    if (wait_s > 0) snprintf(text, cap, "too many returns: try again in %u s", wait_s);
    return wait_s > 0;
}

void kl_lobby_do_take_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_room *r = kl_lobby_find(l, b->room);
    char text[KL_TEXT_MAX];
    unsigned which = 0;
    unsigned member = r ? owner_of(r, b, &which) : KL_MAX_CLIENTS;
    bool own = member < KL_MAX_CLIENTS &&
               kl_seat_verify(b->seat_key, l->net.binding(l->net.ctx, peer), b->token, b->signature);
    if (!own)
        turn_back(l, peer, r, b, now_us);
    else if (b->fresh && kl_facts_differ(r->facts, &b->facts, text, sizeof text) > 0)
        kl_lobby_turn_away(l, peer, KL_REFUSE_IDENTITY, text);
    else if (b->fresh && comes_too_often(r, member, text, sizeof text))
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, text);
    else
        take_back(r, member, which, peer, b, now_us);
}

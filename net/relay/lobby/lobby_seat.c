#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/lobby/lobby_parts.h"

/* --- seats that are kept --- */

void kl_lobby_cut(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    kl_lobby_unlink(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    kl_lobby_heal_left(r, member, now_us);
    m->cut_us = now_us;
    if (now_us >= m->back_us + KL_SETTLED_US) m->away_us = 0;
    kl_lobby_changed(r, false);
    if (r->phase == KL_ROOM_PLAYING) kl_lock_cut(&r->lock, member, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "cut", r, member, "frame=%u seat_time_s=%u used_ms=%llu",
                        r->lock.next_close, r->seat_time_s, (unsigned long long)m->away_us / 1000);
}

/* Before the game a seat is kept for the sake of the others: the room ends with its last link, and nobody is
 * waited for longer than one that loads. */
void kl_lobby_seat_chores(struct kl_lobby_room *r, uint64_t now_us) {
    bool before = r->phase < KL_ROOM_PLAYING, ends = before && !kl_lobby_has_link(r);
    uint64_t kept_us = r->seat_time_s * UINT64_C(1000000);
    if (before && kept_us > KL_LOAD_US) kept_us = KL_LOAD_US;
    if (!before) {
        /* A returned member gets no UPDATE before it catches up, and must not take the relay for a silent
         * one. */
        const struct kl_lobby_net *net = &r->lobby->net;
        for (KL_MEMBERS(i, r, kl_lobby_reaches))
            if (r->lock.client[i].link == KL_LINK_CUT && net->ping) net->ping(net->ctx, r->member[i]->v.peer);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = r->member[i];
        bool over = now_us + m->away_us >= m->cut_us + kept_us;
        if (m->place == KL_PLACE_KEPT && (ends || over))
            kl_lobby_forget(r, i, "did not come back in time", now_us);
    }
}

/* The hash of the token is all that stays here. */
void kl_lobby_welcome(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = r->member[member];
    struct kl_welcome w = {.client = (uint8_t)member,
                           .seats = m->seats,
                           .host = member == r->host,
                           .seat_time_s = r->seat_time_s};
    kl_seat_token(w.token);
    kl_seat_token_hash(w.token, m->token_hash[0]);
    r->past.ticket_changed = true;
    kl_visitor_welcome(r, &m->v, w);
    kl_lobby_play_on_tell(r, member);
}

/* --- RETURN --- */

/* The member whose seat this is, by key and token; KL_MAX_CLIENTS: none. *which: of the two tokens. */
static unsigned owner_of(const struct kl_lobby_room *r, const struct kl_return *b, unsigned *which) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = r->member[i];
        if (!kl_lobby_stays(m) || memcmp(m->v.seat_key, b->seat_key, sizeof m->v.seat_key) != 0) continue;
        for (*which = 0; *which < 2; ++*which)
            if (m->any_token || kl_seat_token_is(b->token, m->token_hash[*which])) return i;
    }
    return KL_MAX_CLIENTS;
}

/* Wrong returns make passwords wait, not other returns: a token cannot be guessed, and noise of others shall
 * keep no player from a seat. */
static void turn_back(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_return *b,
                      uint64_t now_us) {
    l->wrong_returns++;
    kl_lobby_tries_wrong(l, r, l->client[peer].address, now_us);
    if (r)
        kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT,
                           "room %s keeps no seat for you: your time was over, or it is another game",
                           b->room);
    else
        kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT,
                           "this relay has no room %s: it ended, or was lost with the relay before", b->room);
}

static void displace(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (!kl_lobby_reaches(m)) return;
    kl_lobby_log_member(KL_LOG_INFO, "displaced", r, member, "by=a_newer_session");
    kl_lobby_refuse(r->lobby, m->v.peer, KL_REFUSE_CLOSED,
                    "your seat was taken back by a newer session of yours");
    kl_lobby_unlink(r, member);
    kl_lobby_snapshot_left(r, member, now_us);
    kl_lobby_heal_left(r, member, now_us);
}

/* Not so if the link was lost while the client fetched or loaded. A relay that was started anew cannot know
 * that: a client without a frame gets PREPARE, and sends READY again if it has loaded. */
static bool has_loaded(const struct kl_lobby_room *r, unsigned member, const struct kl_return *b) {
    return !b->fresh && r->member[member]->checked && (b->have > 0 || !r->past.reopened);
}

static bool can_catch_up(const struct kl_lobby_room *r, unsigned member, uint32_t have) {
    const struct kl_catchup *c = &r->member[member]->v.catchup;
    const struct kl_catchup t = {.have = have, .fps = c->fps, .no_states = c->no_states};
    return kl_lobby_catchup_by(r, &t) != KL_CATCHUP_NONE;
}

/* During the game: the member goes on from its frames, from an own state, or gets everything anew. */
static void catch_up(struct kl_lobby_room *r, unsigned member, const struct kl_return *b, uint64_t now_us) {
    struct kl_visitor *v = &r->member[member]->v;
    struct kl_record_facts f = kl_lobby_past_facts(r, b);
    f.fresh = !has_loaded(r, member, b);
    f.can_catch_up = can_catch_up(r, member, f.have);
    f.state_can_catch_up = f.state && can_catch_up(r, member, f.state);
    switch (kl_record_rule(&f)) {
    case KL_RECORD_GO_ON:
    case KL_RECORD_FRAMES:
        kl_lobby_put_out_for(r, member, kl_visitor_set_out(r, v, f.have, now_us), now_us);
        return;
    case KL_RECORD_BACK: kl_visitor_back(r, v, f.state, now_us); return;
    case KL_RECORD_ANEW: break;
    }
    kl_lock_cut(&r->lock, member, now_us); /* ends an older session */
    if (!kl_visitor_begin(r, v, now_us))
        kl_lobby_put_out(r, member, KL_REFUSE_SEAT, kl_record_why(&f), now_us);
}

static void take_back(struct kl_lobby_room *r, unsigned member, unsigned which, unsigned peer,
                      const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    struct kl_lobby_client *c = &r->lobby->client[peer];
    uint64_t away_us = kl_lobby_reaches(m) ? 0 : now_us - m->cut_us;
    displace(r, member, now_us);
    memmove(m->token_hash[1], m->token_hash[which], KL_SEAT_HASH); /* until the new one has been used */
    m->any_token = false;
    c->consent = b->consent;
    m->consents = kl_lobby_consents(r, b->consent);
    m->v.catchup.no_states = m->v.catchup.no_states || !m->consents;
    m->place = KL_PLACE_LINKED;
    m->v.peer = peer;
    m->v.malformed = 0;
    m->v.deadline_us = 0;
    m->away_us += away_us;
    m->v.waited_us += away_us;
    m->back_us = now_us;
    kl_lobby_note_address(m, c->address);
    c->state = KL_CLIENT_MEMBER;
    c->room = r;
    c->member = member;
    kl_lobby_changed(r, false);
    kl_lobby_log_member(KL_LOG_INFO, "returned", r, member,
                        "address=%s frame=%u have=%u fresh=%d away_ms=%llu", kl_log_address(c->address),
                        r->lock.next_close, b->have, b->fresh, (unsigned long long)away_us / 1000);
    kl_lobby_settle(r->lobby, peer);
    kl_lobby_welcome(r, member);
    if (r->phase == KL_ROOM_PLAYING)
        catch_up(r, member, b, now_us);
    else
        kl_lobby_start_returned(r, member, b->fresh, now_us);
}

/* It begins with nothing. One with frames may always come back: it gets what it missed. */
static unsigned again_in_s(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = r->member[member];
    if (kl_lobby_reaches(m)) kl_lobby_cost_count(r->lobby, m->v.peer);
    return kl_lobby_cost_wait_s(r, m->v.owed, KL_COST_JOININGS, m->v.catchup.no_states);
}

/* The room's frames are to be read first, and no other room shall wait for that: kl_lobby_return_next(). */
static void wait_for_room(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    c->back = malloc(sizeof *c->back);
    if (!c->back) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "no memory to restore your room; try again");
        return;
    }
    *c->back = *b;
    c->greet_by_us = now_us + KL_READ_US;
    l->returns_wait = true;
}

void kl_lobby_return_next(struct kl_lobby *l, uint64_t now_us) {
    bool read = false;
    l->returns_wait = false;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        struct kl_lobby_client *c = &l->client[i];
        struct kl_lobby_room *r = c->back ? kl_lobby_find(l, c->back->room) : NULL;
        if (!c->back) continue;
        if (r && kl_journal_is_unread(r) && !read) {
            kl_journal_read(r, now_us);
            r = kl_lobby_find(l, c->back->room);
            read = true;
        }
        if (r && kl_journal_is_unread(r)) {
            l->returns_wait = true;
            continue;
        }
        struct kl_return *b = c->back;
        c->back = NULL;
        kl_lobby_return(l, i, b, now_us);
        free(b);
    }
}

void kl_lobby_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us) {
    struct kl_lobby_room *r = kl_lobby_find(l, b->room);
    if (!kl_lobby_has_name(l, b->room)) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_MOVED, "room %s is with another process of this relay",
                           b->room);
        return;
    }
    if (r && kl_journal_is_unread(r)) {
        wait_for_room(l, peer, b, now_us);
        return;
    }
    char text[KL_TEXT_MAX];
    unsigned which = 0, wait_s;
    unsigned member = r ? owner_of(r, b, &which) : KL_MAX_CLIENTS;
    bool own = member < KL_MAX_CLIENTS &&
               kl_seat_verify(b->seat_key, l->net.binding(l->net.ctx, peer), b->token, b->signature);
    if (!own)
        turn_back(l, peer, r, b, now_us);
    else if (r->phase == KL_ROOM_REOPENING && kl_lobby_restore_open(r, KL_HOLD_US, now_us) != KL_OK)
        kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT, "nobody has a seat in this room any more");
    else if (b->fresh && kl_facts_differ(r->facts, &b->facts, text, sizeof text) > 0)
        kl_lobby_turn_away(l, peer, KL_REFUSE_IDENTITY, "%s", text);
    else if (b->fresh && (wait_s = again_in_s(r, member)) > 0)
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "too many returns: try again in %u s", wait_s);
    else
        take_back(r, member, which, peer, b, now_us);
}

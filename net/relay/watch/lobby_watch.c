#include "net/relay/watch/lobby_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/command.h"

#define TOLD_US   1000000                  /* between two words to the clients of how many watch */
#define SILENT_US (15 * UINT64_C(1000000)) /* without a datagram: it is let go */
#define LAST_US   10000000                 /* for them to see the last frames, once these may be seen */
#define CHAT_US   250000                   /* between two lines of watchers of a room */

/* --- coming --- */

static struct kl_lobby_watcher *add(struct kl_lobby_room *r) {
    struct kl_lobby_watch *a = &r->watch;
    if (!a->at) a->at = calloc(r->lobby->limits.watchers, sizeof(struct kl_lobby_watcher *));
    if (!a->desk) a->desk = calloc(1, sizeof *a->desk);
    struct kl_lobby_watcher *w = a->at && a->desk ? calloc(1, sizeof *w) : NULL;
    if (!w) return NULL;
    w->place = a->count;
    a->at[a->count++] = w;
    r->lobby->watchers++;
    return w;
}

void kl_lobby_watch_remove(struct kl_lobby_room *r, struct kl_lobby_watcher *w) {
    struct kl_lobby_watch *a = &r->watch;
    struct kl_lobby_client *c = &r->lobby->client[w->v.peer];
    kl_lobby_debt_keep(r, &w->v.who, w->v.owed);
    if (w->v.turn.until_us) kl_lobby_bar(r, KL_BAR_TURN, &w->v.who, w->v.turn.until_us);
    if (c->state == KL_CLIENT_WATCHER && c->watcher == w) c->state = KL_CLIENT_NONE;
    kl_lobby_fetch_end(r, &w->v.fetch);
    a->at[w->place] = a->at[--a->count];
    a->at[w->place]->place = w->place;
    r->lobby->watchers--;
    kl_lobby_busy(r);
    free(w);
}

/* Puts out the older session of a watcher that came back before its loss was noticed. Returns its place in
 * the queue. */
static struct kl_lobby_turn displace(struct kl_lobby_room *r, const uint8_t *seat_key) {
    struct kl_lobby_turn turn = {0};
    for (unsigned i = r->watch.count; i-- > 0;) {
        if (memcmp(r->watch.at[i]->v.seat_key, seat_key, KL_SEAT_KEY_BYTES) != 0) continue;
        turn = r->watch.at[i]->v.turn;
        r->watch.at[i]->v.turn = (struct kl_lobby_turn){0};
        kl_lobby_watch_put_out(r, r->watch.at[i], KL_REFUSE_CLOSED, "a newer session of yours watches now");
    }
    return turn;
}

struct kl_lobby_watcher *kl_lobby_watch_join(struct kl_lobby_room *r, unsigned peer, const struct kl_hello *h,
                                             uint64_t now_us) {
    struct kl_lobby_client *c = &r->lobby->client[peer];
    struct kl_lobby_turn turn = displace(r, h->seat_key);
    struct kl_lobby_watcher *w = add(r);
    if (!w) return NULL;
    w->v.peer = peer;
    w->v.who = kl_lobby_person(h->seat_key, c->address);
    w->v.owed = kl_lobby_debt_take(r, &w->v.who);
    w->v.waited_us = w->heard_at_us = now_us;
    w->v.turn = turn;
    memcpy(w->v.name, h->name, sizeof w->v.name);
    w->notices = r->watch.notices;
    w->v.catchup = (struct kl_catchup){.watches = true, .no_states = !kl_lobby_consents(r, h->consent)};
    c->state = KL_CLIENT_WATCHER;
    c->room = r;
    c->watcher = w;
    kl_visitor_log("watches", r, &w->v, "address=%s again=%d", kl_log_address(c->address),
                   !!(h->door & KL_DOOR_AGAIN));
    kl_lobby_settle(r->lobby, peer);
    kl_visitor_welcome(r, &w->v, (struct kl_welcome){.client = KL_WATCHER});
    return w;
}

/* --- going --- */

static void goes(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *event, unsigned code,
                 const char *why) {
    char quoted[2 * KL_TEXT_MAX];
    kl_visitor_log(event, r, &w->v, "code=%u reason=%s", code, kl_log_quote(quoted, sizeof quoted, why));
    kl_lobby_watch_remove(r, w);
}

void kl_lobby_watch_lost(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const char *why) {
    goes(r, w, "left", 0, why);
}

void kl_lobby_watch_put_out(struct kl_lobby_room *r, struct kl_lobby_watcher *w, enum kl_refuse code,
                            const char *text) {
    kl_lobby_refuse(r->lobby, w->v.peer, code, text);
    r->lobby->put_out++;
    goes(r, w, "put_out", code, text);
}

bool kl_lobby_watch_stays(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_text *why) {
    if (why) kl_lobby_watch_put_out(r, w, why->code, why->text);
    return !why;
}

void kl_lobby_watch_end(struct kl_lobby_room *r, enum kl_refuse code, const char *why) {
    while (r->watch.count > 0)
        kl_lobby_watch_put_out(r, r->watch.at[r->watch.count - 1], code, why);
    free(r->watch.at);
    free(r->watch.desk);
    r->watch.at = NULL;
    r->watch.desk = NULL;
    kl_lobby_watch_drop_snapshots(r);
}

/* The last player has left. */
static void see_it_end(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    if (kl_lobby_has_members(r) || !a->count) {
        a->left_us = 0;
        return;
    }
    if (a->left_us == 0) a->left_us = now_us;
    uint64_t until_us = a->left_us + LAST_US + a->delay_s * UINT64_C(1000000);
    if (r->phase != KL_ROOM_PLAYING || now_us >= until_us)
        kl_lobby_watch_end(r, KL_REFUSE_CLOSED, "all players have left the game");
}

/* --- a watcher's messages --- */

static void says(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_order *o,
                 uint64_t now_us) {
    struct kl_msg m = {.kind = KL_MSG_NOTICE};
    bool due = now_us >= r->talk.chat_us;
    if (!due) {
        kl_visitor_tell(r, &w->v, 0, "the chat is full: your last line was dropped");
        return;
    }
    r->talk.chat_us = now_us + CHAT_US;
    snprintf(m.text.text, sizeof m.text.text, "%s: %.*s", kl_name_shown(w->v.name, 0).text, (int)o->len,
             (const char *)o->data);
    kl_lobby_send_all(r, &m);
    kl_lobby_watch_notice(r, &m.text);
}

/* Clients that a keyframe's commands of others make say something. */
static bool answers(uint8_t kind) {
    return kind == KL_COMMAND_SAVED || kind == KL_COMMAND_RATE;
}

static void orders(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_order *o,
                   unsigned *wish, uint64_t now_us) {
    if (answers(o->kind)) return;
    enum kl_visitor_order taken = kl_visitor_orders(r, &w->v, o->kind, now_us);
    if (taken == KL_ORDER_TOO_MANY) kl_lobby_watch_put_out(r, w, KL_REFUSE_LIMIT, "too many commands");
    if (taken != KL_ORDER_TAKEN) return;
    bool seat = o->kind == KL_COMMAND_SEAT && o->len == 1;
    if (seat && (o->data[0] <= KL_MAX_SEATS || o->data[0] == KL_SEAT_NEXT))
        *wish = o->data[0];
    else if (o->kind == KL_COMMAND_CHAT)
        says(r, w, o, now_us);
    else
        kl_visitor_tell(r, &w->v, 0, "only players can do that: you watch, and can chat or ask for a seat");
}

bool kl_lobby_watch_says(struct kl_lobby_room *r, struct kl_lobby_watcher *w, const struct kl_msg *m,
                         unsigned *wish, uint64_t now_us) {
    *wish = KL_WATCH_NO_WISH;
    switch (m->kind) {
    case KL_MSG_READY: /* one that came back may have the start data before all of it is sent again */
        if (w->v.state != KL_MEMBER_LOADING) return true;
        (void)kl_lobby_watch_stays(r, w, kl_visitor_ready(r, &w->v, &m->ready.facts, now_us));
        return true;
    case KL_MSG_HEALED:
        (void)kl_lobby_watch_stays(r, w, kl_visitor_loaded(r, &w->v, &m->healed, now_us));
        return true;
    case KL_MSG_HASH: kl_lobby_watch_hash(r, w, &m->hash); return true;
    case KL_MSG_COMMAND: orders(r, w, &m->order, wish, now_us); return true;
    case KL_MSG_BYE:
        kl_lobby_hang_up(r->lobby, w->v.peer);
        kl_lobby_watch_lost(r, w, "left");
        return true;
    case KL_MSG_FILE: kl_lobby_files_watched(r, w, &m->file); return true;
    case KL_MSG_STATE: return true; /* of a snapshot that all make: nobody asks a watcher */
    default: return false;
    }
}

/* --- messages to watchers --- */

int kl_lobby_watch_delay(struct kl_lobby_room *r, unsigned seconds, const char *who) {
    if (seconds > KL_WATCH_DELAY_MAX_S) return KL_E_MALFORMED;
    if (seconds == r->watch.delay_s) return KL_OK;
    if (!kl_lobby_memory_delay(r, seconds)) {
        kl_lobby_notice(r, "this relay has no memory for a delay of %u s", seconds);
        return KL_E_SPACE;
    }
    r->watch.delay_s = (uint16_t)seconds;
    kl_lobby_changed(r, true);
    kl_lobby_log_room(KL_LOG_INFO, "delay", r, "frame=%u seconds=%u", r->lock.next_close, seconds);
    kl_lobby_notice(r, "%s: watchers see the game %u s later", who, seconds);
    return KL_OK;
}

/* --- now and then --- */

static void look_after(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint64_t now_us) {
    enum kl_refuse code;
    const char *late = kl_visitor_is_late(r, &w->v, &code, now_us);
    if (late)
        kl_lobby_watch_put_out(r, w, code, late);
    else if (now_us >= w->heard_at_us + SILENT_US)
        kl_lobby_watch_put_out(r, w, KL_REFUSE_CLOSED, "nothing has come from you for 15 s");
    else if (w->v.state == KL_MEMBER_PLAYING && !kl_lobby_past_reaches(r, w->next))
        kl_lobby_watch_put_out(
            r, w, KL_REFUSE_LIMIT,
            "too far behind the game: the relay dropped the frames that you have not seen");
    else if (w->v.state == KL_MEMBER_WAITING && r->phase == KL_ROOM_PLAYING &&
             !kl_visitor_begin(r, &w->v, now_us))
        kl_lobby_watch_put_out(r, w, KL_REFUSE_STARTED,
                               "this relay does not keep the game's beginning any more");
}

void kl_lobby_watch_chores(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    for (unsigned i = a->count; i-- > 0;)
        look_after(r, a->at[i], now_us);
    see_it_end(r, now_us);
    if (a->told == a->count || now_us < a->told_us + TOLD_US) return;
    a->told = (uint16_t)a->count;
    a->told_us = now_us;
    r->talk.roster_changed = true;
}

void kl_lobby_watch_run(struct kl_lobby_room *r, unsigned *left, uint64_t now_us) {
    struct kl_lobby_watch *a = &r->watch;
    unsigned looked = 0, all = a->count;
    a->due_us = UINT64_MAX;
    kl_lobby_watch_see(r, now_us);
    kl_lobby_watch_snapshots(r);
    for (; looked < all && a->count > 0 && *left > 0; looked++) {
        bool more = false;
        struct kl_lobby_watcher *w = a->at[a->turn++ % a->count];
        if (!kl_lobby_watch_judge(r, w, now_us)) continue;
        if (!kl_lobby_watch_stays(r, w, kl_visitor_catchup_run(r, &w->v, now_us))) continue;
        *left -= kl_lobby_watch_serve(r, w, now_us, &more);
        if (more) kl_lobby_busy(r);
    }
    if (looked < all && a->count > 0) a->due_us = now_us; /* the clients have their turn in between */
}

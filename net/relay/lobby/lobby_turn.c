/* lobby_turn.c - seats that change hands, and the queue of clients and watchers that wait for a seat.
 * net/ROOMS.md §7, The queue for seats.
 *
 * A place in the queue is a number in the member or watcher itself, so one that goes leaves no trace. */
#include <string.h>

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

#define TOLD_PER_MIN 30
#define TAKE_US      (15 * UINT64_C(1000000)) /* to take a seat that is offered */

/* --- the queue --- */

/* A waiter is a client without seats, or a watcher, with a place in the queue or about to get one. */

static bool is_earlier(const struct kl_visitor *v, uint32_t than, const struct kl_visitor *first) {
    return v->turn.number > than && (!first || v->turn.number < first->turn.number);
}

/* The first in the queue behind this number; NULL: none. */
static struct kl_visitor *behind(struct kl_lobby_room *r, uint32_t number) {
    struct kl_visitor *first = NULL;
    if (r->watch.turns == 0) return NULL; /* nobody has ever waited here */
    for (KL_MEMBERS(i, r, kl_lobby_stays))
        if (is_earlier(&r->member[i]->v, number, first)) first = &r->member[i]->v;
    for (unsigned i = 0; i < r->watch.count; i++)
        if (is_earlier(&r->watch.at[i]->v, number, first)) first = &r->watch.at[i]->v;
    return first;
}

#define EACH_WAITER(w, r)                                                                                    \
    struct kl_visitor *w = behind(r, 0);                                                                     \
    w;                                                                                                       \
    w = behind(r, w->turn.number)

unsigned kl_lobby_waiting(const struct kl_lobby_room *room, struct kl_waiter *out) {
    struct kl_lobby_room *r = (struct kl_lobby_room *)room; /* nothing changes in it */
    unsigned n = 0;
    for (EACH_WAITER(w, r)) {
        if (n == KL_QUEUE_MAX) break;
        if (out) {
            out[n] =
                (struct kl_waiter){.client = w->catchup.watches ? KL_WATCHER : (uint8_t)kl_visitor_member(w),
                                   .turn = w->turn.until_us > 0};
            memcpy(out[n].name, w->name, sizeof out[n].name);
        }
        n++;
    }
    return n;
}

uint8_t kl_lobby_open_seats(const struct kl_lobby_room *r, unsigned wanted) {
    return kl_lobby_waiting(r, NULL) ? 0 : kl_lobby_free_seats(r, wanted);
}

static unsigned seats_taken(const struct kl_lobby_room *r) {
    return kl_size(kl_lobby_seats_filled(r));
}

/* A watcher that plays becomes a client: as many watchers may wait as clients can still come. */
static bool has_place(struct kl_lobby_room *r, struct kl_visitor *more) {
    unsigned clients = 0, watchers = more->catchup.watches;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        clients += kl_lobby_here(r->member[i]);
    for (EACH_WAITER(w, r))
        watchers += w->catchup.watches;
    return kl_lobby_waiting(r, NULL) < KL_QUEUE_MAX &&
           (!more->catchup.watches || clients + watchers <= KL_MAX_CLIENTS);
}

/* Places in the queue of this one's address. */
static unsigned places_of(struct kl_lobby_room *r, const struct kl_visitor *of) {
    unsigned n = 0;
    for (EACH_WAITER(w, r))
        n += !strcmp(w->host, of->host);
    return n;
}

/* The last one of the address with the most places makes way for one of an address with fewer. */
static bool make_way(struct kl_lobby_room *r, struct kl_visitor *more) {
    struct kl_visitor *last = NULL;
    unsigned most = 0;
    for (EACH_WAITER(w, r)) {
        unsigned places = places_of(r, w);
        if (places >= most) last = w, most = places;
    }
    if (!last || most < places_of(r, more) + 2) return false;
    last->turn = (struct kl_lobby_turn){0};
    kl_visitor_tell(r, last, 0, "your address had most places in a full queue: you watch");
    return has_place(r, more);
}

static void enqueue(struct kl_lobby_room *r, struct kl_visitor *v) {
    v->turn = (struct kl_lobby_turn){.number = ++r->watch.turns};
    kl_lobby_changed(r, false);
}

static void tell_players(struct kl_lobby_room *r, const char *waits, uint64_t now_us) {
    if (!kl_bucket_take(&r->talk.news, TOLD_PER_MIN, now_us)) return;
    for (KL_MEMBERS(i, r, kl_lobby_has_seat))
        kl_lobby_tell(r, i, KL_NOTICE_SEAT, "%s waits for a seat: you may hand on yours", waits);
}

static void wait_for_seat(struct kl_lobby_room *r, struct kl_visitor *more, uint64_t now_us) {
    unsigned place = 1, taken = seats_taken(r), players = r->params.players;
    uint32_t barred = more->turn.number ? 0 : kl_lobby_barred_s(r, true, &more->who, NULL, now_us);
    if (barred) {
        kl_visitor_tell(r, more, 0, "a seat went to waste: ask again in %u s", barred);
        return;
    }
    if (!more->turn.number && !has_place(r, more) && !make_way(r, more)) {
        kl_visitor_tell(r, more, 0, "%u of %u seats taken, and the queue is full: you watch", taken, players);
        return;
    }
    if (!more->turn.number) {
        enqueue(r, more);
        tell_players(r, more->name, now_us);
    }
    for (EACH_WAITER(w, r))
        place += w->turn.number < more->turn.number;
    kl_visitor_tell(r, more, 0, "%u of %u seats taken: you watch, number %u in the queue", taken, players,
                    place);
}

static void leave_queue(struct kl_lobby_room *r, struct kl_visitor *w) {
    if (!w->turn.number) {
        kl_visitor_tell(r, w, 0, "you watch, and wait for no seat");
        return;
    }
    kl_lobby_lose_turn(r, w);
    kl_visitor_tell(r, w, 0, "you left the queue: you watch");
}

/* --- seats change hands --- */

/* The first player that has handed on a seat; KL_MAX_CLIENTS: none. */
static unsigned first_giver(const struct kl_lobby_room *r) {
    unsigned first = KL_MAX_CLIENTS;
    for (KL_MEMBERS(i, r, kl_lobby_stays)) {
        const struct kl_lobby_member *m = r->member[i];
        bool gives = m->seats && m->hands_on;
        if (gives && (first == KL_MAX_CLIENTS || m->hands_on < r->member[first]->hands_on)) first = i;
    }
    return first;
}

/* Caught up with the game, nothing on its way, and not barred. */
static bool can_play(const struct kl_lobby_room *r, const struct kl_visitor *w, uint64_t now_us) {
    bool has_place = w->catchup.watches ? kl_lobby_member_free(r) < KL_MAX_CLIENTS : kl_visitor_reaches(w);
    return has_place && w->state == KL_MEMBER_PLAYING && !w->catchup.step &&
           !kl_lobby_barred_s(r, true, &w->who, NULL, now_us);
}

/* From now on the watcher is a latecomer of the game with the frames that it has. w is gone. */
static void seat_watcher(struct kl_lobby_room *r, struct kl_lobby_watcher *w, uint8_t seats,
                         uint64_t now_us) {
    struct kl_lobby_watcher was = *w;
    kl_lobby_watch_remove(r, w);
    unsigned i = kl_lobby_admit(r, was.v.peer, was.v.name, was.v.seat_key, seats, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "reseated", r, i, "frame=%u reason=\"takes a seat\"",
                        r->lock.next_close);
    kl_lobby_late_goes_on(r, i, was.acked, now_us);
}

/* The seat of the player who hands it on, who goes to the queue's end. */
static uint8_t taken_over(struct kl_lobby_room *r, uint64_t now_us) {
    unsigned giver = first_giver(r);
    if (giver == KL_MAX_CLIENTS) return 0;
    struct kl_lobby_member *m = r->member[giver];
    uint8_t seats = m->seats;
    m->hands_on = 0;
    if (kl_lobby_reseat(r, giver, 0, "hands on the seat", now_us) != KL_OK) return 0;
    enqueue(r, &m->v);
    return seats & (uint8_t)-seats; /* a second one is offered to the next */
}

/* A seat goes to the client that it was offered to, or that asks for a free one while nobody waits before it.
 */
static void wants_seat(struct kl_lobby_room *r, struct kl_visitor *w, unsigned wanted, uint64_t now_us) {
    uint8_t seats = 0;
    bool offered = w->turn.until_us > 0;
    const struct kl_visitor *first = behind(r, 0);
    if (can_play(r, w, now_us) && (offered || !first || first == w)) {
        seats = kl_lobby_free_seats(r, wanted);
        if (!seats) seats = kl_lobby_free_seats(r, 1);
        unsigned member = w->catchup.watches ? kl_lobby_member_free(r) : kl_visitor_member(w);
        if (!kl_lobby_memory_take(r, member, seats)) {
            kl_visitor_tell(r, w, 0, "this relay has no memory for another player: you watch");
            return;
        }
        if (!seats && offered) seats = taken_over(r, now_us);
    }
    if (seats) {
        kl_lobby_news(r, now_us, "%s takes a seat", w->name);
        w->turn = (struct kl_lobby_turn){0};
        if (w->catchup.watches)
            seat_watcher(r, kl_visitor_watcher(w), seats, now_us);
        else
            (void)kl_lobby_reseat(r, kl_visitor_member(w), seats, "takes a seat", now_us);
    } else
        wait_for_seat(r, w, now_us);
    kl_lobby_turn_run(r, now_us);
}

/* The last player stays: a game that nobody plays is over. */
static int step_back(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    const struct kl_lobby_member *m = r->member[member];
    if (!(kl_lobby_seats_filled(r) & ~m->seats)) {
        kl_lobby_tell(r, member, 0, "you are the only player: the game would end");
        return KL_E_STATE;
    }
    kl_lobby_news(r, now_us, "%s steps back and watches", kl_lobby_name(r, member).text);
    int result = kl_lobby_reseat(r, member, 0, "steps back", now_us);
    kl_lobby_turn_run(r, now_us);
    return result;
}

static int hand_on(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (!m->seats || m->hands_on) return KL_E_STATE;
    if (!kl_lobby_waiting(r, NULL)) {
        kl_lobby_tell(r, member, 0, "nobody waits for a seat");
        return KL_E_STATE;
    }
    m->hands_on = ++r->watch.turns;
    kl_lobby_turn_run(r, now_us);
    if (m->hands_on) kl_lobby_tell(r, member, 0, "you hand on your seat: play on until it is taken");
    return KL_OK;
}

int kl_lobby_take_seat(struct kl_lobby_room *r, unsigned member, unsigned wanted, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (r->phase != KL_ROOM_PLAYING || m->v.state != KL_MEMBER_PLAYING) return KL_E_STATE;
    if (wanted == KL_SEAT_NEXT) return hand_on(r, member, now_us);
    if (wanted == 0 && m->seats) return step_back(r, member, now_us);
    if (wanted == 0)
        leave_queue(r, &m->v);
    else if (!m->seats)
        wants_seat(r, &m->v, wanted, now_us);
    return KL_OK;
}

void kl_lobby_watcher_seat(struct kl_lobby_room *r, struct kl_lobby_watcher *watcher, unsigned wanted,
                           uint64_t now_us) {
    struct kl_visitor *w = &watcher->v;
    if (r->phase != KL_ROOM_PLAYING)
        kl_visitor_tell(r, w, 0, "the game has not begun: wait for a seat when it has");
    else if (wanted == KL_SEAT_NEXT)
        kl_visitor_tell(r, w, 0, "you watch: you have no seat to hand on");
    else if (wanted == 0)
        leave_queue(r, w);
    else
        wants_seat(r, w, wanted, now_us);
}

/* --- offers --- */

static unsigned seats_on_offer(const struct kl_lobby_room *r) {
    unsigned taken = seats_taken(r), n = r->params.players > taken ? r->params.players - taken : 0;
    for (KL_MEMBERS(i, r, kl_lobby_stays))
        if (r->member[i]->hands_on) n += kl_size(r->member[i]->seats);
    return n;
}

static void log_turn(const struct kl_lobby_room *r, const char *event, const struct kl_visitor *w) {
    char name[KL_LOG_QUOTED(KL_NAME_MAX)];
    kl_lobby_log_room(KL_LOG_INFO, event, r, "frame=%u name=%s", r->lock.next_close,
                      kl_log_quote(name, sizeof name, w->name));
}

static void offer(struct kl_lobby_room *r, struct kl_visitor *w, uint64_t now_us) {
    w->turn.until_us = now_us + TAKE_US;
    r->talk.roster_changed = true;
    kl_visitor_tell(r, w, KL_NOTICE_SEAT, "your turn: take the seat within 15 s");
    log_turn(r, "seat_offered", w);
}

static void pass_over(struct kl_lobby_room *r, struct kl_visitor *w) {
    kl_lobby_lose_turn(r, w);
    kl_visitor_tell(r, w, 0, "you did not take the seat in time: you watch");
    log_turn(r, "seat_not_taken", w);
}

void kl_lobby_turn_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->watch.turns == 0 || r->phase != KL_ROOM_PLAYING) return;
    unsigned seats = seats_on_offer(r), open = 0;
    uint32_t last = 0;
    for (struct kl_visitor *w = behind(r, 0); w; w = behind(r, last)) {
        last = w->turn.number;
        if (w->turn.until_us && now_us >= w->turn.until_us)
            pass_over(r, w);
        else if (w->turn.until_us && open == seats)
            w->turn.until_us = 0; /* the seat is gone: it is the first the next time */
        else if (!w->turn.until_us && open < seats && can_play(r, w, now_us))
            offer(r, w, now_us);
        open += w->turn.until_us > 0;
    }
    if (open == 0) {
        for (KL_MEMBERS(i, r, kl_lobby_here)) {
            if (!r->member[i]->hands_on) continue;
            r->member[i]->hands_on = 0;
            kl_lobby_tell(r, i, 0, "nobody takes your seat: you play on");
        }
    }
}

/* --- rosters --- */

/* No ROSTER is sent to a client with so many messages under way; the newest goes out later. */
#define ROSTERS_UNDER_WAY 64

static struct kl_msg roster_of(const struct kl_lobby_room *r) {
    struct kl_msg m = {.kind = KL_MSG_ROSTER};
    struct kl_roster *roster = &m.roster;
    roster->filled = (uint8_t)kl_size(kl_lobby_seats_filled(r));
    roster->players = r->params.players;
    roster->doors = r->door.flags & (KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED);
    roster->farthest = r->report.told.farthest < KL_MAX_CLIENTS ? r->report.told.farthest : KL_WATCHER;
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_member *from = r->member[i];
        struct kl_member *to = &roster->member[roster->count++];
        *to = (struct kl_member){.client = (uint8_t)i, .seats = from->seats, .state = from->v.state};
        to->host = i == r->host;
        memcpy(to->name, from->v.name, sizeof to->name);
        if (from->v.state == KL_MEMBER_PLAYING && kl_lock_joining(&r->lock, i)) to->state = KL_MEMBER_JOINING;
        if (!kl_lobby_reaches(from))
            to->state = from->place == KL_PLACE_LEAVING ? KL_MEMBER_GONE : KL_MEMBER_AWAY;
    }
    roster->watchers = (uint16_t)r->watch.count;
    roster->delay_s = r->watch.delay_s;
    roster->record_days = r->door.recorded ? (uint16_t)r->lobby->limits.record_days : 0;
    roster->waiting = (uint8_t)kl_lobby_waiting(r, roster->queue);
    return m;
}

void kl_lobby_send_roster(struct kl_lobby_room *r) {
    struct kl_msg m = roster_of(r);
    uint16_t owed = r->talk.roster_changed ? UINT16_MAX : r->talk.roster_owed;
    if (r->talk.roster_changed && r->watch.desk) r->watch.desk->now = m.roster;
    r->watch.roster += r->talk.roster_changed;
    r->talk.roster_changed = false;
    r->talk.roster_owed = 0;
    for (KL_EACH(i, owed)) {
        if (!kl_lobby_reaches(r->member[i])) continue;
        if (kl_lobby_is_behind(r, r->member[i]->v.peer, ROSTERS_UNDER_WAY))
            r->talk.roster_owed |= kl_only(i);
        else
            kl_lobby_send(r->lobby, r->member[i]->v.peer, &m);
    }
}

void kl_lobby_send_roster_to(struct kl_lobby_room *r, unsigned peer) {
    struct kl_msg m = roster_of(r);
    kl_lobby_send(r->lobby, peer, &m);
}

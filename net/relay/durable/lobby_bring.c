/* A room that this relay has forgotten is brought back by its clients. net/PROTOCOL.md §7, tags and tickets.
 *
 * A client that can bring the room shows first its ticket, and the newest tag or mark that the relay gave it.
 * Only this relay can have written the ticket, which names the client's seat; so no stranger is ever waited
 * for. Of all tickets the newest counts. Then the client whose tag or mark reaches furthest brings start data
 * and frames. The frames are on trial until they reach that tag or mark and agree with it; if they do not,
 * they are dropped.
 *
 * A stranger may have made a room of that name meanwhile. It ends when the old one is brought. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/frames.h"
#include "net/relay/durable/lobby_again.h"
#include "net/relay/durable/lobby_bring.h"

#define PICK_US      300000   /* after the first client that can bring the room: others may have more of it */
#define GATHER_US    3000000  /* after it: others may have a newer ticket or more frames */
#define OPEN_US      1000000  /* from the last bringing until the room opens, if a player is missing */
#define WAIT_US      5000000  /* a client that brings nothing waits so long for another to bring its room */
#define JUST_BORN_US 30000000 /* after the relay's start: rooms may still be brought */
#define LOOK_US      20000
#define SHOW_US      3000000   /* to show ticket and tag or mark */
#define BEGIN_US     3000000   /* to bring, and a second more for every BYTES_A_S */
#define BYTES_A_S    16384     /* bytes that were of use */
#define BRING_US     30000000  /* to bring, at most */
#define PATIENCE_US  8000000   /* to bring, if another can bring the room or it is there */
#define IGNORE_US    120000000 /* the rest of a bringing that was put off is passed over so long */
#define RENEW_US     30000000  /* from a room's opening: newer tickets of it count */

/* A client whose RETURN cannot be answered yet. */
struct kl_lobby_bring {
    struct kl_return back;
    uint64_t since_us, asked_us;
    enum { STEP_WAITS, STEP_SHOWS, STEP_SHOWN, STEP_BRINGS, STEP_PUT_OFF, STEP_DONE } step;
    bool doubtful; /* an earlier bringing of it failed: the others first */
    bool makes;    /* it brings the whole room */
    bool made;     /* the room has been made from its ticket */
    uint8_t bytes[KL_TICKET_MAX];
    uint32_t ticket_len;
    struct kl_lobby_ticket *ticket; /* once whole */
    uint8_t *start;
    uint32_t start_len;
    bool start_done;
    uint32_t goal; /* its newest tag or mark is on the frames below; 0: it has none */
    bool by_mark;
    uint32_t interval; /* of the tag */
    uint8_t proof[KL_TAG];
    bool added;  /* frames of it are in the room */
    bool proved; /* these frames agree with its tag or mark */
    uint64_t used_bytes;
};

/* The room that comes back under this name; NULL: there is none yet, whatever else has the name. */
static struct kl_lobby_room *reopening(const struct kl_lobby *l, const char *name) {
    struct kl_lobby_room *r = kl_lobby_find(l, name);
    return r && r->phase == KL_ROOM_REOPENING ? r : NULL;
}

static void free_start(struct kl_lobby *l, struct kl_lobby_client *c) {
    struct kl_lobby_bring *b = c->bring;
    if (b->start) l->start_bytes -= b->ticket->start_bytes;
    free(b->start);
    b->start = NULL;
    c->bringing_bytes = 0;
}

/* Drops frames that are not proved. */
static void take_back(struct kl_lobby *l, struct kl_lobby_bring *b) {
    struct kl_lobby_room *r = reopening(l, b->back.room);
    if (b->step != STEP_BRINGS || b->proved || !r) return;
    if (b->made) kl_lobby_again_drop(r);
    if (b->added && r->reopening.trial) kl_lobby_again_undo(r);
}

static void note_doubt(struct kl_lobby *l, const struct kl_lobby_bring *b) {
    if (b->step != STEP_BRINGS || b->doubtful) return;
    memcpy(l->doubtful[l->doubts++ % KL_DOUBTS], b->back.seat_key, KL_SEAT_KEY_BYTES);
}

static bool is_doubtful(const struct kl_lobby *l, const uint8_t *seat_key) {
    for (unsigned i = 0; i < KL_DOUBTS && i < l->doubts; i++)
        if (memcmp(l->doubtful[i], seat_key, KL_SEAT_KEY_BYTES) == 0) return true;
    return false;
}

void kl_lobby_bring_leave(struct kl_lobby *l, struct kl_lobby_client *c) {
    struct kl_lobby_bring *b = c->bring;
    if (!b) return;
    note_doubt(l, b);
    take_back(l, b);
    free_start(l, c);
    if (b->ticket) sodium_memzero(b->ticket, sizeof *b->ticket);
    free(b->ticket);
    free(b);
    c->bring = NULL;
    l->bringing--;
}

static void ask(struct kl_lobby *l, unsigned peer, uint8_t what, uint32_t from, uint64_t now_us) {
    struct kl_msg m = {.kind = KL_MSG_WANT, .want = {.what = what, .from = from}};
    l->client[peer].bring->asked_us = now_us;
    kl_lobby_send(l, peer, &m);
}

static bool is_young(const struct kl_lobby *l, uint64_t now_us) {
    return now_us < l->born_us + JUST_BORN_US;
}

/* Made by HELLO when a game of that name may have been on its way back. */
static bool gives_way(const struct kl_lobby *l, const struct kl_lobby_room *r, uint64_t now_us) {
    return !r->past.reopened && is_young(l, now_us);
}

static bool is_in(const struct kl_lobby_room *r, const uint8_t *seat_key) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (kl_lobby_here(&r->member[i]) && memcmp(r->member[i].seat_key, seat_key, KL_SEAT_KEY_BYTES) == 0)
            return true;
    return false;
}

static bool may_wait(const struct kl_lobby *l, const struct kl_lobby_room *r, const struct kl_return *back,
                     uint64_t now_us) {
    if (!r) return back->can_bring || is_young(l, now_us);
    if (r->phase == KL_ROOM_REOPENING) return true;
    bool in = is_in(r, back->seat_key);
    if (r->reopening.brought && r->phase == KL_ROOM_PLAYING)
        return in && back->can_bring && now_us < r->reopening.gather_us;
    return !in && gives_way(l, r, now_us);
}

/* The journal's tickets are the newest there are. */
static bool must_show(const struct kl_lobby_room *r, const struct kl_return *back) {
    return back->can_bring && (!r || r->reopening.brought || !r->past.reopened);
}

bool kl_lobby_bring_wait(struct kl_lobby *l, unsigned peer, const struct kl_lobby_room *r,
                         const struct kl_return *back, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (!may_wait(l, r, back, now_us)) return false;
    if (!kl_seat_verify(back->seat_key, l->net.binding(l->net.ctx, peer), back->token, back->signature))
        return false;
    struct kl_lobby_bring *b = calloc(1, sizeof *b);
    if (!b) return false;
    b->back = *back;
    b->since_us = now_us;
    b->doubtful = is_doubtful(l, back->seat_key);
    c->bring = b;
    c->state = KL_CLIENT_BRINGING;
    l->bringing++;
    kl_log(KL_LOG_DEBUG, "waits_for_room", "address=%s can_bring=%d have=%u tags=%u",
           kl_log_address(c->address), back->can_bring, back->have, back->tags);
    if (!must_show(r, back)) return true;
    b->step = STEP_SHOWS;
    ask(l, peer, KL_WANT_TICKET, UINT32_MAX, now_us);
    return true;
}

static void refuse(struct kl_lobby *l, unsigned peer, const char *text) {
    struct kl_lobby_client *c = &l->client[peer];
    kl_lobby_bring_leave(l, c);
    kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT, text);
}

static struct kl_lobby_bring *bring_at(struct kl_lobby *l, unsigned peer, const char *room) {
    struct kl_lobby_bring *b = l->client[peer].state == KL_CLIENT_BRINGING ? l->client[peer].bring : NULL;
    return b && strcmp(b->back.room, room) == 0 ? b : NULL;
}

/* --- showing --- */

static bool is_newer(const struct kl_lobby_ticket *a, const struct kl_lobby_ticket *b) {
    return a->epoch_s != b->epoch_s ? a->epoch_s > b->epoch_s : a->number > b->number;
}

/* Of all that have been shown of rooms of this name; NULL: none. */
static const struct kl_lobby_ticket *newest_ticket(struct kl_lobby *l, const char *room) {
    const struct kl_lobby_ticket *newest = NULL;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_bring *b = bring_at(l, i, room);
        if (b && b->ticket && (!newest || is_newer(b->ticket, newest))) newest = b->ticket;
    }
    return newest;
}

static const struct kl_ticket_member *member_of(const struct kl_lobby_ticket *t, const uint8_t *seat_key) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->member[i].here && memcmp(t->member[i].seat_key, seat_key, KL_SEAT_KEY_BYTES) == 0)
            return &t->member[i];
    return NULL;
}

/* With frame 0; or with the base, as a player: a room whose players have nothing gets no state from anybody.
 */
static bool can_begin(const struct kl_lobby_ticket *newest, const struct kl_lobby_bring *b) {
    const struct kl_ticket_member *m = member_of(newest, b->back.seat_key);
    uint32_t base = newest->base.keyframe;
    return m && (b->back.first == 0 || (m->seats && b->back.first <= base && b->goal > base));
}

/* Each of these: NULL, or why not. */
static const char *open_ticket(struct kl_lobby *l, struct kl_lobby_bring *b, uint64_t now_us) {
    struct kl_lobby_ticket *t = malloc(sizeof *t);
    bool good = t && kl_lobby_ticket_open(t, l->secret, b->bytes, b->ticket_len) == KL_OK;
    bool fits = good && strcmp(t->name, b->back.room) == 0 && member_of(t, b->back.seat_key);
    if (!fits) {
        free(t);
        return good ? "your ticket is of another room or of others' seats"
                    : "your ticket is not of this relay";
    }
    b->ticket = t;
    struct kl_lobby_room *r = kl_lobby_find(l, b->back.room);
    if (r && r->reopening.brought) kl_lobby_again_renew(r, t, now_us);
    return NULL;
}

static const char *take_ticket(struct kl_lobby *l, struct kl_lobby_bring *b, const struct kl_piece *p,
                               uint64_t now_us) {
    if (b->step != STEP_SHOWS || b->ticket || p->offset != b->ticket_len || p->total > sizeof b->bytes)
        return "pieces of the ticket do not fit together";
    memcpy(b->bytes + p->offset, p->bytes, p->len);
    b->ticket_len += p->len;
    return b->ticket_len == p->total ? open_ticket(l, b, now_us) : NULL;
}

/* Of tag and mark the further one counts: it covers all frames before. */
static const char *aim(struct kl_lobby_bring *b, bool by_mark, uint32_t goal, uint32_t interval,
                       const uint8_t *proof, size_t len) {
    if (b->added) return "the newest tag comes before the frames";
    if (goal <= b->goal) return NULL;
    b->goal = goal;
    b->by_mark = by_mark;
    b->interval = interval;
    memcpy(b->proof, proof, len);
    return NULL;
}

static const char *take_tags(struct kl_lobby_bring *b, const struct kl_tags *t) {
    return aim(b, false, t->end_frame, t->first + t->count - 1, t->tag[t->count - 1], KL_TAG);
}

static const char *take_mark(struct kl_lobby_bring *b, const struct kl_mark *m) {
    return aim(b, true, m->end, 0, m->mark, KL_MARK);
}

/* --- bringing --- */

static const char *open_start(struct kl_lobby *l, struct kl_lobby_client *c, uint32_t total) {
    if (!kl_lobby_address_has(l, c->address, total))
        return "the rooms of your address have no memory left for the start data on this relay";
    bool has_room = l->start_bytes + total <= KL_START_BYTES_TOTAL;
    c->bring->start = has_room ? malloc(total ? total : 1) : NULL;
    if (!c->bring->start) return "this relay has no memory for the start data";
    c->bringing_bytes = total;
    l->start_bytes += total;
    return NULL;
}

static const char *take_start(struct kl_lobby *l, struct kl_lobby_client *c, const struct kl_piece *p) {
    struct kl_lobby_bring *b = c->bring;
    bool fits =
        b->step == STEP_BRINGS && b->makes && p->total == b->ticket->start_bytes && p->offset == b->start_len;
    if (!fits || b->start_done) return "pieces of the start data do not fit together";
    const char *why = b->start ? NULL : open_start(l, c, p->total);
    if (why) return why;
    memcpy(b->start + p->offset, p->bytes, p->len);
    b->start_len += p->len;
    b->used_bytes += p->len;
    b->start_done = b->start_len == p->total;
    return NULL;
}

static bool has_seats(const struct kl_lobby_ticket *t) {
    uint8_t seats = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        seats |= t->member[i].seats;
    return seats;
}

static void clear_name(struct kl_lobby *l, const char *name, uint64_t now_us) {
    struct kl_lobby_room *r = kl_lobby_find(l, name);
    if (!r || !gives_way(l, r, now_us)) return;
    kl_lobby_log_room(KL_LOG_INFO, "gives_way", r, "phase=%d frame=%u", r->phase, r->lock.next_close);
    kl_lobby_end_room(r,
                      "a game of this name that this relay had before it was started anew has come back; "
                      "choose another name",
                      "a game of this name that was here before has come back", now_us);
}

static const char *make(struct kl_lobby *l, unsigned peer, struct kl_lobby_bring *b, uint64_t now_us) {
    static char why[KL_TEXT_MAX];
    const struct kl_lobby_ticket *t = newest_ticket(l, b->back.room);
    if (memcmp(t->id, b->ticket->id, sizeof t->id) != 0 || !can_begin(t, b))
        return "the newest ticket of this room does not know you, or asks for other frames than yours";
    if (!has_seats(t)) return "nobody has a seat in this room any more";
    if (kl_lobby_rooms_of(l, l->client[peer].address) >= l->limits.rooms_per_address)
        return "this relay gives no more rooms to your address";
    clear_name(l, t->name, now_us);
    if (b->start) l->start_bytes -= b->ticket->start_bytes; /* counted once */
    struct kl_lobby_room *r = kl_lobby_again(l, t, b->start, b->start_len, now_us, why, sizeof why);
    free(b->start);
    b->start = NULL;
    l->client[peer].bringing_bytes = 0;
    if (!r) return why;
    if (b->back.first) (void)kl_lobby_again_from_base(r);
    b->made = r->reopening.brought = true;
    r->reopening.gather_us = b->since_us + GATHER_US;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        r->member[i].cut_us = now_us + BRING_US;        /* seats do not run out before it is open */
    kl_address_host(r->maker, l->client[peer].address); /* the room counts for this address */
    kl_lobby_log_room(KL_LOG_INFO, "brought_back", r, "ticket=%u from=%u", t->number, r->lock.next_close);
    return NULL;
}

/* At its goal: the frames agree with the tag or mark that the relay once gave. */
static bool is_proved(const struct kl_lobby_room *r, const struct kl_lobby_bring *b) {
    uint8_t mark[KL_MARK];
    if (b->by_mark) return kl_lobby_past_mark(r, mark) && kl_mark_equal(mark, b->proof);
    return b->interval + 1 == r->past.tags && kl_lobby_again_proves(r, b->interval, b->proof);
}

static const char *judge(struct kl_lobby_room *r, struct kl_lobby_bring *b) {
    if (b->proved || r->lock.next_close < b->goal) return NULL;
    if (!is_proved(r, b)) return "what you bring is not what this relay saw played";
    b->proved = true;
    if (r->reopening.trial) kl_lobby_again_believe(r);
    return NULL;
}

static const char *take_frames(struct kl_lobby *l, unsigned peer, const struct kl_past *p, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    struct kl_lobby_room *r = reopening(l, b->back.room);
    if (b->makes && !r && !b->made) {
        const char *why = make(l, peer, b, now_us);
        if (why) return why;
        r = reopening(l, b->back.room);
    }
    if (!r) return "the room is no longer what it was";
    if (r->lock.next_close >= b->goal) return NULL;
    if (!b->made && !r->reopening.trial && !kl_lobby_again_try(r))
        return "this relay has no memory for more frames";
    b->added = true;
    uint32_t before = r->lock.next_close;
    if (kl_lobby_again_piece(r, p->bytes, p->len, b->goal) != KL_OK)
        return "frames that do not follow each other";
    if (r->lock.next_close == before) return NULL;
    b->used_bytes += p->len;
    r->reopening.again_us = now_us;
    return judge(r, b);
}

static const char *take_end(struct kl_lobby *l, struct kl_lobby_bring *b) {
    if (b->step == STEP_SHOWS) {
        b->step = STEP_SHOWN;
        return b->ticket ? NULL : "your ticket is missing";
    }
    const struct kl_lobby_room *r = reopening(l, b->back.room);
    if (!r || r->lock.next_close == 0) return "no frames came";
    if ((b->added || b->made) && !b->proved) return "frames are missing below your newest tag";
    b->step = STEP_DONE;
    return NULL;
}

static const char *take(struct kl_lobby *l, unsigned peer, const struct kl_bring *m, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    if (b->step == STEP_PUT_OFF) {
        if (m->what == KL_BRING_END) b->step = STEP_SHOWN; /* and may be asked again */
        return NULL;
    }
    if (b->step != STEP_SHOWS && b->step != STEP_BRINGS) return "nobody asked you to bring anything";
    switch (m->what) {
    case KL_BRING_TICKET: return take_ticket(l, b, &m->piece, now_us);
    case KL_BRING_START: return take_start(l, &l->client[peer], &m->piece);
    case KL_BRING_TAGS: return take_tags(b, &m->tags);
    case KL_BRING_MARK: return take_mark(b, &m->mark);
    case KL_BRING_END: return take_end(l, b);
    default:
        return b->step == STEP_BRINGS ? take_frames(l, peer, &m->past, now_us)
                                      : "nobody asked for frames yet";
    }
}

void kl_lobby_bring_message(struct kl_lobby *l, unsigned peer, const struct kl_bring *m, uint64_t now_us) {
    const char *why = take(l, peer, m, now_us);
    if (why) refuse(l, peer, why);
}

/* --- the next to bring, and the opening --- */

static bool somebody_brings(struct kl_lobby *l, const char *room) {
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_bring *b = bring_at(l, i, room);
        if (b && b->step == STEP_BRINGS) return true;
    }
    return false;
}

/* If the room is there already, only its own members may add to it; else members of the newest ticket make
 * it. */
static bool may_bring(const struct kl_lobby_room *r, const struct kl_lobby_ticket *newest,
                      const struct kl_lobby_bring *b) {
    if (r && is_in(r, b->back.seat_key))
        return b->back.first <= r->lock.next_close &&
               (b->step == STEP_SHOWN || (b->step == STEP_WAITS && !r->reopening.brought));
    return !r && newest && b->step == STEP_SHOWN &&
           memcmp(b->ticket->id, newest->id, sizeof newest->id) == 0 && can_begin(newest, b);
}

/* Frames that it could bring, as far as the relay can tell. */
static uint32_t reach(const struct kl_lobby_bring *b) {
    return b->step == STEP_SHOWN ? b->goal : b->back.have;
}

/* A room that begins with frame 0 can be replayed by all; other clients may then bring the later frames. */
static bool rather(const struct kl_lobby_bring *a, const struct kl_lobby_bring *b, bool makes) {
    if (a->doubtful != b->doubtful) return b->doubtful;
    if (makes && !a->back.first != !b->back.first) return !a->back.first;
    return reach(a) > reach(b);
}

/* The client that reaches furthest; l->limits.peers: none has more than `have`. */
static unsigned best(struct kl_lobby *l, const char *room, uint32_t have) {
    const struct kl_lobby_room *r = reopening(l, room);
    const struct kl_lobby_ticket *newest = newest_ticket(l, room);
    const struct kl_lobby_bring *most = NULL;
    unsigned found = l->limits.peers;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_bring *b = bring_at(l, i, room);
        if (!b || !b->back.can_bring || !may_bring(r, newest, b) || reach(b) <= have) continue;
        if (most && !rather(b, most, !r)) continue;
        most = b;
        found = i;
    }
    return found;
}

static void let_bring(struct kl_lobby *l, unsigned peer, const struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    b->step = STEP_BRINGS;
    b->makes = !r;
    const struct kl_lobby_ticket *newest = newest_ticket(l, b->back.room);
    if (r)
        ask(l, peer, 0, r->lock.next_close, now_us);
    else
        ask(l, peer, kl_lobby_ticket_has_start(newest) ? KL_WANT_START : 0,
            b->back.first ? newest->base.keyframe : 0, now_us);
}

static bool all_are_here(struct kl_lobby *l, const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = &r->member[i];
        bool waits = false;
        for (unsigned k = 0; k < l->limits.peers && kl_lobby_here(m) && m->seats && !waits; k++) {
            const struct kl_lobby_bring *b = bring_at(l, k, r->name);
            waits =
                b && b->step != STEP_SHOWS && memcmp(b->back.seat_key, m->seat_key, KL_SEAT_KEY_BYTES) == 0;
        }
        if (kl_lobby_here(m) && m->seats && !waits) return false;
    }
    return true;
}

static void serve(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_return back = l->client[peer].bring->back;
    kl_lobby_bring_leave(l, &l->client[peer]);
    l->client[peer].state = KL_CLIENT_GREETING;
    l->client[peer].greet_by_us = now_us + KL_GREET_US;
    kl_lobby_take_return(l, peer, &back, now_us);
}

/* So slow that another is asked, if there is one, or that the room opens without its frames. */
static bool is_slow(struct kl_lobby *l, const struct kl_lobby_bring *b, uint64_t now_us) {
    if (b->step != STEP_BRINGS || b->proved || now_us < b->asked_us + PATIENCE_US) return false;
    const struct kl_lobby_room *r = reopening(l, b->back.room);
    unsigned other = best(l, b->back.room, 0);
    return (r && !b->made) || (other < l->limits.peers && !l->client[other].bring->doubtful);
}

/* Its frames are dropped, and the rest that it brings is passed over. */
static void put_off(struct kl_lobby *l, struct kl_lobby_client *c) {
    struct kl_lobby_bring *b = c->bring;
    kl_log(KL_LOG_INFO, "put_off", "address=%s bytes=%llu", kl_log_address(c->address),
           (unsigned long long)b->used_bytes);
    note_doubt(l, b);
    take_back(l, b);
    free_start(l, c);
    b->doubtful = true;
    b->step = STEP_PUT_OFF;
    b->makes = b->made = b->added = b->start_done = false;
    b->start_len = 0;
    b->used_bytes = 0;
    kl_lobby_free_empty_rooms(l);
}

static bool is_late(const struct kl_lobby_bring *b, uint64_t now_us) {
    if (b->step == STEP_SHOWS) return now_us >= b->asked_us + SHOW_US;
    if (b->step == STEP_PUT_OFF) return now_us >= b->asked_us + IGNORE_US;
    uint64_t allowed_us = BEGIN_US + b->used_bytes * 1000000 / BYTES_A_S;
    return now_us >= b->asked_us + (allowed_us < BRING_US ? allowed_us : BRING_US);
}

/* Nobody brings anything to this room, and nobody has more of it. */
static void go_on(struct kl_lobby *l, struct kl_lobby_room *r, uint64_t now_us) {
    bool late = now_us >= r->reopening.again_us + OPEN_US && now_us >= r->reopening.gather_us;
    if (!all_are_here(l, r) && !late) return;
    if (kl_lobby_again_open(r, KL_HOLD_US, now_us) != KL_OK) kl_lobby_again_drop(r); /* nobody has a seat */
    r->reopening.gather_us = now_us + RENEW_US;
}

static void look_after(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    const struct kl_lobby_bring *b = l->client[peer].bring;
    const char *name = b->back.room;
    struct kl_lobby_room *any = kl_lobby_find(l, name), *r = reopening(l, name);
    if (b->step == STEP_SHOWS || b->step == STEP_BRINGS || b->step == STEP_PUT_OFF) {
        if (is_late(b, now_us))
            refuse(l, peer, "nothing more came of what you wanted to bring");
        else if (is_slow(l, b, now_us))
            put_off(l, &l->client[peer]);
    } else if (any && !r && !gives_way(l, any, now_us)) {
        serve(l, peer, now_us);
    } else if (!somebody_brings(l, name)) {
        unsigned next = best(l, name, r ? r->lock.next_close : 0);
        if (next < l->limits.peers && (r || now_us >= b->since_us + PICK_US))
            let_bring(l, next, r, now_us);
        else if (r && next == l->limits.peers)
            go_on(l, r, now_us);
        else if (!r && next == l->limits.peers && now_us >= b->since_us + WAIT_US)
            refuse(l, peer, "no seat is kept for you here (any more)");
    }
}

void kl_lobby_bring_run(struct kl_lobby *l, uint64_t now_us) {
    if (l->bringing == 0 || now_us < l->bring_us) return;
    l->bring_us = now_us + LOOK_US;
    for (unsigned i = 0; i < l->limits.peers; i++)
        if (l->client[i].state == KL_CLIENT_BRINGING) look_after(l, i, now_us);
}

uint64_t kl_lobby_bring_due_us(const struct kl_lobby *l) {
    return l->bringing ? l->bring_us : UINT64_MAX;
}

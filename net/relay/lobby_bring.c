#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "../engine/frames.h"
#include "lobby_again.h"

#define PICK_US      300000 /* after the first who could bring a room: others may have more of it */
#define OPEN_US      1000000 /* from the last that was brought until the room opens, where somebody is missing */
#define IDLE_US      10000000 /* without a piece from him who brings */
#define WAIT_US      5000000  /* for who brings nothing, that somebody brings his room */
#define JUST_BORN_US 30000000 /* after the relay's start that is worth waiting for */
#define LOOK_US      20000
#define TICKET_US    1000000  /* to show a ticket, until another is asked too */
#define BRING_US     30000000 /* to bring all of it */

/* Frames past the newest tag that are taken on a client's word: TAGS come every 500 ms, on the slowest
 * channel. No other client has a newer tag (he who has the newest brings first), so nobody could judge them.
 */
#define UNTAGGED_MAX 120

/* A client whose RETURN cannot be answered yet. */
struct kl_lobby_bring {
    struct kl_return back;
    uint64_t since_us, heard_us, asked_us;
    bool asked; /* WANT is sent, END has not come */
    bool done;
    bool makes; /* it brings the whole room … */
    bool made;  /* … and there was one of it */
    uint8_t bytes[KL_TICKET_MAX];
    uint32_t ticket_len;
    struct kl_lobby_ticket *ticket; /* once whole */
    uint8_t *start;
    uint32_t start_len;
    bool start_done;
    bool has_claim;
    uint32_t claim, claim_end; /* its newest tag: of this interval, up to this frame */
    uint8_t claim_tag[KL_TAG];
};

void kl_lobby_bring_leave(struct kl_lobby *l, struct kl_lobby_client *c) {
    struct kl_lobby_bring *b = c->bring;
    if (!b) return;
    struct kl_lobby_room *r = kl_lobby_find(l, b->back.room);
    if (b->asked && b->made && r && r->phase == KL_ROOM_REOPENING) kl_lobby_again_drop(r); /* half a room */
    if (b->ticket) sodium_memzero(b->ticket, sizeof *b->ticket);
    free(b->ticket);
    free(b->start);
    free(b);
    c->bring = NULL;
    l->bringing--;
}

bool kl_lobby_bring_wait(struct kl_lobby *l, unsigned peer, const struct kl_lobby_room *r,
                         const struct kl_return *back, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    bool may_come = !r && (back->can_bring || now_us < l->born_us + JUST_BORN_US);
    if (!may_come && !(r && r->phase == KL_ROOM_REOPENING)) return false;
    if (!kl_seat_verify(back->seat_key, l->net.binding(l->net.ctx, peer), back->token, back->signature))
        return false;
    struct kl_lobby_bring *b = calloc(1, sizeof *b);
    if (!b) return false;
    b->back = *back;
    b->since_us = b->heard_us = now_us;
    c->bring = b;
    c->state = KL_CLIENT_BRINGING;
    l->bringing++;
    kl_log(KL_LOG_DEBUG, "waits_for_room", "address=%s can_bring=%d have=%u tags=%u", c->address,
           back->can_bring, back->have, back->tags);
    return true;
}

static void refuse(struct kl_lobby *l, unsigned peer, const char *text) {
    struct kl_lobby_client *c = &l->client[peer];
    kl_lobby_bring_leave(l, c);
    kl_lobby_turn_away(l, peer, KL_REFUSE_SEAT, text);
}

/* --- what is brought --------------------------------------------------------------------------------------
 */

static bool is_member(const struct kl_lobby_ticket *t, const uint8_t *seat_key) {
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (t->member[i].here && memcmp(t->member[i].seat_key, seat_key, KL_SEAT_KEY_BYTES) == 0) return true;
    return false;
}

/* Each of these: NULL, or why not. */
static const char *open_ticket(struct kl_lobby *l, struct kl_lobby_bring *b) {
    uint8_t body[KL_TICKET_BODY_MAX];
    int len = kl_ticket_open(l->secret, b->bytes, b->ticket_len, body);
    b->ticket = malloc(sizeof *b->ticket);
    bool good = len > 0 && b->ticket && kl_lobby_ticket_decode(b->ticket, body, (size_t)len) == KL_OK;
    sodium_memzero(body, sizeof body);
    if (!good) return "your ticket is not of this relay";
    bool fits = strcmp(b->ticket->name, b->back.room) == 0 && is_member(b->ticket, b->back.seat_key);
    return fits ? NULL : "your ticket is of another room or of others' seats";
}

static const char *take_ticket(struct kl_lobby *l, struct kl_lobby_bring *b, const struct kl_piece *p) {
    if (!b->makes || b->ticket || p->offset != b->ticket_len || p->total > sizeof b->bytes)
        return "pieces of the ticket do not fit together";
    memcpy(b->bytes + p->offset, p->bytes, p->len);
    b->ticket_len += p->len;
    return b->ticket_len == p->total ? open_ticket(l, b) : NULL;
}

static const char *take_start(struct kl_lobby_bring *b, const struct kl_piece *p) {
    bool fits = b->makes && b->ticket && p->total == b->ticket->start_bytes && p->offset == b->start_len;
    if (!fits || b->start_done) return "pieces of the start data do not fit together";
    if (!b->start) b->start = malloc(p->total ? p->total : 1);
    if (!b->start) return "this relay has no memory for the start data";
    memcpy(b->start + p->offset, p->bytes, p->len);
    b->start_len += p->len;
    b->start_done = b->start_len == p->total;
    return NULL;
}

static const char *judge_claim(const struct kl_lobby_room *r, const struct kl_lobby_bring *b) {
    const uint8_t *ours = b->has_claim ? kl_lobby_again_tag(r, b->claim) : NULL;
    return ours && !kl_tag_equal(ours, b->claim_tag) ? "what you bring is not what this relay saw played"
                                                     : NULL;
}

static const char *take_tags(struct kl_lobby *l, struct kl_lobby_bring *b, const struct kl_tags *t) {
    const struct kl_lobby_room *r = kl_lobby_find(l, b->back.room);
    if (b->has_claim && b->makes) return "one newest tag is enough";
    b->has_claim = true;
    b->claim = t->first + t->count - 1;
    b->claim_end = t->end_frame;
    memcpy(b->claim_tag, t->tag[t->count - 1], KL_TAG);
    return b->makes || !r ? NULL : judge_claim(r, b);
}

static const char *make(struct kl_lobby *l, struct kl_lobby_bring *b, uint64_t now_us) {
    static char why[KL_TEXT_MAX];
    if (!b->ticket) return "the ticket is missing";
    if (b->back.tags && !b->has_claim) return "your newest tag is missing";
    struct kl_lobby_room *r = kl_lobby_again(l, b->ticket, b->start, b->start_len, now_us, why, sizeof why);
    if (!r) return why;
    b->made = true;
    free(b->start);
    b->start = NULL;
    kl_lobby_log_room(KL_LOG_INFO, "brought_back", r, "ticket=%u", b->ticket->number);
    return NULL;
}

static const char *take_frames(struct kl_lobby *l, struct kl_lobby_bring *b, const struct kl_past *p,
                               uint64_t now_us) {
    struct kl_frames frames;
    struct kl_frame f;
    struct kl_lobby_room *r = kl_lobby_find(l, b->back.room);
    if (b->makes && !r && !b->made) {
        const char *why = make(l, b, now_us);
        if (why) return why;
        r = kl_lobby_find(l, b->back.room);
    }
    if (!r || r->phase != KL_ROOM_REOPENING || kl_piece_open(&frames, p->bytes, p->len) != KL_OK)
        return "the room is no longer what it was";
    uint32_t most = (b->has_claim ? b->claim_end : 0) + UNTAGGED_MAX;
    while (kl_frames_next(&frames, &f)) {
        const uint8_t *known = b->has_claim ? kl_lobby_again_tag(r, b->claim) : NULL;
        if (known) most = r->past.tag_end[b->claim % KL_TAGS_KEPT] + UNTAGGED_MAX; /* not what he says */
        if (f.number < r->lock.next_close || f.number >= most) continue; /* had, or on his word alone */
        if (kl_lobby_again_frame(r, &f, f.flags & KL_FRAME_COMMANDS ? &frames.commands : NULL) != KL_OK)
            return "frames that do not follow each other";
    }
    r->again_us = now_us;
    return judge_claim(r, b);
}

static const char *take_end(struct kl_lobby *l, struct kl_lobby_bring *b) {
    struct kl_lobby_room *r = kl_lobby_find(l, b->back.room);
    if (!r || r->lock.next_close == 0) return "no frames came";
    if (b->has_claim && b->claim >= r->past.tags) return "frames are missing below your newest tag";
    b->asked = false;
    b->done = true;
    return NULL;
}

void kl_lobby_bring_message(struct kl_lobby *l, unsigned peer, const struct kl_bring *m, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    const char *why = "nobody asked you to bring anything";
    if (b->asked) {
        b->heard_us = now_us;
        switch (m->what) {
        case KL_BRING_TICKET: why = take_ticket(l, b, &m->piece); break;
        case KL_BRING_START: why = take_start(b, &m->piece); break;
        case KL_BRING_TAGS: why = take_tags(l, b, &m->tags); break;
        case KL_BRING_HISTORY: why = take_frames(l, b, &m->past, now_us); break;
        default: why = take_end(l, b); break;
        }
    }
    if (why) refuse(l, peer, why);
}

/* --- who brings, and when it goes on ----------------------------------------------------------------------
 */

static struct kl_lobby_bring *bring_at(struct kl_lobby *l, unsigned peer, const char *room) {
    struct kl_lobby_bring *b = l->client[peer].state == KL_CLIENT_BRINGING ? l->client[peer].bring : NULL;
    return b && strcmp(b->back.room, room) == 0 ? b : NULL;
}

static bool somebody_brings(struct kl_lobby *l, const char *room) {
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_bring *b = bring_at(l, i, room);
        bool shows = b && (!b->makes || b->ticket || l->bring_us < b->asked_us + TICKET_US);
        if (b && b->asked && shows) return true;
    }
    return false;
}

/* Where there is a room already, only its own members may add to it. */
static bool may_add(const struct kl_lobby_room *r, const uint8_t *seat_key) {
    for (unsigned i = 0; r && i < KL_MAX_CLIENTS; i++)
        if (r->member[i].here && memcmp(r->member[i].seat_key, seat_key, KL_SEAT_KEY_BYTES) == 0) return true;
    return !r;
}

/* The one with the newest tag, then the most frames; l->limits.peers: nobody who has more than `have`. */
static unsigned best(struct kl_lobby *l, const char *room, uint32_t have) {
    const struct kl_lobby_room *r = kl_lobby_find(l, room);
    unsigned found = l->limits.peers;
    const struct kl_return *most = NULL;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        const struct kl_lobby_bring *b = bring_at(l, i, room);
        if (!b || b->done || b->asked || !b->back.can_bring || b->back.have <= have) continue;
        if (!may_add(r, b->back.seat_key)) continue;
        bool more =
            !most || b->back.tags > most->tags || (b->back.tags == most->tags && b->back.have > most->have);
        if (more) {
            most = &b->back;
            found = i;
        }
    }
    return found;
}

static void ask(struct kl_lobby *l, unsigned peer, bool all, uint32_t from, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    struct kl_msg m = {.kind = KL_MSG_WANT, .want.from = from};
    if (all) m.want.what = KL_WANT_TICKET | KL_WANT_START;
    b->asked = true;
    b->makes = all;
    b->heard_us = b->asked_us = now_us;
    kl_lobby_send(l, peer, &m);
}

static bool all_are_here(struct kl_lobby *l, const struct kl_lobby_room *r) {
    unsigned seated = 0, here = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        seated += r->member[i].here && r->member[i].seats;
    for (unsigned i = 0; i < l->limits.peers; i++)
        here += bring_at(l, i, r->name) != NULL;
    return here >= seated;
}

static void serve(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_return back = l->client[peer].bring->back;
    kl_lobby_bring_leave(l, &l->client[peer]);
    l->client[peer].state = KL_CLIENT_GREETING;
    l->client[peer].greet_by_us = now_us + KL_GREET_US;
    kl_lobby_return(l, peer, &back, now_us);
}

static void look_after(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_lobby_bring *b = l->client[peer].bring;
    const char *name = b->back.room;
    struct kl_lobby_room *r = kl_lobby_find(l, name);
    if (b->asked) {
        bool late = now_us >= b->heard_us + IDLE_US || now_us >= b->asked_us + BRING_US;
        if (late) refuse(l, peer, "nothing more came of what you wanted to bring");
        return;
    }
    if (r && r->phase != KL_ROOM_REOPENING) {
        serve(l, peer, now_us);
    } else if (!somebody_brings(l, name)) {
        unsigned next = best(l, name, r ? r->lock.next_close : 0);
        if (next < l->limits.peers && (r || now_us >= b->since_us + PICK_US))
            ask(l, next, !r, r ? r->lock.next_close : 0, now_us);
        else if (r && next == l->limits.peers && (all_are_here(l, r) || now_us >= r->again_us + OPEN_US))
            (void)kl_lobby_again_open(r, KL_HOLD_US, now_us);
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

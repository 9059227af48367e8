#include "net/relay/room/lobby_cost.h"

#include <string.h>

#include "net/relay/room/lobby_room.h"

#define HEADERS 40 /* of a piece on the wire */
#define STREAM  64 /* bytes of frames for each byte up: of more, some client plays none */
#define SILENT  4  /* chores without a byte: a ghost, for a client that watches says ten CTRL a second */
#define GHOST_S 15 /* a ghost is heard again until then, or it is put out */

/* --- the bytes of a joining --- */

/* Bytes of the frames from there on. */
static uint64_t history_bytes(const struct kl_lobby_room *r, uint32_t from) {
    const struct kl_history *h = &r->past.history;
    uint64_t bytes = 0;
    for (const struct kl_history_block *b = h->oldest; b; b = b->next) {
        uint32_t first = b->first > from ? b->first : from;
        if (b->end > first) bytes += (uint64_t)b->used * (b->end - first) / (b->end - b->first);
    }
    return bytes + sizeof(struct kl_past); /* of the newest, which are in no block yet */
}

static uint32_t length(const struct kl_lobby_packed *k) {
    return k ? k->len : 0;
}

/* As it would catch up now. */
static uint64_t catchup_bytes(const struct kl_lobby_room *r, bool no_states) {
    const struct kl_catchup t = {.no_states = no_states};
    const struct kl_lobby_packed *kept = r->snapshot.kept;
    const struct kl_lobby_packed *coming = r->snapshot.made ? NULL : r->snapshot.coming;
    if (kl_lobby_catchup_by(r, &t) == KL_CATCHUP_HISTORY) return history_bytes(r, 0);
    uint32_t state = length(coming) > length(kept) ? length(coming) : length(kept);
    return state + (kept ? history_bytes(r, kept->keyframe) : 0);
}

uint64_t kl_lobby_joining_bytes(const struct kl_lobby_room *r, bool no_states) {
    uint64_t bytes = r->start.bytes;
    if (r->phase == KL_ROOM_PLAYING) bytes += catchup_bytes(r, no_states);
    bytes += bytes / 8; /* headers, seals, repetitions */
    return bytes > KL_COST_LEAST ? bytes : KL_COST_LEAST;
}

/* --- a client's debt --- */

static uint64_t less(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

void kl_lobby_cost_count(struct kl_lobby *l, unsigned peer) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_visitor *v = kl_visitor_of(c);
    if (!v || !l->net.traffic) return;
    struct kl_traffic now = l->net.traffic(l->net.ctx, peer), *was = &c->counted;
    uint64_t up = now.up - was->up, down = now.down - was->down;
    uint64_t others = down - (now.frames - was->frames);
    uint64_t streamed = c->streamed < others ? c->streamed : others; /* the rest has not been sent yet */
    c->streamed -= streamed;
    others -= streamed;
    uint64_t frames = down - others;
    if (up) c->silent = 0;
    v->owed = less(v->owed + others + less(frames, STREAM * up), less(KL_COST_RATIO * up, frames));
    *was = now;
}

void kl_lobby_cost_stream(struct kl_lobby *l, unsigned peer, size_t bytes) {
    l->client[peer].streamed += bytes + HEADERS;
}

size_t kl_lobby_bulk_room(struct kl_lobby_room *r, unsigned peer) {
    const struct kl_lobby_net *net = &r->lobby->net;
    kl_lobby_cost_count(r->lobby, peer);
    const struct kl_visitor *v = kl_visitor_of(&r->lobby->client[peer]);
    bool spent = v && v->owed > KL_COST_LEAST &&
                 v->owed > KL_COST_JOININGS * kl_lobby_joining_bytes(r, v->catchup.no_states);
    return spent ? 0 : net->bulk_room(net->ctx, peer);
}

unsigned kl_lobby_cost_wait_s(const struct kl_lobby_room *r, uint64_t owed, unsigned joinings,
                              bool no_states) {
    uint64_t joining = kl_lobby_joining_bytes(r, no_states);
    uint64_t over = less(owed, (joinings - 1) * joining);
    return (unsigned)((over * (KL_COST_AGAIN_US / 1000000) + joining - 1) / joining);
}

void kl_lobby_hang_up(struct kl_lobby *l, unsigned peer) {
    kl_lobby_cost_count(l, peer);
    l->net.hang_up(l->net.ctx, peer);
}

/* --- debts of those that left --- */

/* Of those that left; theirs no longer if taken. */
static uint64_t debts_of_gone(struct kl_lobby_room *r, const struct kl_lobby_person *who, bool take) {
    uint64_t bytes = 0;
    for (unsigned i = 0; r->door.gone && i < KL_DEBTORS; i++) {
        struct kl_lobby_debtor *d = &r->door.gone->debtor[i];
        if (!kl_lobby_is_same(&d->who, who)) continue;
        bytes += d->bytes;
        if (take) d->bytes = 0;
    }
    return bytes;
}

uint64_t kl_lobby_debt_take(struct kl_lobby_room *r, const struct kl_lobby_person *who) {
    return debts_of_gone(r, who, true);
}

/* Of a watcher that is gone, in all likelihood, from this address or with this key. */
static uint64_t debt_of_ghost(struct kl_lobby_room *r, const struct kl_lobby_watcher *w,
                              const struct kl_lobby_person *who) {
    const struct kl_lobby_client *c = &r->lobby->client[w->v.peer];
    kl_lobby_cost_count(r->lobby, w->v.peer);
    bool same = !memcmp(w->v.seat_key, who->seat_key, sizeof who->seat_key);
    bool ghost = c->silent > SILENT && !strcmp(kl_address_host(c->address).text, who->host);
    return same || ghost ? w->v.owed : 0;
}

/* Of members whose seats are kept. One with this key comes in anew instead of back. One at this address may
 * be the same person; a household's player that died once owes a joining, and is in nobody's way. */
static uint64_t debts_of_lost(const struct kl_lobby_room *r, const struct kl_lobby_person *who,
                              bool no_states) {
    uint64_t bytes = 0, joining = kl_lobby_joining_bytes(r, no_states);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = r->member[i];
        if (!kl_lobby_here(m) || kl_lobby_reaches(m)) continue;
        if (!memcmp(m->v.seat_key, who->seat_key, sizeof who->seat_key))
            bytes += m->v.owed;
        else if (!strcmp(m->v.host, who->host))
            bytes += less(m->v.owed, joining);
    }
    return bytes;
}

unsigned kl_lobby_cost_newcomer_wait_s(struct kl_lobby_room *r, const struct kl_lobby_person *who,
                                       bool no_states) {
    uint64_t owed = debts_of_gone(r, who, false) + debts_of_lost(r, who, no_states);
    unsigned wait_s = kl_lobby_cost_wait_s(r, owed, KL_COST_NEWCOMER, no_states);
    if (wait_s > 0) return wait_s;
    for (unsigned i = 0; i < r->watch.count; i++)
        owed += debt_of_ghost(r, r->watch.at[i], who);
    return kl_lobby_cost_wait_s(r, owed, KL_COST_NEWCOMER, no_states) ? GHOST_S : 0;
}

/* Of one address no more than a member may owe: its neighbours have to wait for it, too. */
void kl_lobby_debt_keep(struct kl_lobby_room *r, const struct kl_lobby_person *who, uint64_t bytes) {
    uint64_t most = KL_COST_JOININGS * kl_lobby_joining_bytes(r, false);
    if (bytes == 0 || !kl_lobby_memory_gone(r)) return;
    struct kl_lobby_debtor *to = &r->door.gone->debtor[0];
    for (unsigned i = 0; i < KL_DEBTORS; i++) {
        struct kl_lobby_debtor *d = &r->door.gone->debtor[i];
        if (d->bytes < to->bytes) to = d;
        if (!d->bytes || strcmp(d->who.host, who->host)) continue;
        to = d;
        bytes += d->bytes;
        break;
    }
    *to = (struct kl_lobby_debtor){.who = *who, .bytes = bytes < most ? bytes : most};
}

void kl_lobby_cost_chores(struct kl_lobby_room *r, uint64_t now_us) {
    uint64_t us = r->door.forgave_us ? now_us - r->door.forgave_us : 0;
    uint64_t bytes = kl_lobby_joining_bytes(r, false) * us / KL_COST_AGAIN_US;
    r->door.forgave_us = now_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_lobby_member *m = r->member[i];
        if (kl_lobby_reaches(m)) kl_lobby_cost_count(r->lobby, m->v.peer);
        if (kl_lobby_here(m)) m->v.owed = less(m->v.owed, bytes);
    }
    for (unsigned i = 0; i < r->watch.count; i++) {
        r->lobby->client[r->watch.at[i]->v.peer].silent++;
        kl_lobby_cost_count(r->lobby, r->watch.at[i]->v.peer);
        r->watch.at[i]->v.owed = less(r->watch.at[i]->v.owed, bytes);
    }
    for (unsigned i = 0; r->door.gone && i < KL_DEBTORS; i++)
        r->door.gone->debtor[i].bytes = less(r->door.gone->debtor[i].bytes, bytes);
}

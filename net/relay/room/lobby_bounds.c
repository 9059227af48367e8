#include "net/relay/room/lobby_bounds.h"

#include <string.h>

#include "net/relay/room/lobby_room.h"

/* --- cost --- */

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

/* --- bars --- */

/* --- the table --- */

/* The oldest ban, or the bar that ends first, if there are as many of its kind as are kept. */
static void make_way(struct kl_lobby_door *d, bool ban) {
    unsigned count = 0, least = 0;
    for (unsigned i = 0; i < d->bars; i++) {
        if ((d->bar[i].why == KL_BAR_BAN) != ban) continue;
        if (count == 0 || d->bar[i].until_us < d->bar[least].until_us) least = i;
        count++;
    }
    if (count < (ban ? KL_BANS_MAX : KL_TIMED_MAX)) return;
    memmove(&d->bar[least], &d->bar[least + 1], (--d->bars - least) * sizeof d->bar[0]);
}

/* This person's bar of that kind, with what the same key and the same address have of it; NULL: there is no
 * memory. */
static struct kl_lobby_bar *entry(struct kl_lobby_room *r, enum kl_bar why,
                                  const struct kl_lobby_person *who) {
    struct kl_lobby_door *d = &r->door;
    struct kl_lobby_bar is = {.who = *who, .why = (uint8_t)why}, *found = NULL;
    for (unsigned i = 0; i < d->bars; i++) {
        struct kl_lobby_bar *b = &d->bar[i];
        if (b->why != why || !kl_lobby_is_same(&b->who, who)) continue;
        bool key = !memcmp(b->who.seat_key, who->seat_key, sizeof who->seat_key);
        if (key && *who->host && !strcmp(b->who.host, who->host)) found = b;
        if (b->times > is.times) is.times = b->times;
        if (b->until_us > is.until_us) is.until_us = b->until_us;
        if (b->waited_us > is.waited_us) is.waited_us = b->waited_us;
    }
    if (!found) {
        if (!kl_lobby_memory_bars(r)) return NULL;
        make_way(d, why == KL_BAR_BAN);
        found = &d->bar[d->bars++];
    }
    *found = is;
    return found;
}

static uint64_t length_us(const struct kl_lobby_bar *b) {
    unsigned longer = b->times - 1U < KL_BAR_LONGER ? b->times - 1U : KL_BAR_LONGER;
    return b->why == KL_BAR_TURN ? KL_BAR_US : KL_BAR_US << longer;
}

void kl_lobby_bar(struct kl_lobby_room *r, enum kl_bar why, const struct kl_lobby_person *who,
                  uint64_t now_us) {
    struct kl_lobby_bar *b = entry(r, why, who);
    if (!b) {
        kl_lobby_notice(r, "this relay has no memory for another ban");
        return;
    }
    if (b->times < UINT8_MAX) b->times++;
    b->waited_us = 0;
    b->until_us = why == KL_BAR_BAN ? UINT64_MAX : now_us + length_us(b);
    if (why == KL_BAR_BAN) return; /* the operator's line tells of it */
    kl_lobby_log_room(KL_LOG_INFO, "barred", r, "address=%s seconds=%llu reason=\"%s\"",
                      kl_log_address(b->who.host), (unsigned long long)length_us(b) / 1000000,
                      kl_lobby_bar_text(why));
}

void kl_lobby_bar_wait(struct kl_lobby_room *r, const struct kl_lobby_person *who, uint64_t us,
                       uint64_t now_us) {
    struct kl_lobby_bar *b = entry(r, KL_BAR_LOAD, who);
    if (!b) return;
    b->waited_us += us;
    if (b->until_us < now_us) b->until_us = now_us;
    if (b->waited_us >= KL_LOAD_US) kl_lobby_bar(r, KL_BAR_LOAD, who, now_us);
}

/* --- questions --- */

uint32_t kl_lobby_barred_s(const struct kl_lobby_room *r, bool turn, const struct kl_lobby_person *who,
                           enum kl_bar *why, uint64_t now_us) {
    uint64_t until_us = now_us;
    for (unsigned i = 0; i < r->door.bars; i++) {
        const struct kl_lobby_bar *b = &r->door.bar[i];
        if ((b->why == KL_BAR_TURN) != turn || b->until_us <= until_us) continue;
        if (!kl_lobby_is_same(&b->who, who)) continue;
        until_us = b->until_us;
        if (why) *why = (enum kl_bar)b->why;
    }
    return until_us == UINT64_MAX ? KL_BAR_EVER : (uint32_t)((until_us - now_us + 999999) / 1000000);
}

const char *kl_lobby_bar_text(enum kl_bar why) {
    static const char *const text[] = {
        [KL_BAR_BAN] = "you are banned from it",
        [KL_BAR_DESYNC] = "out of sync again and again",
        [KL_BAR_LOAD] = "it waited for you, and you did not load",
        [KL_BAR_TURN] = "it made nothing of a seat",
    };
    return text[why];
}

void kl_lobby_locks_itself(struct kl_lobby_room *r) {
    if (!(r->door.flags & KL_DOOR_ONCE)) return;
    r->door.flags |= KL_DOOR_LOCKED;
    kl_lobby_changed(r, true);
}

/* lobby_wish.c - no player alone begins the game again, loads the saved state, or changes a core option.
 * net/ROOMS.md §7, Wishes.
 *
 * The room has one wish at a time. A player's own mark, wish_us, says until when it shares the wish, so one
 * that goes leaves no trace. */
#include <stdio.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

#define AGREE_US (10 * UINT64_C(1000000)) /* for the others to agree */
#define AGAIN_US (30 * UINT64_C(1000000)) /* from a wish that nobody shared to the same player's next one */

#define WHAT_MAX (KL_COMMAND_BYTES + 8)

static void describe(const struct kl_order *o, char out[WHAT_MAX]) {
    if (o->kind == KL_COMMAND_OPTION)
        snprintf(out, WHAT_MAX, "%.*s", o->len, (const char *)o->data);
    else
        snprintf(out, WHAT_MAX, "%s", o->kind == KL_COMMAND_LOAD ? "the saved state" : "a rematch");
}

static bool is_same(const struct kl_order *a, const struct kl_order *b) {
    return a->kind == b->kind && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* A mark ends with its time; a newcomer to a member's place has none. */
static bool shares(const struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    const struct kl_lobby_member *m = r->member[member];
    return kl_lobby_here(m) && m->seats && now_us < m->wish_us;
}

/* It is over with its time, and when its player goes. */
static bool is_open(const struct kl_lobby_room *r, uint64_t now_us) {
    return now_us < r->talk.wish.until_us && shares(r, r->talk.wish.by, now_us);
}

/* One that is away is not asked; one that has just been seated is. */
static bool is_asked(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    return kl_lobby_reaches(m) && m->seats && !r->lock.client[member].away;
}

static bool is_alone(const struct kl_lobby_room *r, unsigned member) {
    unsigned others = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        others += i != member && is_asked(r, i);
    return others == 0;
}

static int grant(struct kl_lobby_room *r) {
    const struct kl_lobby_wish w = r->talk.wish;
    r->talk.wish = (struct kl_lobby_wish){0};
    r->member[w.by]->v.spent.wish_us = 0;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        r->member[i]->wish_us = 0;
    if (w.order.kind == KL_COMMAND_LOAD && !kl_lobby_slot_agreed(r, &w.order)) return KL_E_STATE;
    return kl_lock_command(&r->lock, w.by, w.order.kind, w.order.data, w.order.len);
}

/* Begins a wish of this player. If that cannot be, it is told why. */
static bool begin(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    char what[WHAT_MAX];
    if (is_open(r, now_us)) {
        describe(&r->talk.wish.order, what);
        if (r->talk.wish.by == member)
            kl_lobby_tell(r, member, 0, "you asked for %s: wait for the others", what);
        else
            kl_lobby_tell(r, member, KL_NOTICE_AGAIN, "%s wants %s: agree, or wait",
                          kl_lobby_name(r, r->talk.wish.by).text, what);
        return false;
    }
    if (now_us < m->v.spent.wish_us && !is_alone(r, member)) {
        unsigned wait_s = (unsigned)((m->v.spent.wish_us - now_us + 999999) / 1000000);
        kl_lobby_tell(r, member, 0, "the others did not agree: ask again in %u s", wait_s);
        return false;
    }
    if (o->kind == KL_COMMAND_LOAD && !kl_lobby_slot_agreed(r, o)) return false;
    r->talk.wish = (struct kl_lobby_wish){*o, member, now_us + AGREE_US};
    m->v.spent.wish_us = now_us + AGAIN_US;
    return true;
}

static void ask_others(struct kl_lobby_room *r, unsigned agreed, unsigned players, uint64_t now_us) {
    unsigned by = r->talk.wish.by;
    char what[WHAT_MAX];
    describe(&r->talk.wish.order, what);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (is_asked(r, i) && !shares(r, i, now_us))
            kl_lobby_tell(r, i, KL_NOTICE_AGAIN, "%s wants %s: agree within 10 s", kl_lobby_name(r, by).text,
                          what);
    kl_lobby_tell(r, by, 0, "you asked for %s: %u of %u players agree", what, agreed, players);
}

int kl_lobby_wish(struct kl_lobby_room *r, unsigned member, const struct kl_order *o, uint64_t now_us) {
    uint16_t players = 0, agreed = 0;
    if (!r->member[member]->seats) {
        kl_lobby_tell(r, member, 0, "only players can ask for that");
        return KL_E_STATE;
    }
    bool agrees = is_open(r, now_us) && (o->kind == KL_COMMAND_RESET || is_same(o, &r->talk.wish.order));
    if (!agrees && !begin(r, member, o, now_us)) return KL_E_STATE;
    r->member[member]->wish_us = r->talk.wish.until_us;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (shares(r, i, now_us)) agreed |= kl_only(i);
        if (is_asked(r, i)) players |= kl_only(i);
    }
    players |= agreed;
    /* seats of one address have one vote, as with hashes: one person can be several clients */
    if (kl_lobby_carries(r, false, players, agreed)) return grant(r);
    if (!agrees) ask_others(r, kl_size(agreed), kl_size(players), now_us);
    return KL_OK;
}

/* A room that is not here may be at another relay (net/relay/room/fleet.h): whoever comes for it waits for
 * the fleet's word, and is sent on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

#define LOOK_US   2000
#define ANSWER_US 1000000 /* then the newest list says where the room is */
#define AGAIN_US  500000  /* between two questions for a room that another relay may have */

static const char *room_of(const struct kl_lobby_asking *a) {
    return a->returns ? a->back.room : a->hello.room;
}

static bool has_place(const struct kl_lobby *l) {
    return !atomic_load(&l->fleet->draining) && kl_lobby_place(l) < l->limits.rooms;
}

bool kl_lobby_fleet_asks(struct kl_lobby *l, unsigned peer, const struct kl_msg *m, uint64_t now_us) {
    const bool returns = m->kind == KL_MSG_RETURN;
    const char *room = returns ? m->back.room : m->hello.room;
    const struct kl_lobby_room *r = kl_lobby_find(l, room);
    if (!l->fleet || (r && !kl_journal_is_unread(r)) || !kl_lobby_has_name(l, room)) return false;
    struct kl_lobby_asking *a = calloc(1, sizeof *a);
    if (!a) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "this relay is out of memory; try again later");
        return true;
    }
    a->place = KL_LOBBY_NO_PLACE;
    a->until_us = now_us + ANSWER_US;
    a->returns = returns;
    if (returns)
        a->back = m->back;
    else
        a->hello = m->hello;
    kl_lobby_end_empty_rooms(l, l->room, l->limits.rooms, now_us);
    if (returns && !atomic_load(&l->fleet->draining))
        a->how = KL_FLEET_BACK;
    else if (!returns && !(m->hello.door & KL_DOOR_AGAIN) && has_place(l))
        a->how = KL_FLEET_CLAIM;
    l->client[peer].asks = a;
    l->fleet_us = now_us;
    return true;
}

/* --- the answer --- */

static void ask(struct kl_lobby *l, struct kl_lobby_asking *a, uint64_t now_us) {
    _Static_assert(KL_FLEET_ASKS == 32, "places are bits");
    if (a->place != KL_LOBBY_NO_PLACE || l->fleet_asks == UINT32_MAX || now_us < a->again_us) return;
    a->place = (unsigned)__builtin_ctz(~l->fleet_asks);
    l->fleet_asks |= 1u << a->place;
    kl_fleet_ask(l->fleet, a->place, room_of(a), a->how);
}

/* Redis has begun anew. A newcomer hears so; a player who returns waits here until the match may move. */
static void come_later(struct kl_lobby *l, unsigned peer, uint64_t now_us) {
    struct kl_lobby_asking *a = l->client[peer].asks;
    if (!a->returns) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "the fleet has just begun: try again in 10 s");
        return;
    }
    kl_lobby_ask_rests(l, a);
    a->again_us = now_us + AGAIN_US;
    a->until_us = a->again_us + ANSWER_US;
}

static void send_on(struct kl_lobby *l, unsigned peer, const struct kl_addresses *at) {
    char text[KL_TEXT_MAX];
    kl_lobby_turn_away(l, peer, KL_REFUSE_ELSEWHERE, "%s", kl_fleet_places(text, at));
}

/* Redis has the word; without it, the newest list. A room that neither has may be at a relay that is new to
 * this one: a player who comes back to it goes on to the next relay. */
static enum kl_fleet_answer look(struct kl_lobby *l, const struct kl_lobby_asking *a, uint64_t now_us,
                                 struct kl_addresses *at, uint8_t id[KL_ROOM_ID_BYTES]) {
    enum kl_fleet_answer answer =
        a->place == KL_LOBBY_NO_PLACE ? KL_FLEET_WAIT : kl_fleet_answer(l->fleet, a->place, now_us, at, id);
    if (answer == KL_FLEET_WAIT && now_us >= a->until_us) answer = KL_FLEET_SILENT;
    if (answer != KL_FLEET_SILENT) return answer;
    if (kl_fleet_find(l->fleet, room_of(a), at)) return KL_FLEET_ELSEWHERE;
    at->count = 0;
    return a->returns && !a->back.fresh && !kl_lobby_find(l, room_of(a)) ? KL_FLEET_ELSEWHERE
                                                                         : KL_FLEET_NOWHERE;
}

static void go_on(struct kl_lobby *l, unsigned peer, struct kl_lobby_asking *a, uint64_t now_us) {
    struct kl_addresses at;
    bool makes = !a->returns && !(a->hello.door & KL_DOOR_AGAIN);
    bool goes = atomic_load(&l->fleet->draining) || (makes && !has_place(l));
    if (goes && !kl_lobby_find(l, room_of(a)) && kl_fleet_with_place(l->fleet, &at))
        send_on(l, peer, &at);
    else if (a->returns)
        kl_lobby_return(l, peer, &a->back, now_us);
    else
        kl_lobby_hello(l, peer, &a->hello, now_us);
}

/* This relay's own files of the room are older than those of another one, which has it or had it. taken: the
 * files of that room are new. */
static void give_up_unread(struct kl_lobby *l, const char *room, const uint8_t *taken) {
    struct kl_lobby_room *r = kl_lobby_find(l, room);
    if (!r || !kl_journal_is_unread(r)) return;
    if (taken && !memcmp(r->id, taken, sizeof r->id))
        kl_journal_leave(r);
    else
        kl_journal_forget(r);
    kl_lobby_restore_drop(r);
}

static void take(struct kl_lobby *l, const struct kl_lobby_asking *a, const uint8_t id[KL_ROOM_ID_BYTES],
                 bool news, uint64_t now_us) {
    if (kl_lobby_find(l, room_of(a))) return;
    kl_journal_take(l, id, now_us);
    struct kl_lobby_room *r = kl_lobby_find(l, room_of(a));
    if (r && news) kl_lobby_log_room(KL_LOG_INFO, "fleet_room_taken", r, "return=%d", a->returns);
}

void kl_lobby_fleet_turn(struct kl_lobby *l, uint64_t now_us) {
    bool waits = false;
    for (unsigned i = 0; i < l->limits.peers; i++) {
        struct kl_lobby_client *c = &l->client[i];
        struct kl_addresses at = {0};
        uint8_t id[KL_ROOM_ID_BYTES];
        if (!c->asks) continue;
        ask(l, c->asks, now_us);
        enum kl_fleet_answer answer = look(l, c->asks, now_us, &at, id);
        if (answer == KL_FLEET_LATER && kl_lobby_find(l, room_of(c->asks))) answer = KL_FLEET_NOWHERE;
        if (answer == KL_FLEET_LATER) come_later(l, i, now_us);
        waits = waits || c->asks;
        if (answer == KL_FLEET_WAIT || answer == KL_FLEET_LATER) continue;
        struct kl_lobby_asking a = *c->asks;
        kl_lobby_ask_no_more(l, c);
        if (answer == KL_FLEET_ELSEWHERE || answer == KL_FLEET_TAKEN)
            give_up_unread(l, room_of(&a), answer == KL_FLEET_TAKEN ? id : NULL);
        if (answer == KL_FLEET_TAKEN || answer == KL_FLEET_MINE)
            take(l, &a, id, answer == KL_FLEET_TAKEN, now_us);
        if (answer == KL_FLEET_ELSEWHERE)
            send_on(l, i, &at);
        else
            go_on(l, i, &a, now_us);
    }
    l->fleet_us = waits ? now_us + LOOK_US : UINT64_MAX;
}

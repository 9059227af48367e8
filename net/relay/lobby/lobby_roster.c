#include <string.h>

#include "net/relay/lobby/lobby_parts.h"

/* No ROSTER is sent to a client with so many messages under way; the newest goes out later. */
#define ROSTERS_UNDER_WAY 64

static struct kl_msg roster_of(const struct kl_lobby_room *r) {
    struct kl_msg m = {.kind = KL_MSG_ROSTER};
    struct kl_roster *roster = &m.roster;
    roster->filled = (uint8_t)kl_lobby_count(kl_lobby_seats_filled(r));
    roster->players = r->params.players;
    roster->doors = r->door.flags & (KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LOCKED);
    roster->farthest = r->tale.told.farthest < KL_MAX_CLIENTS ? r->tale.told.farthest : KL_WATCHER;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *from = &r->member[i];
        if (!kl_lobby_here(from)) continue;
        struct kl_member *to = &roster->member[roster->count++];
        *to = (struct kl_member){.client = (uint8_t)i, .seats = from->seats, .state = from->state};
        to->host = i == r->host;
        memcpy(to->name, from->name, sizeof to->name);
        if (from->state == KL_MEMBER_PLAYING && kl_lock_joining(&r->lock, i)) to->state = KL_MEMBER_JOINING;
        if (!kl_lobby_reaches(from))
            to->state = from->place == KL_PLACE_LEAVING ? KL_MEMBER_GONE : KL_MEMBER_AWAY;
    }
    roster->watchers = (uint16_t)r->watch.count;
    roster->delay_s = r->watch.delay_s;
    roster->waiting = (uint8_t)kl_lobby_waiting(r, roster->queue);
    return m;
}

static bool has_much_to_take(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_net *net = &r->lobby->net;
    return net->pending(net->ctx, r->member[member].peer) > ROSTERS_UNDER_WAY;
}

void kl_lobby_send_roster(struct kl_lobby_room *r) {
    struct kl_msg m = roster_of(r);
    uint16_t owed = r->talk.roster_changed ? UINT16_MAX : r->talk.roster_owed;
    if (r->talk.roster_changed) kl_lobby_watch_roster(r, &m.roster);
    r->talk.roster_changed = false;
    r->talk.roster_owed = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!(owed >> i & 1) || !kl_lobby_reaches(&r->member[i])) continue;
        if (has_much_to_take(r, i))
            r->talk.roster_owed |= (uint16_t)(1U << i);
        else
            kl_lobby_send(r->lobby, r->member[i].peer, &m);
    }
}

void kl_lobby_send_roster_to(struct kl_lobby_room *r, unsigned peer) {
    struct kl_msg m = roster_of(r);
    kl_lobby_send(r->lobby, peer, &m);
}

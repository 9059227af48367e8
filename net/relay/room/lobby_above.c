/* Jobs of the lobby for the folders below it, which cannot call it. */
#include "net/relay/room/lobby_room.h"

void kl_lobby_turn_away(struct kl_lobby *l, unsigned peer, enum kl_refuse code, const char *text) {
    l->above->turn_away(l, peer, code, text);
}

void kl_lobby_put_out(struct kl_lobby_room *r, unsigned member, enum kl_refuse code, const char *text,
                      uint64_t now_us) {
    r->lobby->above->put_out(r, member, code, text, now_us);
}

void kl_lobby_forget(struct kl_lobby_room *r, unsigned member, const char *why, uint64_t now_us) {
    r->lobby->above->forget(r, member, why, now_us);
}

int kl_lobby_reseat(struct kl_lobby_room *r, unsigned member, uint8_t seats, const char *why,
                    uint64_t now_us) {
    return r->lobby->above->reseat(r, member, seats, why, now_us);
}

bool kl_lobby_way_apart(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    return r->lobby->above->way_apart(r, member, now_us);
}

bool kl_lobby_way_anew(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    return r->lobby->above->way_anew(r, member, now_us);
}

void kl_lobby_take_return(struct kl_lobby *l, unsigned peer, const struct kl_return *b, uint64_t now_us) {
    l->above->take_return(l, peer, b, now_us);
}

void kl_lobby_end_room(struct kl_lobby_room *r, const char *why_members, const char *why_watchers,
                       uint64_t now_us) {
    r->lobby->above->end_room(r, why_members, why_watchers, now_us);
}

void kl_lobby_free_empty_rooms(struct kl_lobby *l) {
    l->above->free_empty_rooms(l);
}

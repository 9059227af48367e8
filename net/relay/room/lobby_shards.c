/* The rooms of a relay of several processes (net/transport/shards.h): each has those of its buckets. */
#include <sodium.h>

#include "net/relay/room/lobby_room.h"
#include "net/session/handshake.h"

#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_relaxed)

bool kl_lobby_has_bucket(const struct kl_lobby *l, uint8_t first) {
    return !l->shards || first % KL_BUCKETS % l->shards->count == l->shards->own;
}

bool kl_lobby_has_name(const struct kl_lobby *l, const char *name) {
    return !l->shards || kl_lobby_has_bucket(l, kl_bucket(l->pub, name));
}

/* So a file's name tells the process that loads it, however many there are by then. */
void kl_lobby_draw_id(struct kl_lobby_room *r) {
    randombytes_buf(r->id, sizeof r->id);
    r->id[0] = (uint8_t)(r->id[0] / KL_BUCKETS * KL_BUCKETS + kl_bucket(r->lobby->pub, r->name));
}

void kl_lobby_shards_note(struct kl_lobby *l, unsigned place) {
    const struct kl_lobby_room *r = l->room[place];
    if (!l->shards) return;
    struct kl_shard *own = &l->shards->all[l->shards->own];
    PUT(own->rooms, l->rooms);
    PUT(own->room[place].bytes, 0);
    PUT(own->room[place].maker, r ? kl_shards_maker(r->maker) : 0);
    if (!r) kl_shards_list(l->shards, place, NULL);
}

unsigned kl_lobby_rooms_in_all(const struct kl_lobby *l) {
    return l->shards ? kl_shards_rooms(l->shards) : l->rooms;
}

/* The rooms of a relay of several processes (net/transport/shards.h): each has those of its buckets. */
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "net/relay/room/lobby_room.h"
#include "net/session/handshake.h"

#define ID_TIME 6 /* bytes of milliseconds behind the bucket; the rest is of chance */

#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_relaxed)

bool kl_lobby_has_bucket(const struct kl_lobby *l, uint8_t first) {
    return !l->shards || first % KL_BUCKETS % l->shards->count == l->shards->own;
}

bool kl_lobby_has_name(const struct kl_lobby *l, const char *name) {
    return !l->shards || kl_lobby_has_bucket(l, kl_bucket(l->pub, name));
}

/* So a file's name tells the process that loads it, however many there are by then; and of two rooms of one
 * name the later one. */
void kl_lobby_draw_id(struct kl_lobby_room *r) {
    const uint64_t now_ms = kl_wall_us() / 1000;
    randombytes_buf(r->id, sizeof r->id);
    r->id[0] = kl_bucket(r->lobby->pub, r->name);
    for (unsigned i = 0; i < ID_TIME; i++)
        r->id[1 + i] = (uint8_t)(now_ms >> 8 * (ID_TIME - 1 - i));
}

void kl_lobby_shards_note(struct kl_lobby *l, unsigned place) {
    const struct kl_lobby_room *r = l->room[place];
    if (!l->shards) return;
    struct kl_shard *own = &l->shards->all[l->shards->own];
    PUT(own->rooms, l->rooms);
    PUT(own->room[place].bytes, 0);
    PUT(own->room[place].maker, r ? kl_shards_maker(r->maker) : 0);
    if (!r) kl_shards_list(l->shards, place, &(struct kl_shard_line){.is = KL_SHARD_NO_ROOM});
}

void kl_lobby_shards_id(const struct kl_lobby *l, unsigned place, uint8_t id[KL_ROOM_ID_BYTES]) {
    memcpy(id, l->room[place]->id, KL_ROOM_ID_BYTES);
}

unsigned kl_lobby_rooms_in_all(const struct kl_lobby *l) {
    return l->shards ? kl_shards_rooms(l->shards) : l->rooms;
}

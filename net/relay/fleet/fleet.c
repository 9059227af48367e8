#include "net/relay/fleet/fleet.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/wait.h"

#define GET(x)    atomic_load_explicit(&(x), memory_order_acquire)
#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_release)

void kl_fleet_ask(struct kl_fleet *f, unsigned i, const char *room, bool claims) {
    struct kl_fleet_ask *a = &f->ask[f->shards->own][i];
    snprintf(a->room, sizeof a->room, "%s", room);
    a->claims = claims;
    PUT(a->asked, GET(a->asked) + 1);
    kl_wake(f->wake);
}

enum kl_fleet_answer kl_fleet_answer(const struct kl_fleet *f, unsigned i, struct kl_addresses *at) {
    const struct kl_fleet_ask *a = &f->ask[f->shards->own][i];
    if (!GET(f->speaks)) return KL_FLEET_SILENT;
    if (GET(a->answered) != GET(a->asked)) return KL_FLEET_WAIT;
    *at = a->at;
    return a->answer;
}

/* --- the list --- */

static bool others(const struct kl_fleet *f, struct kl_fleet_others *out) {
    return kl_seqlock_read(&f->others_lock, out, &f->others, sizeof *out);
}

static bool room_at(const struct kl_fleet *f, unsigned i, struct kl_fleet_room *out) {
    return kl_seqlock_read(&f->room_lock[i], out, &f->room[i], sizeof *out) &&
           out->line.is != KL_SHARD_NO_ROOM;
}

bool kl_fleet_find(const struct kl_fleet *f, const char *room, struct kl_addresses *at) {
    struct kl_fleet_others all;
    struct kl_fleet_room r;
    if (!others(f, &all)) return false;
    for (unsigned i = 0; i < KL_FLEET_ROOMS; i++) {
        if (!room_at(f, i, &r) || strcmp(r.line.line.name, room) != 0 || r.relay >= all.count) continue;
        *at = all.relay[r.relay].at;
        return at->count;
    }
    return false;
}

bool kl_fleet_with_place(const struct kl_fleet *f, struct kl_addresses *at) {
    struct kl_fleet_others all;
    at->count = 0;
    if (!others(f, &all)) return false;
    for (unsigned i = 0; i < all.count; i++)
        if (all.relay[i].has_place && all.relay[i].at.count) kl_addresses_add(at, &all.relay[i].at.at[0]);
    return at->count;
}

bool kl_fleet_line(const struct kl_fleet *f, unsigned i, struct kl_room_line *out) {
    struct kl_fleet_room r;
    if (!room_at(f, i, &r)) return false;
    *out = r.line.line;
    return r.line.is == KL_SHARD_LISTED;
}

#include "net/relay/room/fleet.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/wait.h"

#define GET(x)    atomic_load_explicit(&(x), memory_order_acquire)
#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_release)

void kl_fleet_ask(struct kl_fleet *f, unsigned i, const char *room, enum kl_fleet_how how) {
    struct kl_fleet_ask *a = &f->ask[f->shards->own][i];
    snprintf(a->room, sizeof a->room, "%s", room);
    a->how = how;
    PUT(a->asked, GET(a->asked) + 1);
    kl_wake(f->wake);
}

bool kl_fleet_speaks(const struct kl_fleet *f, uint64_t now_us) {
    return now_us < GET(f->lease_us);
}

enum kl_fleet_answer kl_fleet_answer(const struct kl_fleet *f, unsigned i, uint64_t now_us,
                                     struct kl_addresses *at, uint8_t id[KL_ROOM_ID_BYTES]) {
    const struct kl_fleet_ask *a = &f->ask[f->shards->own][i];
    if (!kl_fleet_speaks(f, now_us)) return KL_FLEET_SILENT;
    if (GET(a->answered) != GET(a->asked)) return KL_FLEET_WAIT;
    *at = a->at;
    memcpy(id, a->id, sizeof a->id);
    return a->answer;
}

/* --- files --- */

void kl_fleet_note(struct kl_fleet *f, unsigned place, const struct kl_fleet_record *record) {
    const unsigned own = f->shards->own;
    kl_seqlock_write(&f->record_lock[own][place], &f->record[own][place], record, sizeof *record);
    atomic_fetch_or(&f->changed[own][place / 64], UINT64_C(1) << place % 64);
    if (!atomic_exchange(&f->awake, 1)) kl_wake(f->wake);
}

/* A slot has less than 2^18 bytes, and its number is of the same room. */
uint64_t kl_fleet_mark(const uint8_t id[KL_ROOM_ID_BYTES], uint64_t slot, uint32_t bytes) {
    return (uint64_t)kl_fleet_tag(id) << 32 | (uint32_t)(slot << 18) | bytes;
}

bool kl_fleet_awaits(struct kl_fleet *f, unsigned place, uint64_t mark) {
    const unsigned own = f->shards->own;
    atomic_store(&f->holds[own], 1); /* before the look: what comes after it wakes this process */
    return atomic_load(&f->copied[own][place]) != mark;
}

void kl_fleet_copied(struct kl_fleet *f, unsigned shard, unsigned place, uint64_t mark) {
    atomic_store(&f->copied[shard][place], mark);
}

void kl_fleet_copied_all(struct kl_fleet *f) {
    for (unsigned s = 0; s < f->shards->count; s++)
        if (atomic_exchange(&f->holds[s], 0)) kl_wake(f->copied_wake[s]);
}

uint32_t kl_fleet_tag(const uint8_t id[KL_ROOM_ID_BYTES]) {
    uint32_t tag;
    memcpy(&tag, &id[KL_ROOM_ID_BYTES / 2], sizeof tag); /* bytes of chance */
    return tag | 1;
}

void kl_fleet_lose(struct kl_fleet *f, unsigned shard, unsigned place, const uint8_t id[KL_ROOM_ID_BYTES]) {
    atomic_store(&f->lost[shard][place], kl_fleet_tag(id));
    atomic_fetch_add(&f->losses, 1);
    kl_wake(f->wake);
}

void kl_fleet_want(struct kl_fleet *f, unsigned shard, unsigned place, const uint8_t id[KL_ROOM_ID_BYTES]) {
    atomic_store(&f->wanted[shard][place], kl_fleet_tag(id));
    atomic_fetch_add(&f->wants, 1);
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

unsigned kl_fleet_relays(const struct kl_fleet *f) {
    struct kl_fleet_others all;
    return others(f, &all) ? 1 + all.count : 1;
}

uint32_t kl_fleet_turn(const struct kl_fleet *f) {
    return atomic_load_explicit(&f->others_lock, memory_order_relaxed) | 1;
}

/* Rendezvous hashing (Thaler, Ravishankar 1998): the highest hash of room and relay comes first. */
void kl_fleet_successors(const struct kl_fleet *f, const char *room, struct kl_addresses *at) {
    struct kl_fleet_others all;
    uint64_t below = UINT64_MAX;
    at->count = 0;
    if (!others(f, &all)) return;
    for (unsigned n = 0; n < all.count; n++) {
        uint64_t most = 0;
        unsigned next = 0;
        for (unsigned i = 0; i < all.count; i++) {
            const uint64_t rank = kl_shards_maker(room) * (all.relay[i].hash | 1) ^ all.relay[i].hash;
            if (rank < below && rank >= most) most = rank, next = i;
        }
        below = most;
        for (unsigned i = 0; i < all.relay[next].at.count; i++)
            kl_addresses_add(at, &all.relay[next].at.at[i]);
    }
}

bool kl_fleet_line(const struct kl_fleet *f, unsigned i, struct kl_room_line *out) {
    struct kl_fleet_room r;
    if (!room_at(f, i, &r)) return false;
    *out = r.line.line;
    return r.line.is == KL_SHARD_LISTED;
}

const char *kl_fleet_places(char out[KL_TEXT_MAX], const struct kl_addresses *at) {
    char place[KL_PLACE_TEXT];
    _Static_assert(KL_ADDRESSES_MAX * KL_PLACE_TEXT <= KL_TEXT_MAX, "they fit");
    *out = 0;
    for (unsigned i = 0; i < at->count; i++) {
        if (i) strcat(out, " ");
        strcat(out, kl_address_place(place, &at->at[i]));
    }
    return out;
}

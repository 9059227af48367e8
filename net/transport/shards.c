#include "net/transport/shards.h"

#include <string.h>

#include <sodium.h>

#define GET(x)    atomic_load_explicit(&(x), memory_order_relaxed)
#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_relaxed)

void kl_shards_begin(struct kl_shards *s, struct kl_shard *memory, unsigned count) {
    *s = (struct kl_shards){.all = memory, .count = count};
    randombytes_buf(s->secret, sizeof s->secret);
    randombytes_buf(&s->seed, sizeof s->seed);
}

struct kl_shard_cell *kl_shards_cell(const struct kl_shards *s, struct kl_shard_cell *cells, uint64_t who) {
    uint64_t hash = (who ^ s->seed) * UINT64_C(0x9e3779b97f4a7c15);
    struct kl_shard_cell *best = NULL;
    for (unsigned i = 0; i < KL_SHARD_PROBES; i++) {
        struct kl_shard_cell *c = &cells[((hash >> 48) + i) % KL_SHARD_CELLS];
        if (GET(c->who) == who) return c;
        if (!best || GET(c->since_us) < GET(best->since_us)) best = c;
    }
    return best;
}

unsigned kl_shards_sessions(const struct kl_shards *s, unsigned slots, uint64_t who) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned n = 0; n < slots; n++)
            count += GET(s->all[i].holder[n]) == who;
    return count;
}

unsigned kl_shards_rooms(const struct kl_shards *s) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++)
        count += GET(s->all[i].rooms);
    return count;
}

unsigned kl_shards_clients(const struct kl_shards *s) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++)
        count += GET(s->all[i].clients);
    return count;
}

unsigned kl_shards_asked(const struct kl_shards *s, bool network, uint64_t who, uint64_t since_us) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->count; i++) {
        if (i == s->own) continue;
        struct kl_shard_cell *c = kl_shards_cell(s, network ? s->all[i].net_rate : s->all[i].rate, who);
        if (GET(c->who) == who && GET(c->since_us) > since_us) count += GET(c->count);
    }
    return count;
}

unsigned kl_shards_made(const struct kl_shards *s, uint64_t maker, uint64_t *bytes) {
    unsigned count = 0;
    *bytes = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const struct kl_shard_room *room = s->all[i].room;
        for (unsigned n = 0; i != s->own && n < KL_SHARD_ROOMS; n++) {
            if (GET(room[n].maker) != maker) continue;
            *bytes += GET(room[n].bytes);
            count++;
        }
    }
    return count;
}

uint64_t kl_shards_maker(const char *host) {
    static const uint8_t none[crypto_shorthash_KEYBYTES];
    uint64_t hash;
    crypto_shorthash((uint8_t *)&hash, (const uint8_t *)host, strlen(host), none);
    return hash ? hash : 1;
}

/* --- lines --- */

void kl_shards_list(struct kl_shards *s, unsigned place, const struct kl_shard_line *line) {
    struct kl_shard *own = &s->all[s->own];
    if (line->is == KL_SHARD_NO_ROOM && own->line[place].is == KL_SHARD_NO_ROOM) return;
    kl_seqlock_write(&own->line_lock[place], &own->line[place], line, sizeof *line);
}

struct kl_shard_line kl_shards_line(const struct kl_shards *s, unsigned shard, unsigned place) {
    const struct kl_shard *from = &s->all[shard];
    struct kl_shard_line line;
    if (!kl_seqlock_read(&from->line_lock[place], &line, &from->line[place], sizeof line))
        line.is = KL_SHARD_NO_ROOM;
    return line;
}

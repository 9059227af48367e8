/* shards.h - the table of a relay's processes, its shards, in memory that all of them have: sessions and
 * rooms by address, and the list of rooms. net/relay/program/README.md, Shards.
 *
 * A shard writes its own part alone. Others read its numbers one by one, each of them whole by itself, and a
 * line of its list of rooms in a bounded number of tries: the writer may have died inside. A relay of one
 * process has such a table, too. Nothing here is looked at for a frame. */
#ifndef KL_SHARDS_H
#define KL_SHARDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/platform/seqlock.h"
#include "net/transport/strangers.h"

#define KL_SHARDS_MAX   15   /* so that LIST can name each place of a room */
#define KL_SHARD_PEERS  4096 /* KL_HUB_PEERS_MAX, and one */
#define KL_SHARD_ROOMS  4096
#define KL_SHARD_CELLS  8192
#define KL_SHARD_PROBES 4

struct kl_shard_cell { /* handshakes of one person's addresses, or of the network around */
    _Atomic uint64_t who, since_us;
    _Atomic uint32_t count;
    _Atomic uint32_t last; /* of the newest INIT of an address, so that its repetitions do not count */
};
struct kl_shard_room {
    _Atomic uint64_t maker, bytes; /* kl_shards_maker(); 0: no room. Bytes that count for the maker */
};
enum kl_shard_listed { KL_SHARD_NO_ROOM, KL_SHARD_UNLISTED, KL_SHARD_LISTED };
struct kl_shard_line {
    enum kl_shard_listed is;
    uint8_t id[KL_ROOM_ID_BYTES];
    struct kl_room_line line;
};

struct kl_shard {
    _Atomic uint32_t rooms, clients;
    _Atomic uint64_t holder[KL_SHARD_PEERS]; /* by slot: kl_address_person() of its session, 0: free */
    struct kl_shard_cell rate[KL_SHARD_CELLS], net_rate[KL_SHARD_CELLS];
    struct kl_shard_room room[KL_SHARD_ROOMS]; /* by place */
    kl_seqlock line_lock[KL_SHARD_ROOMS];
    struct kl_shard_line line[KL_SHARD_ROOMS];
};

struct kl_shards {
    struct kl_shard *all; /* of them, in their order */
    unsigned count, own;  /* own: this process's */
    uint8_t secret[32];   /* of the cookies */
    uint64_t seed;        /* of the cells' order */
};

/* memory: zeros for count of them, which outlive it; the secrets are drawn. Later each process sets its own
 * `own`. */
void kl_shards_begin(struct kl_shards *s, struct kl_shard *memory, unsigned count);

/* The cell of this person in cells[KL_SHARD_CELLS], or the one that would be its own: look at its `who`. */
struct kl_shard_cell *kl_shards_cell(const struct kl_shards *s, struct kl_shard_cell *cells, uint64_t who);

/* Of all shards together; slots: that each may have. */
unsigned kl_shards_sessions(const struct kl_shards *s, unsigned slots, uint64_t who);
unsigned kl_shards_rooms(const struct kl_shards *s);
unsigned kl_shards_clients(const struct kl_shards *s);
/* Handshakes of this person, or network, since since_us, in the other shards. */
unsigned kl_shards_asked(const struct kl_shards *s, bool network, uint64_t who, uint64_t since_us);
/* Rooms of this maker in the other shards; bytes gets theirs. */
unsigned kl_shards_made(const struct kl_shards *s, uint64_t maker, uint64_t *bytes);
/* A number that stands for an address's text (kl_address_host()); never 0. */
uint64_t kl_shards_maker(const char *host);

/* This shard's room at `place` < KL_SHARD_ROOMS. */
void kl_shards_list(struct kl_shards *s, unsigned place, const struct kl_shard_line *line);
/* A shard's line. KL_SHARD_NO_ROOM also if it is being written. */
struct kl_shard_line kl_shards_line(const struct kl_shards *s, unsigned shard, unsigned place);

#endif

/* directory_parts.h - shared by the files of the directory. Only inside net/relay/fleet. */
#ifndef KL_DIRECTORY_PARTS_H
#define KL_DIRECTORY_PARTS_H

#include "net/relay/fleet/directory.h"
#include "net/relay/fleet/replica.h"
#include "net/session/url.h"

#define CLAIMS     1024 /* names that wait for their rooms */
#define NAME_BYTES (KL_URL_HOST_MAX + 10)
#define KEY_BYTES  (NAME_BYTES + 16)
#define TEXT_BYTES 1024 /* of an entry */

/* In scripts: true for 10 s after Redis has begun anew, empty or as another process. Relays that are alive
 * may be missing in it until then. */
#define KL_DIRECTORY_FRESH                                                                                   \
    "local function fresh()\n"                                                                               \
    "  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')\n"                             \
    "  local now = tonumber(redis.call('TIME')[1])\n"                                                        \
    "  local was = redis.call('HMGET', 'keylock:begun', 'run', 'since')\n"                                   \
    "  if was[1] == run and now >= tonumber(was[2]) then return now < was[2] + 10 end\n"                     \
    "  redis.call('HSET', 'keylock:begun', 'run', run, 'since', now)\n"                                      \
    "  return true\n"                                                                                        \
    "end\n"

/* A room of this relay as Redis has it. */
struct told {
    struct kl_shard_line line;
    enum { TOLD_NOTHING, TOLD_CLAIM, TOLD_LINE, TOLD_TWICE /* another relay has one of that name */ } what;
    bool asks; /* whether another relay has the name */
};

struct other {
    char name[NAME_BYTES];
    unsigned long turn;
    bool seen, wrong_key, fresh; /* fresh: its rooms are to be read */
    struct kl_fleet_other is;
    struct kl_shard_line *line; /* from malloc */
    size_t lines;
};

struct directory {
    struct kl_fleet *fleet;
    const struct kl_directory_config *config;
    char name[NAME_BYTES], rooms_key[KEY_BYTES];
    struct kl_addresses at; /* this relay's */
    uint64_t look_up_us;
    struct kl_redis *redis;
    struct kl_replica *replica;       /* NULL: there is no journal */
    unsigned owed;                    /* answers, of add() */
    uint32_t losses;                  /* that Redis knows of */
    bool lost;                        /* the log says that Redis is away */
    unsigned long turn;               /* of changes of the rooms' lines */
    struct told *told[KL_SHARDS_MAX]; /* fleet->rooms_most of each */
    struct {
        char room[KL_NAME_MAX];
        uint64_t until_us; /* 0: free */
    } claim[CLAIMS];
    struct other other[KL_FLEET_RELAYS];
    unsigned others;
    struct kl_fleet_others told_others;
    struct kl_fleet_room now, listed[KL_FLEET_ROOMS];
    char err[256];
};

/* --- directory.c --- */
extern const char kl_directory_renew[];
/* For the log; good until the next call. */
const char *kl_directory_quoted(const char *text);
const char *kl_directory_key(char out[KEY_BYTES], const char *kind, const char *name);
void kl_directory_script(struct directory *d, const char *script, const char *a, const char *b,
                         const char *c);
/* kl_redis_next(); false with d->err. */
bool kl_directory_next(struct directory *d, struct kl_redis_answer *a);

/* --- directory_rooms.c: this relay's rooms --- */
extern const char kl_directory_claim[];
/* Redis gets what has changed. False with d->err. */
bool kl_directory_tell(struct directory *d, uint64_t now_us);
/* It has nothing any more. */
void kl_directory_tell_anew(struct directory *d);
/* The name waits for its room. False with d->err. */
bool kl_directory_keep_claim(struct directory *d, const char *room, uint64_t now_us);

/* --- directory_rooms.c: other relays, and their rooms --- */
/* The value of a word key=value; "": there is none. Returns out. */
const char *kl_directory_word(const char *text, const char *key, char *out, size_t cap);
void kl_directory_addresses(const char *text, struct kl_addresses *out);
void kl_directory_take_entry(struct directory *d, const char *name, const char *text);
void kl_directory_drop_unseen(struct directory *d);
bool kl_directory_read_rooms(struct directory *d, struct other *o);
/* Into the memory that the rooms' processes read. */
void kl_directory_list(struct directory *d);

#endif

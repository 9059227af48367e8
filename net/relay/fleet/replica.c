#include "net/relay/fleet/replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/durable/store.h"
#include "net/relay/durable/tail.h"
#include "net/relay/log/relay_log.h"

#define AT_ONCE     64      /* rooms in one pipeline */
#define CHUNK_BYTES 262144u /* of one recording in one command */
#define ID_DIGITS   (2 * KL_ROOM_ID_BYTES + 1)

/* ARGV: room, id, relay, the number known here, seconds. Answers the copy's number; 0: not
 * without an entry of this relay; "": the room is another relay's. */
static const char begin_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner', 'number')\n"
    "if redis.call('EXISTS', 'keylock:relay:' .. ARGV[3]) == 0 then return 0 end\n"
    "if have[1] == ARGV[2] and have[2] ~= ARGV[3] then return '' end\n"
    "for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
    "  if id ~= ARGV[3] and redis.call('EXISTS', 'keylock:relay:' .. id) == 1 and\n"
    "     redis.call('HEXISTS', 'keylock:rooms:' .. id, ARGV[1]) == 1 then return '' end\n"
    "end\n"
    "local number = math.max(tonumber(have[3] or '0'), tonumber(ARGV[4])) + 1\n"
    "if have[1] ~= ARGV[2] then redis.call('HDEL', rec, 'copy') end\n"
    "redis.call('HSET', rec, 'id', ARGV[2], 'owner', ARGV[3], 'number', number)\n"
    "redis.call('EXPIRE', rec, ARGV[5])\n"
    "return number\n";

/* ARGV: room, id, relay, number, place in the recording, its bytes, place in the slot, its bytes, "1" if the
 * copy is whole then, seconds. Answers "ok"; "other": the room is another relay's; "gap". */
static const char write_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner', 'number', 'copy')\n"
    "if have[1] ~= ARGV[2] or have[2] ~= ARGV[3] or have[3] ~= ARGV[4] then return have[1] and 'other' or "
    "'gap' end\n"
    "local suffix = ARGV[2] .. ':' .. ARGV[4]\n"
    "local klr, tail = 'keylock:klr:' .. suffix, 'keylock:tail:' .. suffix\n"
    "if ARGV[6] ~= '' then\n"
    "  if redis.call('STRLEN', klr) ~= tonumber(ARGV[5]) then return 'gap' end\n"
    "  redis.call('APPEND', klr, ARGV[6])\n"
    "end\n"
    "if ARGV[8] ~= '' and ARGV[7] == '0' then redis.call('SET', tail, ARGV[8])\n"
    "elseif ARGV[8] ~= '' then\n"
    "  if redis.call('STRLEN', tail) ~= tonumber(ARGV[7]) then return 'gap' end\n"
    "  redis.call('APPEND', tail, ARGV[8])\n"
    "end\n"
    "if ARGV[9] == '1' and have[4] ~= ARGV[4] then\n"
    "  if have[4] then\n"
    "    redis.call('DEL', 'keylock:klr:' .. ARGV[2] .. ':' .. have[4], 'keylock:tail:' .. ARGV[2] .. ':' .. "
    "have[4])\n"
    "  end\n"
    "  redis.call('HSET', rec, 'copy', ARGV[4])\n"
    "end\n"
    "if ARGV[6] ~= '' or ARGV[7] == '0' then\n"
    "  for _, key in ipairs({rec, klr, tail}) do redis.call('EXPIRE', key, ARGV[10]) end\n"
    "end\n"
    "return 'ok'\n";

/* ARGV: room, id, relay, number. */
static const char end_script[] = "local rec = 'keylock:record:' .. ARGV[1]\n"
                                 "local have = redis.call('HMGET', rec, 'id', 'owner', 'copy')\n"
                                 "if have[1] ~= ARGV[2] or have[2] ~= ARGV[3] then return 'other' end\n"
                                 "for _, number in ipairs({ARGV[4], have[3] or ARGV[4]}) do\n"
                                 "  redis.call('DEL', 'keylock:klr:' .. ARGV[2] .. ':' .. number, "
                                 "'keylock:tail:' .. ARGV[2] .. ':' .. number)\n"
                                 "end\n"
                                 "redis.call('DEL', rec)\n"
                                 "return 'ok'\n";

/* ARGV: room, id, relay. Any relay may take the room then. */
static const char give_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner')\n"
    "if have[1] == ARGV[2] and have[2] == ARGV[3] then redis.call('HSET', rec, 'owner', '') end\n"
    "return 'ok'\n";

enum { BEGIN, WRITE, END, GIVE, SCRIPTS };
static const char *const scripts[SCRIPTS] = {begin_script, write_script, end_script, give_script};

/* A room's copy. */
struct copy {
    struct kl_fleet_record now; /* the files, as they were said to be last */
    uint8_t id[KL_ROOM_ID_BYTES];
    unsigned long number, known; /* of the copy, 0: not begun; the highest so far */
    uint64_t recording, slot;
    uint32_t bytes;   /* of the slot; all three: in Redis */
    bool refused;     /* it is another relay's */
    bool again;       /* the place has another room by now */
    const void *tail; /* its file, mapped; NULL: not yet */
    size_t tail_len;
};

struct step { /* a command under way */
    unsigned shard, place;
    uint64_t recording, slot;
    uint32_t bytes;
};

struct kl_replica {
    struct kl_fleet *fleet;
    const char *relay;
    struct kl_store *store;
    struct kl_redis *redis;
    char hash[SCRIPTS][44];
    struct copy *copy[KL_SHARDS_MAX];                  /* fleet->rooms_most of each */
    uint64_t left[KL_SHARDS_MAX][KL_SHARD_ROOMS / 64]; /* to be copied, as bits */
    struct step step[AT_ONCE];
    unsigned steps;
    bool moved;     /* in this turn */
    uint8_t *chunk; /* CHUNK_BYTES */
};

struct kl_replica *kl_replica_open(struct kl_fleet *fleet, const char *relay, const char *journal, char *err,
                                   size_t err_len) {
    struct kl_replica *c = calloc(1, sizeof *c);
    bool good = c && (c->chunk = malloc(CHUNK_BYTES));
    for (unsigned i = 0; good && i < fleet->shards->count; i++)
        good = (c->copy[i] = calloc(fleet->rooms_most, sizeof *c->copy[i]));
    if (!good) snprintf(err, err_len, "no memory for copies of rooms");
    if (!good || kl_store_open(&c->store, journal, true, err, err_len) != 0) return NULL;
    c->fleet = fleet;
    c->relay = relay;
    return c;
}

/* --- commands --- */

bool kl_replica_begin(struct kl_replica *c, struct kl_redis *redis, char *err, size_t err_len) {
    struct kl_redis_answer a;
    c->redis = redis;
    for (unsigned i = 0; i < SCRIPTS; i++) {
        const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("SCRIPT"), KL_REDIS_TEXT("LOAD"),
                                           KL_REDIS_TEXT(scripts[i])};
        kl_redis_add(redis, arg, 3);
        if (!kl_redis_next(c->redis, &a, err, err_len)) return false;
        snprintf(c->hash[i], sizeof c->hash[i], "%s", a.kind == KL_REDIS_STRING ? a.text : "");
    }
    for (unsigned s = 0; s < c->fleet->shards->count; s++)
        for (unsigned i = 0; i < c->fleet->rooms_most; i++) {
            struct copy *p = &c->copy[s][i];
            if (!p->now.slot) continue;
            p->number = 0;
            c->left[s][i / 64] |= UINT64_C(1) << i % 64;
        }
    return true;
}

struct words {
    char id[ID_DIGITS], number[24], seconds[16];
    struct kl_redis_arg arg[16];
    unsigned args;
};

static void say(struct words *w, const void *bytes, size_t len) {
    w->arg[w->args++] = (struct kl_redis_arg){bytes, len};
}

static void say_text(struct words *w, const char *text) {
    say(w, text, strlen(text));
}

static void start(struct kl_replica *c, struct words *w, unsigned script, const struct copy *p) {
    w->args = 0;
    say_text(w, "EVALSHA");
    say_text(w, c->hash[script]);
    say_text(w, "1");
    say_text(w, "keylock:relays");
    say_text(w, p->now.room);
    say_text(w, sodium_bin2hex(w->id, sizeof w->id, p->id, sizeof p->id));
    say_text(w, c->relay);
    snprintf(w->number, sizeof w->number, "%lu", p->number ? p->number : p->known);
    say_text(w, w->number);
    snprintf(w->seconds, sizeof w->seconds, "%d", KL_REPLICA_KEPT_S);
}

/* --- a room's copy --- */

static void forget_tail(struct copy *p) {
    if (p->tail) kl_store_look_away(p->tail, p->tail_len);
    p->tail = NULL;
}

/* The place has another room than the one that is copied: that one has ended. */
static void change_room(struct copy *p, const struct kl_fleet_record *now) {
    p->again = p->number;
    p->now.slot = 0;
    if (p->again) return;
    forget_tail(p);
    *p = (struct copy){.now = *now};
    memcpy(p->id, now->id, sizeof p->id);
}

static void look(struct kl_replica *c) {
    const struct kl_fleet *f = c->fleet;
    for (unsigned s = 0; s < f->shards->count; s++)
        for (unsigned n = 0; n < KL_SHARD_ROOMS / 64; n++) {
            if (!atomic_load_explicit(&c->fleet->changed[s][n], memory_order_relaxed)) continue;
            c->left[s][n] |= atomic_exchange(&c->fleet->changed[s][n], 0);
        }
}

static bool read_now(struct kl_replica *c, unsigned shard, unsigned place) {
    struct kl_fleet_record now;
    struct copy *p = &c->copy[shard][place];
    const struct kl_fleet *f = c->fleet;
    if (!kl_seqlock_read(&f->record_lock[shard][place], &now, &f->record[shard][place], sizeof now))
        return false;
    if (memcmp(p->id, now.id, sizeof p->id) != 0)
        change_room(p, &now);
    else
        p->now = now;
    return true;
}

static void lose(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    p->refused = true;
    kl_fleet_lose(c->fleet, shard, place, p->id);
}

static const uint8_t *slot_of(struct kl_replica *c, struct copy *p) {
    const size_t at = KL_TAIL_HEAD + p->now.which * (size_t)KL_TAIL_SLOT;
    if (!p->tail && !kl_store_look(c->store, p->id, KL_STORE_TAIL, &p->tail, &p->tail_len)) p->tail = NULL;
    if (!p->tail || p->now.bytes > KL_TAIL_SLOT || at + p->now.bytes > p->tail_len) return NULL;
    return (const uint8_t *)p->tail + at;
}

/* The next bytes of a recording. */
static size_t read_recording(struct kl_replica *c, const struct copy *p) {
    const void *bytes;
    size_t len, part = 0;
    if (p->recording >= p->now.recording) return 0;
    if (!kl_store_look(c->store, p->id, KL_STORE_RECORDING, &bytes, &len)) return 0;
    if (len >= p->now.recording) {
        part = p->now.recording - p->recording < CHUNK_BYTES ? p->now.recording - p->recording : CHUNK_BYTES;
        memcpy(c->chunk, (const uint8_t *)bytes + p->recording, part);
    }
    kl_store_look_away(bytes, len);
    return part;
}

/* 1: a command is under way; 0: there is nothing to say. */
static int add_write(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    struct words w;
    char klr_at[24], tail_at[16];
    const uint8_t *slot = slot_of(c, p);
    const size_t part = read_recording(c, p);
    struct step s = {shard, place, p->recording + part, p->slot, p->bytes};
    const bool whole = s.recording == p->now.recording && slot;
    uint32_t from = p->slot == p->now.slot ? p->bytes : 0;
    size_t bytes = whole && p->now.bytes > from ? p->now.bytes - from : 0;
    if (!part && !bytes) return 0;
    if (bytes) s.slot = p->now.slot, s.bytes = p->now.bytes;
    start(c, &w, WRITE, p);
    snprintf(klr_at, sizeof klr_at, "%llu", (unsigned long long)p->recording);
    snprintf(tail_at, sizeof tail_at, "%u", from);
    say_text(&w, klr_at);
    say(&w, c->chunk, part);
    say_text(&w, bytes ? tail_at : "-");
    say(&w, bytes ? slot + from : c->chunk, bytes);
    say_text(&w, whole ? "1" : "0");
    say_text(&w, w.seconds);
    kl_redis_add(c->redis, w.arg, w.args);
    c->step[c->steps++] = s;
    return 1;
}

static void add_begin(struct kl_replica *c, unsigned shard, unsigned place) {
    struct words w;
    start(c, &w, BEGIN, &c->copy[shard][place]);
    say_text(&w, w.seconds);
    kl_redis_add(c->redis, w.arg, w.args);
    c->step[c->steps++] = (struct step){.shard = shard, .place = place};
}

/* END, or GIVE if another relay shall have the room. */
static void add_end(struct kl_replica *c, unsigned shard, unsigned place, unsigned script) {
    struct words w;
    start(c, &w, script, &c->copy[shard][place]);
    kl_redis_add(c->redis, w.arg, w.args);
    c->step[c->steps++] = (struct step){.shard = shard, .place = place};
}

/* --- turns --- */

/* Calls add(place) for rooms that are left until the pipeline is full. */
static void each_left(struct kl_replica *c,
                      void (*add)(struct kl_replica *c, unsigned shard, unsigned place)) {
    c->steps = 0;
    for (unsigned s = 0; s < c->fleet->shards->count; s++)
        for (unsigned n = 0; n < KL_SHARD_ROOMS / 64; n++)
            for (uint64_t bits = c->left[s][n]; bits && c->steps < AT_ONCE; bits &= bits - 1)
                add(c, s, n * 64 + (unsigned)__builtin_ctzll(bits));
}

static void done(struct kl_replica *c, unsigned shard, unsigned place) {
    c->left[shard][place / 64] &= ~(UINT64_C(1) << place % 64);
}

static void clear(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    if (!p->again) done(c, shard, place);
    forget_tail(p);
    *p = (struct copy){0};
}

/* Those that have ended, or are to be begun. */
static void begin_one(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    if (place >= c->fleet->rooms_most || !read_now(c, shard, place) || (p->refused && p->now.slot)) {
        done(c, shard, place);
        return;
    }
    const bool given = atomic_load(&c->fleet->lost[shard][place]) == kl_fleet_tag(p->id);
    if (!p->now.slot)
        add_end(c, shard, place, given ? GIVE : END);
    else if (!p->number)
        add_begin(c, shard, place);
}

static bool take_begun(struct kl_replica *c, char *err, size_t err_len) {
    struct kl_redis_answer a;
    for (unsigned i = 0; i < c->steps; i++) {
        const unsigned shard = c->step[i].shard, place = c->step[i].place;
        struct copy *p = &c->copy[shard][place];
        if (!kl_redis_next(c->redis, &a, err, err_len)) return false;
        if (!p->now.slot) {
            clear(c, shard, place);
        } else if (a.kind == KL_REDIS_NUMBER) {
            p->number = (unsigned long)a.number;
            if (p->number) p->known = p->number;
            p->recording = p->slot = p->bytes = 0;
            kl_fleet_copied(c->fleet, shard, place, 0);
        } else {
            lose(c, shard, place);
            done(c, shard, place);
        }
    }
    return true;
}

static void write_one(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    if (!p->number || !p->now.slot) return;
    if (!add_write(c, shard, place)) done(c, shard, place);
}

static bool take_written(struct kl_replica *c, char *err, size_t err_len) {
    struct kl_redis_answer a;
    for (unsigned i = 0; i < c->steps; i++) {
        const struct step *s = &c->step[i];
        struct copy *p = &c->copy[s->shard][s->place];
        if (!kl_redis_next(c->redis, &a, err, err_len)) return false;
        const char *word = a.kind == KL_REDIS_STRING ? a.text : "gap";
        if (!strcmp(word, "other")) {
            lose(c, s->shard, s->place);
            done(c, s->shard, s->place);
        } else if (strcmp(word, "ok") != 0) {
            p->number = 0; /* Redis has lost some of it: all again */
        } else {
            c->moved = true;
            p->recording = s->recording;
            p->slot = s->slot;
            p->bytes = s->bytes;
            kl_fleet_copied(c->fleet, s->shard, s->place, kl_fleet_mark(p->id, s->slot, s->bytes));
            if (p->recording == p->now.recording) done(c, s->shard, s->place);
        }
    }
    return true;
}

static bool any_left(const struct kl_replica *c) {
    for (unsigned s = 0; s < c->fleet->shards->count; s++)
        for (unsigned n = 0; n < KL_SHARD_ROOMS / 64; n++)
            if (c->left[s][n]) return true;
    return false;
}

bool kl_replica_turn(struct kl_replica *c, bool *more, char *err, size_t err_len) {
    c->moved = false;
    look(c);
    each_left(c, begin_one);
    if (!take_begun(c, err, err_len)) return false;
    each_left(c, write_one);
    if (!take_written(c, err, err_len)) return false;
    if (c->moved) kl_fleet_copied_all(c->fleet);
    *more = c->moved && any_left(c);
    return true;
}

/* --- taking a room over --- */

static bool put(struct kl_replica *c, const uint8_t id[KL_ROOM_ID_BYTES], enum kl_store_kind kind,
                const void *bytes, size_t len, char *err, size_t err_len) {
    struct kl_file file;
    const struct kl_file_part part = {bytes, len};
    if (!kl_store_make(c->store, id, kind, &file, err, err_len)) return false;
    bool good = kl_store_append(&file, 0, &part, 1, err, err_len);
    kl_file_close(&file);
    return good;
}

bool kl_replica_take(struct kl_replica *c, const struct kl_redis_answer *answer, uint8_t id[KL_ROOM_ID_BYTES],
                     char *err, size_t err_len) {
    const struct kl_redis_answer digits = kl_redis_part(answer, 0), klr = kl_redis_part(answer, 1),
                                 slot = kl_redis_part(answer, 2);
    size_t len;
    if (digits.kind != KL_REDIS_STRING || klr.kind != KL_REDIS_STRING || slot.kind != KL_REDIS_STRING ||
        slot.len > KL_TAIL_SLOT ||
        sodium_hex2bin(id, KL_ROOM_ID_BYTES, digits.text, digits.len, NULL, &len, NULL) != 0 ||
        len != KL_ROOM_ID_BYTES) {
        snprintf(err, err_len, "expected a room's id, recording and tail, got something else");
        return false;
    }
    uint8_t *tail = calloc(1, KL_TAIL_BYTES);
    bool good = tail != NULL;
    if (!good) snprintf(err, err_len, "no memory");
    if (good) kl_tail_image(tail, slot.text, slot.len);
    good = good && kl_store_remove(c->store, id, false, err, err_len) &&
           put(c, id, KL_STORE_TAIL, tail, KL_TAIL_BYTES, err, err_len) &&
           put(c, id, KL_STORE_RECORDING, klr.text, klr.len, err, err_len);
    free(tail);
    for (unsigned s = 0; s < c->fleet->shards->count; s++)
        for (unsigned i = 0; i < c->fleet->rooms_most; i++) {
            uint32_t tag = kl_fleet_tag(id);
            if (!memcmp(c->copy[s][i].id, id, KL_ROOM_ID_BYTES)) c->copy[s][i].refused = false;
            (void)atomic_compare_exchange_strong(&c->fleet->lost[s][i], &tag, 0); /* it was lost before */
        }
    return good;
}

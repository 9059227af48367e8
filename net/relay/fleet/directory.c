#include "net/relay/fleet/directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/lookup.h"
#include "net/platform/wait.h"
#include "net/relay/log/relay_log.h"
#include "net/session/url.h"

#define TIMEOUT_MS 500
#define RENEW_US   (KL_DIRECTORY_RENEW_MS * UINT64_C(1000))
#define LEASE_US   (KL_DIRECTORY_LEASE_MS * UINT64_C(1000))
#define LOOK_UP_US 60000000 /* between two look-ups of the own name */
#define CLAIM_US   30000000 /* a claimed name waits so long for its room: it may ask for a password first */
#define CLAIMS     1024     /* names that wait so */
#define NAME_BYTES (KL_URL_HOST_MAX + 10)
#define KEY_BYTES  (NAME_BYTES + 16)
#define TEXT_BYTES 1024 /* of an entry */

static const char key_relays[] = "keylock:relays";

/* ARGV: this relay, the lease in ms, its text. Answers: 1 if its rooms were still there; then names and texts
 * of all others. */
static const char renew_script[] = "local me = ARGV[1]\n"
                                   "local kept = redis.call('HEXISTS', 'keylock:rooms:' .. me, '')\n"
                                   "if kept == 0 then redis.call('DEL', 'keylock:rooms:' .. me) end\n"
                                   "redis.call('SADD', KEYS[1], me)\n"
                                   "redis.call('SET', 'keylock:relay:' .. me, ARGV[3], 'PX', ARGV[2])\n"
                                   "redis.call('HSET', 'keylock:rooms:' .. me, '', '')\n"
                                   "redis.call('PEXPIRE', 'keylock:rooms:' .. me, ARGV[2])\n"
                                   "local out = {kept}\n"
                                   "for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
                                   "  local text = redis.call('GET', 'keylock:relay:' .. id)\n"
                                   "  if not text then redis.call('SREM', KEYS[1], id)\n"
                                   "  elseif id ~= me then out[#out + 1] = id; out[#out + 1] = text end\n"
                                   "end\n"
                                   "return out\n";

/* ARGV: this relay, a room, "1" to claim it. Answers: the text of the other relay that has it; "": none. */
static const char claim_script[] =
    "local me, room = ARGV[1], ARGV[2]\n"
    "for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
    "  if id ~= me and redis.call('HEXISTS', 'keylock:rooms:' .. id, room) == 1 then\n"
    "    local text = redis.call('GET', 'keylock:relay:' .. id)\n"
    "    if text then return text end\n"
    "  end\n"
    "end\n"
    "if ARGV[3] == '1' and redis.call('EXISTS', 'keylock:rooms:' .. me) == 1 then\n"
    "  redis.call('HSETNX', 'keylock:rooms:' .. me, room, '')\n"
    "end\n"
    "return ''\n";

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
    unsigned owed;                    /* answers, of add() */
    bool lost;                        /* the log says that Redis is away */
    uint64_t confirmed_us;            /* the newest renewal that succeeded was sent then; 0: none */
    unsigned long turn;               /* of changes of the rooms' lines */
    struct told *told[KL_SHARDS_MAX]; /* fleet->rooms_most of each */
    struct {
        char room[KL_NAME_MAX];
        uint64_t until_us; /* 0: free */
    } claim[CLAIMS];
    struct other other[KL_FLEET_RELAYS];
    unsigned others;
    struct kl_fleet_room now, listed[KL_FLEET_ROOMS];
    char err[256];
};

/* For the log; good until the next call. */
static const char *quoted(const char *text) {
    static char out[KL_LOG_QUOTED(TEXT_BYTES)];
    return kl_log_quote(out, sizeof out, text);
}

/* --- commands --- */

static void add_script(struct directory *d, const char *script, const char *a, const char *b, const char *c) {
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("EVAL"),     KL_REDIS_TEXT(script), KL_REDIS_TEXT("1"),
                                       KL_REDIS_TEXT(key_relays), KL_REDIS_TEXT(a),      KL_REDIS_TEXT(b),
                                       KL_REDIS_TEXT(c)};
    kl_redis_add(d->redis, arg, 7);
}

/* An answer that is no error. */
static bool next(struct directory *d, struct kl_redis_answer *a) {
    if (!kl_redis_next(d->redis, a, d->err, sizeof d->err)) return false;
    if (a->kind != KL_REDIS_ERROR) return true;
    snprintf(d->err, sizeof d->err, "%s", a->text);
    return false;
}

static const char *key_of(char out[KEY_BYTES], const char *kind, const char *name) {
    snprintf(out, KEY_BYTES, "keylock:%s:%s", kind, name);
    return out;
}

/* --- entries: words key=value --- */

static const char *word(const char *text, const char *key, char *out, size_t cap) {
    size_t len = strlen(key);
    *out = 0;
    for (const char *at = text; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, key, len) != 0 || at[len] != '=') continue;
        size_t bytes = strcspn(at + len + 1, " ");
        if (bytes < cap) snprintf(out, cap, "%.*s", (int)bytes, at + len + 1);
        break;
    }
    return out;
}

static unsigned long number(const char *text, const char *key) {
    char value[24];
    return strtoul(word(text, key, value, sizeof value), NULL, 10);
}

static void read_addresses(const char *text, struct kl_addresses *out) {
    char all[KL_ADDRESSES_MAX * KL_PLACE_TEXT];
    struct kl_address a;
    out->count = 0;
    word(text, "at", all, sizeof all);
    for (char *at = all, *end; *at; at = end) {
        end = at + strcspn(at, ",");
        if (*end) *end++ = 0;
        if (kl_address_parse_place(at, &a) && a.port) kl_addresses_add(out, &a);
    }
}

static void write_entry(const struct directory *d, char out[TEXT_BYTES]) {
    char at[KL_ADDRESSES_MAX * KL_PLACE_TEXT] = "", place[KL_PLACE_TEXT];
    for (unsigned i = 0; i < d->at.count; i++) {
        size_t len = strlen(at);
        snprintf(at + len, sizeof at - len, "%s%s", i ? "," : "", kl_address_place(place, &d->at.at[i]));
    }
    snprintf(out, TEXT_BYTES, "key=%s at=%s rooms=%u most=%u clients=%u turn=%lu version=%s",
             d->config->fingerprint, at, kl_shards_rooms(d->fleet->shards),
             d->fleet->rooms_most * d->fleet->shards->count, kl_shards_clients(d->fleet->shards), d->turn,
             KL_VERSION);
}

static void look_up(struct directory *d, uint64_t now_us) {
    struct kl_addresses found;
    char why[128];
    if (now_us < d->look_up_us) return;
    d->look_up_us = now_us + LOOK_UP_US;
    if (kl_lookup(d->config->host, &found, NULL, NULL, why, sizeof why) != KL_LOOKUP_FOUND) {
        if (!d->at.count)
            kl_log(KL_LOG_ERROR, "fleet_host", "host=%s reason=%s", d->config->host, quoted(why));
        if (!d->at.count) d->look_up_us = now_us + RENEW_US;
        return;
    }
    for (unsigned i = 0; i < found.count; i++)
        found.at[i].port = d->config->port;
    d->at = found;
}

/* --- this relay's rooms --- */

static void keep_claim(struct directory *d, const char *room, uint64_t now_us) {
    unsigned oldest = 0;
    for (unsigned i = 0; i < CLAIMS; i++)
        if (d->claim[i].until_us < d->claim[oldest].until_us) oldest = i;
    d->claim[oldest].until_us = now_us + CLAIM_US;
    snprintf(d->claim[oldest].room, sizeof d->claim[oldest].room, "%s", room);
}

static void forget_claim(struct directory *d, const char *room) {
    for (unsigned i = 0; i < CLAIMS; i++)
        if (d->claim[i].until_us && !strcmp(d->claim[i].room, room)) d->claim[i].until_us = 0;
}

/* A command whose answer says nothing: take_answers(). */
static void add(struct directory *d, const struct kl_redis_arg *arg, unsigned args) {
    kl_redis_add(d->redis, arg, args);
    d->owed++;
}

static bool take_answers(struct directory *d) {
    struct kl_redis_answer a;
    bool good = true;
    for (; good && d->owed; d->owed--)
        good = next(d, &a);
    return good;
}

static void add_delete(struct directory *d, const char *room) {
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("HDEL"), KL_REDIS_TEXT(d->rooms_key),
                                       KL_REDIS_TEXT(room)};
    add(d, arg, 3);
}

/* Those without a room. */
static void end_claims(struct directory *d, uint64_t now_us) {
    for (unsigned i = 0; i < CLAIMS; i++) {
        if (!d->claim[i].until_us || now_us < d->claim[i].until_us) continue;
        d->claim[i].until_us = 0;
        add_delete(d, d->claim[i].room);
    }
}

/* A room that ended, or gave its place to one of another name. */
static void untell(struct directory *d, struct told *t, const struct kl_shard_line *line) {
    bool had = t->what == TOLD_CLAIM || t->what == TOLD_LINE;
    if (line->is != KL_SHARD_NO_ROOM && !strcmp(line->line.name, t->line.line.name)) return;
    t->what = TOLD_NOTHING;
    if (!had) return;
    d->turn++;
    add_delete(d, t->line.line.name);
}

/* A new room's name; mostly it was claimed before the room was made. */
static void claim(struct directory *d, struct told *t, const struct kl_shard_line *line) {
    if (line->is == KL_SHARD_NO_ROOM || t->what == TOLD_CLAIM || t->what == TOLD_LINE) return;
    add_script(d, claim_script, d->name, line->line.name, "1");
    t->line = *line;
    t->asks = true;
}

static void take_claim(struct told *t, const struct kl_redis_answer *a) {
    char text[KL_LOG_QUOTED(KL_NAME_MAX)], other[NAME_BYTES];
    bool twice = a->kind == KL_REDIS_STRING && a->len > 0;
    if (twice && t->what != TOLD_TWICE)
        kl_log(KL_LOG_ERROR, "fleet_room_twice", "room=%s other=%s",
               kl_log_quote(text, sizeof text, t->line.line.name),
               quoted(word(a->text, "at", other, sizeof other)));
    t->what = twice ? TOLD_TWICE : TOLD_CLAIM;
}

static bool take_claims(struct directory *d) {
    struct kl_redis_answer a;
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        for (unsigned i = 0; i < d->fleet->rooms_most; i++) {
            struct told *t = &d->told[s][i];
            if (!t->asks) continue;
            t->asks = false;
            if (!next(d, &a)) return false;
            take_claim(t, &a);
            if (t->what == TOLD_CLAIM) forget_claim(d, t->line.line.name);
        }
    return true;
}

static void tell(struct directory *d, struct told *t, const struct kl_shard_line *line) {
    uint8_t value[1 + KL_ROOM_LINE_BYTES];
    bool own = t->what == TOLD_CLAIM || t->what == TOLD_LINE;
    if (line->is == KL_SHARD_NO_ROOM || !own || strcmp(line->line.name, t->line.line.name) != 0) return;
    value[0] = (uint8_t)line->is;
    size_t len = 1 + kl_room_line_write(&line->line, value + 1);
    const struct kl_redis_arg arg[] = {
        KL_REDIS_TEXT("HSET"), KL_REDIS_TEXT(d->rooms_key), KL_REDIS_TEXT(line->line.name), {value, len}};
    add(d, arg, 4);
    t->line = *line;
    t->what = TOLD_LINE;
    d->turn++;
}

/* For each room that Redis does not have as it is now, or has and is gone. */
static void each_change(struct directory *d, void (*do_it)(struct directory *d, struct told *t,
                                                           const struct kl_shard_line *line)) {
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        for (unsigned i = 0; i < d->fleet->rooms_most; i++) {
            struct told *t = &d->told[s][i];
            struct kl_shard_line line = kl_shards_line(d->fleet->shards, s, i);
            if (line.is == KL_SHARD_NO_ROOM && t->what == TOLD_NOTHING) continue;
            if (t->what != TOLD_LINE || memcmp(&line, &t->line, sizeof line) != 0) do_it(d, t, &line);
        }
}

static bool tell_rooms(struct directory *d, uint64_t now_us) {
    end_claims(d, now_us);
    each_change(d, untell);
    if (!take_answers(d)) return false;
    each_change(d, claim);
    if (!take_claims(d)) return false;
    each_change(d, tell);
    return take_answers(d);
}

static void tell_all_anew(struct directory *d) {
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        memset(d->told[s], 0, d->fleet->rooms_most * sizeof *d->told[s]);
    memset(d->claim, 0, sizeof d->claim);
}

/* --- the others --- */

static struct other *find_other(struct directory *d, const char *name) {
    for (unsigned i = 0; i < d->others; i++)
        if (!strcmp(d->other[i].name, name)) return &d->other[i];
    if (d->others == KL_FLEET_RELAYS) return NULL;
    struct other *o = &d->other[d->others++];
    *o = (struct other){.fresh = true};
    snprintf(o->name, sizeof o->name, "%s", name);
    kl_log(KL_LOG_INFO, "fleet_relay", "relay=%s", quoted(name));
    return o;
}

static void take_entry(struct directory *d, const char *name, const char *text) {
    char key[KL_FINGERPRINT_CHARS + 1];
    struct other *o = strlen(name) < NAME_BYTES ? find_other(d, name) : NULL;
    if (!o) return;
    o->seen = true;
    bool wrong = strcmp(word(text, "key", key, sizeof key), d->config->fingerprint) != 0;
    if (wrong && !o->wrong_key)
        kl_log(KL_LOG_ERROR, "fleet_key",
               "relay=%s expected=%s reason=\"all relays of a fleet have one relay.key\"", quoted(o->name),
               d->config->fingerprint);
    o->wrong_key = wrong;
    read_addresses(text, &o->is.at);
    o->is.has_place = number(text, "rooms") < number(text, "most");
    unsigned long turn = number(text, "turn");
    o->fresh = o->fresh || turn != o->turn;
    o->turn = turn;
}

static void drop_unseen(struct directory *d) {
    unsigned kept = 0;
    for (unsigned i = 0; i < d->others; i++) {
        struct other *o = &d->other[i];
        if (o->seen) {
            o->seen = false;
            d->other[kept++] = *o;
            continue;
        }
        kl_log(KL_LOG_INFO, "fleet_relay_gone", "relay=%s", quoted(o->name));
        free(o->line);
    }
    d->others = kept;
}

static bool read_line(const struct kl_redis_answer *value, struct kl_shard_line *out) {
    memset(out, 0, sizeof *out);
    if (value->kind != KL_REDIS_STRING || value->len < 2) return false;
    uint8_t is = (uint8_t)value->text[0];
    out->is = is;
    return (is == KL_SHARD_UNLISTED || is == KL_SHARD_LISTED) &&
           kl_room_line_read(&out->line, (const uint8_t *)value->text + 1, value->len - 1) == KL_OK;
}

static bool read_rooms(struct directory *d, struct other *o) {
    char key[KEY_BYTES];
    struct kl_redis_answer all;
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("HVALS"), KL_REDIS_TEXT(key_of(key, "rooms", o->name))};
    if (!o->fresh) return true;
    kl_redis_add(d->redis, arg, 2);
    if (!next(d, &all)) return false;
    size_t most = all.kind == KL_REDIS_LIST ? all.len : 0;
    struct kl_shard_line *line = realloc(o->line, (most ? most : 1) * sizeof *line);
    if (!line) return true;
    o->line = line;
    o->lines = 0;
    for (size_t i = 0; i < most; i++) {
        struct kl_redis_answer value = kl_redis_part(&all, i);
        if (read_line(&value, &o->line[o->lines])) o->lines++;
    }
    o->fresh = false;
    return true;
}

static void list_room(struct directory *d, unsigned place, const struct kl_fleet_room *r) {
    if (!memcmp(&d->listed[place], r, sizeof *r)) return;
    d->listed[place] = *r;
    kl_seqlock_write(&d->fleet->room_lock[place], &d->fleet->room[place], r, sizeof *r);
}

/* Into the memory that the rooms' processes read. */
static void list_all(struct directory *d) {
    struct kl_fleet_others others = {.count = d->others};
    unsigned place = 0;
    for (unsigned i = 0; i < d->others; i++) {
        const struct other *o = &d->other[i];
        if (o->wrong_key) continue;
        others.relay[i] = o->is;
        for (size_t n = 0; n < o->lines && place < KL_FLEET_ROOMS; n++) {
            memset(&d->now, 0, sizeof d->now);
            d->now.relay = i;
            d->now.line = o->line[n];
            list_room(d, place++, &d->now);
        }
    }
    memset(&d->now, 0, sizeof d->now);
    while (place < KL_FLEET_ROOMS)
        list_room(d, place++, &d->now);
    kl_seqlock_write(&d->fleet->others_lock, &d->fleet->others, &others, sizeof others);
}

/* --- Redis --- */

static void lose(struct directory *d) {
    kl_redis_close(d->redis);
    d->redis = NULL;
    d->owed = 0;
    if (!d->lost)
        kl_log(KL_LOG_ERROR, "fleet_lost", "redis=%s reason=%s",
               kl_host_port(d->config->redis.host, d->config->redis.port).text, quoted(d->err));
    d->lost = true;
}

static bool renew(struct directory *d, uint64_t now_us) {
    char text[TEXT_BYTES], ms[16];
    struct kl_redis_answer all;
    write_entry(d, text);
    snprintf(ms, sizeof ms, "%d", KL_DIRECTORY_LEASE_MS);
    add_script(d, renew_script, d->name, ms, text);
    if (!next(d, &all)) return false;
    if (kl_redis_part(&all, 0).number == 0) tell_all_anew(d);
    for (size_t i = 1; i + 1 < all.len; i += 2) {
        struct kl_redis_answer name = kl_redis_part(&all, i), entry = kl_redis_part(&all, i + 1);
        if (name.kind == KL_REDIS_STRING && entry.kind == KL_REDIS_STRING)
            take_entry(d, name.text, entry.text);
    }
    drop_unseen(d);
    if (!tell_rooms(d, now_us)) return false;
    for (unsigned i = 0; i < d->others; i++)
        if (!read_rooms(d, &d->other[i])) return false;
    list_all(d);
    d->confirmed_us = now_us;
    return true;
}

static void note_found(struct directory *d) {
    if (d->lost || !atomic_load(&d->fleet->speaks))
        kl_log(KL_LOG_INFO, "fleet_found", "redis=%s relays=%u",
               kl_host_port(d->config->redis.host, d->config->redis.port).text, d->others + 1);
    d->lost = false;
}

/* Connects if need be, and renews. */
static void speak(struct directory *d) {
    const uint64_t now_us = kl_now_us();
    look_up(d, now_us);
    if (!d->at.count) return;
    if (!d->redis) d->redis = kl_redis_open(&d->config->redis, TIMEOUT_MS, d->err, sizeof d->err);
    if (!d->redis || !renew(d, now_us)) {
        lose(d);
        return;
    }
    note_found(d);
    atomic_store(&d->fleet->speaks, 1);
}

/* --- questions --- */

static bool answer(struct directory *d, struct kl_fleet_ask *q, uint64_t number_of) {
    struct kl_redis_answer a;
    char room[KL_NAME_MAX];
    snprintf(room, sizeof room, "%.*s", (int)sizeof room - 1, q->room);
    q->at.count = 0;
    q->answer = KL_FLEET_SILENT;
    bool good = false;
    if (d->redis) {
        add_script(d, claim_script, d->name, room, q->claims ? "1" : "0");
        good = next(d, &a);
    }
    if (good && a.kind == KL_REDIS_STRING) {
        read_addresses(a.text, &q->at);
        q->answer = q->at.count ? KL_FLEET_ELSEWHERE : KL_FLEET_NOWHERE;
        if (q->claims && !q->at.count) keep_claim(d, room, kl_now_us());
    }
    atomic_store_explicit(&q->answered, number_of, memory_order_release);
    return good;
}

static void answer_all(struct directory *d) {
    kl_wake_clear(d->fleet->wake);
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        for (unsigned i = 0; i < KL_FLEET_ASKS; i++) {
            struct kl_fleet_ask *q = &d->fleet->ask[s][i];
            uint64_t asked = atomic_load_explicit(&q->asked, memory_order_acquire);
            if (asked == atomic_load_explicit(&q->answered, memory_order_relaxed)) continue;
            if (!answer(d, q, asked) && d->redis) lose(d);
        }
}

/* --- */

/* The others need not wait for the lease. */
static void take_leave(struct directory *d) {
    char key[KEY_BYTES];
    struct kl_redis_answer a;
    if (!d->redis) return;
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("DEL"), KL_REDIS_TEXT(key_of(key, "relay", d->name)),
                                       KL_REDIS_TEXT(d->rooms_key)};
    kl_redis_add(d->redis, arg, 3);
    (void)next(d, &a);
    kl_redis_close(d->redis);
}

static bool make(struct directory *d) {
    for (unsigned i = 0; i < d->fleet->shards->count; i++) {
        d->told[i] = calloc(d->fleet->rooms_most, sizeof *d->told[i]);
        if (!d->told[i]) return false;
    }
    return true;
}

int kl_directory_run(struct kl_fleet *fleet, const struct kl_directory_config *config, int quit) {
    struct directory *d = calloc(1, sizeof *d);
    uint64_t next_us = 0;
    if (!d) return 1;
    d->fleet = fleet;
    d->config = config;
    snprintf(d->name, sizeof d->name, "%s", kl_host_port(config->host, config->port).text);
    key_of(d->rooms_key, "rooms", d->name);
    if (!make(d)) return 1;
    for (;;) {
        if (kl_now_us() >= next_us) {
            next_us = kl_now_us() + RENEW_US;
            speak(d);
        }
        if (kl_now_us() >= d->confirmed_us + LEASE_US) atomic_store(&fleet->speaks, 0);
        const int what[] = {quit, fleet->wake};
        uint32_t readable = kl_wait_for(what, 2, next_us);
        if (readable & 1) break;
        if (readable & 2) answer_all(d);
    }
    atomic_store(&fleet->speaks, 0);
    take_leave(d);
    return 0;
}

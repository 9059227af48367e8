#include "net/relay/fleet/directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/relay/fleet/directory_parts.h"
#include "net/relay/log/relay_log.h"

#define TIMEOUT_MS 500
#define RENEW_US   (KL_DIRECTORY_RENEW_MS * UINT64_C(1000))
#define LEASE_US   (KL_DIRECTORY_LEASE_MS * UINT64_C(1000))
#define LOOK_UP_US 60000000 /* between two look-ups of the own name */
#define LAST_TURNS 1000     /* for what is not copied at the end */

static const char key_relays[] = "keylock:relays";

/* ARGV: this relay, the lease in ms, its text. Answers: 1 if its rooms were still there; its rooms that
 * others were asked for; 1 if Redis has begun anew; then names and texts of all others. */
const char kl_directory_renew[] = KL_DIRECTORY_FRESH
    "local me = ARGV[1]\n"
    "local kept = redis.call('HEXISTS', 'keylock:rooms:' .. me, '')\n"
    "if kept == 0 then redis.call('DEL', 'keylock:rooms:' .. me) end\n"
    "redis.call('SADD', KEYS[1], me)\n"
    "redis.call('SET', 'keylock:relay:' .. me, ARGV[3], 'PX', ARGV[2])\n"
    "redis.call('HSET', 'keylock:rooms:' .. me, '', '')\n"
    "redis.call('PEXPIRE', 'keylock:rooms:' .. me, ARGV[2])\n"
    "local out = {kept, redis.call('SMEMBERS', 'keylock:asks:' .. me), fresh() and 1 or 0}\n"
    "redis.call('DEL', 'keylock:asks:' .. me)\n"
    "for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
    "  local text = redis.call('GET', 'keylock:relay:' .. id)\n"
    "  if not text then redis.call('SREM', KEYS[1], id)\n"
    "  elseif id ~= me then out[#out + 1] = id; out[#out + 1] = text end\n"
    "end\n"
    "return out\n";

/* For the log; good until the next call. */
const char *kl_directory_quoted(const char *text) {
    static char out[KL_LOG_QUOTED(TEXT_BYTES)];
    return kl_log_quote(out, sizeof out, text);
}

/* --- commands --- */

void kl_directory_script(struct directory *d, const char *script, const char *a, const char *b,
                         const char *c) {
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("EVAL"),     KL_REDIS_TEXT(script), KL_REDIS_TEXT("1"),
                                       KL_REDIS_TEXT(key_relays), KL_REDIS_TEXT(a),      KL_REDIS_TEXT(b),
                                       KL_REDIS_TEXT(c)};
    kl_redis_add(d->redis, arg, 7);
}

bool kl_directory_next(struct directory *d, struct kl_redis_answer *a) {
    return kl_redis_next(d->redis, a, d->err, sizeof d->err);
}

const char *kl_directory_key(char out[KEY_BYTES], const char *kind, const char *name) {
    snprintf(out, KEY_BYTES, "keylock:%s:%s", kind, name);
    return out;
}

/* --- the entry --- */

static void write_entry(const struct directory *d, char out[TEXT_BYTES]) {
    char at[KL_ADDRESSES_MAX * KL_PLACE_TEXT] = "", place[KL_PLACE_TEXT];
    for (unsigned i = 0; i < d->at.count; i++) {
        size_t len = strlen(at);
        snprintf(at + len, sizeof at - len, "%s%s", i ? "," : "", kl_address_place(place, &d->at.at[i]));
    }
    snprintf(out, TEXT_BYTES, "key=%s at=%s rooms=%u most=%u clients=%u turn=%lu version=%s",
             d->config->fingerprint, at, kl_shards_rooms(d->fleet->shards),
             atomic_load(&d->fleet->draining) ? 0 : d->fleet->rooms_most * d->fleet->shards->count,
             kl_shards_clients(d->fleet->shards), d->turn, KL_VERSION);
}

static void look_up(struct directory *d, uint64_t now_us) {
    struct kl_addresses found;
    char why[128];
    if (now_us < d->look_up_us) return;
    d->look_up_us = now_us + LOOK_UP_US;
    if (kl_lookup(d->config->host, &found, NULL, NULL, why, sizeof why) != KL_LOOKUP_FOUND) {
        if (!d->at.count)
            kl_log(KL_LOG_ERROR, "fleet_host", "host=%s reason=%s", d->config->host,
                   kl_directory_quoted(why));
        if (!d->at.count) d->look_up_us = now_us + RENEW_US;
        return;
    }
    for (unsigned i = 0; i < found.count; i++)
        found.at[i].port = d->config->port;
    d->at = found;
}

/* --- Redis --- */

static void lose(struct directory *d) {
    kl_redis_close(d->redis);
    d->redis = NULL;
    d->owed = 0;
    if (!d->lost)
        kl_log(KL_LOG_ERROR, "fleet_lost", "redis=%s reason=%s",
               kl_host_port(d->config->redis.host, d->config->redis.port).text, kl_directory_quoted(d->err));
    d->lost = true;
}

static void want(struct directory *d, const char *room) {
    for (unsigned s = 0; s < d->fleet->shards->count && room; s++)
        for (unsigned i = 0; i < d->fleet->rooms_most; i++)
            if (d->told[s][i].what != TOLD_NOTHING && !strcmp(d->told[s][i].line.line.name, room))
                kl_fleet_want(d->fleet, s, i, d->told[s][i].line.id);
}

static bool renew(struct directory *d, uint64_t now_us) {
    char text[TEXT_BYTES], ms[16];
    struct kl_redis_answer all;
    write_entry(d, text);
    snprintf(ms, sizeof ms, "%d", KL_DIRECTORY_LEASE_MS);
    kl_directory_script(d, kl_directory_renew, d->name, ms, text);
    if (!kl_directory_next(d, &all)) return false;
    const bool kept = kl_redis_part(&all, 0).number;
    const struct kl_redis_answer asks = kl_redis_part(&all, 1);
    for (size_t i = 0; i < asks.len; i++)
        want(d, kl_redis_part(&asks, i).text);
    atomic_store(&d->fleet->fresh, kl_redis_part(&all, 2).number != 0);
    for (size_t i = 3; i + 1 < all.len; i += 2) {
        struct kl_redis_answer name = kl_redis_part(&all, i), entry = kl_redis_part(&all, i + 1);
        if (name.kind == KL_REDIS_STRING && entry.kind == KL_REDIS_STRING)
            kl_directory_take_entry(d, name.text, entry.text);
    }
    kl_directory_drop_unseen(d);
    if (!kept) kl_directory_tell_anew(d);
    if (!kept && d->replica && !kl_replica_begin(d->replica, d->redis, d->err, sizeof d->err)) return false;
    if (!kl_directory_tell(d, now_us)) return false;
    for (unsigned i = 0; i < d->others; i++)
        if (!kl_directory_read_rooms(d, &d->other[i])) return false;
    kl_directory_list(d);
    return true;
}

/* Of the connection before, Redis may have some or nothing. */
static bool connect(struct directory *d) {
    struct kl_redis_answer a;
    d->redis = kl_redis_open(&d->config->redis, TIMEOUT_MS, d->err, sizeof d->err);
    if (!d->redis) return false;
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("DEL"), KL_REDIS_TEXT(d->rooms_key)};
    kl_redis_add(d->redis, arg, 2);
    return kl_directory_next(d, &a) &&
           (!d->replica || kl_replica_begin(d->replica, d->redis, d->err, sizeof d->err));
}

/* Connects if need be, and renews. */
static void speak(struct directory *d) {
    look_up(d, kl_now_us());
    if (!d->at.count) return;
    if (!d->redis && !connect(d)) {
        lose(d);
        return;
    }
    const uint64_t sent_us = kl_now_us();
    if (!renew(d, sent_us)) {
        lose(d);
        return;
    }
    if (d->lost || !kl_fleet_speaks(d->fleet, kl_now_us()))
        kl_log(KL_LOG_INFO, "fleet_found", "redis=%s relays=%u",
               kl_host_port(d->config->redis.host, d->config->redis.port).text, d->others + 1);
    d->lost = false;
    atomic_store(&d->fleet->lease_us, sent_us + LEASE_US);
}

/* --- questions --- */

static bool read_id(const struct kl_redis_answer *a, uint8_t id[KL_ROOM_ID_BYTES]) {
    const struct kl_redis_answer text = kl_redis_part(a, 0);
    return text.kind == KL_REDIS_STRING &&
           sodium_hex2bin(id, KL_ROOM_ID_BYTES, text.text, text.len, NULL, NULL, NULL) == 0;
}

/* This relay took the room before, and the answer with its files was lost. */
static bool lacks_files(const struct directory *d, const struct kl_redis_answer *a) {
    uint8_t id[KL_ROOM_ID_BYTES];
    return a->kind == KL_REDIS_LIST && a->len == 1 && d->replica && read_id(a, id) &&
           !kl_replica_has(d->replica, id);
}

static bool answer(struct directory *d, struct kl_fleet_ask *q, uint64_t number_of) {
    struct kl_redis_answer a;
    char room[KL_NAME_MAX], name[KL_LOG_QUOTED(KL_NAME_MAX)];
    snprintf(room, sizeof room, "%.*s", (int)sizeof room - 1, q->room);
    q->at.count = 0;
    q->answer = KL_FLEET_SILENT;
    bool good = false;
    if (d->redis) {
        static const char *const how[] = {
            [KL_FLEET_LOOK] = "look", [KL_FLEET_CLAIM] = "claim", [KL_FLEET_BACK] = "back"};
        kl_directory_script(d, kl_directory_claim, d->name, room,
                            how[q->how <= KL_FLEET_BACK ? q->how : KL_FLEET_LOOK]);
        good = kl_directory_next(d, &a);
        if (good && lacks_files(d, &a)) {
            kl_directory_script(d, kl_directory_claim, d->name, room, "bring");
            good = kl_directory_next(d, &a);
        }
    }
    if (good && a.kind == KL_REDIS_LIST && a.len == 0) {
        q->answer = KL_FLEET_LATER;
    } else if (good && a.kind == KL_REDIS_LIST && a.len == 1) {
        q->answer = read_id(&a, q->id) ? KL_FLEET_MINE : KL_FLEET_NOWHERE;
    } else if (good && a.kind == KL_REDIS_LIST) {
        if (d->replica && kl_replica_take(d->replica, &a, q->id, d->err, sizeof d->err))
            q->answer = KL_FLEET_TAKEN;
        else
            kl_log(KL_LOG_ERROR, "fleet_not_taken", "room=%s reason=%s",
                   kl_log_quote(name, sizeof name, room), kl_directory_quoted(d->err));
    } else if (good && a.kind == KL_REDIS_STRING) {
        kl_directory_addresses(a.text, &q->at);
        q->answer = q->at.count ? KL_FLEET_ELSEWHERE : KL_FLEET_NOWHERE;
        if (q->how == KL_FLEET_CLAIM && !q->at.count) good = kl_directory_keep_claim(d, room, kl_now_us());
    }
    atomic_store_explicit(&q->answered, number_of, memory_order_release);
    return good;
}

static void answer_all(struct directory *d) {
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        for (unsigned i = 0; i < KL_FLEET_ASKS; i++) {
            struct kl_fleet_ask *q = &d->fleet->ask[s][i];
            uint64_t asked = atomic_load_explicit(&q->asked, memory_order_acquire);
            if (asked == atomic_load_explicit(&q->answered, memory_order_relaxed)) continue;
            if (!answer(d, q, asked) && d->redis) lose(d);
        }
}

/* --- turns --- */

/* False: some of the copies wait. */
static bool copy_rooms(struct directory *d) {
    bool more = false;
    atomic_store(&d->fleet->awake, 0);
    if (d->redis && d->replica && !kl_replica_turn(d->replica, &more, d->err, sizeof d->err)) lose(d);
    return !more;
}

static void turn(struct directory *d, uint64_t *next_us) {
    const uint32_t losses = atomic_load(&d->fleet->losses);
    if (kl_now_us() >= *next_us || losses != d->losses) { /* the names of rooms that are given are free */
        d->losses = losses;
        *next_us = kl_now_us() + RENEW_US;
        speak(d);
    }
}

/* The others need not wait for the lease. */
static void take_leave(struct directory *d) {
    char key[KEY_BYTES];
    struct kl_redis_answer a;
    if (!d->redis) return;
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("DEL"),
                                       KL_REDIS_TEXT(kl_directory_key(key, "relay", d->name)),
                                       KL_REDIS_TEXT(d->rooms_key)};
    kl_redis_add(d->redis, arg, 3);
    (void)kl_directory_next(d, &a);
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
    kl_directory_key(d->rooms_key, "rooms", d->name);
    bool records = strcmp(config->journal, "off") != 0;
    if (records)
        d->replica = kl_replica_open(fleet, d->name, config->journal, config->copies, d->err, sizeof d->err);
    if (!make(d) || (records && !d->replica)) {
        kl_log(KL_LOG_ERROR, "fleet_fails", "reason=%s", kl_directory_quoted(*d->err ? d->err : "no memory"));
        return 1;
    }
    for (uint32_t readable = 0; !(readable & 1);) {
        turn(d, &next_us);
        bool all = copy_rooms(d);
        answer_all(d); /* last: a room that was given up is free by then */
        const int what[] = {quit, fleet->wake};
        readable = kl_wait_for(what, 2, all ? next_us : 0);
        if (readable & 2) kl_wake_clear(fleet->wake);
    }
    for (unsigned i = 0; i < LAST_TURNS && d->redis && !copy_rooms(d); i++) {
    }
    atomic_store(&fleet->lease_us, 0);
    take_leave(d);
    return 0;
}

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/relay/fleet/directory_parts.h"
#include "net/relay/log/relay_log.h"

/* --- this relay's rooms --- */

/* This relay's rooms, as Redis has them. */

#define CLAIM_US 30000000 /* a claimed name waits so long for its room: it may ask for a password first */

/* ARGV: this relay, a room, "look", "claim" or "back"; or the id of one that is here. Answers: the text of
 * the other relay that has it; "": none. Or id, recording, slot and number of a room whose relay is gone
 * (replica.h): it is this relay's from now on; the id alone: it was before ("bring": the copy once more);
 * nothing: not yet, for Redis has begun anew. Or "stale": another relay went on with the room that is here.
 * Relays with another key are none of this fleet. */
const char kl_directory_claim[] = KL_DIRECTORY_FRESH
    "local me, room = ARGV[1], ARGV[2]\n"
    "local rec = 'keylock:record:' .. room\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner', 'number', 'copy', 'key')\n"
    "local own = redis.call('GET', 'keylock:relay:' .. me)\n"
    "local key = string.match(own or '', 'key=%S+')\n"
    "if have[1] == ARGV[3] and have[2] ~= me then return 'stale' end\n"
    "for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
    "  if id ~= me and redis.call('HEXISTS', 'keylock:rooms:' .. id, room) == 1 then\n"
    "    local text = redis.call('GET', 'keylock:relay:' .. id)\n"
    "    if text and string.match(text, 'key=%S+') ~= key then text = nil end\n"
    "    if text and ARGV[3] == 'back' then\n"
    "      redis.call('SADD', 'keylock:asks:' .. id, room)\n"
    "      redis.call('EXPIRE', 'keylock:asks:' .. id, 5)\n"
    "    end\n"
    "    if text then return text end\n"
    "  end\n"
    "end\n"
    "if ARGV[3] == 'look' or redis.call('EXISTS', 'keylock:rooms:' .. me) == 0 then return '' end\n"
    "if have[4] and have[2] == me and ARGV[3] == 'back' then return {have[1]} end\n"
    "local back = ARGV[3] == 'back' or ARGV[3] == 'bring'\n"
    "local takes = have[4] and (have[2] ~= me or ARGV[3] == 'bring') and have[5] == key\n"
    "if (takes or back) and fresh() then return {} end\n"
    "if takes and (back or ARGV[3] == 'claim') then\n"
    "  local klr = redis.call('GET', 'keylock:klr:' .. have[1] .. ':' .. have[4])\n"
    "  local tail = redis.call('GET', 'keylock:tail:' .. have[1] .. ':' .. have[4])\n"
    "  if klr and tail then\n"
    "    redis.call('HSET', rec, 'owner', me, 'number', tonumber(have[3]) + 1)\n"
    "    redis.call('HSETNX', 'keylock:rooms:' .. me, room, '')\n"
    "    return {have[1], klr, tail, have[4]}\n"
    "  end\n"
    "end\n"
    "if not back then redis.call('HSETNX', 'keylock:rooms:' .. me, room, '') end\n"
    "return ''\n";

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
        good = kl_directory_next(d, &a);
    return good;
}

static void add_delete(struct directory *d, const char *room) {
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("HDEL"), KL_REDIS_TEXT(d->rooms_key),
                                       KL_REDIS_TEXT(room)};
    add(d, arg, 3);
}

bool kl_directory_keep_claim(struct directory *d, const char *room, uint64_t now_us) {
    unsigned oldest = 0;
    for (unsigned i = 0; i < CLAIMS; i++)
        if (d->claim[i].until_us < d->claim[oldest].until_us) oldest = i;
    if (d->claim[oldest].until_us) add_delete(d, d->claim[oldest].room); /* too many */
    d->claim[oldest].until_us = now_us + CLAIM_US;
    snprintf(d->claim[oldest].room, sizeof d->claim[oldest].room, "%s", room);
    return take_answers(d);
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
    char id[2 * sizeof line->id + 1];
    if (line->is == KL_SHARD_NO_ROOM || t->what == TOLD_CLAIM || t->what == TOLD_LINE) return;
    kl_directory_script(d, kl_directory_claim, d->name, line->line.name,
                        sodium_bin2hex(id, sizeof id, line->id, sizeof line->id));
    t->line = *line;
    t->asks = true;
}

/* False: the room is another relay's by now. */
static bool take_claim(struct told *t, const struct kl_redis_answer *a) {
    char text[KL_LOG_QUOTED(KL_NAME_MAX)], other[NAME_BYTES];
    bool twice = a->kind == KL_REDIS_STRING && a->len > 0;
    if (twice && !strcmp(a->text, "stale")) {
        t->what = TOLD_TWICE;
        return false;
    }
    if (twice && t->what != TOLD_TWICE)
        kl_log(KL_LOG_ERROR, "fleet_room_twice", "room=%s other=%s",
               kl_log_quote(text, sizeof text, t->line.line.name),
               kl_directory_quoted(kl_directory_word(a->text, "at", other, sizeof other)));
    t->what = twice ? TOLD_TWICE : TOLD_CLAIM;
    return true;
}

static bool take_claims(struct directory *d) {
    struct kl_redis_answer a;
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        for (unsigned i = 0; i < d->fleet->rooms_most; i++) {
            struct told *t = &d->told[s][i];
            if (!t->asks) continue;
            t->asks = false;
            if (!kl_directory_next(d, &a)) return false;
            if (!take_claim(t, &a)) kl_fleet_lose(d->fleet, s, i, t->line.id);
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

bool kl_directory_tell(struct directory *d, uint64_t now_us) {
    /* Those without a room. A relay that is drained makes none. */
    const bool all = atomic_load(&d->fleet->draining);
    for (unsigned i = 0; i < CLAIMS; i++) {
        if (!d->claim[i].until_us || (now_us < d->claim[i].until_us && !all)) continue;
        d->claim[i].until_us = 0;
        add_delete(d, d->claim[i].room);
    }
    each_change(d, untell);
    if (!take_answers(d)) return false;
    each_change(d, claim);
    if (!take_claims(d)) return false;
    each_change(d, tell);
    return take_answers(d);
}

void kl_directory_tell_anew(struct directory *d) {
    for (unsigned s = 0; s < d->fleet->shards->count; s++)
        memset(d->told[s], 0, d->fleet->rooms_most * sizeof *d->told[s]);
    memset(d->claim, 0, sizeof d->claim);
}

/* --- other relays and their rooms --- */

/* Other relays of the fleet, and their rooms. */

/* --- entries: words key=value --- */

const char *kl_directory_word(const char *text, const char *key, char *out, size_t cap) {
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
    return strtoul(kl_directory_word(text, key, value, sizeof value), NULL, 10);
}

void kl_directory_addresses(const char *text, struct kl_addresses *out) {
    char all[KL_ADDRESSES_MAX * KL_PLACE_TEXT];
    struct kl_address a;
    out->count = 0;
    kl_directory_word(text, "at", all, sizeof all);
    for (char *at = all, *end; *at; at = end) {
        end = at + strcspn(at, ",");
        if (*end) *end++ = 0;
        if (kl_address_parse_place(at, &a) && a.port) kl_addresses_add(out, &a);
    }
}

/* --- the others --- */

static struct other *find_other(struct directory *d, const char *name) {
    for (unsigned i = 0; i < d->others; i++)
        if (!strcmp(d->other[i].name, name)) return &d->other[i];
    if (d->others == KL_FLEET_RELAYS) return NULL;
    struct other *o = &d->other[d->others++];
    *o = (struct other){.fresh = true};
    snprintf(o->name, sizeof o->name, "%s", name);
    kl_log(KL_LOG_INFO, "fleet_relay", "relay=%s", kl_directory_quoted(name));
    return o;
}

void kl_directory_take_entry(struct directory *d, const char *name, const char *text) {
    char key[KL_FINGERPRINT_CHARS + 1];
    struct other *o = strlen(name) < NAME_BYTES ? find_other(d, name) : NULL;
    if (!o) return;
    o->seen = true;
    bool wrong = strcmp(kl_directory_word(text, "key", key, sizeof key), d->config->fingerprint) != 0;
    if (wrong && !o->wrong_key)
        kl_log(KL_LOG_ERROR, "fleet_key",
               "relay=%s expected=%s reason=\"all relays of a fleet have one relay.key\"",
               kl_directory_quoted(o->name), d->config->fingerprint);
    o->wrong_key = wrong;
    kl_directory_addresses(text, &o->is.at);
    o->is.has_place = number(text, "rooms") < number(text, "most");
    o->is.hash = kl_shards_maker(o->name);
    unsigned long turn = number(text, "turn");
    o->fresh = o->fresh || turn != o->turn;
    o->turn = turn;
}

void kl_directory_drop_unseen(struct directory *d) {
    unsigned kept = 0;
    for (unsigned i = 0; i < d->others; i++) {
        struct other *o = &d->other[i];
        if (o->seen) {
            o->seen = false;
            d->other[kept++] = *o;
            continue;
        }
        kl_log(KL_LOG_INFO, "fleet_relay_gone", "relay=%s", kl_directory_quoted(o->name));
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

bool kl_directory_read_rooms(struct directory *d, struct other *o) {
    char key[KEY_BYTES];
    struct kl_redis_answer all;
    const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("HVALS"),
                                       KL_REDIS_TEXT(kl_directory_key(key, "rooms", o->name))};
    if (!o->fresh) return true;
    kl_redis_add(d->redis, arg, 2);
    if (!kl_directory_next(d, &all)) return false;
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
void kl_directory_list(struct directory *d) {
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
    if (memcmp(&d->told_others, &others, sizeof others) != 0)
        kl_seqlock_write(&d->fleet->others_lock, &d->fleet->others, &others, sizeof others);
    d->told_others = others;
}

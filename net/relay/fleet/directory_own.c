/* This relay's rooms, as Redis has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/fleet/directory_parts.h"
#include "net/relay/log/relay_log.h"

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

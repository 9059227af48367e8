/* Other relays of the fleet, and their rooms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/relay/fleet/directory_parts.h"
#include "net/relay/log/relay_log.h"

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

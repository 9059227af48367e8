/* Redis as the fleet uses it: keys with fields and times, and the scripts of net/relay/fleet, in C line by
 * line. */
#include "net/platform/clock.h"
#include "tests/rooms/redis_parts.h"

#define ITEMS 256
#define PARTS 64

bool unfenced;
int64_t redis_clock_us;
struct rng redis_rng;

/* --- its keys --- */

/* A field of a key; a string has one, "". */
struct item {
    char key[256], field[96];
    uint8_t *bytes; /* NULL: no item */
    size_t len;
    uint64_t until_us; /* of its wall clock; 0: for ever */
};
static struct item store[ITEMS], kept[ITEMS];
static unsigned run; /* its process */

static uint64_t wall_us(void) {
    return kl_wall_us() + (uint64_t)redis_clock_us;
}

static void drop(struct item *i) {
    free(i->bytes);
    i->bytes = NULL;
}

/* The next item of the key from there on. */
static struct item *next(struct item *from, const char *key) {
    for (struct item *i = from; i < store + ITEMS; i++) {
        if (i->bytes && i->until_us && wall_us() >= i->until_us) drop(i);
        if (i->bytes && !strcmp(i->key, key)) return i;
    }
    return NULL;
}
#define FIELDS(i, key)                                                                                       \
    struct item *i = next(store, key);                                                                       \
    i;                                                                                                       \
    i = next(i + 1, key)

static struct item *find(const char *key, const char *field) {
    for (FIELDS(i, key)) {
        if (!strcmp(i->field, field)) return i;
    }
    return NULL;
}

const char *redis_get(const char *key, const char *field) {
    const struct item *i = find(key, field);
    return i ? (const char *)i->bytes : NULL;
}

static bool is(const char *a, const char *b) {
    return a && b && !strcmp(a, b);
}

static void erase(const char *key) {
    for (FIELDS(i, key))
        drop(i);
}

static void put(const char *key, const char *field, const void *bytes, size_t len) {
    const struct item *same = next(store, key);
    const uint64_t until_us = same ? same->until_us : 0;
    struct item *i = find(key, field);
    for (unsigned n = 0; !i && n < ITEMS; n++)
        if (!store[n].bytes) i = &store[n];
    if (!i) fail("Redis has more keys than this test has room for");
    drop(i);
    snprintf(i->key, sizeof i->key, "%s", key);
    snprintf(i->field, sizeof i->field, "%s", field);
    i->bytes = malloc(len + 1);
    if (!i->bytes) fail("no memory");
    if (len) memcpy(i->bytes, bytes, len);
    i->bytes[len] = 0;
    i->len = len;
    i->until_us = until_us;
}
static void put_text(const char *key, const char *field, const char *text) {
    put(key, field, text, strlen(text));
}
static void put_number(const char *key, const char *field, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put_text(key, field, text);
}

static void expire(const char *key, uint64_t in_us) {
    for (FIELDS(i, key))
        i->until_us = wall_us() + in_us;
}

size_t redis_length(const char *key) {
    const struct item *i = find(key, "");
    return i ? i->len : 0;
}

static void append(const char *key, const struct kl_redis_arg *more) {
    const struct item *i = find(key, "");
    const size_t had = i ? i->len : 0;
    uint8_t *all = malloc(had + more->len + 1);
    if (!all) fail("no memory");
    if (i) memcpy(all, i->bytes, had);
    memcpy(all + had, more->bytes, more->len);
    put(key, "", all, had + more->len);
    free(all);
}

/* --- answers --- */

static struct reply *reply(enum kl_redis_kind kind) {
    struct reply *r = calloc(1, sizeof *r);
    if (!r) fail("no memory");
    r->kind = kind;
    if (kind == KL_REDIS_LIST && !(r->part = calloc(PARTS, sizeof *r->part))) fail("no memory");
    return r;
}
static struct reply *say_bytes(const void *bytes, size_t len) {
    struct reply *r = reply(KL_REDIS_STRING);
    if (!(r->text = calloc(1, len + 1))) fail("no memory");
    if (len) memcpy(r->text, bytes, len);
    r->len = len;
    return r;
}
static struct reply *say(const char *text) {
    return say_bytes(text, strlen(text));
}
static struct reply *say_number(int64_t number) {
    struct reply *r = reply(KL_REDIS_NUMBER);
    r->number = number;
    return r;
}
static void add(struct reply *list, struct reply *part) {
    if (list->len == PARTS) fail("a longer list than this test has room for");
    list->part[list->len++] = *part;
    free(part);
}
void redis_free(struct reply *r) {
    for (size_t i = 0; r->part && i < r->len; i++)
        redis_free(&r->part[i]);
    free(r->part);
    free(r->text);
}

/* --- scripts --- */

struct key redis_key(const char *kind, const char *name) {
    struct key key;
    snprintf(key.text, sizeof key.text, "keylock:%s:%s", kind, name);
    return key;
}
struct key redis_key_of_copy(const char *kind, const char *id, const char *number) {
    char name[96];
    snprintf(name, sizeof name, "%.64s:%.24s", id, number);
    return redis_key(kind, name);
}

/* The key in the relay's entry; NULL: there is no entry. */
static const char *fleet_of(const char *relay, struct key *out) {
    const char *text = redis_get(redis_key("relay", relay).text, "");
    return text ? kl_directory_word(text, "key", out->text, sizeof out->text) : NULL;
}

static bool fresh(void) {
    char own[16];
    const uint64_t now_s = wall_us() / SECOND;
    const char *was = redis_get("keylock:begun", "run"), *since = redis_get("keylock:begun", "since");
    snprintf(own, sizeof own, "%u", run);
    if (is(was, own) && since && now_s >= strtoull(since, NULL, 10))
        return now_s < strtoull(since, NULL, 10) + 10;
    put_text("keylock:begun", "run", own);
    put_number("keylock:begun", "since", now_s);
    return true;
}

/* Another relay of this fleet that has the room. */
static const char *holder(const char *me, const char *fleet_key, const char *room) {
    for (FIELDS(i, "keylock:relays")) {
        struct key own;
        const char *key = strcmp(i->field, me) ? fleet_of(i->field, &own) : NULL;
        if (is(key, fleet_key) && find(redis_key("rooms", i->field).text, room)) return i->field;
    }
    return NULL;
}

static struct reply *renew(const struct kl_redis_arg *v) {
    const char *me = v[0].bytes;
    const bool had = find(redis_key("rooms", me).text, "");
    struct reply *out = reply(KL_REDIS_LIST), *asks = reply(KL_REDIS_LIST);
    const uint64_t lease_us = strtoull(v[1].bytes, NULL, 10) * 1000;
    if (!had) erase(redis_key("rooms", me).text);
    put_text("keylock:relays", me, "");
    erase(redis_key("relay", me).text);
    put(redis_key("relay", me).text, "", v[2].bytes, v[2].len);
    expire(redis_key("relay", me).text, lease_us);
    put_text(redis_key("rooms", me).text, "", "");
    expire(redis_key("rooms", me).text, lease_us);
    for (FIELDS(i, redis_key("asks", me).text))
        add(asks, say(i->field));
    add(out, say_number(had));
    add(out, asks);
    add(out, say_number(fresh()));
    erase(redis_key("asks", me).text);
    for (FIELDS(i, "keylock:relays")) {
        const char *text = redis_get(redis_key("relay", i->field).text, "");
        if (!text) {
            drop(i);
        } else if (strcmp(i->field, me) != 0) {
            add(out, say(i->field));
            add(out, say(text));
        }
    }
    return out;
}

static struct reply *claim(const struct kl_redis_arg *v) {
    const char *me = v[0].bytes, *room = v[1].bytes, *how = v[2].bytes;
    struct key own;
    const struct key record = redis_key("record", room);
    const char *rec = record.text, *mine = fleet_of(me, &own);
    const char *id = redis_get(rec, "id"), *owner = redis_get(rec, "owner"), *copy = redis_get(rec, "copy");
    const bool brings = is(how, "bring"), back = is(how, "back") || brings, claims = is(how, "claim");
    if (is(id, how) && !is(owner, me) && !unfenced) return say("stale");
    const char *other = holder(me, mine, room);
    if (other && is(how, "back")) {
        put_text(redis_key("asks", other).text, room, "");
        expire(redis_key("asks", other).text, 5 * SECOND);
    }
    if (other) return say(redis_get(redis_key("relay", other).text, ""));
    if (is(how, "look") || !next(store, redis_key("rooms", me).text)) return say("");
    struct reply *out = reply(KL_REDIS_LIST);
    if (copy && is(owner, me) && is(how, "back")) {
        add(out, say(id));
        return out;
    }
    const bool takes = copy && (brings || !is(owner, me)) && is(redis_get(rec, "key"), mine);
    if ((takes || back) && fresh()) return out;
    const struct item *klr = takes ? find(redis_key_of_copy("klr", id, copy).text, "") : NULL;
    const struct item *tail = takes ? find(redis_key_of_copy("tail", id, copy).text, "") : NULL;
    const struct key own_rooms = redis_key("rooms", me);
    const char *rooms = own_rooms.text;
    if ((claims || back) && klr && tail) {
        add(out, say(id));
        add(out, say_bytes(klr->bytes, klr->len));
        add(out, say_bytes(tail->bytes, tail->len));
        add(out, say(copy));
        put_number(rec, "number", strtoull(redis_get(rec, "number"), NULL, 10) + 1);
        put_text(rec, "owner", me);
        if (!find(rooms, room)) put_text(rooms, room, "");
        return out;
    }
    if (!back && !find(rooms, room)) put_text(rooms, room, "");
    return say("");
}

static struct reply *begin(const struct kl_redis_arg *v) {
    const char *room = v[0].bytes, *id = v[1].bytes, *me = v[2].bytes;
    struct key own;
    const struct key record = redis_key("record", room);
    const char *rec = record.text, *mine = fleet_of(me, &own), *key = redis_get(rec, "key");
    const char *number = redis_get(rec, "number");
    const uint64_t known = strtoull(v[3].bytes, NULL, 10), has = number ? strtoull(number, NULL, 10) : 0;
    const bool same = is(redis_get(rec, "id"), id);
    if (!mine || (key && !is(key, mine))) return say_number(0);
    if (same && !is(redis_get(rec, "owner"), me)) {
        if (known <= has && !unfenced) return say("");
    } else if (!unfenced && holder(me, mine, room)) {
        return say("");
    }
    if (!same && find(rec, "copy")) drop(find(rec, "copy"));
    put_text(rec, "id", id);
    put_text(rec, "owner", me);
    put_number(rec, "number", (has > known ? has : known) + 1);
    put_text(rec, "key", mine);
    expire(rec, strtoull(v[4].bytes, NULL, 10) * SECOND);
    return say_number((int64_t)((has > known ? has : known) + 1));
}

static struct reply *write(const struct kl_redis_arg *v) {
    const char *room = v[0].bytes, *id = v[1].bytes, *number = v[3].bytes, *copy;
    const struct key record = redis_key("record", room);
    const char *rec = record.text;
    const bool owns = is(redis_get(rec, "id"), id) && is(redis_get(rec, "owner"), v[2].bytes) &&
                      is(redis_get(rec, "number"), number);
    if (!find(rec, "id") || (!owns && !unfenced)) return say(find(rec, "id") ? "other" : "gap");
    const struct key klr_key = redis_key_of_copy("klr", id, number),
                     tail_key = redis_key_of_copy("tail", id, number);
    const char *klr = klr_key.text, *tail = tail_key.text;
    const bool anew = is(v[6].bytes, "0");
    if (v[5].len) {
        if (redis_length(klr) != strtoull(v[4].bytes, NULL, 10)) return say("gap");
        append(klr, &v[5]);
    }
    if (v[7].len && anew) erase(tail);
    if (v[7].len && !anew && redis_length(tail) != strtoull(v[6].bytes, NULL, 10)) return say("gap");
    if (v[7].len) append(tail, &v[7]);
    if (is(v[8].bytes, "1") && !is(copy = redis_get(rec, "copy"), number)) {
        if (copy) {
            erase(redis_key_of_copy("klr", id, copy).text);
            erase(redis_key_of_copy("tail", id, copy).text);
        }
        put_text(rec, "copy", number);
    }
    if (v[5].len || anew) {
        const uint64_t in_us = strtoull(v[9].bytes, NULL, 10) * SECOND;
        expire(rec, in_us);
        expire(klr, in_us);
        expire(tail, in_us);
    }
    return say("ok");
}

static struct reply *end(const struct kl_redis_arg *v) {
    const struct key record = redis_key("record", v[0].bytes);
    const char *id = v[1].bytes, *rec = record.text, *copy = redis_get(rec, "copy");
    if (!is(redis_get(rec, "id"), id) || !is(redis_get(rec, "owner"), v[2].bytes)) return say("other");
    const char *const number[] = {v[3].bytes, copy ? copy : v[3].bytes};
    for (unsigned i = 0; i < 2; i++) {
        erase(redis_key_of_copy("klr", id, number[i]).text);
        erase(redis_key_of_copy("tail", id, number[i]).text);
    }
    erase(rec);
    return say("ok");
}

static struct reply *give(const struct kl_redis_arg *v) {
    const struct key record = redis_key("record", v[0].bytes);
    const char *rec = record.text;
    if (is(redis_get(rec, "id"), v[1].bytes) && is(redis_get(rec, "owner"), v[2].bytes))
        put_text(rec, "owner", "");
    return say("ok");
}

static struct reply *values(const char *key) {
    struct reply *out = reply(KL_REDIS_LIST);
    for (FIELDS(i, key))
        add(out, say_bytes(i->bytes, i->len));
    return out;
}

/* A script's hash is its number here. */
static struct reply *load(const char *script) {
    for (unsigned i = 0; i < KL_REPLICA_SCRIPTS; i++)
        if (is(script, kl_replica_script[i])) return say((const char[]){(char)('0' + i), 0});
    fail("a script that this test does not know");
}

struct reply *redis_command(const struct kl_redis_arg *arg, unsigned args) {
    static struct reply *(*const script[KL_REPLICA_SCRIPTS])(const struct kl_redis_arg *) = {
        [KL_REPLICA_BEGIN] = begin,
        [KL_REPLICA_WRITE] = write,
        [KL_REPLICA_END] = end,
        [KL_REPLICA_GIVE] = give,
    };
    const char *word = arg[0].bytes, *key = arg[1].bytes;
    struct item *field;
    if (is(word, "EVALSHA")) return script[*key - '0'](arg + 4);
    if (is(word, "EVAL")) return is(key, kl_directory_claim) ? claim(arg + 4) : renew(arg + 4);
    if (is(word, "SCRIPT")) return load(arg[2].bytes);
    if (is(word, "HVALS")) return values(key);
    if (is(word, "HSET")) {
        put(key, arg[2].bytes, arg[3].bytes, arg[3].len);
    } else if (is(word, "HDEL")) {
        if ((field = find(key, arg[2].bytes))) drop(field);
    } else if (is(word, "DEL")) {
        for (unsigned i = 1; i < args; i++)
            erase(arg[i].bytes);
    } else {
        fail("a command that this test does not know: %s", word);
    }
    return say_number(1);
}

struct kl_redis_answer redis_answer(const struct reply *r) {
    return (struct kl_redis_answer){r->kind, r->text, r->len, r->number, r};
}

void redis_begin(uint64_t seed) {
    redis_rng = (struct rng){seed ^ UINT64_C(0x4ed15)};
    run = 1;
}

void redis_flush(void) {
    for (unsigned i = 0; i < ITEMS; i++)
        drop(&store[i]);
}

static void copy_items(struct item *to, const struct item *from) {
    for (unsigned i = 0; i < ITEMS; i++) {
        drop(&to[i]);
        to[i] = from[i];
        if (!from[i].bytes) continue;
        if (!(to[i].bytes = malloc(from[i].len + 1))) fail("no memory");
        memcpy(to[i].bytes, from[i].bytes, from[i].len + 1);
    }
}

void redis_keep(void) {
    copy_items(kept, store);
}

void redis_restore(void) {
    copy_items(store, kept);
    run++;
}

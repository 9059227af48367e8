/* Redis as the fleet uses it: keys with fields and times, and the scripts of net/relay/fleet, in C line by
 * line. A link to it delays, and keeps what is on its way while it is cut, as TCP does: a command may be done
 * after its sender has given up. */
#include "net/platform/clock.h"
#include "net/relay/fleet/directory_parts.h"
#include "net/relay/fleet/replica.h"
#include "net/relay/fleet/replica_scripts.h"
#include "tests/rooms/fleet.h"

#define ITEMS      256
#define TIMEOUT_US 500000
#define PARTS      64

bool unfenced, redis_cut[RELAYS], redis_stands;
int64_t redis_clock_us;

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
static struct rng redis_rng;

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

static const char *get(const char *key, const char *field) {
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

static size_t length(const char *key) {
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

struct reply {
    enum kl_redis_kind kind;
    int64_t number;
    size_t len; /* of the text, or parts */
    char *text;
    struct reply *part;
    uint64_t at_us; /* it is here then */
    struct reply *after;
};

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
static void free_reply(struct reply *r) {
    for (size_t i = 0; r->part && i < r->len; i++)
        free_reply(&r->part[i]);
    free(r->part);
    free(r->text);
}

/* --- scripts --- */

struct key {
    char text[256];
};

static struct key key_of(const char *kind, const char *name) {
    struct key key;
    snprintf(key.text, sizeof key.text, "keylock:%s:%s", kind, name);
    return key;
}
static struct key copy_of(const char *kind, const char *id, const char *number) {
    char name[96];
    snprintf(name, sizeof name, "%.64s:%.24s", id, number);
    return key_of(kind, name);
}

/* The key in the relay's entry; NULL: there is no entry. */
static const char *fleet_of(const char *relay, struct key *out) {
    const char *text = get(key_of("relay", relay).text, "");
    return text ? kl_directory_word(text, "key", out->text, sizeof out->text) : NULL;
}

static bool fresh(void) {
    char own[16];
    const uint64_t now_s = wall_us() / SECOND;
    const char *was = get("keylock:begun", "run"), *since = get("keylock:begun", "since");
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
        if (is(key, fleet_key) && find(key_of("rooms", i->field).text, room)) return i->field;
    }
    return NULL;
}

static struct reply *renew(const struct kl_redis_arg *v) {
    const char *me = v[0].bytes;
    const bool had = find(key_of("rooms", me).text, "");
    struct reply *out = reply(KL_REDIS_LIST), *asks = reply(KL_REDIS_LIST);
    const uint64_t lease_us = strtoull(v[1].bytes, NULL, 10) * 1000;
    if (!had) erase(key_of("rooms", me).text);
    put_text("keylock:relays", me, "");
    erase(key_of("relay", me).text);
    put(key_of("relay", me).text, "", v[2].bytes, v[2].len);
    expire(key_of("relay", me).text, lease_us);
    put_text(key_of("rooms", me).text, "", "");
    expire(key_of("rooms", me).text, lease_us);
    for (FIELDS(i, key_of("asks", me).text))
        add(asks, say(i->field));
    add(out, say_number(had));
    add(out, asks);
    add(out, say_number(fresh()));
    erase(key_of("asks", me).text);
    for (FIELDS(i, "keylock:relays")) {
        const char *text = get(key_of("relay", i->field).text, "");
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
    const struct key record = key_of("record", room);
    const char *rec = record.text, *mine = fleet_of(me, &own);
    const char *id = get(rec, "id"), *owner = get(rec, "owner"), *copy = get(rec, "copy");
    const bool brings = is(how, "bring"), back = is(how, "back") || brings, claims = is(how, "claim");
    if (is(id, how) && !is(owner, me) && !unfenced) return say("stale");
    const char *other = holder(me, mine, room);
    if (other && is(how, "back")) {
        put_text(key_of("asks", other).text, room, "");
        expire(key_of("asks", other).text, 5 * SECOND);
    }
    if (other) return say(get(key_of("relay", other).text, ""));
    if (is(how, "look") || !next(store, key_of("rooms", me).text)) return say("");
    struct reply *out = reply(KL_REDIS_LIST);
    if (copy && is(owner, me) && is(how, "back")) {
        add(out, say(id));
        return out;
    }
    const bool takes = copy && (brings || !is(owner, me)) && is(get(rec, "key"), mine);
    if ((takes || back) && fresh()) return out;
    const struct item *klr = takes ? find(copy_of("klr", id, copy).text, "") : NULL;
    const struct item *tail = takes ? find(copy_of("tail", id, copy).text, "") : NULL;
    const struct key own_rooms = key_of("rooms", me);
    const char *rooms = own_rooms.text;
    if ((claims || back) && klr && tail) {
        add(out, say(id));
        add(out, say_bytes(klr->bytes, klr->len));
        add(out, say_bytes(tail->bytes, tail->len));
        add(out, say(copy));
        put_number(rec, "number", strtoull(get(rec, "number"), NULL, 10) + 1);
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
    const struct key record = key_of("record", room);
    const char *rec = record.text, *mine = fleet_of(me, &own), *key = get(rec, "key");
    const char *number = get(rec, "number");
    const uint64_t known = strtoull(v[3].bytes, NULL, 10), has = number ? strtoull(number, NULL, 10) : 0;
    const bool same = is(get(rec, "id"), id);
    if (!mine || (key && !is(key, mine))) return say_number(0);
    if (same && !is(get(rec, "owner"), me)) {
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
    const struct key record = key_of("record", room);
    const char *rec = record.text;
    const bool owns =
        is(get(rec, "id"), id) && is(get(rec, "owner"), v[2].bytes) && is(get(rec, "number"), number);
    if (!find(rec, "id") || (!owns && !unfenced)) return say(find(rec, "id") ? "other" : "gap");
    const struct key klr_key = copy_of("klr", id, number), tail_key = copy_of("tail", id, number);
    const char *klr = klr_key.text, *tail = tail_key.text;
    const bool anew = is(v[6].bytes, "0");
    if (v[5].len) {
        if (length(klr) != strtoull(v[4].bytes, NULL, 10)) return say("gap");
        append(klr, &v[5]);
    }
    if (v[7].len && anew) erase(tail);
    if (v[7].len && !anew && length(tail) != strtoull(v[6].bytes, NULL, 10)) return say("gap");
    if (v[7].len) append(tail, &v[7]);
    if (is(v[8].bytes, "1") && !is(copy = get(rec, "copy"), number)) {
        if (copy) {
            erase(copy_of("klr", id, copy).text);
            erase(copy_of("tail", id, copy).text);
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
    const struct key record = key_of("record", v[0].bytes);
    const char *id = v[1].bytes, *rec = record.text, *copy = get(rec, "copy");
    if (!is(get(rec, "id"), id) || !is(get(rec, "owner"), v[2].bytes)) return say("other");
    const char *const number[] = {v[3].bytes, copy ? copy : v[3].bytes};
    for (unsigned i = 0; i < 2; i++) {
        erase(copy_of("klr", id, number[i]).text);
        erase(copy_of("tail", id, number[i]).text);
    }
    erase(rec);
    return say("ok");
}

static struct reply *give(const struct kl_redis_arg *v) {
    const struct key record = key_of("record", v[0].bytes);
    const char *rec = record.text;
    if (is(get(rec, "id"), v[1].bytes) && is(get(rec, "owner"), v[2].bytes)) put_text(rec, "owner", "");
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

static struct reply *command(const struct kl_redis_arg *arg, unsigned args) {
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

/* --- the link --- */

/* Commands that go out together. */
struct batch {
    struct kl_redis *from; /* NULL: it has given up */
    unsigned relay;
    uint64_t at_us; /* they arrive */
    unsigned count;
    struct words {
        struct kl_redis_arg arg[16];
        unsigned args;
    } * words;
    struct batch *after;
};
static struct batch *under_way;

struct kl_redis {
    unsigned relay;
    struct batch *next; /* to go out with the first question for an answer */
    struct reply *answer, last;
    bool broken;
    struct kl_redis *after;
};
static struct kl_redis *connection;

static uint64_t delay_us(void) {
    return rng_chance(&redis_rng, 0.01) ? rng_range(&redis_rng, 2000, 60000) : 500;
}

void redis_begin(uint64_t seed) {
    redis_rng = (struct rng){seed ^ UINT64_C(0x4ed15)};
    run = 1;
}

static void free_batch(struct batch *b) {
    for (unsigned i = 0; i < b->count; i++)
        for (unsigned k = 0; k < b->words[i].args; k++)
            free((void *)b->words[i].arg[k].bytes);
    free(b->words);
    free(b);
}

static void do_all(const struct batch *b) {
    struct reply **end = b->from ? &b->from->answer : NULL;
    const uint64_t at_us = now_us + delay_us();
    while (end && *end)
        end = &(*end)->after;
    for (unsigned i = 0; i < b->count; i++) {
        struct reply *r = command(b->words[i].arg, b->words[i].args);
        r->at_us = at_us;
        if (!end) {
            free_reply(r);
            free(r);
            continue;
        }
        *end = r;
        end = &r->after;
    }
}

void redis_step(void) {
    for (struct batch **at = &under_way; *at;) {
        struct batch *b = *at;
        if (redis_cut[b->relay] || redis_stands) /* TCP tries again */
            b->at_us = b->at_us > now_us ? b->at_us : now_us + rng_range(&redis_rng, 1000, 400000);
        if (b->at_us > now_us) {
            at = &b->after;
            continue;
        }
        *at = b->after;
        do_all(b);
        free_batch(b);
    }
}

/* It is over for one relay, or for all. */
static void end_connections(const unsigned *relay, bool forgets) {
    for (struct kl_redis *r = connection; r; r = r->after)
        if (!relay || r->relay == *relay) r->broken = true;
    for (struct batch **at = &under_way; *at;) {
        struct batch *b = *at;
        if (relay && b->relay == *relay) b->from = NULL;
        if (!relay && forgets) {
            *at = b->after;
            free_batch(b);
        } else {
            at = &b->after;
        }
    }
}

void redis_end(unsigned relay) {
    end_connections(&relay, false);
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

void redis_go_back(void) {
    copy_items(store, kept);
    run++;
    end_connections(NULL, true);
}

/* --- for directory and copies --- */

bool __real_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
struct kl_redis *__wrap_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len);
void __wrap_kl_redis_close(struct kl_redis *r);
void __wrap_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args);
bool __wrap_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len);
struct kl_redis_answer __wrap_kl_redis_part(const struct kl_redis_answer *list, size_t i);

struct kl_redis *__wrap_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len) {
    (void)place;
    const unsigned relay = (unsigned)fiber_now();
    const uint64_t begun_us = now_us, until_us = now_us + timeout_ms * UINT64_C(1000);
    do
        fiber_yield();
    while (now_us < until_us && (redis_cut[relay] || redis_stands || now_us < begun_us + 1000));
    struct kl_redis *r = now_us < until_us ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        snprintf(err, err_len, "Connection timed out");
        return NULL;
    }
    r->relay = relay;
    r->after = connection;
    connection = r;
    return r;
}

void __wrap_kl_redis_close(struct kl_redis *r) {
    struct kl_redis **at = &connection;
    if (!r) return;
    while (*at != r)
        at = &(*at)->after;
    *at = r->after;
    for (struct batch *b = under_way; b; b = b->after)
        if (b->from == r) b->from = NULL;
    if (r->next) free_batch(r->next);
    for (struct reply *a = r->answer, *after; a; a = after) {
        after = a->after;
        free_reply(a);
        free(a);
    }
    free_reply(&r->last);
    free(r);
}

void __wrap_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    if (!r->next && !(r->next = calloc(1, sizeof *r->next))) fail("no memory");
    struct batch *b = r->next;
    b->words = realloc(b->words, (b->count + 1) * sizeof *b->words);
    if (!b->words) fail("no memory");
    struct words *w = &b->words[b->count++];
    w->args = args;
    for (unsigned i = 0; i < args; i++) {
        char *bytes = malloc(arg[i].len + 1);
        if (!bytes) fail("no memory");
        if (arg[i].len) memcpy(bytes, arg[i].bytes, arg[i].len);
        bytes[arg[i].len] = 0;
        w->arg[i] = (struct kl_redis_arg){bytes, arg[i].len};
    }
}

static struct kl_redis_answer answer_of(const struct reply *r) {
    return (struct kl_redis_answer){r->kind, r->text, r->len, r->number, r};
}

static void send(struct kl_redis *r) {
    struct batch *b = r->next, **end = &under_way;
    r->next = NULL;
    if (!b) return;
    b->from = r;
    b->relay = r->relay;
    b->at_us = now_us + delay_us();
    while (*end)
        end = &(*end)->after;
    *end = b;
}

bool __wrap_kl_redis_next(struct kl_redis *r, struct kl_redis_answer *out, char *err, size_t err_len) {
    const uint64_t until_us = now_us + TIMEOUT_US;
    if (fiber_now() < 0) return __real_kl_redis_next(r, out, err, err_len);
    free_reply(&r->last);
    r->last = (struct reply){0};
    send(r);
    while (!r->broken && (!r->answer || now_us < r->answer->at_us || redis_cut[r->relay])) {
        if (now_us >= until_us) r->broken = true;
        if (!r->broken) fiber_yield();
    }
    struct reply *a = r->broken ? NULL : r->answer;
    if (!a) {
        snprintf(err, err_len, "no answer");
        return false;
    }
    r->answer = a->after;
    r->last = *a;
    free(a);
    *out = answer_of(&r->last);
    return true;
}

struct kl_redis_answer __wrap_kl_redis_part(const struct kl_redis_answer *list, size_t i) {
    const struct reply *r = list->reply;
    if (list->kind != KL_REDIS_LIST || i >= r->len) return (struct kl_redis_answer){0};
    return answer_of(&r->part[i]);
}

/* --- the same at a real server --- */

struct kl_redis *__real_kl_redis_open(const struct kl_redis_place *place, unsigned timeout_ms, char *err,
                                      size_t err_len);
void __real_kl_redis_add(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args);
struct kl_redis_answer __real_kl_redis_part(const struct kl_redis_answer *list, size_t i);

#define SHOWN 4096

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* An answer as a text; lists in an order of their own, since sets have none. */
static void show(const struct kl_redis_answer *a, bool real, char out[SHOWN]) {
    static const char end_of_part[] = " ";
    if (a->kind != KL_REDIS_LIST) {
        const char *text = a->kind == KL_REDIS_STRING ? a->text : "-";
        snprintf(out, SHOWN, "%d:%lld:%.200s", a->kind, (long long)a->number, text);
        return;
    }
    char(*part)[SHOWN] = calloc(a->len + 1, sizeof *part);
    if (!part) fail("no memory");
    for (size_t i = 0; i < a->len; i++) {
        const struct kl_redis_answer p = real ? __real_kl_redis_part(a, i) : __wrap_kl_redis_part(a, i);
        show(&p, real, part[i]);
    }
    qsort(part, a->len, sizeof *part, by_text);
    snprintf(out, SHOWN, "list of %zu:", a->len);
    for (size_t i = 0; i < a->len; i++) {
        strncat(out, end_of_part, SHOWN - 1 - strlen(out));
        strncat(out, part[i], SHOWN - 1 - strlen(out));
    }
    free(part);
}

struct line {
    struct kl_redis_arg arg[16];
    unsigned args;
    char text[16][256];
};

static void word(struct line *l, const char *text) {
    snprintf(l->text[l->args], sizeof l->text[0], "%s", text);
    l->arg[l->args] = KL_REDIS_TEXT(l->text[l->args]);
    l->args++;
}
static void long_word(struct line *l, const char *text) {
    l->arg[l->args++] = KL_REDIS_TEXT(text);
}
static void number_word(struct line *l, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    word(l, text);
}

static const char *one_of(const char *const of[], unsigned count) {
    return of[rng_below(&redis_rng, count)];
}

/* The next command: of a few relays, rooms and numbers, so that they meet. */
static void draw(struct line *l, int *script) {
    static const char *const relays[] = {"a:1", "b:1", "c:1"}, *const rooms[] = {"r", "s"},
                             *const ids[] = {"00112233445566778899aabbccddeeff",
                                             "ff112233445566778899aabbccddee00"},
                             *const hows[] = {"look", "claim", "back", "bring"};
    const char *relay = one_of(relays, 3), *room = one_of(rooms, 2), *id = one_of(ids, 2);
    const struct key rec = key_of("record", room);
    const char *has = get(rec.text, "number"), *owner = get(rec.text, "owner"), *own = get(rec.text, "id");
    const bool fits = rng_chance(&redis_rng, 0.7) && has;
    const unsigned kind = rng_below(&redis_rng, 20);
    l->args = 0;
    *script = -1;
    if (kind < 3) { /* as if the time of one were over */
        if (kind == 0 && rng_chance(&redis_rng, 0.3)) {
            word(l, "HSET");
            word(l, "keylock:begun");
            word(l, "since");
            word(l, "1");
            return;
        }
        word(l, "DEL");
        word(l, key_of("relay", relay).text);
        word(l, key_of("rooms", relay).text);
        return;
    }
    if (kind < 9) { /* renew, or claim */
        word(l, "EVAL");
        *script = kind < 6 ? -2 : -3;
        long_word(l, "");
        word(l, "1");
        word(l, "keylock:relays");
        word(l, relay);
        word(l, kind < 6 ? "60000" : room);
        word(l, kind >= 6       ? rng_chance(&redis_rng, 0.2) ? id : one_of(hows, 4)
                      : *relay == 'c' ? "key=G at="
                                : "key=F at=");
        return;
    }
    *script = kind < 12   ? KL_REPLICA_BEGIN
              : kind < 18 ? KL_REPLICA_WRITE
              : kind < 19 ? KL_REPLICA_END
                          : KL_REPLICA_GIVE;
    word(l, "EVALSHA");
    long_word(l, "");
    word(l, "1");
    word(l, "keylock:relays");
    word(l, room);
    word(l, fits ? own : id);
    word(l, fits && *script != KL_REPLICA_BEGIN ? owner : relay);
    word(l, fits ? has : "1");
    if (*script == KL_REPLICA_BEGIN) word(l, "60");
    if (*script != KL_REPLICA_WRITE) return;
    const struct key klr = copy_of("klr", l->text[5], l->text[7]),
                     tail = copy_of("tail", l->text[5], l->text[7]);
    number_word(l, rng_chance(&redis_rng, 0.8) ? length(klr.text) : 3);
    word(l, rng_chance(&redis_rng, 0.5) ? "bytes" : "");
    number_word(l, rng_chance(&redis_rng, 0.6) ? length(tail.text) : 0);
    word(l, rng_chance(&redis_rng, 0.7) ? "slot" : "");
    word(l, rng_chance(&redis_rng, 0.5) ? "1" : "0");
    word(l, "60");
}

static struct kl_redis_answer ask(struct kl_redis *r, const struct kl_redis_arg *arg, unsigned args) {
    struct kl_redis_answer a;
    char err[200];
    __real_kl_redis_add(r, arg, args);
    if (!__real_kl_redis_next(r, &a, err, sizeof err)) fail("Redis: %s", err);
    return a;
}

int redis_compare(uint16_t port, unsigned commands, uint64_t seed) {
    const struct kl_redis_place place = {.host = "127.0.0.1", .port = port, .database = 9};
    static char hash[KL_REPLICA_SCRIPTS][44], model[SHOWN], real[SHOWN];
    unsigned kinds[8] = {0};
    char err[200];
    redis_begin(seed);
    struct kl_redis *r = __real_kl_redis_open(&place, 2000, err, sizeof err);
    if (!r) return printf("redis: %s\n", err), 1;
    const struct kl_redis_arg flush = KL_REDIS_TEXT("FLUSHDB");
    (void)ask(r, &flush, 1);
    for (unsigned i = 0; i < KL_REPLICA_SCRIPTS; i++) {
        const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("SCRIPT"), KL_REDIS_TEXT("LOAD"),
                                           KL_REDIS_TEXT(kl_replica_script[i])};
        snprintf(hash[i], sizeof hash[i], "%s", ask(r, arg, 3).text);
    }
    for (unsigned n = 0; n < commands; n++) {
        struct line l;
        int script;
        draw(&l, &script);
        const char number[] = {(char)('0' + (script < 0 ? 0 : script)), 0};
        const char *text = script == -2 ? kl_directory_renew : script == -3 ? kl_directory_claim : number;
        if (script != -1) l.arg[1] = KL_REDIS_TEXT(text);
        struct reply *mine = command(l.arg, l.args);
        struct kl_redis_answer a = answer_of(mine);
        show(&a, false, model);
        if (script >= 0) l.arg[1] = KL_REDIS_TEXT(hash[script]);
        a = ask(r, l.arg, l.args);
        show(&a, true, real);
        free_reply(mine);
        free(mine);
        kinds[script + 3]++;
        if (script == -1 || !strcmp(model, real)) continue;
        printf("command %u, script %d:", n, script);
        for (unsigned i = 2; i < l.args; i++)
            printf(" %s", (const char *)l.arg[i].bytes);
        printf("\nthe model: %s\nRedis:     %s\n", model, real);
        return 1;
    }
    (void)ask(r, &flush, 1);
    printf(
        "%u commands: the same answers (%u claims, %u renewals, %u begun, %u written, %u ended, %u given)\n",
        commands, kinds[0], kinds[1], kinds[3], kinds[4], kinds[5], kinds[6]);
    return 0;
}

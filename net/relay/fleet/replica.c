#include "net/relay/fleet/replica.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/wire.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/durable/store.h"
#include "net/relay/durable/tail.h"
#include "net/relay/log/relay_log.h"

/* --- copies of rooms --- */

#define AT_ONCE     64      /* rooms in one pipeline */
#define CHUNK_BYTES 262144u /* of one recording in one command */
#define ID_DIGITS   (2 * KL_ROOM_ID_BYTES + 1)

_Static_assert(KL_COPY_VERSION == 1 && KL_TAIL_VERSION == 2 && KL_LOBBY_TICKET_VERSION == 3,
               "a copy has a slot of the tail, and its ticket: its version rises with theirs");

/* A room's copy. */
struct copy {
    struct kl_fleet_record now; /* the files, as they were said to be last */
    uint8_t id[KL_ROOM_ID_BYTES];
    unsigned long number, known; /* of the copy, 0: not begun; the highest so far */
    uint64_t recording, slot;
    uint32_t bytes;           /* of the slot; all three: in Redis */
    uint64_t klr_at, tail_at; /* bytes in Redis: sealed */
    uint8_t key[32], salt[KL_COPY_SALT];
    bool refused;     /* it is another relay's */
    bool again;       /* the place has another room by now */
    const void *tail; /* its file, mapped; NULL: not yet */
    size_t tail_len;
};

struct step { /* a command under way */
    unsigned shard, place;
    uint64_t recording, slot, klr_at, tail_at;
    uint32_t bytes;
};

struct kl_replica {
    struct kl_fleet *fleet;
    const char *relay;
    struct kl_store *store;
    struct kl_redis *redis;
    char hash[KL_REPLICA_SCRIPTS][44];
    struct copy *copy[KL_SHARDS_MAX];                  /* fleet->rooms_most of each */
    uint64_t left[KL_SHARDS_MAX][KL_SHARD_ROOMS / 64]; /* to be copied, as bits */
    struct step step[AT_ONCE];
    unsigned steps;
    bool moved;     /* in this turn */
    uint8_t *chunk; /* CHUNK_BYTES */
    uint8_t sealed[KL_COPY_HEAD + CHUNK_BYTES + KL_COPY_AROUND],
        sealed_tail[KL_COPY_SLOT + KL_TAIL_SLOT + KL_COPY_AROUND];
    const uint8_t *key; /* of the fleet's copies */
};

struct kl_replica *kl_replica_open(struct kl_fleet *fleet, const char *relay, const char *journal,
                                   const uint8_t key[32], char *err, size_t err_len) {
    struct kl_replica *c = calloc(1, sizeof *c);
    bool good = c && (c->chunk = malloc(CHUNK_BYTES));
    for (unsigned i = 0; good && i < fleet->shards->count; i++)
        good = (c->copy[i] = calloc(fleet->rooms_most, sizeof *c->copy[i]));
    if (!good) snprintf(err, err_len, "no memory for copies of rooms");
    if (!good || kl_store_open(&c->store, journal, true, err, err_len) != 0) return NULL;
    c->fleet = fleet;
    c->relay = relay;
    c->key = key;
    return c;
}

/* --- commands --- */

bool kl_replica_begin(struct kl_replica *c, struct kl_redis *redis, char *err, size_t err_len) {
    struct kl_redis_answer a;
    c->redis = redis;
    for (unsigned i = 0; i < KL_REPLICA_SCRIPTS; i++) {
        const struct kl_redis_arg arg[] = {KL_REDIS_TEXT("SCRIPT"), KL_REDIS_TEXT("LOAD"),
                                           KL_REDIS_TEXT(kl_replica_script[i])};
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

/* The chunk, into c->sealed; the first with the head. */
static size_t seal_recording(struct kl_replica *c, const struct copy *p, size_t part) {
    const size_t head = p->klr_at ? 0 : KL_COPY_HEAD;
    c->sealed[0] = KL_COPY_VERSION;
    memcpy(&c->sealed[1], p->salt, sizeof p->salt);
    return head + kl_copy_seal(p->key, 0, p->recording, c->chunk, part, c->sealed + head);
}

/* The slot's bytes from there on, into c->sealed_tail; the first with the head. */
static size_t seal_slot(struct kl_replica *c, const struct copy *p, const struct step *s, uint32_t from,
                        const uint8_t *slot) {
    const size_t head = from ? 0 : KL_COPY_SLOT;
    struct kl_writer w = kl_writer(c->sealed_tail, KL_COPY_SLOT);
    kl_write_u32(&w, (uint32_t)s->slot);
    return head +
           kl_copy_seal(p->key, (uint32_t)s->slot, from, slot + from, s->bytes - from, c->sealed_tail + head);
}

/* 1: a command is under way; 0: there is nothing to say. */
static int add_write(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    struct words w;
    char klr_at[24], tail_at[24];
    const uint8_t *slot = slot_of(c, p);
    const size_t part = read_recording(c, p);
    struct step s = {.shard = shard,
                     .place = place,
                     .recording = p->recording + part,
                     .slot = p->slot,
                     .bytes = p->bytes,
                     .klr_at = p->klr_at,
                     .tail_at = p->tail_at};
    const bool whole = s.recording == p->now.recording && slot;
    uint32_t from = p->slot == p->now.slot ? p->bytes : 0;
    size_t bytes = whole && p->now.bytes > from ? p->now.bytes - from : 0;
    if (!part && !bytes) return 0;
    if (bytes) s.slot = p->now.slot, s.bytes = p->now.bytes;
    start(c, &w, KL_REPLICA_WRITE, p);
    const uint64_t from_tail = from ? p->tail_at : 0;
    snprintf(klr_at, sizeof klr_at, "%llu", (unsigned long long)p->klr_at);
    snprintf(tail_at, sizeof tail_at, "%llu", (unsigned long long)from_tail);
    say_text(&w, klr_at);
    if (part) s.klr_at += seal_recording(c, p, part);
    say(&w, c->sealed, s.klr_at - p->klr_at);
    say_text(&w, bytes ? tail_at : "-");
    if (bytes) s.tail_at = from_tail + seal_slot(c, p, &s, from, slot);
    say(&w, c->sealed_tail, bytes ? s.tail_at - from_tail : 0);
    say_text(&w, whole ? "1" : "0");
    say_text(&w, w.seconds);
    kl_redis_add(c->redis, w.arg, w.args);
    c->step[c->steps++] = s;
    return 1;
}

static void add_begin(struct kl_replica *c, unsigned shard, unsigned place) {
    struct words w;
    start(c, &w, KL_REPLICA_BEGIN, &c->copy[shard][place]);
    say_text(&w, w.seconds);
    kl_redis_add(c->redis, w.arg, w.args);
    c->step[c->steps++] = (struct step){.shard = shard, .place = place};
}

/* KL_REPLICA_END, or KL_REPLICA_GIVE if another relay shall have the room. */
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

/* Those that have ended, or are to be begun. */
static void begin_one(struct kl_replica *c, unsigned shard, unsigned place) {
    struct copy *p = &c->copy[shard][place];
    if (place >= c->fleet->rooms_most || !read_now(c, shard, place) || (p->refused && p->now.slot)) {
        done(c, shard, place);
        return;
    }
    const bool given = atomic_load(&c->fleet->lost[shard][place]) == kl_fleet_tag(p->id);
    if (!p->now.slot)
        add_end(c, shard, place, given ? KL_REPLICA_GIVE : KL_REPLICA_END);
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
            if (!p->again) done(c, shard, place);
            forget_tail(p);
            *p = (struct copy){0};
        } else if (a.kind == KL_REDIS_NUMBER) {
            p->number = (unsigned long)a.number;
            if (p->number) p->known = p->number;
            p->recording = p->slot = p->bytes = 0;
            p->klr_at = p->tail_at = 0;
            randombytes_buf(p->salt, sizeof p->salt);
            kl_copy_key(c->key, p->id, p->number, p->salt, p->key);
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
            p->klr_at = s->klr_at;
            p->tail_at = s->tail_at;
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
    const struct kl_fleet *f = c->fleet;
    for (unsigned s = 0; s < f->shards->count; s++)
        for (unsigned n = 0; n < KL_SHARD_ROOMS / 64; n++) {
            if (!atomic_load_explicit(&c->fleet->changed[s][n], memory_order_relaxed)) continue;
            c->left[s][n] |= atomic_exchange(&c->fleet->changed[s][n], 0);
        }
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

/* The room's files, of what Redis had. */
static bool write_taken(struct kl_replica *c, const uint8_t id[KL_ROOM_ID_BYTES],
                        const struct kl_redis_answer *klr, const struct kl_redis_answer *tail,
                        uint64_t number, char *err, size_t err_len) {
    const uint8_t *from = (const uint8_t *)klr->text;
    uint8_t key[32], *recording = malloc(klr->len), *slot = malloc(tail->len),
                     *image = calloc(1, KL_TAIL_BYTES);
    size_t recorded = SIZE_MAX, used = SIZE_MAX;
    struct kl_reader r = kl_reader((const uint8_t *)tail->text, tail->len);
    if (recording && slot && image) {
        kl_copy_key(c->key, id, number, from + 1, key);
        recorded = kl_copy_open(key, 0, from + KL_COPY_HEAD, klr->len - KL_COPY_HEAD, recording);
        used = kl_copy_open(key, kl_read_u32(&r), tail->text + KL_COPY_SLOT, tail->len - KL_COPY_SLOT, slot);
    }
    bool good = recorded != SIZE_MAX && used <= KL_TAIL_SLOT;
    if (!good) snprintf(err, err_len, "expected a copy sealed by this fleet's key, got other bytes");
    if (good) kl_tail_image(image, slot, used);
    good = good && kl_store_remove(c->store, id, false, err, err_len) &&
           put(c, id, KL_STORE_TAIL, image, KL_TAIL_BYTES, err, err_len) &&
           put(c, id, KL_STORE_RECORDING, recording, recorded, err, err_len);
    free(recording);
    free(slot);
    free(image);
    return good;
}

bool kl_replica_take(struct kl_replica *c, const struct kl_redis_answer *answer, uint8_t id[KL_ROOM_ID_BYTES],
                     char *err, size_t err_len) {
    struct kl_redis_answer part[4];
    size_t len;
    for (unsigned i = 0; i < 4; i++) {
        part[i] = kl_redis_part(answer, i);
        if (part[i].kind == KL_REDIS_STRING) continue;
        snprintf(err, err_len, "expected a room's id, recording, tail and number, got something else");
        return false;
    }
    if (sodium_hex2bin(id, KL_ROOM_ID_BYTES, part[0].text, part[0].len, NULL, &len, NULL) != 0 ||
        len != KL_ROOM_ID_BYTES || part[1].len < KL_COPY_HEAD || part[1].text[0] != KL_COPY_VERSION ||
        part[2].len < KL_COPY_SLOT) {
        snprintf(err, err_len, "expected a copy of version %d, got another", KL_COPY_VERSION);
        return false;
    }
    const bool good = write_taken(c, id, &part[1], &part[2], strtoull(part[3].text, NULL, 10), err, err_len);
    for (unsigned s = 0; s < c->fleet->shards->count; s++)
        for (unsigned i = 0; i < c->fleet->rooms_most; i++) {
            uint32_t tag = kl_fleet_tag(id);
            if (!memcmp(c->copy[s][i].id, id, KL_ROOM_ID_BYTES)) c->copy[s][i].refused = false;
            (void)atomic_compare_exchange_strong(&c->fleet->lost[s][i], &tag, 0); /* it was lost before */
        }
    return good;
}

bool kl_replica_has(const struct kl_replica *c, const uint8_t id[KL_ROOM_ID_BYTES]) {
    const void *bytes;
    size_t len;
    if (!kl_store_look(c->store, id, KL_STORE_RECORDING, &bytes, &len)) return false;
    kl_store_look_away(bytes, len);
    return true;
}

/* --- their seals --- */

_Static_assert(KL_COPY_AROUND == 4 + crypto_aead_chacha20poly1305_ietf_ABYTES, "a length and a tag");
_Static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == 4 + 8, "a slot and a byte");

void kl_copy_fleet_key(const uint8_t relay_secret[32], uint8_t key[32]) {
    static const uint8_t purpose[] = "keylock copies in a fleet";
    crypto_generichash(key, 32, purpose, sizeof purpose, relay_secret, 32);
}

void kl_copy_key(const uint8_t fleet_key[32], const uint8_t room_id[16], uint64_t number,
                 const uint8_t salt[KL_COPY_SALT], uint8_t key[32]) {
    uint8_t of[16 + 8 + KL_COPY_SALT];
    struct kl_writer w = kl_writer(of, sizeof of);
    kl_write_bytes(&w, room_id, 16);
    kl_write_u64(&w, number);
    kl_write_bytes(&w, salt, KL_COPY_SALT);
    crypto_generichash(key, 32, of, sizeof of, fleet_key, 32);
}

static void nonce_of(uint32_t slot, uint64_t at, uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES]) {
    struct kl_writer w = kl_writer(nonce, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    kl_write_u32(&w, slot);
    kl_write_u64(&w, at);
}

size_t kl_copy_seal(const uint8_t key[32], uint32_t slot, uint64_t at, const void *piece, size_t len,
                    uint8_t *out) {
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    nonce_of(slot, at, nonce);
    struct kl_writer w = kl_writer(out, 4);
    kl_write_u32(&w, (uint32_t)len);
    crypto_aead_chacha20poly1305_ietf_encrypt(out + 4, NULL, piece, len, NULL, 0, NULL, nonce, key);
    return len + KL_COPY_AROUND;
}

size_t kl_copy_open(const uint8_t key[32], uint32_t slot, const void *sealed, size_t len, uint8_t *out) {
    const uint8_t *from = sealed;
    size_t at = 0;
    while (len > 0) {
        uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
        struct kl_reader r = kl_reader(from, len);
        const size_t piece = kl_read_u32(&r);
        if (len < KL_COPY_AROUND || piece > len - KL_COPY_AROUND) return SIZE_MAX;
        nonce_of(slot, at, nonce);
        if (crypto_aead_chacha20poly1305_ietf_decrypt(out + at, NULL, NULL, from + 4,
                                                      piece + KL_COPY_AROUND - 4, NULL, 0, nonce, key) != 0)
            return SIZE_MAX;
        at += piece;
        from += piece + KL_COPY_AROUND;
        len -= piece + KL_COPY_AROUND;
    }
    return at;
}

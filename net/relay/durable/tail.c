#include "net/relay/durable/tail.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/wire.h"

static const uint8_t magic[16] = "keylock tail";
_Static_assert(crypto_shorthash_siphashx24_BYTES == KL_TAIL_MAC, "a mac is SipHash-2-4-128");

void kl_tail_key(const uint8_t relay_secret[32], const uint8_t room_id[16], uint8_t key[32]) {
    crypto_generichash_state h;
    crypto_generichash_init(&h, relay_secret, 32, 32);
    crypto_generichash_update(&h, magic, sizeof magic);
    crypto_generichash_update(&h, room_id, 16);
    crypto_generichash_final(&h, key, 32);
    sodium_memzero(&h, sizeof h);
}

/* Over `before` (NULL: a slot's), `head` and `body`. */
static void mac_of(const uint8_t key[32], const uint8_t *before, const uint8_t *head, size_t head_len,
                   const void *body, size_t len, uint8_t mac[KL_TAIL_MAC]) {
    static uint8_t all[1 + KL_TAIL_MAC + KL_TAIL_BASE + UINT16_MAX];
    struct kl_writer w = kl_writer(all, sizeof all);
    kl_write_u8(&w, before != NULL);
    if (before) kl_write_bytes(&w, before, KL_TAIL_MAC);
    kl_write_bytes(&w, head, head_len);
    if (len) kl_write_bytes(&w, body, len);
    crypto_shorthash_siphashx24(mac, all, (size_t)(w.at - all), key);
}

static size_t place_of(unsigned which) {
    return KL_TAIL_HEAD + which * (size_t)KL_TAIL_SLOT;
}

static void code_base(const struct kl_tail_base *b, uint64_t number, uint8_t out[KL_TAIL_BASE]) {
    struct kl_writer w = kl_writer(out, KL_TAIL_BASE);
    kl_write_u64(&w, number);
    kl_write_u64(&w, b->klr.at);
    kl_write_bytes(&w, b->klr.check, sizeof b->klr.check);
    kl_write_u32(&w, b->chain.intervals);
    kl_write_u32(&w, b->chain.end);
    kl_write_bytes(&w, b->chain.digest, sizeof b->chain.digest);
}

/* --- writing --- */

static void put_head(uint8_t *head) {
    memcpy(head, magic, sizeof magic);
    head[sizeof magic] = KL_TAIL_VERSION;
}

void kl_tail_image(uint8_t *image, const void *slot, size_t len) {
    put_head(image);
    memcpy(image + place_of(0), slot, len);
}

struct kl_tail *kl_tail_make(const uint8_t key[32], const struct kl_file *file,
                             const struct kl_tail_slot *newest, char *why, size_t why_len) {
    uint8_t head[KL_TAIL_HEAD] = {0};
    struct kl_file own = *file;
    struct kl_tail *t = calloc(1, sizeof *t);
    if (!t) snprintf(why, why_len, "there is no memory for it");
    if (!t || kl_slab_take(&t->slab, file, KL_TAIL_BYTES, why, why_len) != 0) {
        kl_file_close(&own);
        free(t);
        return NULL;
    }
    put_head(head);
    memcpy(t->key, key, sizeof t->key);
    t->slot = newest ? *newest : (struct kl_tail_slot){.which = 1};
    t->dirty[0] = t->dirty[1] = newest ? KL_TAIL_SLOT : 0;
    if (kl_slab_put(&t->slab, 0, head, sizeof head)) return t;
    snprintf(why, why_len, "it cannot be written");
    kl_tail_free(t);
    return NULL;
}

void kl_tail_free(struct kl_tail *t) {
    if (!t) return;
    kl_slab_close(&t->slab);
    sodium_memzero(t, sizeof *t);
    free(t);
}

bool kl_tail_turn(struct kl_tail *t, const struct kl_tail_base *base) {
    static const uint8_t zeros[KL_TAIL_SLOT];
    uint8_t coded[KL_TAIL_BASE];
    size_t *dirty = &t->dirty[1 - t->slot.which], old = *dirty;
    t->before = t->slot;
    t->base = *base;
    *dirty = KL_TAIL_BASE + KL_TAIL_MAC;
    t->slot = (struct kl_tail_slot){.which = 1 - t->before.which, .number = t->before.number + 1};
    t->slot.used = KL_TAIL_BASE + KL_TAIL_MAC;
    code_base(base, t->slot.number, coded);
    mac_of(t->key, NULL, coded, sizeof coded, NULL, 0, t->slot.mac);
    return kl_slab_put(&t->slab, place_of(t->slot.which), zeros, old);
}

void kl_tail_drop(struct kl_tail *t) {
    t->slot = t->before;
}

bool kl_tail_keep(struct kl_tail *t) {
    uint8_t head[KL_TAIL_BASE + KL_TAIL_MAC];
    code_base(&t->base, t->slot.number, head);
    mac_of(t->key, NULL, head, KL_TAIL_BASE, NULL, 0, head + KL_TAIL_BASE);
    atomic_thread_fence(memory_order_release); /* the records stand there before the slot counts */
    return kl_slab_put(&t->slab, place_of(t->slot.which), head, sizeof head);
}

bool kl_tail_add(struct kl_tail *t, enum kl_tail_type type, const void *body, size_t len) {
    uint8_t head[KL_TAIL_BEFORE], mac[KL_TAIL_MAC];
    size_t at = place_of(t->slot.which) + t->slot.used;
    if (len > UINT16_MAX || t->slot.used + KL_TAIL_AROUND + len > KL_TAIL_SLOT) return false;
    struct kl_writer w = kl_writer(head, sizeof head);
    kl_write_u8(&w, (uint8_t)type);
    kl_write_u16(&w, (uint16_t)len);
    mac_of(t->key, t->slot.mac, head, sizeof head, body, len, mac);
    size_t *dirty = &t->dirty[t->slot.which], end = t->slot.used + KL_TAIL_AROUND + len;
    if (end > *dirty) *dirty = end;
    bool good = kl_slab_put(&t->slab, at, head, sizeof head) &&
                kl_slab_put(&t->slab, at + sizeof head, body, len) &&
                kl_slab_put(&t->slab, at + sizeof head + len, mac, sizeof mac);
    if (!good) return false;
    t->slot.used += KL_TAIL_AROUND + len;
    memcpy(t->slot.mac, mac, sizeof mac);
    return true;
}

/* --- reading --- */

static bool open_slot(struct kl_tail_cursor *c, unsigned which, const uint8_t key[32], const uint8_t *bytes,
                      size_t len) {
    size_t at = place_of(which);
    if (len < at + KL_TAIL_BASE + KL_TAIL_MAC) return false;
    *c = (struct kl_tail_cursor){.key = key, .bytes = bytes + at, .slot = {.which = which}};
    c->len = len - at < KL_TAIL_SLOT ? len - at : KL_TAIL_SLOT;
    struct kl_reader r = kl_reader(c->bytes, KL_TAIL_BASE);
    c->slot.number = kl_read_u64(&r);
    c->base.klr.at = kl_read_u64(&r);
    kl_read_into(&r, c->base.klr.check, sizeof c->base.klr.check);
    c->base.chain.intervals = kl_read_u32(&r);
    c->base.chain.end = kl_read_u32(&r);
    kl_read_into(&r, c->base.chain.digest, sizeof c->base.chain.digest);
    c->slot.used = KL_TAIL_BASE + KL_TAIL_MAC;
    mac_of(key, NULL, c->bytes, KL_TAIL_BASE, NULL, 0, c->slot.mac);
    return sodium_memcmp(c->slot.mac, c->bytes + KL_TAIL_BASE, KL_TAIL_MAC) == 0;
}

unsigned kl_tail_open(struct kl_tail_cursor slot[2], const uint8_t key[32], const uint8_t *bytes, size_t len,
                      size_t *wrong) {
    unsigned count = 0;
    *wrong = len < KL_TAIL_BYTES ? len : 0;
    for (unsigned which = 0; which < 2; which++) {
        bool good = open_slot(&slot[count], which, key, bytes, len);
        bool whole = len >= place_of(which) + KL_TAIL_BASE;
        if (!good && whole && !sodium_is_zero(bytes + place_of(which), KL_TAIL_BASE))
            *wrong = place_of(which);
        count += good;
    }
    if (count == 2 && slot[0].slot.number > slot[1].slot.number) {
        struct kl_tail_cursor newer = slot[0];
        slot[0] = slot[1];
        slot[1] = newer;
    }
    return count;
}

bool kl_tail_next(struct kl_tail_cursor *c, size_t *wrong) {
    const uint8_t *at = c->bytes + c->slot.used;
    uint8_t mac[KL_TAIL_MAC];
    size_t left = c->len - c->slot.used;
    size_t len = left < KL_TAIL_AROUND ? 0 : at[1] | (size_t)at[2] << 8;
    bool fits = left >= KL_TAIL_AROUND + len, known = c->slot.used < c->checked;
    if (fits && !known) mac_of(c->key, c->slot.mac, at, KL_TAIL_BEFORE, at + KL_TAIL_BEFORE, len, mac);
    if (!fits || (!known && sodium_memcmp(mac, at + KL_TAIL_BEFORE + len, sizeof mac) != 0)) {
        bool ends = sodium_is_zero(at, left < KL_TAIL_BEFORE ? left : KL_TAIL_BEFORE);
        if (!ends) *wrong = place_of(c->slot.which) + c->slot.used;
        return false;
    }
    c->type = at[0];
    c->body = at + KL_TAIL_BEFORE;
    c->body_len = len;
    c->slot.used += KL_TAIL_AROUND + len;
    memcpy(c->slot.mac, at + KL_TAIL_BEFORE + len, sizeof mac);
    return true;
}

bool kl_tail_is_unwritten(const uint8_t *bytes, size_t len) {
    return len == 0 || (len == KL_TAIL_BYTES && sodium_is_zero(bytes + place_of(0), KL_TAIL_BASE) &&
                        sodium_is_zero(bytes + place_of(1), KL_TAIL_BASE));
}

const char *kl_tail_objection(const uint8_t *bytes, size_t len) {
    if (len <= sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) return "it is no tail of a journal";
    return bytes[sizeof magic] == KL_TAIL_VERSION ? NULL : "it is of another version of this relay";
}

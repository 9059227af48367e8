#include "net/relay/durable/journal_file.h"

#include <string.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/engine/wire.h"

static const uint8_t magic[KL_JOURNAL_MAGIC] = "keylock journal";

void kl_journal_key(const uint8_t relay_secret[32], const uint8_t id[KL_JOURNAL_ID], uint8_t key[32]) {
    crypto_generichash_state h;
    crypto_generichash_init(&h, relay_secret, 32, 32);
    crypto_generichash_update(&h, magic, sizeof magic - 1);
    crypto_generichash_update(&h, id, KL_JOURNAL_ID);
    crypto_generichash_final(&h, key, 32);
    sodium_memzero(&h, sizeof h);
}

static void mac_of(const uint8_t key[32], uint64_t at, uint8_t type, const void *body, size_t len,
                   uint8_t mac[KL_JOURNAL_MAC]) {
    uint8_t place[9];
    struct kl_writer w;
    crypto_generichash_state h;
    kl_writer_init(&w, place, sizeof place);
    kl_write_u64(&w, at);
    kl_write_u8(&w, type);
    crypto_generichash_init(&h, key, 32, KL_JOURNAL_MAC);
    crypto_generichash_update(&h, place, sizeof place);
    crypto_generichash_update(&h, body, len);
    crypto_generichash_final(&h, mac, KL_JOURNAL_MAC);
    sodium_memzero(&h, sizeof h);
}

/* --- head --- */

#define SIGNED (KL_JOURNAL_HEAD - KL_JOURNAL_MAC)

void kl_journal_head(const uint8_t key[32], const uint8_t id[KL_JOURNAL_ID], uint8_t out[KL_JOURNAL_HEAD]) {
    memcpy(out, magic, sizeof magic);
    out[KL_JOURNAL_MAGIC] = KL_JOURNAL_VERSION;
    memcpy(out + KL_JOURNAL_MAGIC + 1, id, KL_JOURNAL_ID);
    mac_of(key, 0, 0, out, SIGNED, out + SIGNED);
}

int kl_journal_head_open(const uint8_t relay_secret[32], const uint8_t *bytes, size_t len,
                         uint8_t id[KL_JOURNAL_ID]) {
    uint8_t key[32], mac[KL_JOURNAL_MAC];
    if (len < KL_JOURNAL_HEAD || memcmp(bytes, magic, sizeof magic) != 0) return KL_E_MALFORMED;
    if (bytes[KL_JOURNAL_MAGIC] != KL_JOURNAL_VERSION) return KL_E_VERSION;
    memcpy(id, bytes + KL_JOURNAL_MAGIC + 1, KL_JOURNAL_ID);
    kl_journal_key(relay_secret, id, key);
    mac_of(key, 0, 0, bytes, SIGNED, mac);
    sodium_memzero(key, sizeof key);
    return sodium_memcmp(mac, bytes + SIGNED, sizeof mac) == 0 ? KL_OK : KL_E_MALFORMED;
}

/* --- records --- */

void kl_journal_record(const uint8_t key[32], uint64_t at, enum kl_journal_type type, const void *body,
                       uint32_t len, uint8_t before[KL_JOURNAL_BEFORE], uint8_t mac[KL_JOURNAL_MAC]) {
    struct kl_writer w;
    kl_writer_init(&w, before, KL_JOURNAL_BEFORE);
    kl_write_u32(&w, len);
    kl_write_u8(&w, (uint8_t)type);
    mac_of(key, at, (uint8_t)type, body, len, mac);
}

void kl_journal_seek(struct kl_journal_cursor *c, const uint8_t key[32], const uint8_t *bytes, uint64_t len) {
    *c = (struct kl_journal_cursor){.key = key, .bytes = bytes, .len = len, .at = KL_JOURNAL_HEAD};
}

bool kl_journal_hop(struct kl_journal_cursor *c) {
    if (c->at > c->len || c->len - c->at < KL_JOURNAL_AROUND) return false;
    const uint8_t *b = c->bytes + c->at;
    uint32_t len = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    if (len > c->len - c->at - KL_JOURNAL_AROUND) return false;
    c->type = b[4];
    c->body = b + KL_JOURNAL_BEFORE;
    c->body_len = len;
    c->at += KL_JOURNAL_AROUND + (uint64_t)len;
    return true;
}

bool kl_journal_is_right(const struct kl_journal_cursor *c) {
    uint8_t mac[KL_JOURNAL_MAC];
    mac_of(c->key, c->at - KL_JOURNAL_AROUND - c->body_len, c->type, c->body, c->body_len, mac);
    return sodium_memcmp(mac, c->body + c->body_len, sizeof mac) == 0;
}

bool kl_journal_next(struct kl_journal_cursor *c) {
    struct kl_journal_cursor next = *c;
    if (!kl_journal_hop(&next) || (c->at >= c->checked && !kl_journal_is_right(&next))) return false;
    *c = next;
    return true;
}

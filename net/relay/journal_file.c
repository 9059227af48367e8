#include "journal_file.h"

#include <string.h>

#include <sodium.h>

#include "../engine/engine.h"
#include "../engine/wire.h"

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

/* --- head -------------------------------------------------------------------------------------------------
 */

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

/* --- records ----------------------------------------------------------------------------------------------
 */

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

bool kl_journal_next(struct kl_journal_cursor *c) {
    struct kl_reader r;
    uint8_t mac[KL_JOURNAL_MAC];
    if (c->at > c->len) return false;
    kl_reader_init(&r, c->bytes + c->at, c->len - c->at);
    uint32_t len = kl_read_u32(&r);
    uint8_t type = kl_read_u8(&r);
    const uint8_t *body = kl_read_bytes(&r, len), *given = kl_read_bytes(&r, KL_JOURNAL_MAC);
    if (r.failed) return false;
    if (c->at >= c->checked) {
        mac_of(c->key, c->at, type, body, len, mac);
        if (sodium_memcmp(mac, given, sizeof mac) != 0) return false;
    }
    c->type = type;
    c->body = body;
    c->body_len = len;
    c->at += KL_JOURNAL_AROUND + (uint64_t)len;
    return true;
}

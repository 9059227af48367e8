#include "net/record/klr.h"

#include <string.h>

#include <sodium.h>

#include "net/engine/wire.h"

/* As in PNG: a copy that took the file for text shows in these. */
const uint8_t kl_klr_magic[KL_KLR_MAGIC] = {0x89, 'K', 'L', 'R', '\r', '\n', 0x1a, '\n'};

struct kl_klr_place kl_klr_begin(void) {
    struct kl_klr_place p = {.at = KL_KLR_MAGIC};
    memcpy(p.check, kl_klr_magic, sizeof p.check);
    return p;
}

void kl_klr_check(const struct kl_klr_place *p, uint8_t type, const void *body, size_t len,
                  uint8_t check[KL_KLR_CHECK]) {
    uint8_t head[9], hash[2 * KL_KLR_CHECK];
    crypto_generichash_state h;
    struct kl_writer w = kl_writer(head, sizeof head);
    kl_write_u64(&w, p->at);
    kl_write_u8(&w, type);
    crypto_generichash_init(&h, NULL, 0, sizeof hash);
    crypto_generichash_update(&h, head, sizeof head);
    crypto_generichash_update(&h, body, len);
    crypto_generichash_update(&h, p->check, sizeof p->check);
    crypto_generichash_final(&h, hash, sizeof hash);
    memcpy(check, hash, KL_KLR_CHECK);
}

struct kl_klr_around kl_klr_around(struct kl_klr_place *p, enum kl_klr_type type, const void *body,
                                   uint32_t len) {
    struct kl_klr_around a = {{0}, {0}};
    struct kl_writer w = kl_writer(a.before, sizeof a.before);
    kl_write_u32(&w, len);
    kl_write_u8(&w, (uint8_t)type);
    kl_klr_check(p, (uint8_t)type, body, len, a.check);
    p->at += KL_KLR_AROUND + (uint64_t)len;
    memcpy(p->check, a.check, sizeof p->check);
    return a;
}

/* --- reading --- */

bool kl_klr_open(struct kl_klr_cursor *c, const uint8_t *bytes, uint64_t len) {
    *c = (struct kl_klr_cursor){.bytes = bytes, .len = len, .place = kl_klr_begin()};
    return len >= KL_KLR_MAGIC && memcmp(bytes, kl_klr_magic, KL_KLR_MAGIC) == 0;
}

enum kl_klr_next kl_klr_next(struct kl_klr_cursor *c) {
    uint64_t left = c->len - c->place.at;
    uint8_t check[KL_KLR_CHECK];
    c->type = 0;
    if (left == 0) return KL_KLR_WHOLE;
    if (left < KL_KLR_BEFORE) return KL_KLR_TORN;
    struct kl_reader r = kl_reader(c->bytes + c->place.at, KL_KLR_BEFORE);
    uint32_t len = kl_read_u32(&r);
    c->type = kl_read_u8(&r);
    if (len > KL_KLR_BODY_MAX) return KL_KLR_DAMAGED;
    if (left < KL_KLR_AROUND + (uint64_t)len) return KL_KLR_TORN;
    const uint8_t *body = r.at;
    bool known = c->place.at < c->checked;
    if (known)
        memcpy(check, body + len, sizeof check);
    else
        kl_klr_check(&c->place, c->type, body, len, check);
    if (memcmp(check, body + len, sizeof check) != 0) return KL_KLR_DAMAGED;
    c->body = body;
    c->body_len = len;
    c->place.at += KL_KLR_AROUND + (uint64_t)len;
    memcpy(c->place.check, check, sizeof check);
    return KL_KLR_BLOCK;
}

const char *kl_klr_type_name(uint8_t type) {
    static const char *const name[] = {
        [KL_KLR_HEAD] = "HEAD",         [KL_KLR_ROOM] = "ROOM",     [KL_KLR_START] = "START",
        [KL_KLR_SNAPSHOT] = "SNAPSHOT", [KL_KLR_PIECES] = "PIECES", [KL_KLR_DIGEST] = "DIGEST",
        [KL_KLR_HASH] = "HASH",         [KL_KLR_EVENT] = "EVENT",   [KL_KLR_END] = "END",
        [KL_KLR_SEAL] = "SEAL",         [KL_KLR_SIGN] = "SIGN"};
    return type < sizeof name / sizeof *name && name[type] ? name[type] : "?";
}

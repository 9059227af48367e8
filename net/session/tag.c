#include "net/session/tag.h"

#include <string.h>

static void derive(const uint8_t secret[32], const char *label, const uint8_t id[KL_TAG_ROOM_ID],
                   uint8_t key[32]) {
    crypto_generichash_state h;
    crypto_generichash_init(&h, secret, 32, 32);
    crypto_generichash_update(&h, (const uint8_t *)label, strlen(label));
    crypto_generichash_update(&h, id, KL_TAG_ROOM_ID);
    crypto_generichash_final(&h, key, 32);
    sodium_memzero(&h, sizeof h);
}

void kl_tag_key(const uint8_t relay_secret[32], const uint8_t room_id[KL_TAG_ROOM_ID], uint8_t key[32]) {
    derive(relay_secret, "keylock tag", room_id, key);
}

static void add_u32(struct kl_tag *t, uint32_t v) {
    uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    kl_tag_add(t, b, sizeof b);
}

void kl_tag_begin(struct kl_tag *t, const uint8_t key[32], const uint8_t before[KL_TAG],
                  const uint8_t room_id[KL_TAG_ROOM_ID], uint32_t interval, uint32_t keyframe) {
    crypto_generichash_init(&t->state, key, 32, KL_TAG);
    kl_tag_add(t, before, KL_TAG);
    kl_tag_add(t, room_id, KL_TAG_ROOM_ID);
    add_u32(t, interval);
    add_u32(t, keyframe);
}

void kl_tag_add(struct kl_tag *t, const void *bytes, size_t len) {
    crypto_generichash_update(&t->state, bytes, len);
}

void kl_tag_end(struct kl_tag *t, uint8_t tag[KL_TAG]) {
    crypto_generichash_final(&t->state, tag, KL_TAG);
    sodium_memzero(t, sizeof *t);
}

void kl_mark_key(const uint8_t relay_secret[32], const uint8_t room_id[KL_TAG_ROOM_ID], uint8_t key[32]) {
    derive(relay_secret, "keylock mark", room_id, key);
}

void kl_mark_make(const struct kl_mark_of *of, const void *bytes, size_t len, uint8_t mark[KL_MARK]) {
    struct kl_tag t;
    uint8_t whole[KL_TAG];
    kl_tag_begin(&t, of->key, of->before, of->room_id, of->interval, of->keyframe);
    add_u32(&t, of->end);
    kl_tag_add(&t, bytes, len);
    kl_tag_end(&t, whole);
    memcpy(mark, whole, KL_MARK);
}

bool kl_mark_equal(const uint8_t a[KL_MARK], const uint8_t b[KL_MARK]) {
    return sodium_memcmp(a, b, KL_MARK) == 0;
}

bool kl_tag_equal(const uint8_t a[KL_TAG], const uint8_t b[KL_TAG]) {
    return crypto_verify_16(a, b) == 0;
}

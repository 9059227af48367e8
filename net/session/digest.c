#include "net/session/digest.h"

#include <sodium.h>
#include <string.h>

void kl_digest_open(const struct kl_digest *c, const uint8_t room_id[KL_DIGEST_ROOM_ID], const void *bytes,
                    size_t len, uint8_t out[KL_DIGEST]) {
    uint32_t i = c->intervals;
    const uint8_t number[4] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), (uint8_t)(i >> 24)};
    crypto_generichash_state h;
    crypto_generichash_init(&h, NULL, 0, KL_DIGEST);
    crypto_generichash_update(&h, c->digest, sizeof c->digest);
    crypto_generichash_update(&h, room_id, KL_DIGEST_ROOM_ID);
    crypto_generichash_update(&h, number, sizeof number);
    crypto_generichash_update(&h, bytes, len);
    crypto_generichash_final(&h, out, KL_DIGEST);
}

void kl_digest_next(struct kl_digest *c, const uint8_t room_id[KL_DIGEST_ROOM_ID], const void *bytes,
                    size_t len, uint32_t end) {
    kl_digest_open(c, room_id, bytes, len, c->digest);
    c->intervals++;
    c->end = end;
}

static void add(crypto_generichash_state *s, const char *text, size_t len) {
    static const uint8_t zero;
    crypto_generichash_update(s, (const uint8_t *)text, len);
    crypto_generichash_update(s, &zero, 1);
}

void kl_identity(const struct kl_facts *f, uint8_t out[16]) {
    const struct kl_fact *sorted[KL_FACTS_MAX];
    crypto_generichash_state s;
    for (unsigned i = 0; i < f->count; i++) {
        unsigned at = i;
        for (; at > 0 && strcmp(sorted[at - 1]->key, f->fact[i].key) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &f->fact[i];
    }
    crypto_generichash_init(&s, NULL, 0, 16);
    for (unsigned i = 0; i < f->count; i++) {
        add(&s, sorted[i]->key, strlen(sorted[i]->key));
        add(&s, sorted[i]->value, kl_fact_length(sorted[i]->value));
    }
    crypto_generichash_final(&s, out, 16);
}

#include "net/session/digest.h"

#include <sodium.h>

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

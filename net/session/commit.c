#include "net/session/commit.h"

#include <sodium.h>

int kl_commit_make(const struct kl_msg *m, const uint8_t room_id[KL_ROOM_ID_BYTES], uint8_t client,
                   uint8_t out[KL_COMMITMENT_BYTES]) {
    static const uint8_t label[] = {'k', 'e', 'y', 'l', 'o', 'c', 'k', ' ', 's', 'a', 'y', 's'};
    uint8_t bytes[KL_MSG_MAX];
    crypto_generichash_state h;
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len < 0) return len;
    crypto_generichash_init(&h, NULL, 0, KL_COMMITMENT_BYTES);
    crypto_generichash_update(&h, label, sizeof label);
    crypto_generichash_update(&h, room_id, KL_ROOM_ID_BYTES);
    crypto_generichash_update(&h, &client, 1);
    crypto_generichash_update(&h, bytes, (size_t)len);
    crypto_generichash_final(&h, out, KL_COMMITMENT_BYTES);
    return KL_OK;
}

bool kl_commit_fits(const struct kl_msg *m, const uint8_t room_id[KL_ROOM_ID_BYTES], uint8_t client,
                    const uint8_t commitment[KL_COMMITMENT_BYTES]) {
    uint8_t is[KL_COMMITMENT_BYTES];
    return kl_commit_make(m, room_id, client, is) == KL_OK && sodium_memcmp(is, commitment, sizeof is) == 0;
}

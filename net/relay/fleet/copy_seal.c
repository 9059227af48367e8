#include "net/relay/fleet/copy_seal.h"

#include <sodium.h>

#include "net/engine/wire.h"

_Static_assert(KL_COPY_AROUND == 4 + crypto_aead_chacha20poly1305_ietf_ABYTES, "a length and a tag");
_Static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == 4 + 8, "a slot and a byte");

void kl_copy_fleet_key(const uint8_t relay_secret[32], uint8_t key[32]) {
    static const uint8_t purpose[] = "keylock copies in a fleet";
    crypto_generichash(key, 32, purpose, sizeof purpose, relay_secret, 32);
}

void kl_copy_key(const uint8_t fleet_key[32], const uint8_t room_id[16], uint64_t number,
                 const uint8_t salt[KL_COPY_SALT], uint8_t key[32]) {
    uint8_t of[16 + 8 + KL_COPY_SALT];
    struct kl_writer w;
    kl_writer_init(&w, of, sizeof of);
    kl_write_bytes(&w, room_id, 16);
    kl_write_u64(&w, number);
    kl_write_bytes(&w, salt, KL_COPY_SALT);
    crypto_generichash(key, 32, of, sizeof of, fleet_key, 32);
}

static void nonce_of(uint32_t slot, uint64_t at, uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES]) {
    struct kl_writer w;
    kl_writer_init(&w, nonce, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    kl_write_u32(&w, slot);
    kl_write_u64(&w, at);
}

size_t kl_copy_seal(const uint8_t key[32], uint32_t slot, uint64_t at, const void *piece, size_t len,
                    uint8_t *out) {
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    struct kl_writer w;
    nonce_of(slot, at, nonce);
    kl_writer_init(&w, out, 4);
    kl_write_u32(&w, (uint32_t)len);
    crypto_aead_chacha20poly1305_ietf_encrypt(out + 4, NULL, piece, len, NULL, 0, NULL, nonce, key);
    return len + KL_COPY_AROUND;
}

size_t kl_copy_open(const uint8_t key[32], uint32_t slot, const void *sealed, size_t len, uint8_t *out) {
    const uint8_t *from = sealed;
    size_t at = 0;
    while (len > 0) {
        uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
        struct kl_reader r;
        kl_reader_init(&r, from, len);
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

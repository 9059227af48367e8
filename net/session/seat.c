#include "net/session/seat.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static const char label[] = "keylock return";
enum { LABEL = sizeof label - 1, TEXT = LABEL + 32 + KL_SEAT_TOKEN };

void kl_seat_make(struct kl_seat_key *k) {
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    crypto_sign_ed25519_keypair(k->pub, k->secret);
}

void kl_seat_from_seed(struct kl_seat_key *k, const uint8_t seed[KL_SEAT_SEED]) {
    if (sodium_init() < 0) abort();
    crypto_sign_ed25519_seed_keypair(k->pub, k->secret, seed);
}

static void text_of(uint8_t text[TEXT], const uint8_t binding[32], const uint8_t token[KL_SEAT_TOKEN]) {
    memcpy(text, label, LABEL);
    memcpy(text + LABEL, binding, 32);
    memcpy(text + LABEL + 32, token, KL_SEAT_TOKEN);
}

void kl_seat_sign(const struct kl_seat_key *k, const uint8_t binding[32], const uint8_t token[KL_SEAT_TOKEN],
                  uint8_t signature[KL_SEAT_SIGNATURE]) {
    uint8_t text[TEXT];
    text_of(text, binding, token);
    crypto_sign_ed25519_detached(signature, NULL, text, sizeof text, k->secret);
    sodium_memzero(text, sizeof text);
}

bool kl_seat_verify(const uint8_t pub[KL_SEAT_PUB], const uint8_t binding[32],
                    const uint8_t token[KL_SEAT_TOKEN], const uint8_t signature[KL_SEAT_SIGNATURE]) {
    uint8_t text[TEXT];
    text_of(text, binding, token);
    bool good = crypto_sign_ed25519_verify_detached(signature, text, sizeof text, pub) == 0;
    sodium_memzero(text, sizeof text);
    return good;
}

void kl_seat_token(uint8_t token[KL_SEAT_TOKEN]) {
    if (sodium_init() < 0) abort();
    randombytes_buf(token, KL_SEAT_TOKEN);
}

void kl_seat_token_hash(const uint8_t token[KL_SEAT_TOKEN], uint8_t hash[KL_SEAT_HASH]) {
    crypto_generichash(hash, KL_SEAT_HASH, token, KL_SEAT_TOKEN, NULL, 0);
}

bool kl_seat_token_is(const uint8_t token[KL_SEAT_TOKEN], const uint8_t hash[KL_SEAT_HASH]) {
    uint8_t own[KL_SEAT_HASH];
    kl_seat_token_hash(token, own);
    return crypto_verify_32(own, hash) == 0;
}

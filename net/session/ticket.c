#include "net/session/ticket.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/engine/engine.h"

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

_Static_assert(NONCE + crypto_aead_xchacha20poly1305_ietf_ABYTES == KL_TICKET_OVERHEAD,
               "overhead of a ticket");

static const uint8_t label[] = {'k', 'e', 'y', 'l', 'o', 'c', 'k', ' ', 't', 'i', 'c', 'k', 'e', 't'};

static void key_of(const uint8_t relay_secret[32], uint8_t key[32]) {
    if (sodium_init() < 0) abort(); /* no random numbers: no secrets */
    crypto_generichash(key, 32, label, sizeof label, relay_secret, 32);
}

int kl_ticket_seal(const uint8_t relay_secret[32], const void *body, size_t len, uint8_t *out) {
    uint8_t key[32];
    if (len > KL_TICKET_BODY_MAX) return KL_E_SPACE;
    key_of(relay_secret, key);
    randombytes_buf(out, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + NONCE, NULL, body, len, NULL, 0, NULL, out, key);
    sodium_memzero(key, sizeof key);
    return (int)len + KL_TICKET_OVERHEAD;
}

int kl_ticket_open(const uint8_t relay_secret[32], const uint8_t *ticket, size_t len, void *out) {
    uint8_t key[32];
    if (len < KL_TICKET_OVERHEAD || len > KL_TICKET_MAX) return KL_E_MALFORMED;
    key_of(relay_secret, key);
    int failed = crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, ticket + NONCE, len - NONCE,
                                                            NULL, 0, ticket, key);
    sodium_memzero(key, sizeof key);
    return failed ? KL_E_MALFORMED : (int)len - KL_TICKET_OVERHEAD;
}

#include "net/session/seal.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/engine/wire.h"

/* --- datagrams --- */

#define NONCE 12
#define WORDS (KL_REPLAY_WINDOW / 64 + 1)

_Static_assert(crypto_aead_aes256gcm_ABYTES == KL_SEAL_TAG, "tag of AES-256-GCM");
_Static_assert(crypto_aead_chacha20poly1305_IETF_ABYTES == KL_SEAL_TAG, "tag of ChaCha20-Poly1305");
_Static_assert(crypto_shorthash_siphashx24_BYTES == KL_SEAL_TAG, "tag of SipHash-2-4-128");
_Static_assert(crypto_aead_aes256gcm_NPUBBYTES == NONCE, "nonce of AES-256-GCM");
_Static_assert(crypto_aead_chacha20poly1305_IETF_NPUBBYTES == NONCE, "nonce of ChaCha20-Poly1305");

static void put32(uint8_t *b, uint32_t v) {
    for (unsigned i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}

uint8_t kl_ciphers_here(void) {
    if (sodium_init() < 0) return 0;
    bool aes = crypto_aead_aes256gcm_is_available() == 1;
    return (uint8_t)(KL_CIPHER_CHACHA20 | (aes ? KL_CIPHER_AES256GCM : 0));
}

const char *kl_cipher_name(uint8_t cipher) {
    switch (cipher) {
    case KL_CIPHER_AES256GCM: return "aes-256-gcm";
    case KL_CIPHER_CHACHA20: return "chacha20-poly1305";
    case KL_CIPHER_CLEAR: return "clear";
    default: return "unknown";
    }
}

static void state_init(struct kl_seal_state *s, uint8_t cipher, const uint8_t key[32]) {
    s->cipher = cipher;
    memcpy(s->key, key, sizeof s->key);
    if (cipher == KL_CIPHER_AES256GCM) crypto_aead_aes256gcm_beforenm(&s->aes, s->key);
}

void kl_sealer_init(struct kl_sealer *s, const struct kl_session_keys *keys, const uint8_t key[32]) {
    memset(s, 0, sizeof *s);
    state_init(&s->state, keys->cipher, key);
    s->session = keys->session;
}

void kl_opener_init(struct kl_opener *o, const struct kl_session_keys *keys, const uint8_t key[32]) {
    memset(o, 0, sizeof *o);
    state_init(&o->state, keys->cipher, key);
    o->session = keys->session;
}

/* Four zero bytes and the counter as u64. Never twice under one key: the counters run out first. */
static void nonce_of(uint32_t counter, uint8_t nonce[NONCE]) {
    memset(nonce, 0, NONCE);
    put32(nonce + 4, counter);
}

/* The header stands at out, the body goes behind it, the tag behind that. */
static void encrypt(const struct kl_seal_state *s, uint32_t counter, const uint8_t *body, size_t len,
                    uint8_t *out) {
    uint8_t nonce[NONCE], *at = out + KL_SEAL_HEADER;
    nonce_of(counter, nonce);
    switch (s->cipher) {
    case KL_CIPHER_AES256GCM:
        crypto_aead_aes256gcm_encrypt_afternm(at, NULL, body, len, out, KL_SEAL_HEADER, NULL, nonce, &s->aes);
        break;
    case KL_CIPHER_CHACHA20:
        crypto_aead_chacha20poly1305_ietf_encrypt(at, NULL, body, len, out, KL_SEAL_HEADER, NULL, nonce,
                                                  s->key);
        break;
    default:
        if (len && body != at) memcpy(at, body, len);
        crypto_shorthash_siphashx24(at + len, out, KL_SEAL_HEADER + len, s->key);
    }
}

/* Decrypts in place; false if the tag is wrong. */
static bool decrypt(const struct kl_seal_state *s, uint32_t counter, uint8_t *bytes, size_t len) {
    uint8_t nonce[NONCE], tag[KL_SEAL_TAG], *at = bytes + KL_SEAL_HEADER;
    size_t rest = len - KL_SEAL_HEADER;
    nonce_of(counter, nonce);
    switch (s->cipher) {
    case KL_CIPHER_AES256GCM:
        return crypto_aead_aes256gcm_decrypt_afternm(at, NULL, NULL, at, rest, bytes, KL_SEAL_HEADER, nonce,
                                                     &s->aes) == 0;
    case KL_CIPHER_CHACHA20:
        return crypto_aead_chacha20poly1305_ietf_decrypt(at, NULL, NULL, at, rest, bytes, KL_SEAL_HEADER,
                                                         nonce, s->key) == 0;
    case KL_CIPHER_CLEAR:
        crypto_shorthash_siphashx24(tag, bytes, len - KL_SEAL_TAG, s->key);
        return crypto_verify_16(tag, bytes + len - KL_SEAL_TAG) == 0;
    default: return false;
    }
}

size_t kl_seal(struct kl_sealer *s, uint8_t kind, const void *body, size_t len, uint8_t *out) {
    if (s->counter == UINT32_MAX) return 0;
    s->counter++;
    out[0] = KL_SEAL_MAGIC;
    out[1] = kind;
    put32(out + 2, s->session);
    put32(out + 6, s->counter);
    encrypt(&s->state, s->counter, body, len, out);
    s->bytes += len + KL_SEAL_OVERHEAD;
    return len + KL_SEAL_OVERHEAD;
}

uint32_t kl_seal_session(const uint8_t *bytes, size_t len) {
    if (len < KL_SEAL_OVERHEAD || bytes[0] != KL_SEAL_MAGIC) return 0;
    return bytes[1] >= KL_SEAL_CTRL && bytes[1] <= KL_SEAL_VOICE ? kl_u32_at(bytes + 2) : 0;
}

/* --- the replay window: one bit a counter, in a ring of words of which the oldest is being reused --- */

static bool is_fresh(const struct kl_opener *o, uint32_t counter) {
    if (counter > o->highest) return true;
    if (counter == 0 || o->highest - counter >= KL_REPLAY_WINDOW) return false;
    return !(o->seen[counter / 64 % WORDS] >> (counter % 64) & 1);
}

int kl_open(struct kl_opener *o, uint8_t *bytes, size_t len, struct kl_opened *out) {
    if (o->session == 0 || kl_seal_session(bytes, len) != o->session) return KL_E_MALFORMED;
    uint32_t counter = kl_u32_at(bytes + 6);
    if (counter == 0) return KL_E_MALFORMED;
    if (!is_fresh(o, counter)) return KL_E_WINDOW;
    if (!decrypt(&o->state, counter, bytes, len)) return KL_E_MALFORMED;
    *out = (struct kl_opened){.kind = bytes[1],
                              .body = bytes + KL_SEAL_HEADER,
                              .len = len - KL_SEAL_OVERHEAD,
                              .counter = counter,
                              .newest = counter > o->highest};
    if (counter > o->highest) {
        uint32_t from = o->highest / 64, words = counter / 64 - from;
        for (uint32_t i = 1; i <= words && i <= WORDS; i++)
            o->seen[(from + i) % WORDS] = 0;
        o->highest = counter;
    }
    o->seen[counter / 64 % WORDS] |= 1ull << (counter % 64);
    o->bytes += len;
    o->opened++;
    out->missing = o->highest - o->opened;
    return 0;
}

int kl_open_repeated(const struct kl_opener *o, uint8_t *bytes, size_t len, struct kl_opened *out) {
    if (o->session == 0 || kl_seal_session(bytes, len) != o->session) return KL_E_MALFORMED;
    uint32_t counter = kl_u32_at(bytes + 6);
    if (counter == 0 || counter > o->highest || !decrypt(&o->state, counter, bytes, len))
        return KL_E_MALFORMED;
    *out = (struct kl_opened){
        .kind = bytes[1], .body = bytes + KL_SEAL_HEADER, .len = len - KL_SEAL_OVERHEAD, .counter = counter};
    return 0;
}

/* --- tickets --- */

#define TICKET_NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

_Static_assert(TICKET_NONCE + crypto_aead_xchacha20poly1305_ietf_ABYTES == KL_TICKET_OVERHEAD,
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
    randombytes_buf(out, TICKET_NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + TICKET_NONCE, NULL, body, len, NULL, 0, NULL, out, key);
    sodium_memzero(key, sizeof key);
    return (int)len + KL_TICKET_OVERHEAD;
}

int kl_ticket_open(const uint8_t relay_secret[32], const uint8_t *ticket, size_t len, void *out) {
    uint8_t key[32];
    if (len < KL_TICKET_OVERHEAD || len > KL_TICKET_MAX) return KL_E_MALFORMED;
    key_of(relay_secret, key);
    int failed = crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, ticket + TICKET_NONCE,
                                                            len - TICKET_NONCE, NULL, 0, ticket, key);
    sodium_memzero(key, sizeof key);
    return failed ? KL_E_MALFORMED : (int)len - KL_TICKET_OVERHEAD;
}
